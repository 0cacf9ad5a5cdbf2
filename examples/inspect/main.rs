//! A command-line client: starts a server, or goes to one, shows what it has, asks it for things, watches it.
//!
//! Usage: `cargo run --example inspect -- -- SERVER ARGUMENTS…`, for example
//! `cargo run --example inspect -- -- npx -y @modelcontextprotocol/server-everything stdio`.
//! A server that is running behind HTTP is named by its URL: `cargo run --example inspect -- http://127.0.0.1:3000/mcp`.
//! Without a server it inspects a built-in one, in process.
//!
//! If the server at a URL asks for an access token, the user logs in with a browser: the URL of the login is on standard
//! error, and is opened unless there is `--no-browser`. The client registers itself, or is named with `--client-id`; the
//! secret of such a client is in the environment variable `INSPECT_CLIENT_SECRET`. The login is remembered in a file that
//! only its owner can read, one for each URL, in the folder `mcp-sansio/inspect` of `$XDG_STATE_HOME` (`~/.local/state`
//! without it, `%LOCALAPPDATA%` on Windows). A login that is remembered counts, whatever `--client-id` and `--scope` say.
//! `cargo run --example inspect -- --logout http://127.0.0.1:3000/mcp` forgets it.

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
    // Looked at first: a mistake on the command line should not start a server.
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
        // Whoever has asked for it need not be told how.
        Err(_) if ending.was_told() => {
            say!("inspect: interrupted");
            ExitCode::from(130)
        }
        Err(error) => {
            say!("inspect: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Does everything that was asked for. Says whether all of it worked.
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

/// Prints, and takes it easy when nobody reads to the end.
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
