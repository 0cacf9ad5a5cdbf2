//! Random behaviour of servers, users and other processes.

use std::collections::BTreeSet;

use mcp_sansio::auth::Stage;
use mcp_sansio::testing::Choices;
use mcp_sansio_proptests::authorization_world::{Moves, World};

/// The minimum number of worlds: enough to show every transition of the table but the rarest.
const SEEDS: u64 = 3000;

/// These transitions need a server that forgets a client and stops accepting registrations, or another process that
/// drops the client. Tests of `refreshing` and `refresh_ends` cover them.
const RAREST: [(Stage, Stage); 3] = [
    (Stage::Claiming, Stage::NamingClient),
    (Stage::Refreshing, Stage::NamingClient),
    (Stage::RequestingToken, Stage::NamingClient),
];

/// Returns the number of worlds: a tenth of `SIMULATED_SEEDS`, which counts faster simulations.
fn seeds() -> u64 {
    let given = std::env::var("SIMULATED_SEEDS").ok();
    let given = given.map_or(0, |seeds| seeds.parse().expect("SIMULATED_SEEDS is a number"));
    SEEDS.max(given / 10)
}

/// Proves A-SEC-03, A-SEC-07, A-SEC-11, A-SEC-12, A-REF-06, A-REF-07, A-REF-12, A-USE-02, A-DISC-28, A-AUTHZ-22:
/// every waiting request is released once, every authorization ends after a bounded number of requests, no secret is
/// sent to a wrong place, and tokens are saved before they are used. Each transition of the table of stages occurs.
#[test]
fn authorization_invariants_hold_in_random_runs() {
    let mut seen = Moves::new();
    for seed in 0..seeds() {
        let played = std::panic::catch_unwind(|| World::play(&mut Choices::seeded(seed)));
        seen.extend(played.unwrap_or_else(|panic| {
            eprintln!("this was the world of seed {seed}");
            std::panic::resume_unwind(panic)
        }));
    }
    let stages: BTreeSet<Stage> = seen.iter().map(|(from, _)| *from).collect();
    let missing: Vec<_> = stages
        .iter()
        .flat_map(|from| from.next().iter().map(|to| (*from, *to)))
        .filter(|(from, to)| from != to && !seen.contains(&(*from, *to)))
        .filter(|step| !RAREST.contains(step))
        .collect();
    assert_eq!(missing, [], "these are in the table and do not happen");
    assert_eq!(stages.len(), 13);
}

proptest::proptest! {
    /// Proves A-SEC-11 for any choices.
    #[test]
    fn any_choices_hold_the_promises(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..2000)) {
        World::play(&mut Choices::from_bytes(&bytes));
    }
}
