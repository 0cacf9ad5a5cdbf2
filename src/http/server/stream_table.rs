//! `StreamTable`: the streams of one connection, which requests belong to which, and which streams are due.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::response_id::ResponseId;
use super::spare_stream::SpareStream;
use super::stream::{Purpose, Response, Stream};
use crate::handle::IncomingId;
use crate::time::Instant;

/// The number of the stream that belongs to no request.
pub(super) const STANDALONE: u32 = 0;

/// The number of no stream: of a request that has ended.
const NOWHERE: u32 = u32::MAX;

/// The streams by their numbers.
///
/// A request belongs to one stream until it ends. A stream is among `deadlines` exactly if it has a deadline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct StreamTable {
    /// In boxes, because a node of the map has room for eleven, and most sessions have one.
    pub(super) streams: BTreeMap<u32, Box<Stream>>,
    /// The memory of a stream that has been forgotten, for the next one.
    pub(super) spare: SpareStream,
    /// The stream of each request that has not ended, by its index.
    requests: Vec<Option<(IncomingId, u32)>>,
    /// The stream with which a message is being received.
    pub(super) current: Option<u32>,
    /// The number of the next stream.
    pub(super) next_number: u32,
    /// When something is to be done about which stream.
    pub(super) deadlines: BTreeSet<(Instant, u32)>,
    /// Streams whose responses should be asked.
    pub(super) woken: Vec<u32>,
}

impl StreamTable {
    pub(super) fn new() -> Self {
        Self { next_number: STANDALONE + 1, ..Self::default() }
    }

    /// The stream of a request that has one.
    pub(super) fn stream_of_request(&self, id: IncomingId) -> Option<u32> {
        let (known, number) = (*self.requests.get(id.index())?)?;
        (known == id).then_some(number)
    }

    /// The stream of a request, which is the one that is being received if it has none yet.
    pub(super) fn stream_of(&mut self, id: IncomingId) -> Option<u32> {
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
            // An empty set keeps a node.
            self.deadlines = BTreeSet::new();
        }
    }

    /// A request belongs to the stream with which it came.
    pub(super) fn assign(&mut self, id: IncomingId, is_subscription: bool) {
        let Some(number) = self.stream_of(id) else { return };
        if is_subscription && let Some(stream) = self.streams.get_mut(&number) {
            stream.purpose = Purpose::Subscription;
        }
    }

    /// How many other streams are waiting for their clients, or are about to, with more to say.
    pub(super) fn waited_for_beside(&self, number: u32) -> usize {
        let is_waiting = |stream: &Stream| match &stream.response {
            Some(response) => response.is_closing,
            None => {
                let can_be_kept = stream.purpose != Purpose::Standalone && !stream.is_lost();
                can_be_kept && !stream.has_said_all()
            }
        };
        let others = self.streams.iter().filter(|(other, _)| **other != number);
        others.filter(|(_, stream)| is_waiting(stream)).count()
    }

    /// The response, if it still carries its stream.
    pub(super) fn carried(&mut self, id: ResponseId) -> Option<&mut Response> {
        let stream = self.streams.get_mut(&id.stream)?;
        stream.response.as_mut().filter(|_| stream.generation == id.generation)
    }

    /// Whether a message about a request cannot reach the client: its stream has broken off for good.
    pub(super) fn is_unreachable(&self, id: IncomingId) -> bool {
        let Some(number) = self.stream_of_request(id) else { return false };
        self.streams.get(&number).is_none_or(|stream| stream.is_lost())
    }

    /// A request has been answered, or never will be. Gives the stream that it belonged to.
    pub(super) fn ended(&mut self, id: IncomingId) -> Option<u32> {
        let Some(Some(entry)) = self.requests.get_mut(id.index()) else { return None };
        if entry.0 != id {
            return None;
        }
        // What is still said because of it, such as that something is not wanted any more, must not go out with
        // whatever is being received now.
        let number = core::mem::replace(&mut entry.1, NOWHERE);
        if let Some(stream) = self.streams.get_mut(&number) {
            stream.open = stream.open.saturating_sub(1);
        }
        self.wake(number);
        Some(number)
    }
}
