//! The printed output.

use std::fmt::Write;

use mcp_sansio::Era;
use mcp_sansio::event::{Connected, NegotiationBasis};
use mcp_sansio::json::Raw;
use mcp_sansio::model::method::{self, Method};
use mcp_sansio::model::{Content, Implementation, ResourceContents};
use mcp_sansio_std::Reply;
use serde::Serialize;

use crate::actions::Output;
use crate::contents::{Contents, Entry, Listing};
use crate::say::say;

/// The object that `--json` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Json<'a> {
    protocol_version: &'a str,
    era: &'a str,
    basis: String,
    server_info: Raw<'a>,
    capabilities: Raw<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<Raw<'a>>,
    // The lists as the server sent them, all pages.
    tools: Option<&'a [Raw<'static>]>,
    prompts: Option<&'a [Raw<'static>]>,
    resources: Option<&'a [Raw<'static>]>,
    resource_templates: Option<&'a [Raw<'static>]>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    failures: &'a [String],
}

/// Formats the contents of a server.
pub(crate) fn contents(connected: &Connected<'_>, contents: &Contents, json: bool) -> String {
    if json { contents_json(connected, contents) } else { contents_text(connected, contents) }
}

fn contents_json(connected: &Connected<'_>, contents: &Contents) -> String {
    fn sent(list: &Option<Listing>) -> Option<&[Raw<'static>]> {
        list.as_ref().map(|list| list.sent.as_slice())
    }
    let result = &connected.result;
    let member = |name| result.get(name).unwrap_or(Raw::EMPTY_OBJECT);
    let json = Json {
        protocol_version: connected.revision.name(),
        era: era(connected),
        basis: basis(connected.basis),
        server_info: server_info(result).unwrap_or(Raw::EMPTY_OBJECT),
        capabilities: member("capabilities"),
        instructions: result.get("instructions"),
        tools: sent(&contents.tools),
        prompts: sent(&contents.prompts),
        resources: sent(&contents.resources),
        resource_templates: sent(&contents.templates),
        failures: &contents.failures,
    };
    Raw::from_serialize(&json).map(|raw| raw.to_string()).unwrap_or_default()
}

fn contents_text(connected: &Connected<'_>, contents: &Contents) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    _ = write_contents(&mut text, connected, contents);
    text.trim_end().to_string()
}

fn write_contents(
    text: &mut String,
    connected: &Connected<'_>,
    contents: &Contents,
) -> std::fmt::Result {
    let (era, basis) = (era(connected), basis(connected.basis));
    writeln!(text, "revision: {} ({era}; {basis})", connected.revision)?;
    if let Some(info) = server_info(&connected.result) {
        match info.parse::<Implementation<'_>>() {
            Ok(info) => {
                let title = info.title.as_ref().map(|title| format!(" ({title})"));
                writeln!(
                    text,
                    "server: {} {}{}",
                    info.name,
                    info.version,
                    title.unwrap_or_default()
                )?;
            }
            Err(error) => writeln!(text, "server: {error}")?,
        }
    }
    if let Some(instructions) = connected.result.get("instructions").and_then(Raw::into_str) {
        writeln!(text, "instructions: {instructions}")?;
    }
    let capabilities: Vec<String> =
        connected.capabilities.iter().map(|capability| capability.to_string()).collect();
    writeln!(text, "capabilities: {}", capabilities.join(", "))?;
    for (title, list) in [
        ("tools", &contents.tools),
        ("prompts", &contents.prompts),
        ("resources", &contents.resources),
        ("resource templates", &contents.templates),
    ] {
        let Some(Listing { entries, .. }) = list else {
            writeln!(text, "\n{title}: unknown")?;
            continue;
        };
        writeln!(text, "\n{title}: {}", entries.len())?;
        entries.iter().try_for_each(|entry| write_entry(text, entry))?;
    }
    Ok(())
}

/// Formats the entries of one list.
pub(crate) fn entries(entries: &[Entry]) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    _ = entries.iter().try_for_each(|entry| write_entry(&mut text, entry));
    text.trim_end().to_string()
}

fn write_entry(text: &mut String, entry: &Entry) -> std::fmt::Result {
    let Entry { name, description, arguments } = entry;
    match description.as_deref().and_then(|text| text.lines().next()) {
        Some(line) => writeln!(text, "  {name}: {}", shortened(line))?,
        None => writeln!(text, "  {name}")?,
    }
    arguments.iter().try_for_each(|argument| writeln!(text, "    {}", argument.line()))
}

/// The server's info: in the legacy era part of the handshake, in the modern era part of every result.
fn server_info<'r>(result: &'r Raw<'_>) -> Option<Raw<'r>> {
    const KEY: &str = "/_meta/io.modelcontextprotocol~1serverInfo";
    result.get("serverInfo").or_else(|| result.pointer(KEY))
}

fn era(connected: &Connected<'_>) -> &'static str {
    match connected.revision.era() {
        Era::Modern => "without a session",
        _ => "with a session",
    }
}

/// Describes how the era was negotiated.
fn basis(basis: NegotiationBasis) -> String {
    match basis {
        NegotiationBasis::Discovered => "the server said so".into(),
        NegotiationBasis::DiscoveredLate => "the server said so, late".into(),
        NegotiationBasis::OnlySessions => "the server speaks nothing newer".into(),
        NegotiationBasis::ProbeRefused(code) => format!("server/discover was refused with {code}"),
        NegotiationBasis::ProbeMisunderstood => "server/discover was misunderstood".into(),
        NegotiationBasis::ProbeTimedOut => "server/discover was not answered".into(),
        _ => "as asked for".into(),
    }
}

/// Shortens a text to fit on a line.
pub(crate) fn shortened(line: &str) -> String {
    const MOST: usize = 100;
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or(line)),
        None => line.to_string(),
    }
}

/// Formats the contents of a resource.
pub(crate) fn resource(reply: &Reply) -> Result<Output, String> {
    let result = parsed::<method::ReadResource>(reply)?;
    let contents = result.contents.iter().map(|contents| match contents {
        ResourceContents::Text(contents) => contents.text.to_string(),
        ResourceContents::Blob(contents) => {
            format!("[{}, {} base64 characters]", contents.uri, contents.blob.len())
        }
        contents => format!("[{}]", contents.uri()),
    });
    Ok(Output { text: lines(contents), succeeded: true })
}

/// Formats the messages of a prompt.
pub(crate) fn prompt(reply: &Reply) -> Result<Output, String> {
    let result = parsed::<method::GetPrompt>(reply)?;
    let messages = result.messages.iter();
    let messages =
        messages.map(|message| format!("{}: {}", message.role.as_str(), block(&message.content)));
    Ok(Output { text: lines(messages), succeeded: true })
}

/// Formats the possible values of an argument.
pub(crate) fn completion(reply: &Reply) -> Result<Output, String> {
    let completion = parsed::<method::Complete>(reply)?.completion;
    if completion.has_more == Some(true) {
        say!("there are more values");
    }
    let values = completion.values.iter().map(|value| value.to_string());
    Ok(Output { text: lines(values), succeeded: true })
}

/// Formats the result of a tool, with whether the tool succeeded.
pub(crate) fn call(reply: &Reply) -> Result<Output, String> {
    let result = parsed::<method::CallTool>(reply)?;
    let succeeded = !result.failed();
    let mut blocks: Vec<String> = result.content.iter().map(block).collect();
    if let Some(structured) = result.structured_content.as_ref().filter(|_| blocks.is_empty()) {
        blocks.push(structured.to_string());
    }
    if !succeeded {
        say!("inspect: the tool failed");
    }
    Ok(Output { text: blocks.join("\n"), succeeded })
}

fn parsed<M: Method>(reply: &Reply) -> Result<M::Result<'_>, String> {
    reply.parse_as().map_err(|error| format!("{}: {error}", M::NAME))
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}

fn block(content: &Content<'_>) -> String {
    match content {
        Content::Text(content) => content.text.to_string(),
        Content::Image(content) => {
            format!("[{}, {} base64 characters]", content.mime_type, content.data.len())
        }
        Content::Audio(content) => {
            format!("[{}, {} base64 characters]", content.mime_type, content.data.len())
        }
        Content::Resource(content) => match &content.resource {
            ResourceContents::Text(contents) => format!("[{}]\n{}", contents.uri, contents.text),
            contents => format!("[{}]", contents.uri()),
        },
        Content::ResourceLink(link) => format!("[{}]", link.uri),
        other => format!("{other:?}"),
    }
}
