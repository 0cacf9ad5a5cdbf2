//! `Budget`: the bytes that an endpoint keeps for all its clients.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::http::request::Parts;
use mcp_sansio::http::Reply;
use mcp_sansio_driver::KeptTotal;

/// How many bytes a byte of a body counts: the bytes read, the handler's copy, its result, and the state of the connection.
pub(crate) const BYTES_PER_BODY_BYTE: usize = 4;

/// The assumed memory of a request besides its body, until its response ends: its head, its connection, its handler, its
/// streams.
const REQUEST_BYTES: usize = 8 << 10;

/// The part of these bytes that is for the head. A longer head counts with the bytes beyond it.
const USUAL_HEAD_BYTES: usize = 2 << 10;

/// The limit on the bytes that an endpoint keeps. Clones share one budget.
///
/// An eighth is reserved for small requests that find no other room: accepted requests keep more and more bytes, and other
/// clients need not notice. The reserve has no limit per client.
#[derive(Clone, Debug)]
pub(crate) struct Budget(Arc<Pools>);

#[derive(Debug)]
struct Pools {
    /// For everything: requests and responses, which hold a [`Share`], and the connections of sessions, which count their
    /// bytes themselves.
    common: Pool,
    /// For small requests only, and for their responses. Requests of sessions count here as well, but not what their
    /// connections keep: all requests of a session share that, and it has limits of its own.
    reserve: Pool,
    /// The most bytes of a small request.
    small: usize,
}

/// The most bytes of a small request; less with a small budget.
const SMALL: usize = 256 << 10;

impl Budget {
    /// Creates an unused budget of this many bytes.
    pub(crate) fn new(most: usize) -> Self {
        let reserve = most / 8;
        Self(Arc::new(Pools {
            common: Pool::new(most - reserve),
            reserve: Pool::new(reserve),
            small: SMALL.min(most / 16),
        }))
    }

    /// Returns the number of bytes in use.
    pub(crate) fn used(&self) -> usize {
        self.0.common.used() + self.0.reserve.used()
    }

    /// Returns the total for the connection of a session, which adds the bytes that it keeps.
    pub(crate) fn total(&self) -> Arc<KeptTotal> {
        Arc::clone(&self.0.common.used)
    }

    /// Reserves the bytes of a request before its body is read.
    ///
    /// # Errors
    ///
    /// If the budget is exhausted: the [`Reply`] refuses the request.
    pub(crate) fn request(&self, head: &Parts) -> Result<Share, Reply> {
        let field = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len();
        let fields: usize = head.headers.iter().map(field).sum();
        let target = head.uri.path_and_query().map_or(0, |target| target.as_str().len());
        let mut share = self.share();
        share.grow(REQUEST_BYTES + (fields + target).saturating_sub(USUAL_HEAD_BYTES))?;
        Ok(share)
    }

    /// Creates an empty share.
    fn share(&self) -> Share {
        Share { budget: self.clone(), bytes: 0, is_of_reserve: false, is_large: false }
    }
}

/// A number of bytes, and how many of them are in use.
#[derive(Debug)]
struct Pool {
    used: Arc<KeptTotal>,
    most: usize,
}

impl Pool {
    fn new(most: usize) -> Self {
        // Events take at most the half.
        Self { used: Arc::new(KeptTotal::new(most / 2)), most }
    }

    fn used(&self) -> usize {
        self.used.bytes().load(Ordering::Relaxed)
    }

    /// Takes bytes, if there is room for them.
    fn take(&self, bytes: usize) -> bool {
        let grown = |used: usize| used.checked_add(bytes).filter(|grown| *grown <= self.most);
        self.used.bytes().fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.used.bytes().fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Bytes of a [`Budget`] that are in use until this value is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Budget,
    bytes: usize,
    is_of_reserve: bool,
    /// Whether the request will not stay small.
    is_large: bool,
}

impl Share {
    /// Takes more bytes from the budget.
    ///
    /// # Errors
    ///
    /// If the budget is exhausted: the [`Reply`] refuses the request.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), Reply> {
        let refused = || Reply::busy("the server keeps too many bytes (EndpointOptions::bytes)");
        let grown = self.bytes.checked_add(bytes).ok_or_else(refused)?;
        let Pools { common, reserve, small } = &*self.budget.0;
        let is_small = !self.is_large && grown <= *small;
        let (own, other) = if self.is_of_reserve { (reserve, common) } else { (common, reserve) };
        // The reserve is for small requests only, and only as long as there is no other room.
        let (may_stay, may_move) =
            (!self.is_of_reserve || is_small, self.is_of_reserve || is_small);
        if may_stay && own.take(bytes) {
            // It stays where it is.
        } else if may_move && other.take(grown) {
            own.give_back(self.bytes);
            self.is_of_reserve = !self.is_of_reserve;
        } else {
            return Err(refused());
        }
        self.bytes = grown;
        Ok(())
    }

    /// Notes how much this share will grow. One of a large request leaves the reserve at once.
    ///
    /// # Errors
    ///
    /// If there is no other room: the [`Reply`] refuses the request.
    pub(crate) fn expect(&mut self, bytes: usize) -> Result<(), Reply> {
        self.is_large = self.budget.0.small < self.bytes.saturating_add(bytes);
        if self.is_large && self.is_of_reserve { self.grow(0) } else { Ok(()) }
    }

    /// Returns bytes to the budget, because they are counted elsewhere from now on.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.pool().give_back(bytes);
    }

    /// Returns the total for the connection of this request alone, which adds its unsent events. They count where the
    /// request counts, and where [`lend`](Self::lend) counts them afterwards.
    pub(crate) fn total(&self) -> &Arc<KeptTotal> {
        &self.pool().used
    }

    fn pool(&self) -> &Pool {
        if self.is_of_reserve { &self.budget.0.reserve } else { &self.budget.0.common }
    }

    /// Wraps a body so that its bytes count until it is dropped. This never fails, because the body already exists.
    ///
    /// The response to a request of the reserve counts there as well: clients that do not read such responses fill the
    /// reserve, and further requests are refused.
    pub(crate) fn lend(&self, body: Vec<u8>) -> Bytes {
        let (budget, bytes) = (self.budget.clone(), body.capacity());
        self.pool().used.bytes().fetch_add(bytes, Ordering::Relaxed);
        let share = Self { budget, bytes, is_of_reserve: self.is_of_reserve, is_large: true };
        Bytes::from_owner(Lent { body, _share: share })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.pool().give_back(self.bytes);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_head_counts() {
        let budget = Budget::new(1 << 20);
        let of = |length: usize| {
            let request = hyper::Request::post("/mcp").header("x-more", "1".repeat(length));
            let share = budget.request(&request.body(()).unwrap().into_parts().0).unwrap();
            share.bytes
        };
        assert_eq!((of(2_000), of(50_000)), (8_192, 8_192 + 50_000 + 10 - 2_048));
    }

    #[test]
    fn large_requests_leave_room_for_small_ones() {
        let budget = Budget::new(1_600);
        let mut large = budget.share();
        large.grow(1_350).unwrap();
        assert_eq!((budget.0.reserve.used(), budget.0.common.used()), (0, 1_350));
        assert!(budget.share().grow(101).is_err());
        let mut growing = budget.share();
        growing.grow(100).unwrap();
        assert_eq!((budget.0.reserve.used(), budget.0.common.used()), (100, 1_350));
        // It does not stay small.
        assert!(growing.grow(1).is_err() && growing.expect(1).is_err());
        drop(growing);
        let mut announced = budget.share();
        announced.expect(101).unwrap();
        assert!(announced.grow(51).is_err());
        large.grow(50).unwrap();
        // Connections keep more than there is room for.
        budget.total().bytes().fetch_add(5_000, Ordering::Relaxed);
        assert!(large.grow(1).is_err());
        let mut small = [(); 3].map(|()| budget.share());
        small[0].grow(100).unwrap();
        small[1].grow(100).unwrap();
        assert!(small[2].grow(1).is_err());
        small[1].shrink(1);
        small[2].grow(1).unwrap();
        drop(small);
        budget.total().bytes().fetch_sub(5_000, Ordering::Relaxed);
        drop(large);
        assert_eq!((budget.0.reserve.used(), budget.0.common.used()), (0, 0));
    }

    /// A small request can have a large response. Clients that do not read theirs must not use the reserve again and again.
    #[test]
    fn unread_responses_to_small_requests_fill_the_reserve() {
        let budget = Budget::new(1_600);
        let mut large = budget.share();
        large.grow(1_400).unwrap();
        let respond = || {
            let mut small = budget.share();
            small.grow(50).map(|()| small.lend(vec![0; 120]))
        };
        let first = respond().unwrap();
        assert_eq!((budget.0.reserve.used(), budget.0.common.used()), (120, 1_400));
        let second = respond().unwrap();
        assert!(respond().is_err());
        drop((first, second));
        assert_eq!((budget.0.reserve.used(), budget.0.common.used()), (0, 1_400));
        respond().unwrap();
    }

    #[test]
    fn small_requests_take_the_common_room_as_well() {
        let budget = Budget::new(1_600);
        let shares = [(); 16].map(|()| {
            let mut share = budget.share();
            share.grow(100).unwrap();
            share
        });
        assert!(budget.share().grow(1).is_err());
        assert_eq!(budget.used(), 1_600);
        drop(shares);
        assert_eq!(budget.used(), 0);
    }
}
