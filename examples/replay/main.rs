//! Records a session of a server, replays it, and draws it as a sequence diagram.
//!
//! ```sh
//! cargo run --example replay
//! printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"ping"}' | cargo run --example replay -- --record ping.txt
//! cargo run --example replay -- ping.txt
//! ```
//!
//! The first command draws the session that is stored beside this file. The second is a server on standard input
//! and output (the four tools in `tools.rs`) for any client, and records its session. The third replays a recording
//! and compares the output byte for byte: a response that differs, because the application or this crate has
//! changed, is shown beside the recorded one.
//!
//! To record another server, copy `record.rs` and `again.rs`, and replace `Tools` with its application. **A
//! recording contains everything that was sent and received**: arguments, results, and any secrets in them. Protect
//! it as you protect those; the diagram contains only methods and ids.
//!
//! The exit code is 0 if the output is the same, 1 if it differs or a file cannot be used, and 2 if the command
//! line is invalid.

mod again;
mod record;
mod tools;

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use mcp_sansio::testing::Recording;

use crate::again::{Again, again};
use crate::record::record;

/// Replays a recorded session of a server, and draws it.
///
/// A recording contains all messages on the wire, including any secrets in them.
#[derive(Parser)]
#[command(version, name = "replay")]
struct Arguments {
    /// The recording; by default the one that this program contains
    #[arg(value_name = "FILE")]
    recording: Option<PathBuf>,
    /// Serve standard input and output, and record the session to this file
    #[arg(long, value_name = "FILE", conflicts_with = "recording")]
    record: Option<PathBuf>,
}

const SHIPPED: &str = include_str!("session.txt");

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match (&arguments.record, &arguments.recording) {
        (Some(file), _) => {
            record(file).map(|()| true).map_err(|error| format!("{}: {error}", file.display()))
        }
        (None, Some(file)) => read(file).and_then(|recording| replay(&recording)),
        (None, None) => parse(SHIPPED, "session.txt").and_then(|recording| replay(&recording)),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            _ = writeln!(io::stderr(), "replay: {error}");
            ExitCode::FAILURE
        }
    }
}

fn read(file: &Path) -> Result<Recording, String> {
    let name = file.display().to_string();
    let text = fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
    parse(&text, &name)
}

fn parse(text: &str, name: &str) -> Result<Recording, String> {
    let recording: Recording = text.parse().map_err(|error| format!("{name}: {error}"))?;
    if recording.steps().is_empty() {
        return Err(format!("{name}: nothing has happened"));
    }
    Ok(recording)
}

/// Replays a recording. Returns whether the output is the same.
fn replay(recording: &Recording) -> Result<bool, String> {
    let Again { diagram, verdict } = again(recording);
    let text = match &verdict {
        Ok(same) => format!("{diagram}\n{same}\n"),
        Err(difference) => format!("{diagram}\n{difference}\n"),
    };
    // A reader that closes the pipe early is no error.
    match io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(format!("cannot print: {error}"))
        }
        _ => Ok(verdict.is_ok()),
    }
}
