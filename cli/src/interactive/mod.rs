//! The interactive mode: commands on a terminal, with completion and history.

mod command;
mod completer;
mod words;

use std::cell::RefCell;
use std::fmt::Write;
use std::io::{ErrorKind, IsTerminal};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::mpsc::{self, Sender};
use std::thread;

use mcp_sansio::json::Raw;
use rustyline::config::{BellStyle, CompletionType};
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{Config, Editor, ExternalPrinter};

use self::command::{COMMANDS, Command, Listed};
use self::completer::Completion;
use crate::contents::{Contents, Listing};
use crate::remembered;
use crate::report;
use crate::say::{self, say};
use crate::session::Session;

const PROMPT: &str = "mcp> ";

type Lines<'s> = Editor<Completion<'s>, DefaultHistory>;

/// Reads commands until the end of input, `quit`, or the end of the session. Returns whether all of them succeeded; on a
/// terminal the user has seen every failure.
pub(crate) fn run(session: &Session, json: bool) -> Result<bool, String> {
    let contents = Rc::new(RefCell::new(Contents::read(session)));
    let is_terminal = std::io::stdin().is_terminal();
    let mut lines = editor(session, &contents)?;
    // Messages of the server appear above the line that is being written. A thread passes them on, because the line editor
    // takes them only while it waits for a key.
    let printer = lines.create_external_printer().ok().map(|mut printer| {
        let (sender, waiting) = mpsc::channel::<String>();
        thread::spawn(move || {
            for line in waiting {
                _ = printer.print(line + "\n");
            }
        });
        sender
    });
    let history = history_file();
    if let Some(file) = &history {
        // A missing file is no error.
        _ = lines.load_history(file);
    }
    if is_terminal {
        say!("Commands: help lists them, Tab completes, Ctrl-D ends.");
    }
    let done = read_commands(session, &contents, (&mut lines, printer.as_ref()), json);
    if let Some(file) = &history
        && let Err(error) = lines.save_history(file)
    {
        say!("inspect: {}: {error}", file.display());
    }
    done.map(|succeeded| succeeded || is_terminal)
}

fn editor<'s>(session: &'s Session, contents: &Rc<RefCell<Contents>>) -> Result<Lines<'s>, String> {
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .bell_style(BellStyle::None)
        .auto_add_history(true)
        .build();
    let mut lines = Editor::with_config(config).map_err(|error| error.to_string())?;
    lines.set_helper(Some(Completion { session, contents: Rc::clone(contents) }));
    Ok(lines)
}

fn read_commands(
    session: &Session,
    contents: &Rc<RefCell<Contents>>,
    (lines, printer): (&mut Lines<'_>, Option<&Sender<String>>),
    json: bool,
) -> Result<bool, String> {
    let mut succeeded = true;
    loop {
        say::redirect(printer.cloned());
        let line = session.while_reading(|| lines.readline(PROMPT));
        say::redirect(None);
        let Some(line) = line else { return Err("terminated".into()) };
        let line = match line {
            Ok(line) => line,
            // Ctrl-C drops the line, as in a shell.
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => return Ok(succeeded),
            Err(ReadlineError::Io(error)) if error.kind() == ErrorKind::UnexpectedEof => {
                return Ok(succeeded);
            }
            Err(error) => return Err(format!("cannot read commands: {error}")),
        };
        let schema_of = |name: &str| schema(&contents.borrow(), name);
        let outcome = match Command::parse(&line, &schema_of) {
            Ok(None) => continue,
            Ok(Some(Command::Quit)) => return Ok(succeeded),
            Ok(Some(command)) => perform(session, contents, command, json),
            Err(error) => Err(error),
        };
        match outcome {
            Ok(worked) => succeeded &= worked,
            Err(error) if session.is_over() => return Err(error),
            Err(error) => {
                say!("{error}");
                succeeded = false;
            }
        }
    }
}

fn perform(
    session: &Session,
    contents: &RefCell<Contents>,
    command: Command,
    json: bool,
) -> Result<bool, String> {
    match command {
        Command::Help => crate::print(&help())?,
        Command::List(listed) => {
            let read = Contents::read(session);
            for failure in &read.failures {
                say!("{failure}");
            }
            if session.is_over() {
                return Err("the session has ended".into());
            }
            let text = list(session, &read, listed, json);
            if json { crate::print(&text) } else { crate::print_list(&text) }?;
            let worked = read.failures.is_empty();
            contents.replace(read);
            return Ok(worked);
        }
        Command::Log(_) if session.is_modern() => {
            return Err("in this era each request names the level: start again with --log".into());
        }
        Command::Log(level) => session.set_level(level)?,
        Command::Act(action) => {
            let output = action.run(session, json)?;
            crate::print(&output.text)?;
            return Ok(output.succeeded);
        }
        // Handled by the caller.
        Command::Quit => {}
    }
    Ok(true)
}

fn list(session: &Session, contents: &Contents, listed: Option<Listed>, json: bool) -> String {
    let list = match listed {
        None => return report::contents(session.connected(), contents, json),
        Some(Listed::Tools) => &contents.tools,
        Some(Listed::Prompts) => &contents.prompts,
        Some(Listed::Resources) => &contents.resources,
        Some(Listed::Templates) => &contents.templates,
    };
    let Some(Listing { entries, sent, .. }) = list else { return "unknown".into() };
    if json {
        let sent = Raw::from_serialize(sent).map(|raw| raw.to_string());
        return sent.unwrap_or_default();
    }
    if entries.is_empty() { "none".into() } else { report::entries(entries) }
}

fn help() -> String {
    let mut text = String::new();
    for (name, arguments, description) in COMMANDS {
        let usage = format!("{name} {arguments}");
        _ = writeln!(text, "  {usage:<38} {description}");
    }
    text.trim_end().to_owned()
}

/// Returns the schema of the arguments of a tool.
fn schema(contents: &Contents, name: &str) -> Option<Raw<'static>> {
    let is_it = |tool: &&Raw<'_>| {
        tool.get("name").and_then(Raw::into_str).is_some_and(|known| known == *name)
    };
    let tool = contents.tools.as_ref()?.sent.iter().find(is_it)?;
    tool.get("inputSchema").map(Raw::into_owned)
}

/// Returns the file of the history, after creating its folder. Without a terminal there is no history.
fn history_file() -> Option<PathBuf> {
    if !std::io::stdin().is_terminal() {
        return None;
    }
    match remembered::state_file("history") {
        Ok(file) => file,
        Err(error) => {
            say!("inspect: the commands are not remembered: {error}");
            None
        }
    }
}
