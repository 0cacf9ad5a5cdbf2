//! Sampling ([client/sampling](https://modelcontextprotocol.io/specification/2025-11-25/client/sampling)).

use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::content::{Content, Role, borrowed_json, parse};
use super::list::List;
use super::open::open_enum;
use super::text::Text;
use super::tools::Tool;
use crate::json::{Number, Raw};

/// The params of `sampling/createMessage`: what a server wants a model to answer.
#[doc(alias("sampling/createMessage", "CreateMessageRequestParams"))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct CreateMessageParams<'a> {
    /// The conversation so far.
    #[serde(borrow)]
    pub messages: List<'a, SamplingMessage<'a>>,
    /// Which model the server would like. The client decides.
    #[serde(borrow, rename = "modelPreferences", skip_serializing_if = "Option::is_none")]
    pub model_preferences: Option<ModelPreferences<'a>>,
    /// The system prompt the server would like. The client may change or drop it.
    #[serde(borrow, rename = "systemPrompt", skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<Text<'a>>,
    /// Whose context to add. Absent means none.
    #[serde(borrow, rename = "includeContext", skip_serializing_if = "Option::is_none")]
    pub include_context: Option<IncludeContext<'a>>,
    /// How random to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Number>,
    /// The most tokens to generate.
    #[serde(rename = "maxTokens")]
    pub max_tokens: i64,
    /// Where to stop.
    #[serde(borrow, rename = "stopSequences", skip_serializing_if = "Option::is_none")]
    pub stop_sequences: Option<Vec<Text<'a>>>,
    /// Anything for the provider of the model, an object.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub metadata: Option<Raw<'a>>,
    /// Tools the model may use (2025-11-25, capability `sampling.tools`).
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub tools: Option<List<'a, Tool<'a>>>,
    /// Whether the model may, must or must not use them (2025-11-25).
    #[serde(borrow, rename = "toolChoice", skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice<'a>>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> CreateMessageParams<'a> {
    /// Asks for an answer to these messages.
    pub fn new(messages: impl Into<List<'a, SamplingMessage<'a>>>, max_tokens: i64) -> Self {
        Self { messages: messages.into(), max_tokens, ..Self::default() }
    }
}

/// A message to or from a model.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct SamplingMessage<'a> {
    /// Who it is from.
    #[serde(borrow)]
    pub role: Role<'a>,
    /// What it says.
    #[serde(borrow)]
    pub content: SamplingContent<'a>,
    /// Metadata (2025-11-25).
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> SamplingMessage<'a> {
    /// A message of one block.
    pub const fn new(role: Role<'a>, content: Content<'a>) -> Self {
        Self { role, content: SamplingContent::One(content), meta: None }
    }
}

/// One block of content or, from 2025-11-25 on, several.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[allow(clippy::exhaustive_enums, reason = "a JSON value is an array or it is not")]
#[allow(clippy::large_enum_variant, reason = "one block is by far the usual case")]
pub enum SamplingContent<'a> {
    /// One block.
    One(Content<'a>),
    /// An array of blocks.
    Many(List<'a, Content<'a>>),
}

impl<'a> SamplingContent<'a> {
    /// The blocks that could be read.
    pub fn iter(&self) -> impl Iterator<Item = &Content<'a>> {
        let (one, many) = match self {
            Self::One(one) => (Some(one), None),
            Self::Many(many) => (None, Some(many.iter())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }
}

impl Serialize for SamplingContent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(content) => content.serialize(serializer),
            Self::Many(content) => content.serialize(serializer),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for SamplingContent<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = borrowed_json(deserializer)?;
        if text.starts_with('[') { parse(text).map(Self::Many) } else { parse(text).map(Self::One) }
    }
}

/// The result of `sampling/createMessage`: what the model answered.
#[doc(alias = "sampling/createMessage")]
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct CreateMessageResult<'a> {
    /// Who it is from, normally the assistant.
    #[serde(borrow)]
    pub role: Role<'a>,
    /// What it says.
    #[serde(borrow)]
    pub content: SamplingContent<'a>,
    /// The model that answered.
    #[serde(borrow)]
    pub model: Text<'a>,
    /// Why it stopped, if known.
    #[serde(borrow, rename = "stopReason", skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason<'a>>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> CreateMessageResult<'a> {
    /// An answer of one block.
    pub fn new(model: impl Into<Text<'a>>, content: Content<'a>) -> Self {
        Self {
            role: Role::Assistant,
            content: SamplingContent::One(content),
            model: model.into(),
            stop_reason: None,
            meta: None,
        }
    }
}

open_enum! {
    /// Why a model stopped.
    StopReason {
        /// It was finished.
        EndTurn = "endTurn",
        /// It came to a stop sequence.
        StopSequence = "stopSequence",
        /// It ran out of tokens.
        MaxTokens = "maxTokens",
        /// It wants to use tools (2025-11-25).
        ToolUse = "toolUse",
    }
}

open_enum! {
    /// Whose context to add to a sampling request.
    IncludeContext {
        /// Nobody's.
        None = "none",
        /// That of the server that asks.
        ThisServer = "thisServer",
        /// That of all servers.
        AllServers = "allServers",
    }
}

/// Which model a server would like. Priorities go from 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct ModelPreferences<'a> {
    /// Names to look for, in this order, before the priorities.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub hints: Option<Vec<ModelHint<'a>>>,
    /// How much cheapness matters.
    #[serde(rename = "costPriority", skip_serializing_if = "Option::is_none")]
    pub cost_priority: Option<Number>,
    /// How much speed matters.
    #[serde(rename = "speedPriority", skip_serializing_if = "Option::is_none")]
    pub speed_priority: Option<Number>,
    /// How much intelligence matters.
    #[serde(rename = "intelligencePriority", skip_serializing_if = "Option::is_none")]
    pub intelligence_priority: Option<Number>,
}

/// A part of the name of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct ModelHint<'a> {
    /// Any model whose name contains this.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub name: Option<Text<'a>>,
}

impl<'a> ModelHint<'a> {
    /// Any model whose name contains this.
    pub fn new(name: impl Into<Text<'a>>) -> Self {
        Self { name: Some(name.into()) }
    }
}

/// Whether a model may use tools (2025-11-25).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct ToolChoice<'a> {
    /// The mode. Absent means automatic.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ToolChoiceMode<'a>>,
}

impl<'a> ToolChoice<'a> {
    /// The mode, also if it is absent.
    pub fn mode(&self) -> &ToolChoiceMode<'a> {
        self.mode.as_ref().unwrap_or(&ToolChoiceMode::Auto)
    }
}

impl<'a> From<ToolChoiceMode<'a>> for ToolChoice<'a> {
    fn from(mode: ToolChoiceMode<'a>) -> Self {
        Self { mode: Some(mode) }
    }
}

open_enum! {
    /// Whether a model may use tools (2025-11-25).
    ToolChoiceMode {
        /// The model decides.
        Auto = "auto",
        /// It must use at least one.
        Required = "required",
        /// It must use none.
        None = "none",
    }
}
