//! Counts the cost of a request to an HTTP endpoint without its socket: instructions, with callgrind, and
//! allocations.
//!
//! ```text
//! cargo run --release --package mcp-sansio-benches --bin http
//! ```
//!
//! The figures are the difference of two runs, one with twice as many requests as the other. The cost of building the
//! requests is subtracted.

use std::env;
use std::process::Command;

use clap::{Parser, Subcommand, ValueEnum};
use mcp_sansio_benches::allocations::{Counting, count};
use mcp_sansio_benches::http_endpoint::{HttpEndpoint, build_requests};

#[global_allocator]
static ALLOCATOR: Counting = Counting::new();

/// The number of requests in the shorter run.
const ROUNDS: usize = 500;

/// Counts instructions and allocations of one request.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Work>,
}

#[derive(Subcommand)]
enum Work {
    /// Runs the measured work.
    Work {
        /// The kind of the requests.
        kind: Kind,
        /// The number of requests.
        rounds: usize,
        /// Builds the requests without sending them.
        #[arg(long)]
        unsent: bool,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// Modern requests, without a session.
    Stateless,
    /// Requests in one session.
    Session,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Stateless => "stateless",
            Self::Session => "session",
        }
    }
}

fn work(kind: Kind, rounds: usize, unsent: bool) {
    let endpoint = HttpEndpoint::new();
    let session = endpoint.open();
    let session = matches!(kind, Kind::Session).then_some(session.as_str());
    if unsent { build_requests(session, rounds) } else { endpoint.call(session, rounds) }
}

/// Counts the allocations of one request.
fn allocations(kind: Kind) -> f64 {
    let endpoint = HttpEndpoint::new();
    let session = endpoint.open();
    let session = matches!(kind, Kind::Session).then_some(session.as_str());
    endpoint.call(session, ROUNDS);
    let ((), all) = count(|| endpoint.call(session, ROUNDS));
    let ((), own) = count(|| build_requests(session, ROUNDS));
    (all - own) as f64 / ROUNDS as f64
}

/// Counts the instructions of a run of this program under callgrind.
fn instructions(kind: Kind, rounds: usize, unsent: bool) -> Result<u64, String> {
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
    command.args(["work", kind.name(), &rounds.to_string()]);
    command.args(unsent.then_some("--unsent"));
    let output = command.output().map_err(|error| format!("valgrind: {error}"))?;
    let output = String::from_utf8_lossy(&output.stderr);
    let collected = output.lines().find_map(|line| line.split_once("Collected :"));
    let count = collected.and_then(|(_, count)| count.trim().parse().ok());
    count.ok_or_else(|| format!("{command:?} has not counted:\n{output}"))
}

fn main() -> Result<(), String> {
    if let Some(Work::Work { kind, rounds, unsent }) = Arguments::parse().command {
        work(kind, rounds, unsent);
        return Ok(());
    }
    println!("request\tinstructions\tallocations");
    for kind in [Kind::Stateless, Kind::Session] {
        let each = |unsent| {
            let twice = instructions(kind, 2 * ROUNDS, unsent)?;
            Ok::<_, String>((twice - instructions(kind, ROUNDS, unsent)?) / ROUNDS as u64)
        };
        println!("{}\t{}\t{:.2}", kind.name(), each(false)? - each(true)?, allocations(kind));
    }
    Ok(())
}
