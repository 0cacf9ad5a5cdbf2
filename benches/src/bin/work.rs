//! Runs one piece of work, for a profiler to watch.
//!
//! ```text
//! valgrind --tool=callgrind --toggle-collect='*stage_everything*' work call mcp-sansio
//! ```

use clap::Parser;
use mcp_sansio_benches::measure::NOTHING_TO_DO;
use mcp_sansio_benches::stage::stage_everything;
use mcp_sansio_benches::{Case, Contender, rounds};

#[derive(Parser)]
struct Arguments {
    case: Case,
    contender: Contender,
    /// The number of rounds; by default that of the measurement.
    #[arg(long)]
    rounds: Option<usize>,
}

fn main() {
    let arguments = Arguments::parse();
    let Some(mut work) = rounds(arguments.case, arguments.contender) else {
        eprintln!("{} has nothing to do with {}", arguments.contender, arguments.case);
        std::process::exit(NOTHING_TO_DO);
    };
    let rounds = arguments.rounds.unwrap_or_else(|| arguments.case.rounds());
    stage_everything(|| work(rounds));
}
