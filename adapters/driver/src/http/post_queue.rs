//! The queue of POSTs of a session that wait until its machine has room.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use mcp_sansio::{Frames, Limits, Phase, Server};

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
}

/// The POSTs that wait, in order of arrival.
#[derive(Default)]
pub(super) struct PostQueue {
    waiting: VecDeque<(u64, Waker)>,
    next_place: u64,
    /// The number of requests and kept bytes when the first POST last found no room.
    seen: (usize, usize),
}

impl PostQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    fn is_next(&self, place: Option<u64>) -> bool {
        self.waiting.front().is_none_or(|(first, _)| Some(*first) == place)
    }

    fn position(&self, place: u64) -> Option<usize> {
        self.waiting.binary_search_by_key(&place, |(place, _)| *place).ok()
    }
}

/// A future that is ready when there is room for a POST. It keeps the place in the queue until it is dropped.
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
    /// [`post`](Self::post) before this future is dropped.
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
        let counts = state.machine.in_flight().counts();
        let queue = state.http.transport.get_or_insert_default();
        let own = match place.and_then(|place| queue.position(place)) {
            Some(at) => queue.waiting.get_mut(at).map(|(_, waker)| waker),
            None => {
                queue.next_place += 1;
                *place = Some(queue.next_place);
                queue.waiting.push_back((queue.next_place, context.waker().clone()));
                None
            }
        };
        let old = own.map(|own| std::mem::replace(own, context.waker().clone()));
        if queue.is_next(*place) {
            queue.seen = (counts.inbound, counts.kept_bytes);
        }
        drop(state);
        drop(old);
        if has_room { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for PostRoom<'_> {
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        let mut state = self.wire.lock();
        let Some(queue) = &mut state.http.transport else { return };
        let own = queue.position(place).and_then(|at| queue.waiting.remove(at));
        // There may be room for the next POST as well.
        let next = queue.waiting.front().map(|(_, waker)| waker.clone());
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
}

impl<M: Machine> State<M> {
    /// Wakes the first POST of the queue if it may have room now.
    pub(super) fn wake_posts(&mut self) {
        let Some(queue) = &mut self.http.transport else { return };
        let Some((_, waker)) = queue.waiting.front() else { return };
        let counts = self.machine.in_flight().counts();
        let (inbound, bytes) = queue.seen;
        let is_closed = self.machine.phase() == Phase::Closed;
        if is_closed || counts.inbound < inbound || counts.kept_bytes < bytes {
            self.after.wake([waker.clone()]);
            queue.seen = (counts.inbound, counts.kept_bytes);
        }
    }
}
