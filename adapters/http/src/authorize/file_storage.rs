//! `FileStorage`: stores tokens in a file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use fs4::fs_std::FileExt;
use mcp_sansio::auth::{Saved, Secret};
use tokio::runtime::Handle;
use tokio::sync::Mutex;

use super::HostFuture;
use super::storage::{StorageLock, TokenStorage};

/// Stores tokens in a file that only its owner can read, one file for each MCP server and user.
///
/// The file is replaced atomically, so a crash leaves the old or the new file. Processes that share the file take
/// turns: while tokens are refreshed or stored, a second file is locked, whose name has the suffix `.lock`. A killed
/// process may leave a third file behind, with `.new` in its name. On Windows the files have the permissions of
/// their folder.
///
/// The files are read and written on the threads that a Tokio runtime has for blocking work. A write that has begun is
/// finished, even if its future is dropped.
#[derive(Clone, Debug)]
pub struct FileStorage {
    path: PathBuf,
    /// Held by one operation at a time, so that a write whose future was dropped is finished before the next operation.
    /// Contains the latest lock on the storage.
    turn: Arc<Mutex<Weak<File>>>,
}

/// The pause between two attempts to take the lock.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(20);

/// The time to wait for the lock before the storage is cleared without it.
const CLEARED_WITHIN: Duration = Duration::from_secs(5);

impl FileStorage {
    /// Uses this file. The file is created when there is something to store; its folder must exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), turn: Arc::default() }
    }

    /// Forgets the user: replaces the stored tokens and registrations by an [empty, newer state](Saved::cleared).
    /// Processes that know the earlier tokens do not store them again.
    ///
    /// Blocks for a few seconds at most while another process has locked the storage; then the state is replaced
    /// without the lock. A file that cannot be read is replaced, and one that cannot be replaced is removed.
    ///
    /// # Errors
    ///
    /// Errors of the system, after which the tokens may remain. A missing file is not an error.
    pub fn clear(&self) -> io::Result<()> {
        if matches!(self.path.try_exists(), Ok(false)) {
            return Ok(());
        }
        let _lock = self.lock_for(CLEARED_WITHIN);
        let saved = match self.read() {
            Ok(None) => return Ok(()),
            saved => saved.ok().flatten().unwrap_or_default(),
        };
        self.write(&saved.cleared().to_text()).or_else(|_| fs::remove_file(&self.path))
    }

    /// Blocks until the storage is locked, but not longer than this. `None` if it cannot be locked.
    fn lock_for(&self, within: Duration) -> Option<File> {
        let file = private(&self.beside("lock"), false).ok()?;
        let begun = Instant::now();
        while !FileExt::try_lock_exclusive(&file).ok()? {
            if within <= begun.elapsed() {
                return None;
            }
            std::thread::sleep(TRY_AGAIN_AFTER);
        }
        Some(file)
    }

    /// Runs a function that blocks, after the earlier operations of this storage. If the future is dropped after that,
    /// the function runs to its end.
    ///
    /// # Errors
    ///
    /// Those of the function. The runtime shuts down, or the function has panicked.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self, &mut Weak<File>) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let mut turn = Arc::clone(&self.turn).lock_owned().await;
        // The caller may drop its lock together with the future, before the function begins.
        let (storage, lock) = (self.clone(), turn.upgrade());
        let work = move || {
            let result = work(&storage, &mut turn);
            drop(lock);
            result
        };
        // Other executors have no threads for it.
        let Ok(runtime) = Handle::try_current() else { return work() };
        runtime.spawn_blocking(work).await?
    }

    fn read(&self) -> io::Result<Option<Saved>> {
        let text = match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            // It is wiped after use.
            text => Secret::new(text?),
        };
        let saved = Saved::from_text(text.expose());
        saved.map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    fn write(&self, text: &Secret) -> io::Result<()> {
        static WRITTEN: AtomicU64 = AtomicU64::new(0);
        // Concurrent writes, also in one process, use different files.
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let new = self.beside(&format!("new{}-{number}", std::process::id()));
        // An existing file was left behind, or belongs to an attacker who would read the tokens.
        _ = fs::remove_file(&new);
        let mut file = private(&new, true)?;
        let written = file.write_all(text.expose().as_bytes()).and_then(|()| file.sync_all());
        drop(file);
        let replaced = written.and_then(|()| fs::rename(&new, &self.path));
        if replaced.is_err() {
            _ = fs::remove_file(&new);
        }
        replaced
    }

    /// Returns a path in the same folder. The suffix is appended to the whole name, so `a.example` and `a.test`
    /// share no file.
    fn beside(&self, extension: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".");
        name.push(extension);
        name.into()
    }
}

/// Opens a file for writing that only its owner can read. A new file is never a link or another user's file.
fn private(path: &Path, is_new: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).create_new(is_new).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

impl TokenStorage for FileStorage {
    fn load(&self) -> HostFuture<'_, io::Result<Option<Saved>>> {
        Box::pin(self.blocking(|storage, _| storage.read()))
    }

    fn save<'a>(&'a self, saved: &'a Saved) -> HostFuture<'a, io::Result<()>> {
        let text = saved.to_text();
        Box::pin(self.blocking(move |storage, _| storage.write(&text)))
    }

    fn lock(&self) -> HostFuture<'_, io::Result<StorageLock>> {
        let attempt = |storage: &Self, lock: &mut Weak<File>| {
            let file = private(&storage.beside("lock"), false)?;
            let file = FileExt::try_lock_exclusive(&file)?.then(|| Arc::new(file));
            if let Some(file) = &file {
                *lock = Arc::downgrade(file);
            }
            Ok(file)
        };
        Box::pin(async move {
            loop {
                if let Some(file) = self.blocking(attempt).await? {
                    // Closing the file releases the lock.
                    return Ok(StorageLock::new(file));
                }
                tokio::time::sleep(TRY_AGAIN_AFTER).await;
            }
        })
    }
}
