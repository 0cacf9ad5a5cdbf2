//! [`ConnectionOptions`]: the options of a connection.

use std::any::Any;
use std::sync::Arc;

use mcp_sansio::config::Listening;
use mcp_sansio::{ConnectionNumber, Limits, ServerConfig};

#[cfg(feature = "client")]
use crate::client::ChildOptions;
use crate::extensions::Extensions;
use crate::tasks::SharedTasks;

/// The options of a connection beside the protocol configuration.
///
/// ```
/// use mcp_sansio_driver::{ConnectionOptions, SharedTasks};
///
/// let options = ConnectionOptions::new().tasks(SharedTasks::default()).handlers(8);
/// # _ = options;
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ConnectionOptions {
    pub(crate) tasks: Option<SharedTasks>,
    pub(crate) handlers: Option<usize>,
    pub(crate) extensions: Option<Arc<Extensions>>,
    /// The options of a server that is a child process: see `client`.
    #[cfg(feature = "client")]
    pub(crate) child: ChildOptions,
}

impl ConnectionOptions {
    /// Creates the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Enables tasks, which the peer can use if the configuration declares them
    /// ([`ServerCapabilities::with_tasks`](mcp_sansio::model::ServerCapabilities::with_tasks),
    /// [`ClientCapabilities::tasks`](mcp_sansio::model::ClientCapabilities::tasks)).
    ///
    /// Requests about tasks never reach the handler. Subscriptions, which may include tasks, are granted by the adapter
    /// or by the handler, as [`ServerConfig::listening`](mcp_sansio::ServerConfig::listening) says:
    ///
    /// - With [`Listening::Granted`], the adapter grants every subscription that the server supports, and reports it
    ///   with a [`Subscribed`](mcp_sansio::ServerEvent::Subscribed) event.
    /// - With [`Listening::Asked`], the handler decides, with [`Exchange::grant`](crate::Exchange::grant).
    ///
    /// A handler that continues after it has [begun a task](crate::Exchange::begin_task) does not count towards the
    /// limit of [`handlers`](Self::handlers), up to 1,024 such handlers of a connection. Work on tasks continues after
    /// the connection has ended.
    #[must_use]
    pub fn tasks(mut self, tasks: SharedTasks) -> Self {
        self.tasks = Some(tasks);
        self
    }

    /// Sets how many handlers run at the same time, at least one. By default 64 for a server and 16 for a client.
    ///
    /// Further requests wait for a handler. So an adapter raises
    /// [`Limits::inbound_requests`](mcp_sansio::Limits::inbound_requests) to one request for each 2 KiB of
    /// [`Limits::connection_bytes`](mcp_sansio::Limits::connection_bytes).
    ///
    /// The response of a handler is accepted regardless of the unsent output. So if the peer does not read, each
    /// handler can add one response to the outbox beyond [`Limits::outbox_bytes`](mcp_sansio::Limits::outbox_bytes).
    #[must_use]
    pub const fn handlers(mut self, most: usize) -> Self {
        self.handlers = Some(most);
        self
    }

    /// Adds a value for the handlers of the connection, at most one of each type:
    /// [`Exchange::extension`](crate::Exchange::extension) returns it. For example, the user of the process at the
    /// other end of a socket.
    ///
    /// ```
    /// use mcp_sansio_driver::ConnectionOptions;
    ///
    /// #[derive(Debug)]
    /// struct User(&'static str);
    ///
    /// let options = ConnectionOptions::new().extension(User("alice"));
    /// # _ = options;
    /// ```
    #[must_use]
    pub fn extension<T: Any + Send + Sync>(mut self, value: T) -> Self {
        Arc::make_mut(self.extensions.get_or_insert_default()).insert(value);
        self
    }

    /// Connects the spans of requests and calls with those of the peer.
    #[cfg(feature = "tracing")]
    #[must_use]
    pub fn trace_propagator(self, propagator: impl crate::TracePropagator + 'static) -> Self {
        self.extension(crate::trace_propagator::Propagation(Arc::new(propagator)))
    }

    /// Applies these options to the configuration of a server. Callers that create the machine themselves do this
    /// first.
    ///
    /// [`Limits::inbound_requests`] becomes at least one request for each 2 KiB of [`Limits::connection_bytes`], by
    /// default 32,768: requests wait for a handler instead of being refused. With [`tasks`](Self::tasks), the adapter
    /// grants subscriptions instead of the machine ([`Listening::AskedOfAdapter`]). If the configuration has
    /// [`Listening::Asked`], the handler grants them: [`Exchange::grant`](crate::Exchange::grant).
    pub fn adjust(&self, config: &mut ServerConfig) {
        keep_requests(&mut config.connection.limits);
        if self.tasks.is_some() && config.listening == Listening::Granted {
            config.listening = Listening::AskedOfAdapter;
        }
    }

    /// Returns the [tasks](Self::tasks) of the connections.
    pub const fn shared_tasks(&self) -> Option<&SharedTasks> {
        self.tasks.as_ref()
    }

    /// Returns the number of the next connection, if connections share tasks. The number identifies the connection
    /// among them.
    pub fn next_connection(&self) -> Option<ConnectionNumber> {
        self.tasks.as_ref().map(SharedTasks::next_connection)
    }
}

/// The least number of bytes of [`Limits::connection_bytes`] per waiting request.
///
/// The limit counts twice the length of each message, and a request that waits holds its message once. So half of the
/// limit is left for the entries of requests in the tables of the machine and of the driver: 512 bytes for each, their
/// spare capacity, and the overhead of the allocator.
const WAITING_BYTES: usize = 2 << 10;

/// Raises the limit of requests in flight to the number that the byte limit allows: they wait for a handler instead
/// of being refused.
pub(crate) fn keep_requests(limits: &mut Limits) {
    let most = u32::try_from(limits.connection_bytes / WAITING_BYTES).unwrap_or(u32::MAX);
    limits.inbound_requests = limits.inbound_requests.max(most);
}
