//! A server behind HTTP that exercises every feature, for testing clients.
//!
//! Usage: `cargo run -p mcp-sansio-http --example everything_http -- --port 3000`, then connect a client to
//! `http://127.0.0.1:3000/mcp`. The server has the features of `everything_server`, which uses standard input and
//! output, for clients with and without a session.
//!
//! `--protected ISSUER` requires an access token of that authorization server. The example `authorization_server`
//! can serve as one.

#[path = "../../../../examples/everything_server/everything/mod.rs"]
mod everything;
mod protected;

use std::io::Write;
use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use mcp_sansio::Server;
use mcp_sansio::http::ParamHeaders;
use mcp_sansio_http::{
    ConnectionOptions, Endpoint, EndpointOptions, Exchange, Handle, Handler, OneStreamPaths,
    SharedTasks, serve,
};
use mcp_sansio_std::Handler as _;
use tokio::net::TcpSocket;

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

/// Runs each handler on a thread of its own, because the tools block.
struct Blocking(Arc<everything::Everything>);

impl Handler<Server> for Blocking {
    async fn serve(&self, exchange: Exchange) {
        let everything = Arc::clone(&self.0);
        // If a tool panics, the dropped exchange responds to the request.
        _ = tokio::task::spawn_blocking(move || everything.serve(&exchange)).await;
    }

    fn begin(&self, handle: &Handle<Server>) {
        self.0.begin(handle);
    }
}

fn options() -> EndpointOptions {
    let mut options = EndpointOptions::new();
    options.connection = ConnectionOptions::new().tasks(SharedTasks::default());
    // For clients of 2024-11-05.
    options.one_stream = Some(OneStreamPaths::default());
    for tool in everything::tools() {
        // A tool with invalid header annotations is treated like a tool without any.
        if let Ok(headers) = ParamHeaders::of(&tool.input_schema)
            && !headers.is_empty()
        {
            options.tools.insert(tool.name.to_string(), Arc::new(headers));
        }
    }
    options
}

async fn run(arguments: Arguments) -> std::io::Result<()> {
    // The backlog of `TcpListener::bind` is only 128 clients, and a further client retries after a second.
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind((Ipv4Addr::LOCALHOST, arguments.port).into())?;
    let listener = socket.listen(1024)?;
    let address = listener.local_addr()?;
    let url = format!("http://{address}{}", arguments.path);
    let mut options = options();
    if let Some(issuer) = &arguments.protected {
        let known_as = arguments.url.as_ref().unwrap_or(&url);
        options = options.protect(protected::protection(known_as, issuer)?);
    }
    // Standard output may be closed.
    _ = writeln!(std::io::stdout(), "{url}");
    let everything = Blocking(Arc::new(everything::Everything::default()));
    let endpoint = Endpoint::with(everything::config(), options, everything);
    let stop = async { _ = tokio::signal::ctrl_c().await };
    serve(endpoint, &arguments.path, listener, stop, Duration::from_secs(5)).await
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            _ = writeln!(std::io::stderr(), "everything_http: {error}");
            ExitCode::FAILURE
        }
    }
}
