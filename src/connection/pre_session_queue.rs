//! `PreSessionQueue`: calls and notifications that wait for the handshake, encoded and in order.

use alloc::collections::VecDeque;

use super::call_options::CallError;
use super::outboxes::Route;
use crate::frame::{Queue, Serial};
use crate::handle::CallId;
use crate::lazy_box::Empty;
use crate::schema::{EncodeError, Writer};

/// The metadata of a queued message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Waiting {
    pub(super) route: Route,
    pub(super) call: Option<CallId>,
    /// Whether the peer is known to be subscribed to the notification, so that its params are not checked.
    pub(super) is_wanted: bool,
}

/// The queue of messages that wait for the handshake.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct PreSessionQueue {
    queue: Queue<Waiting>,
    /// Whether a log message that belongs to no request is queued.
    has_log: bool,
    /// The calls that the negotiated session does not allow, and whose end has not been returned.
    refused: VecDeque<(CallId, CallError)>,
}

impl Empty for PreSessionQueue {
    const EMPTY: &'static Self =
        &Self { queue: Queue::new(), has_log: false, refused: VecDeque::new() };
}

impl PreSessionQueue {
    /// Returns the number of queued bytes.
    pub(super) const fn len(&self) -> usize {
        self.queue.len()
    }

    /// Queues a message, unless the queue would exceed `limit` bytes.
    pub(super) fn hold(
        &mut self,
        limit: usize,
        waiting: Waiting,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>,
    ) -> Result<Serial, EncodeError> {
        self.queue.append(limit, waiting, b"", write)
    }

    /// Whether a log message that belongs to no request is queued.
    pub(super) const fn has_log(&self) -> bool {
        self.has_log
    }

    /// Notes that the last message is such a log message.
    pub(super) const fn note_log(&mut self) {
        self.has_log = true;
    }

    /// Removes the last message if it repeats the one before it.
    pub(super) fn drop_repeated(&mut self) -> bool {
        self.queue.drop_repeated()
    }

    pub(super) fn withdraw(&mut self, serial: Serial, route: Route, call: CallId) -> bool {
        self.queue.withdraw(serial, &Waiting { route, call: Some(call), is_wanted: true })
    }

    /// Whether there are refused calls whose end has not been returned.
    pub(super) fn has_refused(&self) -> bool {
        !self.refused.is_empty()
    }

    /// Notes that the negotiated session does not allow a call.
    pub(super) fn refuse(&mut self, call: CallId, error: CallError) {
        self.refused.push_back((call, error));
    }

    /// Removes and returns the next refused call.
    pub(super) fn next_refused(&mut self) -> Option<(CallId, CallError)> {
        self.refused.pop_front()
    }

    /// Whether no message is queued.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Takes all queued messages.
    pub(super) fn take_queue(&mut self) -> Queue<Waiting> {
        self.has_log = false;
        core::mem::take(&mut self.queue)
    }

    /// Removes and returns the next queued call. Drops the notifications before it.
    pub(super) fn next_call(&mut self) -> Option<CallId> {
        self.queue.drain().find_map(|(_, waiting)| waiting.call)
    }
}
