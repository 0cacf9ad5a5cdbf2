//! A server on a stream, with a task for each running handler.

use std::io;
use std::sync::Arc;

use futures_io::{AsyncRead, AsyncWrite};
use mcp_sansio::{Server, ServerConfig};
use mcp_sansio_driver::asynchronous::{Handler, Spawner, Work};
use mcp_sansio_driver::{Clock, ConnectionOptions, Drive, Wire};

use crate::runtime::Sleeps;
use crate::streams::{Reads, Writes};

/// Serves one client on a pair of streams, until the client has disconnected and every response has been written.
/// `spawn` starts tasks: `|work| smol::spawn(work).detach()` for smol, `|work| drop(async_std::task::spawn(work))`
/// for async-std.
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
/// remaining responses are written as long as the client keeps reading; it may pause for the same time. A handler
/// that continues after that is cancelled ([`Exchange::cancelled`](crate::Exchange::cancelled)).
///
/// Dropping the future ends the connection at once, and cancels the handlers in the same way. The chapter
/// [`shutdown`](mcp_sansio::manual::shutdown) compares the ways to stop.
///
/// # Errors
///
/// The error of the operating system if reading or writing fails. It also fails if the client stops reading before
/// the end of the output. A client that disconnects is no error.
pub async fn serve(
    config: ServerConfig,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
    handler: impl Handler<Server>,
    spawn: impl Fn(Work) + Send + Sync + 'static,
) -> io::Result<()> {
    serve_with(config, &ConnectionOptions::new(), reader, writer, handler, spawn).await
}

/// As [`serve`], with options, for example tasks and the number of handlers that run at the same time.
///
/// # Errors
///
/// As for [`serve`].
pub async fn serve_with(
    config: ServerConfig,
    options: &ConnectionOptions,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
    handler: impl Handler<Server>,
    spawn: impl Fn(Work) + Send + Sync + 'static,
) -> io::Result<()> {
    let wire = server(config, options, handler, spawn);
    Drive::new(&wire, Reads(reader), Writes(writer), Sleeps::default()).await
}

/// Serves one client on standard input and output, as the stdio transport defines it.
///
/// The program must not write anything else to standard output in the meantime: the client would read the text of a
/// `println!` as a message. Use `eprintln!`, and send logs to standard error:
/// `tracing_subscriber::fmt().with_writer(std::io::stderr).init()`. With the feature `tracing` and
/// `.with_span_events(FmtSpan::CLOSE)`, it prints a line for each request: `mcp_sansio_driver` describes the spans.
///
/// Separate threads read and write both streams. The reading thread ends when its read returns, which may be later than this
/// future.
///
/// # Errors
///
/// As for [`serve`], and the error of the operating system if it cannot start a thread.
pub async fn serve_stdio(
    config: ServerConfig,
    handler: impl Handler<Server>,
    spawn: impl Fn(Work) + Send + Sync + 'static,
) -> io::Result<()> {
    serve_stdio_with(config, &ConnectionOptions::new(), handler, spawn).await
}

/// As [`serve_stdio`], with options: see [`serve_with`].
///
/// # Errors
///
/// As for [`serve_stdio`].
pub async fn serve_stdio_with(
    config: ServerConfig,
    options: &ConnectionOptions,
    handler: impl Handler<Server>,
    spawn: impl Fn(Work) + Send + Sync + 'static,
) -> io::Result<()> {
    let wire = server(config, options, handler, spawn);
    let drive = Drive::timed(&wire, Sleeps::default());
    wire.write_on_thread(io::stdout())?;
    wire.read_on_thread(io::stdin())?;
    drive.await
}

fn server(
    config: ServerConfig,
    options: &ConnectionOptions,
    handler: impl Handler<Server>,
    spawn: impl Fn(Work) + Send + Sync + 'static,
) -> Arc<Wire<Server>> {
    Wire::server(config, options, Clock::new(), Spawner::new(handler, spawn))
}
