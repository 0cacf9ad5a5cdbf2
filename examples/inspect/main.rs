//! A command-line client: starts a server or connects to one, lists its contents, makes requests, and watches it
//! for changes.
//!
//! Usage: `cargo run --example inspect -- -- SERVER ARGUMENTS…`, for example `cargo run --example inspect -- -- npx
//! -y @modelcontextprotocol/server-everything stdio`. For a running server over HTTP, pass its URL: `cargo run
//! --example inspect -- http://127.0.0.1:3000/mcp`. The certificate of an `https` server is checked with the root
//! certificates of the system, or of the file that the environment variable `SSL_CERT_FILE` names. Without a server it
//! inspects a built-in one, in process.
//!
//! If the server at a URL requires an access token, the user logs in with a browser. The program prints the URL of
//! the login to standard error, and opens it unless `--no-browser` is given. The client registers itself, or
//! `--client-id` names it; its secret is then in the environment variable `INSPECT_CLIENT_SECRET`. The login is
//! stored in a file that only its owner can read, one per URL, in the folder `mcp-sansio/inspect` of
//! `$XDG_STATE_HOME` (by default `~/.local/state`, on Windows `%LOCALAPPDATA%`). A stored login takes precedence
//! over `--client-id` and `--scope`. `cargo run --example inspect -- --logout http://127.0.0.1:3000/mcp` deletes
//! it.

mod actions;
mod answers;
mod arguments;
mod browser;
mod contents;
mod ending;
mod http;
mod login;
mod patience;
mod remembered;
mod report;
mod say;
mod schema;
mod session;
mod watch;

#[path = "../everything_server/everything/mod.rs"]
mod everything;

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;

use crate::actions::{Action, Output};
use crate::arguments::Arguments;
use crate::contents::Contents;
use crate::ending::Ending;
use crate::say::say;
use crate::session::Session;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // Checked first, because an invalid command line should not start a server.
    let actions = arguments.actions().unwrap_or_else(|error| error.exit());
    if let (true, Some(url)) = (arguments.login.logout, &arguments.url) {
        return match arguments.login.log_out(url) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                say!("inspect: {error}");
                ExitCode::FAILURE
            }
        };
    }
    let ending = Ending::on_signals();
    match inspect(&arguments, &actions, &ending) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // A user who has interrupted the program needs no details.
        Err(_) if ending.was_interrupted() => {
            say!("inspect: interrupted");
            ExitCode::from(130)
        }
        Err(error) => {
            say!("inspect: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Performs all requests. Returns whether all of them succeeded.
fn inspect(
    arguments: &Arguments,
    actions: &[Action],
    ending: &Arc<Ending>,
) -> Result<bool, String> {
    let mut session = Session::open(arguments, Arc::clone(ending))?;
    let done = run(&session, arguments, actions);
    let done = done.map_err(|error| error + &session.fate());
    session.close(Duration::from_secs(1));
    done
}

fn run(session: &Session, arguments: &Arguments, actions: &[Action]) -> Result<bool, String> {
    if let Some(level) = arguments.log {
        session.set_level(level)?;
    }
    let mut succeeded = true;
    if arguments.watch {
        watch::subscribe(session)?;
    } else if actions.is_empty() && arguments.log.is_none() {
        let contents = Contents::read(session);
        print(&report::contents(session.connected(), &contents, arguments.json))?;
        if session.is_over() && !contents.failures.is_empty() {
            return Err(contents.failures.join("\n"));
        }
        for failure in &contents.failures {
            say!("inspect: {failure}");
            succeeded = false;
        }
    }
    for action in actions {
        match action.run(session, arguments.json) {
            Ok(Output { text, succeeded: worked }) => {
                print(&text)?;
                succeeded &= worked;
            }
            Err(error) if session.is_over() => return Err(error),
            Err(error) => {
                say!("inspect: {error}");
                succeeded = false;
            }
        }
    }
    if arguments.watch {
        session.wait(arguments.watch_time);
    }
    Ok(succeeded)
}

/// Prints a text, and ignores a reader that closes the pipe early.
fn print(text: &str) -> Result<(), String> {
    let mut stdout = std::io::stdout().lock();
    let text = say::shown(text, stdout.is_terminal());
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(format!("cannot print: {error}"))
        }
        _ => Ok(()),
    }
}
