//! A command-line client: starts a server and shows what it has.
//!
//! Usage: `cargo run --example inspect -- -- SERVER ARGUMENTS…`, for example
//! `cargo run --example inspect -- -- npx -y @modelcontextprotocol/server-everything stdio`.
//! Without a server it inspects a built-in one, in process.

mod answers;
mod arguments;
mod contents;
mod report;
mod session;

#[path = "../everything_server/everything/mod.rs"]
mod everything;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use crate::arguments::Arguments;
use crate::contents::Contents;
use crate::session::Session;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match inspect(&arguments) {
        Ok(Output { text, succeeded }) => match print(&text) {
            Ok(()) if succeeded => ExitCode::SUCCESS,
            Ok(()) => ExitCode::FAILURE,
            Err(error) => fail(&format!("cannot print: {error}")),
        },
        Err(error) => fail(&error),
    }
}

/// What goes to standard output, and whether everything asked for worked.
struct Output {
    text: String,
    succeeded: bool,
}

fn inspect(arguments: &Arguments) -> Result<Output, String> {
    // Looked at first: a mistake on the command line should not start a server.
    let call = arguments.call()?;
    let session = Session::open(arguments)?;
    let output = match call {
        Some(call) => {
            let reply = session.call_tool(call)?;
            let (text, succeeded) = report::call(&reply, arguments.json)?;
            Output { text, succeeded }
        }
        None => {
            let contents = Contents::read(&session)?;
            let text = report::contents(session.connected(), &contents, arguments.json);
            Output { text, succeeded: true }
        }
    };
    session.close(Duration::from_secs(1));
    Ok(output)
}

/// Prints, and takes it easy when nobody reads to the end.
fn print(text: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

fn fail(message: &str) -> ExitCode {
    eprintln!("inspect: {message}");
    ExitCode::FAILURE
}
