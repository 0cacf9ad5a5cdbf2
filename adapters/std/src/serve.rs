//! A server on a stream, whose handlers run on threads of a pool.

use std::io::{self, Read, Write};

use mcp_sansio::{Server, ServerConfig};
#[cfg(any(target_os = "linux", target_os = "android"))]
use mcp_sansio_driver::StandardStream;
use mcp_sansio_driver::{Clock, ConnectionOptions, Exchange, Handle, Router, Waiting, Wire};

use crate::handler::{Handler, Threads};

/// Serves one client on a pair of streams, until the client has disconnected and every response has been written.
///
/// Handlers run concurrently, at most 64 at a time. Further requests wait, and a cancellation removes them from the
/// queue. Reading continues regardless of handlers and writes, so cancellations, responses and pings are not
/// delayed. It pauses only while the waiting requests take
/// [`Limits::connection_bytes`](mcp_sansio::Limits::connection_bytes). A request is refused with `-32603` only if
/// handlers that do not return occupy all the room, or if it would never fit. While a client does not read its
/// responses, no further requests of that client are started.
///
/// When the input ends and every request has a handler, the handlers have
/// [`Timeouts::drain`](mcp_sansio::config::Timeouts::drain) to finish. Requests without a handler keep waiting as
/// long as at least one handler returns in a quarter of that time: `server < file` responds to every request. The
/// remaining responses are written as long as the client keeps reading; it may pause for the same time. The reading
/// thread ends when its read returns, which may be later. On a socket, pass the writing half as a
/// [`SocketWriter`](crate::SocketWriter).
///
/// The server ends earlier with `shut_down` of a [`Handle`](crate::Handle), such as that of
/// [`Handler::begin`](crate::Handler::begin): see [`shutdown`](mcp_sansio::manual::shutdown).
///
/// # Errors
///
/// The error of the operating system if it cannot start a thread, or if reading or writing fails. It also fails if
/// the client stops reading before the end of the output. A client that disconnects is no error.
pub fn serve(
    config: ServerConfig,
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
    handler: impl Handler<Server>,
) -> io::Result<()> {
    serve_with(config, &ConnectionOptions::new(), reader, writer, handler)
}

/// As [`serve`], with options, for example tasks and the number of handlers that run at the same time.
///
/// # Errors
///
/// As for [`serve`].
pub fn serve_with(
    config: ServerConfig,
    options: &ConnectionOptions,
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
    handler: impl Handler<Server>,
) -> io::Result<()> {
    let wire = Wire::server(config, options, Clock::new(), Threads::new(handler));
    wire.write_on_thread(writer)?;
    wire.keep_time_on_thread()?;
    wire.read_on_thread(reader)?;
    wire.wait()
}

/// Serves one client on standard input and output, as the stdio transport defines it.
///
/// On Linux and Android, a message for a pipe without a name or a socket is written by the thread that has caused it, such
/// as that of the handler, if at most one handler runs and the client has read enough. Otherwise a thread that writes is
/// woken for it.
///
/// The program must not write anything else to standard output in the meantime: the client would read the text of a
/// `println!` as a message. Use `eprintln!`, and send logs to standard error:
/// `tracing_subscriber::fmt().with_writer(std::io::stderr).init()`. With the feature `tracing` and
/// `.with_span_events(FmtSpan::CLOSE)`, it prints a line for each request: `mcp_sansio_driver` describes the spans.
///
/// # Errors
///
/// As for [`serve`].
pub fn serve_stdio(config: ServerConfig, handler: impl Handler<Server>) -> io::Result<()> {
    serve_stdio_with(config, &ConnectionOptions::new(), handler)
}

/// As [`serve_stdio`], with options: see [`serve_with`].
///
/// # Errors
///
/// As for [`serve`].
pub fn serve_stdio_with(
    config: ServerConfig,
    options: &ConnectionOptions,
    handler: impl Handler<Server>,
) -> io::Result<()> {
    let wire = Wire::server(config, options, Clock::new(), Threads::new(handler));
    #[cfg(any(target_os = "linux", target_os = "android"))]
    if let Some(stdout) = StandardStream::stdout() {
        wire.write_directly(stdout);
    }
    wire.write_on_thread(io::stdout())?;
    wire.keep_time_on_thread()?;
    wire.read_on_thread(io::stdin())?;
    wire.wait()
}

impl Handler<Server> for Router {
    fn serve(&self, exchange: &Exchange<Server>) {
        Waiting::new(self.serve_here(exchange.clone())).wait();
    }

    fn begin(&self, handle: &Handle<Server>) {
        Self::begin(self, handle);
    }
}
