//! A server behind HTTP that exercises every feature, for testing clients.
//!
//! Usage: `cargo run -p mcp-sansio-http --example everything_http -- --port 3000`, then connect a client to
//! `http://127.0.0.1:3000/mcp`. The server has the features of `everything_server`, which uses standard input and
//! output, for clients with and without a session.
//!
//! `--sessions FILE` continues the sessions in the file, and saves the sessions there when the server ends by Ctrl-C or
//! by the signal TERM. So the server can be replaced while clients keep their sessions.
//!
//! `--protected ISSUER` requires an access token of that authorization server. The example `authorization_server`
//! can serve as one.

#[path = "../../../../examples/everything_server/everything/mod.rs"]
mod everything;
mod protected;
mod serving;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

/// An MCP server that exercises every feature, on http://127.0.0.1:PORT/mcp.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The port to listen on; 0 for any free port
    #[arg(long, default_value_t = 3000)]
    port: u16,
    /// The path of the endpoint
    #[arg(long, default_value = "/mcp", value_parser = path)]
    path: String,
    /// Continue the sessions in this file, and save them there at the end
    #[arg(long, value_name = "FILE")]
    sessions: Option<PathBuf>,
    /// Require an access token of this authorization server, with the scope mcp:use, and mcp:tools to call a tool
    #[arg(long, value_name = "ISSUER")]
    protected: Option<String>,
    /// The URL by which clients know the endpoint, with `--protected` [default: that of this address]
    #[arg(long, requires = "protected")]
    url: Option<String>,
}

fn path(text: &str) -> Result<String, String> {
    if text.starts_with('/') { Ok(text.into()) } else { Err("it begins with a slash".into()) }
}

async fn run(arguments: &Arguments) -> std::io::Result<()> {
    let sessions = arguments.sessions.as_deref();
    serving::serve_everything(arguments.port, &arguments.path, sessions, |options, url| {
        let Some(issuer) = &arguments.protected else { return Ok(options) };
        let known_as = arguments.url.as_deref().unwrap_or(url);
        Ok(options.protect(protected::protection(known_as, issuer)?))
    })
    .await
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            _ = writeln!(std::io::stderr(), "everything_http: {error}");
            ExitCode::FAILURE
        }
    }
}
