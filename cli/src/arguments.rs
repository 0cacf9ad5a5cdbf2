//! The command line.

use std::ffi::OsString;
use std::time::Duration;

use clap::Parser;
use clap::error::ErrorKind;
use mcp_sansio::Revision;
use mcp_sansio::json::{Kind, Raw};
use mcp_sansio::model::LoggingLevel;

use crate::actions::Action;
use crate::login::LoginOptions;

/// Starts an MCP server, or goes to one, and shows what it has: tools, prompts, resources and templates.
///
/// Progress and log messages of the server go to standard error, results to standard output. The
/// exit code is 0 only if everything asked for worked.
///
/// If a server at a URL asks for authorization, you log in with a browser. The login is remembered in
/// a file that only you can read: in mcp-sansio/inspect of $XDG_STATE_HOME, of ~/.local/state, or of
/// %LOCALAPPDATA% on Windows.
#[derive(Parser, Debug)]
#[command(version, name = "inspect", after_help = EXAMPLES)]
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
    /// Ask for log messages of this level and above: debug, info, notice, warning, error, …
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    pub(crate) log: Option<LoggingLevel>,
    /// Subscribe to all resources first and print what changes, until the server ends or Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,
    /// How many seconds to watch
    #[arg(long = "for", value_name = "SECONDS", value_parser = seconds, requires = "watch")]
    pub(crate) watch_time: Option<Duration>,
    /// How many seconds to wait for the server to answer or to report progress
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub(crate) timeout: Duration,
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
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header, requires = "url")]
    pub(crate) headers: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) login: LoginOptions,
    /// The URL of a server that is running, http://…
    #[arg(value_name = "URL", value_parser = url, conflicts_with = "server")]
    pub(crate) url: Option<String>,
    /// Or a server to start and its arguments, after `--`; a built-in one if none is given
    #[arg(last = true, value_name = "SERVER")]
    pub(crate) server: Vec<OsString>,
}

impl Arguments {
    /// What to ask the server for; nothing for a list of what it has.
    ///
    /// Resources are read first, then come prompts, completions and calls, each in the order they were
    /// given.
    ///
    /// # Errors
    ///
    /// If no server is named, if arguments of tools and prompts are no objects, or if options of a login have no effect.
    pub(crate) fn actions(&self, has_built_in: bool) -> Result<Vec<Action>, clap::Error> {
        if self.url.is_none() && self.server.is_empty() && !has_built_in {
            let text = "no server: give its URL, or its program and arguments after `--`\n";
            return Err(clap::Error::raw(ErrorKind::MissingRequiredArgument, text));
        }
        self.login.check(self.url.as_deref(), &self.headers)?;
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
            actions.push(Action::Call { name: name.clone(), arguments });
        }
        Ok(actions)
    }
}

const EXAMPLES: &str = "Examples:
  inspect
  inspect http://127.0.0.1:3000/mcp
  inspect --scope 'read write' http://127.0.0.1:3000/mcp
  inspect --logout http://127.0.0.1:3000/mcp
  inspect -- npx -y @modelcontextprotocol/server-everything
  inspect --call echo '{\"message\":\"hi\"}' -- npx -y @modelcontextprotocol/server-everything
  inspect --task --call slow_compute '{\"seconds\":2}'
  inspect --watch --log debug -- npx -y @modelcontextprotocol/server-everything";

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

fn object(text: &str) -> Result<Raw<'static>, String> {
    let raw = Raw::try_from(text.to_string()).map_err(|error| error.to_string())?;
    if raw.kind() == Kind::Object { Ok(raw) } else { Err("not a JSON object".into()) }
}
