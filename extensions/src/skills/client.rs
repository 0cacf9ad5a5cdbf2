//! Skills of a server, for a host.

use std::collections::BTreeSet;

use mcp_sansio::call::Paging;
use mcp_sansio::json::{Kind, ParseError, Raw};
use mcp_sansio::model::{Resource, ResourceContents, ServerCapabilities};
use mcp_sansio::pagination::{NextPage, PageGuard, PageLimits};
use mcp_sansio::{CallOptions, Client};
use mcp_sansio_driver::{CallFailure, Handle, Json, Waiting};

use super::entry::{InvalidSkill, Manifest, Skill, SkillFile};
use super::front_matter::{front_matter, is_same};
use super::methods::{GetSkill, ListSkills, ReadDirectory, UriParams};
use super::{EXTENSION, SKILL_FILE};

/// A skill could not be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SkillError {
    /// The request has no result.
    #[error(transparent)]
    Call(#[from] CallFailure),
    /// The entry of the skill is not valid. The server is at fault.
    #[error(transparent)]
    Invalid(#[from] InvalidSkill),
    /// The contents of the file are not those of the manifest: the skill has changed since its entry was read. A host gets
    /// the new entry ([`get_skill`]) and asks its user for consent again.
    #[error("the contents of {uri:?} are not those of the manifest")]
    Changed {
        /// The URI of the file.
        uri: String,
    },
    /// The file is not in the manifest of the skill.
    #[error("{uri:?} is not in the manifest of the skill")]
    NotListed {
        /// The URI of the file.
        uri: String,
    },
    /// The resource has no contents, or several. The server is at fault.
    #[error("{uri:?} does not have one content")]
    NoContents {
        /// The URI of the file.
        uri: String,
    },
    /// The server has answered with the entry of another skill. The server is at fault.
    #[error("the server has answered with the skill {uri:?}")]
    OtherSkill {
        /// The URI of that skill.
        uri: String,
    },
    /// The front matter of `SKILL.md` is not that of the entry. The server is at fault.
    #[error("the front matter of {uri:?} is not that of its entry")]
    OtherFrontMatter {
        /// The URI of `SKILL.md`.
        uri: String,
    },
}

/// Lists all skills that a server enumerates, and checks each entry. A skill that is not valid, or whose URI was listed
/// before, is left out and returned as an error beside the others. An empty list does not mean that the server has no
/// skills.
///
/// # Errors
///
/// [`CallFailure`] if there is no list; [`Truncated`](CallFailure::Truncated) if it exceeds the default
/// [`PageLimits`].
#[allow(clippy::type_complexity, reason = "the parts have no better names")]
pub fn list_skills(
    server: &Handle<Client>,
) -> Waiting<'static, Result<(Vec<Skill>, Vec<SkillError>), CallFailure>> {
    let listing = server.list::<ListSkills>(Paging::default(), CallOptions::new());
    Waiting::new(async move {
        let read = listing.await?;
        if let Some(stop) = read.cut {
            return Err(CallFailure::Truncated(stop));
        }
        let (mut skills, mut errors, mut known) = (Vec::new(), Vec::new(), BTreeSet::new());
        for page in &read.pages {
            // Decoded one by one, so that one invalid entry loses no other.
            for entry in elements(page.raw(), "skills")? {
                match checked(&entry) {
                    Ok(skill) if known.insert(skill.uri.clone()) => skills.push(skill),
                    Ok(skill) => errors.push(InvalidSkill::Duplicate { uri: skill.uri }.into()),
                    Err(error) => errors.push(error),
                }
            }
        }
        Ok((skills, errors))
    })
}

fn checked(entry: &Raw<'_>) -> Result<Skill, SkillError> {
    let mismatch = |error: ParseError| CallFailure::Mismatch(format!("a skill: {error}"));
    let skill = entry.parse::<Skill>().map_err(mismatch)?;
    skill.check()?;
    Ok(skill)
}

/// Gets the entry of a skill by the URI of its `SKILL.md`, also if the server does not list it, and checks it.
///
/// # Errors
///
/// [`SkillError`] if the server does not have the skill (`-32602`), or if its entry is not valid.
pub fn get_skill(
    server: &Handle<Client>,
    uri: &str,
) -> Waiting<'static, Result<Skill, SkillError>> {
    let params = Json(UriParams::new(uri));
    let getting = server.call::<GetSkill>(&params, CallOptions::new());
    let asked = uri.to_owned();
    Waiting::new(async move {
        let reply = getting.await?;
        let missing = || CallFailure::Mismatch("`skill` is missing".into());
        let skill = checked(&reply.raw().get("skill").ok_or_else(missing)?)?;
        if skill.uri != asked {
            return Err(SkillError::OtherSkill { uri: skill.uri });
        }
        Ok(skill)
    })
}

/// Reads a file of a skill, and compares it with the manifest.
///
/// # Errors
///
/// [`SkillError::NotListed`] if the manifest does not have the file, and for every file of a dynamic skill;
/// [`SkillError::Changed`] if the contents are others.
pub fn read_file(
    server: &Handle<Client>,
    skill: &Skill,
    uri: &str,
) -> Waiting<'static, Result<Vec<u8>, SkillError>> {
    let file = skill.file(uri).cloned().ok_or_else(|| SkillError::NotListed { uri: uri.into() });
    let server = server.clone();
    Waiting::new(async move { read_listed(&server, &file?).await })
}

/// Reads the `SKILL.md` of a skill, with its front matter. Compares it with the manifest, and its front matter with the
/// entry. The contents of a dynamic skill cannot be compared; its front matter is.
///
/// # Errors
///
/// As for [`read_file`]; [`SkillError::OtherFrontMatter`] if the front matter is another.
pub fn read_instructions(
    server: &Handle<Client>,
    skill: &Skill,
) -> Waiting<'static, Result<String, SkillError>> {
    let (server, skill) = (server.clone(), skill.clone());
    Waiting::new(async move {
        let uri = skill.uri.clone();
        let bytes = match &skill.manifest {
            Manifest::Dynamic => read(&server, &uri).await?,
            Manifest::Files(_) => {
                let file = skill.file(&uri).ok_or(SkillError::NotListed { uri: uri.clone() })?;
                read_listed(&server, file).await?
            }
        };
        let reason = || format!("{SKILL_FILE} is not UTF-8");
        let text = String::from_utf8(bytes).map_err(|_| CallFailure::Mismatch(reason()))?;
        if !is_same(&front_matter(&uri, &text)?, &skill.front_matter) {
            return Err(SkillError::OtherFrontMatter { uri });
        }
        Ok(text)
    })
}

/// Whether a server lets clients read directories. The capabilities are those of `connection.connected()`.
pub fn has_directories(server: &ServerCapabilities<'_>) -> bool {
    let settings = server.extension(EXTENSION);
    settings
        .and_then(|settings| settings.get("directoryRead"))
        .is_some_and(|it| it.as_json() == "true")
}

/// Reads all pages of a directory. Call it only if the server [has directories](has_directories). Directories have the
/// MIME type [`DIRECTORY`](super::DIRECTORY).
///
/// # Errors
///
/// [`CallFailure`] if the server has no such directory (`-32602`) or no such method (`-32601`), or if the directory exceeds
/// the default [`PageLimits`].
pub fn read_directory(
    server: &Handle<Client>,
    uri: &str,
) -> Waiting<'static, Result<Vec<Resource<'static>>, CallFailure>> {
    let server = server.clone();
    let mut params = UriParams::new(uri);
    Waiting::new(async move {
        let mut found = Vec::new();
        let mut guard = PageGuard::new(PageLimits::default());
        loop {
            let asking = Json(params.clone());
            let reply = server.call::<ReadDirectory>(&asking, CallOptions::new()).await?;
            let before = found.len();
            for resource in elements(reply.raw(), "resources")? {
                let parsed = resource.parse::<Resource<'_>>();
                let mismatch = |error| CallFailure::Mismatch(format!("resources: {error}"));
                found.push(parsed.map_err(mismatch)?.into_owned());
            }
            let next = reply.raw().get("nextCursor").and_then(Raw::into_str);
            let bytes = reply.raw().as_json().len();
            match guard.page(next.as_ref(), found.len() - before, bytes) {
                NextPage::Follows => {
                    params.cursor = next.map(|cursor| cursor.to_str().into_owned());
                }
                NextPage::Stop(stop) => return Err(CallFailure::Truncated(stop)),
                _ => return Ok(found),
            }
        }
    })
}

async fn read_listed(server: &Handle<Client>, file: &SkillFile) -> Result<Vec<u8>, SkillError> {
    let bytes = read(server, &file.uri).await?;
    if !file.is_of(&bytes) {
        return Err(SkillError::Changed { uri: file.uri.clone() });
    }
    Ok(bytes)
}

async fn read(server: &Handle<Client>, uri: &str) -> Result<Vec<u8>, SkillError> {
    let read = server.read_resource(uri).await?;
    let mut contents = read.contents.iter();
    let no_contents = || SkillError::NoContents { uri: uri.to_owned() };
    let (Some(content), None) = (contents.next(), contents.next()) else {
        return Err(no_contents());
    };
    match content {
        ResourceContents::Text(text) => Ok(text.text.as_bytes().to_vec()),
        ResourceContents::Blob(blob) => blob.to_bytes().map_err(|_| no_contents()),
        _ => Err(no_contents()),
    }
}

/// Returns the elements of a member that has to be a list.
fn elements(result: &Raw<'_>, member: &str) -> Result<Vec<Raw<'static>>, CallFailure> {
    let list = result.get(member).filter(|list| list.kind() == Kind::Array);
    let list = list.ok_or_else(|| CallFailure::Mismatch(format!("`{member}` is no list")))?;
    Ok(list.elements().map(Raw::into_owned).collect())
}
