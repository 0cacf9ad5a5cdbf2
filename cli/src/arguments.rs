//! The command line.

use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser};
use mcp_sansio::Revision;
use mcp_sansio::json::{Kind, Raw};
use mcp_sansio::model::LoggingLevel;

use crate::actions::Action;
use crate::bench::Load;
use crate::configured::{self, Variables};
use crate::login::LoginOptions;
use crate::say::say;
use crate::target::{Program, Target};

/// Starts an MCP server, or goes to one, and shows what it has: tools, prompts, resources and templates.
///
/// Progress and log messages of the server go to standard error, results to standard output. The
/// exit code is 0 only if everything asked for worked.
///
/// If a server at a URL asks for authorization, you log in with a browser. The login is remembered in
/// a file that only you can read: in mcp-sansio/inspect of $XDG_STATE_HOME, of ~/.local/state, or of
/// %LOCALAPPDATA% on Windows.
#[derive(Parser, Debug)]
#[command(version, name = "inspect")]
pub(crate) struct Arguments {
    /// Speak this revision only, for example 2025-06-18; by default what the server speaks is found out
    #[arg(long, value_name = "REVISION", value_parser = revision)]
    pub(crate) revision: Option<Revision>,
    /// Print JSON: one object per result, and lists as the server sent them
    #[arg(long)]
    pub(crate) json: bool,
    /// Read a resource and print it
    #[arg(long, value_name = "URI")]
    read: Vec<String>,
    /// Get a prompt with these arguments, a JSON object of strings, and print it
    #[arg(long, num_args = 2, value_names = ["NAME", "JSON"])]
    prompt: Vec<String>,
    /// Complete an argument of a prompt, or of a resource template if REF has a colon
    #[arg(long, num_args = 3, value_names = ["REF", "ARG", "VALUE"])]
    complete: Vec<String>,
    /// Call a tool with these arguments, a JSON object, and print its result
    #[arg(long, num_args = 2, value_names = ["NAME", "JSON"])]
    call: Vec<String>,
    /// Call tools as tasks where the server can, and show how far they are
    #[arg(long, requires = "call")]
    pub(crate) task: bool,
    /// Call each tool this often, and show the rate and the latencies
    #[arg(long, value_name = "CALLS", requires = "call", value_parser = clap::value_parser!(u32).range(1..))]
    bench: Option<u32>,
    /// How many calls to make at the same time
    #[arg(long, value_name = "CALLS", requires = "bench", default_value = "1",
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    parallel: u32,
    /// Ask for log messages of this level and above: debug, info, notice, warning, error, …
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    pub(crate) log: Option<LoggingLevel>,
    /// Read commands from the terminal or from standard input, with completion and history
    #[arg(short, long, conflicts_with = "watch")]
    pub(crate) interactive: bool,
    /// Subscribe to all resources first and print what changes, until the server ends or Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,
    /// How many seconds to watch
    #[arg(long = "for", value_name = "SECONDS", value_parser = seconds, requires = "watch")]
    pub(crate) watch_time: Option<Duration>,
    /// How many seconds to wait for the server to answer or to report progress
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub(crate) timeout: Duration,
    /// How many seconds the handshake may take, with the start of the server; by default the value of --timeout
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) start_timeout: Option<Duration>,
    /// Where the server may work, a file: URI; the current directory if none is given
    #[arg(long = "root", value_name = "URI", value_parser = root)]
    pub(crate) roots: Vec<String>,
    /// What to fill into forms that the server asks for, a JSON object; by default whatever fits
    #[arg(long, value_name = "JSON", value_parser = object)]
    pub(crate) form: Option<Raw<'static>>,
    /// What the model says when the server asks for one
    #[arg(long, value_name = "TEXT", default_value = "This is what a model would say.")]
    pub(crate) sample: String,
    /// Leave the server in the group of this process, for servers that ask on the terminal
    #[arg(long)]
    pub(crate) foreground: bool,
    /// Send a header field with every request to a URL, for example "Authorization: Bearer …"
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<(String, String)>,
    /// Set an environment variable of the server to start, and of variables in a configuration file
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = variable)]
    environment: Vec<(String, String)>,
    /// Inspect a server of this configuration file, such as mcp.json, .vscode/mcp.json, or that of a desktop host
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "server"])]
    config: Option<PathBuf>,
    /// Inspect the server with this name in the configuration file, or in the first usual file that has it
    #[arg(long, value_name = "NAME", conflicts_with_all = ["url", "server"])]
    name: Option<String>,
    /// List the servers of the configuration file, or of the usual files, and end
    #[arg(long, conflicts_with_all = ["url", "server", "name", "record", "replay", "diagram"])]
    #[arg(conflicts_with_all = REQUESTS, conflicts_with_all = SESSION, conflicts_with_all = LOGIN)]
    pub(crate) list_servers: bool,
    #[command(flatten)]
    pub(crate) conversation: ConversationOptions,
    #[command(flatten)]
    pub(crate) login: LoginOptions,
    /// The URL of a server that is running, http://…
    #[arg(value_name = "URL", value_parser = url, conflicts_with = "server")]
    url: Option<String>,
    /// Or a server to start and its arguments, after `--`
    #[arg(last = true, value_name = "SERVER")]
    server: Vec<OsString>,
}

/// The reason why there is no server to inspect.
#[derive(Debug)]
pub(crate) enum Refused {
    CommandLine(clap::Error),
    /// The text quotes a configuration file.
    Configuration(String),
}

impl From<clap::Error> for Refused {
    fn from(error: clap::Error) -> Self {
        Self::CommandLine(error)
    }
}

/// Parses the arguments of the process. An invalid command line, `--help` and `--version` exit the process.
pub(crate) fn parse() -> Arguments {
    let program = std::env::args_os().next().map(PathBuf::from);
    let program = program.as_ref().and_then(|path| path.file_stem()).and_then(OsStr::to_str);
    let examples = EXAMPLES.replace("inspect", program.unwrap_or("inspect"));
    let matches = Arguments::command().after_help(examples).get_matches();
    Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// The options of requests to a server, of the session for them, and of the login. They have no effect on what uses
/// none.
pub(crate) const REQUESTS: [&str; 8] =
    ["read", "prompt", "complete", "call", "log", "watch", "interactive", "json"];
const SESSION: [&str; 6] = ["revision", "start_timeout", "roots", "form", "sample", "foreground"];
const LOGIN: [&str; 4] = ["client_id", "scopes", "no_browser", "logout"];

/// The options of recorded conversations.
#[derive(Args, Debug)]
pub(crate) struct ConversationOptions {
    /// Be the server of a host: start the server or go to its URL, pass everything on, and record it in this file
    #[arg(long, value_name = "FILE")]
    #[arg(conflicts_with_all = REQUESTS, conflicts_with_all = SESSION, conflicts_with_all = LOGIN)]
    pub(crate) record: Option<PathBuf>,
    /// The address for the host, when a server at a URL is recorded; by default any free port of this computer
    #[arg(long, value_name = "ADDRESS", requires = "record", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Send what the client sent in this recording to the server, and show how its answers differ
    #[arg(long, value_name = "FILE", conflicts_with = "record")]
    #[arg(conflicts_with_all = REQUESTS, conflicts_with_all = SESSION, conflicts_with_all = LOGIN)]
    pub(crate) replay: Option<PathBuf>,
    /// Draw this recording as a sequence diagram, and end
    #[arg(long, value_name = "FILE", conflicts_with_all = ["record", "replay", "url", "server", "name", "config"])]
    #[arg(conflicts_with_all = REQUESTS, conflicts_with_all = SESSION, conflicts_with_all = LOGIN)]
    pub(crate) diagram: Option<PathBuf>,
    /// Draw the diagram into this file, as an SVG
    #[arg(long, value_name = "FILE", requires = "diagram")]
    pub(crate) svg: Option<PathBuf>,
}

impl Arguments {
    /// The server to inspect.
    ///
    /// # Errors
    ///
    /// If no server is named and there is none in this process, if a configuration file does not have it, or if options
    /// have no effect on it.
    pub(crate) fn target(&self, has_built_in: bool) -> Result<Target, Refused> {
        let conflict = |text: &str| {
            Err(Refused::CommandLine(clap::Error::raw(
                ErrorKind::ArgumentConflict,
                text.to_owned() + "\n",
            )))
        };
        let mut target = if self.config.is_some() || self.name.is_some() {
            let variables = Variables { given: &self.environment };
            let (file, name) = (self.config.as_deref(), self.name.as_deref());
            configured::find(file, name, variables, &mut |error| say!("inspect: {error}"))
                .map_err(Refused::Configuration)?
        } else if let Some(url) = &self.url {
            Target::Url { url: url.clone(), headers: Vec::new() }
        } else if let Some((program, arguments)) = self.server.split_first() {
            let (program, arguments) = (program.clone(), arguments.to_vec());
            Target::Program(Program { program, arguments, ..Program::default() })
        } else if has_built_in {
            Target::BuiltIn
        } else {
            let text = "no server: give its URL, its program and arguments after `--`, or --config and --name\n";
            return Err(clap::Error::raw(ErrorKind::MissingRequiredArgument, text).into());
        };
        match &mut target {
            Target::Url { headers, .. } => {
                // Those of the configuration file are only defaults.
                headers.retain(|(name, _)| {
                    !self.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name))
                });
                headers.extend(self.headers.iter().cloned());
            }
            _ if !self.headers.is_empty() => {
                return conflict(
                    "--header needs the URL of a server: a program has no header fields",
                );
            }
            _ => {}
        }
        match &mut target {
            Target::Program(program) => {
                program.environment.extend(self.environment.iter().cloned());
            }
            // The variables may have been used in the configuration file.
            _ if self.config.is_some() || self.name.is_some() => {}
            _ if !self.environment.is_empty() => {
                return conflict(
                    "--env needs a server to start: a running one has its environment",
                );
            }
            _ => {}
        }
        let (url, headers) = match &target {
            Target::Url { url, headers } => (Some(url.as_str()), headers.as_slice()),
            _ => (None, [].as_slice()),
        };
        self.login.check(url, headers)?;
        Ok(target)
    }

    /// Lists the servers of configuration files.
    pub(crate) fn configured(&self) -> Result<String, String> {
        configured::list(self.config.as_deref(), &mut |error| say!("inspect: {error}"))
    }

    /// What to ask the server for; nothing for a list of what it has.
    ///
    /// Resources are read first, then come prompts, completions and calls, each in the order they were
    /// given.
    ///
    /// # Errors
    ///
    /// If arguments of tools and prompts are no objects.
    pub(crate) fn actions(&self) -> Result<Vec<Action>, clap::Error> {
        let json = |option: &str, name: &str, text: &str| {
            let wrong = |error| {
                let message = format!("the arguments of {option} {name} cannot be used: {error}\n");
                clap::Error::raw(ErrorKind::ValueValidation, message)
            };
            object(text).map_err(wrong)
        };
        let mut actions: Vec<Action> =
            self.read.iter().map(|uri| Action::Read { uri: uri.clone() }).collect();
        for pair in self.prompt.chunks_exact(2) {
            let [name, arguments] = pair else { continue };
            let arguments = json("--prompt", name, arguments)?;
            actions.push(Action::Prompt { name: name.clone(), arguments });
        }
        for triple in self.complete.chunks_exact(3) {
            let [reference, argument, value] = triple else { continue };
            let (reference, argument, value) = (reference.clone(), argument.clone(), value.clone());
            actions.push(Action::Complete { reference, argument, value });
        }
        for pair in self.call.chunks_exact(2) {
            let [name, arguments] = pair else { continue };
            let arguments = json("--call", name, arguments)?;
            let name = name.clone();
            actions.push(match self.bench {
                None => Action::Call { name, arguments },
                Some(calls) => {
                    let load = Load { calls: calls as usize, at_once: self.parallel as usize };
                    Action::Bench { name, arguments, load }
                }
            });
        }
        Ok(actions)
    }
}

const EXAMPLES: &str = "Examples:
  inspect http://127.0.0.1:3000/mcp
  inspect --scope 'read write' http://127.0.0.1:3000/mcp
  inspect --logout http://127.0.0.1:3000/mcp
  inspect --list-servers
  inspect --config .vscode/mcp.json --name files
  inspect -- npx -y @modelcontextprotocol/server-everything
  inspect --interactive -- npx -y @modelcontextprotocol/server-everything
  inspect --call echo '{\"message\":\"hi\"}' -- npx -y @modelcontextprotocol/server-everything
  inspect --bench 100 --call echo '{\"message\":\"hi\"}' -- npx -y @modelcontextprotocol/server-everything
  inspect --watch --log debug -- npx -y @modelcontextprotocol/server-everything
  inspect --record talk.jsonl -- npx -y @modelcontextprotocol/server-everything
  inspect --diagram talk.jsonl";

fn revision(name: &str) -> Result<Revision, String> {
    let known = || Revision::ALL.map(Revision::name).join(", ");
    Revision::from_name(name).ok_or_else(|| format!("there is no such revision; try {}", known()))
}

fn level(name: &str) -> Result<LoggingLevel, String> {
    LoggingLevel::from_name(name).ok_or_else(|| {
        "there is no such level; try debug, info, notice, warning, error, critical, alert, emergency"
            .into()
    })
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_string())?;
    if !(0.001..1e9).contains(&seconds) {
        return Err("not a sensible number of seconds".into());
    }
    Ok(Duration::from_secs_f64(seconds))
}

fn root(uri: &str) -> Result<String, String> {
    if uri.starts_with("file://") { Ok(uri.into()) } else { Err("not a file:// URI".into()) }
}

fn url(url: &str) -> Result<String, String> {
    match url.split_once("://") {
        Some(("http" | "https", rest)) if !rest.is_empty() => Ok(url.into()),
        _ => {
            Err("not a URL that begins with http:// or https://; a program to start comes after --"
                .into())
        }
    }
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("not of the form NAME: VALUE")?;
    Ok((name.trim().into(), value.trim().into()))
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err("not of the form NAME=VALUE".into()),
    }
}

fn object(text: &str) -> Result<Raw<'static>, String> {
    let raw = Raw::try_from(text.to_string()).map_err(|error| error.to_string())?;
    if raw.kind() == Kind::Object { Ok(raw) } else { Err("not a JSON object".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of these is all that the program does.
    const ALONE: [&[&str]; 5] = [
        &["--record", "f"],
        &["--replay", "f"],
        &["--diagram", "f"],
        &["--list-servers"],
        &["--logout"],
    ];

    #[test]
    fn options_without_effect_are_refused() {
        let others: [&[&str]; 11] = [
            &["--read", "a:b"],
            &["--prompt", "p", "{}"],
            &["--complete", "r", "a", "v"],
            &["--call", "t", "{}"],
            &["--log", "debug"],
            &["--watch"],
            &["--interactive"],
            &["--json"],
            &["--client-id", "i"],
            &["--scope", "s"],
            &["--no-browser"],
        ];
        // An alias may name the session for every use, also for a logout.
        let of_session: [&[&str]; 4] = [
            &["--revision", "2025-11-25"],
            &["--root", "file:///"],
            &["--form", "{}"],
            &["--sample", "s"],
        ];
        let parsed = |alone: &[&str], other: &[&str]| {
            let parts = [&["inspect"], alone, other].concat();
            Arguments::try_parse_from(parts).map(drop).map_err(|error| error.kind())
        };
        for (index, alone) in ALONE.iter().enumerate() {
            assert_eq!(parsed(alone, &[]), Ok(()), "{alone:?}");
            let refused = Err(ErrorKind::ArgumentConflict);
            for other in others.iter().chain(ALONE.iter().skip(index + 1)) {
                assert_eq!(parsed(alone, other), refused, "{alone:?} {other:?}");
            }
            let expected = if *alone == ["--logout"] { Ok(()) } else { refused };
            for other in of_session {
                assert_eq!(parsed(alone, other), expected, "{alone:?} {other:?}");
            }
        }
    }
}
