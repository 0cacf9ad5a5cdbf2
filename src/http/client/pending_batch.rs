//! [`PendingBatch`], the requests of a batch that wait for their responses.
//!
//! The ids are read from the message that is sent, so they match the message.

use alloc::string::String;
use alloc::vec::Vec;

use super::request::HeaderSource;
use super::response::each_answered;
use crate::handle::CallId;
use crate::json::Elements;
use crate::limits::Limits;

/// The calls of a batch that have not ended, each with the id of its request.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct PendingBatch {
    calls: Vec<CallId>,
    /// The ids of these calls on the wire, in the same order.
    ids: Vec<String>,
    /// Whether the batch also contains a notification, which must reach the server in any case.
    notifies: bool,
}

/// Omits the ids.
impl core::fmt::Debug for PendingBatch {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.calls.fmt(formatter)
    }
}

impl PendingBatch {
    /// Reads the ids of the requests in a batch. `calls` are the calls in the order of their requests; `None` is one
    /// that has ended.
    pub(super) fn read(message: &[u8], calls: &[Option<CallId>]) -> Self {
        let text = str::from_utf8(message).unwrap_or_default();
        let (mut calls, mut batch) = (calls.iter(), Self::default());
        for element in Elements::of(text) {
            match HeaderSource::read(element.as_json().as_bytes()).id {
                Some(id) => {
                    if let Some(Some(call)) = calls.next() {
                        batch.calls.push(*call);
                        batch.ids.push(String::from(id));
                    }
                }
                None => batch.notifies = true,
            }
        }
        batch
    }

    /// Whether the batch may still have to reach the server, although no call of it is left.
    pub(super) const fn notifies(&self) -> bool {
        self.notifies
    }

    pub(super) fn calls(&self) -> &[CallId] {
        &self.calls
    }

    /// Returns the call whose request has this id.
    pub(super) fn call_of(&self, id: &str) -> Option<CallId> {
        let at = self.ids.iter().position(|one| one == id)?;
        self.calls.get(at).copied()
    }

    /// Returns the ids of the requests, in the order of their calls.
    pub(super) fn ids(&self) -> &[String] {
        &self.ids
    }

    /// Removes a call. Returns the id of its request.
    pub(super) fn remove(&mut self, call: CallId) -> Option<String> {
        let at = self.calls.iter().position(|one| *one == call)?;
        self.calls.remove(at);
        // The lists have the same length.
        (at < self.ids.len()).then(|| self.ids.remove(at))
    }

    /// Returns the calls without a response in this text.
    pub(super) fn unanswered(
        mut self,
        text: &[u8],
        limits: &Limits,
        stringified: bool,
    ) -> Vec<CallId> {
        each_answered(text, limits, stringified, |id| {
            if let Some(call) = self.call_of(id) {
                self.remove(call);
            }
        });
        self.calls
    }
}
