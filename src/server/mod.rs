//! The server role.

mod answers;
mod client_request;
mod discover;
mod event;
mod initialize;
mod input;
mod listen;
mod notify;
pub mod request_state;
mod saved;

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::{Deref, DerefMut};

use crate::capability::CapabilitySet;
use crate::codes::ViolationKind;
use crate::config::{RoleConfig, ServerConfig};
use crate::connection::{
    Connection, Cx, Elapsed, ForRole, IncomingRequest, Notification, Outboxes, Received,
};
use crate::dialect::methods::{NotificationKind, RequestKind};
use crate::frame::Frame;
use crate::handle::ConnectionNumber;
use crate::json::{Raw, ScannedFrame};
use crate::session::Step;
use crate::time::Instant;

pub use answers::TaskMode;
pub use client_request::{CallTool, ClientRequest, Complete, GetPrompt, Page};
pub use event::{Opened, Request, ServerEvent, Subscribed};
pub use notify::{ChangedList, Log, Notifications};

#[cfg(feature = "http")]
use crate::connection::Identity;

/// One connection to a client.
///
/// It has four kinds of methods:
///
/// - **inputs** pass input to the machine: [`receive`](Self::receive) a frame,
///   [`handle_timeout`](Self::handle_timeout), [`disconnected`](crate::Connection::disconnected). The first two
///   return at most one event; call `handle_timeout` until it returns `None`.
/// - **commands** perform actions of the application: [`respond`](crate::Connection::respond),
///   [`call`](crate::Connection::call), [`cancel`](crate::Connection::cancel), [`notify`](crate::Connection::notify)
///   and so on. They write into the caller's outbox, never wait, and change nothing when they fail.
/// - **[`poll_timeout`](crate::Connection::poll_timeout)** returns the time of the next `handle_timeout`.
/// - **getters** only read.
///
/// The methods may be called in any order. An event borrows the frame that caused it, and nothing of the server.
///
/// The methods that server and client share are those of [`Connection`], to which a server dereferences.
///
/// A server is a plain value: clone it for a snapshot, compare and hash it to explore its states.
#[derive(Clone, PartialEq, Eq)]
pub struct Server {
    config: Arc<ServerConfig>,
    connection: Connection,
    /// The params of `initialize`, if the configuration asks to keep them.
    client: Option<Box<Raw<'static>>>,
}

/// Shows the state of the connection, see [`Connection`].
impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Server").field(&self.connection).finish()
    }
}

/// Excludes the configuration, which does not change: equal machines have equal configurations.
impl Hash for Server {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { config: _, connection, client } = self;
        (connection, client).hash(state);
    }
}

/// The shared part of all servers with the same configuration, so that a new server costs little.
#[cfg(feature = "http")]
#[derive(Clone, Debug)]
pub(crate) struct ServerTemplate {
    config: Arc<ServerConfig>,
    offered: CapabilitySet,
    identity: Option<Arc<Identity>>,
}

#[cfg(feature = "http")]
impl ServerTemplate {
    /// Computes the shared part for a configuration.
    pub(crate) fn new(config: Arc<ServerConfig>) -> Self {
        let offered = CapabilitySet::from(&config.capabilities);
        let identity = config.identity().map(Arc::new);
        Self { config, offered, identity }
    }
}

/// # Starting
impl Server {
    /// A server at the start of connection number 0.
    pub fn new(config: Arc<ServerConfig>) -> Self {
        Self::with_connection_number(config, ConnectionNumber::default())
    }

    /// A server at the start of the connection with this number.
    pub fn with_connection_number(config: Arc<ServerConfig>, number: ConnectionNumber) -> Self {
        let own = (config.revisions, CapabilitySet::from(&config.capabilities));
        let mut connection = Connection::new(RoleConfig::Server(Arc::clone(&config)), own, number);
        connection.dispatcher.messages_mut().interests.set_level(config.log_level);
        let mut server = Self { config, connection, client: None };
        server.identify();
        server
    }

    /// A server at the start of a connection, with the shared part of its configuration.
    #[cfg(feature = "http")]
    pub(crate) fn from_template(template: &ServerTemplate, number: ConnectionNumber) -> Self {
        let ServerTemplate { config, offered, identity } = template;
        let (config, own) = (Arc::clone(config), (config.revisions, *offered));
        let mut connection = Connection::new(RoleConfig::Server(Arc::clone(&config)), own, number);
        connection.dispatcher.messages_mut().interests.set_level(config.log_level);
        if let Some(identity) = identity {
            connection.dispatcher.messages_mut().session.set_identity(Arc::clone(identity));
        }
        Self { config, connection, client: None }
    }

    /// The configuration.
    pub fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// The params of the client's `initialize`, an [`InitializeParams`](crate::model::InitializeParams).
    ///
    /// `None` unless [`ConnectionConfig::keep_handshake`](crate::ConnectionConfig::keep_handshake) is set.
    pub fn handshake(&self) -> Option<&Raw<'static>> {
        self.client.as_deref()
    }
}

/// # Inputs
impl Server {
    /// Receives a frame. Total: any bytes, in any phase, give at most one event.
    ///
    /// `None` means that the machine has handled the frame itself, or that the frame needs no action.
    #[must_use = "a request in the event must be answered"]
    pub fn receive<'f>(
        &mut self,
        frame: impl Into<Frame<'f>>,
        received: impl Into<Received>,
        out: &mut impl Outboxes,
    ) -> Option<ServerEvent<'f>> {
        let frame = frame.into();
        self.take_in(frame, &mut ScannedFrame::unread(frame.bytes()), received.into(), out)
    }

    /// Receives a frame like [`receive`](Self::receive), with the result of an earlier scan.
    ///
    /// Event and output are those of `receive` for any content of `scanned`; only the work differs. Over HTTP,
    /// `RequestValidator::post_scanned` scans a body that is a single message.
    #[must_use = "a request in the event must be answered"]
    pub fn receive_scanned<'f>(
        &mut self,
        frame: impl Into<Frame<'f>>,
        scanned: &mut ScannedFrame<'f>,
        received: impl Into<Received>,
        out: &mut impl Outboxes,
    ) -> Option<ServerEvent<'f>> {
        self.take_in(frame.into(), scanned, received.into(), out)
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
    ) -> Option<ServerEvent<'static>> {
        loop {
            let (dispatcher, cx) = &mut self.connection.enter(Some(now), out);
            let event = match dispatcher.handle_timeout(cx)? {
                Elapsed::Event(event) => Some(event.into()),
                Elapsed::Resumed(resumed) => input::resumed(&self.connection, resumed),
                // A server sends no handshake request, and no response to its calls requires input.
                Elapsed::HandshakeTimedOut
                | Elapsed::HandshakeLost { .. }
                | Elapsed::Input(_)
                | Elapsed::News => None,
            };
            // An action without an event does not end the loop: more may be due after it.
            if event.is_some() {
                return event;
            }
        }
    }

    /// Sets the identity of the server, which allocates.
    fn identify(&mut self) {
        if let Some(identity) = self.config.identity() {
            self.connection.dispatcher.messages_mut().session.set_identity(Arc::new(identity));
        }
    }

    fn take_in<'f>(
        &mut self,
        frame: Frame<'f>,
        scanned: &mut ScannedFrame<'f>,
        received: Received,
        out: &mut dyn Outboxes,
    ) -> Option<ServerEvent<'f>> {
        if self.connection.dispatcher.messages().session.is_anonymous {
            self.identify();
        }
        let config = &self.config.connection;
        let cx = &mut Cx::at(config, received.now, out);
        let mut place = None;
        let dispatcher = &mut self.connection.dispatcher;
        match dispatcher.receive(cx, frame, received, (scanned, &mut place)) {
            None => {
                self.end_reception(out);
                None
            }
            Some(ForRole::Request(kind, request)) if request.usual_call.is_some() => {
                self.usual_call(kind, request, out)
            }
            Some(incoming) => {
                let event = self.incoming(incoming, received.now, out);
                self.end_reception(out);
                event
            }
        }
    }

    fn end_reception(&mut self, out: &mut dyn Outboxes) {
        let (dispatcher, cx) = &mut self.connection.enter(None, out);
        dispatcher.end_reception(cx);
    }

    /// Puts a usual `tools/call` into the table. The event is large: it is built last, where the caller returns it.
    fn usual_call<'f>(
        &mut self,
        kind: Option<RequestKind>,
        request: &mut IncomingRequest<'_, 'f>,
        out: &mut dyn Outboxes,
    ) -> Option<ServerEvent<'f>> {
        let (dispatcher, cx) = &mut self.connection.enter(None, out);
        match dispatcher.serving.admit(cx, kind, request) {
            Ok(id) => {
                dispatcher.end_reception(cx);
                let call = ClientRequest::usual(request.usual_call.take()?);
                Some(ServerEvent::Request(Request::new(id, kind, call, request)))
            }
            Err(kind) => {
                let event = self.refuse(kind, request, out);
                self.end_reception(out);
                event
            }
        }
    }

    fn incoming<'f>(
        &mut self,
        incoming: ForRole<'_, 'f>,
        now: Instant,
        out: &mut dyn Outboxes,
    ) -> Option<ServerEvent<'f>> {
        match incoming {
            ForRole::Event(event) => Some(event.into()),
            ForRole::Initialize(request) => {
                let config = &self.config;
                match initialize::answer(&mut self.connection, config, request, out) {
                    Ok(opened) => self.opened(opened?),
                    Err(kind) => self.refuse(kind, request, out),
                }
            }
            ForRole::Request(kind, request) => self.request(kind, request, out),
            ForRole::Notification(kind, notification) => {
                self.notification(kind, notification, now, out)
            }
            ForRole::Resumed(resumed) => input::resumed(&self.connection, resumed),
            // A server sends no handshake request, and no response to its calls requires input.
            ForRole::HandshakeEnded(_) | ForRole::LateProbe(_) | ForRole::Input(_) => None,
        }
    }

    /// Keeps the handshake if configured, and reports the session.
    fn opened<'f>(&mut self, opened: Opened<'f>) -> Option<ServerEvent<'f>> {
        if self.config.connection.keep_handshake {
            self.client = Some(Box::new(opened.params.clone().into_owned()));
        }
        Some(ServerEvent::Opened(opened))
    }

    fn request<'f>(
        &mut self,
        kind: Option<RequestKind>,
        request: &mut IncomingRequest<'_, 'f>,
        out: &mut dyn Outboxes,
    ) -> Option<ServerEvent<'f>> {
        let Self { connection, config, .. } = self;
        let special = match kind {
            Some(RequestKind::Discover) => {
                Some(discover::answer(connection, config, request, out).map(|()| None))
            }
            Some(RequestKind::Listen) => {
                Some(listen::open(connection, config.listening, request, out).map(Some))
            }
            _ => None,
        };
        match special {
            Some(Ok(event)) => return event,
            Some(Err(kind)) => return self.refuse(kind, request, out),
            None => {}
        }
        let params = request.params.as_ref();
        let Some(call) = ClientRequest::read(kind, params, request.context.revision) else {
            return self.refuse(ViolationKind::InvalidParams, request, out);
        };
        let (dispatcher, cx) = &mut self.connection.enter(None, out);
        match dispatcher.serving.admit(cx, kind, request) {
            Err(kind) => self.refuse(kind, request, out),
            Ok(id) => Some(ServerEvent::Request(Request::new(id, kind, call, request))),
        }
    }

    fn notification<'f>(
        &mut self,
        kind: Option<NotificationKind>,
        notification: Notification<'f>,
        now: Instant,
        out: &mut dyn Outboxes,
    ) -> Option<ServerEvent<'f>> {
        if kind != Some(NotificationKind::Initialized) {
            return Some(ServerEvent::Notification(notification));
        }
        if !self.connection.dispatcher.messages_mut().lifecycle.step(Step::Complete) {
            // A repeated `notifications/initialized` is ignored.
            return None;
        }
        let (dispatcher, cx) = &mut self.connection.enter(Some(now), out);
        dispatcher.serving.calls.flush_held(cx);
        Some(ServerEvent::Ready)
    }

    fn refuse<'f>(
        &mut self,
        kind: ViolationKind,
        request: &IncomingRequest<'_, 'f>,
        out: &mut dyn Outboxes,
    ) -> Option<ServerEvent<'f>> {
        let (dispatcher, cx) = &mut self.connection.enter(None, out);
        let event = dispatcher.refuse(cx, kind, request)?;
        Some(event.into())
    }
}

impl Deref for Server {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl DerefMut for Server {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}
