//! The queue of events for the application, without requests, and their delivery in order.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::handle::Handle;
use crate::lazy_box::LazyBox;
use crate::machine::Machine;
use crate::wakers::{WakerSlot, Wakers};
use crate::wire::Wire;

/// The most events that wait for a slow handler. Later ones are dropped.
const MOST_WAITING: usize = 1024;

/// The queue of undelivered events.
pub(crate) struct Events<M: Machine> {
    most_bytes: u32,
    /// The events, with the bytes of the peer's data that each holds. Boxed, because most connections have one
    /// event at the beginning and one at the end, and many connections may be idle.
    waiting: LazyBox<VecDeque<(M::Event, u32)>>,
    /// The bytes of the peer's data in all events together.
    bytes: u32,
    /// The number of events so far. It begins again after the largest number, and only differences count.
    arrived: u32,
    /// Whether an [`EventDelivery`] exists.
    is_delivering: bool,
    /// Whether the handler has an event and has not returned.
    is_handling: bool,
    /// The futures that wait until earlier events have been handled.
    pub(crate) barriers: Wakers,
}

impl<M: Machine> Events<M> {
    pub(crate) const fn new(most_bytes: usize) -> Self {
        // A queue of 4 GiB has no other limit.
        let most_bytes = if most_bytes < u32::MAX as usize { most_bytes as u32 } else { u32::MAX };
        Self {
            most_bytes,
            waiting: LazyBox::NONE,
            bytes: 0,
            arrived: 0,
            is_delivering: false,
            is_handling: false,
            barriers: Wakers::new(),
        }
    }

    /// Adds an event. If the queue is full, the event is dropped, unless it reports the end of the connection.
    pub(crate) fn push(&mut self, event: M::Event, bytes: usize) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let together = self.bytes.saturating_add(bytes);
        let waiting = self.waiting.needed();
        let is_full = MOST_WAITING <= waiting.len() || self.most_bytes < together;
        if waiting.is_empty() || !is_full || M::is_last_word(&event) {
            self.bytes = together;
            waiting.push_back((event, bytes));
            self.arrived = self.arrived.wrapping_add(1);
        }
    }

    /// Whether events wait for their delivery to begin.
    pub(crate) fn has_new(&self) -> bool {
        !self.is_delivering && self.has_waiting()
    }

    /// Claims the delivery. Returns whether the caller has to deliver the events.
    pub(crate) fn begin(&mut self) -> bool {
        let begins = self.has_new();
        self.is_delivering |= begins;
        begins
    }

    /// Whether all events have been delivered.
    pub(crate) fn is_idle(&self) -> bool {
        !self.has_waiting() && !self.is_delivering
    }

    fn has_waiting(&self) -> bool {
        self.waiting.get().is_some_and(|waiting| !waiting.is_empty())
    }

    /// Returns how many events the handler has returned from.
    fn handled(&self) -> u32 {
        // At most a few more than `MOST_WAITING`.
        let waiting = self.waiting.get().map_or(0, VecDeque::len) as u32;
        self.arrived.wrapping_sub(waiting).wrapping_sub(u32::from(self.is_handling))
    }

    /// Ends the delivery: the next event starts another one.
    fn end(&mut self) {
        (self.is_delivering, self.is_handling) = (false, false);
        if !self.has_waiting() {
            self.waiting = LazyBox::NONE;
        }
    }

    /// Whether an [`EventDelivery`] exists.
    pub(crate) const fn is_delivering(&self) -> bool {
        self.is_delivering
    }

    fn next(&mut self) -> Option<M::Event> {
        let next = self.waiting.get_mut().and_then(VecDeque::pop_front);
        self.is_handling = next.is_some();
        let (event, bytes) = next?;
        self.bytes = self.bytes.saturating_sub(bytes);
        Some(event)
    }
}

/// An iterator that delivers the events of a connection to its handler, in order. A connection has at most one at a
/// time.
pub struct EventDelivery<M: Machine> {
    handle: Handle<M>,
    has_begun: bool,
}

impl<M: Machine> EventDelivery<M> {
    pub(crate) fn new(wire: &Arc<Wire<M>>) -> Self {
        Self { handle: Handle::new(wire), has_begun: false }
    }

    /// Returns the connection of the events.
    pub const fn handle(&self) -> &Handle<M> {
        &self.handle
    }
}

impl<M: Machine> Iterator for EventDelivery<M> {
    type Item = M::Event;

    /// Returns the next event. After `None`, drop the delivery.
    fn next(&mut self) -> Option<M::Event> {
        self.has_begun = true;
        let (event, woken) = {
            let mut state = self.handle.wire().lock();
            (state.events.next(), state.events.barriers.take())
        };
        woken.for_each(Waker::wake);
        event
    }
}

impl<M: Machine> Drop for EventDelivery<M> {
    fn drop(&mut self) {
        let wire = self.handle.wire();
        if self.has_begun {
            // Another delivery takes the events that arrived in the meantime or were left by a handler that
            // panicked.
            wire.act(|state| {
                state.events.end();
                let woken = state.events.barriers.take();
                state.after.wake(woken);
            });
        } else {
            // The job was dropped before it ran, so starting another one now would be futile.
            let (woken, retired) = {
                let mut state = wire.lock();
                state.events.end();
                (state.events.barriers.take(), state.retired())
            };
            woken.for_each(Waker::wake);
            drop(retired);
        }
    }
}

/// A future that is ready when the handler has returned from all events that had arrived before its first poll, or when
/// the connection has ended and no handler is left: `await` it. See [`Handle::events_handled`].
#[must_use = "a future does nothing unless it is awaited"]
#[derive(Debug)]
pub struct EventsHandled<M: Machine> {
    handle: Handle<M>,
    /// The number of events that have to be handled, from the first poll on.
    target: Option<u32>,
    place: WakerSlot,
}

impl<M: Machine> EventsHandled<M> {
    pub(crate) const fn new(handle: Handle<M>) -> Self {
        Self { handle, target: None, place: WakerSlot::NONE }
    }
}

impl<M: Machine> Future for EventsHandled<M> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self { handle, target, place } = &mut *self;
        let mut state = handle.wire().lock();
        let target = *target.get_or_insert(state.events.arrived);
        // The runtime of the handler may have ended before the connection. Then nothing handles the other events.
        let is_over = state.has_ended() && !state.events.is_delivering;
        // The number of events in between is far below half of all numbers.
        if is_over || state.events.handled().wrapping_sub(target) <= u32::MAX / 2 {
            return Poll::Ready(());
        }
        let old = state.events.barriers.register(place, context);
        drop(state);
        drop(old);
        Poll::Pending
    }
}

impl<M: Machine> Drop for EventsHandled<M> {
    fn drop(&mut self) {
        let left = self.handle.wire().lock().events.barriers.remove(&self.place);
        drop(left);
    }
}

impl<M: Machine> fmt::Debug for EventDelivery<M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("EventDelivery")
            .field("handle", &self.handle)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use mcp_sansio::{Cause, Server, ServerEvent};

    use super::*;

    /// The bytes of waiting events are bounded. The end of the connection is reported in any case.
    #[test]
    fn waiting_events_have_a_bound_in_bytes() {
        let mut events = Events::<Server>::new(100);
        for _ in 0..3 {
            for bytes in [60, 40, 1] {
                events.push(ServerEvent::Ready, bytes);
            }
            events.push(ServerEvent::Closed { cause: Cause::ShutDown }, 1);
            let delivered: Vec<_> = std::iter::from_fn(|| events.next()).collect();
            let end = ServerEvent::Closed { cause: Cause::ShutDown };
            assert_eq!(delivered, [ServerEvent::Ready, ServerEvent::Ready, end]);
        }
    }
}
