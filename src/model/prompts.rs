//! Prompts ([server/prompts](https://modelcontextprotocol.io/specification/2025-11-25/server/prompts)).

use alloc::vec::Vec;

use super::cache::{CacheScope, LenientNatural, LenientScope};
use super::content::{Content, Role};
use super::lifecycle::Icon;
use super::list::List;
use super::map::Map;
use super::text::Text;
use crate::json::Raw;

record! {
    /// A template for messages that a server offers.
    #[derive(Default)]
    pub struct Prompt<'a> {
        /// The name for programs.
        pub name: Text<'a> = "name";
        /// The display name.
        pub title: Option<Text<'a>> = "title", since V2025_06_18;
        /// The description of the prompt.
        pub description: Option<Text<'a>> = "description";
        /// The arguments of the prompt.
        pub arguments: Option<Vec<PromptArgument<'a>>> = "arguments";
        /// Icons for display.
        pub icons: Option<Vec<Icon<'a>>> = "icons", since V2025_11_25;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object, since V2025_06_18;
    }
}

setters! {
    Prompt {
        title(Text<'a>) description(Text<'a>) arguments(Vec<PromptArgument<'a>>)
        icons(Vec<Icon<'a>>) meta[Raw<'a>]
    }
}

impl<'a> Prompt<'a> {
    /// Creates a prompt with a name.
    pub fn new(name: impl Into<Text<'a>>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

record! {
    /// An argument of a prompt.
    #[derive(Default)]
    pub struct PromptArgument<'a> {
        /// The name for programs.
        pub name: Text<'a> = "name";
        /// The display name.
        pub title: Option<Text<'a>> = "title", since V2025_06_18;
        /// The description of the argument.
        pub description: Option<Text<'a>> = "description";
        /// Whether the argument is required. Absent means optional.
        pub required: Option<bool> = "required";
    }
}

setters! { PromptArgument { title(Text<'a>) description(Text<'a>) } }

impl<'a> PromptArgument<'a> {
    /// Creates an optional argument with a name.
    pub fn new(name: impl Into<Text<'a>>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Creates a required argument.
    pub fn required(name: impl Into<Text<'a>>) -> Self {
        Self { required: Some(true), ..Self::new(name) }
    }
}

record! {
    /// The result of `prompts/list`.
    #[doc(alias = "prompts/list")]
    #[derive(Default)]
    pub struct ListPromptsResult<'a> {
        /// One page of prompts.
        pub prompts: List<'a, Prompt<'a>> = "prompts";
        /// The cursor of the next page; `None` on the last page.
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
    ListPromptsResult {
        next_cursor(Text<'a>) ttl_ms[u64] cache_scope[CacheScope<'a>] meta[Raw<'a>]
    }
}

impl<'a> ListPromptsResult<'a> {
    /// Creates a list of one page.
    pub fn new(prompts: impl Into<List<'a, Prompt<'a>>>) -> Self {
        Self { prompts: prompts.into(), ..Self::default() }
    }
}

record! {
    /// The params of `prompts/get`.
    #[doc(alias("prompts/get", "GetPromptRequestParams"))]
    #[derive(Default)]
    pub struct GetPromptParams<'a> {
        /// The name of the prompt.
        pub name: Text<'a> = "name";
        /// The arguments, all of them strings.
        pub arguments: Option<Map<'a, Text<'a>>> = "arguments";
        /// The results of the input requests in the server's previous response, by the keys of these input requests.
        pub input_responses: Option<Map<'a, Raw<'a>>> = "inputResponses" as Object,
            since V2026_07_28;
        /// The opaque state from the server's previous response, returned unchanged.
        ///
        /// A server must trust this state no more than any other data of a client.
        pub request_state: Option<Text<'a>> = "requestState", since V2026_07_28;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

setters! { GetPromptParams { arguments[Map<'a, Text<'a>>] meta[Raw<'a>] } }

impl<'a> GetPromptParams<'a> {
    /// Creates a request for a prompt without arguments.
    pub fn new(name: impl Into<Text<'a>>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

record! {
    /// The result of `prompts/get`.
    #[doc(alias = "prompts/get")]
    #[derive(Default)]
    pub struct GetPromptResult<'a> {
        /// The description of the prompt.
        pub description: Option<Text<'a>> = "description";
        /// The messages.
        pub messages: List<'a, PromptMessage<'a>> = "messages";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

setters! { GetPromptResult { description(Text<'a>) meta[Raw<'a>] } }

impl<'a> GetPromptResult<'a> {
    /// Creates a result of these messages.
    pub fn new(messages: impl Into<List<'a, PromptMessage<'a>>>) -> Self {
        Self { messages: messages.into(), ..Self::default() }
    }
}

record! {
    /// A message of a prompt: one block of content.
    pub struct PromptMessage<'a> {
        /// The role of the sender.
        pub role: Role<'a> = "role";
        /// The content of the message.
        pub content: Content<'a> = "content" as Blocks;
    }
}

impl<'a> PromptMessage<'a> {
    /// Creates a message.
    pub const fn new(role: Role<'a>, content: Content<'a>) -> Self {
        Self { role, content }
    }

    /// Creates a message of the user.
    pub const fn user(content: Content<'a>) -> Self {
        Self::new(Role::User, content)
    }
}
