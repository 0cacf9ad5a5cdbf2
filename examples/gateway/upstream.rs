//! One of the servers behind the gateway: its machine, and what each call of that is for.

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

/// What a call of an upstream is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Errand {
    /// The request of the client is answered with what it comes to.
    Answer(IncomingId),
    /// It is a part of the list that the client has asked for.
    Part(IncomingId),
    /// It waits for a client without a session to come back, under this number.
    Parked(u64),
}

pub(crate) struct Upstream {
    pub(crate) name: String,
    pub(crate) client: Client,
    pub(crate) outbox: Outbox,
    pub(crate) errands: SideTable<CallId, Errand>,
    /// Whether it has ever said what it is.
    pub(crate) was_there: bool,
    /// Whether a list has gone out with what it has.
    pub(crate) is_listed: bool,
    /// Whether a list has gone out without that, because it did not answer in time.
    pub(crate) is_missed: bool,
    /// It went away when it was asked what it is, as servers do that know nothing but `initialize`.
    pub(crate) wants_restart: bool,
    /// What was to be done before it is started again.
    pub(crate) again: Vec<Errand>,
}

/// How long to wait for an answer to `server/discover`: there are servers that do not answer what they do
/// not know.
const PROBE: Duration = Duration::from_secs(3);

impl Upstream {
    pub(crate) fn new(gateway: &str, name: &str, number: ConnectionNumber) -> Self {
        let config = config(gateway);
        let outbox = Outbox::new(Framing::Lines, &config.connection.limits);
        Self {
            name: name.into(),
            client: Client::with_connection_number(Arc::new(config), number),
            outbox,
            errands: SideTable::default(),
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

    /// Begins again, with another process, by what was found out about the first one. Gives what was to be done.
    pub(crate) fn restart(&mut self, number: ConnectionNumber) -> Vec<Errand> {
        self.client = self.client.reconnect(number);
        self.outbox = Outbox::new(Framing::Lines, &self.client.config().connection.limits);
        self.wants_restart = false;
        std::mem::take(&mut self.again)
    }

    /// Calls a method, for a purpose.
    pub(crate) fn call<T: Payload>(
        &mut self,
        errand: Errand,
        method: &str,
        params: &T,
        options: CallOptions,
        now: Instant,
    ) -> Result<CallId, CallError> {
        let call = self.client.call_method(method, params, options, now, &mut self.outbox)?;
        self.errands.insert(call, errand);
        Ok(call)
    }

    /// Does not want a call any more.
    pub(crate) fn cancel(&mut self, call: CallId, reason: Option<&str>) {
        self.errands.take(call);
        // One that has just ended need not be cancelled.
        _ = self.client.cancel(call, reason, &mut self.outbox);
    }

    /// Whether it can be asked for something, now or when it has said what it is.
    pub(crate) fn is_alive(&self) -> bool {
        self.client.phase() != Phase::Closed
    }

    /// Whether it has a session, in which it makes requests of its own.
    pub(crate) fn has_session(&self) -> bool {
        self.client.revision().is_some_and(|revision| revision.era() == Era::Legacy)
    }
}

/// What upstreams are told of the gateway. Those with a session are told once, before it is known what the client
/// can do, so it is everything; the others are told with each call what this client can do.
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

/// Why there is no connection to an upstream.
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
