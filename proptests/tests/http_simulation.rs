//! Clients and servers with HTTP between them, under faults, from seeds.

use std::hash::Hasher;

use mcp_sansio::testing::{Choices, Digest};
use mcp_sansio_proptests::http_world::HttpTrial;

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

/// The same seeds have the same happen.
#[test]
fn http_is_deterministic() {
    assert_eq!(run(7, 30), run(7, 30));
}
