//! What a server has, all pages of it.

use mcp_sansio::model::{
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PageParams, Text,
};
use mcp_sansio::{Capability, ErrorCode};
use mcp_sansio_std::{CallFailure, Reply};

use crate::session::Session;

/// A server that has more pages than this of something has a bug.
const MOST_PAGES: usize = 1000;

/// Names or URIs, with a description where there is one.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) tools: Vec<Entry>,
    pub(crate) prompts: Vec<Entry>,
    pub(crate) resources: Vec<Entry>,
    pub(crate) templates: Vec<Entry>,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
}

/// What one page holds, and where the next one begins.
struct Page {
    entries: Vec<Entry>,
    skipped: usize,
    next: Option<String>,
}

impl Contents {
    /// Reads everything that the server says it has.
    pub(crate) fn read(session: &Session) -> Result<Self, String> {
        let offered = session.connected().capabilities;
        let mut contents = Self::default();
        if offered.contains(Capability::Tools) {
            contents.tools = walk(session, "tools/list", tools)?;
        }
        if offered.contains(Capability::Prompts) {
            contents.prompts = walk(session, "prompts/list", prompts)?;
        }
        if offered.contains(Capability::Resources) {
            contents.resources = walk(session, "resources/list", resources)?;
            contents.templates = walk(session, "resources/templates/list", templates)?;
        }
        Ok(contents)
    }
}

type Read = fn(&Reply) -> Result<Page, mcp_sansio::json::ParseError>;

/// Follows the cursors of a list to its end.
fn walk(session: &Session, method: &str, read: Read) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    let mut seen = Vec::new();
    loop {
        let params = match seen.last() {
            Some(cursor) => PageParams::at(String::clone(cursor)),
            None => PageParams::default(),
        };
        let reply = match session.call(method, &params) {
            Ok(reply) => reply,
            // Servers that have resources and no templates do not always have the method.
            Err(CallFailure::PeerError(error))
                if method == "resources/templates/list"
                    && error.code == ErrorCode::METHOD_NOT_FOUND =>
            {
                eprintln!("{method}: the server does not have it");
                return Ok(entries);
            }
            Err(failure) => return Err(format!("{method} failed: {failure}")),
        };
        let page = read(&reply).map_err(|error| format!("{method}: {error}"))?;
        if 0 < page.skipped {
            eprintln!("{method}: {} entries cannot be read", page.skipped);
        }
        entries.extend(page.entries);
        match page.next {
            None => return Ok(entries),
            Some(cursor) if seen.contains(&cursor) => {
                return Err(format!("{method}: the server repeats the cursor {cursor:?}"));
            }
            Some(_) if seen.len() == MOST_PAGES => {
                return Err(format!("{method}: the server has more than {MOST_PAGES} pages"));
            }
            Some(cursor) => seen.push(cursor),
        }
    }
}

fn entry(name: &Text<'_>, description: Option<&Text<'_>>) -> Entry {
    Entry { name: name.to_string(), description: description.map(|text| text.to_string()) }
}

fn tools(reply: &Reply) -> Result<Page, mcp_sansio::json::ParseError> {
    let result: ListToolsResult<'_> = reply.raw().parse()?;
    Ok(Page {
        entries: result
            .tools
            .iter()
            .map(|tool| entry(&tool.name, tool.description.as_ref()))
            .collect(),
        skipped: result.tools.skipped().count(),
        next: result.next_cursor.map(String::from),
    })
}

fn prompts(reply: &Reply) -> Result<Page, mcp_sansio::json::ParseError> {
    let result: ListPromptsResult<'_> = reply.raw().parse()?;
    let prompts = &result.prompts;
    Ok(Page {
        entries: prompts
            .iter()
            .map(|prompt| entry(&prompt.name, prompt.description.as_ref()))
            .collect(),
        skipped: prompts.skipped().count(),
        next: result.next_cursor.map(String::from),
    })
}

fn resources(reply: &Reply) -> Result<Page, mcp_sansio::json::ParseError> {
    let result: ListResourcesResult<'_> = reply.raw().parse()?;
    let described = |resource: &mcp_sansio::model::Resource<'_>| {
        entry(&resource.uri, resource.description.as_ref().or(Some(&resource.name)))
    };
    Ok(Page {
        entries: result.resources.iter().map(described).collect(),
        skipped: result.resources.skipped().count(),
        next: result.next_cursor.map(String::from),
    })
}

fn templates(reply: &Reply) -> Result<Page, mcp_sansio::json::ParseError> {
    let result: ListResourceTemplatesResult<'_> = reply.raw().parse()?;
    let described = |template: &mcp_sansio::model::ResourceTemplate<'_>| {
        entry(&template.uri_template, template.description.as_ref().or(Some(&template.name)))
    };
    Ok(Page {
        entries: result.resource_templates.iter().map(described).collect(),
        skipped: result.resource_templates.skipped().count(),
        next: result.next_cursor.map(String::from),
    })
}
