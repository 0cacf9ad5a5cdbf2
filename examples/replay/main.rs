//! Records a session of a server, has it happen again, and draws it as a sequence diagram.
//!
//! ```sh
//! cargo run --example replay
//! printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"ping"}' | cargo run --example replay -- --record ping.txt
//! cargo run --example replay -- ping.txt
//! ```
//!
//! The first draws the session that is beside this file. The second is a server on standard input and output
//! (the four tools in `tools.rs`) that any client can start, and writes down what happens to it. The third has
//! the same happen again and says whether the same was written to the byte: an answer that comes out another
//! way, because the application or this crate has changed, is shown beside the recorded one.
//!
//! To record a server of your own, take `record.rs` and `again.rs`, and put your application in the place of
//! `Tools`. **A recording has everything that went over the wire**: arguments, results, and the secrets among
//! them. Treat it as you treat those; the diagram has methods and ids only.
//!
//! The exit code is 0 if the same came out, 1 if not or if a file cannot be used, 2 if the command line is
//! wrong.

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

/// Has a recorded session of a server happen again, and draws it.
///
/// A recording has everything that went over the wire, secrets among it.
#[derive(Parser)]
#[command(version, name = "replay")]
struct Arguments {
    /// The recording; one that comes with this program if none is given
    #[arg(value_name = "FILE")]
    recording: Option<PathBuf>,
    /// Serve standard input and output, and write what happens to this file
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

/// Whether the same came out.
fn replay(recording: &Recording) -> Result<bool, String> {
    let Again { diagram, verdict } = again(recording);
    let text = match &verdict {
        Ok(same) => format!("{diagram}\n{same}\n"),
        Err(difference) => format!("{diagram}\n{difference}\n"),
    };
    // Whoever reads only the beginning has seen enough.
    match io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(format!("cannot print: {error}"))
        }
        _ => Ok(verdict.is_ok()),
    }
}
