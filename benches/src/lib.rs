//! Measurements of mcp-sansio, and of the implementations that it is compared with.
//!
//! A [`Case`] is a piece of work, a [`Contender`] is an implementation that does it, and [`rounds`] combines the two
//! into a repeatable closure. The programs in `src/bin` count its instructions and allocations; the benchmarks in
//! `benches` measure its time.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a benchmark fails by panicking")]

// Included as a file: the rest of the test kit would take longer to build than this package.
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
#[cfg(feature = "contenders")]
mod rmcp_client;
#[cfg(feature = "contenders")]
mod rmcp_server;
mod sealed;
mod sent;
pub mod sessions;
pub mod soak;
pub mod stage;
pub mod table;
#[cfg(feature = "contenders")]
mod wire;

#[cfg(test)]
mod footprint_tests;
#[cfg(all(test, feature = "contenders"))]
mod guard_tests;
#[cfg(all(test, feature = "contenders"))]
mod output_tests;

pub use case::{Case, Contender};

#[cfg(test)]
#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting::new();

/// A piece of work that runs the given number of times.
pub type Rounds = Box<dyn FnMut(usize)>;

/// Returns a contender's work on a case after a warm-up, so that every buffer has grown. `None` if the contender does
/// not take part in the case, or is not built.
pub fn rounds(case: Case, contender: Contender) -> Option<Rounds> {
    let mut rounds = match contender {
        Contender::Core => core_rounds(case)?,
        Contender::SerdeJson => floor::serde_json(case)?,
        #[cfg(feature = "contenders")]
        Contender::Sonic => floor::sonic(case)?,
        #[cfg(feature = "contenders")]
        Contender::Rmcp => rmcp_rounds(case)?,
        #[cfg(not(feature = "contenders"))]
        Contender::Sonic | Contender::Rmcp => return None,
    };
    rounds(2 * case.rounds());
    Some(rounds)
}

/// Returns the bytes that a contender sends in one batch of rounds, after a warm-up. `None` if the contender does not
/// take part in the case.
pub fn output(case: Case, contender: Contender) -> Option<Vec<u8>> {
    let mut rounds = rounds(case, contender)?;
    Some(sent::listen(|| rounds(case.batch())))
}

fn core_rounds(case: Case) -> Option<Rounds> {
    let client = || core_client::rounds(case);
    core_server::rounds(case).or_else(client).or_else(|| sealed::rounds(case))
}

#[cfg(feature = "contenders")]
fn rmcp_rounds(case: Case) -> Option<Rounds> {
    rmcp_server::rounds(case).or_else(|| rmcp_client::rounds(case))
}
