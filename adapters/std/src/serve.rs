//! A server on a stream, whose handlers run on threads of a pool.

use std::io::{self, Read, Write};

use mcp_sansio::{Server, ServerConfig};
use mcp_sansio_driver::{Clock, ConnectionOptions, Exchange, Handle, Router, Waiting, Wire};

use crate::handler::{Handler, Threads};

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
/// they have answered is written as long as the client goes on reading; it may pause for the same time.
/// The reading thread ends when its read does, which may be later. On a socket, give the writing half
/// as a [`SocketWriter`](crate::SocketWriter).
///
/// # Errors
///
/// What the system says if it has no threads, if reading or writing fails, or if the client stops
/// reading before it has everything. A client that goes away is no error.
pub fn serve(
    config: ServerConfig,
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
    handler: impl Handler<Server>,
) -> io::Result<()> {
    serve_with(config, &ConnectionOptions::new(), reader, writer, handler)
}

/// The same with options: tasks, and how many handlers run at the same time.
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

/// Serves one client on standard input and output, as the stdio transport has it.
///
/// Nothing else may be written to standard output meanwhile; standard error is free.
///
/// # Errors
///
/// As for [`serve`].
pub fn serve_stdio(config: ServerConfig, handler: impl Handler<Server>) -> io::Result<()> {
    serve(config, io::stdin(), io::stdout(), handler)
}

/// The same with options: see [`serve_with`].
///
/// # Errors
///
/// As for [`serve`].
pub fn serve_stdio_with(
    config: ServerConfig,
    options: &ConnectionOptions,
    handler: impl Handler<Server>,
) -> io::Result<()> {
    serve_with(config, options, io::stdin(), io::stdout(), handler)
}

impl Handler<Server> for Router {
    fn serve(&self, exchange: &Exchange<Server>) {
        Waiting::new(self.serve_here(exchange.clone())).wait();
    }

    fn begin(&self, handle: &Handle<Server>) {
        Self::begin(self, handle);
    }
}
