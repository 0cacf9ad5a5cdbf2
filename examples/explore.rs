//! Explores all events of small worlds, in every order, on the real machines: one request with everything that can
//! happen in between, equal ids, a task, a subscription, the opening of a connection.
//!
//! ```sh
//! cargo run --release --example explore
//! cargo run --release --example explore -- task
//! ```
//!
//! It prints the number of states of each world when that is explored, and the totals. If an invariant fails in one, it prints a shortest path to the
//! failure, and the exit code is 1.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use mcp_sansio_proptests::exploration::scenarios;

#[derive(Parser)]
#[command(about = "Goes through everything that can happen in small worlds")]
struct Arguments {
    /// Only the worlds whose name has this in it.
    name: Option<String>,
    /// Leaves out the worlds whose name has this in it.
    #[arg(long, value_name = "NAME")]
    without: Option<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let wanted = arguments.name.unwrap_or_default();
    let mut scenarios = scenarios();
    if let Some(without) = arguments.without {
        scenarios.retain(|scenario| !scenario.name.contains(&without));
    }
    let (mut worlds, mut states) = (0, 0);
    let chosen: Vec<_> = scenarios.iter().filter(|it| it.name.contains(&wanted)).collect();
    if !chosen.is_empty() {
        say(format_args!("Exploring {} worlds.\n", chosen.len()));
        say(format_args!("{:>9} {:>9} {:>9} {:>6}  world\n", "states", "ways", "ends", "depth"));
    }
    for scenario in chosen {
        match scenario.explore() {
            Ok(size) => {
                say(format_args!(
                    "{:>9} {:>9} {:>9} {:>6}  {}\n",
                    size.states, size.transitions, size.ends, size.depth, scenario.name
                ));
                (worlds, states) = (worlds + 1, states + size.states);
            }
            Err(counterexample) => {
                say(format_args!("{}:\n{counterexample}\nFAILED\n", scenario.name));
                return ExitCode::FAILURE;
            }
        }
    }
    if worlds == 0 {
        eprintln!("No world has {wanted:?} in its name. There are:");
        scenarios.iter().for_each(|scenario| eprintln!("  {}", scenario.name));
        return ExitCode::FAILURE;
    }
    say(format_args!("worlds={worlds} states={states} ok\n"));
    ExitCode::SUCCESS
}

/// Prints a text, and ignores a closed output.
fn say(text: std::fmt::Arguments<'_>) {
    _ = std::io::stdout().write_fmt(text);
}
