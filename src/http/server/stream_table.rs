//! [`StreamTable`], the streams of one connection, with the requests that belong to them and their deadlines.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use super::events::{EventId, EventStore};
use super::response_id::ResponseId;
use super::spare_stream::SpareStream;
use super::stream::{Purpose, Response, Stream};
use crate::handle::IncomingId;
use crate::lazy_box::LazyBox;
use crate::time::Instant;

/// The number of the standalone stream, which belongs to no request.
pub(super) const STANDALONE: u32 = 0;

/// A number of no stream, for requests that have ended.
pub(super) const NOWHERE: u32 = u32::MAX;

/// The streams, by number.
///
/// A request belongs to one stream until it ends. A stream is in `deadlines` if and only if it has a deadline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct StreamTable {
    /// Boxed, because a map node has room for eleven values, and most sessions have one.
    pub(super) streams: BTreeMap<u32, Box<Stream>>,
    /// The streams that broke off and can be resumed, the latest last.
    pub(super) kept: LazyBox<VecDeque<u32>>,
    /// The memory of a removed stream, for the next one.
    pub(super) spare: SpareStream,
    /// The stream of each request that has not ended, by the index of the request.
    requests: Vec<Option<(IncomingId, u32)>>,
    /// The number of these requests.
    open: u32,
    /// The stream whose messages are being received.
    pub(super) current: Option<u32>,
    /// The number of the next stream.
    pub(super) next_number: u32,
    /// The deadlines of streams.
    pub(super) deadlines: BTreeSet<(Instant, u32)>,
    /// The streams whose responses should be polled.
    pub(super) woken: Vec<u32>,
}

impl StreamTable {
    pub(super) fn new() -> Self {
        Self { next_number: STANDALONE + 1, ..Self::default() }
    }

    /// Returns the stream of a request, if one is assigned.
    pub(super) fn stream_of_request(&self, id: IncomingId) -> Option<u32> {
        let (known, number) = (*self.requests.get(id.index())?)?;
        (known == id).then_some(number)
    }

    /// Whether a request has ended. Another one may have its place in the table since then.
    pub(super) fn has_ended(&self, id: IncomingId) -> bool {
        match self.stream_of_request(id) {
            Some(number) => number == NOWHERE,
            // A request whose POST is being received may have no stream yet.
            None => self.current.is_none(),
        }
    }

    /// Returns the stream of a request. A new request is assigned to the stream that is being received.
    pub(super) fn stream_of(&mut self, id: IncomingId) -> Option<u32> {
        if let Some(number) = self.stream_of_request(id) {
            return Some(number);
        }
        let number = self.current?;
        let stream = self.streams.get_mut(&number)?;
        stream.open += 1;
        stream.was_asked = true;
        self.open += 1;
        if self.requests.is_empty() {
            // Most sessions have one request at a time.
            self.requests.reserve_exact(id.index() + 1);
        }
        if self.requests.len() <= id.index() {
            self.requests.resize(id.index() + 1, None);
        }
        // The vector was just resized.
        let before = self.requests.get_mut(id.index())?.replace((id, number));
        let is_lost = before.is_some_and(|(_, number)| number != NOWHERE);
        self.open -= u32::from(is_lost);
        Some(number)
    }

    /// Whether a request has not ended, even if its stream was removed.
    pub(super) fn has_requests(&self) -> bool {
        self.open != 0
    }

    /// Ends all requests of this stream, which were answered together.
    pub(super) fn ended_together(&mut self, number: u32) {
        if let Some(stream) = self.streams.get_mut(&number)
            && core::mem::take(&mut stream.open) == 0
        {
            return;
        }
        for (_, stream) in self.requests.iter_mut().flatten() {
            if *stream == number {
                *stream = NOWHERE;
                self.open -= 1;
            }
        }
    }

    /// Frees memory that is kept for later requests.
    pub(super) fn release(&mut self) {
        self.spare = SpareStream::default();
        if self.streams.is_empty() {
            // An empty map keeps an allocated node.
            self.streams = BTreeMap::new();
        }
        if !self.has_requests() {
            self.requests = Vec::new();
        }
    }

    /// Removes a stream from the list of those that broke off.
    pub(super) fn forget_kept(&mut self, number: u32) {
        if !self.kept.is_empty() {
            self.kept.retain(|kept| *kept != number);
            self.kept.release();
        }
    }

    pub(super) fn wake(&mut self, number: u32) {
        if self.woken.last() != Some(&number) {
            self.woken.push(number);
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
            // An empty set keeps an allocated node.
            self.deadlines = BTreeSet::new();
        }
    }

    /// Assigns a request to the stream of its POST.
    pub(super) fn assign(&mut self, id: IncomingId, is_subscription: bool) {
        let Some(number) = self.stream_of(id) else { return };
        if is_subscription && let Some(stream) = self.streams.get_mut(&number) {
            stream.purpose = Purpose::Subscription;
        }
    }

    /// Returns the number of other streams that wait for their clients with unsent messages, or are about to.
    pub(super) fn waited_for_beside(&self, number: u32) -> usize {
        let is_waiting = |stream: &Stream| match &stream.response {
            Some(response) => response.is_closing,
            None => {
                let can_be_kept = stream.purpose != Purpose::Standalone && !stream.is_lost();
                can_be_kept && !stream.has_sent_all()
            }
        };
        let others = self.streams.iter().filter(|(other, _)| **other != number);
        others.filter(|(_, stream)| is_waiting(stream)).count()
    }

    /// Whether a client can resume a stream after this event: it was sent, and the store still has the next one.
    pub(super) fn can_resume_after(&self, id: EventId, store: &impl EventStore) -> bool {
        let latest = self.streams.get(&id.stream).and_then(|stream| stream.latest);
        latest.is_some_and(|latest| {
            let next = store.after(id.stream, id.event).map(|(event, _)| event);
            id.event == latest || (id.event < latest && next == Some(id.event + 1))
        })
    }

    /// Returns the response, if it still carries its stream.
    pub(super) fn carried(&mut self, id: ResponseId) -> Option<&mut Response> {
        let stream = self.streams.get_mut(&id.stream)?;
        stream.response.as_mut().filter(|_| stream.generation == id.generation)
    }

    /// Whether no message about a request can reach the client, because its stream is lost.
    pub(super) fn is_unreachable(&self, id: IncomingId) -> bool {
        // A request whose POST is being received may have no stream yet.
        let Some(number) = self.stream_of_request(id) else { return self.current.is_none() };
        self.streams.get(&number).is_none_or(|stream| stream.is_lost())
    }

    /// Removes a request that has ended, with or without a response. Returns its stream.
    pub(super) fn ended(&mut self, id: IncomingId) -> Option<u32> {
        let Some(Some(entry)) = self.requests.get_mut(id.index()) else { return None };
        if entry.0 != id {
            return None;
        }
        // Later messages about the request, such as the cancellation of a request to the client, must not go out on
        // the stream that is being received.
        let number = core::mem::replace(&mut entry.1, NOWHERE);
        self.open -= u32::from(number != NOWHERE);
        if let Some(stream) = self.streams.get_mut(&number) {
            stream.open = stream.open.saturating_sub(1);
        }
        self.wake(number);
        Some(number)
    }
}
