//! [`Liveness`]: which nodes give a sign of life.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;

use crate::node::Inner;
use crate::store::{Change, StoreError, Write};

/// How long a node that gave a sign of life is believed to live without another look into the store.
const BELIEVED: Duration = Duration::from_secs(1);

/// After how many beats the node looks for sessions that have ended by themselves, or were stored long ago.
const SWEEP: u32 = 60;

/// The nodes that were alive a moment ago.
#[derive(Default)]
pub(crate) struct Liveness {
    seen: Mutex<BTreeMap<String, Instant>>,
}

fn key(node: &str) -> String {
    format!("node/{node}")
}

impl Inner {
    /// Whether a node gives signs of life.
    pub(crate) async fn is_alive(&self, node: &str) -> Result<bool, StoreError> {
        let seen = || self.liveness.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if seen().get(node).is_some_and(|at| now < *at + BELIEVED) {
            return Ok(true);
        }
        let is_alive = self.batches.store().read(&key(node)).await?.is_some();
        let mut seen = seen();
        seen.retain(|_, at| now < *at + BELIEVED);
        if is_alive {
            seen.insert(node.to_owned(), now);
        }
        Ok(is_alive)
    }

    /// Gives a sign of life.
    pub(crate) async fn show_life(&self) -> Result<(), StoreError> {
        let value = self.address.clone().into_bytes();
        let change = Change::Put { value, lifetime: Some(self.options.silence) };
        // No other node writes under this key.
        self.batches.write(Write { key: key(&self.id), expected: None, change }).await.map(drop)
    }

    /// Withdraws the sign of life.
    pub(crate) async fn show_no_life(&self) -> Result<(), StoreError> {
        let write = Write { key: key(&self.id), expected: None, change: Change::Remove };
        self.batches.write(write).await.map(drop)
    }

    /// Gives signs of life until the node has left.
    pub(crate) async fn show_life_again(node: Weak<Self>) {
        let mut beats = 0_u32;
        loop {
            let Some(beat) = node.upgrade().map(|node| node.options.beat) else { return };
            tokio::time::sleep(beat).await;
            let Some(node) = node.upgrade() else { return };
            if node.has_left() {
                return;
            }
            if let Err(error) = node.show_life().await {
                (node.options.on_error)(&error);
            }
            beats = beats.wrapping_add(1);
            if beats.is_multiple_of(SWEEP) {
                node.sweep().await;
            }
        }
    }
}
