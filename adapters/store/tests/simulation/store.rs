//! The store as one process sees it: slow, failing, or hanging.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_sansio_store::{MemoryStore, Store, StoreError, StoreFuture, Stored, Write, Written};

use crate::chooser::Chooser;

/// A store that every process reaches by its own [`Link`].
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) memory: MemoryStore,
    /// Whether operations fail, for all processes.
    pub(crate) is_failing: Arc<AtomicBool>,
    chooser: Arc<Mutex<Chooser>>,
}

impl Shared {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            memory: MemoryStore::new(),
            is_failing: Arc::default(),
            chooser: Arc::new(Mutex::new(Chooser::new(seed, 1_000))),
        }
    }

    fn below(&self, most: u64) -> u64 {
        self.chooser.lock().unwrap().below(most)
    }
}

/// The way of one process to the store.
pub(crate) struct Link {
    pub(crate) shared: Shared,
    pub(crate) latency: Duration,
    /// Whether operations take longer than the silence after which a node is given up.
    pub(crate) is_hanging: Arc<AtomicBool>,
    /// Whether the process was killed: its operations never end.
    pub(crate) is_dead: Arc<AtomicBool>,
}

impl Link {
    async fn wait(&self) {
        if self.is_dead.load(Ordering::SeqCst) {
            return std::future::pending().await;
        }
        let part = self.latency.as_millis() as u64 + 1;
        let mut latency = Duration::from_millis(self.shared.below(part));
        if self.is_hanging.load(Ordering::SeqCst) {
            latency += Duration::from_secs(7);
        }
        tokio::time::sleep(latency).await;
    }
}

impl Store for Link {
    fn read<'s>(&'s self, key: &'s str) -> StoreFuture<'s, Option<Stored>> {
        Box::pin(async move {
            self.wait().await;
            let read = self.shared.memory.read(key).await;
            self.wait().await;
            match self.shared.is_failing.load(Ordering::SeqCst) {
                true => Err(StoreError::new("a read has failed")),
                false => read,
            }
        })
    }

    /// A write that fails was not done, was done, or is done later.
    fn write<'s>(&'s self, writes: &'s [Write]) -> StoreFuture<'s, Vec<Written>> {
        Box::pin(async move {
            self.wait().await;
            if !self.shared.is_failing.load(Ordering::SeqCst) {
                let written = self.shared.memory.write(writes).await;
                self.wait().await;
                return written;
            }
            let (memory, writes) = (self.shared.memory.clone(), writes.to_vec());
            let delay = Duration::from_millis(self.shared.below(3_000));
            match self.shared.below(3) {
                0 => drop(memory.write(&writes).await),
                1 => drop(tokio::spawn(async move {
                    tokio::time::sleep(delay).await;
                    memory.write(&writes).await
                })),
                _ => {}
            }
            Err(StoreError::new("a write has failed"))
        })
    }
}
