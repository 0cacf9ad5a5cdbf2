//! The queue of requests about tasks, which no handler receives.

use std::collections::VecDeque;

use mcp_sansio::IncomingId;

use crate::host::HostRequest;
use crate::lazy_box::LazyBox;

/// The requests whose responses did not fit in the outbox yet. The machine bounds their number.
#[derive(Default)]
pub(crate) struct PendingHostRequests {
    waiting: LazyBox<VecDeque<(IncomingId, HostRequest)>>,
}

impl PendingHostRequests {
    pub(crate) fn push(&mut self, id: IncomingId, host_request: HostRequest) {
        self.waiting.needed().push_back((id, host_request));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.get().is_none_or(VecDeque::is_empty)
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.get().map_or(0, VecDeque::len)
    }

    pub(crate) fn pop(&mut self) -> Option<(IncomingId, HostRequest)> {
        self.waiting.get_mut()?.pop_front()
    }

    /// Puts a request back in front, because its response did not fit.
    pub(crate) fn push_back(&mut self, id: IncomingId, host_request: HostRequest) {
        self.waiting.needed().push_front((id, host_request));
    }
}
