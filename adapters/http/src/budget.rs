//! The bytes that an endpoint keeps for all its clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use mcp_sansio::http::Reply;

/// The bytes that an endpoint may keep. Clones are of the same ones.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    /// How many are used: by requests and answers, which have a [`Share`], and by the connections of sessions, which
    /// count what they keep themselves.
    used: Arc<AtomicUsize>,
    most: usize,
}

impl Budget {
    /// So many, none of them used.
    pub(crate) fn new(most: usize) -> Self {
        Self { used: Arc::default(), most }
    }

    /// How many are used.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The same for a connection, which counts there what it keeps.
    pub(crate) fn total(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.used)
    }

    /// A share without any bytes yet.
    pub(crate) fn share(&self) -> Share {
        Share { budget: self.clone(), bytes: 0 }
    }
}

/// Bytes of a [`Budget`] that are used until this is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Budget,
    bytes: usize,
}

impl Share {
    /// Takes so many bytes more.
    ///
    /// # Errors
    ///
    /// There are not so many left: the [`Reply`] refuses the request.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), Reply> {
        let Budget { used, most } = &self.budget;
        let grown = |used: usize| used.checked_add(bytes).filter(|grown| grown <= most);
        match used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown) {
            Ok(_) => {
                self.bytes += bytes;
                Ok(())
            }
            Err(_) => Err(Reply::busy("the server keeps too many bytes (EndpointOptions::bytes)")),
        }
    }

    /// Gives so many bytes back: they count elsewhere from now on.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.budget.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The bytes of a body, and whoever has those keeps their share. What is there already is not refused.
    pub(crate) fn lend(&self, body: Vec<u8>) -> Bytes {
        let bytes = body.capacity();
        self.budget.used.fetch_add(bytes, Ordering::Relaxed);
        let share = Self { budget: self.budget.clone(), bytes };
        Bytes::from_owner(Lent { body, _share: share })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A body with its share.
struct Lent {
    body: Vec<u8>,
    _share: Share,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}
