//! Compares the throughput of README's server through the adapters with that of the same server on the official SDK.
//!
//! Each server runs in its own process, and the servers take turns. The program prints medians and judges none of
//! them: times differ from computer to computer. It requires the `/proc` of Linux.

use std::env;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use mcp_sansio_benches::hello::client::Transport;
use mcp_sansio_benches::hello::pairs::{Comparison, Round, median, ratio};

/// Measures calls per second and processor time per call.
#[derive(Parser)]
struct Arguments {
    /// The number of runs of each server
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// The duration of each run
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 500)]
    within: u64,
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

fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    if cfg!(debug_assertions) {
        return Err("without --release, the numbers mean nothing".into());
    }
    let program =
        env::current_exe()?.with_file_name("hello").with_extension(env::consts::EXE_EXTENSION);
    if !program.exists() {
        return Err("build the servers first, with\n\
                    cargo build --release --package mcp-sansio-benches --bins"
            .into());
    }
    println!(
        "| carried by | in flight | server | calls/s | processor µs/call | calls/s ÷ rmcp | processor ÷ rmcp |"
    );
    println!("|---|---:|---|---:|---:|---:|---:|");
    for comparison in Comparison::all() {
        let within = Duration::from_millis(arguments.within);
        let results = comparison.run(&program, arguments.rounds.into(), within)?;
        let Some(rmcp) = results.last() else { continue };
        for (server, rounds) in comparison.servers.iter().zip(&results) {
            let calls = |round: &Round| round.calls_per_second;
            let processor = |round: &Round| round.processor_micros;
            println!(
                "| {} | {} | {server} | {:.0} | {:.1} | {:.2} | {:.2} |",
                transport(comparison.transport),
                comparison.in_flight,
                median(rounds.iter().map(calls)),
                median(rounds.iter().map(processor)),
                ratio(rounds, rmcp, calls),
                ratio(rounds, rmcp, processor),
            );
        }
    }
    Ok(())
}

fn transport(transport: Transport) -> &'static str {
    match transport {
        Transport::Stdio => "pipes",
        Transport::HttpStateless => "HTTP, stateless",
        Transport::HttpSession => "HTTP, in sessions",
    }
}
