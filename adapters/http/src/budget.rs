//! How many bytes an endpoint keeps of all its clients.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use mcp_sansio::Server;
use mcp_sansio::http::Reply;
use mcp_sansio_driver::Wire;
use tokio::time::Instant;

/// The bytes that an endpoint may keep. Clones are of the same ones.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    used: AtomicUsize,
    most: usize,
}

impl Budget {
    /// So many, none of them used.
    pub(crate) fn new(most: usize) -> Self {
        Self { inner: Arc::new(Inner { used: AtomicUsize::new(0), most }) }
    }

    /// How many are used.
    pub(crate) fn used(&self) -> usize {
        self.inner.used.load(Ordering::Relaxed)
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
        let Inner { used, most } = &*self.budget.inner;
        let grown = |used: usize| used.checked_add(bytes).filter(|grown| grown <= most);
        match used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown) {
            Ok(_) => {
                self.bytes += bytes;
                Ok(())
            }
            Err(_) => Err(Reply::busy("the server keeps too many bytes (EndpointOptions::bytes)")),
        }
    }

    /// Takes so many bytes in all, more or fewer than before. What is there already is not refused.
    fn become_of(&mut self, bytes: usize) {
        let used = &self.budget.inner.used;
        used.fetch_add(bytes, Ordering::Relaxed);
        used.fetch_sub(self.bytes, Ordering::Relaxed);
        self.bytes = bytes;
    }

    /// The bytes of a body, and whoever has those keeps their share. What is there already is not refused.
    pub(crate) fn lend(&self, body: Vec<u8>) -> Bytes {
        let bytes = body.capacity();
        self.budget.inner.used.fetch_add(bytes, Ordering::Relaxed);
        let share = Self { budget: self.budget.clone(), bytes };
        Bytes::from_owner(Lent { body, _share: share })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.inner.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// What sessions keep of their clients while no response is open: requests whose clients have gone, and what waits for
/// these.
///
/// It is looked at when a response of the session ends, and of all sessions when there is no room left.
#[derive(Debug, Default)]
pub(crate) struct Held {
    sessions: BTreeMap<u32, (Weak<Wire<Server>>, Share)>,
    looked_at: Option<Instant>,
}

impl Held {
    /// A response of a session has ended.
    pub(crate) fn note(&mut self, budget: &Budget, number: u32, wire: &Arc<Wire<Server>>) {
        let bytes = wire.kept_bytes();
        if bytes == 0 {
            self.sessions.remove(&number);
            return;
        }
        let known = self.sessions.entry(number);
        let (_, share) = known.or_insert_with(|| (Arc::downgrade(wire), budget.share()));
        share.become_of(bytes);
    }

    /// Looks at all of them, unless that has been done a moment ago.
    pub(crate) fn look(&mut self) {
        let now = Instant::now();
        if self.looked_at.is_some_and(|before| now < before + MOMENT) {
            return;
        }
        self.looked_at = Some(now);
        self.sessions.retain(|_, (wire, share)| {
            let bytes = wire.upgrade().map_or(0, |wire| wire.kept_bytes());
            share.become_of(bytes);
            bytes != 0
        });
    }
}

/// How often all sessions are looked at, at most: there can be ten thousand.
const MOMENT: Duration = Duration::from_millis(100);

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
