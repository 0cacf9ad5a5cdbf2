//! The table of a client's moves after each response of a server, row by row, and all paths through it.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use alloc::vec;
use alloc::vec::Vec;

use super::*;

const MODERN: Revision = Revision::V2026_07_28;
const NEWEST: Revision = Revision::V2025_11_25;
const OLDER: Revision = Revision::V2025_03_26;
const OLDEST: Revision = Revision::V2024_11_05;

fn just(revisions: &[Revision]) -> RevisionSet {
    revisions.iter().copied().collect()
}

const fn able(spoken: RevisionSet) -> Abilities {
    Abilities { spoken, offer: None, known: None, probe: true }
}

/// The three kinds of clients.
const BOTH: Abilities = able(RevisionSet::ALL);
const ONLY_MODERN: Abilities = able(RevisionSet::MODERN);
const ONLY_SESSIONS: Abilities = able(RevisionSet::LEGACY);

const WRONG: ErrorCode = ErrorCode::UNSUPPORTED_PROTOCOL_VERSION;
const INCAPABLE: ErrorCode = ErrorCode::MISSING_CLIENT_CAPABILITY;

/// Errors that do not indicate the era. `-32020` is one of them, because a byte stream has no headers.
fn weak_codes() -> impl Iterator<Item = ErrorCode> {
    let codes = [-32601, -32602, -32600, -32603, -32700, -32000, -32001, -32003, -32004, -32020];
    codes.into_iter().chain([-32002, -32042, -32023, 12345, 0, -1]).map(ErrorCode::new)
}

/// A client that has sent its probe.
fn probing(able: Abilities) -> Negotiation {
    let negotiation = Negotiation::new(false);
    assert_eq!(negotiation.begin(able), Move::Probe(MODERN));
    negotiation
}

/// The moves of both clients with the modern era after the first response to the probe.
fn after(probed: Probed) -> (Move, Move) {
    (probing(BOTH).probed(probed, BOTH), probing(ONLY_MODERN).probed(probed, ONLY_MODERN))
}

/// Proves M-ERA-12, M-ERA-23, M-ERA-24, M-ERA-25, M-DISC-08.
#[test]
fn the_first_move_is_that_of_the_configuration() {
    let blind = |able| Abilities { probe: false, ..able };
    let known = |known, able| Abilities { known: Some(known), ..able };
    let offering = |offer, able| Abilities { offer: Some(offer), ..able };
    let evident = |basis| Move::Go(MODERN, basis);
    let table = [
        (BOTH, false, Move::Probe(MODERN)),
        (ONLY_MODERN, false, Move::Probe(MODERN)),
        (ONLY_SESSIONS, false, Move::Initialize(NEWEST)),
        (offering(OLDER, ONLY_SESSIONS), false, Move::Initialize(OLDER)),
        // Only a client that speaks one era may skip the probe.
        (blind(BOTH), false, Move::Probe(MODERN)),
        (blind(ONLY_MODERN), false, evident(NegotiationBasis::OnlyEra)),
        (blind(ONLY_SESSIONS), false, Move::Initialize(NEWEST)),
        // A known revision is assumed, if the client speaks it.
        (known(MODERN, BOTH), false, evident(NegotiationBasis::Known)),
        (known(MODERN, ONLY_MODERN), false, evident(NegotiationBasis::Known)),
        (known(MODERN, ONLY_SESSIONS), false, Move::Initialize(NEWEST)),
        (known(OLDER, BOTH), false, Move::Initialize(NEWEST)),
        (known(OLDER, offering(OLDEST, BOTH)), false, Move::Initialize(OLDEST)),
        (known(OLDER, ONLY_MODERN), false, Move::Probe(MODERN)),
        (known(OLDER, ONLY_SESSIONS), false, Move::Initialize(NEWEST)),
        // A server that closes the connection on a probe is sent `initialize` at once.
        (BOTH, true, Move::Initialize(NEWEST)),
        (offering(OLDER, BOTH), true, Move::Initialize(OLDER)),
        (ONLY_MODERN, true, Move::Probe(MODERN)),
        (ONLY_SESSIONS, true, Move::Initialize(NEWEST)),
        (able(RevisionSet::NONE), false, Move::Fail(Failing::NoCommonRevision)),
    ];
    for (able, ended_on_probe, expected) in table {
        assert_eq!(
            Negotiation::new(ended_on_probe).begin(able),
            expected,
            "{able:?} {ended_on_probe}"
        );
    }
}

/// Table 4b, rows 1 to 4. Proves M-DISC-07, M-DISC-16, M-DISC-19, M-ERA-15.
#[test]
fn a_discover_result_selects_a_common_revision() {
    let discovered = Move::Go(MODERN, NegotiationBasis::Discovered);
    let nothing = Move::Fail(Failing::NoCommonRevision);
    // 1
    for theirs in [just(&[MODERN]), RevisionSet::ALL, just(&[OLDEST, MODERN])] {
        assert_eq!(after(Probed::Discovery(theirs)), (discovered, discovered), "{theirs:?}");
    }
    // 2
    for (theirs, best) in
        [(RevisionSet::LEGACY, NEWEST), (just(&[NEWEST]), NEWEST), (just(&[OLDEST, OLDER]), OLDER)]
    {
        let expected = (Move::Initialize(best), nothing);
        assert_eq!(after(Probed::Discovery(theirs)), expected, "{theirs:?}");
    }
    // 3
    assert_eq!(after(Probed::Discovery(RevisionSet::NONE)), (nothing, nothing));
    let narrow = able(just(&[OLDEST, MODERN]));
    let theirs = Probed::Discovery(just(&[OLDER, NEWEST]));
    assert_eq!(probing(narrow).probed(theirs, narrow), nothing);
    // 4
    let expected = (Move::Initialize(NEWEST), Move::Fail(Failing::AsItIs));
    assert_eq!(after(Probed::Nonsense), expected);
}

/// Table 4b, rows 5 to 8. Proves M-DISC-12, M-DISC-13, M-DISC-15, M-DISC-16, M-ERA-14, M-ERA-25.
#[test]
fn a_wrong_version_is_corrected_once() {
    for able in [BOTH, ONLY_MODERN] {
        let mut negotiation = probing(able);
        let refusal = Probed::WrongVersion(Some(RevisionSet::ALL));
        // 5, also for the version of the probe itself.
        assert_eq!(negotiation.probed(refusal, able), Move::Probe(MODERN));
        let mut good = negotiation.clone();
        // 6
        assert_eq!(negotiation.probed(refusal, able), Move::Fail(Failing::AsItIs));
        // The outcome of the second probe is judged like that of the first.
        let theirs = Probed::Discovery(just(&[MODERN]));
        assert_eq!(good.probed(theirs, able), Move::Go(MODERN, NegotiationBasis::Discovered));
    }
    let nothing = Move::Fail(Failing::NoCommonRevision);
    // 7
    let sessions = Probed::WrongVersion(Some(just(&[OLDEST, OLDER])));
    assert_eq!(after(sessions), (Move::Initialize(OLDER), nothing));
    // 8
    let strange = Probed::WrongVersion(Some(RevisionSet::NONE));
    assert_eq!(after(strange), (nothing, nothing));
}

/// Table 4b, row 9. Proves M-DISC-14, M-ERA-18.
#[test]
fn a_wrong_version_without_a_list_is_weak_evidence() {
    let failed = Move::Fail(Failing::AsItIs);
    assert_eq!(after(Probed::WrongVersion(None)), (Move::Initialize(NEWEST), failed));
    let refusals = weak_codes().map(Refused::Error).chain([Refused::Otherwise]);
    for refused in refusals.chain([Refused::Error(WRONG), Refused::Error(INCAPABLE)]) {
        let mut negotiation = probing(BOTH);
        negotiation.probed(Probed::WrongVersion(None), BOTH);
        assert_eq!(negotiation.basis(BOTH), NegotiationBasis::ProbeRefused(WRONG));
        // The server knew the error, so it is probed again, once.
        assert_eq!(negotiation.refused(refused, BOTH), Move::Probe(MODERN), "{refused:?}");
        assert_eq!(negotiation.probed(Probed::WrongVersion(None), BOTH), failed);
    }
}

/// Table 4b, rows 10 to 14. Proves M-ERA-13, M-ERA-14, M-ERA-16, M-ERA-23, M-ERR-04, M-AMB-09.
#[test]
fn any_other_error_is_that_of_a_server_with_sessions() {
    let failed = Move::Fail(Failing::AsItIs);
    // 10
    assert_eq!(after(Probed::Error(INCAPABLE)), (failed, failed));
    // 11, 12, 13
    for code in weak_codes() {
        assert_eq!(after(Probed::Error(code)), (Move::Initialize(NEWEST), failed), "{code}");
        let mut negotiation = probing(BOTH);
        negotiation.probed(Probed::Error(code), BOTH);
        assert_eq!(negotiation.basis(BOTH), NegotiationBasis::ProbeRefused(code));
    }
    // 14
    assert_eq!(after(Probed::TimedOut), (Move::Initialize(NEWEST), failed));
    // The client offers the configured revision.
    let offering = Abilities { offer: Some(OLDER), ..BOTH };
    for probed in [Probed::TimedOut, Probed::Nonsense, Probed::Error(ErrorCode::METHOD_NOT_FOUND)] {
        assert_eq!(probing(offering).probed(probed, offering), Move::Initialize(OLDER));
    }
}

/// Table 4b, row 15. Proves M-ERA-19.
#[test]
fn a_server_that_goes_away_is_started_again_and_not_probed() {
    assert_eq!(after(Probed::Closed), (Move::Fail(Failing::Restart), Move::Fail(Failing::AsItIs)));
    let mut negotiation = probing(BOTH);
    assert!(!negotiation.ended_on_probe());
    negotiation.probed(Probed::Closed, BOTH);
    assert!(negotiation.ended_on_probe());
    let next = Negotiation::new(negotiation.ended_on_probe());
    assert_eq!(next.begin(BOTH), Move::Initialize(NEWEST));
    // A server that has refused `initialize` is not started again for another one.
    let mut negotiation = probing(BOTH);
    negotiation.probed(Probed::WrongVersion(None), BOTH);
    let refused = Refused::Error(ErrorCode::METHOD_NOT_FOUND);
    assert_eq!(negotiation.refused(refused, BOTH), Move::Probe(MODERN));
    assert_eq!(negotiation.probed(Probed::Closed, BOTH), Move::Fail(Failing::AsItIs));
    assert!(!negotiation.ended_on_probe());
}

/// The assumption that a server has sessions holds until `initialize` is refused, or a probe is answered.
#[test]
fn a_server_that_went_away_is_probed_again_after_an_answer() {
    let known = Abilities { known: Some(MODERN), ..BOTH };
    for is_refused in [true, false] {
        let mut negotiation = Negotiation::new(true);
        assert_eq!(negotiation.begin(known), Move::Initialize(NEWEST));
        if is_refused {
            let refused = Refused::Error(ErrorCode::METHOD_NOT_FOUND);
            assert_eq!(negotiation.refused(refused, known), Move::Fail(Failing::AsItIs));
        } else {
            let go = Move::Go(MODERN, NegotiationBasis::Discovered);
            assert_eq!(negotiation.probed(Probed::Discovery(RevisionSet::MODERN), known), go);
        }
        assert!(!negotiation.ended_on_probe());
        let next = Negotiation::new(negotiation.ended_on_probe());
        assert_eq!(next.begin(known), Move::Go(MODERN, NegotiationBasis::Known));
    }
}

/// Table 4b, rows 14 and 21. Proves M-ERA-17.
#[test]
fn a_late_discovery_counts_if_there_is_no_session() {
    let late = Move::Go(MODERN, NegotiationBasis::DiscoveredLate);
    for refused in [Refused::Otherwise, Refused::Error(WRONG), Refused::Error(ErrorCode::new(1))] {
        let mut negotiation = probing(BOTH);
        negotiation.probed(Probed::TimedOut, BOTH);
        assert_eq!(negotiation.basis(BOTH), NegotiationBasis::ProbeTimedOut);
        let mut useless = negotiation.clone();
        negotiation.answered_late(just(&[MODERN, NEWEST]), CapabilitySet::NONE);
        assert_eq!(negotiation.refused(refused, BOTH), late, "{refused:?}");
        // A late response without a usable revision changes nothing.
        let mut silent = useless.clone();
        useless.answered_late(RevisionSet::LEGACY, CapabilitySet::NONE);
        assert_eq!(useless.refused(refused, BOTH), silent.refused(refused, BOTH));
    }
}

/// Table 4b, rows 22, 23 and 26. Proves M-ERA-18, M-ERA-22, M-ERA-31.
#[test]
fn a_session_that_is_refused_in_a_modern_way_is_none() {
    let failed = Move::Fail(Failing::AsItIs);
    let known = Abilities { known: Some(NEWEST), ..BOTH };
    for code in [WRONG, INCAPABLE] {
        // 22: after a probe without a response; 26: the known revision is wrong.
        let mut after_probe = probing(BOTH);
        after_probe.probed(Probed::TimedOut, BOTH);
        let from_memory = Negotiation::new(false);
        assert_eq!(from_memory.begin(known), Move::Initialize(NEWEST));
        assert_eq!(from_memory.basis(known), NegotiationBasis::Known);
        for (mut negotiation, able) in [(after_probe, BOTH), (from_memory, known)] {
            assert_eq!(negotiation.refused(Refused::Error(code), able), Move::Probe(MODERN));
            let mut again = negotiation.clone();
            let theirs = Probed::Discovery(just(&[MODERN]));
            assert_eq!(
                negotiation.probed(theirs, able),
                Move::Go(MODERN, NegotiationBasis::Discovered)
            );
            // A second failure is final.
            for probed in [Probed::TimedOut, Probed::Nonsense, Probed::WrongVersion(None)] {
                assert_eq!(again.clone().probed(probed, able), failed);
            }
            let nothing = Move::Fail(Failing::NoCommonRevision);
            assert_eq!(again.probed(Probed::Discovery(RevisionSet::LEGACY), able), nothing);
        }
        // Without the modern era there is no alternative.
        let mut negotiation = Negotiation::new(false);
        negotiation.begin(ONLY_SESSIONS);
        assert_eq!(negotiation.refused(Refused::Error(code), ONLY_SESSIONS), failed);
    }
    // 23, and any other refusal.
    for refused in weak_codes().map(Refused::Error).chain([Refused::Otherwise]) {
        let mut negotiation = probing(BOTH);
        negotiation.probed(Probed::Error(ErrorCode::METHOD_NOT_FOUND), BOTH);
        assert_eq!(negotiation.refused(refused, BOTH), failed, "{refused:?}");
    }
}

/// Table 4b, row 25, as far as the move goes: a probe beside the first calls is judged like any other. Proves
/// M-ERA-21, M-ERA-22.
#[test]
fn a_probe_outcome_overrides_the_known_revision() {
    let known = Abilities { known: Some(MODERN), ..BOTH };
    let outcomes = weak_codes().map(Probed::Error).chain([
        Probed::Nonsense,
        Probed::TimedOut,
        Probed::WrongVersion(None),
        Probed::WrongVersion(Some(RevisionSet::LEGACY)),
        Probed::Discovery(just(&[NEWEST])),
    ]);
    for probed in outcomes {
        let mut negotiation = Negotiation::new(false);
        assert_eq!(negotiation.begin(known), Move::Go(MODERN, NegotiationBasis::Known));
        assert_eq!(negotiation.probed(probed, known), Move::Initialize(NEWEST), "{probed:?}");
        assert_ne!(negotiation.basis(known), NegotiationBasis::Known, "{probed:?}");
    }
    let mut negotiation = Negotiation::new(false);
    negotiation.begin(known);
    assert_eq!(negotiation.probed(Probed::Closed, known), Move::Fail(Failing::Restart));
}

/// All outcomes of a probe, and of `initialize`.
fn all_outcomes() -> (Vec<Probed>, Vec<Refused>) {
    let sets =
        [RevisionSet::NONE, RevisionSet::ALL, just(&[MODERN]), RevisionSet::LEGACY, just(&[OLDER])];
    let mut probed = vec![Probed::Nonsense, Probed::TimedOut, Probed::Closed];
    probed.push(Probed::WrongVersion(None));
    probed.extend(sets.map(Probed::Discovery));
    probed.extend(sets.map(|set| Probed::WrongVersion(Some(set))));
    probed.extend(weak_codes().chain([INCAPABLE]).map(Probed::Error));
    let mut refused = vec![Refused::Otherwise];
    refused.extend(weak_codes().chain([WRONG, INCAPABLE]).map(Refused::Error));
    (probed, refused)
}

/// Follows all paths from a move to the end. Returns the maximum number of requests on one path.
fn longest(negotiation: &Negotiation, able: Abilities, next: Move, sent: u32) -> u32 {
    let (probed, refused) = all_outcomes();
    assert!(sent < 10, "it goes on for ever");
    match next {
        Move::Fail(_) => sent,
        Move::Go(revision, basis) => {
            assert!(able.stateless().contains(revision), "{basis:?}");
            sent
        }
        Move::Probe(revision) => {
            assert!(able.stateless().contains(revision));
            let ways = probed.into_iter().map(|outcome| {
                let mut negotiation = negotiation.clone();
                let next = negotiation.probed(outcome, able);
                longest(&negotiation, able, next, sent + 1)
            });
            ways.max().unwrap()
        }
        Move::Initialize(revision) => {
            assert!(able.sessions().contains(revision));
            let late = [None, Some(RevisionSet::ALL), Some(RevisionSet::NONE)];
            let ways = late.into_iter().flat_map(|late| {
                refused.iter().map(move |outcome| {
                    let mut negotiation = negotiation.clone();
                    if let Some(theirs) = late {
                        negotiation.answered_late(theirs, CapabilitySet::NONE);
                    }
                    let next = negotiation.refused(*outcome, able);
                    longest(&negotiation, able, next, sent + 1)
                })
            });
            ways.max().unwrap()
        }
    }
}

/// With any responses of a server, a client ends after a few requests, and sends no request of an era that it does
/// not speak. Proves M-DISC-13, M-ERA-14, M-ERA-18, M-ARCH-11.
#[test]
fn every_way_through_the_table_ends() {
    let spoken = [
        RevisionSet::ALL,
        RevisionSet::MODERN,
        RevisionSet::LEGACY,
        just(&[MODERN, OLDER]),
        RevisionSet::NONE,
    ];
    let mut most = 0;
    for spoken in spoken {
        for known in [None, Some(MODERN), Some(OLDER)] {
            for (probe, ended_on_probe) in
                [(true, false), (false, false), (true, true), (false, true)]
            {
                let able = Abilities {
                    spoken,
                    offer: spoken.and(RevisionSet::LEGACY).latest(),
                    known,
                    probe,
                };
                let negotiation = Negotiation::new(ended_on_probe);
                let first = negotiation.begin(able);
                if let Move::Go(revision, NegotiationBasis::Known) = first {
                    // The server is probed nevertheless.
                    let probe = Move::Probe(revision);
                    most = most.max(longest(&negotiation, able, probe, 0));
                }
                most = most.max(longest(&negotiation, able, first, 0));
            }
        }
    }
    // A probe, a probe with another revision, `initialize`, and a last probe.
    assert_eq!(most, 4);
}
