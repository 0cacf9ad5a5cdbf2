//! The negotiation of a client as a table, for the chapter `states`: every response in every reachable state.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::manual::states_tests::Chart;

const MODERN: Revision = Revision::V2026_07_28;
const WRONG: ErrorCode = ErrorCode::UNSUPPORTED_PROTOCOL_VERSION;

const fn able(spoken: RevisionSet) -> Abilities {
    Abilities { spoken, offer: None, known: None, probe: true }
}

const BOTH: Abilities = able(RevisionSet::ALL);

/// The response that a client waits for.
#[derive(Clone, Copy, PartialEq)]
enum Waiting {
    Discovery,
    Session,
}

/// The outcome of the request.
#[derive(Clone, Copy)]
enum Came {
    Probed(Probed),
    Late(RevisionSet),
    Refused(Refused),
}

/// The outcomes of a probe. Outcomes in one line must lead to the same state.
fn of_a_probe(negotiation: &Negotiation) -> Vec<(&'static str, Vec<Came>)> {
    let (modern, legacy, nothing) = (RevisionSet::MODERN, RevisionSet::LEGACY, RevisionSet::NONE);
    // States with the same name differ only in the revision of the repeated probe.
    let corrected = match negotiation.repeated.is_empty() {
        true => "`-32022` with a common modern revision",
        false => "`-32022` with that revision again",
    };
    let codes = [-32700, -32600, -32601, -32602, -32603, -32020, -32000, 0, 12345];
    let codes = codes.map(|code| Probed::Error(ErrorCode::new(code)));
    let lines: [(&str, &[Probed]); 14] = [
        (
            "a discovery with a common modern revision",
            &[Probed::Discovery(modern), Probed::Discovery(RevisionSet::ALL)],
        ),
        ("a discovery with common legacy revisions only", &[Probed::Discovery(legacy)]),
        ("a discovery with nothing in common", &[Probed::Discovery(nothing)]),
        ("a result that is no discovery", &[Probed::Nonsense]),
        (
            corrected,
            &[Probed::WrongVersion(Some(modern)), Probed::WrongVersion(Some(RevisionSet::ALL))],
        ),
        ("`-32022` with common legacy revisions only", &[Probed::WrongVersion(Some(legacy))]),
        ("`-32022` with nothing in common", &[Probed::WrongVersion(Some(nothing))]),
        ("`-32022` without a list", &[Probed::WrongVersion(None)]),
        ("`-32021`", &[Probed::Error(ErrorCode::MISSING_CLIENT_CAPABILITY)]),
        ("any other error", &codes),
        ("a status of HTTP that refuses it", &[Probed::Refused(400), Probed::Refused(404)]),
        ("the transport fails", &[Probed::TransportFailed]),
        ("no answer in time", &[Probed::TimedOut]),
        ("the server goes away", &[Probed::Closed]),
    ];
    let came = |of: &[Probed]| of.iter().copied().map(Came::Probed).collect();
    lines.iter().map(|(step, of)| (*step, came(of))).collect()
}

/// The outcomes of `initialize` that open no session.
fn of_a_session() -> Vec<(&'static str, Vec<Came>)> {
    let other = [-32700, -32600, -32601, -32602, -32603, -32000, 0, 12345];
    let other = other.map(|code| Came::Refused(Refused::Error(ErrorCode::new(code))));
    let of_no_sessions = [WRONG, ErrorCode::MISSING_CLIENT_CAPABILITY];
    vec![
        (
            "refused with `-32022` or `-32021`",
            of_no_sessions.map(Refused::Error).map(Came::Refused).into(),
        ),
        ("refused with any other error", other.into()),
        ("it fails in another way", vec![Came::Refused(Refused::Otherwise)]),
    ]
}

/// Only a probe that has timed out can have a late response.
fn late_answers(negotiation: &Negotiation) -> Vec<(&'static str, Vec<Came>)> {
    if negotiation.fell_back != Some(NegotiationBasis::ProbeTimedOut) || negotiation.late.is_some()
    {
        return Vec::new();
    }
    let modern = vec![Came::Late(RevisionSet::MODERN), Came::Late(RevisionSet::ALL)];
    vec![("a late discovery with a common modern revision", modern)]
}

/// The name of a state in the table. States with the same name may differ only in their basis.
fn name(negotiation: &Negotiation, waiting: Waiting) -> String {
    let Negotiation {
        repeated: _,
        fell_back,
        probed_again,
        late,
        was_late: _,
        late_capabilities: _,
        ended_on_probe,
    } = negotiation;
    assert!(!ended_on_probe, "then it has failed");
    let mut name = String::from(match (waiting, probed_again) {
        (Waiting::Discovery, false) => "probing",
        (Waiting::Discovery, true) => "probing once more",
        (Waiting::Session, _) => "initializing",
    });
    if waiting == Waiting::Session {
        match fell_back {
            _ if late.is_some() => name += ", with a late answer",
            Some(NegotiationBasis::ProbeRefused(WRONG)) => name += ", with doubts",
            Some(NegotiationBasis::ProbeTimedOut) => name += " after silence",
            _ => {}
        }
    }
    name
}

/// Returns the state after a move.
fn after(next: Move, negotiation: &Negotiation) -> (String, Option<Waiting>) {
    match next {
        Move::Probe(_) => (name(negotiation, Waiting::Discovery), Some(Waiting::Discovery)),
        Move::Initialize(_) => (name(negotiation, Waiting::Session), Some(Waiting::Session)),
        Move::Go(_, basis) => (format!("modern (`{basis:?}`)"), None),
        Move::Fail(Failing::AsItIs) => ("failed (with that answer)".into(), None),
        Move::Fail(Failing::NoCommonRevision) => ("failed (no common revision)".into(), None),
        Move::Fail(Failing::Restart) => {
            ("failed (the next connection sends `initialize` first)".into(), None)
        }
    }
}

fn chart(able: Abilities) -> Chart {
    let begun = Negotiation::new(false);
    let (_, waiting) = after(begun.begin(able), &begun);
    let mut open = vec![(begun, waiting.unwrap())];
    let mut looked_at = 0;
    let mut chart = Chart::default();
    let mut rows = BTreeMap::new();
    while let Some((negotiation, waiting)) = open.get(looked_at).cloned() {
        let from = name(&negotiation, waiting);
        let steps = match waiting {
            Waiting::Discovery => of_a_probe(&negotiation),
            Waiting::Session => [of_a_session(), late_answers(&negotiation)].concat(),
        };
        for (step, came) in steps {
            for came in came {
                let mut negotiation = negotiation.clone();
                let (to, waiting) = match came {
                    Came::Probed(probed) => after(negotiation.probed(probed, able), &negotiation),
                    Came::Refused(refused) => {
                        after(negotiation.refused(refused, able), &negotiation)
                    }
                    Came::Late(theirs) => {
                        negotiation.answered_late(theirs, CapabilitySet::NONE);
                        (name(&negotiation, waiting), Some(waiting))
                    }
                };
                // The table would be wrong if states with the same name led to different states.
                let row = (from.clone(), step);
                if *rows.entry(row).or_insert_with(|| {
                    chart.row(&from, step, &to);
                    to.clone()
                }) != to
                {
                    panic!("{from}, {step}: {to}, but another way before");
                }
                if let Some(waiting) = waiting
                    && !open.contains(&(negotiation.clone(), waiting))
                {
                    open.push((negotiation, waiting));
                }
            }
        }
        looked_at += 1;
    }
    chart
}

/// Returns the table of the first moves of a client.
fn first_moves() -> String {
    let known = |revision, able| Abilities { known: Some(revision), ..able };
    let (modern, sessions) = (able(RevisionSet::MODERN), able(RevisionSet::LEGACY));
    let of_sessions = RevisionSet::LEGACY.latest().unwrap();
    let table = [
        ("speaks revisions of both eras", BOTH, false),
        ("the same, and knows that the server is modern", known(MODERN, BOTH), false),
        ("the same, and knows that the server is legacy", known(of_sessions, BOTH), false),
        ("the same, after the connection ended during the probe", BOTH, true),
        ("speaks modern revisions only", modern, false),
        (
            "the same, without a probe (`probe` is false)",
            Abilities { probe: false, ..modern },
            false,
        ),
        ("speaks legacy revisions only", sessions, false),
        ("speaks no revision", able(RevisionSet::NONE), false),
    ];
    let mut text = String::from("| a client | first |\n|---|---|\n");
    for (client, able, ended_on_probe) in table {
        let to = match Negotiation::new(ended_on_probe).begin(able) {
            Move::Probe(_) => "probing".to_string(),
            Move::Initialize(_) => "initializing".to_string(),
            other => after(other, &Negotiation::new(false)).0,
        };
        text += &format!("| {client} | {to} |\n");
    }
    text
}

pub(crate) fn section() -> String {
    let both = chart(BOTH);
    format!(
        "## The negotiation of a client\n\n\
         The client negotiates the era with the server. In the modern era the negotiation ends in \
         [`Connected`](crate::ClientEvent::Connected) with the [`NegotiationBasis`](crate::event::NegotiationBasis) in the table. A \
         failure ends in [`ConnectFailed`](crate::ClientEvent::ConnectFailed). A client whose `initialize` succeeds is \
         connected as well, which is not in the tables. Nor is a client that is connected because it \
         [knows](crate::ClientConfig::known) that the server is modern: a failure of the transport, or silence that shows no \
         other era, changes nothing for it.\n\n\
         In the tables, a *discovery* is the result of `server/discover`. *With doubts* means that the probe was refused \
         with `-32022` and without a list of revisions. *After silence* means that the probe had no response in time. \
         *With that answer* means that the failure contains the outcome that the row names.\n\n\
         {}\n\
         A client that speaks both eras:\n\n{}\n{}\n\
         A client of the modern era only:\n\n{}\n\
         A client of the legacy era only:\n\n{}",
        first_moves(),
        both.table(),
        both.drawing("The negotiation of a client of both eras", ""),
        chart(able(RevisionSet::MODERN)).table(),
        chart(able(RevisionSet::LEGACY)).table(),
    )
}
