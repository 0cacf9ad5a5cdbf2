//! The command line: the names of the servers and the commands that start them.

use std::process::Command;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use crate::names;

/// Puts several MCP servers behind one, on standard input and output.
///
/// Their tools and prompts get the name of the server and `__` in front of their own. It says nothing by
/// itself: a client has to speak first. Stop it by closing its input.
#[derive(Parser, Debug)]
#[command(version, name = "gateway", after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// What the gateway calls itself
    #[arg(long, default_value = "gateway")]
    pub(crate) name: String,
    /// A server: what it is called here, and the command that starts it. Quotes keep words together
    #[arg(long = "upstream", value_name = "NAME=COMMAND", value_parser = upstream, required = true)]
    pub(crate) upstreams: Vec<StartOf>,
    /// How many seconds a list waits for a server, before it goes out without the tools of that one
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) patience: Duration,
}

/// The name and the start command of an upstream.
#[derive(Clone, Debug)]
pub(crate) struct StartOf {
    pub(crate) name: String,
    program: String,
    arguments: Vec<String>,
}

impl StartOf {
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }

    pub(crate) fn program(&self) -> &str {
        &self.program
    }
}

impl Arguments {
    /// Parses the command line. If it is invalid, prints the error and exits.
    pub(crate) fn read() -> Self {
        let arguments = Self::parse();
        for (index, upstream) in arguments.upstreams.iter().enumerate() {
            let before = arguments.upstreams.iter().take(index);
            if before.into_iter().any(|other| other.name == upstream.name) {
                let message = format!("two servers are called {}", upstream.name);
                Self::command().error(ErrorKind::ValueValidation, message).exit();
            }
        }
        arguments
    }
}

const EXAMPLES: &str = "Example:
  gateway --upstream files='npx -y @modelcontextprotocol/server-filesystem /tmp' \\
          --upstream math='./calculator --precise'";

fn upstream(text: &str) -> Result<StartOf, String> {
    let (name, command) = text.split_once('=').ok_or("not of the form NAME=COMMAND")?;
    if !names::is_valid(name) {
        return Err("the name of a server has letters, digits and - only".into());
    }
    let mut words = words(command)?.into_iter();
    let program = words.next().ok_or("there is no command")?;
    Ok(StartOf { name: name.into(), program, arguments: words.collect() })
}

/// Splits a command into words as shells do, with support for quotes and backslashes only.
fn words(command: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = command.chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\'' | '"', None) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (_, Some(open)) if character == open => quote = None,
            ('\\', None | Some('"')) => {
                let escaped = characters.next().ok_or("nothing follows the last backslash")?;
                word.get_or_insert_default().push(escaped);
            }
            (space, None) if space.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    match quote {
        Some(quote) => Err(format!("there is a {quote} that is not closed")),
        None => Ok(words),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_string())?;
    if !(0.001..1e9).contains(&seconds) {
        return Err("not a sensible number of seconds".into());
    }
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_taken_apart_like_in_a_shell() {
        let table = [
            ("a  b\tc", Ok(vec!["a", "b", "c"])),
            (r#"'a b' "c d"e \f\ g """#, Ok(vec!["a b", "c de", "f g", ""])),
            (r"'\n'", Ok(vec![r"\n"])),
            (" ", Ok(vec![])),
            ("'a", Err(())),
            ("a\\", Err(())),
        ];
        for (command, expected) in table {
            let expected = expected.map(|words| words.into_iter().map(String::from).collect());
            assert_eq!(words(command).map_err(drop), expected, "{command}");
        }
    }
}
