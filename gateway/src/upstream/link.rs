//! [`Link`]: an open connection to a server.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcp_sansio::capability::{Capability, CapabilitySet};
use mcp_sansio::config::KeepAlive;
use mcp_sansio::event::Connected;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{
    ElicitationCapability, EmptyCapability, ListChanged, LoggingLevel, SamplingCapability,
    SubscriptionFilter,
};
use mcp_sansio::task::EXTENSION;
use mcp_sansio::{CallError, CallOptions, ClientConfig, Era, Revision};
use mcp_sansio_tokio::{Connection, Handle, PendingCall};
use tokio::sync::{Notify, mpsc};

use super::connect::{OpenFailure, UpstreamHandler, open};
use super::table::{CallEntry, FromServer, SubscriptionEntry, Table, TableHandler};
use crate::client_key::ClientKey;
use crate::config::UpstreamConfig;

/// An open connection. Dropping it ends the connection at once.
pub(crate) struct Link {
    handle: Handle,
    table: Arc<Table>,
    revision: Revision,
    decides_about_tasks: bool,
    /// Notified when a failure is a reason to ask the server for its era.
    doubts: Arc<Notify>,
    /// The connection, until it is closed.
    connection: Mutex<Option<Connection>>,
}

/// The lists whose changes a link reports.
pub(super) fn all_lists() -> SubscriptionFilter<'static> {
    SubscriptionFilter::new().with_tools().with_prompts().with_resources()
}

impl Link {
    /// Opens a connection.
    pub(super) async fn open(gateway: &str, config: &UpstreamConfig) -> Result<Self, OpenFailure> {
        let table = Arc::new(Table::default());
        let handler = UpstreamHandler(TableHandler(Arc::clone(&table)));
        let connection = open(&config.transport, client(gateway, config), handler).await?;
        let terms = Terms::of(connection.connected());
        table.agree(connection.handle(), terms);
        Ok(Self {
            handle: connection.handle().clone(),
            table,
            revision: terms.revision,
            decides_about_tasks: terms.decides_about_tasks,
            doubts: Arc::default(),
            connection: Mutex::new(Some(connection)),
        })
    }

    /// Returns the revision of the connection.
    pub(crate) const fn revision(&self) -> Revision {
        self.revision
    }

    /// Whether the server has sessions, in which it sends requests itself.
    pub(crate) fn has_session(&self) -> bool {
        self.revision.era() == Era::Legacy
    }

    /// Whether the server decides by itself which calls become tasks, as modern servers with the extension do.
    pub(super) const fn decides_about_tasks(&self) -> bool {
        self.decides_about_tasks
    }

    /// Notes a failure that another server at the same URL could cause.
    pub(crate) fn doubt(&self) {
        self.doubts.notify_one();
    }

    /// Returns what is notified of each such failure.
    pub(super) fn doubts(&self) -> Arc<Notify> {
        Arc::clone(&self.doubts)
    }

    /// Returns the handle for calls.
    pub(crate) const fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Whether the server has a capability.
    pub(crate) fn has(&self, capability: Capability) -> bool {
        self.capabilities().contains(capability)
    }

    fn capabilities(&self) -> CapabilitySet {
        self.handle.peer_capabilities()
    }

    /// Calls a method on behalf of a client, which receives the messages of the server about the call.
    pub(crate) fn call(
        &self,
        client: ClientKey,
        (method, params): (&str, &Raw<'_>),
        options: CallOptions,
    ) -> (PendingCall, Option<CallEntry>, mpsc::Receiver<FromServer>) {
        self.table.enter(client, || self.handle.call_method(method, params, options))
    }

    /// As [`call`](Self::call), for a call that `make` makes.
    pub(crate) fn call_with(
        &self,
        client: ClientKey,
        make: impl FnOnce(&Handle) -> PendingCall,
    ) -> (PendingCall, Option<CallEntry>, mpsc::Receiver<FromServer>) {
        self.table.enter(client, || make(&self.handle))
    }

    /// Passes a message of the server on to the newest call of a client. Returns the message if there is none.
    pub(crate) fn deliver_to(
        &self,
        client: ClientKey,
        message: FromServer,
    ) -> Result<(), FromServer> {
        self.table.deliver_to(client, message)
    }

    /// Asks the server for log messages of this level.
    pub(crate) fn set_log_level(&self, level: LoggingLevel) {
        self.table.set_log_level(&self.handle, level);
    }

    /// Opens a subscription.
    pub(super) fn subscribe(
        &self,
        filter: &SubscriptionFilter<'_>,
    ) -> Result<SubscriptionEntry, CallError> {
        self.table.subscribe(|| self.handle.subscribe(filter))
    }

    /// Ends a subscription.
    pub(super) fn unsubscribe(&self, entry: SubscriptionEntry) {
        // It may have ended already.
        _ = self.handle.unsubscribe(entry.call);
    }

    /// Waits for the end of the connection.
    pub(super) async fn ended(&self) {
        self.handle.ended().await;
    }

    /// Returns what is known about the end of the connection. Waits some time for the exit status of a process.
    pub(super) async fn cause_of_end(&self) -> String {
        let connection = self.take();
        let status = match connection {
            Some(mut connection) => connection.exit_status().await,
            None => None,
        };
        match status {
            Some(status) => format!("the server has ended ({status})"),
            None => "the connection has ended".into(),
        }
    }

    /// Ends the connection once no call is in progress, at the latest when `limit` is ready.
    pub(super) async fn close(&self, limit: impl Future<Output = ()>) {
        // A connection that is shutting down refuses requests of the server for input, which calls may need.
        tokio::select! {
            () = self.table.calls_ended() => {}
            () = limit => {}
        }
        let connection = self.take();
        if let Some(connection) = connection {
            // The exit status of a server that is not needed any more does not matter.
            _ = connection.close(Duration::ZERO).await;
        }
    }

    fn take(&self) -> Option<Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What the negotiation with a server has shown, and the gateway relies on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Terms {
    revision: Revision,
    decides_about_tasks: bool,
}

impl Terms {
    pub(super) fn of(connected: &Connected<'_>) -> Self {
        let decides_about_tasks = has_task_extension(&connected.result);
        Self { revision: connected.revision, decides_about_tasks }
    }
}

/// Whether a server has declared the extension for tasks in the result that opened the connection.
fn has_task_extension(result: &Raw<'_>) -> bool {
    let capabilities = result.get("capabilities");
    let extensions = capabilities.as_ref().and_then(|capabilities| capabilities.get("extensions"));
    extensions.is_some_and(|extensions| extensions.get(EXTENSION).is_some())
}

/// How long to wait for a response to `server/discover`: some legacy servers do not respond to unknown methods.
const PROBE: Duration = Duration::from_secs(3);

/// The number of pings without a response after which the gateway connects again.
const MOST_PINGS: u32 = 3;

/// Returns the configuration of the client of a server. A legacy server receives the capabilities once, before those of
/// the clients are known, so the gateway declares all of them. A modern server receives those of the client with each call.
fn client(gateway: &str, config: &UpstreamConfig) -> ClientConfig {
    let mut client = ClientConfig::new(gateway, env!("CARGO_PKG_VERSION"));
    let capabilities = &mut client.capabilities;
    capabilities.roots = Some(ListChanged::default());
    capabilities.elicitation = Some(ElicitationCapability::both());
    let mut sampling = SamplingCapability::default();
    sampling.context = Some(EmptyCapability::default());
    sampling.tools = Some(EmptyCapability::default());
    capabilities.sampling = Some(sampling);
    client.capabilities = client.capabilities.with_tasks();
    let timeouts = &mut client.connection.timeouts;
    timeouts.handshake = Some(config.connect_timeout);
    timeouts.probe = Some(PROBE.min(config.connect_timeout));
    client.connection.keep_alive = config.ping_every.map(|every| {
        let mut keep_alive = KeepAlive::every(every);
        keep_alive.answer_within = every;
        keep_alive.close_after = Some(MOST_PINGS);
        keep_alive
    });
    client
}
