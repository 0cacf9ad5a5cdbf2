//! [`Upstream`]: one of the servers behind the gateway, with its machine and the purposes of its calls.

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::error::ConnectError;
use mcp_sansio::event::ConnectFailure;
use mcp_sansio::model::{
    ElicitationCapability, EmptyCapability, ListChanged, SamplingCapability, SubscriptionFilter,
};
use mcp_sansio::{
    CallError, CallId, CallOptions, Client, ClientConfig, ConnectionNumber, Era, Framing,
    IncomingId, Instant, Outbox, Payload, Phase,
};

use crate::side_table::SideTable;

/// The purpose of a call to an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Its outcome becomes the response to this request of the client.
    Answer(IncomingId),
    /// It is a part of the list that this request asks for.
    Part(IncomingId),
    /// It is parked under this number until a modern client repeats its request.
    Parked(u64),
}

pub(crate) struct Upstream {
    pub(crate) name: String,
    pub(crate) client: Client,
    pub(crate) outbox: Outbox,
    pub(crate) purposes: SideTable<CallId, Purpose>,
    /// Whether it has ever been connected.
    pub(crate) was_there: bool,
    /// Whether a list with its items has been sent.
    pub(crate) is_listed: bool,
    /// Whether a list without its items has been sent, because it did not respond in time.
    pub(crate) is_missed: bool,
    /// Whether it ended on `server/discover`, as servers do that support only `initialize`.
    pub(crate) wants_restart: bool,
    /// The work to repeat after a restart.
    pub(crate) again: Vec<Purpose>,
}

/// How long to wait for a response to `server/discover`: some servers do not respond to unknown methods.
const PROBE: Duration = Duration::from_secs(3);

impl Upstream {
    pub(crate) fn new(gateway: &str, name: &str, number: ConnectionNumber) -> Self {
        let config = config(gateway);
        let outbox = Outbox::new(Framing::Lines, &config.connection.limits);
        Self {
            name: name.into(),
            client: Client::with_connection_number(Arc::new(config), number),
            outbox,
            purposes: SideTable::default(),
            was_there: false,
            is_listed: false,
            is_missed: false,
            wants_restart: false,
            again: Vec::new(),
        }
    }

    pub(crate) fn connect(&mut self, now: Instant) -> Result<(), ConnectError> {
        self.client.connect(now, &mut self.outbox)
    }

    /// Reconnects to another process, with the knowledge about the first one. Returns the work to repeat.
    pub(crate) fn restart(&mut self, number: ConnectionNumber) -> Vec<Purpose> {
        self.client = self.client.reconnect(number);
        self.outbox = Outbox::new(Framing::Lines, &self.client.config().connection.limits);
        self.wants_restart = false;
        std::mem::take(&mut self.again)
    }

    /// Calls a method for a purpose.
    pub(crate) fn call<T: Payload>(
        &mut self,
        purpose: Purpose,
        method: &str,
        params: &T,
        options: CallOptions,
        now: Instant,
    ) -> Result<CallId, CallError> {
        let call = self.client.call_method(method, params, options, now, &mut self.outbox)?;
        self.purposes.insert(call, purpose);
        Ok(call)
    }

    /// Cancels a call.
    pub(crate) fn cancel(&mut self, call: CallId, reason: Option<&str>) {
        self.purposes.take(call);
        // The call may have just ended.
        _ = self.client.cancel(call, reason, &mut self.outbox);
    }

    /// Whether requests can be sent to it, now or once it is connected.
    pub(crate) fn is_alive(&self) -> bool {
        self.client.phase() != Phase::Closed
    }

    /// Whether it is of the legacy era, in which it sends requests itself.
    pub(crate) fn has_session(&self) -> bool {
        self.client.revision().is_some_and(|revision| revision.era() == Era::Legacy)
    }
}

/// The configuration for upstreams. Legacy upstreams receive the capabilities once, before those of the client are
/// known, so it declares all. Modern upstreams receive those of the client with each call.
fn config(name: &str) -> ClientConfig {
    let mut config = ClientConfig::new(name, env!("CARGO_PKG_VERSION"));
    config.capabilities.roots = Some(ListChanged::notified());
    config.capabilities.elicitation = Some(ElicitationCapability::both());
    let mut sampling = SamplingCapability::default();
    sampling.context = Some(EmptyCapability::default());
    sampling.tools = Some(EmptyCapability::default());
    config.capabilities.sampling = Some(sampling);
    config.connection.timeouts.probe = Some(PROBE);
    config.listen = Some(SubscriptionFilter::new().with_tools().with_prompts().with_resources());
    config
}

/// Describes why there is no connection to an upstream.
pub(crate) fn in_words(failure: &ConnectFailure<'_>) -> String {
    match failure {
        ConnectFailure::PeerError(error) => format!("it takes no clients: {}", error.message),
        ConnectFailure::UnsupportedRevision { theirs, .. } => {
            format!("it speaks {theirs}, which nobody here does")
        }
        ConnectFailure::NoCommonRevision { theirs, .. } => {
            format!("it speaks {theirs}, which nobody here does")
        }
        ConnectFailure::Malformed { kind, .. } => format!("it has not said what it is: {kind}"),
        ConnectFailure::TimedOut => "it has not said what it is".into(),
        ConnectFailure::Closed(cause) => cause.to_string(),
        failure => format!("{failure:?}"),
    }
}
