//! [`Streams`], the streams of one connection, which carry the output of its machine.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;

use super::config::HttpServerConfig;
use super::events::{EventStore, MemoryEvents};
use super::reply::Reply;
use super::response_id::ResponseId;
use super::session_id::SessionId;
use super::source::RequestSource;
use super::stream::{Purpose, Stream};
use super::stream_table::{STANDALONE, StreamTable};
use crate::codes::ErrorCode;
use crate::connection::{Received, Route};
use crate::dialect::features::Feature;
use crate::frame::{Framing, Outbox, OutboxBounds};
use crate::handle::{IncomingId, Requestor};
use crate::limits::Limits;
use crate::server::{ClientRequest, ServerEvent};
use crate::time::Instant;
use crate::version::Revision;

/// The outboxes of one [`Server`](crate::Server) over HTTP: a stream for each POST, and in a session also the
/// standalone stream, which belongs to no request.
///
/// Pass the streams to every method of the machine that takes `out`, and pass every event of the machine to
/// [`watch`](Self::watch). [`next`](Self::next) returns the output, one response at a time.
///
/// A response may end before its stream: the client disconnects, or is asked to resume the stream later. In the
/// modern era this ends the request. In a session the request continues, and a client of 2025-11-25 can resume the
/// stream.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Streams<E = MemoryEvents> {
    pub(super) config: Arc<HttpServerConfig>,
    pub(super) kind: ConnectionKind,
    pub(super) table: StreamTable,
    /// The revision of the session.
    pub(super) revision: Option<Revision>,
    /// The stream whose response opens the session.
    pub(super) opening: Option<u32>,
    /// The time at which a response last ended.
    pub(super) used_until: Option<Instant>,
    pub(super) events: E,
    /// The outbox for messages that are dropped.
    pub(super) nowhere: Option<Box<Outbox>>,
    /// The initial limits of every stream.
    bounds: OutboxBounds,
    /// The maximum number of bytes that wait on one stream.
    pub(super) most_bytes: usize,
    /// Whether the machine accepts no new requests.
    pub(super) is_draining: bool,
    /// Whether the machine has ended, so that no more messages follow.
    pub(super) is_finished: bool,
}

/// The kind of connection that the streams belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ConnectionKind {
    /// One modern message, without a session.
    Modern,
    /// One legacy message without a session id: the server assumes a session for it.
    ImplicitSession,
    /// A session with this id.
    Session(SessionId),
    /// A session with this id whose output all goes out on one event stream (HTTP+SSE of 2024-11-05).
    OneStream(SessionId),
}

impl ConnectionKind {
    /// Whether the client of a session of this revision can resume a stream that broke off.
    pub(super) fn is_resumable(
        self,
        config: &HttpServerConfig,
        revision: Option<Revision>,
    ) -> bool {
        config.resumable
            && matches!(self, Self::Session(_))
            && revision.is_some_and(|one| Feature::PrimedStreams.is_in(one))
    }

    /// Returns the session that owns tasks without a principal.
    const fn owner(self) -> Option<SessionId> {
        match self {
            Self::Session(id) | Self::OneStream(id) => Some(id),
            Self::Modern | Self::ImplicitSession => None,
        }
    }

    /// Returns the HTTP status of a response. Transport faults have their own status, and so have other errors in the
    /// modern era.
    pub(super) fn status(self, code: ErrorCode, is_own: bool, is_draining: bool) -> u16 {
        let is_malformed = matches!(code, ErrorCode::PARSE_ERROR | ErrorCode::INVALID_REQUEST);
        match (self, code) {
            _ if is_own && is_malformed => 400,
            (_, ErrorCode::INTERNAL_ERROR) if is_own && is_draining => 503,
            (Self::ImplicitSession | Self::Session(_) | Self::OneStream(_), _) => 200,
            (Self::Modern, ErrorCode::METHOD_NOT_FOUND) => 404,
            (
                Self::Modern,
                ErrorCode::HEADER_MISMATCH
                | ErrorCode::MISSING_CLIENT_CAPABILITY
                | ErrorCode::UNSUPPORTED_PROTOCOL_VERSION,
            ) => 400,
            (Self::Modern, ErrorCode::INVALID_PARAMS) if is_own => 400,
            (Self::Modern, _) => 200,
        }
    }
}

/// # Starting
impl Streams {
    /// Creates the streams of a session on one event stream, with the endpoint for the messages of its client.
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
    /// Creates the streams of a session, with a store for events that its client can resume from.
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

    /// Creates the standalone stream of a session, if it does not exist. Most sessions never need it.
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

    /// Creates the outbox of one stream.
    pub(super) const fn new_outbox(&self) -> Outbox {
        Outbox::with(Framing::Messages, self.bounds)
    }

    /// Whether the connection is for one modern message.
    pub fn serves_one_request(&self) -> bool {
        self.kind == ConnectionKind::Modern
    }

    /// Whether all output goes out on one event stream, as in 2024-11-05.
    pub fn is_one_stream(&self) -> bool {
        matches!(self.kind, ConnectionKind::OneStream(_))
    }

    /// Whether no message waits to be sent.
    pub fn is_empty(&self) -> bool {
        self.table.streams.values().all(|stream| stream.outbox.is_empty())
    }

    /// Returns the number of unsent bytes on all streams.
    pub fn unsent_bytes(&self) -> usize {
        self.table.streams.values().map(|stream| stream.outbox.len()).sum()
    }

    /// Returns the bytes of memory of the events that are stored for clients that resume a stream
    /// ([`EventStore::bytes`]).
    pub fn stored_bytes(&self) -> usize {
        self.events.bytes()
    }

    /// Removes the stored events, for hosts without memory for them. A client that has missed one of them is refused
    /// when it resumes its stream.
    pub fn forget_events(&mut self) {
        self.table.streams.keys().for_each(|number| self.events.forget(*number));
    }

    /// Frees memory that is kept for the next request: for idle sessions.
    pub fn release(&mut self) {
        self.table.release();
    }

    /// Returns the number of streams, with and without a response.
    pub fn stream_count(&self) -> usize {
        self.table.streams.len()
    }

    /// Sets the maximum number of bytes that wait on one stream, as [`Outbox::set_limit`] does. The standalone stream
    /// has its own limit.
    pub const fn set_limit(&mut self, bytes: usize) {
        self.most_bytes = bytes;
    }

    /// Whether so many bytes wait on the one event stream of a client that the application should start no new work
    /// for it. In other connections an unread response only delays its own request.
    pub fn is_congested(&self) -> bool {
        let congests = |stream: &Stream| stream.outbox.is_congested();
        self.is_one_stream() && self.table.streams.values().any(|stream| congests(stream))
    }

    /// Whether no response is open, so that no output is expected unless a client resumes a stream.
    pub fn is_over(&self) -> bool {
        self.table.streams.values().all(|stream| stream.response.is_none())
    }

    /// Handles the end of the machine: unsent messages can still be sent, then every response ends.
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

    /// Returns the requestor whose tasks end with this session, because no other session reaches them: the client of
    /// the session, if it has no principal. [`Tasks::tasks_of`](crate::task::Tasks::tasks_of) finds these tasks.
    pub fn session_requestor(&self) -> Option<Requestor> {
        self.kind.owner().map(|session| RequestSource::default().requestor(Some(session)))
    }

    /// Returns the id of the session, if it has one.
    pub const fn session_id(&self) -> Option<SessionId> {
        match self.kind {
            ConnectionKind::Session(id) => Some(id),
            ConnectionKind::Modern
            | ConnectionKind::ImplicitSession
            | ConnectionKind::OneStream(_) => None,
        }
    }
}

/// # Receiving
impl<E: EventStore> Streams<E> {
    /// Starts the response to a POST. Pass its messages to the machine with
    /// [`message_context`](Self::message_context), and the events to [`watch`](Self::watch); then call
    /// [`received`](Self::received), before any other call.
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

    /// Returns the [`Received`](crate::Received) of a message of this POST, from this client: a principal or a
    /// [`RequestSource`].
    pub fn message_context(
        &self,
        response: ResponseId,
        source: impl Into<RequestSource>,
        now: Instant,
    ) -> Received {
        let requestor = source.into().requestor(self.kind.owner());
        Received::from(now).route(Route::Stream(response.stream)).requestor(requestor)
    }

    /// Reports that all messages of the POST have been passed to the machine.
    pub fn received(&mut self, response: ResponseId) {
        self.table.current = None;
        if let Some(stream) = self.table.streams.get_mut(&response.stream) {
            stream.has_arrived = true;
        }
        self.table.wake(response.stream);
    }

    /// Processes an event of the machine.
    pub fn watch(&mut self, event: &ServerEvent<'_>) {
        match event {
            // With one event stream, the response to a request does not go out on the stream of its POST.
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

    /// Handles a request that has ended, with or without a response.
    pub(super) fn ended(&mut self, id: IncomingId) {
        if let Some(number) = self.table.ended(id) {
            self.drop_if_unwanted(number);
        }
    }
}

/// # Waiting
impl<E: EventStore> Streams<E> {
    /// Returns the streams that have changed since the last call. Poll their responses with [`next`](Self::next);
    /// [`ResponseId::stream`] identifies them.
    pub fn woken(&mut self) -> impl Iterator<Item = u32> {
        self.table.woken.drain(..)
    }

    /// Returns the time at which to call [`handle_timeout`](Self::handle_timeout) next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let deadline = self.table.deadlines.first().map(|(deadline, _)| *deadline);
        deadline.into_iter().chain(self.events.poll_timeout()).min()
    }

    /// Wakes the streams that are due, and removes those that no client has resumed in time, and events that are too
    /// old.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.events.expire(now);
        while let Some((deadline, number)) = self.table.deadlines.first().copied()
            && deadline <= now
        {
            // Also if there is no such stream.
            self.table.deadlines.remove(&(deadline, number));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn streams() -> Streams {
        let (config, limits) = (Arc::default(), Limits::default());
        Streams::new(config, &limits, ConnectionKind::ImplicitSession, MemoryEvents::default())
    }

    #[test]
    fn no_post_has_the_number_of_the_standalone_stream() {
        let mut streams = streams();
        streams.table.next_number = u32::MAX;
        let numbers = [(); 3].map(|()| streams.begin(Instant::EPOCH).stream());
        assert_eq!(numbers, [u32::MAX, STANDALONE + 1, STANDALONE + 2]);
    }

    #[test]
    fn a_released_connection_keeps_no_memory_for_a_stream() {
        for releases in [false, true] {
            let mut streams = streams();
            let response = streams.begin(Instant::EPOCH);
            streams.received(response);
            streams.forget(response.stream);
            if releases {
                streams.release();
            }
            assert_eq!(streams.table.spare.take(Instant::EPOCH).is_none(), releases);
        }
    }
}
