//! A server with examples of every feature, for testing clients.
//!
//! Usage: `cargo run --example everything_server`, as a child process of a client. It has the tools, prompts and
//! resources that the official conformance suite requires of a server, and a few more: `echo`, `add_numbers`,
//! `slow`, `list_roots`, `announce_changes`, `visit_page`, `needs_visit`. Tools that take long, such as
//! `slow_compute`, become tasks if the client requests that. Clients of both eras are served on the same
//! connection.

mod everything;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use mcp_sansio::{Revision, RevisionSet};
use mcp_sansio_std::{ConnectionOptions, SharedTasks, serve_stdio_with};

/// An MCP server with something of everything, on standard input and output.
///
/// It says nothing by itself: a client has to speak first. Stop it by closing its input.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Speak this revision only, for example 2025-06-18
    #[arg(long, value_parser = revision)]
    revision: Option<Revision>,
    /// How many tools, prompts or resources a page of a list holds; all by default
    #[arg(long, value_name = "COUNT")]
    page_items: Option<std::num::NonZeroUsize>,
    /// Seconds that running tools get to finish when the input ends
    #[arg(long, default_value_t = 5.0, value_parser = seconds)]
    drain: f64,
}

fn revision(name: &str) -> Result<Revision, String> {
    let known = || Revision::ALL.map(Revision::name).join(", ");
    Revision::from_name(name).ok_or_else(|| format!("there is no such revision; try {}", known()))
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_string())?;
    let sensible = (0.0..1e9).contains(&seconds);
    if sensible { Ok(seconds) } else { Err("not a sensible number of seconds".into()) }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut config = everything::config();
    config.connection.timeouts.drain = Duration::from_secs_f64(arguments.drain);
    if let Some(revision) = arguments.revision {
        config.revisions = RevisionSet::only(revision);
    }
    let everything = match arguments.page_items {
        Some(items) => everything::Everything::with_pages_of(items.get()),
        None => everything::Everything::default(),
    };
    let options = ConnectionOptions::new().tasks(SharedTasks::default());
    match serve_stdio_with(config, &options, everything) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Standard error may be closed, too.
            _ = writeln!(std::io::stderr(), "everything_server: {error}");
            ExitCode::FAILURE
        }
    }
}
