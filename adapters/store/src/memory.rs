//! [`MemoryStore`]: a store for tests and simulations.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

use crate::store::{Change, Store, StoreError, StoreFuture, Stored, Write, Written};

/// A store in memory, for nodes of one process: in tests and in simulations. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    values: BTreeMap<String, Value>,
    fails: bool,
    /// The writes that were done.
    writes: u64,
}

#[derive(Debug)]
struct Value {
    stored: Stored,
    until: Option<Instant>,
}

impl MemoryStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets every operation fail from now on, or no longer.
    pub fn set_failing(&self, fails: bool) {
        self.lock().fails = fails;
    }

    /// Returns how many writes were done.
    pub fn writes(&self) -> u64 {
        self.lock().writes
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    fn get(&self, key: &str) -> Option<&Stored> {
        let value = self.values.get(key)?;
        let is_over = value.until.is_some_and(|until| until <= Instant::now());
        (!is_over).then_some(&value.stored)
    }

    fn write(&mut self, write: &Write) -> Written {
        let version = self.get(&write.key).map_or(0, |stored| stored.version);
        if write.expected.is_some_and(|expected| expected != version) {
            return Written::Conflict;
        }
        match &write.change {
            Change::Put { value, lifetime } => {
                let stored = Stored { version: version + 1, value: value.clone() };
                let until = lifetime.map(|lifetime| Instant::now() + lifetime);
                self.values.insert(write.key.clone(), Value { stored, until });
            }
            Change::Remove => drop(self.values.remove(&write.key)),
        }
        self.writes += 1;
        Written::Done
    }
}

impl Store for MemoryStore {
    fn read<'s>(&'s self, key: &'s str) -> StoreFuture<'s, Option<Stored>> {
        let shared = self.lock();
        Box::pin(ready(match shared.fails {
            true => Err(StoreError::new("it is set to fail")),
            false => Ok(shared.get(key).cloned()),
        }))
    }

    fn write<'s>(&'s self, writes: &'s [Write]) -> StoreFuture<'s, Vec<Written>> {
        let mut shared = self.lock();
        Box::pin(ready(match shared.fails {
            true => Err(StoreError::new("it is set to fail")),
            false => Ok(writes.iter().map(|write| shared.write(write)).collect()),
        }))
    }
}
