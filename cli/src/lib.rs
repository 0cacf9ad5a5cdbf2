//! The command-line client `mcp-inspect`: it starts a server or connects to one, lists its contents, makes requests,
//! and watches it for changes. `mcp-inspect --help` describes its options.
//!
//! The package is a program. This library exists for a program that adds a server of its own, as the example `inspect` of
//! `mcp-sansio` does: see [`run`].

mod actions;
mod answers;
mod arguments;
mod bench;
mod browser;
mod colour;
mod configured;
mod contents;
mod conversation;
mod ending;
mod http;
mod interactive;
mod login;
mod patience;
mod record;
mod record_http;
mod recording;
mod remembered;
mod replay;
mod report;
mod say;
mod schema;
mod session;
mod target;
mod watch;

use std::io::{ErrorKind, IsTerminal, PipeReader, PipeWriter, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use crate::actions::{Action, Output};
use crate::arguments::{Arguments, Refused};
use crate::contents::Contents;
use crate::ending::Ending;
use crate::say::say;
use crate::session::Session;
use crate::target::Target;

/// A server in this process, which serves its input until it ends.
pub type BuiltInServer = fn(PipeReader, PipeWriter);

/// Runs the program with the arguments of the process, until it ends. Returns success if every request succeeded.
///
/// `built_in` is inspected if the command line names no server; without it, such a command line is an error. An invalid
/// command line, `--help` and `--version` exit the process.
pub fn run(built_in: Option<BuiltInServer>) -> ExitCode {
    let arguments = arguments::parse();
    if colour::is_wanted() {
        say::set_style(colour::error);
    }
    // Checked first, because an invalid command line should not start a server.
    let actions = arguments.actions().unwrap_or_else(|error| error.exit());
    if let Some(file) = &arguments.conversation.diagram {
        return ended(conversation::draw(file, arguments.conversation.svg.as_deref()));
    }
    if arguments.list_servers {
        return ended(arguments.configured().and_then(|text| print(&text)));
    }
    let target = match arguments.target(built_in.is_some()) {
        Ok(target) => target,
        Err(Refused::CommandLine(error)) => error.exit(),
        Err(Refused::Configuration(error)) => {
            say!("inspect: {error}");
            return ExitCode::from(2);
        }
    };
    if let (true, Target::Url { url, .. }) = (arguments.login.logout, &target) {
        return ended(arguments.login.log_out(url));
    }
    if arguments.conversation.record.is_some() || arguments.conversation.replay.is_some() {
        return conversation::run(&arguments.conversation, &target, arguments.timeout);
    }
    let ending = Ending::on_signals();
    match inspect(&arguments, (&target, built_in), &actions, &ending) {
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

/// Prints the error, if there is one.
fn ended(done: Result<(), String>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say!("inspect: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Performs all requests. Returns whether all of them succeeded.
fn inspect(
    arguments: &Arguments,
    server: (&Target, Option<BuiltInServer>),
    actions: &[Action],
    ending: &Arc<Ending>,
) -> Result<bool, String> {
    let mut session = Session::open(arguments, server, Arc::clone(ending))?;
    let done = perform(&session, arguments, actions, ending);
    let done = done.map_err(|error| error + &session.fate());
    session.close(Duration::from_secs(1));
    done
}

fn perform(
    session: &Session,
    arguments: &Arguments,
    actions: &[Action],
    ending: &Ending,
) -> Result<bool, String> {
    if let Some(level) = arguments.log {
        session.set_level(level)?;
    }
    let mut succeeded = true;
    if arguments.watch {
        succeeded &= watch::subscribe(session, ending)?;
    } else if actions.is_empty() && arguments.log.is_none() && !arguments.interactive {
        let contents = Contents::read(session);
        let text = report::contents(session.connected(), &contents, arguments.json);
        if arguments.json { print(&text) } else { print_list(&text) }?;
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
    if arguments.interactive {
        ending.cancel_requests_only();
        succeeded &= interactive::run(session, arguments.json)?;
    }
    if arguments.watch {
        succeeded &= watch::wait(session, ending, arguments.watch_time)?;
    }
    Ok(succeeded)
}

/// Prints a list, in colours on a terminal.
fn print_list(text: &str) -> Result<(), String> {
    let colours = colour::is_wanted();
    print_with(text, &|text| if colours { colour::listing(text) } else { text.to_owned() })
}

/// Prints a text, and ignores a reader that closes the pipe early.
fn print(text: &str) -> Result<(), String> {
    print_with(text, &str::to_owned)
}

/// Prints a text, which `style` changes on a terminal.
fn print_with(text: &str, style: &dyn Fn(&str) -> String) -> Result<(), String> {
    let mut stdout = std::io::stdout().lock();
    let is_terminal = stdout.is_terminal();
    let text = say::shown(text, is_terminal);
    let text = if is_terminal { style(&text) } else { text.into_owned() };
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(format!("cannot print: {error}"))
        }
        _ => Ok(()),
    }
}
