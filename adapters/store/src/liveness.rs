//! [`Liveness`]: which nodes give a sign of life.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;

use crate::node::Inner;
use crate::store::{Change, StoreError, Write};

/// How long a node that gave a sign of life is believed to live without another look into the store.
const BELIEVED: Duration = Duration::from_secs(1);

/// The nodes that were seen, and those that were not reached.
#[derive(Default)]
pub(crate) struct Liveness {
    /// The nodes that were alive a moment ago.
    seen: Mutex<BTreeMap<String, Instant>>,
    /// The nodes that were not reached.
    unreached: Mutex<BTreeMap<String, Unreached>>,
    /// The signs of life of this node.
    own: Mutex<Option<Signs>>,
}

/// Signs of life without a gap.
#[derive(Clone, Copy)]
struct Signs {
    first: Instant,
    latest: Instant,
}

struct Unreached {
    since: Instant,
    latest: Instant,
}

fn key(node: &str) -> String {
    format!("node/{node}")
}

fn lock<T>(values: &Mutex<T>) -> MutexGuard<'_, T> {
    values.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    /// Whether a node gives signs of life, or it is not known that it gives none: after a failure of the store, the signs of
    /// all nodes are gone, and the others may only be about to renew theirs.
    pub(crate) async fn is_alive(&self, node: &str) -> Result<bool, StoreError> {
        Ok(self.has_heartbeat(node).await? || !self.is_steady())
    }

    /// Whether the store has had the signs of life of this node for as long as a node may be silent. A store that hangs for
    /// less time than that may have those of this node longer than those of others, so the latest must be recent.
    fn is_steady(&self) -> bool {
        let (silence, now) = (self.options.silence, Instant::now());
        let own = *lock(&self.liveness.own);
        own.is_some_and(|own| now < own.latest + silence / 2 && own.first + silence <= now)
    }

    /// Notes whether a sign of life was stored that was begun at this time.
    fn note_heartbeat(&self, began: Instant, is_stored: bool) {
        let mut own = lock(&self.liveness.own);
        *own = match *own {
            _ if !is_stored => None,
            Some(own) if began < own.latest + self.options.silence / 2 => {
                Some(Signs { latest: began, ..own })
            }
            _ => Some(Signs { first: began, latest: began }),
        };
    }

    async fn has_heartbeat(&self, node: &str) -> Result<bool, StoreError> {
        let now = Instant::now();
        if lock(&self.liveness.seen).get(node).is_some_and(|at| now < *at + BELIEVED) {
            return Ok(true);
        }
        let is_alive = self.batches.store().read(&key(node)).await?.is_some();
        let mut seen = lock(&self.liveness.seen);
        seen.retain(|_, at| now < *at + BELIEVED);
        if is_alive {
            seen.insert(node.to_owned(), now);
        }
        Ok(is_alive)
    }

    /// Returns when a node gives no signs of life any more. A store that fails is no reason to believe that.
    pub(crate) async fn wait_until_gone(&self, node: &str) {
        loop {
            tokio::time::sleep(self.options.silence).await;
            if self.is_alive(node).await == Ok(false) {
                return;
            }
        }
    }

    /// Notes that a node was reached, or was not. Returns whether it has not been reached for so long that it counts as gone:
    /// it may give signs of life, but its sessions cannot be used through this node.
    pub(crate) fn note_reached(&self, node: &str, is_reached: bool) -> bool {
        let (silence, now) = (self.options.silence, Instant::now());
        let mut unreached = lock(&self.liveness.unreached);
        unreached.retain(|_, known| now <= known.latest + silence);
        if is_reached {
            unreached.remove(node);
            return false;
        }
        let known = unreached.entry(node.to_owned());
        let known = known.or_insert(Unreached { since: now, latest: now });
        known.latest = now;
        known.since + silence <= now
    }

    /// Gives a sign of life. It does not wait for the writes of sessions.
    pub(crate) async fn write_heartbeat(&self) -> Result<(), StoreError> {
        let value = self.address.clone().into_bytes();
        let change = Change::Put { value, lifetime: Some(self.options.silence) };
        // No other node writes under this key.
        let write = Write { key: key(&self.id), expected: None, change };
        let began = Instant::now();
        let shown = self.batches.store().write(&[write]).await.map(drop);
        self.note_heartbeat(began, shown.is_ok());
        shown
    }

    /// Withdraws the sign of life.
    pub(crate) async fn remove_heartbeat(&self) -> Result<(), StoreError> {
        let write = Write { key: key(&self.id), expected: None, change: Change::Remove };
        self.batches.store().write(&[write]).await.map(drop)
    }

    /// Gives signs of life until the node has left.
    pub(crate) async fn write_heartbeats(node: Weak<Self>) {
        loop {
            let Some(beat) = node.upgrade().map(|node| node.options.beat) else { return };
            tokio::time::sleep(beat).await;
            let Some(node) = node.upgrade() else { return };
            if node.has_left() {
                return;
            }
            // In a task of its own: a store that panics must not end the signs of life.
            let beat = Arc::clone(&node).beat();
            if let Err(error) =
                tokio::spawn(beat).await.unwrap_or_else(|error| Err(StoreError::new(error)))
            {
                (node.options.on_error)(&error);
            }
        }
    }

    async fn beat(self: Arc<Self>) -> Result<(), StoreError> {
        let shown = self.write_heartbeat().await;
        if self.has_left() {
            // It has left during the write.
            return shown.and(self.remove_heartbeat().await);
        }
        shown
    }
}
