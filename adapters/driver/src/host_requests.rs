//! The queue of requests about tasks, which no handler receives.

use std::collections::{HashMap, VecDeque};

use mcp_sansio::IncomingId;

use crate::host::HostRequest;
use crate::lazy_box::LazyBox;

/// The requests whose responses did not fit in the outbox yet, in order.
///
/// Each of them is open in the machine, which bounds their number and their bytes: a cancelled request leaves the queue
/// at once.
#[derive(Default)]
pub(crate) struct PendingHostRequests {
    queue: LazyBox<Queue>,
}

#[derive(Default)]
struct Queue {
    /// The order of the requests. A cancelled request leaves its id behind.
    order: VecDeque<IncomingId>,
    requests: HashMap<IncomingId, HostRequest>,
    /// The number of unsent bytes beside which the response to the first request had no room.
    full_at: Option<usize>,
}

/// The number of ids for which the memory of an empty queue is kept.
const KEPT_IDS: usize = 8;

impl PendingHostRequests {
    pub(crate) fn push(&mut self, id: IncomingId, host_request: HostRequest) {
        let queue = self.queue.needed();
        queue.order.push_back(id);
        queue.requests.insert(id, host_request);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.queue.get().map_or(0, |queue| queue.requests.len())
    }

    pub(crate) fn pop(&mut self) -> Option<(IncomingId, HostRequest)> {
        let queue = self.queue.get_mut()?;
        queue.full_at = None;
        let first = loop {
            let id = queue.order.pop_front()?;
            if let Some(host_request) = queue.requests.remove(&id) {
                break (id, host_request);
            }
        };
        if queue.requests.is_empty() && KEPT_IDS < queue.order.capacity() {
            // A burst of requests has grown the queue.
            *queue = Queue::default();
        }
        Some(first)
    }

    /// Puts a request back in front, because its response did not fit beside this number of unsent bytes.
    pub(crate) fn push_back(&mut self, id: IncomingId, host_request: HostRequest, unsent: usize) {
        let queue = self.queue.needed();
        queue.order.push_front(id);
        queue.requests.insert(id, host_request);
        queue.full_at = Some(unsent);
    }

    /// Whether the response to the first request had no room, and no byte has left since.
    pub(crate) fn is_stuck(&self, unsent: usize) -> bool {
        let full_at = self.queue.get().and_then(|queue| queue.full_at);
        full_at.is_some_and(|full_at| full_at <= unsent)
    }

    /// Removes a cancelled request. Returns whether it was in the queue.
    pub(crate) fn remove(&mut self, id: IncomingId) -> bool {
        let Some(queue) = self.queue.get_mut() else { return false };
        let was_queued = queue.requests.remove(&id).is_some();
        if was_queued {
            // It may have been the first one.
            queue.full_at = None;
            queue.close_ranks();
        }
        was_queued
    }

    /// Returns the number of ids in the queue, including those of cancelled requests.
    #[cfg(test)]
    pub(crate) fn ids(&self) -> usize {
        self.queue.get().map_or(0, |queue| queue.order.len())
    }
}

impl Queue {
    /// Removes the ids of cancelled requests once they are the majority: the peer could leave any number of them
    /// behind.
    fn close_ranks(&mut self) {
        if 2 * self.requests.len() + KEPT_IDS < self.order.len() {
            let requests = &self.requests;
            self.order.retain(|id| requests.contains_key(id));
        }
    }
}
