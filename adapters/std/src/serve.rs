//! A server on a stream, with a thread for each handler that is running.

use std::io::{self, Read, Write};
use std::sync::Arc;

use mcp_sansio::{ErrorCode, Listening, RespondError, Server, ServerConfig};

use crate::exchange::Exchange;
use crate::handle::Handle;
use crate::machine::Machine;
use crate::tasks::SharedTasks;
use crate::wire::Wire;

/// How many handlers run at the same time unless it is said otherwise.
const THREADS: usize = 64;

/// Serves requests and hears of everything else.
///
/// A function that takes an [`Exchange`] and returns what answering it gave is a handler:
///
/// ```
/// use mcp_sansio::{ErrorCode, RespondError, Server};
/// use mcp_sansio_std::{Exchange, Handler};
///
/// fn refuse(exchange: &Exchange<Server>) -> Result<(), RespondError> {
///     exchange.reject(ErrorCode::METHOD_NOT_FOUND, "I do nothing")
/// }
///
/// fn is_handler(_: impl Handler<Server>) {}
/// is_handler(refuse);
/// ```
pub trait Handler<M: Machine>: Send + Sync + 'static {
    /// Serves a request, on a thread of its own. It may take its time, call the other side and wait
    /// for it; other requests are served meanwhile.
    fn serve(&self, exchange: &Exchange<M>);

    /// Told of the connection before anything happens on it: keep the handle to end it from elsewhere.
    fn begin(&self, handle: &Handle<M>) {
        _ = handle;
    }

    /// Told of everything that is not a request, one after the other in the order it came.
    ///
    /// Events that come while 1024 others wait, or as many bytes as four of the largest frames have,
    /// are dropped; those that tell of the end are not.
    fn event(&self, handle: &Handle<M>, event: M::Event) {
        _ = (handle, event);
    }
}

impl<M: Machine, F> Handler<M> for F
where
    F: Fn(&Exchange<M>) -> Result<(), RespondError> + Send + Sync + 'static,
{
    fn serve(&self, exchange: &Exchange<M>) {
        // What can go wrong is that nobody wants the answer any more, or that it cannot be written;
        // in the latter case the exchange answers for itself.
        _ = self(exchange);
    }
}

/// A handler that offers nothing.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct RefuseAll;

impl RefuseAll {
    /// The handler.
    pub const fn new() -> Self {
        Self
    }
}

impl<M: Machine> Handler<M> for RefuseAll {
    fn serve(&self, exchange: &Exchange<M>) {
        _ = exchange.reject(ErrorCode::METHOD_NOT_FOUND, "method not found");
    }
}

/// Serves one client on a pair of streams, until it is gone and every answer has been written.
///
/// Handlers run concurrently, at most 64 at a time; further requests wait, and a cancellation takes
/// them out again. What waits holds at most as many bytes as four of the largest frames; requests
/// beyond that are refused with `-32603`. Reading goes on whatever handlers and writes do.
///
/// When the input ends, handlers have [`Timeouts::drain`](mcp_sansio::Timeouts::drain) to finish. What
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
    serve_server(Server::new(Arc::new(config)), None, reader, writer, handler)
}

/// The same with tasks, which the client can have if `config` says so
/// ([`with_tasks`](mcp_sansio::model::ServerCapabilities::with_tasks)).
///
/// What a client asks about tasks never reaches the handler, nor do subscriptions, which may be about
/// them: everything that the server offers is granted, whatever `config.listening` says. There is no
/// [`Subscribed`](mcp_sansio::ServerEvent::Subscribed) for these.
///
/// The work on tasks goes on when this returns, as long as the process does. A handler that goes on after
/// it has [begun a task](Exchange::begin_task) does not count among the 64.
///
/// # Errors
///
/// As for [`serve`].
pub fn serve_with_tasks(
    mut config: ServerConfig,
    tasks: SharedTasks,
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
    handler: impl Handler<Server>,
) -> io::Result<()> {
    config.listening = Listening::Asked;
    let server = Server::numbered(Arc::new(config), tasks.next_connection());
    serve_server(server, Some(tasks), reader, writer, handler)
}

fn serve_server(
    server: Server,
    tasks: Option<SharedTasks>,
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
    handler: impl Handler<Server>,
) -> io::Result<()> {
    let limits = server.config().connection.limits.clone();
    let drain = server.config().connection.timeouts.drain;
    let wire = Wire::new(server, &limits, THREADS, tasks, Arc::new(handler), None);
    wire.begin_with_handler();
    wire.start(reader, writer)?;
    wire.wait_closed(drain)
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

/// The same with tasks: see [`serve_with_tasks`].
///
/// # Errors
///
/// As for [`serve`].
pub fn serve_stdio_with_tasks(
    config: ServerConfig,
    tasks: SharedTasks,
    handler: impl Handler<Server>,
) -> io::Result<()> {
    serve_with_tasks(config, tasks, io::stdin(), io::stdout(), handler)
}
