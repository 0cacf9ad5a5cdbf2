//! The queue of POSTs of a session that wait until its machine has room.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use mcp_sansio::event::Id;
use mcp_sansio::{Frame, Frames, Limits, Phase, Server};

use crate::machine::Machine;
use crate::wire::{State, Wire};

/// The condition on which a POST is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PostEntry {
    /// Always: its request is refused if there is no room.
    Always,
    /// If there is room and no other POST waits.
    IfRoom,
    /// If there is room: the POST has waited, at this [place](PostRoom::place).
    Waited(u64),
}

/// The reason why a POST was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PostRefused {
    /// The connection has ended.
    Closed,
    /// There is no room at the moment: wait for [`Wire::post_room`].
    NoRoom,
    /// The client cancelled the request while it waited.
    Cancelled,
}

/// The POSTs that wait, in order of arrival.
#[derive(Default)]
pub(super) struct PostQueue {
    waiting: VecDeque<Waiting>,
    next_place: u64,
    /// The number of requests and kept bytes when the first POST last found no room.
    seen: (usize, usize),
}

/// A POST that waits.
struct Waiting {
    place: u64,
    /// The id of its request.
    id: Option<Id<'static>>,
    /// Whether the client has cancelled the request. Its future is ready, and removes this entry.
    is_cancelled: bool,
    waker: Waker,
}

impl PostQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the POST that is accepted next.
    fn first(&self) -> Option<&Waiting> {
        self.waiting.iter().find(|waiting| !waiting.is_cancelled)
    }

    fn is_next(&self, place: Option<u64>) -> bool {
        self.first().is_none_or(|first| Some(first.place) == place)
    }

    fn position(&self, place: u64) -> Option<usize> {
        self.waiting.binary_search_by_key(&place, |waiting| waiting.place).ok()
    }

    fn get_mut(&mut self, place: u64) -> Option<&mut Waiting> {
        let at = self.position(place)?;
        self.waiting.get_mut(at)
    }
}

/// A future that is ready when there is room for a POST, or when its request is cancelled. It keeps the place in the
/// queue until it is dropped.
#[must_use = "a future does nothing unless it is awaited"]
pub struct PostRoom<'b> {
    wire: Arc<Wire<Server>>,
    body: &'b [u8],
    place: Option<u64>,
}

impl PostRoom<'_> {
    /// Returns the place of the POST in the queue.
    pub fn place(&self) -> Option<u64> {
        self.place
    }
}

impl Wire<Server> {
    /// Returns a future that is ready when there is room for a POST that was refused with
    /// [`NoRoom`](PostRefused::NoRoom). POSTs are accepted in order of arrival. Pass the POST to
    /// [`post`](Self::post) before this future is dropped: it refuses a request that was cancelled meanwhile.
    pub fn post_room<'b>(self: &Arc<Self>, body: &'b [u8]) -> PostRoom<'b> {
        PostRoom { wire: Arc::clone(self), body, place: None }
    }
}

impl Future for PostRoom<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self { wire, body, place } = &mut *self;
        let mut state = wire.lock();
        let has_room = state.may_enter(body, &wire.limits, *place);
        let in_flight = state.machine.in_flight();
        let counts = in_flight.counts();
        let id = match *place {
            Some(_) => None,
            None => Frames::of(body, &wire.limits)
                .next()
                .and_then(|frame| Some(in_flight.request_id(&frame)?.into_owned())),
        };
        let queue = state.http.transport.get_or_insert_default();
        let (mut old, mut is_cancelled) = (None, false);
        match place.and_then(|place| queue.get_mut(place)) {
            Some(own) => {
                is_cancelled = own.is_cancelled;
                old = Some(std::mem::replace(&mut own.waker, context.waker().clone()));
            }
            None => {
                queue.next_place += 1;
                let (own, waker) = (queue.next_place, context.waker().clone());
                queue.waiting.push_back(Waiting { place: own, id, is_cancelled, waker });
                *place = Some(own);
            }
        }
        if queue.is_next(*place) {
            queue.seen = (counts.inbound, counts.kept_bytes);
        }
        drop(state);
        drop(old);
        if has_room || is_cancelled { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for PostRoom<'_> {
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        let mut state = self.wire.lock();
        let Some(queue) = &mut state.http.transport else { return };
        let own = queue.position(place).and_then(|at| queue.waiting.remove(at));
        // There may be room for the next POST as well.
        let next = queue.first().map(|first| first.waker.clone());
        if queue.waiting.is_empty() {
            state.http.transport = None;
        }
        drop(state);
        drop(own);
        next.into_iter().for_each(Waker::wake);
    }
}

impl fmt::Debug for PostRoom<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PostRoom").field("place", &self.place).finish_non_exhaustive()
    }
}

impl State<Server> {
    /// Whether a POST with this place, or without one, is next in the queue, and the machine has room for its
    /// request.
    pub(super) fn may_enter(&self, body: &[u8], limits: &Limits, place: Option<u64>) -> bool {
        if self.machine.phase() == Phase::Closed {
            return true;
        }
        // The endpoint limits unsent output; the machine does not count it either.
        let has_room = |frame| self.machine.in_flight().has_room_for(&frame, 0);
        let is_next = self.http.transport.as_ref().is_none_or(|queue| queue.is_next(place));
        is_next && Frames::of(body, limits).next().is_none_or(has_room)
    }

    /// Whether the request at this place in the queue was cancelled.
    pub(super) fn is_cancelled(&mut self, place: u64) -> bool {
        let queue = self.http.transport.as_mut();
        queue.and_then(|queue| queue.get_mut(place)).is_some_and(|waiting| waiting.is_cancelled)
    }

    /// Cancels the waiting request that this frame names, if there is one. The machine ignores such a cancellation, but
    /// needs the frame nevertheless: it may be the last one of a batch.
    pub(super) fn cancel_waiting(&mut self, frame: &Frame<'_>) {
        if !self.http.waits_for_room() {
            return;
        }
        let Some(id) = self.machine.in_flight().cancelled_before_receipt(frame) else { return };
        let Some(queue) = &mut self.http.transport else { return };
        let is_named =
            |waiting: &&mut Waiting| !waiting.is_cancelled && waiting.id.as_ref() == Some(&id);
        let Some(named) = queue.waiting.iter_mut().find(is_named) else { return };
        named.is_cancelled = true;
        // When the task of the POST drops its future, it wakes the next POST.
        self.after.wake([named.waker.clone()]);
    }
}

impl<M: Machine> State<M> {
    /// Wakes the first POST of the queue if it may have room now.
    pub(super) fn wake_posts(&mut self) {
        let Some(queue) = &mut self.http.transport else { return };
        let Some(Waiting { waker, .. }) = queue.first() else { return };
        let counts = self.machine.in_flight().counts();
        let (inbound, bytes) = queue.seen;
        let is_closed = self.machine.phase() == Phase::Closed;
        if is_closed || counts.inbound < inbound || counts.kept_bytes < bytes {
            self.after.wake([waker.clone()]);
            queue.seen = (counts.inbound, counts.kept_bytes);
        }
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    /// A cancelled POST keeps its place until its task has noticed, and holds up no other.
    #[test]
    fn a_cancelled_post_is_not_next() {
        let mut queue = PostQueue::default();
        for place in 1..=3 {
            let waker = Waker::noop().clone();
            queue.waiting.push_back(Waiting { place, id: None, is_cancelled: place == 1, waker });
        }
        let next = |queue: &PostQueue| (1..=4).find(|place| queue.is_next(Some(*place)));
        assert_eq!(next(&queue), Some(2));
        queue.waiting.pop_front();
        assert_eq!((next(&queue), queue.position(3)), (Some(2), Some(1)));
        queue.waiting.clear();
        assert!(queue.is_next(None) && queue.is_empty());
    }
}
