//! The streams of one connection: where the output of its machine goes.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::config::HttpServerConfig;
use super::events::{EventStore, MemoryEvents};
use super::reply::Reply;
use super::session_id::SessionId;
use super::source::RequestSource;
use super::spare_stream::SpareStream;
use super::stream::{Purpose, Stream};
use crate::dialect::features::Feature;
use crate::error::ErrorCode;
use crate::frame::{Framing, Outbox, OutboxBounds};
use crate::handle::{InboundId, Requestor};
use crate::lazy_box::LazyBox;
use crate::limits::Limits;
use crate::peer::{Arrival, Lane};
use crate::server::{Call, ServerEvent};
use crate::time::Instant;
use crate::version::Revision;

/// The number of the stream that belongs to no request.
pub(super) const STANDALONE: u32 = 0;

/// The number of no stream: of a request that has ended.
const NOWHERE: u32 = u32::MAX;

/// The outlets of one [`Server`](crate::Server) over HTTP: a stream for each POST, and in a session one that
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
    pub(super) manner: Manner,
    /// In boxes, because a node of the map has room for eleven, and most sessions have one.
    pub(super) streams: BTreeMap<u32, Box<Stream>>,
    /// The memory of a stream that has been forgotten, for the next one.
    pub(super) spare: SpareStream,
    /// The stream of each request that has not ended, by its index.
    requests: Vec<Option<(InboundId, u32)>>,
    /// The stream with which a message is being received.
    pub(super) current: Option<u32>,
    pub(super) next_number: u32,
    /// Streams that have broken off and can be come back for, the latest last.
    pub(super) kept: LazyBox<VecDeque<u32>>,
    /// When something is to be done about which stream.
    deadlines: BTreeSet<(Instant, u32)>,
    /// Streams whose responses should be asked.
    woken: Vec<u32>,
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

/// How a connection uses HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Manner {
    /// For one message that stands alone.
    Alone,
    /// For one message of a session that nobody has opened.
    Assumed,
    /// As a session with this id.
    Session(SessionId),
    /// As a session with this id whose output goes out on one event stream, as in 2024-11-05.
    OneStream(SessionId),
}

/// A response of HTTP. The handle is stale once another one has taken its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResponseId {
    pub(super) stream: u32,
    pub(super) generation: u32,
}

impl ResponseId {
    /// The number of the stream that it carries: see [`Streams::woken`].
    pub const fn stream(self) -> u32 {
        self.stream
    }
}

/// # Starting
impl Streams {
    /// For a message that stands alone (2026-07-28).
    pub(super) fn alone(config: Arc<HttpServerConfig>, limits: &Limits) -> Self {
        Self::new(config, limits, Manner::Alone, MemoryEvents::default())
    }

    /// For a message of a session that is taken for granted.
    pub(super) fn assumed(config: Arc<HttpServerConfig>, limits: &Limits) -> Self {
        Self::new(config, limits, Manner::Assumed, MemoryEvents::default())
    }

    /// For a session on one event stream, with where its client is told to POST its messages.
    pub(super) fn one_stream(
        config: Arc<HttpServerConfig>,
        limits: &Limits,
        (id, endpoint): (SessionId, String),
        now: Instant,
    ) -> (Self, ResponseId) {
        let mut streams = Self::new(config, limits, Manner::OneStream(id), MemoryEvents::default());
        let mut stream = Stream::new(streams.outbox(), now);
        (stream.purpose, stream.has_arrived) = (Purpose::Standalone, true);
        if let Some(response) = &mut stream.response {
            response.preface = Some(("endpoint", endpoint));
        }
        streams.streams.insert(STANDALONE, Box::new(stream));
        streams.wake(STANDALONE);
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
        let mut streams = Self::new(config, limits, Manner::Session(id), events);
        streams.opening = Some(STANDALONE + 1);
        streams
    }

    /// Makes the stream of a session that belongs to no request, if there is none. Most sessions never need it.
    pub(super) fn begin_standalone(&mut self) {
        let is_session = matches!(self.manner, Manner::Session(_));
        if !is_session || self.is_finished || self.streams.contains_key(&STANDALONE) {
            return;
        }
        let mut standalone = Stream::new(self.outbox(), Instant::EPOCH);
        standalone.outbox.set_limit(self.config.standalone_bytes);
        (standalone.purpose, standalone.has_arrived) = (Purpose::Standalone, true);
        standalone.response = None;
        self.streams.insert(STANDALONE, Box::new(standalone));
    }

    fn new(config: Arc<HttpServerConfig>, limits: &Limits, manner: Manner, events: E) -> Self {
        Self {
            config,
            manner,
            streams: BTreeMap::new(),
            spare: SpareStream::default(),
            requests: Vec::new(),
            current: None,
            next_number: STANDALONE + 1,
            kept: LazyBox::EMPTY,
            deadlines: BTreeSet::new(),
            woken: Vec::new(),
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
    pub(super) const fn outbox(&self) -> Outbox {
        Outbox::with(Framing::Messages, self.bounds)
    }

    /// Whether it is for one message that stands alone.
    pub fn is_alone(&self) -> bool {
        self.manner == Manner::Alone
    }

    /// Whether everything goes out on one event stream, as in 2024-11-05.
    pub fn is_one_stream(&self) -> bool {
        matches!(self.manner, Manner::OneStream(_))
    }

    /// Whether nothing waits to be sent.
    pub fn is_empty(&self) -> bool {
        self.streams.values().all(|stream| stream.outbox.is_empty())
    }

    /// How many bytes have not been sent, on all streams together.
    pub fn unsent_bytes(&self) -> usize {
        self.streams.values().map(|stream| stream.outbox.len()).sum()
    }

    /// Gives back memory that is kept for the next request: for sessions that do nothing for a while.
    pub fn release(&mut self) {
        self.spare = SpareStream::default();
        if self.streams.is_empty() {
            // An empty map keeps a node.
            self.streams = BTreeMap::new();
        }
    }

    /// How many streams there are, with and without a response.
    pub fn stream_count(&self) -> usize {
        self.streams.len()
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
        self.is_one_stream() && self.streams.values().any(|stream| congests(stream))
    }

    /// Whether no response is open any more, so that nobody asks for anything unless somebody comes back.
    pub fn is_over(&self) -> bool {
        self.streams.values().all(|stream| stream.response.is_none())
    }

    /// The machine has ended. What there is to say can still be said, then every response ends.
    pub fn finish(&mut self) {
        if self.is_finished {
            return;
        }
        self.is_finished = true;
        for stream in self.streams.values_mut() {
            stream.finish();
        }
        self.woken.extend(self.streams.keys());
    }

    /// How it is configured.
    pub fn config(&self) -> &HttpServerConfig {
        &self.config
    }

    /// Whose tasks end with this session, because nobody else reaches them: those of its client, if that has no
    /// principal. [`Tasks::tasks_of`](crate::task::Tasks::tasks_of) finds them.
    pub fn session_requestor(&self) -> Option<Requestor> {
        self.owner().map(|session| RequestSource::default().requestor(Some(session)))
    }

    /// The session that owns tasks where there is no principal.
    const fn owner(&self) -> Option<SessionId> {
        match self.manner {
            Manner::Session(id) | Manner::OneStream(id) => Some(id),
            Manner::Alone | Manner::Assumed => None,
        }
    }

    /// The id of the session, if it has one.
    pub const fn session_id(&self) -> Option<SessionId> {
        match self.manner {
            Manner::Session(id) => Some(id),
            Manner::Alone | Manner::Assumed | Manner::OneStream(_) => None,
        }
    }
}

/// # Receiving
impl<E: EventStore> Streams<E> {
    /// A POST has come. Hand its messages to the machine with [`arrival`](Self::arrival) and the events to
    /// [`watch`](Self::watch), then say [`received`](Self::received), before anything else happens.
    pub fn begin(&mut self, now: Instant) -> ResponseId {
        let stream = self.next_number;
        self.next_number = self.next_number.wrapping_add(1).max(STANDALONE + 1);
        let new = self.spare.take(now).unwrap_or_else(|| Box::new(Stream::new(self.outbox(), now)));
        self.streams.insert(stream, new);
        self.current = Some(stream);
        ResponseId { stream, generation: 0 }
    }

    /// What comes with a message of this POST, from this client: a principal or a [`RequestSource`].
    pub fn arrival(
        &self,
        response: ResponseId,
        source: impl Into<RequestSource>,
        now: Instant,
    ) -> Arrival {
        let source = match source.into() {
            _ if mutant!("the_principal_of_a_post_is_lost") => RequestSource::default(),
            source => source,
        };
        let session = self.owner().filter(|_| !mutant!("sessions_share_their_tasks"));
        let lane = Lane::Stream(response.stream);
        Arrival::from(now).lane(lane).requestor(source.requestor(session))
    }

    /// All messages of the POST have been handed to the machine. They came as a batch or one alone.
    pub fn received(&mut self, response: ResponseId, is_batch: bool) {
        self.current = None;
        if let Some(stream) = self.streams.get_mut(&response.stream) {
            stream.has_arrived = true;
            stream.is_batch = is_batch;
        }
        self.wake(response.stream);
    }

    /// Sees what has come of a message, or of time.
    pub fn watch(&mut self, event: &ServerEvent<'_>) {
        match event {
            ServerEvent::Request(request) => {
                let is_subscription = matches!(request.call, Call::Listen(_));
                self.assign(request.id, is_subscription);
            }
            ServerEvent::Subscribed(subscribed) => self.assign(subscribed.id, true),
            ServerEvent::Cancelled(cancelled) => self.ended(cancelled.id),
            ServerEvent::Opened(opened) => self.revision = Some(opened.revision),
            ServerEvent::Violation(violation) if !violation.answered => {
                let Some(stream) = self.current.and_then(|current| self.streams.get_mut(&current))
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

    /// A request belongs to the stream with which it came.
    fn assign(&mut self, id: InboundId, is_subscription: bool) {
        // Its answer goes another way than it came.
        if self.is_one_stream() {
            return;
        }
        let Some(number) = self.stream_of(id) else { return };
        if is_subscription && let Some(stream) = self.streams.get_mut(&number) {
            stream.purpose = Purpose::Subscription;
        }
    }

    /// The stream of a request that has one.
    pub(super) fn stream_of_request(&self, id: InboundId) -> Option<u32> {
        let (known, number) = (*self.requests.get(id.index())?)?;
        (known == id).then_some(number)
    }

    /// The stream of a request, which is the one that is being received if it has none yet.
    pub(super) fn stream_of(&mut self, id: InboundId) -> Option<u32> {
        if let Some(number) = self.stream_of_request(id) {
            return Some(number);
        }
        let number = self.current?;
        let stream = self.streams.get_mut(&number)?;
        stream.open += 1;
        stream.was_asked = true;
        if self.requests.is_empty() {
            // Mostly one at a time.
            self.requests.reserve_exact(id.index() + 1);
        }
        if self.requests.len() <= id.index() {
            self.requests.resize(id.index() + 1, None);
        }
        // It has just been made long enough.
        *self.requests.get_mut(id.index())? = Some((id, number));
        Some(number)
    }

    /// A request has been answered, or never will be.
    pub(super) fn ended(&mut self, id: InboundId) {
        let Some(Some(entry)) = self.requests.get_mut(id.index()) else { return };
        if entry.0 != id {
            return;
        }
        // What is still said because of it, such as that something is not wanted any more, must not go out with
        // whatever is being received now.
        let number = core::mem::replace(&mut entry.1, NOWHERE);
        if let Some(stream) = self.streams.get_mut(&number) {
            stream.open = stream.open.saturating_sub(1);
        }
        self.wake(number);
        self.drop_if_unwanted(number);
    }

    /// Whether a request has not ended, also if its stream is kept no more.
    pub(super) fn has_requests(&self) -> bool {
        self.requests.iter().flatten().any(|(_, number)| *number != NOWHERE)
    }

    /// Everything that came with this stream has been answered at once.
    pub(super) fn ended_together(&mut self, number: u32) {
        for (_, stream) in self.requests.iter_mut().flatten() {
            if *stream == number {
                *stream = NOWHERE;
            }
        }
        if let Some(stream) = self.streams.get_mut(&number) {
            stream.open = 0;
        }
    }
}

/// # Waiting
impl<E: EventStore> Streams<E> {
    /// The streams whose responses should be asked for what is [`next`](Self::next), by
    /// [`ResponseId::stream`]: something has happened on them since this was last called.
    pub fn woken(&mut self) -> impl Iterator<Item = u32> {
        self.woken.drain(..)
    }

    pub(super) fn wake(&mut self, number: u32) {
        if self.woken.last() != Some(&number) {
            self.woken.push(number);
        }
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Wakes the streams on which something is due, and forgets those for which nobody has come back.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some((deadline, number)) = self.deadlines.first().copied()
            && deadline <= now
        {
            self.set_deadline(number, None);
            let has_response =
                self.streams.get(&number).is_some_and(|stream| stream.response.is_some());
            if has_response {
                self.wake(number);
            } else {
                self.forget(number);
            }
        }
    }

    pub(super) fn set_deadline(&mut self, number: u32, deadline: Option<Instant>) {
        let Some(stream) = self.streams.get_mut(&number) else { return };
        if stream.deadline == deadline {
            return;
        }
        if let Some(old) = stream.deadline {
            self.deadlines.remove(&(old, number));
        }
        stream.deadline = deadline;
        self.deadlines.extend(deadline.map(|deadline| (deadline, number)));
        if self.deadlines.is_empty() {
            // An empty set keeps a node.
            self.deadlines = BTreeSet::new();
        }
    }

    /// Whether clients of this session can come back for a stream that has broken off.
    pub(super) fn is_resumable(&self) -> bool {
        self.config.resumable
            && matches!(self.manner, Manner::Session(_))
            && self.revision.is_some_and(|one| Feature::PrimedStreams.is_in(one))
    }

    /// Whether this response has to say under which id the session goes on.
    pub(super) fn opens_session(&self, response: ResponseId) -> bool {
        self.opening == Some(response.stream) && self.revision.is_some()
    }
}
