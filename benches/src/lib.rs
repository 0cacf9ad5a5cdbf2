//! What is measured of mcp-sansio, and what it is compared with.
//!
//! A [`Case`] is a piece of work, a [`Contender`] is somebody who does it, and [`rounds`] gives the
//! two together as something that can be run again and again. The programs in `src/bin` count
//! instructions and allocations of it, the benchmarks in `benches` take the time.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a benchmark fails by panicking")]

// Taken as a file: the rest of the test kit would take longer to build than everything here.
#[path = "../../proptests/kit/allocations.rs"]
pub mod allocations;
pub mod callgrind;
pub mod case;
mod core_client;
mod core_server;
mod floor;
pub mod footprint;
pub mod growth;
pub mod guard;
pub mod hello;
pub mod http_endpoint;
pub mod measure;
pub mod messages;
pub mod plot;
pub mod process_allocations;
mod rmcp_client;
mod rmcp_server;
mod sealed;
mod sent;
pub mod stage;
pub mod table;
mod wire;

#[cfg(test)]
mod footprint_tests;
#[cfg(test)]
mod guard_tests;
#[cfg(test)]
mod output_tests;

pub use case::{Case, Contender};

#[cfg(test)]
#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting::new();

/// Runs a piece of work so many times.
pub type Rounds = Box<dyn FnMut(usize)>;

/// A piece of work done by somebody, warm: every buffer has grown. `None` if the contender has
/// nothing to do with it.
pub fn rounds(case: Case, contender: Contender) -> Option<Rounds> {
    let mut rounds = match contender {
        Contender::Core => core_rounds(case)?,
        Contender::SerdeJson => floor::serde_json(case)?,
        Contender::Sonic => floor::sonic(case)?,
        Contender::Rmcp => rmcp_rounds(case)?,
    };
    rounds(2 * case.rounds());
    Some(rounds)
}

/// What a contender sends in one round, warm. `None` if it has nothing to do with the case.
pub fn output(case: Case, contender: Contender) -> Option<Vec<u8>> {
    let mut rounds = rounds(case, contender)?;
    Some(sent::listen(|| rounds(case.batch())))
}

fn core_rounds(case: Case) -> Option<Rounds> {
    let client = || core_client::rounds(case);
    core_server::rounds(case).or_else(client).or_else(|| sealed::rounds(case))
}

fn rmcp_rounds(case: Case) -> Option<Rounds> {
    rmcp_server::rounds(case).or_else(|| rmcp_client::rounds(case))
}
