//! Tests of the locks, wakers and queues of this crate: each is run with many interleavings of its threads.
//!
//! They exist only with `--cfg shuttle`, where [`sync`](crate::sync) comes from the crate `shuttle`. It switches
//! between threads at every lock, atomic, wake and spawn. A deadlock, a lost wake-up or a failed assertion fails the
//! test, and shuttle prints a schedule that replays it. `INTERLEAVINGS` is the number of runs of each test (500).

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod client;
mod kit;
mod parts;
mod server;
mod tasks;

/// Runs a test with that many interleavings: one half chosen at random, the other with few switches at random places,
/// which finds rarer orders (PCT).
fn explore(test: fn()) {
    let runs = std::env::var("INTERLEAVINGS").ok().and_then(|runs| runs.parse().ok());
    let runs: usize = runs.unwrap_or(500);
    shuttle::check_random(test, runs.div_ceil(2));
    shuttle::check_pct(test, runs.div_ceil(2), 3);
}
