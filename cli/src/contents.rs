//! The contents of a server: all pages of all lists.

use mcp_sansio::ErrorCode;
use mcp_sansio::capability::Capability;
use mcp_sansio::json::{ParseError, Raw};
use mcp_sansio::model::method::PagedMethod;
use mcp_sansio::model::{
    List, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    Prompt, PromptArgument, Resource, ResourceTemplate, Text, Tool, method,
};
use mcp_sansio_std::{CallFailure, Reply};

use crate::say::say;
use crate::schema::{Argument, arguments};
use crate::session::{Session, failed};

/// The lists of a server; `None` for a list that the server did not return.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) tools: Option<Listing>,
    pub(crate) prompts: Option<Listing>,
    pub(crate) resources: Option<Listing>,
    pub(crate) templates: Option<Listing>,
    /// The reasons for missing lists, and for those that are not whole.
    pub(crate) failures: Vec<String>,
}

/// All pages of a list.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// The entries that could be decoded.
    pub(crate) entries: Vec<Entry>,
    /// All entries, as the server sent them.
    pub(crate) sent: Vec<Raw<'static>>,
    /// The reason why the list is not whole.
    pub(crate) cut: Option<String>,
}

/// The name or URI of an entry, its description, and its arguments.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) arguments: Vec<Argument>,
}

/// The entries of a page, and the number of those that could not be decoded.
type Entries = (Vec<Entry>, usize);

impl Contents {
    /// Reads all lists that the server declares, as far as possible.
    pub(crate) fn read(session: &Session) -> Self {
        let mut failures = Vec::new();
        let mut list = |capability, walk: fn(&Session) -> Result<Listing, String>| {
            if !session.connected().capabilities.contains(capability) {
                return Some(Listing::default());
            }
            // If several lists get no response, the first one names the reason.
            if session.is_over() {
                return None;
            }
            let listing = walk(session).map_err(|failure| failures.push(failure)).ok()?;
            failures.extend(listing.cut.clone());
            Some(listing)
        };
        let tools =
            list(Capability::Tools, |session| walk::<method::ListTools>(session, "tools", tools));
        let prompts = list(Capability::Prompts, |session| {
            walk::<method::ListPrompts>(session, "prompts", prompts)
        });
        let resources = list(Capability::Resources, Self::resources);
        let templates = list(Capability::Resources, |session| {
            walk::<method::ListResourceTemplates>(session, "resourceTemplates", templates)
        });
        Self { tools, prompts, resources, templates, failures }
    }

    /// Reads the list of resources.
    pub(crate) fn resources(session: &Session) -> Result<Listing, String> {
        walk::<method::ListResources>(session, "resources", resources)
    }
}

/// Reads all pages of a list. `member` is its member in each page.
fn walk<M: PagedMethod>(
    session: &Session,
    member: &str,
    read: fn(&Reply) -> Result<Entries, ParseError>,
) -> Result<Listing, String> {
    let (pages, cut) = match session.list::<M>() {
        Ok(listed) => listed,
        // Servers with resources and without templates do not always implement the method.
        Err(CallFailure::PeerError(error))
            if M::NAME == "resources/templates/list"
                && error.code == ErrorCode::METHOD_NOT_FOUND =>
        {
            say!("{}: the server does not have it", M::NAME);
            return Ok(Listing::default());
        }
        Err(failure) => return Err(failed(M::NAME, &failure)),
    };
    let mut all = Listing { cut, ..Listing::default() };
    for page in &pages {
        let (entries, unread) = read(page).map_err(|error| format!("{}: {error}", M::NAME))?;
        if 0 < unread {
            say!("{}: {unread} entries cannot be read", M::NAME);
        }
        all.entries.extend(entries);
        let sent = page.raw().get(member);
        all.sent.extend(sent.iter().flat_map(Raw::elements).map(Raw::into_owned));
    }
    Ok(all)
}

fn entries<T>(list: &List<'_, T>, entry: impl Fn(&T) -> Entry) -> Entries {
    (list.iter().map(entry).collect(), list.skipped().count())
}

fn entry(name: &Text<'_>, description: Option<&Text<'_>>) -> Entry {
    let description = description.map(|text| text.to_string());
    Entry { name: name.to_string(), description, arguments: Vec::new() }
}

fn tools(page: &Reply) -> Result<Entries, ParseError> {
    let list = page.parse_as::<ListToolsResult<'_>>()?.tools;
    let describe = |tool: &Tool<'_>| Entry {
        arguments: arguments(&tool.input_schema),
        ..entry(&tool.name, tool.description.as_ref())
    };
    Ok(entries(&list, describe))
}

fn prompts(page: &Reply) -> Result<Entries, ParseError> {
    let list = page.parse_as::<ListPromptsResult<'_>>()?.prompts;
    let describe = |prompt: &Prompt<'_>| Entry {
        arguments: prompt.arguments.iter().flat_map(|all| all.iter()).map(argument).collect(),
        ..entry(&prompt.name, prompt.description.as_ref())
    };
    Ok(entries(&list, describe))
}

/// All arguments of a prompt are strings.
fn argument(argument: &PromptArgument<'_>) -> Argument {
    Argument {
        name: argument.name.to_string(),
        kind: "string".into(),
        is_required: argument.required == Some(true),
        description: argument.description.as_ref().map(|text| text.to_string()),
    }
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
