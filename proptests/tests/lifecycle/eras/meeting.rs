//! Negotiation between clients and servers of either era and of both.

use mcp_sansio::event::{ConnectFailure, NegotiationBasis};
use mcp_sansio::{
    CallOptions, Client, ClientEvent, ConnectionNumber, ErrorCode, Outcome, Phase, Revision,
    RevisionSet,
};
use mcp_sansio_proptests::Pair;

use super::world::{BOTH, KINDS, LEGACY, MODERN, World, client, server};

/// Returns the negotiated revision, and the basis of the client's decision.
fn expected(client: RevisionSet, server: RevisionSet) -> Result<(Revision, NegotiationBasis), i64> {
    const NO_SUCH_METHOD: NegotiationBasis =
        NegotiationBasis::ProbeRefused(ErrorCode::METHOD_NOT_FOUND);
    match (client, server) {
        (LEGACY, LEGACY | BOTH) => Ok((Revision::V2025_11_25, NegotiationBasis::OnlyEra)),
        (LEGACY, _) => Err(-32022),
        (MODERN | BOTH, MODERN | BOTH) => Ok((Revision::V2026_07_28, NegotiationBasis::Discovered)),
        (MODERN, _) => Err(-32601),
        _ => Ok((Revision::V2025_11_25, NO_SUCH_METHOD)),
    }
}

/// Proves M-ERA-12, M-ERA-13, M-ERA-23, M-ERA-24, M-DISC-07, M-DISC-15: every mix, in chunks of any size.
#[test]
fn every_mix_of_eras_meets_or_fails_cleanly() {
    for of_client in KINDS {
        for of_server in KINDS {
            for chunk in [1, 7, usize::MAX] {
                let mut world = World::chunked(client(of_client), server(of_server), chunk);
                assert_eq!(world.known.connections.len(), 1, "{of_client:?} {of_server:?}");
                match (&world.known.connections[0], expected(of_client, of_server)) {
                    (ClientEvent::Connected(connected), Ok(expected)) => {
                        assert_eq!((connected.revision, connected.basis), expected);
                        assert_eq!(world.pair.client.basis(), Some(expected.1));
                        let call = world.tool("plain");
                        let list = world.call("tools/list", "{}", CallOptions::new());
                        world.run();
                        assert_eq!(world.text(call), "plain  ");
                        assert!(
                            matches!(&world.known.ended[1], (ended, Outcome::Result(_)) if *ended == list)
                        );
                        world.is_clean();
                    }
                    (ClientEvent::ConnectFailed(ConnectFailure::PeerError(error)), Err(code)) => {
                        assert_eq!(error.code.get(), code);
                        assert_eq!(world.pair.client.phase(), Phase::Closed);
                        assert_ne!(world.pair.server.phase(), Phase::Closed);
                    }
                    (event, expected) => {
                        panic!("{of_client:?} {of_server:?}: {event:?} {expected:?}")
                    }
                }
            }
        }
    }
}

/// Proves M-ERA-33, M-ERA-32: calls made before the connection get their outcome in every mix.
#[test]
fn calls_made_before_the_era_is_known_end_in_every_mix() {
    for of_client in KINDS {
        for of_server in KINDS {
            let mut world = World::new(client(of_client), server(of_server));
            // Begins again, with the calls first.
            world.pair = Pair::new(client(of_client), server(of_server));
            world.known = Default::default();
            let calls = [world.tool("plain"), world.tool("everything")];
            world.pair.client.connect(world.pair.now, &mut world.pair.client_out).unwrap();
            world.run();
            let mut ended: Vec<_> = world.known.ended.iter().map(|(call, _)| *call).collect();
            ended.sort();
            assert_eq!(ended, calls, "{of_client:?} {of_server:?}");
            for (_, outcome) in &world.known.ended {
                let is_connected = expected(of_client, of_server).is_ok();
                assert_eq!(matches!(outcome, Outcome::Result(_)), is_connected, "{outcome:?}");
                assert!(is_connected || *outcome == Outcome::NotSent);
            }
        }
    }
}

/// Proves M-ERA-21, M-ERA-22: a known revision is right or wrong, in every mix.
#[test]
fn a_known_revision_is_used_or_corrected_in_every_era_mix() {
    for known in [Revision::V2026_07_28, Revision::V2025_11_25] {
        for of_server in KINDS {
            let mut config = client(BOTH);
            config.known = Some(known);
            let mut world = World::new(config, server(of_server));
            let call = world.tool("plain");
            world.run();
            assert_eq!(world.text(call), "plain  ");
            let revision = world.pair.client.revision().unwrap();
            let expected = match (known, of_server) {
                (_, MODERN) => Revision::V2026_07_28,
                (_, LEGACY) => Revision::V2025_11_25,
                (known, _) => known,
            };
            assert_eq!(revision, expected, "{known} {of_server:?}");
            let last = world.known.connections.last().unwrap();
            assert!(
                matches!(last, ClientEvent::Connected(connected) if connected.revision == expected)
            );
            world.is_clean();
        }
    }
}

/// A call that is sent together with the probe, to a legacy server, is refused by the server, and affects nothing
/// else.
#[test]
fn a_call_that_trusted_too_much_is_refused() {
    let mut config = client(BOTH);
    config.known = Some(Revision::V2026_07_28);
    let mut world = World::new(client(LEGACY), server(LEGACY));
    world.pair = Pair::new(config, server(LEGACY));
    world.known = Default::default();
    world.pair.client.connect(world.pair.now, &mut world.pair.client_out).unwrap();
    let trusting = world.tool("plain");
    world.run();
    let after = world.tool("plain");
    world.run();
    assert_eq!(world.text(after), "plain  ");
    assert!(matches!(&world.known.ended[0], (ended, Outcome::PeerError(_)) if *ended == trusting));
}

/// Proves M-ERA-21: a reconnecting client begins with the discovered revision, in every mix that can connect.
#[test]
fn a_successor_needs_not_find_out_again() {
    for of_server in KINDS {
        let world = World::new(client(BOTH), server(of_server));
        let successor: Client = world.pair.client.reconnect(ConnectionNumber::new(1));
        let revision = world.pair.client.revision();
        let mut next = World::new(client(BOTH), server(of_server));
        next.pair = Pair::new(client(BOTH), server(of_server));
        next.pair.client = successor;
        next.known = Default::default();
        next.pair.client.connect(next.pair.now, &mut next.pair.client_out).unwrap();
        next.run();
        let [ClientEvent::Connected(connected)] = &next.known.connections[..] else { panic!() };
        assert_eq!(
            (Some(connected.revision), connected.basis),
            (revision, NegotiationBasis::Known)
        );
        next.is_clean();
    }
}

/// Every legacy revision of a server that supports no other. Proves M-DISC-07.
#[test]
fn a_client_of_both_eras_meets_every_old_server() {
    for revision in Revision::LEGACY {
        let mut world = World::new(client(BOTH), server(RevisionSet::only(revision)));
        assert_eq!(world.pair.client.revision(), Some(revision));
        let call = world.tool("plain");
        world.run();
        assert_eq!(world.text(call), "plain  ");
        world.is_clean();
    }
}
