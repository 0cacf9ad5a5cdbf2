//! [`SkillFiles`]: a skill with the bytes of its files, for a server.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mcp_sansio::model::{Resource, ResourceContents};

use super::entry::{InvalidSkill, Manifest, Skill, SkillFile};
use super::front_matter::front_matter;
use super::uri::{is_segment, uri_of};
use super::{MOST_BYTES, MOST_FILES, SKILL_FILE};

/// The most directories that are inside one another.
const MOST_NESTED: usize = 16;

/// A skill with its files.
#[derive(Clone)]
pub struct SkillFiles {
    entry: Skill,
    files: Vec<Loaded>,
}

#[derive(Clone)]
struct Loaded {
    uri: String,
    name: String,
    bytes: Vec<u8>,
}

/// A skill could not be read from a directory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A file or a directory could not be read.
    #[error("{}: {error}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// A name is not Unicode, or there is neither a file nor a directory: a link, for example, which could lead out of
    /// the skill.
    #[error("{}: {reason}", path.display())]
    Unsupported {
        /// The path.
        path: PathBuf,
        /// What is there.
        reason: &'static str,
    },
    /// The files are no skill.
    #[error(transparent)]
    Invalid(#[from] InvalidSkill),
}

impl SkillFiles {
    /// Creates a skill from its files: paths below its directory, with `/`, and bytes. `path` is the path of the directory
    /// in the URIs, for example `refunds` or `billing/refunds`: it ends with the name of the skill.
    ///
    /// # Errors
    ///
    /// [`InvalidSkill`] if the files are no skill.
    pub fn new<N: Into<String>, B: Into<Vec<u8>>>(
        path: &str,
        files: impl IntoIterator<Item = (N, B)>,
    ) -> Result<Self, InvalidSkill> {
        let directory = uri_of(path);
        let mut loaded = Vec::new();
        for (name, bytes) in files {
            let name: String = name.into();
            let uri = format!("{directory}/{}", uri_of(&name).trim_start_matches("skill://"));
            if !name.split('/').all(is_segment) {
                return Err(InvalidSkill::File { uri, reason: "its path is not valid" });
            }
            loaded.push(Loaded { uri, name, bytes: bytes.into() });
        }
        loaded.sort_by(|one, other| one.uri.cmp(&other.uri));
        for file in &loaded {
            let below = format!("{}/", file.uri);
            if loaded.iter().any(|other| other.uri.starts_with(&below)) {
                let reason = "a file and a directory have this path";
                return Err(InvalidSkill::File { uri: file.uri.clone(), reason });
            }
        }
        let uri = format!("{directory}/{SKILL_FILE}");
        let skill_md = loaded.iter().find(|file| file.uri == uri);
        let missing = || InvalidSkill::File { uri: uri.clone(), reason: "it is missing" };
        let text = std::str::from_utf8(&skill_md.ok_or_else(missing)?.bytes);
        let no_text = |_| InvalidSkill::File { uri: uri.clone(), reason: "it is not UTF-8" };
        let front_matter = front_matter(&uri, text.map_err(no_text)?)?;
        let files = loaded.iter().map(|file| SkillFile::new(file.uri.clone(), &file.bytes));
        let manifest = Manifest::Files(files.collect());
        let entry = Skill { uri, front_matter, manifest, meta: None };
        entry.check()?;
        Ok(Self { entry, files: loaded })
    }

    /// Reads a skill from a directory, with the directories in it. The name of the directory becomes the last segment of
    /// the path in the URIs; `prefix` comes before it, for example `billing`, or `""`.
    ///
    /// # Errors
    ///
    /// [`LoadError`] if a file cannot be read, if there is a link or another special file, or if the files are no skill.
    /// A skill has at most 512 files with 16 MiB, in directories of at most 16 levels. A binary file of more than about
    /// 12 MiB is valid, but does not fit into a message with the default
    /// [`Limits::frame_bytes`](mcp_sansio::Limits::frame_bytes).
    pub fn from_directory(prefix: &str, directory: impl AsRef<Path>) -> Result<Self, LoadError> {
        let directory = directory.as_ref();
        let io_error = |error| LoadError::Io { path: directory.into(), error };
        // `.` and `..` have no name.
        let full = fs::canonicalize(directory).map_err(io_error)?;
        let name = name_of(&full)?;
        let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        let mut reading = Reading { files: Vec::new(), bytes: 0 };
        reading.directory(&full, "", 0)?;
        Ok(Self::new(&path, reading.files)?)
    }

    /// Returns the description of the skill.
    pub const fn entry(&self) -> &Skill {
        &self.entry
    }

    /// Returns the resources of the files, and their contents.
    pub(super) fn resources(
        self,
    ) -> impl Iterator<Item = (Resource<'static>, ResourceContents<'static>)> {
        let description = self.entry.description().to_owned();
        let (name, uri) = (self.entry.name().to_owned(), self.entry.uri);
        self.files.into_iter().map(move |file| {
            let is_skill = file.uri == uri;
            let size = file.bytes.len() as u64;
            let mime_type = mime_type_of(&file.name);
            let last = file.name.rsplit('/').next().unwrap_or_default().to_owned();
            let name = if is_skill { name.clone() } else { last };
            let mut resource =
                Resource::new(file.uri.clone(), name).mime_type(mime_type).size(size);
            if is_skill {
                resource = resource.description(description.clone());
            }
            let contents = match String::from_utf8(file.bytes) {
                Ok(text) => ResourceContents::text(file.uri, text),
                Err(error) => ResourceContents::from_bytes(file.uri, error.as_bytes()),
            };
            (resource, contents.mime_type(mime_type))
        })
    }
}

/// The files that have been read from a directory.
struct Reading {
    files: Vec<(String, Vec<u8>)>,
    bytes: u64,
}

impl Reading {
    fn directory(&mut self, path: &Path, prefix: &str, depth: usize) -> Result<(), LoadError> {
        let unsupported =
            |path: &Path, reason| LoadError::Unsupported { path: path.into(), reason };
        if MOST_NESTED < depth {
            return Err(unsupported(path, "too many directories are inside one another"));
        }
        let io_error = |path: &Path, error| LoadError::Io { path: path.into(), error };
        for entry in fs::read_dir(path).map_err(|error| io_error(path, error))? {
            let entry = entry.map_err(|error| io_error(path, error))?;
            let path = entry.path();
            let name = format!("{prefix}{}", name_of(&path)?);
            // The metadata of the entry itself, not of what a link leads to.
            let metadata = entry.metadata().map_err(|error| io_error(&path, error))?;
            if metadata.is_dir() {
                self.directory(&path, &format!("{name}/"), depth + 1)?;
                continue;
            }
            if !metadata.is_file() {
                return Err(unsupported(&path, "it is neither a file nor a directory"));
            }
            self.bytes = self.bytes.saturating_add(metadata.len());
            if MOST_FILES <= self.files.len() || MOST_BYTES < self.bytes {
                let reason = "the skill has more than 512 files or 16 MiB";
                return Err(unsupported(&path, reason));
            }
            self.files.push((name, fs::read(&path).map_err(|error| io_error(&path, error))?));
        }
        Ok(())
    }
}

fn name_of(path: &Path) -> Result<String, LoadError> {
    let name = path.file_name().and_then(|name| name.to_str());
    let reason = "its name is missing or not Unicode";
    name.map(str::to_owned).ok_or_else(|| LoadError::Unsupported { path: path.into(), reason })
}

/// Returns the MIME type for the ending of a name; files of skills are mostly text.
fn mime_type_of(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("md") => "text/markdown",
        Some("txt") => "text/plain",
        Some("json") => "application/json",
        Some("yaml" | "yml") => "application/yaml",
        Some("html" | "htm") => "text/html",
        Some("css") => "text/css",
        Some("csv") => "text/csv",
        Some("js" | "mjs") => "text/javascript",
        Some("py") => "text/x-python",
        Some("sh") => "text/x-shellscript",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("pdf") => "application/pdf",
        _ => "application/octet-stream",
    }
}

/// Shows the entry and no contents.
impl fmt::Debug for SkillFiles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SkillFiles")
            .field("uri", &self.entry.uri)
            .field("files", &self.files.len())
            .finish_non_exhaustive()
    }
}
