//! The everything server behind HTTP.

use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::Server;
use mcp_sansio::http::ParamHeaders;
use mcp_sansio_http::{
    ConnectionOptions, Endpoint, EndpointOptions, Exchange, Handle, Handler, OneStreamPaths,
    SharedTasks, serve,
};
use mcp_sansio_std::Handler as _;
use tokio::net::TcpSocket;

use crate::everything;

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

/// Serves on a port of this machine, or on any free port for 0, until Ctrl-C. Prints the URL first.
///
/// `configure` completes the options, given the URL.
pub(crate) async fn serve_everything(
    port: u16,
    path: &str,
    configure: impl FnOnce(EndpointOptions, &str) -> io::Result<EndpointOptions>,
) -> io::Result<()> {
    // The backlog of `TcpListener::bind` is only 128 clients, and a further client retries after a second.
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind((Ipv4Addr::LOCALHOST, port).into())?;
    let listener = socket.listen(1024)?;
    let url = format!("http://{}{path}", listener.local_addr()?);
    let options = configure(options(), &url)?;
    // Standard output may be closed.
    _ = writeln!(io::stdout(), "{url}");
    let everything = Blocking(Arc::new(everything::Everything::default()));
    let endpoint = Endpoint::with(everything::config(), options, everything);
    let stop = async { _ = tokio::signal::ctrl_c().await };
    serve(endpoint, path, listener, stop, Duration::from_secs(5)).await
}
