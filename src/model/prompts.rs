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
        /// Its name for programs.
        pub name: Text<'a> = "name";
        /// Its name for people.
        pub title: Option<Text<'a>> = "title", since V2025_06_18;
        /// What it is for.
        pub description: Option<Text<'a>> = "description";
        /// What it asks for.
        pub arguments: Option<Vec<PromptArgument<'a>>> = "arguments";
        /// Pictures of it.
        pub icons: Option<Vec<Icon<'a>>> = "icons", since V2025_11_25;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object, since V2025_06_18;
    }
}

impl<'a> Prompt<'a> {
    /// A prompt with a name.
    pub fn new(name: impl Into<Text<'a>>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

record! {
    /// An argument of a prompt.
    #[derive(Default)]
    pub struct PromptArgument<'a> {
        /// Its name for programs.
        pub name: Text<'a> = "name";
        /// Its name for people.
        pub title: Option<Text<'a>> = "title", since V2025_06_18;
        /// What it is for.
        pub description: Option<Text<'a>> = "description";
        /// Whether it must be given. Absent means it need not.
        pub required: Option<bool> = "required";
    }
}

impl<'a> PromptArgument<'a> {
    /// An argument with a name.
    pub fn new(name: impl Into<Text<'a>>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// An argument that must be given.
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
        /// Where the next page begins, if there is one.
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

impl<'a> ListPromptsResult<'a> {
    /// A list of one page.
    pub fn new(prompts: impl Into<List<'a, Prompt<'a>>>) -> Self {
        Self { prompts: prompts.into(), ..Self::default() }
    }
}

record! {
    /// The params of `prompts/get`.
    #[doc(alias("prompts/get", "GetPromptRequestParams"))]
    #[derive(Default)]
    pub struct GetPromptParams<'a> {
        /// The prompt.
        pub name: Text<'a> = "name";
        /// Its arguments, all of them strings.
        pub arguments: Option<Map<'a, Text<'a>>> = "arguments";
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
    }
}

impl<'a> GetPromptParams<'a> {
    /// Asks for a prompt without arguments.
    pub fn new(name: impl Into<Text<'a>>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

record! {
    /// The result of `prompts/get`.
    #[doc(alias = "prompts/get")]
    #[derive(Default)]
    pub struct GetPromptResult<'a> {
        /// What the prompt is for.
        pub description: Option<Text<'a>> = "description";
        /// The messages.
        pub messages: List<'a, PromptMessage<'a>> = "messages";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

impl<'a> GetPromptResult<'a> {
    /// A result of these messages.
    pub fn new(messages: impl Into<List<'a, PromptMessage<'a>>>) -> Self {
        Self { messages: messages.into(), ..Self::default() }
    }
}

record! {
    /// A message of a prompt: one block of content.
    pub struct PromptMessage<'a> {
        /// Who it is from.
        pub role: Role<'a> = "role";
        /// What it says.
        pub content: Content<'a> = "content" as Blocks;
    }
}

impl<'a> PromptMessage<'a> {
    /// A message.
    pub const fn new(role: Role<'a>, content: Content<'a>) -> Self {
        Self { role, content }
    }

    /// A message of the user.
    pub const fn user(content: Content<'a>) -> Self {
        Self::new(Role::User, content)
    }
}
