//! A server with something of everything behind HTTP, to try clients with.
//!
//! Usage: `cargo run -p mcp-sansio-http --example everything_http -- --port 3000`, then point a client at
//! `http://127.0.0.1:3000/mcp`. It has what `everything_server` has on standard input and output, for clients with
//! a session and for those without one.
//!
//! `--protected ISSUER` lets only those in who have an access token of that authorization server. The example
//! `authorization_server` is one to try it with.

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

/// An MCP server with something of everything, on http://127.0.0.1:PORT/mcp.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The port to listen on; 0 for one that is free
    #[arg(long, default_value_t = 3000)]
    port: u16,
    /// The path of the endpoint
    #[arg(long, default_value = "/mcp", value_parser = path)]
    path: String,
    /// Let only those in who have an access token of this authorization server, with the scope mcp:use, and mcp:tools to
    /// call a tool
    #[arg(long, value_name = "ISSUER")]
    protected: Option<String>,
    /// The URL that clients know the endpoint by, with `--protected` [default: that of this address]
    #[arg(long, requires = "protected")]
    url: Option<String>,
}

fn path(text: &str) -> Result<String, String> {
    if text.starts_with('/') { Ok(text.into()) } else { Err("it begins with a slash".into()) }
}

/// Its tools block, so each runs on a thread of its own.
struct Blocking(Arc<everything::Everything>);

impl Handler<Server> for Blocking {
    async fn serve(&self, exchange: Exchange) {
        let everything = Arc::clone(&self.0);
        // A tool that panics has its request answered by the exchange that it drops.
        _ = tokio::task::spawn_blocking(move || everything.serve(&exchange)).await;
    }

    fn begin(&self, handle: &Handle<Server>) {
        self.0.begin(handle);
    }
}

fn options() -> EndpointOptions {
    let mut options = EndpointOptions::new();
    options.connection = ConnectionOptions::new().tasks(SharedTasks::default());
    // For the oldest clients.
    options.one_stream = Some(OneStreamPaths::default());
    for tool in everything::tools() {
        // A tool whose schema says what it may not is as good as one that says nothing.
        if let Ok(headers) = ParamHeaders::of(&tool.input_schema)
            && !headers.is_empty()
        {
            options.tools.insert(tool.name.to_string(), Arc::new(headers));
        }
    }
    options
}

async fn run(arguments: Arguments) -> std::io::Result<()> {
    // `TcpListener::bind` has no more than 128 clients wait to be accepted, and the next one tries again after a second.
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
    // Whoever would read this may be gone.
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
