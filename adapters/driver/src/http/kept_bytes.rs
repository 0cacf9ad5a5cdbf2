//! The bytes that a connection keeps, counted together with those of others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::HttpOutboxes;
use crate::machine::Machine;
use crate::out::Out;
use crate::wire::State;

/// How many streams are looked at for one thing that happens, at most: so the work for it does not grow with the number
/// of streams.
const STREAMS_AT_A_TIME: usize = 8;

/// The part of a connection in a total that several connections share. It is taken off when this is dropped.
#[derive(Default)]
pub(super) struct KeptBytes {
    total: Option<Arc<AtomicUsize>>,
    /// How many of them are of this connection.
    counted: usize,
    /// How often something has happened since that was found out.
    skipped: usize,
}

impl KeptBytes {
    /// None yet, in this total.
    pub(super) fn in_total(total: Arc<AtomicUsize>) -> Self {
        Self { total: Some(total), ..Self::default() }
    }

    fn set(&mut self, bytes: usize) {
        if let Some(total) = self.total.as_ref().filter(|_| bytes != self.counted) {
            // In this order the total is never below zero.
            total.fetch_add(bytes, Ordering::Relaxed);
            total.fetch_sub(self.counted, Ordering::Relaxed);
            self.counted = bytes;
        }
    }
}

impl Drop for KeptBytes {
    fn drop(&mut self) {
        self.set(0);
    }
}

impl<M: Machine> State<M> {
    /// Brings the total up to date. With very many streams that is done after some of the things that happen only.
    pub(crate) fn count_kept_bytes(&mut self) {
        let Out::Http(HttpOutboxes::Responses(streams)) = &self.out else { return };
        if self.http.kept.total.is_none() {
            return;
        }
        self.http.kept.skipped += 1;
        if self.http.kept.skipped.saturating_mul(STREAMS_AT_A_TIME) < streams.stream_count() {
            return;
        }
        // The endpoint counts a request that stands alone until it has been answered.
        let bytes = if streams.is_alone() { streams.unsent_bytes() } else { self.kept_bytes() };
        self.http.kept.skipped = 0;
        self.http.kept.set(bytes);
    }
}
