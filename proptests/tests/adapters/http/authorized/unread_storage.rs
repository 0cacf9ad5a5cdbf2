//! Storage that could not be read before the first request.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_lite::future::poll_once;
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

/// Storage that can be neither read nor written while this is true.
struct Broken(FileStorage, Arc<AtomicBool>);

impl Broken {
    fn result(&self) -> io::Result<()> {
        match self.1.load(Ordering::SeqCst) {
            true => Err(io::ErrorKind::Interrupted.into()),
            false => Ok(()),
        }
    }
}

impl TokenStorage for Broken {
    fn load(&self) -> HostFuture<'_, io::Result<Option<Saved>>> {
        Box::pin(async {
            self.result()?;
            self.0.load().await
        })
    }

    fn save<'a>(&'a self, saved: &'a Saved) -> HostFuture<'a, io::Result<()>> {
        Box::pin(async {
            self.result()?;
            self.0.save(saved).await
        })
    }

    fn lock(&self) -> HostFuture<'_, io::Result<StorageLock>> {
        self.0.lock()
    }
}

/// A logout before the first request did not reach the storage. The stored tokens are not used when they are read.
#[tokio::test]
async fn a_logout_discards_tokens_that_are_read_after_it() {
    for is_dropped in [false, true] {
        let folder = Folder::new("late");
        let protected = Protected::new().await;
        assert_eq!(note(&protected.url(), FileStorage::new(folder.file())).await, 1);
        let is_broken = Arc::new(AtomicBool::new(!is_dropped));
        let storage = Broken(FileStorage::new(folder.file()), Arc::clone(&is_broken));
        let (authorization, user, _received) = stored(&protected.url(), storage);
        if is_dropped {
            // Another process holds the lock longer than the application waits.
            let lock = FileStorage::new(folder.file()).lock().await.unwrap();
            assert!(poll_once(authorization.log_out()).await.is_none());
            drop(lock);
        } else {
            let error = soon(authorization.log_out()).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::Interrupted);
        }
        is_broken.store(false, Ordering::SeqCst);
        protected.seen();
        let connection =
            connect(&protected.url(), Revision::V2026_07_28, &authorization).await.unwrap();
        assert_eq!(text(call(&connection, "note", "")).await, "noted");
        assert_eq!(protected.seen()[0].token, None);
        assert_eq!((user.was_asked(), protected.issuer.lock().counts.register), (1, 1));
        // The logout has generation 2.
        assert_eq!(folder.saved().await.unwrap().generation(), 3);
    }
}

/// Proves A-REF-08: tokens that another process has stored after the logout are used.
#[tokio::test]
async fn a_logout_leaves_the_tokens_of_later_logins() {
    let folder = Folder::new("relogin");
    let protected = Protected::new().await;
    assert_eq!(note(&protected.url(), FileStorage::new(folder.file())).await, 1);
    let (authorization, user, _received) =
        stored(&protected.url(), FileStorage::new(folder.file()));
    soon(authorization.log_out()).await.unwrap();
    assert_eq!(note(&protected.url(), FileStorage::new(folder.file())).await, 1);
    let connection =
        connect(&protected.url(), Revision::V2026_07_28, &authorization).await.unwrap();
    assert_eq!(text(call(&connection, "note", "")).await, "noted");
    assert_eq!(user.was_asked(), 0);
    assert_eq!(folder.saved().await.unwrap().generation(), 3);
}
