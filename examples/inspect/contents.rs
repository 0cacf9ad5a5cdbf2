//! What a server has, all pages of it.

use mcp_sansio::json::ParseError;
use mcp_sansio::model::method::PagedMethod;
use mcp_sansio::model::{
    List, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    Prompt, Resource, ResourceTemplate, Text, Tool, method,
};
use mcp_sansio::{Capability, ErrorCode};
use mcp_sansio_std::{CallFailure, Reply};

use crate::say::say;
use crate::session::Session;

/// Names or URIs, with a description where there is one; nothing where the server did not say.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) tools: Option<Vec<Entry>>,
    pub(crate) prompts: Option<Vec<Entry>>,
    pub(crate) resources: Option<Vec<Entry>>,
    pub(crate) templates: Option<Vec<Entry>>,
    /// Why not.
    pub(crate) failures: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
}

/// The entries of a page, and how many could not be read.
type Entries = (Vec<Entry>, usize);

impl Contents {
    /// Reads everything that the server says it has, as far as that can be had.
    pub(crate) fn read(session: &Session) -> Self {
        let mut failures = Vec::new();
        let mut list = |capability, walk: fn(&Session) -> Result<Vec<Entry>, String>| {
            if !session.connected().capabilities.contains(capability) {
                return Some(Vec::new());
            }
            // Of several lists that nobody answers any more, the first one says why.
            if session.is_over() {
                return None;
            }
            walk(session).map_err(|failure| failures.push(failure)).ok()
        };
        let tools = list(Capability::Tools, |session| walk::<method::ListTools>(session, tools));
        let prompts =
            list(Capability::Prompts, |session| walk::<method::ListPrompts>(session, prompts));
        let resources = list(Capability::Resources, Self::resources);
        let templates = list(Capability::Resources, |session| {
            walk::<method::ListResourceTemplates>(session, templates)
        });
        Self { tools, prompts, resources, templates, failures }
    }

    /// Reads the list of resources.
    pub(crate) fn resources(session: &Session) -> Result<Vec<Entry>, String> {
        walk::<method::ListResources>(session, resources)
    }
}

/// Reads all pages of a list.
fn walk<M: PagedMethod>(
    session: &Session,
    read: fn(&Reply) -> Result<Entries, ParseError>,
) -> Result<Vec<Entry>, String> {
    let pages = match session.list::<M>() {
        Ok(pages) => pages,
        // Servers that have resources and no templates do not always have the method.
        Err(CallFailure::PeerError(error))
            if M::NAME == "resources/templates/list"
                && error.code == ErrorCode::METHOD_NOT_FOUND =>
        {
            say!("{}: the server does not have it", M::NAME);
            return Ok(Vec::new());
        }
        Err(failure) => return Err(format!("{} failed: {failure}", M::NAME)),
    };
    let mut all = Vec::new();
    for page in &pages {
        let (entries, unread) = read(page).map_err(|error| format!("{}: {error}", M::NAME))?;
        if 0 < unread {
            say!("{}: {unread} entries cannot be read", M::NAME);
        }
        all.extend(entries);
    }
    Ok(all)
}

fn entries<T>(list: &List<'_, T>, entry: impl Fn(&T) -> Entry) -> Entries {
    (list.iter().map(entry).collect(), list.skipped().count())
}

fn entry(name: &Text<'_>, description: Option<&Text<'_>>) -> Entry {
    Entry { name: name.to_string(), description: description.map(|text| text.to_string()) }
}

fn tools(page: &Reply) -> Result<Entries, ParseError> {
    let list = page.parse_as::<ListToolsResult<'_>>()?.tools;
    let describe = |tool: &Tool<'_>| entry(&tool.name, tool.description.as_ref());
    Ok(entries(&list, describe))
}

fn prompts(page: &Reply) -> Result<Entries, ParseError> {
    let list = page.parse_as::<ListPromptsResult<'_>>()?.prompts;
    let describe = |prompt: &Prompt<'_>| entry(&prompt.name, prompt.description.as_ref());
    Ok(entries(&list, describe))
}

fn resources(page: &Reply) -> Result<Entries, ParseError> {
    let list = page.parse_as::<ListResourcesResult<'_>>()?.resources;
    let describe = |resource: &Resource<'_>| {
        entry(&resource.uri, resource.description.as_ref().or(Some(&resource.name)))
    };
    Ok(entries(&list, describe))
}

fn templates(page: &Reply) -> Result<Entries, ParseError> {
    let list = page.parse_as::<ListResourceTemplatesResult<'_>>()?.resource_templates;
    let describe = |template: &ResourceTemplate<'_>| {
        entry(&template.uri_template, template.description.as_ref().or(Some(&template.name)))
    };
    Ok(entries(&list, describe))
}
