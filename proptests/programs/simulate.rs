//! Simulates clients and servers of all eras under faults, from seeds: runs the events of `proptests/kit/world`,
//! and checks the guarantees of this crate at each step.
//!
//! ```sh
//! cargo run --release -p mcp-sansio-proptests --bin simulate -- --seed 1 --seeds 1000
//! cargo run --release -p mcp-sansio-proptests --bin simulate -- --seed 42 --trace
//! cargo run --release -p mcp-sansio-proptests --bin simulate -- --seed 1 --seeds 1000 --http
//! ```
//!
//! The first line describes the run; on a terminal, the progress follows. The last line names the run, and contains a
//! digest of all messages and events: the same seeds give the same digest on every computer. A seed that violates a
//! guarantee is printed with the shortest schedule that also violates it, and a sequence diagram; the exit code is 1.

use std::hash::Hasher;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;
use mcp_sansio::testing::{Choices, Digest};
use mcp_sansio_proptests::http_world::HttpTrial;
use mcp_sansio_proptests::world::{Trial, draw, schedule};

#[derive(Parser)]
#[command(about = "Simulates clients and servers of all eras under faults")]
struct Arguments {
    /// The first seed.
    #[arg(long)]
    seed: u64,
    /// The number of consecutive seeds.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// The number of events for each seed.
    #[arg(long, default_value_t = 200)]
    steps: usize,
    /// Print the messages on the wire, and the events of both sides.
    #[arg(long, conflicts_with = "http")]
    trace: bool,
    /// Connect both sides by HTTP.
    #[arg(long)]
    http: bool,
    /// Print a failure without a search for the shortest schedule, which takes time.
    #[arg(long)]
    unreduced: bool,
}

fn main() -> ExitCode {
    let Arguments { seed: first, seeds, steps, trace, http, unreduced } = Arguments::parse();
    let transport = if http { "over HTTP" } else { "on byte streams" };
    say(format_args!(
        "Simulating {seeds} seeds from {first} on, {steps} steps each, {transport}.\n"
    ));
    let (mut digest, mut events) = (Digest::new(), 0);
    let mut progress = Progress::new(seeds);
    // After the last seed the numbers wrap around to the first.
    for seed in (0..seeds).map(|number| first.wrapping_add(number)) {
        progress.step();
        let (setup, schedule) = schedule(&mut Choices::seeded(seed), steps);
        if trace {
            say(format_args!("{}", draw(&setup, &schedule).0));
        }
        let choices = &mut Choices::seeded(seed);
        let trial = match (http, unreduced) {
            (true, false) => HttpTrial::run(choices, steps)
                .map(|trial| (trial.events, trial.digest))
                .map_err(|failure| failure.to_string()),
            (true, true) => {
                HttpTrial::once(choices, steps).map(|trial| (trial.events, trial.digest))
            }
            (false, false) => Trial::run(&setup, &schedule)
                .map(|trial| (trial.events, trial.digest))
                .map_err(|failure| failure.to_string()),
            (false, true) => Trial::once(&setup, &schedule)
                .map(|trial| (trial.events, trial.digest))
                .map_err(|broken| broken.to_string()),
        };
        match trial {
            Ok((trial_events, trial_digest)) => {
                digest.write_u64(trial_digest.finish());
                events += trial_events;
            }
            Err(failure) => {
                progress.end();
                say(format_args!("seed {seed}: {failure}\nseed={seed} steps={steps} FAILED\n"));
                return ExitCode::FAILURE;
            }
        }
    }
    progress.end();
    say(format_args!(
        "seed={first} seeds={seeds} steps={steps} events={events} digest={digest} ok\n"
    ));
    ExitCode::SUCCESS
}

/// A line with the progress, on a terminal only.
struct Progress {
    done: u64,
    all: u64,
    is_shown: bool,
}

impl Progress {
    fn new(all: u64) -> Self {
        Self { done: 0, all, is_shown: std::io::stderr().is_terminal() }
    }

    /// Shows each percent once.
    fn step(&mut self) {
        let percent = |done: u64| u128::from(done) * 100 / u128::from(self.all);
        if self.is_shown && (self.done == 0 || percent(self.done) != percent(self.done - 1)) {
            _ = write!(std::io::stderr(), "\r{} % of {} seeds", percent(self.done), self.all);
        }
        self.done += 1;
    }

    fn end(&self) {
        if self.is_shown {
            // Return to the beginning of the line, and clear it.
            _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// Prints a text, and ignores a closed output.
fn say(text: std::fmt::Arguments<'_>) {
    _ = std::io::stdout().write_fmt(text);
}
