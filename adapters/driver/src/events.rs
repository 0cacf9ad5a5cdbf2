//! The queue of events for the application, without requests, and their delivery in order.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use crate::handle::Handle;
use crate::lazy_box::LazyBox;
use crate::machine::Machine;
use crate::wire::Wire;

/// The most events that wait for a slow handler. Later ones are dropped.
const MOST_WAITING: usize = 1024;

/// The queue of undelivered events.
pub(crate) struct Events<M: Machine> {
    most_bytes: usize,
    /// The events, with the bytes of the peer's data that each holds. Boxed, because most connections have one
    /// event at the beginning and one at the end, and many connections may be idle.
    waiting: LazyBox<VecDeque<(M::Event, usize)>>,
    /// The bytes of the peer's data in all events together.
    bytes: usize,
    /// Whether an [`EventDelivery`] exists.
    is_delivering: bool,
}

impl<M: Machine> Events<M> {
    pub(crate) const fn new(most_bytes: usize) -> Self {
        Self { most_bytes, waiting: LazyBox::NONE, bytes: 0, is_delivering: false }
    }

    /// Adds an event. If the queue is full, the event is dropped, unless it reports the end of the connection.
    pub(crate) fn push(&mut self, event: M::Event, bytes: usize) {
        let together = self.bytes.saturating_add(bytes);
        let waiting = self.waiting.needed();
        let is_full = MOST_WAITING <= waiting.len() || self.most_bytes < together;
        if waiting.is_empty() || !is_full || M::is_last_word(&event) {
            self.bytes = together;
            waiting.push_back((event, bytes));
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

    /// Ends the delivery: the next event starts another one.
    fn end(&mut self) {
        self.is_delivering = false;
        if !self.has_waiting() {
            self.waiting = LazyBox::NONE;
        }
    }

    fn next(&mut self) -> Option<M::Event> {
        let (event, bytes) = self.waiting.get_mut()?.pop_front()?;
        self.bytes -= bytes;
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
        self.handle.wire().lock().events.next()
    }
}

impl<M: Machine> Drop for EventDelivery<M> {
    fn drop(&mut self) {
        let wire = self.handle.wire();
        if self.has_begun {
            // Another delivery takes the events that arrived in the meantime or were left by a handler that
            // panicked.
            wire.act(|state| state.events.end());
        } else {
            // The job was dropped before it ran, so starting another one now would be futile.
            wire.lock().events.end();
        }
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
