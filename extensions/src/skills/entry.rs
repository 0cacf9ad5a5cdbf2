//! [`Skill`]: the entry of a skill in `skills/list` and `skills/get`.

use std::collections::BTreeSet;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::uri::{directory_of, name_in};
use super::{MOST_BYTES, MOST_FILES, SKILL_FILE};

/// The most characters of a description.
const MOST_DESCRIPTION: usize = 1024;

/// The most characters of a name.
const MOST_NAME: usize = 64;

/// The description of a skill.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Skill {
    /// The URI of its `SKILL.md`, which identifies the skill. The last segment before `SKILL.md` is the name.
    pub uri: String,
    /// The complete front matter of `SKILL.md`.
    #[serde(rename = "frontmatter")]
    pub front_matter: Map<String, Value>,
    /// The files of the skill.
    #[serde(rename = "resources")]
    pub manifest: Manifest,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

/// The files of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Manifest {
    /// Every file, with `SKILL.md`. No other file belongs to the skill.
    Files(Vec<SkillFile>),
    /// The files are generated, so nothing can be compared. A host may refuse such a skill.
    Dynamic,
}

/// A file of a skill.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SkillFile {
    /// The URI of the resource.
    pub uri: String,
    /// The digest of the bytes: `sha256:` and 64 hexadecimal digits in lower case.
    pub digest: String,
    /// The number of bytes.
    pub size: u64,
}

/// The entry of a skill is not valid. On a client the server is at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidSkill {
    /// The URI does not lead to a `SKILL.md` in a directory.
    #[error("{uri:?} does not lead to SKILL.md in a directory")]
    Uri {
        /// The URI.
        uri: String,
    },
    /// The front matter is missing, or is not a YAML mapping.
    #[error("the front matter of {uri:?}: {reason}")]
    FrontMatter {
        /// The URI of `SKILL.md`.
        uri: String,
        /// The place and the error.
        reason: String,
    },
    /// A member of the front matter is missing or not valid.
    #[error("`{member}` in the front matter of {uri:?}: {reason}")]
    Member {
        /// The URI of `SKILL.md`.
        uri: String,
        /// The name of the member.
        member: &'static str,
        /// The rule that it breaks.
        reason: &'static str,
    },
    /// A file is not in the directory of the skill, appears twice, has an invalid digest, or `SKILL.md` is missing.
    #[error("the file {uri:?}: {reason}")]
    File {
        /// The URI of the file.
        uri: String,
        /// The rule that it breaks.
        reason: &'static str,
    },
    /// The skill has more files or bytes than the extension allows.
    #[error("{uri:?} has {files} files with {bytes} bytes; 512 files with 16 MiB are allowed")]
    TooLarge {
        /// The URI of `SKILL.md`.
        uri: String,
        /// The number of files.
        files: usize,
        /// The bytes of all files together.
        bytes: u64,
    },
    /// A file is in the directory of a skill that does not list it. The manifest of a skill is complete: it also lists the
    /// files of the skills in its directory.
    #[error("the file {uri:?} is in the directory of the skill {skill:?}, which does not list it")]
    NotListed {
        /// The URI of the file.
        uri: String,
        /// The URI of `SKILL.md` of that skill.
        skill: String,
    },
    /// Two skills, or two different files, have the same URI.
    #[error("{uri:?} is there twice")]
    Duplicate {
        /// The URI.
        uri: String,
    },
}

impl Skill {
    /// Returns the name, `""` if the front matter has none. It is a label: several skills can have the same.
    pub fn name(&self) -> &str {
        self.text("name").unwrap_or_default()
    }

    /// Returns the description, which tells a model when to use the skill; `""` if the front matter has none.
    pub fn description(&self) -> &str {
        self.text("description").unwrap_or_default()
    }

    /// Returns a file by its URI.
    pub fn file(&self, uri: &str) -> Option<&SkillFile> {
        let Manifest::Files(files) = &self.manifest else { return None };
        files.iter().find(|file| file.uri == uri)
    }

    /// Checks the entry: its URI, the names and the lengths in the front matter, and the manifest.
    ///
    /// # Errors
    ///
    /// [`InvalidSkill`] names the first rule that is broken.
    pub fn check(&self) -> Result<(), InvalidSkill> {
        let uri = || self.uri.clone();
        let directory = directory_of(&self.uri).ok_or_else(|| InvalidSkill::Uri { uri: uri() })?;
        let member = |member, reason| Err(InvalidSkill::Member { uri: uri(), member, reason });
        let Some(name) = self.text("name") else { return member("name", "it is no text") };
        if !is_name(name) {
            return member("name", "it has other characters than a-z, 0-9 and single hyphens");
        }
        if name_in(&self.uri).as_deref() != Some(name) {
            return member("name", "it is not the directory in the URI");
        }
        let description = self.text("description").unwrap_or_default();
        if description.trim().is_empty() || MOST_DESCRIPTION < description.chars().count() {
            return member("description", "it has no text, or more than 1024 characters");
        }
        match &self.manifest {
            Manifest::Dynamic => Ok(()),
            Manifest::Files(files) => self.check_files(files, directory),
        }
    }

    fn check_files(&self, files: &[SkillFile], directory: &str) -> Result<(), InvalidSkill> {
        let bytes = files.iter().fold(0, |sum: u64, file| sum.saturating_add(file.size));
        if MOST_FILES < files.len() || MOST_BYTES < bytes {
            let (uri, files) = (self.uri.clone(), files.len());
            return Err(InvalidSkill::TooLarge { uri, files, bytes });
        }
        let mut known = BTreeSet::new();
        for file in files {
            let broken = |reason| Err(InvalidSkill::File { uri: file.uri.clone(), reason });
            let path = file.uri.strip_prefix(directory).and_then(|path| path.strip_prefix('/'));
            if !path.is_some_and(super::uri::is_path) {
                return broken("it is not in the directory of the skill");
            }
            if !is_digest(&file.digest) {
                return broken("its digest is not `sha256:` with 64 digits");
            }
            if !known.insert(file.uri.as_str()) {
                return broken("it is listed twice");
            }
        }
        match known.contains(self.uri.as_str()) {
            true => Ok(()),
            false => Err(InvalidSkill::File { uri: self.uri.clone(), reason: "it is not listed" }),
        }
    }

    fn text(&self, member: &str) -> Option<&str> {
        self.front_matter.get(member)?.as_str()
    }
}

impl SkillFile {
    /// Describes a file with these bytes.
    pub fn new(uri: impl Into<String>, bytes: &[u8]) -> Self {
        Self { uri: uri.into(), digest: digest_of(bytes), size: bytes.len() as u64 }
    }

    /// Whether the bytes are those of the file.
    pub fn is_of(&self, bytes: &[u8]) -> bool {
        self.size == bytes.len() as u64 && self.digest == digest_of(bytes)
    }
}

/// Returns `sha256:` and the hexadecimal digest.
fn digest_of(bytes: &[u8]) -> String {
    let mut text = String::from("sha256:");
    for byte in Sha256::digest(bytes) {
        text.extend(
            [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap_or('0')),
        );
    }
    text
}

fn is_digest(text: &str) -> bool {
    let digits = text.strip_prefix("sha256:").unwrap_or_default();
    digits.len() == 64 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether a name is one of [Agent Skills](https://agentskills.io/specification).
pub(super) fn is_name(name: &str) -> bool {
    let is_symbol = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    !name.is_empty()
        && name.len() <= MOST_NAME
        && name.bytes().all(is_symbol)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
        && name != SKILL_FILE
}

const DYNAMIC: &str = "dynamic";

impl Serialize for Manifest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Files(files) => files.serialize(serializer),
            Self::Dynamic => serializer.serialize_str(DYNAMIC),
        }
    }
}

impl<'de> Deserialize<'de> for Manifest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) if text == DYNAMIC => Ok(Self::Dynamic),
            files @ Value::Array(_) => {
                serde_json::from_value(files).map(Self::Files).map_err(D::Error::custom)
            }
            _ => Err(D::Error::custom("`resources` is neither a list of files nor \"dynamic\"")),
        }
    }
}
