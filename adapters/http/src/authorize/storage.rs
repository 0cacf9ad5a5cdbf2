//! The storage of tokens.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use mcp_sansio::auth::Saved;

use super::HostFuture;

/// Keeps what an [`Authorization`](super::Authorization) saves, for one MCP server and one user. What it keeps is
/// confidential.
pub trait TokenStorage: Send + Sync + 'static {
    /// Reads what is stored, `None` if that is nothing.
    fn load(&self) -> HostFuture<'_, io::Result<Option<Saved>>>;

    /// Stores this instead of what was stored before. It is called while the storage is held, after what is stored has been
    /// read and found not to be newer.
    fn save<'a>(&'a self, saved: &'a Saved) -> HostFuture<'a, io::Result<()>>;

    /// Waits for an exclusive lock on the storage. While it is locked, no other process refreshes the tokens
    /// in it, also in other processes.
    fn lock(&self) -> HostFuture<'_, io::Result<StorageLock>>;
}

/// A storage is held until this is dropped.
pub struct StorageLock(#[allow(dead_code, reason = "it is dropped")] Box<dyn Send>);

impl StorageLock {
    /// Holds whatever ends the hold when it is dropped.
    pub fn new(held: impl Send + 'static) -> Self {
        Self(Box::new(held))
    }
}

impl std::fmt::Debug for StorageLock {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("StorageLock").finish_non_exhaustive()
    }
}

/// Keeps tokens as long as the process runs. Copies are one storage.
#[derive(Clone, Debug, Default)]
pub struct MemoryStorage {
    saved: Arc<Mutex<Option<Saved>>>,
    held: Arc<tokio::sync::Mutex<()>>,
}

impl MemoryStorage {
    /// With nothing in it.
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
