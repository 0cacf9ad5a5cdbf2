//! A server on a stream, with a task for each handler that is running.

use std::io;
use std::sync::Arc;

use mcp_sansio::{Server, ServerConfig};
use mcp_sansio_driver::asynchronous::Handler;
use mcp_sansio_driver::{ConnectionOptions, Drive, Wire};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::runtime::{Sleeps, clock, spawner};
use crate::streams::{Reads, Writes};

/// Serves one client on a pair of streams, until it is gone and every answer has been written.
///
/// Handlers run concurrently, at most 64 at a time. Further requests wait, and a cancellation takes them out again. When
/// what waits has as many bytes as [`Limits::connection_bytes`](mcp_sansio::Limits::connection_bytes) allows, no more is
/// read until requests have been answered; until then reading goes on whatever handlers and writes do, so
/// cancellations, responses and pings are not delayed. A request is refused with `-32603` only if handlers that do not
/// return take all the room, or if there will never be any. While a client does not read its answers, no further requests of
/// it are begun.
///
/// When the input ends and every request has a handler, these have [`Timeouts::drain`](mcp_sansio::config::Timeouts::drain) to
/// finish. Requests that have no handler yet are waited for as long as handlers return, at least one in a quarter of that
/// time: `server < file` answers everything. What
/// they have answered is written as long as the client goes on reading; it may pause for the same time. One
/// that goes on nevertheless finds out ([`Exchange::cancelled`](crate::Exchange::cancelled)).
///
/// Dropping the future ends the connection at once, in the same way.
///
/// # Errors
///
/// What the system says if reading or writing fails, or if the client stops reading before it has everything.
/// A client that goes away is no error.
pub async fn serve(
    config: ServerConfig,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
    handler: impl Handler<Server>,
) -> io::Result<()> {
    serve_with(config, &ConnectionOptions::new(), reader, writer, handler).await
}

/// The same with options: tasks, and how many handlers run at the same time.
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
    let wire = server(config, options, handler);
    Drive::new(&wire, Reads(reader), Writes(writer), Sleeps::default()).await
}

/// Serves one client on standard input and output, as the stdio transport has it.
///
/// Nothing else may be written to standard output meanwhile; standard error is free. Both are read and written
/// on threads of their own and not by the runtime, which could otherwise not end before its reads and writes
/// do. The one that reads ends when its read does, which may be later than this.
///
/// # Errors
///
/// As for [`serve`], and what the system says if it has no threads.
pub async fn serve_stdio(config: ServerConfig, handler: impl Handler<Server>) -> io::Result<()> {
    serve_stdio_with(config, &ConnectionOptions::new(), handler).await
}

/// The same with options: see [`serve_with`].
///
/// # Errors
///
/// As for [`serve_stdio`].
pub async fn serve_stdio_with(
    config: ServerConfig,
    options: &ConnectionOptions,
    handler: impl Handler<Server>,
) -> io::Result<()> {
    let wire = server(config, options, handler);
    let drive = Drive::timed(&wire, Sleeps::default());
    wire.write_on_thread(io::stdout())?;
    wire.read_on_thread(io::stdin())?;
    drive.await
}

fn server(
    config: ServerConfig,
    options: &ConnectionOptions,
    handler: impl Handler<Server>,
) -> Arc<Wire<Server>> {
    Wire::server(config, options, clock(), spawner(handler))
}
