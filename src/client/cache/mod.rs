//! A cache for the results of one server, for as long as the server declares them fresh
//! ([caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)).
//!
//! A [`Cache`] is a plain value beside a [`Client`](crate::Client). The application creates it; the client does not
//! know it, and it does nothing by itself. The application looks up a request before sending it, and passes the
//! request, its result and all changes to the cache.
//!
//! ```
//! use mcp_sansio::cache::{Asker, Cache, CacheKey, CacheLimits, Change, Verdict};
//! use mcp_sansio::event::SubscriptionNews;
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
//! fn on_event(event: &ClientEvent<'_>, cache: &mut Cache) {
//!     match event {
//!         ClientEvent::Notification(notification) => cache.notified(notification),
//!         ClientEvent::Subscription(update) => match &update.news {
//!             SubscriptionNews::Changed(notification) => cache.notified(notification),
//!             // Changes may have been missed.
//!             SubscriptionNews::Lagged { .. } | SubscriptionNews::Ended(_) => {
//!                 cache.changed(&Change::Everything);
//!             }
//!             _ => {}
//!         },
//!         _ => {}
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
//! # Principals and servers
//!
//! A cache is for one server at one address. A client of several servers has several caches: a notification then
//! needs no address, and a wrong key cannot return the result of another server. Connections to the same server share
//! a cache. The revision and the [`Principal`](crate::Principal) are part of each key ([`Asker`]). A public result is
//! stored once for all principals, any other result only for the principal that asked.
//!
//! # Results that are not stored
//!
//! - Results of requests that carry `inputResponses` or `requestState`. They have no [key](CacheKey::of), and an
//!   interim result uses up its ticket. If the call continues by itself once input has been given, drop the ticket
//!   when the input is requested.
//! - Results of requests that were sent before a change that affects them.
//! - Results that are incomplete, have no time to live, or are too large: see [`Verdict`].
//!
//! # After a connection was lost
//!
//! Changes may have been missed. When the subscriptions have been acknowledged again, report their scope to the
//! cache: [`Change::Everything`], or one change for each kind. No change is missed from then on, and results that
//! were in flight meanwhile are not stored.

mod change;
mod entries;
mod entry_key;
mod hints;
mod key;
mod store;

pub use change::{Change, MethodResults};
pub use key::{Asker, CacheKey};
pub use store::Cache;

/// The limits of a [`Cache`].
///
/// A cache takes at most `bytes + 512 * entries + 4096` bytes of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CacheLimits {
    /// The maximum number of results. Default 1024. With 0 the cache stores nothing.
    pub entries: usize,
    /// The maximum bytes of all results together with their cursors and URIs. Default 16 MiB, as much as the largest
    /// frame.
    pub bytes: usize,
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self { entries: 1024, bytes: 16 << 20 }
    }
}

/// A request that has been sent. Pass it to [`Cache::store`] of the same cache together with the result, or drop it
/// if no result arrives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[must_use = "without it the result is not kept"]
pub struct Ticket {
    key: CacheKey<'static>,
    begun: u64,
}

impl Ticket {
    /// The key of the request.
    pub const fn key(&self) -> &CacheKey<'static> {
        &self.key
    }
}

/// Whether a result was stored, and if not, why. The application may use the result in every case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// The result is stored.
    Stored,
    /// A change affected the result after the request was sent, so the result may be stale already.
    Invalidated,
    /// The result of a later request is stored already, and stays.
    Overtaken,
    /// Not a complete result: it asks for input, has another `resultType`, or is not an object.
    NotComplete,
    /// The result has no valid `ttlMs`, or one of zero.
    NoTtl,
    /// The result is larger than the whole cache.
    TooLarge,
}

#[cfg(test)]
mod tests;
