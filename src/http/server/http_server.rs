//! [`HttpServer`], a complete server over HTTP in one value.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::config::HttpServerConfig;
use super::connection::Connection;
use super::reply::Reply;
use super::request_validator::{Accepted, Destination, RequestHead, RequestValidator};
use super::respond::ResponsePart;
use super::response_id::ResponseId;
use super::session_id::SessionId;
use super::sessions::Sessions;
use super::source::RequestSource;
use super::streams::Streams;
use super::woken::Woken;
use crate::config::ServerConfig;
use crate::connection::Cause;
use crate::frame::Frame;
use crate::handle::{ConnectionNumber, Principal};
use crate::http::{Headers, ParamHeaders};
use crate::server::{Server, ServerEvent};
use crate::session::Phase;
use crate::time::Instant;

/// A server over HTTP: its [`RequestValidator`], its sessions, and a machine with [`Streams`] for each session and
/// each modern request.
///
/// This type suits single-threaded loops, simulations and fuzzers. A multi-threaded application combines the same
/// parts itself, as the adapter does. The handles in events identify their connection, and [`with`](Self::with) gives
/// access to its machine.
///
/// ```
/// use std::sync::Arc;
/// use mcp_sansio::http::{Accepted, HttpServer, HttpServerConfig, RequestHead, ResponsePart};
/// use mcp_sansio::{Frames, Instant, Principal, ServerConfig};
///
/// let config = Arc::new(ServerConfig::new("doc", "1.0"));
/// let mut http = HttpServer::new(Arc::new(HttpServerConfig::default()), config);
/// let now = Instant::EPOCH;
///
/// let fields: [(&str, &[u8]); 5] = [
///     ("Host", b"localhost:3000"),
///     ("Content-Type", b"application/json"),
///     ("Accept", b"application/json, text/event-stream"),
///     ("MCP-Protocol-Version", b"2026-07-28"),
///     ("Mcp-Method", b"server/discover"),
/// ];
/// let head = RequestHead::new("POST", &fields[..]);
/// assert_eq!(http.admit(&head), Ok(Accepted::Post));
/// let body = br#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{
///     "io.modelcontextprotocol/protocolVersion":"2026-07-28",
///     "io.modelcontextprotocol/clientCapabilities":{}}}}"#;
///
/// let random = [7; 16]; // of the operating system, for the id of a session
/// let exchange = http.post(head.headers, body, Principal::default(), random, now, &|_| None)?;
/// let exchange = exchange.expect("a request has an answer");
/// for frame in Frames::of(body, &http.limits().clone()) {
///     assert!(http.receive(exchange, frame, now).is_none(), "the machine answers that by itself");
/// }
///
/// let mut answer = Vec::new();
/// let ResponsePart::Head(head) = http.next(exchange, now, &mut answer) else { panic!("a head") };
/// assert_eq!(head.status, 200);
/// assert_eq!(http.next(exchange, now, &mut answer), ResponsePart::Body);
/// assert!(answer.starts_with(br#"{"jsonrpc":"2.0","id":1,"result":{"#));
/// assert_eq!(http.next(exchange, now, &mut answer), ResponsePart::End);
/// # Ok::<(), mcp_sansio::http::Reply>(())
/// ```
#[derive(Clone, Debug)]
pub struct HttpServer {
    pub(super) validator: RequestValidator,
    pub(super) connections: BTreeMap<u32, Connection>,
    pub(super) sessions: Sessions<u32>,
    pub(super) deadlines: BTreeSet<(Instant, u32)>,
    pub(super) woken: Woken,
    pub(super) next_number: u32,
    /// Whether the server refuses new connections.
    pub(super) is_shutting_down: bool,
}

/// An HTTP request and its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HttpExchange {
    connection: u32,
    response: ResponseId,
}

impl HttpExchange {
    /// Returns the connection of the exchange.
    pub const fn connection(self) -> ConnectionNumber {
        ConnectionNumber::new(self.connection)
    }

    /// Returns the response.
    pub const fn response(self) -> ResponseId {
        self.response
    }
}

/// # Starting
impl HttpServer {
    /// Creates a server without connections.
    pub fn new(config: Arc<HttpServerConfig>, server: Arc<ServerConfig>) -> Self {
        let sessions = Sessions::new(&config);
        Self {
            validator: RequestValidator::new(config, server),
            connections: BTreeMap::new(),
            sessions,
            deadlines: BTreeSet::new(),
            woken: Woken::default(),
            next_number: 0,
            is_shutting_down: false,
        }
    }

    /// Returns the limits of every connection.
    pub fn limits(&self) -> &crate::limits::Limits {
        self.validator.limits()
    }

    /// Returns the number of sessions.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Returns the connections: one per session, and one per modern request.
    pub fn connections(&self) -> impl Iterator<Item = ConnectionNumber> {
        self.connections.keys().map(|number| ConnectionNumber::new(*number))
    }

    /// Returns the validator of requests.
    pub const fn validator(&self) -> &RequestValidator {
        &self.validator
    }

    /// Checks the head of a request: see [`RequestValidator::admit`].
    ///
    /// # Errors
    ///
    /// The [`Reply`] that refuses the request.
    pub fn admit<'a>(&self, head: &RequestHead<'a>) -> Result<Accepted<'a>, Reply> {
        self.validator.admit(head)
    }
}

/// # Receiving
impl HttpServer {
    /// Accepts a POST whose head was [accepted](Self::admit) and whose body is complete. Pass the
    /// [frames](crate::Frames) of the body to [`receive`](Self::receive) next, before any other call. `None` means
    /// that there is nothing to pass on: respond with 202.
    ///
    /// `source` is the sender: a principal or a [`RequestSource`]. The random bytes become the id of a session, if
    /// this request opens one. `tool` is as for [`RequestValidator::post`].
    ///
    /// # Errors
    ///
    /// The [`Reply`] that refuses the request.
    pub fn post(
        &mut self,
        headers: Headers<'_>,
        body: &[u8],
        source: impl Into<RequestSource>,
        random: [u8; 16],
        now: Instant,
        tool: &dyn Fn(&str) -> Option<Arc<ParamHeaders>>,
    ) -> Result<Option<HttpExchange>, Reply> {
        let source = source.into();
        let destination = self.validator.post(headers, body, tool)?;
        if !matches!(destination, Destination::Session(_) | Destination::Discarded) {
            self.check_open()?;
        }
        let number = match destination {
            Destination::Discarded => return Ok(None),
            Destination::Session(session) => self.find(session, source.principal, false, now)?,
            Destination::Modern => {
                let number = self.next_number();
                self.connect(self.validator.modern(number), source)
            }
            Destination::Assumed(revision) => {
                let number = self.next_number();
                self.connect(self.validator.assumed(number, revision, source, now), source)
            }
            Destination::Opening => {
                self.check_room(source, now)?;
                let number = self.next_number();
                self.connect(self.validator.session(number, SessionId::from_random(random)), source)
            }
        };
        self.begin(number, now).map(Some)
    }

    /// Creates the response to a POST.
    fn begin(&mut self, number: u32, now: Instant) -> Result<HttpExchange, Reply> {
        let connection =
            self.connections.get_mut(&number).ok_or_else(RequestValidator::no_session)?;
        let response = connection.streams.begin(now);
        Ok(HttpExchange { connection: number, response })
    }

    /// Passes a frame of the body to its machine. The last frame completes the POST.
    #[must_use = "a request in the event must be answered"]
    pub fn receive<'f>(
        &mut self,
        exchange: HttpExchange,
        frame: Frame<'f>,
        now: Instant,
    ) -> Option<ServerEvent<'f>> {
        let connection = self.connections.get_mut(&exchange.connection)?;
        let Connection { server, streams, source, .. } = connection;
        let received = streams.message_context(exchange.response, *source, now);
        let event = server.receive(frame, received, streams);
        if let Some(event) = &event {
            streams.watch(event);
        }
        if frame.is_last() {
            streams.received(exchange.response);
        }
        let opened = matches!(event, Some(ServerEvent::Opened(_)));
        if let Some(id) = streams.session_id().filter(|_| opened) {
            self.enter(id, exchange.connection, now);
        }
        self.settle(exchange.connection, now);
        event
    }

    /// Opens or resumes an event stream of a session: see [`Streams::listen`].
    ///
    /// # Errors
    ///
    /// The [`Reply`] that refuses the request.
    pub fn listen(
        &mut self,
        session: SessionId,
        last_event: Option<&str>,
        principal: Principal,
        now: Instant,
    ) -> Result<HttpExchange, Reply> {
        let number = self.find(session, principal, false, now)?;
        self.check_open()?;
        let connection =
            self.connections.get_mut(&number).ok_or_else(RequestValidator::no_session)?;
        let response = connection.streams.listen(last_event, now)?;
        self.settle(number, now);
        Ok(HttpExchange { connection: number, response })
    }

    /// Opens the event stream of a client of 2024-11-05, whose head was
    /// [accepted](RequestValidator::admit_event_stream). The stream is the session. `endpoint` returns the URI for
    /// messages, which must contain the session id: see [`RequestValidator::one_stream`].
    ///
    /// # Errors
    ///
    /// The [`Reply`] that refuses the request: 503.
    pub fn connect_one_stream(
        &mut self,
        endpoint: impl FnOnce(SessionId) -> String,
        source: impl Into<RequestSource>,
        random: [u8; 16],
        now: Instant,
    ) -> Result<HttpExchange, Reply> {
        let source = source.into();
        self.check_open()?;
        self.check_room(source, now)?;
        let id = SessionId::from_random(random);
        let number = self.next_number();
        let (server, streams, response) = self.validator.one_stream(number, id, endpoint(id), now);
        let connection = self.connect((server, streams), source);
        self.enter(id, connection, now);
        self.settle(connection, now);
        Ok(HttpExchange { connection, response })
    }

    /// Accepts a message of such a client, whose head was [accepted](RequestValidator::admit_message). Pass the
    /// [frames](crate::Frames) of the body to [`receive`](Self::receive) next, before any other call. Responses of
    /// the machine go out on the event stream; the HTTP response only confirms the message.
    ///
    /// # Errors
    ///
    /// The [`Reply`] that refuses the message: 400, 404 or 413.
    pub fn message(
        &mut self,
        session: SessionId,
        body: &[u8],
        principal: Principal,
        now: Instant,
    ) -> Result<HttpExchange, Reply> {
        self.validator.message(body)?;
        let number = self.find(session, principal, true, now)?;
        self.begin(number, now)
    }

    /// Ends a session for its client. All its responses end at once, and its requests are cancelled:
    /// [`handle_timeout`](Self::handle_timeout) returns these events.
    ///
    /// # Errors
    ///
    /// The [`Reply`] to a request for an unknown session.
    pub fn end(
        &mut self,
        session: SessionId,
        principal: Principal,
        now: Instant,
    ) -> Result<Reply, Reply> {
        let number = self.find(session, principal, false, now)?;
        self.sessions.remove(session, principal);
        self.end_now(number, now);
        Ok(Reply::empty(200))
    }

    /// Ends every connection when all its requests in flight have responses, and at the latest after `grace`, as
    /// [`Server::shut_down`](crate::Connection::shut_down) does. Subscriptions end at once, gracefully; event streams
    /// of sessions end with their sessions. From now on every request is refused with 503, but expected responses of
    /// clients are accepted.
    pub fn shut_down(&mut self, grace: Duration, now: Instant) {
        self.is_shutting_down = true;
        let numbers: Vec<u32> = self.connections.keys().copied().collect();
        for number in numbers {
            if let Some(connection) = self.connections.get_mut(&number) {
                connection.server.shut_down(grace, now);
            }
            self.settle(number, now);
        }
    }
}

/// # Answering
impl HttpServer {
    /// Calls a function with the machine of a connection: to answer a request, for example. Returns `None` if the
    /// connection has ended.
    pub fn with<T>(
        &mut self,
        connection: ConnectionNumber,
        now: Instant,
        act: impl FnOnce(&mut Server, &mut Streams) -> T,
    ) -> Option<T> {
        let number = connection.get();
        let Connection { server, streams, .. } = self.connections.get_mut(&number)?;
        let done = act(server, streams);
        self.settle(number, now);
        Some(done)
    }

    /// Returns the next part of a response: see [`Streams::next`].
    #[must_use = "the head is returned once, and the response ends only by this value"]
    pub fn next(
        &mut self,
        exchange: HttpExchange,
        now: Instant,
        buffer: &mut Vec<u8>,
    ) -> ResponsePart {
        let Some(connection) = self.connections.get_mut(&exchange.connection) else {
            return ResponsePart::End;
        };
        let part = connection.streams.next(exchange.response, now, buffer);
        self.settle(exchange.connection, now);
        part
    }

    /// Reports that the client has disconnected before the end of a response: see [`Streams::disconnected`].
    pub fn disconnected(&mut self, exchange: HttpExchange, now: Instant) {
        let Some(connection) = self.connections.get_mut(&exchange.connection) else { return };
        if connection.streams.disconnected(exchange.response, now) {
            connection.server.disconnected(Cause::WriteFailed, now);
        }
        self.settle(exchange.connection, now);
    }

    /// Returns the connections and stream numbers whose responses should be polled with [`next`](Self::next), each
    /// once, in the order of their numbers.
    pub fn woken(&mut self) -> impl Iterator<Item = (ConnectionNumber, u32)> {
        let woken = self.woken.take().into_iter();
        woken.map(|(number, stream)| (ConnectionNumber::new(number), stream))
    }
}

/// # Time
impl HttpServer {
    /// Returns the time at which to call [`handle_timeout`](Self::handle_timeout) next. The time is in the past if an
    /// event is ready.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let connections = self.deadlines.first().map(|(deadline, _)| *deadline);
        connections.into_iter().chain(self.sessions.poll_timeout()).min()
    }

    /// Returns the next event that is due to time or to the end of a connection, with its connection. Call it until
    /// it returns `None`.
    #[must_use = "an event that is dropped is lost; it is not delivered again"]
    pub fn handle_timeout(
        &mut self,
        now: Instant,
    ) -> Option<(ConnectionNumber, ServerEvent<'static>)> {
        let Self { sessions, connections, .. } = self;
        let used_until = |number: &u32| connections.get(number)?.streams.used_until(now);
        let mut expired = Vec::new();
        while let Some(number) = sessions.expire(now, used_until) {
            expired.push(number);
        }
        for number in expired {
            self.end_now(number, now);
        }
        while let Some((deadline, number)) = self.deadlines.first().copied()
            && deadline <= now
        {
            let Some(connection) = self.connections.get_mut(&number) else {
                self.deadlines.remove(&(deadline, number));
                continue;
            };
            let Connection { server, streams, .. } = connection;
            streams.handle_timeout(now);
            let event = server.handle_timeout(now, streams);
            if let Some(event) = &event {
                streams.watch(event);
            }
            let is_closed = server.phase() == Phase::Closed && event.is_none();
            if is_closed && streams.is_over() {
                self.forget(number);
            } else {
                self.settle(number, now);
            }
            if let Some(event) = event {
                return Some((ConnectionNumber::new(number), event));
            }
        }
        None
    }
}
