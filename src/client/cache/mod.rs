//! Keeps results of one server for as long as it says they are good
//! ([caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)).
//!
//! A [`Cache`] is a plain value beside a [`Client`](crate::Client): there is none unless somebody makes
//! one, no machine knows of it, and nothing in it happens by itself. It is asked before a request goes
//! out, it is told of the request and of the result, and it is told what has changed.
//!
//! ```
//! use mcp_sansio::cache::{Asker, Cache, CacheKey, CacheLimits, Change, Verdict};
//! use mcp_sansio::json::Raw;
//! use mcp_sansio::{ClientEvent, Instant, Principal, Revision};
//!
//! # fn ask_the_server() -> Raw<'static> {
//! #     let text = r#"{"resultType":"complete","tools":[],"ttlMs":60000,"cacheScope":"public"}"#;
//! #     Raw::new(text).unwrap()
//! # }
//! fn tools(cache: &mut Cache, asker: Asker, now: Instant) -> Raw<'static> {
//!     let key = CacheKey::tools(None, asker);
//!     if let Some(result) = cache.get(&key, now) {
//!         return result.clone();
//!     }
//!     let ticket = cache.begin(key); // before the request goes out
//!     let result = ask_the_server(); // `client.call`, and `CallEnded` some time later
//!     cache.store(ticket, &result, now);
//!     result
//! }
//!
//! fn heard(event: &ClientEvent<'_>, cache: &mut Cache) {
//!     if let ClientEvent::Notification(notification) = event {
//!         cache.notified(notification);
//!     }
//! }
//!
//! let mut cache = Cache::new(CacheLimits::default());
//! let ann = Asker::new(Principal::new(1), Revision::V2026_07_28);
//! let bob = Asker::new(Principal::new(2), Revision::V2026_07_28);
//! tools(&mut cache, ann, Instant::from_millis(1_000));
//! let key = CacheKey::tools(None, bob);
//! assert!(cache.get(&key, Instant::from_millis(60_999)).is_some(), "it is public");
//! assert!(cache.get(&key, Instant::from_millis(61_000)).is_none(), "its time is over");
//!
//! // The list changes while it is on its way: it is delivered, and not kept.
//! let ticket = cache.begin(key);
//! cache.changed(&Change::Tools);
//! let verdict = cache.store(ticket, &ask_the_server(), Instant::from_millis(61_000));
//! assert_eq!(verdict, Verdict::Invalidated);
//! ```
//!
//! # Whose results these are
//!
//! A cache is for one server at one address, and a client of several servers has several: a
//! notification needs no address then, and no mistake in a key can hand out what another server said.
//! Connections to the same server share a cache. The revision and the [`Principal`](crate::Principal)
//! are part of each key ([`Asker`]). What the server calls public is kept once for all of them, anything
//! else only for whoever asked.
//!
//! # What is not kept
//!
//! - Results of requests that carry `inputResponses` or `requestState`. There is no
//!   [key](CacheKey::of) for them, and an interim result uses its ticket up. If the call goes on by
//!   itself once input has been given, drop the ticket when the input is asked for.
//! - Results of requests that went out before something was changed that they are about.
//! - Whatever is not complete, is not good for any time, or is too large: see [`Verdict`].
//!
//! # After a connection was lost
//!
//! Changes may have been missed. When the subscriptions have been acknowledged again, tell the cache
//! what they cover: [`Change::Everything`], or one change for each kind. From then on nothing is missed,
//! and what was on its way meanwhile is not kept.

mod change;
mod entries;
mod hints;
mod key;
mod place;
mod store;

pub use change::Change;
pub use key::{Asker, CacheKey};
pub use store::Cache;

/// How much a [`Cache`] keeps.
///
/// It takes at most `bytes + 512 * entries + 4096` bytes of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CacheLimits {
    /// Most results. Default 1024. With 0 nothing is kept.
    pub entries: usize,
    /// Most bytes of results, and of the cursors and URIs they were asked with, together. Default
    /// 16 MiB, as much as the largest frame.
    pub bytes: usize,
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self { entries: 1024, bytes: 16 << 20 }
    }
}

/// A request has gone out. Give it back with the result to the cache that it is from, or drop it if
/// there is none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[must_use = "without it the result is not kept"]
pub struct Ticket {
    key: CacheKey<'static>,
    begun: u64,
}

impl Ticket {
    /// The request.
    pub const fn key(&self) -> &CacheKey<'static> {
        &self.key
    }
}

/// What became of a result. Whatever it is, the result is good to be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// It is kept.
    Stored,
    /// What it is about has changed since the request went out, so it may be stale already.
    Invalidated,
    /// The result of a request that went out later is here already, and stays.
    Overtaken,
    /// It is no complete result: the server asks for input, or it is of another kind, or no object.
    NotComplete,
    /// The server does not say for how long it is good, or not in a way that makes sense.
    NoTtl,
    /// It is larger than all that may be kept.
    TooLarge,
}

#[cfg(test)]
mod tests;
