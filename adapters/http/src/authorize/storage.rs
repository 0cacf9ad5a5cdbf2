//! `TokenStorage`: the storage of tokens.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use mcp_sansio::auth::Saved;

use super::HostFuture;

/// Stores the state that an [`Authorization`](super::Authorization) saves, for one MCP server and one user. The
/// state is confidential.
pub trait TokenStorage: Send + Sync + 'static {
    /// Reads the stored state, or `None` if nothing is stored.
    fn load(&self) -> HostFuture<'_, io::Result<Option<Saved>>>;

    /// Replaces the stored state. The authorization calls this method while the storage is locked, after the stored
    /// state was read and found not to be newer.
    fn save<'a>(&'a self, saved: &'a Saved) -> HostFuture<'a, io::Result<()>>;

    /// Waits for an exclusive lock on the storage, also across processes. While the storage is locked, no other
    /// process refreshes the tokens in it.
    fn lock(&self) -> HostFuture<'_, io::Result<StorageLock>>;
}

/// The lock on a storage. Dropping it unlocks the storage.
pub struct StorageLock(#[allow(dead_code, reason = "it is dropped")] Box<dyn Send>);

impl StorageLock {
    /// Wraps a value whose drop unlocks the storage.
    pub fn new(held: impl Send + 'static) -> Self {
        Self(Box::new(held))
    }
}

impl std::fmt::Debug for StorageLock {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("StorageLock").finish_non_exhaustive()
    }
}

/// Stores tokens as long as the process runs. Clones share one storage.
#[derive(Clone, Debug, Default)]
pub struct MemoryStorage {
    saved: Arc<Mutex<Option<Saved>>>,
    held: Arc<tokio::sync::Mutex<()>>,
}

impl MemoryStorage {
    /// Creates an empty storage.
    pub fn new() -> Self {
        Self::default()
    }
}

impl TokenStorage for MemoryStorage {
    fn load(&self) -> HostFuture<'_, io::Result<Option<Saved>>> {
        let saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Box::pin(async { Ok(saved) })
    }

    fn save<'a>(&'a self, saved: &'a Saved) -> HostFuture<'a, io::Result<()>> {
        *self.saved.lock().unwrap_or_else(PoisonError::into_inner) = Some(saved.clone());
        Box::pin(async { Ok(()) })
    }

    fn lock(&self) -> HostFuture<'_, io::Result<StorageLock>> {
        let held = Arc::clone(&self.held);
        Box::pin(async { Ok(StorageLock::new(held.lock_owned().await)) })
    }
}
