//! The client role.

mod answers;
pub mod cache;
mod connect;
mod connected;
mod event;
mod negotiation;
mod server_request;
mod subscriptions;
mod tool_support;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::{Deref, DerefMut};

use crate::capability::CapabilitySet;
use crate::codes::ViolationKind;
use crate::config::{ClientConfig, RoleConfig};
use crate::connection::{
    Cause, Connection, Cx, Elapsed, ExchangeEnd, ForRole, IncomingRequest, InputRequested,
    Outboxes, Outcome, Received,
};
use crate::dialect::methods::RequestKind;
use crate::frame::Frame;
use crate::handle::{CallId, ConnectionNumber};
use crate::json::{Raw, ScannedFrame};
use crate::model::SubscriptionFilter;
use crate::time::Instant;
use negotiation::Negotiation;

pub use connected::{ConnectError, ConnectFailure, Connected};
pub use event::{ClientEvent, RequestFromServer};
pub use negotiation::NegotiationBasis;
#[cfg(test)]
pub(crate) use negotiation::states_tests as negotiation_states;
pub use server_request::ServerRequest;
pub use tool_support::ToolTasks;

/// One connection to a server.
///
/// It has the same four kinds of methods as [`Server`](crate::Server): inputs, commands,
/// [`poll_timeout`](crate::Connection::poll_timeout), and getters. It starts with [`connect`](Self::connect), whose
/// outcome is one event: [`Connected`](ClientEvent::Connected) or [`ConnectFailed`](ClientEvent::ConnectFailed).
/// A second one follows only if the [`known`](ClientConfig::known) revision was wrong. Calls can be made at
/// any time. They are queued until the era of the server is known.
///
/// ```
/// use std::sync::Arc;
/// use mcp_sansio::model::{PageParams, method};
/// use mcp_sansio::{
///     CallOptions, Client, ClientConfig, ClientEvent, Framing, Instant, Limits, Outbox, Outcome,
/// };
///
/// let mut outbox = Outbox::new(Framing::Messages, &Limits::default());
/// let mut client = Client::new(Arc::new(ClientConfig::new("doc", "1.0")));
/// let now = Instant::EPOCH;
/// client.connect(now, &mut outbox)?;
/// let call = client.call::<method::ListTools>(
///     &PageParams::default(), CallOptions::new(), now, &mut outbox)?;
/// assert_eq!(outbox.messages().count(), 1, "only `server/discover` goes out yet");
///
/// // A server of an older revision does not know that, so it is asked for a session.
/// let answer = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"unknown method"}}"#;
/// assert!(client.receive(answer, now, &mut outbox).is_none());
/// assert_eq!(outbox.messages().count(), 1, "`initialize`");
///
/// let answer = r#"{"jsonrpc":"2.0","id":3,"result":{"protocolVersion":"2025-11-25",
///     "capabilities":{"tools":{}},"serverInfo":{"name":"doc","version":"1.0"}}}"#;
/// let event = client.receive(answer, now, &mut outbox);
/// assert!(matches!(event, Some(ClientEvent::Connected(_))));
/// assert_eq!(outbox.messages().count(), 2, "`initialized`, then the call");
///
/// let answer = r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}"#;
/// let Some(ClientEvent::CallEnded(ended)) = client.receive(answer, now, &mut outbox) else {
///     panic!("the call has ended");
/// };
/// assert_eq!(ended.call, call);
/// assert!(matches!(ended.outcome, Outcome::Result(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Client {
    config: Arc<ClientConfig>,
    connection: Connection,
    negotiation: Negotiation,
    stage: Stage,
    basis: Option<NegotiationBasis>,
    /// The basis for a `Connected` event that no received message causes.
    announced: Option<NegotiationBasis>,
    /// The subscriptions to open once the connection is open.
    wanted: Vec<SubscriptionFilter<'static>>,
    /// The handshake result of the server, if the configuration asks to keep it; during the negotiation, the result of a
    /// probe that was answered late.
    server: Option<Box<Raw<'static>>>,
}

/// The request that was sent last to open the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Probing,
    Initializing,
}

/// Shows the state of the connection, see [`Connection`].
impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Client").field(&self.connection).finish()
    }
}

/// Excludes the configuration, which does not change: equal machines have equal configurations.
impl Hash for Client {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { config: _, connection, negotiation, stage, basis, announced, .. } = self;
        let Self { wanted, server, .. } = self;
        (connection, negotiation, stage, basis, announced, wanted, server).hash(state);
    }
}

/// # Starting
impl Client {
    /// A client at the start of connection number 0.
    pub fn new(config: Arc<ClientConfig>) -> Self {
        Self::with_connection_number(config, ConnectionNumber::default())
    }

    /// A client at the start of the connection with this number.
    pub fn with_connection_number(config: Arc<ClientConfig>, number: ConnectionNumber) -> Self {
        let own = (config.revisions, CapabilitySet::from(&config.capabilities));
        let mut connection = Connection::new(RoleConfig::Client(Arc::clone(&config)), own, number);
        connection.dispatcher.messages_mut().session.request_level = config.log_level;
        Self {
            config,
            connection,
            negotiation: Negotiation::new(false),
            stage: Stage::Initializing,
            basis: None,
            announced: None,
            wanted: Vec::new(),
            server: None,
        }
    }

    /// The configuration.
    pub fn config(&self) -> &ClientConfig {
        &self.config
    }

    /// The handshake result of the server: an [`InitializeResult`](crate::model::InitializeResult) of `initialize`,
    /// or a [`DiscoverResult`](crate::model::DiscoverResult) of `server/discover`.
    ///
    /// `None` unless [`ConnectionConfig::keep_handshake`](crate::ConnectionConfig::keep_handshake) is set, and while
    /// the client negotiates.
    pub fn handshake(&self) -> Option<&Raw<'static>> {
        let is_shown = self.config.connection.keep_handshake && self.basis.is_some();
        self.server.as_deref().filter(|_| is_shown)
    }
}

/// # Inputs
impl Client {
    /// Receives a frame. Total: any bytes, in any phase, give at most one event.
    ///
    /// `None` means that the machine has handled the frame itself, or that the frame needs no action.
    #[must_use = "a request in the event must be answered"]
    pub fn receive<'f>(
        &mut self,
        frame: impl Into<Frame<'f>>,
        received: impl Into<Received>,
        out: &mut impl Outboxes,
    ) -> Option<ClientEvent<'f>> {
        self.take_in(frame.into(), received.into(), out)
    }

    /// Performs the next action that is due, by time or by the end of the connection, and returns its event.
    ///
    /// Call it at the time of [`poll_timeout`](crate::Connection::poll_timeout), until it returns `None`. A call that
    /// is early or late is harmless.
    #[must_use = "an event that is dropped is lost; it is not delivered again"]
    pub fn handle_timeout(
        &mut self,
        now: Instant,
        out: &mut impl Outboxes,
    ) -> Option<ClientEvent<'static>> {
        // The machine handles some actions without an event, and more may be due after them.
        loop {
            let (dispatcher, cx) = &mut self.connection.enter(Some(now), out);
            let event = match dispatcher.handle_timeout(cx)? {
                Elapsed::Event(event) => Some(event.into()),
                Elapsed::HandshakeTimedOut => self.handshake_timed_out(now, out),
                Elapsed::Input(input) => self.input(input, out),
                Elapsed::News => self.announce(),
                // A client never requires input of its server.
                Elapsed::Resumed(_) => None,
                Elapsed::HandshakeLost { cause, is_unsent } => {
                    self.handshake_lost(cause, is_unsent, now, out)
                }
            };
            if event.is_some() {
                return event;
            }
        }
    }

    /// Ends the call whose exchange ended without a response that names it, unless its request is sent again. For
    /// transports with one exchange for each call: see the module `http`.
    #[must_use = "an event that is dropped is lost; it is not delivered again"]
    pub fn exchange_ended<'f>(
        &mut self,
        call: CallId,
        end: ExchangeEnd<'f>,
        now: Instant,
        out: &mut impl Outboxes,
    ) -> Option<ClientEvent<'f>> {
        let (dispatcher, cx) = &mut self.connection.enter(Some(now), out);
        let incoming = dispatcher.exchange_ended(cx, call, end);
        let event = incoming.and_then(|incoming| self.incoming(incoming, now, out));
        let (dispatcher, cx) = &mut self.connection.enter(None, out);
        dispatcher.end_reception(cx);
        event
    }

    /// Handles the end of the connection before the response to the first request.
    fn handshake_lost(
        &mut self,
        cause: Cause,
        is_unsent: bool,
        now: Instant,
        out: &mut dyn Outboxes,
    ) -> Option<ClientEvent<'static>> {
        if is_unsent && self.stage == Stage::Probing {
            // The server has not seen the probe, so the end of the connection is no evidence of its era.
            let is_open = self.connection.dispatcher.messages().session.negotiated.is_some();
            return (!is_open).then(|| self.connect_failed(ConnectFailure::Closed(cause), out));
        }
        self.handshake_ended(Outcome::Closed(cause), now, out)
    }

    fn take_in<'f>(
        &mut self,
        frame: Frame<'f>,
        received: Received,
        out: &mut dyn Outboxes,
    ) -> Option<ClientEvent<'f>> {
        let (mut scanned, mut place) = (ScannedFrame::unread(frame.bytes()), None);
        let cx = &mut Cx::at(&self.config.connection, received.now, out);
        let dispatcher = &mut self.connection.dispatcher;
        match dispatcher.receive(cx, frame, received, (&mut scanned, &mut place)) {
            None => {
                dispatcher.end_reception(&mut cx.without_time());
                None
            }
            // The event is large: it is converted last, where the caller returns it.
            Some(ForRole::Event(event)) => {
                dispatcher.end_reception(&mut cx.without_time());
                Some(event.into())
            }
            Some(incoming) => {
                let event = self.incoming(incoming, received.now, out);
                let (dispatcher, cx) = &mut self.connection.enter(None, out);
                dispatcher.end_reception(cx);
                event
            }
        }
    }

    fn incoming<'f>(
        &mut self,
        incoming: ForRole<'_, 'f>,
        now: Instant,
        out: &mut dyn Outboxes,
    ) -> Option<ClientEvent<'f>> {
        match incoming {
            ForRole::Event(event) => Some(event.into()),
            ForRole::Request(kind, request) => self.request(kind, request, out),
            ForRole::Notification(_, notification) => Some(ClientEvent::Notification(notification)),
            ForRole::HandshakeEnded(outcome) => self.handshake_ended(outcome, now, out),
            ForRole::LateProbe(late) => self.late_probe(late),
            ForRole::Input(input) => self.input(input, out),
            // The dispatcher never passes `initialize` to a client, and a client never requires input.
            ForRole::Initialize(_) | ForRole::Resumed(_) => None,
        }
    }

    /// Hands out a request for input that a call needs.
    fn input(
        &mut self,
        input: InputRequested,
        out: &mut dyn Outboxes,
    ) -> Option<ClientEvent<'static>> {
        let id = input.id;
        let request = RequestFromServer::needed(input);
        if request.is_none() {
            let (dispatcher, cx) = &mut self.connection.enter(None, out);
            // The params have been checked already, so this is unreachable.
            _ = dispatcher.serving.respond(cx, id, &());
        }
        request.map(ClientEvent::Request)
    }

    fn request<'f>(
        &mut self,
        kind: Option<RequestKind>,
        request: &mut IncomingRequest<'_, 'f>,
        out: &mut dyn Outboxes,
    ) -> Option<ClientEvent<'f>> {
        let Some(call) = ServerRequest::read(kind, request.params_text()) else {
            return self.refuse(ViolationKind::InvalidParams, request, out);
        };
        let (dispatcher, cx) = &mut self.connection.enter(None, out);
        match dispatcher.serving.admit(cx, kind, request) {
            Err(kind) => self.refuse(kind, request, out),
            Ok(id) => {
                let needed_for = self.connection.dispatcher.serving.calls.needed_for(request);
                let request = RequestFromServer::new(id, call, request);
                Some(ClientEvent::Request(RequestFromServer { needed_for, ..request }))
            }
        }
    }

    fn refuse<'f>(
        &mut self,
        kind: ViolationKind,
        request: &IncomingRequest<'_, 'f>,
        out: &mut dyn Outboxes,
    ) -> Option<ClientEvent<'f>> {
        let (dispatcher, cx) = &mut self.connection.enter(None, out);
        let event = dispatcher.refuse(cx, kind, request)?;
        Some(event.into())
    }
}

impl Deref for Client {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl DerefMut for Client {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}
