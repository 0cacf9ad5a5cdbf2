//! Explores all events of small worlds, in every order, on the real machines: one request with everything that can
//! happen in between, equal ids, a task, a subscription, the opening of a connection.
//!
//! ```sh
//! cargo run --release -p mcp-sansio-proptests --bin explore
//! cargo run --release -p mcp-sansio-proptests --bin explore -- task
//! cargo run --release -p mcp-sansio-proptests --bin explore -- --models
//! ```
//!
//! It prints the number of states of each explored world, and the totals. If an invariant fails in a world, it prints a
//! shortest path to the failure, and the exit code is 1. With `--models` it explores one request, and compares its
//! abstract states and transitions with those of the model in `proptests/models`.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use mcp_sansio_proptests::exploration::request::VARIANTS;
use mcp_sansio_proptests::exploration::scenarios;

#[derive(Parser)]
#[command(about = "Explores all events of small worlds, in every order")]
struct Arguments {
    /// Explores only the worlds whose name contains this text.
    name: Option<String>,
    /// Leaves out the worlds whose name contains this text.
    #[arg(long, value_name = "NAME")]
    without: Option<String>,
    /// Compares the states of one request with those of its model instead.
    #[arg(long, conflicts_with_all = ["name", "without"])]
    models: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.models {
        return compare_with_models();
    }
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

/// Explores one request, and compares its abstract states and transitions with the lists of the model.
fn compare_with_models() -> ExitCode {
    let mut lists = 0;
    for variant in VARIANTS {
        for era in variant.eras() {
            let explored = match variant.explore(*era) {
                Ok(explored) => explored,
                Err(counterexample) => {
                    say(format_args!("{}:\n{counterexample}\nFAILED\n", variant.name));
                    return ExitCode::FAILURE;
                }
            };
            if let Err(difference) = explored.compare(&variant.recorded()) {
                let file = format!("target/models/{}.explored", variant.name);
                let lines: Vec<&str> = explored.transitions().collect();
                let written = std::fs::create_dir_all("target/models")
                    .and_then(|()| std::fs::write(&file, lines.join("\n") + "\n"));
                let place = written.map_or_else(|error| error.to_string(), |()| file);
                say(format_args!("{}: {difference}{place}\nFAILED\n", variant.name));
                return ExitCode::FAILURE;
            }
            let (states, transitions) = (explored.len(), explored.transitions().count());
            say(format_args!("{states:>9} {transitions:>9}  {}, {era}\n", variant.name));
            lists += 1;
        }
    }
    say(format_args!("lists={lists} ok\n"));
    ExitCode::SUCCESS
}

/// Prints a text, and ignores a closed output.
fn say(text: std::fmt::Arguments<'_>) {
    _ = std::io::stdout().write_fmt(text);
}
