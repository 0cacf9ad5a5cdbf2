//! `PreSessionQueue`: calls and notifications that wait for the handshake, encoded and in order.

use alloc::collections::VecDeque;

use super::call_options::CallError;
use super::outboxes::Route;
use crate::frame::{Queue, Serial};
use crate::handle::CallId;
use crate::lazy_box::Empty;
use crate::schema::{EncodeError, Writer};

/// What is known of a message that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Waiting {
    pub(super) route: Route,
    pub(super) call: Option<CallId>,
    /// The peer wants it, whatever it says.
    pub(super) is_wanted: bool,
}

/// What waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct PreSessionQueue {
    queue: Queue<Waiting>,
    /// Calls that may not be made in the session as it is, and have not been told so.
    refused: VecDeque<(CallId, CallError)>,
}

impl Empty for PreSessionQueue {
    const EMPTY: &'static Self = &Self { queue: Queue::new(), refused: VecDeque::new() };
}

impl PreSessionQueue {
    /// How many bytes wait.
    pub(super) const fn len(&self) -> usize {
        self.queue.len()
    }

    /// Takes in a message, unless more than `limit` bytes would wait.
    pub(super) fn hold(
        &mut self,
        limit: usize,
        waiting: Waiting,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>,
    ) -> Result<Serial, EncodeError> {
        self.queue.append(limit, waiting, b"", write)
    }

    /// Takes the last message out if it repeats the one in front of it.
    pub(super) fn drop_repeated(&mut self) -> bool {
        self.queue.drop_repeated()
    }

    pub(super) fn withdraw(&mut self, serial: Serial, route: Route, call: CallId) -> bool {
        self.queue.withdraw(serial, &Waiting { route, call: Some(call), is_wanted: true })
    }

    /// Whether calls were refused whose end has not been handed out.
    pub(super) fn has_refused(&self) -> bool {
        !self.refused.is_empty()
    }

    /// A call may not be made in the session as it is.
    pub(super) fn refuse(&mut self, call: CallId, error: CallError) {
        self.refused.push_back((call, error));
    }

    /// The next call that was refused.
    pub(super) fn next_refused(&mut self) -> Option<(CallId, CallError)> {
        self.refused.pop_front()
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Takes out everything that waits.
    pub(super) fn take_queue(&mut self) -> Queue<Waiting> {
        core::mem::take(&mut self.queue)
    }

    /// The next call that waits. Notifications in front of it are dropped.
    pub(super) fn next_call(&mut self) -> Option<CallId> {
        self.queue.drain().find_map(|(_, waiting)| waiting.call)
    }
}
