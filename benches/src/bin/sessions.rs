//! A million live sessions in one process and one thread, of which one in a hundred is active: memory, messages per
//! second, and the times of calls.
//!
//! ```text
//! cargo run --release --package mcp-sansio-benches --bin sessions -- machines
//! cargo run --release --package mcp-sansio-benches --bin sessions -- http
//! ```
//!
//! In each round one session in a hundred calls README's tool, and a tenth of those sessions end and are replaced. If
//! the memory grows in the second half of the rounds, or a session takes more than its bound, the exit code is 1. It
//! requires the `/proc` of Linux.

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use mcp_sansio_benches::sessions::{Population, Round};
use mcp_sansio_benches::soak::Samples;

/// Serves very many sessions, few of them active.
#[derive(Parser)]
struct Arguments {
    /// The carrier of the sessions
    carrier: Carrier,
    /// The number of live sessions
    #[arg(long, default_value_t = 1_000_000)]
    sessions: usize,
    /// The number of rounds
    #[arg(long, default_value_t = 20)]
    rounds: usize,
}

#[derive(Clone, Copy, ValueEnum)]
enum Carrier {
    /// The machines and their buffers
    Machines,
    /// An endpoint for HTTP, without sockets
    Http,
}

impl Carrier {
    /// The most resident bytes of a session.
    const fn most(self) -> u64 {
        match self {
            Self::Machines => 1_024,
            Self::Http => 2_560,
        }
    }
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("sessions: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether the memory stays within its bounds.
fn run(arguments: &Arguments) -> io::Result<bool> {
    let &Arguments { carrier, sessions, rounds } = arguments;
    let mut samples = Samples::new(std::process::id(), rounds as u64, rounds as u64);
    let mut empty = Samples::new(std::process::id(), 1, 1);
    empty.note(0)?;
    let mut population = match carrier {
        Carrier::Machines => Population::of_machines(sessions),
        Carrier::Http => Population::over_http(sessions),
    };
    let mut taken = Vec::new();
    for number in 0..rounds {
        taken.push(population.round(sessions.div_ceil(100)));
        population.idle();
        samples.note(number as u64)?;
    }
    print!("{samples}");
    print_times(&taken);
    let bytes = samples.peak().saturating_sub(empty.peak()) * 1024 / population.len().max(1) as u64;
    println!("{bytes} resident bytes for each session, at most {} are allowed", carrier.most());
    let growth = samples.growth();
    println!("{}", growth.as_deref().unwrap_or("nothing grows"));
    Ok(growth.is_none() && bytes <= carrier.most())
}

/// Prints the rate of all messages, and the times of all calls.
fn print_times(rounds: &[Round]) {
    let total: Duration = rounds.iter().map(|round| round.total).sum();
    let messages: usize = rounds.iter().map(|round| round.messages).sum();
    println!("{:.0} messages per second", messages as f64 / total.as_secs_f64());
    let mut calls: Vec<_> = rounds.iter().flat_map(|round| &round.calls).copied().collect();
    calls.sort_unstable();
    for (name, share) in [("median", 0.5), ("99 %", 0.99), ("99.9 %", 0.999), ("longest", 1.0)] {
        let at = (calls.len() as f64 * share) as usize;
        let Some(time) = calls.get(at.min(calls.len().saturating_sub(1))) else { continue };
        println!("{name:>8} {:>8.1} µs", time.as_secs_f64() * 1e6);
    }
}
