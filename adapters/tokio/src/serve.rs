//! A server on a stream, whose handlers run as tasks of the runtime.

use std::io;

use mcp_sansio::{Server, ServerConfig};
use mcp_sansio_driver::asynchronous::Handler;
use mcp_sansio_driver::{ConnectionOptions, Drive, Wire};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::runtime::{Sleeps, clock, spawner};
use crate::stdio;
use crate::streams::{Reads, Writes};

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
) -> io::Result<()> {
    serve_with(config, &ConnectionOptions::new(), reader, writer, handler).await
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
) -> io::Result<()> {
    let wire = Wire::server(config, options, clock(), spawner(handler));
    Drive::new(&wire, Reads(reader), Writes(writer), Sleeps::default()).await
}

/// Serves one client on standard input and output, as the stdio transport defines it.
///
/// The program must not write anything else to standard output in the meantime: the client would read the text of a
/// `println!` as a message. Use `eprintln!`, and send logs to standard error:
/// `tracing_subscriber::fmt().with_writer(std::io::stderr).init()`. With the feature `tracing` and
/// `.with_span_events(FmtSpan::CLOSE)`, it prints a line for each request: `mcp_sansio_driver` describes the spans.
///
/// On Linux and Android the runtime itself reads and writes pipes and sockets, without a thread. It does not change their
/// non-blocking mode, which other processes share. It does not see input that [`std::io::stdin`] has buffered before.
/// On a runtime with one thread, the task that reads and writes also runs handlers that do not wait. While a handler
/// blocks that thread, nothing is read: [`Blocking`](crate::Blocking) runs such handlers on other threads.
///
/// Any other stream, for example a file, a terminal or a named pipe (`mkfifo`), has a thread of its own, because the
/// runtime could not end before a read or write returns. The reading thread ends when its read returns, which may be later than this future. The same
/// applies on other systems, and if the runtime was built without `enable_io`; tokio prints the message of a panic then.
/// A program with `panic = "abort"` ends at that panic, so its runtime needs `enable_io`.
///
/// # Errors
///
/// As for [`serve`], and the error of the operating system if it cannot start a thread.
pub async fn serve_stdio(config: ServerConfig, handler: impl Handler<Server>) -> io::Result<()> {
    serve_stdio_with(config, &ConnectionOptions::new(), handler).await
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
) -> io::Result<()> {
    let spawner = spawner(handler);
    let worker = spawner.inline_worker();
    let wire = Wire::server(config, options, clock(), spawner);
    let drive = Drive::timed(&wire, Sleeps::default());
    // The task ends with this future.
    let _streams = stdio::start(&wire, worker)?;
    drive.await
}
