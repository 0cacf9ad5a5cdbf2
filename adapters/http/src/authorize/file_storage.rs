//! Tokens in a file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs4::fs_std::FileExt;
use mcp_sansio::auth::Saved;

use super::HostFuture;
use super::storage::{StorageLock, TokenStorage};

/// Keeps tokens in a file that only its owner can read, one file for each MCP server and user.
///
/// The file is replaced as a whole, so a crash leaves the old one or the new one. Two more files are beside it, whose names
/// have `.lock` and `.new` at the end. The first is locked while tokens are refreshed or stored: processes that share the
/// file take turns. The second becomes the file; a process that is killed may leave it behind. On Windows the files have the
/// permissions of their folder.
#[derive(Clone, Debug)]
pub struct FileStorage {
    path: PathBuf,
}

/// How often a lock that somebody else holds is tried.
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
        remove(&self.path)
    }

    /// The path with more at its end.
    fn beside(&self, ending: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(ending);
        path.into()
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
        let new = self.beside(".new");
        // One that a killed process has left behind may have other permissions.
        remove(&new)?;
        let mut file = private(&new, true)?;
        file.write_all(saved.to_text().expose().as_bytes())?;
        file.sync_all()?;
        drop(file);
        fs::rename(&new, &self.path)
    }
}

/// Removes a file if it is there.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

/// Opens a file for writing that only its owner can read. The permissions are those of a file that is made here.
fn private(path: &Path, is_new: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).create_new(is_new);
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
            let file = private(&self.beside(".lock"), false)?;
            while !FileExt::try_lock_exclusive(&file)? {
                tokio::time::sleep(TRY_AGAIN_AFTER).await;
            }
            // Closing the file gives the lock up.
            Ok(StorageLock::new(file))
        })
    }
}
