//! Clients and servers with HTTP between them, under faults, from seeds.

use std::hash::Hasher;

use mcp_sansio::testing::{Choices, Digest};
use mcp_sansio_proptests::http_world::{HttpTrial, trace};

/// How many seeds, unless `HTTP_SEEDS` says otherwise.
fn seeds() -> u64 {
    std::env::var("HTTP_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(300)
}

fn run(first: u64, seeds: u64) -> (u64, u64) {
    let (mut digest, mut events) = (Digest::new(), 0);
    for seed in first..first + seeds {
        match HttpTrial::run(&mut Choices::seeded(seed), 150) {
            Ok(trial) => {
                digest.write_u64(trial.digest.finish());
                events += trial.events;
            }
            Err(failure) => panic!("seed {seed}: {failure}"),
        }
    }
    (digest.finish(), events)
}

/// Every call has one outcome, responses come in their parts and say what belongs on them, and nothing is left at the
/// end.
#[test]
fn nothing_goes_wrong_over_http() {
    let (_, events) = run(1, seeds());
    assert!(seeds() * 20 < events, "too little happens: {events}");
}

/// The simulation would be worth little if these did not come about.
#[test]
fn everything_comes_about_over_http() {
    let lines: Vec<String> =
        (0..400).flat_map(|seed| trace(&mut Choices::seeded(seed), 150)).collect();
    for wanted in [
        "> GET [\"Mcp-Session-Id\"]",
        "> GET [\"Mcp-Session-Id\", \"Last-Event-ID\"]",
        "> DELETE",
        "Mcp-Name",
        "content: Json",
        "retry: 1000",
        "< Body \": \\n\\n\"",
        "kind: BrokenOff",
        "kind: Unreachable",
        "elicitation/create",
        "input_required",
        "notifications/progress",
        "notifications/subscriptions/acknowledged",
        "list_changed",
        "notifications/cancelled",
        "cause: Closed",
        "cause: Peer",
        "broken",
    ] {
        let often = lines.iter().filter(|line| line.contains(wanted)).count();
        assert!(5 < often, "{wanted}: {often}");
    }
}

/// The same seeds have the same happen.
#[test]
fn http_is_deterministic() {
    assert_eq!(run(7, 30), run(7, 30));
}
