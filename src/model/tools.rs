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
    /// A tool that a server offers.
    pub struct Tool<'a> {
        /// The name for programs, unique on the server.
        pub name: Text<'a> = "name";
        /// The display name.
        pub title: Option<Text<'a>> = "title", since V2025_06_18;
        /// The description for the model.
        pub description: Option<Text<'a>> = "description";
        /// The JSON Schema of the arguments, an object schema.
        #[doc(alias = "inputSchema")]
        pub input_schema: Raw<'a> = "inputSchema" as ObjectSchema;
        /// The JSON Schema of the structured result: an object schema, or any schema since 2026-07-28.
        #[doc(alias = "outputSchema")]
        pub output_schema: Option<Raw<'a>> = "outputSchema" as AnySchema,
            since V2025_06_18, or_left_out;
        /// Hints on the behavior of the tool. Trust them no more than the server.
        pub annotations: Option<ToolAnnotations<'a>> = "annotations", since V2025_03_26;
        /// The ways in which the tool may be called.
        pub execution: Option<ToolExecution<'a>> = "execution", only V2025_11_25;
        /// Icons for display.
        pub icons: Option<Vec<Icon<'a>>> = "icons", since V2025_11_25;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object, since V2025_06_18;
    }
}

setters! {
    Tool {
        title(Text<'a>) description(Text<'a>) annotations[ToolAnnotations<'a>] icons(Vec<Icon<'a>>)
        meta[Raw<'a>]
    }
}

impl<'a> Tool<'a> {
    /// Creates a tool with a name and the schema of its arguments.
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

    /// Sets the schema of structured results.
    #[must_use]
    pub fn output_schema(mut self, schema: Raw<'a>) -> Self {
        self.output_schema = Some(ObjectSchema::vet(schema));
        self
    }

    /// Sets whether the tool may run as a task. Sent in 2025-11-25 only: in the modern era the server decides.
    ///
    /// This describes the tool to clients and is not enforced. The handler of a call passes the same value to
    /// [`Server::task_mode`](crate::Server::task_mode), which rejects calls that do not comply.
    #[must_use]
    pub fn task_support(mut self, support: TaskSupport<'a>) -> Self {
        self.execution = Some(ToolExecution { task_support: Some(support) });
        self
    }

    /// Whether every client can be expected to accept the name: 1 to 128 ASCII letters, digits, `_`, `-` and `.`. The
    /// specification recommends such names and forbids no others.
    pub fn has_portable_name(&self) -> bool {
        let portable = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        (1..=128).contains(&self.name.len()) && self.name.chars().all(portable)
    }

    /// Returns the name for display: the title, the title among the annotations, or the name.
    pub fn display_name(&self) -> &str {
        let annotated = || self.annotations.as_ref()?.title.as_ref();
        self.title.as_ref().or_else(annotated).unwrap_or(&self.name)
    }
}

record! {
    /// Hints on the behavior of a tool. A server can claim anything: rely on hints only if you trust the server.
    #[derive(Default)]
    pub struct ToolAnnotations<'a> {
        /// The display name.
        pub title: Option<Text<'a>> = "title";
        /// Whether the tool changes nothing. Absent means false.
        pub read_only_hint: Option<bool> = "readOnlyHint";
        /// Whether the tool may destroy data. Absent means true; meaningless for a read-only tool.
        pub destructive_hint: Option<bool> = "destructiveHint";
        /// Whether a repeated call has no further effect. Absent means false; meaningless for a read-only tool.
        pub idempotent_hint: Option<bool> = "idempotentHint";
        /// Whether the tool interacts with the outside world. Absent means true.
        pub open_world_hint: Option<bool> = "openWorldHint";
    }
}

setters! {
    ToolAnnotations {
        title(Text<'a>) read_only_hint[bool] destructive_hint[bool] idempotent_hint[bool]
        open_world_hint[bool]
    }
}

impl ToolAnnotations<'_> {
    /// Whether the tool claims to change nothing.
    pub fn is_read_only(&self) -> bool {
        self.read_only_hint.unwrap_or(false)
    }

    /// Whether the tool may destroy data, according to its hints.
    pub fn is_destructive(&self) -> bool {
        !self.is_read_only() && self.destructive_hint.unwrap_or(true)
    }

    /// Whether the tool claims that a repeated call has no further effect.
    pub fn is_idempotent(&self) -> bool {
        self.is_read_only() || self.idempotent_hint.unwrap_or(false)
    }

    /// Whether the tool may interact with the outside world, according to its hints.
    pub fn is_open_world(&self) -> bool {
        self.open_world_hint.unwrap_or(true)
    }
}

record! {
    /// The ways in which a tool may be called (2025-11-25).
    #[derive(Default)]
    pub struct ToolExecution<'a> {
        /// Whether the tool may run as a task. Absent means forbidden.
        pub task_support: Option<TaskSupport<'a>> = "taskSupport";
    }
}

open_enum! {
    /// Whether a tool may run as a task (2025-11-25).
    TaskSupport {
        /// The tool must not run as a task.
        Forbidden = "forbidden";
        /// The tool may run as a task.
        Optional = "optional";
        /// The tool must run as a task.
        Required = "required";
    }
}

record! {
    /// The params of a list method.
    #[doc(alias("Cursor", "PaginatedRequest"))]
    #[doc(alias = "PaginatedRequestParams")]
    #[derive(Default)]
    pub struct PageParams<'a> {
        /// The `nextCursor` of the previous page, unchanged; absent for the first page.
        pub cursor: Option<Text<'a>> = "cursor";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

setters! { PageParams { cursor(Text<'a>) meta[Raw<'a>] } }

impl<'a> PageParams<'a> {
    /// Creates a request for the page at a cursor.
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
        /// The cursor of the next page; `None` on the last page.
        #[doc(alias = "nextCursor")]
        pub next_cursor: Option<Text<'a>> = "nextCursor";
        /// The caching lifetime of the result in milliseconds from its receipt. Absent means 0.
        pub ttl_ms: Option<u64> = "ttlMs" as Natural by LenientNatural, since V2026_07_28;
        /// The users that a cached result may be served to.
        pub cache_scope: Option<CacheScope<'a>> = "cacheScope" as Hint by LenientScope<'_>,
            since V2026_07_28;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

setters! {
    ListToolsResult { next_cursor(Text<'a>) ttl_ms[u64] cache_scope[CacheScope<'a>] meta[Raw<'a>] }
}

impl<'a> ListToolsResult<'a> {
    /// Creates a list of one page.
    pub fn new(tools: impl Into<List<'a, Tool<'a>>>) -> Self {
        Self { tools: tools.into(), ..Self::default() }
    }
}

record! {
    /// The params of `tools/call`.
    #[doc(alias("tools/call", "CallToolRequestParams"))]
    #[derive(Default)]
    pub struct CallToolParams<'a> {
        /// The name of the tool.
        pub name: Text<'a> = "name";
        /// The arguments, an object; absent for none.
        pub arguments: Option<Raw<'a>> = "arguments" as Object;
        /// The results of the input requests in the server's previous response, by the keys of these input requests.
        pub input_responses: Option<Map<'a, Raw<'a>>> = "inputResponses" as Object,
            since V2026_07_28;
        /// The opaque state from the server's previous response, returned unchanged.
        ///
        /// A server must trust this state no more than any other data of a client.
        pub request_state: Option<Text<'a>> = "requestState", since V2026_07_28;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
        row "task" as Any, since V2025_11_25, before V2026_07_28;
    }
}

setters! { CallToolParams { arguments[Raw<'a>] meta[Raw<'a>] } }

impl<'a> CallToolParams<'a> {
    /// Creates a call of a tool without arguments.
    pub fn new(name: impl Into<Text<'a>>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Creates a call of a tool with arguments. [`Raw::from_serialize`] makes them from an application type.
    pub fn with(name: impl Into<Text<'a>>, arguments: Raw<'a>) -> Self {
        Self { arguments: Some(arguments), ..Self::new(name) }
    }
}

record! {
    /// The result of `tools/call`, also for a tool that failed.
    ///
    /// Some servers omit `content` if a result has structured content or no content at all. Such a result is read
    /// with empty content, unless its other members identify a different kind of result.
    #[doc(alias = "tools/call")]
    #[derive(Default)]
    #![read as Tolerant]
    pub struct CallToolResult<'a> {
        /// The content that the tool returned, or the description of its failure.
        pub content: List<'a, Content<'a>> = "content" as Blocks;
        /// The result as structured data: an object, or any JSON since 2026-07-28. `null` is data too, and differs
        /// from an absent member.
        #[doc(alias = "structuredContent")]
        pub structured_content: Option<Raw<'a>> = "structuredContent" as Structured,
            since V2025_06_18, or_left_out;
        /// Whether the tool failed. Absent means false.
        #[doc(alias = "isError")]
        pub is_error: Option<bool> = "isError";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

setters! { CallToolResult { structured_content[Raw<'a>] is_error[bool] meta[Raw<'a>] } }

/// A result whose `content` may be absent.
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
    /// Creates a result of these blocks.
    pub fn new(content: impl Into<List<'a, Content<'a>>>) -> Self {
        Self { content: content.into(), ..Self::default() }
    }

    /// Creates a result of one block of text.
    pub fn text(text: impl Into<Text<'a>>) -> Self {
        Self { content: List::only(Content::text(text)), ..Self::default() }
    }

    /// Creates a result of structured data, an object, with the same data as text for clients that read only text.
    /// Since 2026-07-28 the data may be any JSON.
    pub fn structured(content: Raw<'a>) -> Self {
        let text = Content::text(content.to_string());
        Self { structured_content: Some(content), ..Self::new([text]) }
    }

    /// Creates the result of a failed tool, with a description of the failure. The model receives this result; it is
    /// not a protocol error.
    pub fn error(text: impl Into<Text<'a>>) -> Self {
        Self { is_error: Some(true), ..Self::text(text) }
    }

    /// Returns the texts of the content in order, without the other blocks.
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
