//! The options of a connection.

use mcp_sansio::config::Listening;
use mcp_sansio::{ConnectionNumber, Limits, ServerConfig};

#[cfg(feature = "client")]
use crate::client::ChildOptions;
use crate::tasks::SharedTasks;

/// How a connection is run, apart from what its configuration says about the protocol.
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
    /// How a server that is a child process is run and ended: see `client`.
    #[cfg(feature = "client")]
    pub(crate) child: ChildOptions,
}

impl ConnectionOptions {
    /// As it is usual.
    pub fn new() -> Self {
        Self::default()
    }

    /// With tasks, which the other side can have if the configuration says so
    /// ([`ServerCapabilities::with_tasks`](mcp_sansio::model::ServerCapabilities::with_tasks),
    /// [`ClientCapabilities::tasks`](mcp_sansio::model::ClientCapabilities::tasks)).
    ///
    /// What the other side asks about tasks never reaches the handler, nor do subscriptions, which may be
    /// about them: everything that a server offers is granted, whatever its `listening` says. There is no
    /// [`Subscribed`](mcp_sansio::ServerEvent::Subscribed) for these.
    ///
    /// A handler that goes on after it has [begun a task](crate::Exchange::begin_task) does not count among
    /// the [`handlers`](Self::handlers), and the work on tasks goes on when the connection has ended.
    #[must_use]
    pub fn tasks(mut self, tasks: SharedTasks) -> Self {
        self.tasks = Some(tasks);
        self
    }

    /// How many handlers run at the same time, at least one. By default 64 of a server and 16 of a client.
    ///
    /// Their answers are taken however much waits to be sent already, so a peer that does not read can make
    /// this side hold so many of them beyond
    /// [`Limits::outbox_bytes`](mcp_sansio::Limits::outbox_bytes).
    #[must_use]
    pub const fn handlers(mut self, most: usize) -> Self {
        self.handlers = Some(most);
        self
    }

    /// Says in the configuration of a server what follows from these options: whoever has a machine of its own
    /// does so before it makes one.
    pub fn adjust(&self, config: &mut ServerConfig) {
        keep_requests(&mut config.connection.limits);
        if self.tasks.is_some() {
            config.listening = Listening::Asked;
        }
    }

    /// The number of the next connection, if connections share tasks: these tell them apart by it.
    pub fn next_connection(&self) -> Option<ConnectionNumber> {
        self.tasks.as_ref().map(SharedTasks::next_connection)
    }
}

/// How many bytes of [`Limits::connection_bytes`] there are at least for each request that waits for a handler.
const WAITING_BYTES: usize = 1 << 10;

/// Lets as many requests be in flight as there are bytes for: they wait for a handler, and are not refused.
pub(crate) fn keep_requests(limits: &mut Limits) {
    let most = u32::try_from(limits.connection_bytes / WAITING_BYTES).unwrap_or(u32::MAX);
    limits.inbound_requests = limits.inbound_requests.max(most);
}
