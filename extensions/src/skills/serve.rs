//! [`serve_skills`]: skills in a router.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_sansio::config::CacheHint;
use mcp_sansio::json::{Raw, Str};
use mcp_sansio::model::Resource;
use mcp_sansio::pagination::Pager;
use mcp_sansio::{ErrorCode, Revision};
use mcp_sansio_driver::{Exchange, Failed, Json, Router};
use serde_json::Value;

use super::entry::{InvalidSkill, Manifest, Skill};
use super::files::SkillFiles;
use super::methods::{
    Caching, GetSkill, GetSkillResult, ListSkills, ListSkillsResult, ReadDirectory,
    ReadDirectoryResult, UriParams,
};
use super::uri::{directory_of, last_of};
use super::{DIRECTORY, EXTENSION};

/// How skills are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillOptions {
    /// The number of skills, or of entries of a directory, on a page. `None` is one page.
    pub page_items: Option<usize>,
    /// Whether clients may read directories. Default false.
    pub directories: bool,
    /// How long the list and the entries may be cached, and by whom. By default not at all.
    pub cache: CacheHint,
}

impl SkillOptions {
    /// Creates the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of skills, or of entries of a directory, on a page.
    #[must_use]
    pub const fn page_items(mut self, items: usize) -> Self {
        self.page_items = Some(items);
        self
    }

    /// Lets clients read directories: `resources/directory/read`.
    #[must_use]
    pub const fn directories(mut self) -> Self {
        self.directories = true;
        self
    }

    /// Sets how long the list and the entries may be cached, and by whom.
    #[must_use]
    pub const fn cache(mut self, hint: CacheHint) -> Self {
        self.cache = hint;
        self
    }
}

/// Adds skills to a router: their files as resources, and the methods of the extension. The router declares the
/// extension and the capability `resources`, which the extension requires, also without a skill. Call it once for each
/// router, with all skills: a second call replaces the methods.
///
/// # Errors
///
/// [`InvalidSkill::Duplicate`] if two skills have the same URI, or if two have different files with the same URI, because
/// one is in a directory of the other. [`InvalidSkill::NotListed`] if a skill is in the directory of another one, which
/// does not list all of its files. Nothing is added.
pub fn serve_skills(
    router: &Router,
    skills: Vec<SkillFiles>,
    options: &SkillOptions,
) -> Result<(), InvalidSkill> {
    check(skills.iter().map(SkillFiles::entry))?;
    router.declare_resources();
    let entries: Arc<[Skill]> = skills.iter().map(|skill| skill.entry().clone()).collect();
    let mut directories = Directories::default();
    for (resource, contents) in skills.into_iter().flat_map(SkillFiles::resources) {
        directories.add(&resource);
        router.resource_with(resource, move |_: &Exchange| contents.clone());
    }
    let options = *options;
    let listed = Arc::clone(&entries);
    router.method::<ListSkills, _, _>(move |params: PageCursor, exchange| {
        list(&listed, &params, options, exchange)
    });
    router.method::<GetSkill, _, _>(move |params: UriParams, exchange| {
        let skill = entries.iter().find(|skill| skill.uri == params.uri);
        let missing = || refused(format!("there is no skill {:?}", params.uri));
        let skill = skill.cloned().ok_or_else(missing)?;
        Ok(Json(GetSkillResult { skill, caching: caching(options.cache, exchange) }))
    });
    if options.directories {
        let settings = serde_json::json!({ "directoryRead": true });
        router.extension(EXTENSION, Raw::from_serialize(&settings).unwrap_or(Raw::EMPTY_OBJECT));
        router.method::<ReadDirectory, _, _>(move |params: UriParams, _| {
            directories.read(&params, options)
        });
    }
    Ok(())
}

/// Checks that skills can be served together.
fn check<'s>(skills: impl Iterator<Item = &'s Skill>) -> Result<(), InvalidSkill> {
    // The files of each skill, with their digests, by the directory of the skill.
    let mut manifests = BTreeMap::new();
    for skill in skills {
        let Manifest::Files(files) = &skill.manifest else { continue };
        let files = files.iter().map(|file| (file.uri.as_str(), file.digest.as_str()));
        let files: BTreeMap<_, _> = files.collect();
        let directory = directory_of(&skill.uri).unwrap_or_default();
        if manifests.insert(directory, (skill, files)).is_some() {
            return Err(InvalidSkill::Duplicate { uri: skill.uri.clone() });
        }
    }
    for (uri, digest) in manifests.values().flat_map(|(_, files)| files) {
        let mut rest = *uri;
        // Every directory above the file can be that of a skill.
        while let Some((directory, _)) = rest.rsplit_once('/') {
            rest = directory;
            let Some((skill, files)) = manifests.get(directory) else { continue };
            match files.get(uri) {
                Some(known) if known == digest => {}
                Some(_) => return Err(InvalidSkill::Duplicate { uri: (*uri).into() }),
                None => {
                    let (uri, skill) = ((*uri).into(), skill.uri.clone());
                    return Err(InvalidSkill::NotListed { uri, skill });
                }
            }
        }
    }
    Ok(())
}

/// The params of a list, owned.
#[derive(serde::Deserialize)]
struct PageCursor {
    #[serde(default)]
    cursor: Option<String>,
}

fn list(
    skills: &[Skill],
    params: &PageCursor,
    options: SkillOptions,
    exchange: &Exchange,
) -> Result<Json<ListSkillsResult>, Failed> {
    let (skills, next_cursor) = page(skills, params.cursor.as_deref(), options)?;
    let caching = caching(options.cache, exchange);
    Ok(Json(ListSkillsResult { skills, next_cursor, caching }))
}

fn page<T: Clone>(
    items: &[T],
    cursor: Option<&str>,
    options: SkillOptions,
) -> Result<(Vec<T>, Option<String>), Failed> {
    let pager = Pager::new(options.page_items.unwrap_or(usize::MAX));
    let cursor = cursor.map(Str::from);
    let page = pager.page(items, cursor.as_ref()).map_err(|error| refused(error.to_string()))?;
    Ok((page.items.to_vec(), page.next_cursor))
}

/// The legacy era has no such members.
fn caching(hint: CacheHint, exchange: &Exchange) -> Caching {
    if exchange.request().context.revision < Revision::V2026_07_28 {
        return Caching::default();
    }
    let scope = if hint.shared { "public" } else { "private" };
    Caching { ttl_ms: Some(hint.ttl_ms), cache_scope: Some(scope.into()) }
}

fn refused(text: String) -> Failed {
    Failed::refused(ErrorCode::INVALID_PARAMS, text)
}

/// The directories of all skills, by their URIs without a slash at the end.
#[derive(Default)]
struct Directories {
    entries: BTreeMap<String, BTreeMap<String, Value>>,
}

impl Directories {
    /// Adds a file with the directories above it.
    fn add(&mut self, file: &Resource<'_>) {
        // A resource of this crate always becomes a value.
        let mut entry = serde_json::to_value(file).unwrap_or_default();
        let mut uri = file.uri.to_string();
        while let Some((directory, name)) = uri.rsplit_once('/')
            && !directory.ends_with('/')
        {
            let (directory, name) = (directory.to_owned(), name.to_owned());
            let known = self.entries.entry(directory.clone()).or_default();
            if known.insert(name, entry).is_some() {
                return;
            }
            let resource =
                Resource::new(directory.clone(), last_of(&directory)).mime_type(DIRECTORY);
            entry = serde_json::to_value(&resource).unwrap_or_default();
            uri = directory;
        }
    }

    fn read(
        &self,
        params: &UriParams,
        options: SkillOptions,
    ) -> Result<Json<ReadDirectoryResult>, Failed> {
        let missing = || refused(format!("there is no directory {:?}", params.uri));
        let uri = params.uri.strip_suffix('/').unwrap_or(&params.uri);
        let entries = self.entries.get(uri).ok_or_else(missing)?;
        let entries: Vec<Value> = entries.values().cloned().collect();
        let (resources, next_cursor) = page(&entries, params.cursor.as_deref(), options)?;
        Ok(Json(ReadDirectoryResult { resources, next_cursor }))
    }
}
