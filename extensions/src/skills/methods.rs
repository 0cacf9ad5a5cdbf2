//! The methods of the extension.

use mcp_sansio::model::PageParams;
use mcp_sansio::model::method::{CacheableMethod, Method, PagedMethod};
use mcp_sansio_driver::Json;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::EXTENSION;
use super::entry::Skill;

/// `skills/list`, to a server: the skills that it enumerates. A server may enumerate a part of its skills, or none.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_enums, reason = "it has no values")]
pub enum ListSkills {}

/// `skills/get`, to a server: the entry of the skill with this URI. A server has one for every skill that it serves.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_enums, reason = "it has no values")]
pub enum GetSkill {}

/// `resources/directory/read`, to a server that declares `directoryRead`: the files and directories in a directory.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_enums, reason = "it has no values")]
pub enum ReadDirectory {}

/// The params of [`GetSkill`] and [`ReadDirectory`].
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UriParams {
    /// The URI of a `SKILL.md`, or of a directory.
    pub uri: String,
    /// The next page of a directory, from the result before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl UriParams {
    /// Creates params with a URI.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), cursor: None }
    }
}

/// How long a result may be cached, and by whom
/// ([caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)).
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Caching {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ttl_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cache_scope: Option<String>,
}

/// A page of the list of skills.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListSkillsResult {
    /// The skills.
    pub skills: Vec<Skill>,
    /// The cursor of the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    // A client reads them from the raw result, if at all.
    #[serde(flatten, skip_deserializing)]
    pub(super) caching: Caching,
}

/// The entry of one skill.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct GetSkillResult {
    /// The skill.
    pub skill: Skill,
    // A client reads them from the raw result, if at all.
    #[serde(flatten, skip_deserializing)]
    pub(super) caching: Caching,
}

/// A page of the contents of a directory.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReadDirectoryResult {
    /// The resources in the directory: those with the MIME type [`DIRECTORY`](super::DIRECTORY) are directories. Each is a
    /// [`Resource`](mcp_sansio::model::Resource).
    pub resources: Vec<Value>,
    /// The cursor of the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl Method for ListSkills {
    const NAME: &'static str = "skills/list";
    const EXTENSION: Option<&'static str> = Some(EXTENSION);
    type Params<'a> = PageParams<'a>;
    type Result<'a> = Json<ListSkillsResult>;
}

impl PagedMethod for ListSkills {
    const ITEMS: &'static str = "skills";
}

impl CacheableMethod for ListSkills {
    const PARAM: Option<&'static str> = Some("cursor");
}

impl Method for GetSkill {
    const NAME: &'static str = "skills/get";
    const EXTENSION: Option<&'static str> = Some(EXTENSION);
    type Params<'a> = Json<UriParams>;
    type Result<'a> = Json<GetSkillResult>;
}

impl CacheableMethod for GetSkill {
    const PARAM: Option<&'static str> = Some("uri");
}

impl Method for ReadDirectory {
    const NAME: &'static str = "resources/directory/read";
    const EXTENSION: Option<&'static str> = Some(EXTENSION);
    type Params<'a> = Json<UriParams>;
    type Result<'a> = Json<ReadDirectoryResult>;
}
