//! Stored logins: one file per server URL.

use std::env;
use std::fs::DirBuilder;
use std::io;
use std::path::{Path, PathBuf};

use mcp_sansio::auth::{Saved, WebUrl};
use mcp_sansio_http::{FileStorage, HostFuture, StorageLock, TokenStorage};
use sha2::{Digest, Sha256};

/// The file of one login. Its folder is created when there is a login to store.
///
/// The folder is `mcp-sansio/inspect` in `$XDG_STATE_HOME`, by default in `~/.local/state`, and in `%LOCALAPPDATA%`
/// on Windows. The name of the file is the SHA-256 of the URL: a URL can contain any characters and be of any
/// length, and a file name must not lead out of the folder. Only its owner can read the file.
#[derive(Clone, Debug)]
pub(crate) struct Remembered {
    /// The file and its storage. `None` if no folder is configured.
    place: Option<(PathBuf, FileStorage)>,
}

impl Remembered {
    /// The stored login of the server at this URL.
    pub(crate) fn of(server: &WebUrl) -> Self {
        let file = folder().map(|folder| folder.join(file_name(server)));
        Self { place: file.map(|file| (file.clone(), FileStorage::new(file))) }
    }

    /// Deletes the file. A missing file is no error.
    pub(crate) fn clear(&self) -> io::Result<()> {
        match &self.place {
            Some((_, storage)) => storage.clear(),
            None => Ok(()),
        }
    }

    /// Adds the path of the file to an error.
    pub(crate) fn explain(&self, error: &io::Error) -> String {
        match &self.place {
            Some((file, _)) => format!("{}: {error}", file.display()),
            None => error.to_string(),
        }
    }

    /// Returns the storage, after creating its folder.
    fn storage(&self) -> io::Result<&FileStorage> {
        let no_place = || io::Error::other(format!("{} is not set", PLACES.join(" or ")));
        let (file, storage) = self.place.as_ref().ok_or_else(no_place)?;
        file.parent().map_or(Ok(()), make)?;
        Ok(storage)
    }
}

impl TokenStorage for Remembered {
    fn load(&self) -> HostFuture<'_, io::Result<Option<Saved>>> {
        Box::pin(async {
            match &self.place {
                Some((_, storage)) => storage.load().await,
                None => Ok(None),
            }
        })
    }

    fn save<'a>(&'a self, saved: &'a Saved) -> HostFuture<'a, io::Result<()>> {
        Box::pin(async { self.storage()?.save(saved).await })
    }

    fn lock(&self) -> HostFuture<'_, io::Result<StorageLock>> {
        Box::pin(async { self.storage()?.lock().await })
    }
}

/// The variables that determine the folder.
const PLACES: &[&str] = if cfg!(windows) { &["LOCALAPPDATA"] } else { &["XDG_STATE_HOME", "HOME"] };

fn folder() -> Option<PathBuf> {
    // Relative paths are ignored, because they depend on the working directory.
    let variable = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = match PLACES {
        [state, home] => {
            variable(state).or_else(|| variable(home).map(|home| home.join(".local/state")))
        }
        [state] => variable(state),
        _ => None,
    };
    Some(state?.join("mcp-sansio").join("inspect"))
}

/// Returns a file in the folder of the program, after creating the folder; `None` if no folder is configured.
pub(crate) fn state_file(name: &str) -> io::Result<Option<PathBuf>> {
    let Some(folder) = folder() else { return Ok(None) };
    make(&folder)?;
    Ok(Some(folder.join(name)))
}

fn file_name(server: &WebUrl) -> String {
    let query = server.query().map(|query| format!("?{query}")).unwrap_or_default();
    let digest = Sha256::digest(server.canonical() + &query);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    hex + ".json"
}

/// Creates a folder that only its owner can access.
fn make(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
