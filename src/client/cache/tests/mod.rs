//! Cached results: their principals and their lifetimes.

mod changes;
mod hints;
mod keeping;
mod keys;

use alloc::format;
use alloc::string::String;

use super::*;
use crate::connection::Notification;
use crate::handle::Principal;
use crate::json::{Raw, Str};
use crate::time::Instant;
use crate::version::Revision;

const ANN: Asker = Asker::new(Principal::new(1), Revision::V2026_07_28);
const BOB: Asker = Asker::new(Principal::new(2), Revision::V2026_07_28);

fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

/// A complete result with a name of its own and these hints.
fn result(name: &str, ttl: u64, scope: &str) -> Raw<'static> {
    let text = format!(
        r#"{{"resultType":"complete","name":"{name}","ttlMs":{ttl},"cacheScope":"{scope}"}}"#
    );
    Raw::try_from(text).expect("JSON")
}

/// A cache with shorthands for its operations.
struct Scene {
    cache: Cache,
}

impl Scene {
    fn new() -> Self {
        Self::with(CacheLimits::default())
    }

    fn with(limits: CacheLimits) -> Self {
        Self { cache: Cache::new(limits) }
    }

    /// Sends a request and stores its result at once.
    fn fill(&mut self, key: &CacheKey<'_>, result: &Raw<'_>, now: u64) -> Verdict {
        let ticket = self.cache.begin(key.clone());
        self.cache.store(ticket, result, at(now))
    }

    /// Sends a request and stores a private result that is fresh for one second.
    #[track_caller]
    fn keep(&mut self, key: &CacheKey<'_>, name: &str, now: u64) {
        assert_eq!(self.fill(key, &result(name, 1_000, "private"), now), Verdict::Stored);
    }

    /// The name of the stored result, if it is fresh.
    fn get(&mut self, key: &CacheKey<'_>, now: u64) -> Option<String> {
        self.cache.get(key, at(now)).map(name)
    }

    /// The name of the stored result, fresh or stale.
    fn stale(&mut self, key: &CacheKey<'_>) -> Option<String> {
        self.cache.stale(key).map(name)
    }

    fn notified(&mut self, method: &str, params: Option<&str>) {
        self.cache.notified(&Notification {
            method: Str::from(method),
            params: params.map(|params| Raw::new(params).expect("JSON")),
        });
    }
}

fn name(result: &Raw<'static>) -> String {
    result.get("name").and_then(Raw::into_str).expect("a name").to_str().into_owned()
}
