//! Tokens in a file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fs4::fs_std::FileExt;
use mcp_sansio::auth::Saved;

use super::HostFuture;
use super::storage::{StorageLock, TokenStorage};

/// Keeps tokens in a file that only its owner can read, one file for each MCP server and user.
///
/// The file is replaced as a whole, so a crash leaves the old one or the new one. A second file beside it, whose name has
/// `.lock` at its end, is locked while tokens are refreshed or stored: processes that share the file take turns. A process
/// that is killed may leave a third one behind, with `.new` in its name. On Windows the files have the permissions of their
/// folder.
#[derive(Clone, Debug)]
pub struct FileStorage {
    path: PathBuf,
}

/// The pause between two attempts to take the lock.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(20);

impl FileStorage {
    /// In this file. It is made when there is something to store; its folder has to be there.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Removes the file: the user is logged out.
    ///
    /// # Errors
    ///
    /// Those of the system. That there is no file is none.
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
        // Two may write at once, in this process too, each of them its own file.
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let new = self.beside(&format!("new{}-{number}", std::process::id()));
        // One that is there already was left behind, or belongs to somebody who wants to read the tokens.
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

    /// A file in the same folder, whose name is the whole name of this one and more: `a.example` and `a.test` have nothing
    /// in common.
    fn beside(&self, extension: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".");
        name.push(extension);
        name.into()
    }
}

/// Opens a file for writing that only its owner can read. A new file is never a link or the file of another user.
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
            // Closing the file gives the lock up.
            Ok(StorageLock::new(file))
        })
    }
}
