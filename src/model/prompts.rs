//! Prompts ([server/prompts](https://modelcontextprotocol.io/specification/2025-11-25/server/prompts)).

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::cache::{self, CacheScope};
use super::content::{Content, Role};
use super::lifecycle::Icon;
use super::list::List;
use super::map::Map;
use super::text::Text;
use crate::json::Raw;

/// A template for messages that a server offers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct Prompt<'a> {
    /// Its name for programs.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// Its name for people (from 2025-06-18 on).
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub title: Option<Text<'a>>,
    /// What it is for.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub description: Option<Text<'a>>,
    /// What it asks for.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<PromptArgument<'a>>>,
    /// Pictures of it (2025-11-25).
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon<'a>>>,
    /// Metadata (from 2025-06-18 on).
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> Prompt<'a> {
    /// A prompt with a name.
    pub fn new(name: impl Into<Text<'a>>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

/// An argument of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct PromptArgument<'a> {
    /// Its name for programs.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// Its name for people (from 2025-06-18 on).
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub title: Option<Text<'a>>,
    /// What it is for.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub description: Option<Text<'a>>,
    /// Whether it must be given. Absent means it need not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
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

/// The result of `prompts/list`.
#[doc(alias = "prompts/list")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct ListPromptsResult<'a> {
    /// One page of prompts.
    #[serde(borrow)]
    pub prompts: List<'a, Prompt<'a>>,
    /// Where the next page begins, if there is one.
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

impl<'a> ListPromptsResult<'a> {
    /// A list of one page.
    pub fn new(prompts: impl Into<List<'a, Prompt<'a>>>) -> Self {
        Self { prompts: prompts.into(), ..Self::default() }
    }
}

/// The params of `prompts/get`.
#[doc(alias("prompts/get", "GetPromptRequestParams"))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct GetPromptParams<'a> {
    /// The prompt.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// Its arguments, all of them strings.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<'a, Text<'a>>>,
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

impl<'a> GetPromptParams<'a> {
    /// Asks for a prompt without arguments.
    pub fn new(name: impl Into<Text<'a>>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

/// The result of `prompts/get`.
#[doc(alias = "prompts/get")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct GetPromptResult<'a> {
    /// What the prompt is for.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub description: Option<Text<'a>>,
    /// The messages.
    #[serde(borrow)]
    pub messages: List<'a, PromptMessage<'a>>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> GetPromptResult<'a> {
    /// A result of these messages.
    pub fn new(messages: impl Into<List<'a, PromptMessage<'a>>>) -> Self {
        Self { messages: messages.into(), ..Self::default() }
    }
}

/// A message of a prompt: one block of content.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct PromptMessage<'a> {
    /// Who it is from.
    #[serde(borrow)]
    pub role: Role<'a>,
    /// What it says.
    #[serde(borrow)]
    pub content: Content<'a>,
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
