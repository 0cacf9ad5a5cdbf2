//! The kept bytes of a connection, as a part of a total over several connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::HttpOutboxes;
use crate::machine::Machine;
use crate::out::Out;
use crate::wire::State;

/// The most streams that are counted per operation, so that the cost of an operation does not grow with the number
/// of streams.
const STREAMS_AT_A_TIME: usize = 8;

/// The kept bytes of several connections together, which an endpoint limits.
#[derive(Debug)]
pub struct KeptTotal {
    bytes: AtomicUsize,
    most_with_events: usize,
}

impl KeptTotal {
    /// Creates a total of 0 bytes. While it is above `most_with_events`, its connections store no events for clients
    /// that resume a stream: unlike the other kept bytes, those are not needed.
    pub const fn new(most_with_events: usize) -> Self {
        Self { bytes: AtomicUsize::new(0), most_with_events }
    }

    /// Returns the counter of the bytes. A caller subtracts what it has added.
    pub const fn bytes(&self) -> &AtomicUsize {
        &self.bytes
    }
}

/// The share of a connection in a [`KeptTotal`]. Dropping it subtracts the share.
#[derive(Default)]
pub(super) struct KeptBytes {
    total: Option<Arc<KeptTotal>>,
    /// The bytes of this connection in the total.
    counted: usize,
    /// The number of operations since the bytes were last counted.
    skipped: usize,
}

impl KeptBytes {
    /// Creates an empty share of this total.
    pub(super) fn in_total(total: Arc<KeptTotal>) -> Self {
        Self { total: Some(total), ..Self::default() }
    }

    /// Moves the share to another total.
    pub(super) fn move_to(&mut self, total: &Arc<KeptTotal>) {
        if self.total.as_ref().is_none_or(|own| !Arc::ptr_eq(own, total)) {
            let bytes = self.counted;
            *self = Self::in_total(Arc::clone(total));
            self.set(bytes);
        }
    }

    fn set(&mut self, bytes: usize) {
        if let Some(total) = self.total.as_ref().filter(|_| bytes != self.counted) {
            // Adding first keeps the total from going below zero.
            total.bytes.fetch_add(bytes, Ordering::Relaxed);
            total.bytes.fetch_sub(self.counted, Ordering::Relaxed);
            self.counted = bytes;
        }
    }

    /// Whether the connections together keep too much to store events.
    fn is_too_much(&self) -> bool {
        let total = self.total.as_ref();
        total.is_some_and(|total| total.most_with_events < total.bytes.load(Ordering::Relaxed))
    }
}

impl Drop for KeptBytes {
    fn drop(&mut self) {
        self.set(0);
    }
}

impl<M: Machine> State<M> {
    /// Updates the total. With very many streams, only some operations do so.
    pub(crate) fn count_kept_bytes(&mut self) {
        let Out::Http(HttpOutboxes::Responses(streams)) = &self.out else { return };
        if self.http.kept.total.is_none() {
            return;
        }
        self.http.kept.skipped += 1;
        if self.http.kept.skipped.saturating_mul(STREAMS_AT_A_TIME) < streams.stream_count() {
            return;
        }
        // The endpoint itself counts a modern request until it has been answered.
        let bytes =
            if streams.serves_one_request() { streams.unsent_bytes() } else { self.kept_bytes() };
        self.http.kept.skipped = 0;
        self.http.kept.set(bytes);
        if let Out::Http(HttpOutboxes::Responses(streams)) = &mut self.out
            && 0 < streams.stored_bytes()
            && self.http.kept.is_too_much()
        {
            streams.forget_events();
            let bytes = self.kept_bytes();
            self.http.kept.set(bytes);
        }
    }
}
