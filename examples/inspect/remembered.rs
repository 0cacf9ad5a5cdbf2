//! Logins that outlive the program: one file for each URL of a server.

use std::env;
use std::fs::DirBuilder;
use std::io;
use std::path::{Path, PathBuf};

use mcp_sansio::auth::{Saved, WebUrl};
use mcp_sansio_http::{FileStorage, HostFuture, StorageLock, TokenStorage};
use sha2::{Digest, Sha256};

/// The file of one login. Its folder is made when there is something to remember.
///
/// The folder is `mcp-sansio/inspect` in `$XDG_STATE_HOME`, in `~/.local/state` without that variable, and in
/// `%LOCALAPPDATA%` on Windows. The name of the file is the SHA-256 of the URL: a URL itself can hold every character
/// and any number of them, and a name must not lead out of the folder. Only its owner can read the file.
#[derive(Clone, Debug)]
pub(crate) struct Remembered {
    /// `None` if the user has no place for it.
    file: Option<PathBuf>,
}

impl Remembered {
    /// For the server at this URL.
    pub(crate) fn of(server: &WebUrl) -> Self {
        let file = folder().map(|folder| folder.join(file_name(server)));
        Self { file }
    }

    /// Removes the file. That there is none is no error.
    pub(crate) fn clear(&self) -> io::Result<()> {
        match &self.file {
            Some(file) => FileStorage::new(file).clear(),
            None => Ok(()),
        }
    }

    /// The error with the place of the file.
    pub(crate) fn explain(&self, error: &io::Error) -> String {
        match &self.file {
            Some(file) => format!("{}: {error}", file.display()),
            None => error.to_string(),
        }
    }

    /// The storage in a folder that is there.
    fn storage(&self) -> io::Result<FileStorage> {
        let no_place = || io::Error::other(format!("{} is not set", PLACES.join(" or ")));
        let file = self.file.as_deref().ok_or_else(no_place)?;
        file.parent().map_or(Ok(()), make)?;
        Ok(FileStorage::new(file))
    }
}

impl TokenStorage for Remembered {
    fn load(&self) -> HostFuture<'_, io::Result<Option<Saved>>> {
        Box::pin(async {
            match &self.file {
                Some(file) => FileStorage::new(file).load().await,
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

/// The variables that name the place.
const PLACES: &[&str] = if cfg!(windows) { &["LOCALAPPDATA"] } else { &["XDG_STATE_HOME", "HOME"] };

fn folder() -> Option<PathBuf> {
    // A path that is relative leads elsewhere from every folder, so it does not count.
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

fn file_name(server: &WebUrl) -> String {
    let query = server.query().map(|query| format!("?{query}")).unwrap_or_default();
    let digest = Sha256::digest(server.canonical() + &query);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    hex + ".json"
}

/// Makes a folder that only its owner can look into.
fn make(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
