//! Counts the cost of every case for every contender: instructions, with callgrind, and allocations.
//!
//! It runs the other programs of this package. Rebuild them before each run:
//!
//! ```text
//! cargo build --release --package mcp-sansio-benches --bins
//! cargo run --release --package mcp-sansio-benches --bin count
//! ```

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use mcp_sansio_benches::Case;
use mcp_sansio_benches::guard::{HOW_TO_WRITE, Record, judge};
use mcp_sansio_benches::measure::{Costs, measure};
use mcp_sansio_benches::table::Table;

/// The file with the recorded costs of mcp-sansio.
const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/counts.txt");

/// Counts instructions and allocations of one round.
#[derive(Parser)]
struct Arguments {
    /// Fails if mcp-sansio costs more than recorded, or exceeds the bounds relative to the other contenders.
    #[arg(long)]
    check: bool,
    /// Records the costs of mcp-sansio.
    #[arg(long, conflicts_with_all = ["check", "only"])]
    write: bool,
    /// Prints the tables as Markdown.
    #[arg(long)]
    markdown: bool,
    /// Counts only this case.
    #[arg(long, value_name = "CASE")]
    only: Option<Case>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    if cfg!(debug_assertions) {
        return Err("without --release, the numbers mean nothing".to_owned());
    }
    let record = arguments.check.then(|| Record::read(Path::new(RECORD))).transpose()?;
    let only = arguments.only.map(|case| [case]);
    let cases = only.as_ref().map_or(Case::ALL, |only| only);
    let costs = measure(cases)?;
    let (calls, rounds): (Vec<Case>, Vec<Case>) =
        cases.iter().partition(|case| case.served().is_some());
    let tables = [
        ("Instructions of one round", &rounds, Table::of_instructions(&rounds, &costs)),
        ("Instructions by stage", &rounds, Table::of_stages(&rounds, &costs)),
        ("Allocations of one round", &rounds, Table::of_allocations(&rounds, &costs)),
        ("One call of README's server", &calls, Table::of_calls(&calls, &costs)),
    ];
    for (name, _, table) in tables.into_iter().filter(|(_, cases, _)| !cases.is_empty()) {
        let text = if arguments.markdown { table.markdown() } else { table.plain() };
        println!("{name}\n\n{text}");
    }
    if arguments.write {
        let written = fs::write(RECORD, Record::of(&costs).write());
        written.map_err(|error| format!("{RECORD}: {error}"))?;
    }
    record.map_or(Ok(()), |record| check(&record, &costs))
}

fn check(record: &Record, costs: &Costs) -> Result<(), String> {
    let verdict = judge(record, costs);
    for note in &verdict.notes {
        println!("note: {note}");
    }
    if cfg!(not(feature = "contenders")) {
        println!("note: built without the official SDK, and not compared with it");
    }
    if verdict.failures.is_empty() {
        println!(
            "mcp-sansio costs no more than recorded, and keeps its bounds relative to the other contenders."
        );
        return Ok(());
    }
    let failures = verdict.failures.join("\n");
    Err(format!(
        "{failures}\n\nWhat is above the record for a reason is recorded anew, with the reason in the \
         commit:\n\n{HOW_TO_WRITE}"
    ))
}
