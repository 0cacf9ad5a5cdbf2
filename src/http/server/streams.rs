//! The streams of one connection: where the output of its machine goes.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::sync::Arc;

use super::config::HttpServerConfig;
use super::events::{EventStore, MemoryEvents};
use super::reply::Reply;
use super::response_id::ResponseId;
use super::session_id::SessionId;
use super::source::RequestSource;
use super::spare_stream::SpareStream;
use super::stream::{Purpose, Stream};
use super::stream_table::{STANDALONE, StreamTable};
use crate::codes::ErrorCode;
use crate::connection::{Received, Route};
use crate::dialect::features::Feature;
use crate::frame::{Framing, Outbox, OutboxBounds};
use crate::handle::{IncomingId, Requestor};
use crate::lazy_box::LazyBox;
use crate::limits::Limits;
use crate::server::{ClientRequest, ServerEvent};
use crate::time::Instant;
use crate::version::Revision;

/// The outboxes of one [`Server`](crate::Server) over HTTP: a stream for each POST, and in a session one that
/// belongs to no request.
///
/// Hand it to every method of the machine that takes `out`, and every event of the machine to
/// [`watch`](Self::watch). What is to be sent, [`next`](Self::next) says, one response at a time.
///
/// A response may end before its stream does: the client has gone, or is to come back later. Without a session
/// that is the end of the request. In one the work goes on, and a client of 2025-11-25 can ask for the rest.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Streams<E = MemoryEvents> {
    pub(super) config: Arc<HttpServerConfig>,
    pub(super) kind: ConnectionKind,
    pub(super) table: StreamTable,
    /// Streams that have broken off and can be come back for, the latest last.
    pub(super) kept: LazyBox<VecDeque<u32>>,
    /// The revision of the session.
    pub(super) revision: Option<Revision>,
    /// The stream whose answer opens the session.
    pub(super) opening: Option<u32>,
    /// When a response ended last.
    pub(super) used_until: Option<Instant>,
    pub(super) events: E,
    /// What is said to nobody.
    pub(super) nowhere: Option<Box<Outbox>>,
    /// How much every stream holds at first.
    bounds: OutboxBounds,
    /// How many bytes may wait on one stream.
    pub(super) most_bytes: usize,
    /// The machine takes no new requests.
    pub(super) is_draining: bool,
    /// The machine has ended, so that nothing more is said.
    pub(super) is_finished: bool,
}

/// The kind of connection that the streams belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ConnectionKind {
    /// One modern message, without a session.
    Sessionless,
    /// One legacy message without a session id: the server assumes a session for it.
    ImplicitSession,
    /// A session with this id.
    Session(SessionId),
    /// A session with this id whose output all goes out on one event stream (HTTP+SSE of 2024-11-05).
    OneStream(SessionId),
}

impl ConnectionKind {
    /// Whether the client of a session of this revision can come back for a stream that has broken off.
    pub(super) fn is_resumable(
        self,
        config: &HttpServerConfig,
        revision: Option<Revision>,
    ) -> bool {
        config.resumable
            && matches!(self, Self::Session(_))
            && revision.is_some_and(|one| Feature::PrimedStreams.is_in(one))
    }

    /// The session that owns tasks where there is no principal.
    const fn owner(self) -> Option<SessionId> {
        match self {
            Self::Session(id) | Self::OneStream(id) => Some(id),
            Self::Sessionless | Self::ImplicitSession => None,
        }
    }

    /// Status of an answer: transport faults have one of their own; without sessions so have others.
    pub(super) fn status(self, code: ErrorCode, is_own: bool, is_draining: bool) -> u16 {
        let is_malformed = matches!(code, ErrorCode::PARSE_ERROR | ErrorCode::INVALID_REQUEST);
        match (self, code) {
            _ if is_own && is_malformed => 400,
            (_, ErrorCode::INTERNAL_ERROR) if is_own && is_draining => 503,
            (Self::ImplicitSession | Self::Session(_) | Self::OneStream(_), _) => 200,
            (Self::Sessionless, ErrorCode::METHOD_NOT_FOUND) => 404,
            (
                Self::Sessionless,
                ErrorCode::HEADER_MISMATCH
                | ErrorCode::MISSING_CLIENT_CAPABILITY
                | ErrorCode::UNSUPPORTED_PROTOCOL_VERSION,
            ) => 400,
            (Self::Sessionless, ErrorCode::INVALID_PARAMS) if is_own => 400,
            (Self::Sessionless, _) => 200,
        }
    }
}

/// # Starting
impl Streams {
    /// For a session on one event stream, with where its client is told to POST its messages.
    pub(super) fn one_stream(
        config: Arc<HttpServerConfig>,
        limits: &Limits,
        (id, endpoint): (SessionId, String),
        now: Instant,
    ) -> (Self, ResponseId) {
        let mut streams =
            Self::new(config, limits, ConnectionKind::OneStream(id), MemoryEvents::default());
        let mut stream = Stream::new(streams.new_outbox(), now);
        (stream.purpose, stream.has_arrived) = (Purpose::Standalone, true);
        if let Some(response) = &mut stream.response {
            response.preface = Some(("endpoint", endpoint));
        }
        streams.table.streams.insert(STANDALONE, Box::new(stream));
        streams.table.wake(STANDALONE);
        (streams, ResponseId { stream: STANDALONE, generation: 0 })
    }
}

impl<E: EventStore> Streams<E> {
    /// For a session, with a store for the events that its client comes back for.
    pub(super) fn session(
        config: Arc<HttpServerConfig>,
        limits: &Limits,
        id: SessionId,
        events: E,
    ) -> Self {
        let mut streams = Self::new(config, limits, ConnectionKind::Session(id), events);
        streams.opening = Some(STANDALONE + 1);
        streams
    }

    /// Makes the stream of a session that belongs to no request, if there is none. Most sessions never need it.
    pub(super) fn begin_standalone(&mut self) {
        let is_session = matches!(self.kind, ConnectionKind::Session(_));
        if !is_session || self.is_finished || self.table.streams.contains_key(&STANDALONE) {
            return;
        }
        let mut standalone = Stream::new(self.new_outbox(), Instant::EPOCH);
        standalone.outbox.set_limit(self.config.standalone_bytes);
        (standalone.purpose, standalone.has_arrived) = (Purpose::Standalone, true);
        standalone.response = None;
        self.table.streams.insert(STANDALONE, Box::new(standalone));
    }

    pub(super) fn new(
        config: Arc<HttpServerConfig>,
        limits: &Limits,
        kind: ConnectionKind,
        events: E,
    ) -> Self {
        Self {
            config,
            kind,
            table: StreamTable::new(),
            kept: LazyBox::EMPTY,
            revision: None,
            opening: None,
            used_until: None,
            events,
            nowhere: None,
            bounds: OutboxBounds::of(limits),
            most_bytes: limits.outbox_bytes,
            is_draining: false,
            is_finished: false,
        }
    }

    /// For the output of one stream.
    pub(super) const fn new_outbox(&self) -> Outbox {
        Outbox::with(Framing::Messages, self.bounds)
    }

    /// Whether it is for one message that stands alone.
    pub fn is_alone(&self) -> bool {
        self.kind == ConnectionKind::Sessionless
    }

    /// Whether everything goes out on one event stream, as in 2024-11-05.
    pub fn is_one_stream(&self) -> bool {
        matches!(self.kind, ConnectionKind::OneStream(_))
    }

    /// Whether nothing waits to be sent.
    pub fn is_empty(&self) -> bool {
        self.table.streams.values().all(|stream| stream.outbox.is_empty())
    }

    /// How many bytes have not been sent, on all streams together.
    pub fn unsent_bytes(&self) -> usize {
        self.table.streams.values().map(|stream| stream.outbox.len()).sum()
    }

    /// Gives back memory that is kept for the next request: for sessions that do nothing for a while.
    pub fn release(&mut self) {
        self.table.spare = SpareStream::default();
        if self.table.streams.is_empty() {
            // An empty map keeps a node.
            self.table.streams = BTreeMap::new();
        }
    }

    /// How many streams there are, with and without a response.
    pub fn stream_count(&self) -> usize {
        self.table.streams.len()
    }

    /// Changes how many bytes may wait on one stream, as [`Outbox::set_limit`] does. The stream that belongs to
    /// no request has its own limit.
    pub const fn set_limit(&mut self, bytes: usize) {
        self.most_bytes = bytes;
    }

    /// Whether so much waits for a client whose whole session is one event stream that no new work should be begun
    /// for it. A response that is not read otherwise holds up its own request only.
    pub fn is_congested(&self) -> bool {
        let congests = |stream: &Stream| stream.outbox.is_congested();
        self.is_one_stream() && self.table.streams.values().any(|stream| congests(stream))
    }

    /// Whether no response is open any more, so that nobody asks for anything unless somebody comes back.
    pub fn is_over(&self) -> bool {
        self.table.streams.values().all(|stream| stream.response.is_none())
    }

    /// The machine has ended. What there is to say can still be said, then every response ends.
    pub fn finish(&mut self) {
        if self.is_finished {
            return;
        }
        self.is_finished = true;
        for stream in self.table.streams.values_mut() {
            stream.finish();
        }
        self.table.woken.extend(self.table.streams.keys());
    }

    /// How it is configured.
    pub fn config(&self) -> &HttpServerConfig {
        &self.config
    }

    /// Whose tasks end with this session, because nobody else reaches them: those of its client, if that has no
    /// principal. [`Tasks::tasks_of`](crate::task::Tasks::tasks_of) finds them.
    pub fn session_requestor(&self) -> Option<Requestor> {
        self.kind.owner().map(|session| RequestSource::default().requestor(Some(session)))
    }

    /// The id of the session, if it has one.
    pub const fn session_id(&self) -> Option<SessionId> {
        match self.kind {
            ConnectionKind::Session(id) => Some(id),
            ConnectionKind::Sessionless
            | ConnectionKind::ImplicitSession
            | ConnectionKind::OneStream(_) => None,
        }
    }
}

/// # Receiving
impl<E: EventStore> Streams<E> {
    /// A POST has come. Hand its messages to the machine with [`message_context`](Self::message_context) and the events to
    /// [`watch`](Self::watch), then say [`received`](Self::received), before anything else happens.
    pub fn begin(&mut self, now: Instant) -> ResponseId {
        let stream = self.table.next_number;
        self.table.next_number = self.table.next_number.wrapping_add(1).max(STANDALONE + 1);
        let new = self
            .table
            .spare
            .take(now)
            .unwrap_or_else(|| Box::new(Stream::new(self.new_outbox(), now)));
        self.table.streams.insert(stream, new);
        self.table.current = Some(stream);
        ResponseId { stream, generation: 0 }
    }

    /// The [`Received`](crate::Received) of a message of this POST, from this client: a principal or a [`RequestSource`].
    pub fn message_context(
        &self,
        response: ResponseId,
        source: impl Into<RequestSource>,
        now: Instant,
    ) -> Received {
        let source = match source.into() {
            _ if mutant!("the_principal_of_a_post_is_lost") => RequestSource::default(),
            source => source,
        };
        let session = self.kind.owner().filter(|_| !mutant!("sessions_share_their_tasks"));
        let route = Route::Stream(response.stream);
        Received::from(now).route(route).requestor(source.requestor(session))
    }

    /// All messages of the POST have been handed to the machine.
    pub fn received(&mut self, response: ResponseId) {
        self.table.current = None;
        if let Some(stream) = self.table.streams.get_mut(&response.stream) {
            stream.has_arrived = true;
        }
        self.table.wake(response.stream);
    }

    /// Sees what has come of a message, or of time.
    pub fn watch(&mut self, event: &ServerEvent<'_>) {
        match event {
            // Where there is one stream the answer goes another way than the request came.
            ServerEvent::Request(_) | ServerEvent::Subscribed(_) if self.is_one_stream() => {}
            ServerEvent::Request(request) => {
                let is_subscription = matches!(request.kind, ClientRequest::Listen(_));
                self.table.assign(request.id, is_subscription);
            }
            ServerEvent::Subscribed(subscribed) => self.table.assign(subscribed.id, true),
            ServerEvent::Cancelled(cancelled) => self.ended(cancelled.id),
            ServerEvent::Opened(opened) => self.revision = Some(opened.revision),
            ServerEvent::Violation(violation) if !violation.answered => {
                let Some(stream) =
                    self.table.current.and_then(|current| self.table.streams.get_mut(&current))
                else {
                    return;
                };
                let kind = violation.kind;
                if stream.fault.is_none() && (kind.code().is_some() || violation.id.is_some()) {
                    let code = kind.code().unwrap_or(ErrorCode::INVALID_REQUEST);
                    let fault = Reply::error(400, violation.id.as_ref(), code, &kind.text());
                    stream.fault = Some(fault);
                }
            }
            _ => {}
        }
    }

    /// A request has been answered, or never will be.
    pub(super) fn ended(&mut self, id: IncomingId) {
        if let Some(number) = self.table.ended(id) {
            self.drop_if_unwanted(number);
        }
    }
}

/// # Waiting
impl<E: EventStore> Streams<E> {
    /// The streams whose responses should be asked for what is [`next`](Self::next), by
    /// [`ResponseId::stream`]: something has happened on them since this was last called.
    pub fn woken(&mut self) -> impl Iterator<Item = u32> {
        self.table.woken.drain(..)
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.table.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Wakes the streams on which something is due, and forgets those for which nobody has come back.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some((deadline, number)) = self.table.deadlines.first().copied()
            && deadline <= now
        {
            self.table.set_deadline(number, None);
            let has_response =
                self.table.streams.get(&number).is_some_and(|stream| stream.response.is_some());
            if has_response {
                self.table.wake(number);
            } else {
                self.forget(number);
            }
        }
    }
}
