//! The command line.

use std::ffi::OsString;
use std::time::Duration;

use clap::Parser;
use mcp_sansio::Revision;
use mcp_sansio::json::{Kind, Raw};

/// Starts an MCP server and shows what it has: tools, prompts, resources and templates.
///
/// Progress and log messages of the server go to standard error, the result to standard output. The
/// exit code is 0 only if everything asked for worked.
#[derive(Parser, Debug)]
#[command(version, name = "inspect", after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Speak this revision only, for example 2025-06-18
    #[arg(long, value_name = "REVISION", value_parser = revision)]
    pub(crate) revision: Option<Revision>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Call a tool with these arguments, a JSON object, and print its result
    #[arg(long, num_args = 2, value_names = ["NAME", "JSON"])]
    call: Option<Vec<String>>,
    /// How many seconds to wait for the server to answer or to report progress
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub(crate) timeout: Duration,
    /// Where the server may work, a file: URI; the current directory if none is given
    #[arg(long = "root", value_name = "URI")]
    pub(crate) roots: Vec<String>,
    /// What to fill into forms that the server asks for, a JSON object; by default whatever fits
    #[arg(long, value_name = "JSON", value_parser = object)]
    pub(crate) form: Option<Raw<'static>>,
    /// What the model says when the server asks for one
    #[arg(long, value_name = "TEXT", default_value = "This is what a model would say.")]
    pub(crate) sample: String,
    /// The server and its arguments, after `--`; a built-in one if none is given
    #[arg(last = true, value_name = "SERVER")]
    pub(crate) server: Vec<OsString>,
}

/// A tool to call.
#[derive(Debug)]
pub(crate) struct ToolCall<'a> {
    pub(crate) name: &'a str,
    pub(crate) arguments: Raw<'static>,
}

impl Arguments {
    /// The tool to call, if there is one.
    pub(crate) fn call(&self) -> Result<Option<ToolCall<'_>>, String> {
        match self.call.as_deref() {
            Some([name, arguments]) => {
                let arguments = object(arguments)
                    .map_err(|error| format!("the arguments for {name} cannot be used: {error}"))?;
                Ok(Some(ToolCall { name, arguments }))
            }
            _ => Ok(None),
        }
    }
}

const EXAMPLES: &str = "Examples:
  inspect
  inspect -- npx -y @modelcontextprotocol/server-everything
  inspect --call echo '{\"message\":\"hi\"}' -- npx -y @modelcontextprotocol/server-everything";

fn revision(name: &str) -> Result<Revision, String> {
    let known = || Revision::ALL.map(Revision::name).join(", ");
    Revision::from_name(name).ok_or_else(|| format!("there is no such revision; try {}", known()))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_string())?;
    if !(0.001..1e9).contains(&seconds) {
        return Err("not a sensible number of seconds".into());
    }
    Ok(Duration::from_secs_f64(seconds))
}

fn object(text: &str) -> Result<Raw<'static>, String> {
    let raw = Raw::try_from(text.to_string()).map_err(|error| error.to_string())?;
    if raw.kind() == Kind::Object { Ok(raw) } else { Err("not a JSON object".into()) }
}
