//! Attacks local MCP servers and a local client, and measures the cost for them.
//!
//! Usage: `cargo run --release -p mcp-sansio-benches --bin attack -- TRANSPORT [--seconds N]`, where TRANSPORT is `stdio`
//! or `http`; `--list` names the attacks. Each attack has a fresh victim: the everything server, the client `inspect`, or
//! the server on the command line. The table has a row for each attack:
//!
//! - the peak memory of the victim, and its memory a moment after the attack,
//! - the processor time of the victim, and its slowdown by other load on the processors,
//! - the longest wait of a good client during the attack; the bound applies to this time divided by the slowdown,
//! - the work for a ping as a multiple of the work for a ping of a server that is not attacked.
//!
//! A refused request is a valid outcome. A violated bound makes the exit code 1.
//!
//! Memory and processor time come from `/proc`, which only Linux has; on other systems they are not measured.

mod arguments;
mod bounds;
mod collisions;
#[path = "../../../../examples/everything_server/everything/mod.rs"]
mod everything;
mod held;
mod hostile;
mod http;
mod messages;
mod noise;
mod programs;
#[path = "../../../../adapters/http/examples/everything_http/serving.rs"]
mod serving;
mod stdio;
mod table;
mod usage;
mod victim;
mod work;

use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use mcp_sansio_std::{ConnectionOptions, SharedTasks, serve_stdio_with};

use crate::arguments::{Arguments, Transport};
use crate::bounds::{Bounds, Measured};
use crate::http::Server;
use crate::programs::CommandLine;

/// The reason of a failure.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.transport == Transport::Hostile {
        // The attacked client may end at any time.
        _ = hostile::serve_stdio();
        return ExitCode::SUCCESS;
    }
    if let Transport::Everything | Transport::EverythingHttp = arguments.transport {
        return serve_everything(arguments.transport);
    }
    let named = attacks(&arguments);
    let names: Vec<&str> = named.iter().map(|(name, _)| *name).collect();
    let selected = arguments.selected(&names).unwrap_or_else(|error| error.exit());
    let running = arguments.target().unwrap_or_else(|error| error.exit());
    if arguments.list {
        named.iter().for_each(|(name, does)| say(&format!("{name:<18} {does}")));
        return ExitCode::SUCCESS;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = runtime
        .map_err(Failure::from)
        .and_then(|runtime| runtime.block_on(run(&arguments, running, &selected)));
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            // Standard error may be closed.
            _ = writeln!(std::io::stderr(), "attack: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the server that is attacked, over HTTP on every processor, like any server.
fn serve_everything(transport: Transport) -> ExitCode {
    let served = if transport == Transport::EverythingHttp {
        tokio::runtime::Runtime::new().map_err(Failure::from).and_then(|runtime| {
            let serving = serving::serve_everything(0, "/mcp", None, |options, _url| Ok(options));
            runtime.block_on(serving).map_err(Failure::from)
        })
    } else {
        let options = ConnectionOptions::new().tasks(SharedTasks::default());
        serve_stdio_with(everything::config(), &options, everything::Everything::default())
            .map_err(Failure::from)
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Standard error may be closed.
            _ = writeln!(std::io::stderr(), "attack: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the names and the descriptions of the attacks.
fn attacks(arguments: &Arguments) -> Vec<(&'static str, &'static str)> {
    let mut attacks: Vec<_> = match arguments.transport {
        Transport::Http => http::ATTACKS.iter().map(|attack| (attack.name, attack.does)).collect(),
        _ => stdio::ATTACKS.iter().map(|attack| (attack.name, attack.does)).collect(),
    };
    // It attacks a client, whichever server is on the command line.
    if arguments.has_no_server() {
        attacks.push((hostile::NAME, hostile::DOES));
    }
    attacks
}

/// Runs the attacks, and prints a row for each. Returns whether every bound has held.
async fn run(
    arguments: &Arguments,
    running: Option<(SocketAddr, String)>,
    selected: &[&str],
) -> Result<bool, Failure> {
    let share = arguments.share(selected.len());
    if !usage::is_measured() {
        say("This system has no /proc: memory, processor time and work are not measured.");
    }
    match arguments.transport {
        Transport::Http => {
            let server = match running {
                Some((address, path)) => Server::Running { address, path, pid: arguments.pid },
                None if arguments.has_no_server() => {
                    Server::Program(programs::own("everything-http")?)
                }
                None => Server::Program(arguments.command.clone()),
            };
            over_http(&server, arguments, share, selected).await
        }
        _ => {
            let server = match arguments.has_no_server() {
                true => programs::own("everything")?,
                false => arguments.command.clone(),
            };
            over_stdio(&server, arguments, share, selected).await
        }
    }
}

async fn over_http(
    server: &Server,
    arguments: &Arguments,
    share: Duration,
    selected: &[&str],
) -> Result<bool, Failure> {
    let bounds = &arguments.bounds(Bounds::HTTP);
    say(&table::heading(bounds));
    let (row, control) = http::Control::start(server).await?;
    let mut has_held = held(&row, bounds);
    for attack in http::ATTACKS.iter().filter(|attack| selected.contains(&attack.name)) {
        let measured = http::run(attack, server, share, &control).await;
        has_held &= held(&measured.unwrap_or_else(|failure| failed(attack.name, &failure)), bounds);
    }
    if selected.contains(&hostile::NAME) {
        has_held &=
            held(&hostile::run_http(arguments.client()?, share).await?, &Bounds::ONE_CONNECTION);
    }
    Ok(has_held)
}

async fn over_stdio(
    server: &CommandLine,
    arguments: &Arguments,
    share: Duration,
    selected: &[&str],
) -> Result<bool, Failure> {
    let bounds = &arguments.bounds(Bounds::ONE_CONNECTION);
    say(&table::heading(bounds));
    let (row, mut control) = stdio::Control::start(server).await?;
    let mut has_held = held(&row, bounds);
    for attack in stdio::ATTACKS.iter().filter(|attack| selected.contains(&attack.name)) {
        let measured = stdio::run(attack, server, share, &mut control).await;
        has_held &= held(&measured.unwrap_or_else(|failure| failed(attack.name, &failure)), bounds);
    }
    if selected.contains(&hostile::NAME) {
        has_held &=
            held(&hostile::run_stdio(arguments.client()?, share).await?, &Bounds::ONE_CONNECTION);
    }
    Ok(has_held)
}

/// The row of an attack that could not be made.
fn failed(name: &'static str, failure: &Failure) -> Measured {
    let mut measured = Measured::default();
    measured.name = name;
    measured.failure = Some(failure.to_string());
    measured
}

/// Prints a row. Returns whether its bounds have held.
fn held(measured: &Measured, bounds: &Bounds) -> bool {
    say(&table::measured(measured, bounds));
    bounds.broken_by(measured).is_empty()
}

/// Prints a line, and ignores a closed output.
fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}
