//! Everything that is not a request, told to the application one after the other.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use crate::handle::Handle;
use crate::lazy_box::LazyBox;
use crate::machine::Machine;
use crate::wire::Wire;

/// How many events may wait for a handler that takes its time. Later ones are dropped.
const MOST_WAITING: usize = 1024;

/// Events that wait to be told.
pub(crate) struct Events<M: Machine> {
    most_bytes: usize,
    /// With the bytes of the peer that they hold. In a box, because most connections have one at the beginning and one at
    /// the end, and there may be many that idle.
    waiting: LazyBox<VecDeque<(M::Event, usize)>>,
    /// How many bytes of the peer they hold together.
    bytes: usize,
    /// Somebody tells them, or is about to.
    is_told: bool,
}

impl<M: Machine> Events<M> {
    pub(crate) const fn new(most_bytes: usize) -> Self {
        Self { most_bytes, waiting: LazyBox::NONE, bytes: 0, is_told: false }
    }

    /// Takes an event in, unless there are too many and it is not one of those that must be told.
    pub(crate) fn push(&mut self, event: M::Event, bytes: usize) {
        let together = self.bytes.saturating_add(bytes);
        let waiting = self.waiting.needed();
        let is_full = MOST_WAITING <= waiting.len() || self.most_bytes < together;
        if waiting.is_empty() || !is_full || M::is_last_word(&event) {
            self.bytes = together;
            waiting.push_back((event, bytes));
        }
    }

    /// Whether there are events that nobody tells. Whoever asks tells them.
    pub(crate) fn begin(&mut self) -> bool {
        let begins = !self.is_told && self.has_waiting();
        self.is_told |= begins;
        begins
    }

    /// Whether everything has been told.
    pub(crate) fn is_idle(&self) -> bool {
        !self.has_waiting() && !self.is_told
    }

    fn has_waiting(&self) -> bool {
        self.waiting.get().is_some_and(|waiting| !waiting.is_empty())
    }

    /// Nobody tells them any more.
    fn end(&mut self) {
        self.is_told = false;
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

/// Delivers the events of a connection to its handler, in order. A connection has at most one at a time.
pub struct EventDelivery<M: Machine> {
    handle: Handle<M>,
    has_begun: bool,
}

impl<M: Machine> EventDelivery<M> {
    pub(crate) fn new(wire: &Arc<Wire<M>>) -> Self {
        Self { handle: Handle::new(wire), has_begun: false }
    }

    /// The connection that they are about.
    pub const fn handle(&self) -> &Handle<M> {
        &self.handle
    }
}

impl<M: Machine> Iterator for EventDelivery<M> {
    type Item = M::Event;

    /// The next event to tell. When there is none for now, drop this.
    fn next(&mut self) -> Option<M::Event> {
        self.has_begun = true;
        self.handle.wire().lock().events.next()
    }
}

impl<M: Machine> Drop for EventDelivery<M> {
    fn drop(&mut self) {
        let wire = self.handle.wire();
        if self.has_begun {
            // What has come meanwhile, or was left by a handler that has panicked, is told by another one.
            wire.act(|state| state.events.end());
        } else {
            // There was nobody to tell them, and there will not be anybody this very moment.
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
