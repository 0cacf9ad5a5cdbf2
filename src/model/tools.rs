//! Tools ([server/tools](https://modelcontextprotocol.io/specification/2025-11-25/server/tools)).

use alloc::string::ToString;
use alloc::vec::Vec;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::cache::{CacheScope, LenientNatural, LenientScope};
use super::content::{Content, Present, borrowed_json, parse};
use super::lifecycle::Icon;
use super::list::List;
use super::map::Map;
use super::open::open_enum;
use super::text::Text;
use super::wire_types::ObjectSchema;
use crate::json::{MemberTexts, Raw};

record! {
    /// Something a server can be asked to do.
    pub struct Tool<'a> {
        /// Its name for programs, unique on its server.
        pub name: Text<'a> = "name";
        /// Its name for people.
        pub title: Option<Text<'a>> = "title", since V2025_06_18;
        /// What it does, for the model.
        pub description: Option<Text<'a>> = "description";
        /// The JSON Schema of its arguments, an object schema.
        #[doc(alias = "inputSchema")]
        pub input_schema: Raw<'a> = "inputSchema" as ObjectSchema;
        /// The JSON Schema of its structured result: an object schema, since
        /// 2026-07-28 any.
        #[doc(alias = "outputSchema")]
        pub output_schema: Option<Raw<'a>> = "outputSchema" as AnySchema,
            since V2025_06_18, or_left_out;
        /// Hints on what it does, to be trusted as far as the server is.
        pub annotations: Option<ToolAnnotations<'a>> = "annotations", since V2025_03_26;
        /// How it may be called.
        pub execution: Option<ToolExecution<'a>> = "execution", only V2025_11_25;
        /// Pictures of it.
        pub icons: Option<Vec<Icon<'a>>> = "icons", since V2025_11_25;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object, since V2025_06_18;
    }
}

impl<'a> Tool<'a> {
    /// A tool with a name and the schema of its arguments.
    pub fn new(name: impl Into<Text<'a>>, input_schema: Raw<'a>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            input_schema: ObjectSchema::vet(input_schema),
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

record! {
    /// Hints on what a tool does. A server can claim anything: do not rely on them unless you trust it.
    #[derive(Default)]
    pub struct ToolAnnotations<'a> {
        /// A name for people.
        pub title: Option<Text<'a>> = "title";
        /// It changes nothing. Absent means false.
        pub read_only_hint: Option<bool> = "readOnlyHint";
        /// It may destroy something. Absent means true; without meaning for a tool that only reads.
        pub destructive_hint: Option<bool> = "destructiveHint";
        /// Calling it again changes nothing more. Absent means false; without meaning for a tool that
        /// only reads.
        pub idempotent_hint: Option<bool> = "idempotentHint";
        /// It deals with the outside world. Absent means true.
        pub open_world_hint: Option<bool> = "openWorldHint";
    }
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

record! {
    /// How a tool may be called (2025-11-25).
    #[derive(Default)]
    pub struct ToolExecution<'a> {
        /// Whether it may run as a task. Absent means forbidden.
        pub task_support: Option<TaskSupport<'a>> = "taskSupport";
    }
}

open_enum! {
    /// Whether a tool may run as a task (2025-11-25).
    TaskSupport {
        /// It may not.
        Forbidden = "forbidden";
        /// It may.
        Optional = "optional";
        /// It must.
        Required = "required";
    }
}

record! {
    /// The params of a list method.
    #[doc(alias = "PaginatedRequestParams")]
    #[derive(Default)]
    pub struct PageParams<'a> {
        /// The `nextCursor` of the page before, untouched; absent for the first page.
        pub cursor: Option<Text<'a>> = "cursor";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

impl<'a> PageParams<'a> {
    /// Asks for the page at a cursor.
    pub fn at(cursor: impl Into<Text<'a>>) -> Self {
        Self { cursor: Some(cursor.into()), meta: None }
    }
}

record! {
    /// The result of `tools/list`.
    #[doc(alias = "tools/list")]
    #[derive(Default)]
    pub struct ListToolsResult<'a> {
        /// One page of tools.
        pub tools: List<'a, Tool<'a>> = "tools";
        /// Where the next page begins, if there is one.
        #[doc(alias = "nextCursor")]
        pub next_cursor: Option<Text<'a>> = "nextCursor";
        /// For how many milliseconds from its receipt on it may be used again. Absent means 0.
        pub ttl_ms: Option<u64> = "ttlMs" as Natural by LenientNatural, since V2026_07_28;
        /// Who may use it again.
        pub cache_scope: Option<CacheScope<'a>> = "cacheScope" as Hint by LenientScope<'_>,
            since V2026_07_28;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

impl<'a> ListToolsResult<'a> {
    /// A list of one page.
    pub fn new(tools: impl Into<List<'a, Tool<'a>>>) -> Self {
        Self { tools: tools.into(), ..Self::default() }
    }
}

record! {
    /// The params of `tools/call`.
    #[doc(alias("tools/call", "CallToolRequestParams"))]
    #[derive(Default)]
    pub struct CallToolParams<'a> {
        /// The tool.
        pub name: Text<'a> = "name";
        /// Its arguments, an object; absent for none.
        pub arguments: Option<Raw<'a>> = "arguments" as Object;
        /// What the client answers to what it was asked for when it made the request before, by the keys it
        /// was asked with.
        pub input_responses: Option<Map<'a, Raw<'a>>> = "inputResponses" as Object,
            since V2026_07_28;
        /// What the server gave the client to bring back with them, unread and unchanged.
        ///
        /// A server must trust it no more than anything else that a client sends.
        pub request_state: Option<Text<'a>> = "requestState", since V2026_07_28;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
        row "task" as Any, since V2025_11_25, before V2026_07_28;
    }
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

record! {
    /// The result of `tools/call`, also of a tool that failed.
    ///
    /// Some servers leave `content` out where they have structured content or nothing to say. That is
    /// read as no content, unless the result has members that make it something else.
    #[doc(alias = "tools/call")]
    #[derive(Default)]
    #![read as Tolerant]
    pub struct CallToolResult<'a> {
        /// What the tool returned, or what went wrong.
        pub content: List<'a, Content<'a>> = "content" as Blocks;
        /// The same as structured data: an object, since 2026-07-28 any JSON. `null` is
        /// data, too, and not the same as nothing.
        #[doc(alias = "structuredContent")]
        pub structured_content: Option<Raw<'a>> = "structuredContent" as Structured,
            since V2025_06_18, or_left_out;
        /// Whether the tool failed. Absent means it did not.
        #[doc(alias = "isError")]
        pub is_error: Option<bool> = "isError";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

/// A result that may lack its content.
struct Tolerant<'a>(CallToolResult<'a>);

impl<'a> From<Tolerant<'a>> for CallToolResult<'a> {
    fn from(result: Tolerant<'a>) -> Self {
        result.0
    }
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Raw<'de>>, D::Error> {
    Present::deserialize(deserializer).map(|present| present.0)
}

impl<'de: 'a, 'a> Deserialize<'de> for Tolerant<'a> {
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
        let Parts { content, structured_content, is_error, meta } = parts;
        let known = ["content", "structuredContent", "isError", "_meta"];
        let is_of_a_tool = || {
            MemberTexts::of(text).all(|(key, value)| {
                let says_so = key == "resultType" && value == "\"complete\"";
                says_so || known.into_iter().any(|name| key == *name)
            })
        };
        let content = match content {
            Some(content) => content,
            None if is_of_a_tool() => List::default(),
            None => return Err(Error::missing_field("content")),
        };
        Ok(Self(CallToolResult { content, structured_content, is_error, meta }))
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
