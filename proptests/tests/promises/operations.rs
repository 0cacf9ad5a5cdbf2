//! Random operations on either role alone and on a pair, with the promises as oracle. The simulation and the fuzz
//! targets do the same, from seeds and from bytes; here counter-examples shrink.

use mcp_sansio::testing::Choices;
use mcp_sansio::{Client, Framing, Revision, RevisionSet, Server};
use mcp_sansio_proptests::single::{Act, Single, connection, revisions};
use mcp_sansio_proptests::world::{Setup, Step, Trial};
use proptest::prelude::*;

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(300)
}

/// Generates a value from choices with a seed of its own, so that the other values stay the same when it is removed.
fn chosen<T: std::fmt::Debug>(choose: fn(&mut Choices) -> T) -> impl Strategy<Value = T> {
    any::<u64>().prop_map(move |seed| choose(&mut Choices::seeded(seed)))
}

/// The metadata of a modern request.
const MODERN: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}}}"#;

fn message() -> impl Strategy<Value = String> {
    let id = prop::sample::select(&["0", "1", "2", "3", "\"1\"", "\"a\"", "null", "1.5"][..]);
    let method = prop::sample::select(
        &["ping", "tools/list", "roots/list", "sampling/createMessage", "x/y", "initialize"][..],
    );
    (0..24_u8, id, method, 0..5_u8).prop_map(|(kind, id, method, number)| match kind {
        0 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"messages":[],"maxTokens":1,"_meta":{{"progressToken":{id}}}}}}}"#
        ),
        1 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a":1}}}}"#),
        2 => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-1}}}}"#),
        3 => format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        ),
        4 => format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":{number}}}}}"#
        ),
        5 => r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.into(),
        6 | 7 => HANDSHAKE.lines().next().unwrap_or_default().into(),
        8 | 9 => format!(
            r#"{{"jsonrpc":"2.0","id":{number},"result":{{"protocolVersion":"2025-03-26","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
        ),
        10 => format!(
            r#"[{{"jsonrpc":"2.0","id":{id},"method":"{method}"}},{{"jsonrpc":"2.0","id":2,"result":{{}}}}]"#
        ),
        11 => r#"{"jsonrpc":"2.0","error":{"code":-1,"message":"m"}}"#.into(),
        12 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"#),
        13 => format!(r#"{{"jsonrpc":"2.0","id":{id}}}"#),
        16 | 17 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{MODERN}}}}}"#
        ),
        18 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true}},"_meta":{MODERN}}}}}"#
        ),
        19 => format!(
            r#"{{"jsonrpc":"2.0","id":{number},"result":{{"resultType":"input_required","requestState":"s","inputRequests":{{"a":{{"method":"roots/list"}}}}}}}}"#
        ),
        20 => format!(
            r#"{{"jsonrpc":"2.0","id":{number},"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}}}}}}}}"#
        ),
        22 | 23 => {
            let request = |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#);
            format!("[{}]", (10..15).map(request).collect::<Vec<_>>().join(","))
        }
        14 => "x".repeat(100 * usize::from(number)),
        _ => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#),
    })
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let flip = prop::option::weighted(0.1, (any::<prop::sample::Index>(), any::<u8>()));
    (message(), prop::bool::weighted(0.95), flip).prop_map(|(message, newline, flip)| {
        let mut bytes = message.into_bytes();
        if let Some((at, byte)) = flip.filter(|_| !bytes.is_empty()) {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if newline {
            bytes.push(b'\n');
        }
        bytes
    })
}

/// The handshake of a client of 2025-03-26, the revision with batches.
const HANDSHAKE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{"roots":{},"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n"
);

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![8 => bytes().prop_map(Act::Bytes), 17 => chosen(Act::choose)];
    (any::<bool>(), prop::collection::vec(act, 0..60)).prop_map(|(is_in_session, mut acts)| {
        if is_in_session {
            let handshake = [Act::Begin, Act::Bytes(HANDSHAKE.into()), Act::Send(u16::MAX)];
            acts.splice(0..0, handshake);
        }
        acts
    })
}

fn framing() -> impl Strategy<Value = Framing> {
    prop_oneof![Just(Framing::Lines), Just(Framing::Messages)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    /// Promises 1, 2, 3 and 6, for any events in any order. Pain 17.
    #[test]
    fn a_client_keeps_its_promises(
        connection in chosen(connection),
        revisions in chosen(revisions),
        framing in framing(),
        acts in acts(),
    ) {
        let kept = Single::<Client>::new(connection, revisions, framing).run(acts);
        prop_assert_eq!(kept, Ok(()));
    }

    /// The same for a server.
    #[test]
    fn a_server_keeps_its_promises(
        connection in chosen(connection),
        revisions in chosen(revisions),
        framing in framing(),
        acts in acts(),
    ) {
        let kept = Single::<Server>::new(connection, revisions, framing).run(acts);
        prop_assert_eq!(kept, Ok(()));
    }

    /// Promises 1 to 7 and 10 of both roles and all eras, over streams and over transports that lose, repeat and
    /// reorder messages. A failure is printed with a sequence diagram.
    #[test]
    fn a_pair_keeps_its_promises(
        setup in chosen(Setup::choose),
        steps in prop::collection::vec(chosen(Step::choose), 0..120),
    ) {
        if let Err(failure) = Trial::run(&setup, &steps) {
            return Err(TestCaseError::fail(failure.to_string()));
        }
    }
}

/// The reference model allows each side to refuse the requests of a batch beyond the limit of open batches
/// (`Limits::batches`).
#[test]
fn more_batches_than_the_limit_are_refused() {
    let only = RevisionSet::only(Revision::V2025_03_26);
    for (seed, way) in (0..20).flat_map(|seed| [(seed, false), (seed, true)]) {
        let mut setup = Setup::choose(&mut Choices::seeded(seed));
        (setup.client.revisions, setup.server.revisions) = (only, only);
        (setup.client.known, setup.client.probe) = (None, false);
        (setup.stream, setup.faults) = (None, false);
        for limits in [&mut setup.client.connection.limits, &mut setup.server.connection.limits] {
            (limits.batches, limits.inbound_requests, limits.outbound_calls) = (2, 20, 20);
        }
        let mut steps = vec![Step::Connect, Step::Flow];
        // Each has two calls.
        steps.extend((0..4).map(|_| Step::Batch { way, what: 2 }));
        steps.push(Step::Flow);
        if let Err(failure) = Trial::run(&setup, &steps) {
            panic!("{failure}");
        }
    }
}
