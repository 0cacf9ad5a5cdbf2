//! `Budget`: the bytes that an endpoint keeps for all its clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use mcp_sansio::http::Reply;

/// The limit on the bytes that an endpoint keeps. Clones share one budget.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    /// The number of bytes in use: by requests and responses, which hold a [`Share`], and by the connections of
    /// sessions, which count their bytes themselves.
    used: Arc<AtomicUsize>,
    most: usize,
}

impl Budget {
    /// Creates an unused budget of this many bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self { used: Arc::default(), most }
    }

    /// Returns the number of bytes in use.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Returns the counter for a connection, which adds the bytes that it keeps.
    pub(crate) fn total(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.used)
    }

    /// Creates an empty share.
    pub(crate) fn share(&self) -> Share {
        Share { budget: self.clone(), bytes: 0 }
    }
}

/// Bytes of a [`Budget`] that are in use until this value is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Budget,
    bytes: usize,
}

impl Share {
    /// Takes more bytes from the budget.
    ///
    /// # Errors
    ///
    /// If the budget is exhausted: the [`Reply`] refuses the request.
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

    /// Returns bytes to the budget, because they are counted elsewhere from now on.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.budget.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Wraps a body so that its bytes count until it is dropped. This never fails, because the body already exists.
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
