//! Tools ([server/tools](https://modelcontextprotocol.io/specification/2025-11-25/server/tools)).

use alloc::string::ToString;
use alloc::vec::Vec;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::cache::{self, CacheScope};
use super::content::{Content, borrowed_json, parse, present};
use super::lifecycle::Icon;
use super::list::List;
use super::map::Map;
use super::open::open_enum;
use super::text::Text;
use crate::json::{MemberTexts, Raw};

/// Something a server can be asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct Tool<'a> {
    /// Its name for programs, unique on its server.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// Its name for people (from 2025-06-18 on).
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub title: Option<Text<'a>>,
    /// What it does, for the model.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub description: Option<Text<'a>>,
    /// The JSON Schema of its arguments, an object schema.
    #[doc(alias = "inputSchema")]
    #[serde(borrow, rename = "inputSchema")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub input_schema: Raw<'a>,
    /// The JSON Schema of its structured result (from 2025-06-18 on): an object schema, since
    /// 2026-07-28 any.
    #[doc(alias = "outputSchema")]
    #[serde(borrow, rename = "outputSchema", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub output_schema: Option<Raw<'a>>,
    /// Hints on what it does, to be trusted as far as the server is (from 2025-03-26 on).
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations<'a>>,
    /// How it may be called (2025-11-25).
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ToolExecution<'a>>,
    /// Pictures of it (2025-11-25).
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon<'a>>>,
    /// Metadata (from 2025-06-18 on).
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> Tool<'a> {
    /// A tool with a name and the schema of its arguments.
    pub fn new(name: impl Into<Text<'a>>, input_schema: Raw<'a>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            input_schema,
            output_schema: None,
            annotations: None,
            execution: None,
            icons: None,
            meta: None,
        }
    }

    /// Whether its name is one that every client can be expected to take: 1 to 128 of the letters,
    /// digits, `_`, `-` and `.` of ASCII. The specification recommends this and refuses no other name.
    pub fn has_portable_name(&self) -> bool {
        let portable = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        (1..=128).contains(&self.name.len()) && self.name.chars().all(portable)
    }

    /// What to call it in front of people: the title, the title among the annotations, or the name.
    pub fn display_name(&self) -> &str {
        let annotated = || self.annotations.as_ref()?.title.as_ref();
        self.title.as_ref().or_else(annotated).unwrap_or(&self.name)
    }
}

/// Hints on what a tool does. A server can claim anything: do not rely on them unless you trust it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct ToolAnnotations<'a> {
    /// A name for people.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub title: Option<Text<'a>>,
    /// It changes nothing. Absent means false.
    #[serde(rename = "readOnlyHint", skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// It may destroy something. Absent means true; without meaning for a tool that only reads.
    #[serde(rename = "destructiveHint", skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Calling it again changes nothing more. Absent means false; without meaning for a tool that
    /// only reads.
    #[serde(rename = "idempotentHint", skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// It deals with the outside world. Absent means true.
    #[serde(rename = "openWorldHint", skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

impl ToolAnnotations<'_> {
    /// Whether it claims to change nothing.
    pub fn is_read_only(&self) -> bool {
        self.read_only_hint.unwrap_or(false)
    }

    /// Whether it may destroy something, as far as it says.
    pub fn is_destructive(&self) -> bool {
        !self.is_read_only() && self.destructive_hint.unwrap_or(true)
    }

    /// Whether it claims that calling it again changes nothing more.
    pub fn is_idempotent(&self) -> bool {
        self.is_read_only() || self.idempotent_hint.unwrap_or(false)
    }

    /// Whether it may deal with the outside world, as far as it says.
    pub fn is_open_world(&self) -> bool {
        self.open_world_hint.unwrap_or(true)
    }
}

/// How a tool may be called (2025-11-25).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct ToolExecution<'a> {
    /// Whether it may run as a task. Absent means forbidden.
    #[serde(borrow, rename = "taskSupport", skip_serializing_if = "Option::is_none")]
    pub task_support: Option<TaskSupport<'a>>,
}

open_enum! {
    /// Whether a tool may run as a task (2025-11-25).
    TaskSupport {
        /// It may not.
        Forbidden = "forbidden",
        /// It may.
        Optional = "optional",
        /// It must.
        Required = "required",
    }
}

/// The params of a list method.
#[doc(alias = "PaginatedRequestParams")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct PageParams<'a> {
    /// The `nextCursor` of the page before, untouched; absent for the first page.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Text<'a>>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> PageParams<'a> {
    /// Asks for the page at a cursor.
    pub fn at(cursor: impl Into<Text<'a>>) -> Self {
        Self { cursor: Some(cursor.into()), meta: None }
    }
}

/// The result of `tools/list`.
#[doc(alias = "tools/list")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct ListToolsResult<'a> {
    /// One page of tools.
    #[serde(borrow)]
    pub tools: List<'a, Tool<'a>>,
    /// Where the next page begins, if there is one.
    #[doc(alias = "nextCursor")]
    #[serde(borrow, rename = "nextCursor", skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<Text<'a>>,
    /// For how many milliseconds from its receipt on it may be used again (2026-07-28). Absent means 0.
    #[serde(
        default,
        rename = "ttlMs",
        deserialize_with = "cache::ttl",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::exact))]
    pub ttl_ms: Option<u64>,
    /// Who may use it again (2026-07-28).
    #[serde(
        borrow,
        default,
        rename = "cacheScope",
        deserialize_with = "cache::scope",
        skip_serializing_if = "Option::is_none"
    )]
    pub cache_scope: Option<CacheScope<'a>>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> ListToolsResult<'a> {
    /// A list of one page.
    pub fn new(tools: impl Into<List<'a, Tool<'a>>>) -> Self {
        Self { tools: tools.into(), ..Self::default() }
    }
}

/// The params of `tools/call`.
#[doc(alias("tools/call", "CallToolRequestParams"))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct CallToolParams<'a> {
    /// The tool.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// Its arguments, an object; absent for none.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub arguments: Option<Raw<'a>>,
    /// What the client answers to what it was asked for when it made the request before, by the keys it
    /// was asked with (2026-07-28).
    #[serde(borrow, rename = "inputResponses", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub input_responses: Option<Map<'a, Raw<'a>>>,
    /// What the server gave the client to bring back with them, unread and unchanged (2026-07-28).
    ///
    /// A server must trust it no more than anything else that a client sends.
    #[serde(borrow, rename = "requestState", skip_serializing_if = "Option::is_none")]
    pub request_state: Option<Text<'a>>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> CallToolParams<'a> {
    /// Calls a tool without arguments.
    pub fn new(name: impl Into<Text<'a>>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Calls a tool with arguments.
    pub fn with(name: impl Into<Text<'a>>, arguments: Raw<'a>) -> Self {
        Self { arguments: Some(arguments), ..Self::new(name) }
    }
}

/// The result of `tools/call`, also of a tool that failed.
///
/// Some servers leave `content` out where they have structured content or nothing to say. That is
/// read as no content, unless the result has members that make it something else.
#[doc(alias = "tools/call")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct CallToolResult<'a> {
    /// What the tool returned, or what went wrong.
    pub content: List<'a, Content<'a>>,
    /// The same as structured data (from 2025-06-18 on): an object, since 2026-07-28 any JSON. `null` is
    /// data, too, and not the same as nothing.
    #[doc(alias = "structuredContent")]
    #[serde(rename = "structuredContent", skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Raw<'a>>,
    /// Whether the tool failed. Absent means it did not.
    #[doc(alias = "isError")]
    #[serde(rename = "isError", skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for CallToolResult<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Parts<'a> {
            #[serde(borrow)]
            content: Option<List<'a, Content<'a>>>,
            #[serde(borrow, default, rename = "structuredContent", deserialize_with = "present")]
            structured_content: Option<Raw<'a>>,
            #[serde(rename = "isError")]
            is_error: Option<bool>,
            #[serde(borrow, rename = "_meta")]
            meta: Option<Raw<'a>>,
        }
        let text = borrowed_json(deserializer)?;
        let parts: Parts<'a> = parse(text)?;
        let Some(content) = parts.content else {
            let known = ["content", "structuredContent", "isError", "_meta"];
            let is_tools = MemberTexts::of(text).all(|(key, value)| {
                let says_so = key == "resultType" && value == "\"complete\"";
                says_so || known.into_iter().any(|name| key == *name)
            });
            if !is_tools {
                return Err(Error::missing_field("content"));
            }
            let Parts { structured_content, is_error, meta, .. } = parts;
            return Ok(Self { content: List::default(), structured_content, is_error, meta });
        };
        let Parts { structured_content, is_error, meta, .. } = parts;
        Ok(Self { content, structured_content, is_error, meta })
    }
}

impl<'a> CallToolResult<'a> {
    /// A result of these blocks.
    pub fn new(content: impl Into<List<'a, Content<'a>>>) -> Self {
        Self { content: content.into(), ..Self::default() }
    }

    /// A result of one block of text.
    pub fn text(text: impl Into<Text<'a>>) -> Self {
        Self { content: List::only(Content::text(text)), ..Self::default() }
    }

    /// A result of structured data, an object, and of the same as text for those who read only that.
    /// Since 2026-07-28 the data may be any JSON.
    pub fn structured(content: Raw<'a>) -> Self {
        let text = Content::text(content.to_string());
        Self { structured_content: Some(content), ..Self::new([text]) }
    }

    /// A tool that failed, with what went wrong. The model sees this; it is not a protocol error.
    pub fn error(text: impl Into<Text<'a>>) -> Self {
        Self { is_error: Some(true), ..Self::text(text) }
    }

    /// The texts of its content, in order; what else there is in it is left out.
    ///
    /// ```
    /// use mcp_sansio::model::{CallToolResult, Content};
    ///
    /// let result = CallToolResult::new([Content::text("three"), Content::text("blind mice")]);
    /// assert_eq!(result.texts().next(), Some("three"));
    /// assert_eq!(result.texts().collect::<Vec<_>>().join(" "), "three blind mice");
    /// ```
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.content.iter().filter_map(Content::as_text)
    }

    /// Whether the tool failed.
    pub fn failed(&self) -> bool {
        self.is_error.unwrap_or(false)
    }
}
