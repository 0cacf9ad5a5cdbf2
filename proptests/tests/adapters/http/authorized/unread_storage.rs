//! Storage that could not be read before the first request.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_sansio::Revision;
use mcp_sansio::auth::Saved;
use mcp_sansio_http::{FileStorage, HostFuture, StorageLock, TokenStorage};

use super::kit::{Needs, Protected, connect};
use super::requests::{call, text};
use super::storage::{Folder, note, stored};
use crate::http::kit::soon;

/// Storage that cannot be read the first time.
struct Flaky(FileStorage, AtomicBool);

impl TokenStorage for Flaky {
    fn load(&self) -> HostFuture<'_, io::Result<Option<Saved>>> {
        match self.1.swap(true, Ordering::SeqCst) {
            false => Box::pin(async { Err(io::ErrorKind::Interrupted.into()) }),
            true => self.0.load(),
        }
    }

    fn save<'a>(&'a self, saved: &'a Saved) -> HostFuture<'a, io::Result<()>> {
        self.0.save(saved)
    }

    fn lock(&self) -> HostFuture<'_, io::Result<StorageLock>> {
        self.0.lock()
    }
}

/// Proves A-REF-08: the storage is read again before the next request, and before a login. Tokens that were read after
/// a login would replace its tokens.
#[tokio::test]
async fn a_storage_that_could_not_be_read_is_read_again() {
    let folder = Folder::new("flaky");
    let protected = Protected::new().await;
    assert_eq!(note(&protected.url(), FileStorage::new(folder.file())).await, 1);
    for needs in [Needs::Containing("note"), Needs::All] {
        protected.needs(needs);
        let flaky = Flaky(FileStorage::new(folder.file()), AtomicBool::new(false));
        let (authorization, user, mut received) = stored(&protected.url(), flaky);
        let connection =
            connect(&protected.url(), Revision::V2026_07_28, &authorization).await.unwrap();
        assert!(soon(received.recv()).await.unwrap().starts_with("storage: "));
        assert_eq!(text(call(&connection, "note", "")).await, "noted");
        assert_eq!(user.was_asked(), 0);
        assert!(received.try_recv().is_err(), "one error is reported once");
        assert_eq!(folder.saved().await.unwrap().generation(), 1);
    }
}
