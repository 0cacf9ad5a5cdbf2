//! `FileStorage`: stores tokens in a file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fs4::fs_std::FileExt;
use mcp_sansio::auth::Saved;

use super::HostFuture;
use super::storage::{StorageLock, TokenStorage};

/// Stores tokens in a file that only its owner can read, one file for each MCP server and user.
///
/// The file is replaced atomically, so a crash leaves the old or the new file. Processes that share the file take
/// turns: while tokens are refreshed or stored, a second file is locked, whose name has the suffix `.lock`. A killed
/// process may leave a third file behind, with `.new` in its name. On Windows the files have the permissions of
/// their folder.
#[derive(Clone, Debug)]
pub struct FileStorage {
    path: PathBuf,
}

/// The pause between two attempts to take the lock.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(20);

impl FileStorage {
    /// Uses this file. The file is created when there is something to store; its folder must exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Removes the file: the user is logged out.
    ///
    /// # Errors
    ///
    /// Errors of the system. A missing file is not an error.
    pub fn clear(&self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            outcome => outcome,
        }
    }

    fn read(&self) -> io::Result<Option<Saved>> {
        let text = match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text?,
        };
        let saved = Saved::from_text(&text);
        saved.map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    fn write(&self, saved: &Saved) -> io::Result<()> {
        static WRITTEN: AtomicU64 = AtomicU64::new(0);
        // Concurrent writes, also in one process, use different files.
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let new = self.beside(&format!("new{}-{number}", std::process::id()));
        // An existing file was left behind, or belongs to an attacker who would read the tokens.
        _ = fs::remove_file(&new);
        let mut file = private(&new, true)?;
        let text = saved.to_text();
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
        Box::pin(async { self.read() })
    }

    fn save<'a>(&'a self, saved: &'a Saved) -> HostFuture<'a, io::Result<()>> {
        Box::pin(async { self.write(saved) })
    }

    fn lock(&self) -> HostFuture<'_, io::Result<StorageLock>> {
        Box::pin(async {
            let file = private(&self.beside("lock"), false)?;
            while !FileExt::try_lock_exclusive(&file)? {
                tokio::time::sleep(TRY_AGAIN_AFTER).await;
            }
            // Closing the file releases the lock.
            Ok(StorageLock::new(file))
        })
    }
}
