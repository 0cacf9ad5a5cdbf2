//! Sampling ([client/sampling](https://modelcontextprotocol.io/specification/2025-11-25/client/sampling)).

use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::content::{Content, Role, SAMPLING_BLOCK, SamplingBlocks, borrowed_json, parse};
use super::integer::Integer;
use super::list::List;
use super::open::open_enum;
use super::text::Text;
use super::tools::Tool;
use crate::json::{Number, Raw};
use crate::schema::shape::Shape;
use crate::schema::{ModelWriter, Value, WireType, Written};
use crate::version::{Revision, RevisionSet};

record! {
    /// The params of `sampling/createMessage`: a server's request to a model.
    #[doc(alias("sampling/createMessage", "CreateMessageRequestParams"))]
    #[derive(Default)]
    pub struct CreateMessageParams<'a> {
        /// The conversation so far.
        pub messages: List<'a, SamplingMessage<'a>> = "messages";
        /// The models that the server prefers. The client decides.
        pub model_preferences: Option<ModelPreferences<'a>> = "modelPreferences";
        /// The system prompt that the server proposes. The client may change or drop it.
        pub system_prompt: Option<Text<'a>> = "systemPrompt";
        /// The servers whose context to add. Absent means none.
        pub include_context: Option<IncludeContext<'a>> = "includeContext";
        /// The sampling temperature.
        pub temperature: Option<Number> = "temperature";
        /// The maximum number of tokens to generate.
        pub max_tokens: i64 = "maxTokens" by Integer<i64>;
        /// The sequences at which the model stops.
        pub stop_sequences: Option<Vec<Text<'a>>> = "stopSequences";
        /// Data for the provider of the model, an object.
        pub metadata: Option<Raw<'a>> = "metadata" as Object;
        /// The tools that the model may use (2025-11-25, capability `sampling.tools`).
        pub tools: Option<List<'a, Tool<'a>>> = "tools",
            since V2025_11_25, or_refused, gated SamplingTools;
        /// Whether the model may, must or must not use the tools.
        pub tool_choice: Option<ToolChoice<'a>> = "toolChoice",
            since V2025_11_25, or_refused, gated SamplingTools;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
        row "task" as Any, since V2025_11_25, before V2026_07_28;
    }
}

setters! {
    CreateMessageParams {
        model_preferences[ModelPreferences<'a>] system_prompt(Text<'a>)
        include_context[IncludeContext<'a>] temperature(Number) stop_sequences(Vec<Text<'a>>)
        metadata[Raw<'a>] tools(List<'a, Tool<'a>>) tool_choice[ToolChoice<'a>] meta[Raw<'a>]
    }
}

impl<'a> CreateMessageParams<'a> {
    /// Creates a request for a response to these messages.
    pub fn new(messages: impl Into<List<'a, SamplingMessage<'a>>>, max_tokens: i64) -> Self {
        Self { messages: messages.into(), max_tokens, ..Self::default() }
    }
}

record! {
    /// A message to or from a model.
    pub struct SamplingMessage<'a> {
        /// The role of the sender.
        pub role: Role<'a> = "role";
        /// The content of the message.
        pub content: SamplingContent<'a> = "content";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object, since V2025_11_25;
    }
}

setters! { SamplingMessage { meta[Raw<'a>] } }

impl<'a> SamplingMessage<'a> {
    /// Creates a message of one block.
    pub const fn new(role: Role<'a>, content: Content<'a>) -> Self {
        Self { role, content: SamplingContent::One(content), meta: None }
    }
}

/// One block of content or, from 2025-11-25 on, several.
#[doc(alias = "SamplingMessageContentBlock")]
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
    /// Returns the readable blocks.
    pub fn iter(&self) -> impl Iterator<Item = &Content<'a>> {
        let (one, many) = match self {
            Self::One(one) => (Some(one), None),
            Self::Many(many) => (None, Some(many.iter())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }
}

impl Value for SamplingContent<'_> {
    const SHAPE: Shape =
        Shape::OneOrMany { one: &SAMPLING_BLOCK, many: RevisionSet::since(Revision::V2025_11_25) };

    fn write(&self, out: &mut ModelWriter<'_, '_>) -> Written {
        match self {
            Self::One(content) => SamplingBlocks::write(content, out),
            Self::Many(content) => {
                if !out.is_in(RevisionSet::since(Revision::V2025_11_25)) {
                    out.need_filter()?;
                }
                SamplingBlocks::write(content, out)
            }
        }
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

record! {
    /// The result of `sampling/createMessage`: the message of the model.
    #[doc(alias = "sampling/createMessage")]
    pub struct CreateMessageResult<'a> {
        /// The role of the sender, normally the assistant.
        pub role: Role<'a> = "role";
        /// The content of the message.
        pub content: SamplingContent<'a> = "content";
        /// The name of the model that generated the message.
        pub model: Text<'a> = "model";
        /// The reason why the model stopped, if known.
        pub stop_reason: Option<StopReason<'a>> = "stopReason";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

setters! { CreateMessageResult { stop_reason[StopReason<'a>] meta[Raw<'a>] } }

impl<'a> CreateMessageResult<'a> {
    /// Creates a message of the assistant with one block.
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
    /// The reason why a model stopped.
    StopReason as any {
        /// The message is complete.
        EndTurn = "endTurn";
        /// The model reached a stop sequence.
        StopSequence = "stopSequence";
        /// The model reached the maximum number of tokens.
        MaxTokens = "maxTokens";
        /// The model requests tool calls (2025-11-25).
        ToolUse = "toolUse";
    }
}

open_enum! {
    /// The servers whose context to add to a sampling request.
    IncludeContext {
        /// No server.
        None = "none";
        /// The requesting server.
        ThisServer = "thisServer", gated SamplingContext;
        /// All servers.
        AllServers = "allServers", gated SamplingContext;
    }
}

record! {
    /// The models that a server prefers. Priorities range from 0 to 1.
    #[derive(Default)]
    pub struct ModelPreferences<'a> {
        /// The names to look for, in this order, before the priorities apply.
        pub hints: Option<Vec<ModelHint<'a>>> = "hints";
        /// The importance of low cost.
        pub cost_priority: Option<Number> = "costPriority" as Share;
        /// The importance of speed.
        pub speed_priority: Option<Number> = "speedPriority" as Share;
        /// The importance of intelligence.
        pub intelligence_priority: Option<Number> = "intelligencePriority" as Share;
    }
}

setters! {
    ModelPreferences {
        hints(Vec<ModelHint<'a>>) cost_priority(Number) speed_priority(Number)
        intelligence_priority(Number)
    }
}

record! {
    /// A hint with a part of a model's name.
    #[derive(Default)]
    pub struct ModelHint<'a> {
        /// A part of the name. It matches any model whose name contains it.
        pub name: Option<Text<'a>> = "name";
    }
}

impl<'a> ModelHint<'a> {
    /// Creates a hint for any model whose name contains this.
    pub fn new(name: impl Into<Text<'a>>) -> Self {
        Self { name: Some(name.into()) }
    }
}

record! {
    /// Whether a model may use tools (2025-11-25).
    #[derive(Default)]
    pub struct ToolChoice<'a> {
        /// The mode. Absent means automatic.
        pub mode: Option<ToolChoiceMode<'a>> = "mode";
    }
}

impl<'a> ToolChoice<'a> {
    /// Returns the mode, or the default if it is absent.
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
        Auto = "auto";
        /// The model must use at least one tool.
        Required = "required";
        /// The model must not use tools.
        None = "none";
    }
}
