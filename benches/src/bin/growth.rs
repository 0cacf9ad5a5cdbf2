//! Counts the instructions of every piece of work at several sizes, under valgrind.
//!
//! ```text
//! cargo run --release --package mcp-sansio-benches --bin growth -- --check
//! ```
//!
//! `--svg` draws the results; `--from` reads the results of an earlier run.

#![allow(clippy::unwrap_used, reason = "a program that measures fails by panicking")]

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::Parser;
use mcp_sansio_benches::growth::{Row, Table, Work};
use mcp_sansio_benches::plot;

#[derive(Parser)]
struct Arguments {
    /// Fail if a piece of work exceeds its bound.
    #[arg(long)]
    check: bool,
    /// Draw the plots into this directory.
    #[arg(long)]
    svg: Option<PathBuf>,
    /// Read the table of an earlier run instead of measuring.
    #[arg(long)]
    from: Option<PathBuf>,
    /// Measure only the work whose name contains this text.
    #[arg(long, default_value = "")]
    only: String,
    /// Skip sizes larger than this one.
    #[arg(long, default_value_t = usize::MAX, hide_default_value = true)]
    most: usize,
    /// Run the work with this name, for a profiler to watch.
    #[arg(long, requires = "at")]
    work: Option<String>,
    /// The size of the work to run.
    #[arg(long)]
    at: Option<usize>,
}

/// Measures the instructions per message, timeout or byte.
fn measure(work: Work, size: usize) -> f64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--toggle-collect=*stage_everything*"])
        .arg("--callgrind-out-file=/dev/null")
        .arg(std::env::current_exe().unwrap())
        .args(["--work", work.name(), "--at", &size.to_string()])
        .output()
        .expect("valgrind has to be installed");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let instructions = text
        .lines()
        .find_map(|line| line.split("Collected : ").nth(1)?.trim().parse().ok())
        .unwrap_or_else(|| panic!("valgrind did not count: {text}"));
    let done: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap();
    let instructions: f64 = instructions;
    instructions / done
}

fn measure_all(only: &str, most: usize) -> Table {
    let mut table = Table::default();
    for work in Work::all().filter(|work| work.name().contains(only)) {
        for &size in work.sizes().iter().filter(|size| **size <= most) {
            let row = Row::new(work, size, measure(work, size));
            eprintln!("{} at {size}: {:.2}", work.name(), row.cost);
            table.rows.push(row);
        }
    }
    table
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let (Some(name), Some(size)) = (arguments.work, arguments.at) {
        println!("{}", Work::named(&name).expect("there is no such work").run(size));
        return ExitCode::SUCCESS;
    }
    let table = match arguments.from {
        Some(path) => std::fs::read_to_string(path).unwrap().parse().unwrap(),
        None => measure_all(&arguments.only, arguments.most),
    };
    print!("{table}");
    if let Some(directory) = arguments.svg {
        for (name, plot) in plot::all(&table) {
            std::fs::write(directory.join(name), plot).unwrap();
        }
    }
    let mut excesses = 0;
    for excess in table.excesses() {
        eprintln!("TOO MUCH: {excess}");
        excesses += 1;
    }
    if arguments.check && excesses != 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
