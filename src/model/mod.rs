//! The data types of MCP: one superset for all revisions.
//!
//! The types borrow from the message that they are read from. To send a value, build it from owned or borrowed text.
//!
//! The types are open for later revisions. Structs are `#[non_exhaustive]`, so build them with `new` and set further
//! fields. Enums keep unknown values, and lists keep unreadable elements. Members without a field are accessible in
//! the [`Raw`](crate::json::Raw) that the value was read from.
//!
//! To keep a value longer than its message, call `into_owned`, which every borrowing type has: see [`IntoOwned`].
//!
//! Reading treats `null` and absent alike, except where `null` has a meaning of its own. Writing omits absent
//! members.
//!
//! ```
//! use mcp_sansio::json::Raw;
//! use mcp_sansio::model::{CallToolResult, Content, Tool};
//!
//! let mut tool = Tool::new("add", Raw::new(r#"{"type":"object"}"#)?);
//! tool.description = Some("Adds two numbers".into());
//!
//! let result = CallToolResult::text("3");
//! assert_eq!(Raw::from_serialize(&result)?.as_json(), r#"{"content":[{"type":"text","text":"3"}]}"#);
//!
//! let raw = Raw::new(r#"{"content":[{"type":"hologram","depth":3}]}"#)?;
//! let result: CallToolResult = raw.parse()?;
//! assert!(matches!(result.content.get(0), Some(Content::Unknown(_))));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[macro_use]
mod record;
#[macro_use]
mod setters;

mod cache;
mod capabilities;
mod completion;
mod content;
mod discovery;
mod elicitation;
mod few;
mod forms;
mod input;
mod integer;
mod lifecycle;
mod list;
mod logging;
mod map;
mod notifications;
mod open;
mod presentation;
mod prompts;
mod resources;
mod roots;
mod sampling;
mod schema;
mod subscriptions;
mod tasks;
mod text;
mod tools;
mod trace_context;
pub(crate) mod wire_types;

pub mod method;

// This module follows the types so that the documentation of each type begins with its constructors.
mod owned;

pub use crate::base64::Base64Error;
pub use cache::CacheScope;
pub use capabilities::{
    ClientCapabilities, ClientTaskRequests, ElicitationCapability, ElicitationTaskRequests,
    EmptyCapability, ListChanged, ResourcesCapability, SamplingCapability, SamplingTaskRequests,
    ServerCapabilities, ServerTaskRequests, TasksCapability, ToolTaskRequests,
};
pub use completion::{
    CompleteParams, CompleteResult, Completion, CompletionArgument, CompletionContext, Reference,
};
pub use content::{
    Annotations, AudioContent, Content, EmbeddedResource, ImageContent, Role, TextContent,
    ToolResultContent, ToolUseContent,
};
pub use discovery::{DiscoverResult, MissingCapabilitiesData, UnsupportedVersionData};
pub use elicitation::{
    ElicitAction, ElicitParams, ElicitResult, ElicitationMode, ElicitationRequired,
};
pub use forms::{
    ArraySchema, BooleanSchema, EnumOption, NumberSchema, ObjectSchema, PrimitiveSchema,
    SelectItems, StringSchema,
};
pub use input::{InputRequest, InputRequired};
pub use lifecycle::{Icon, IconTheme, Implementation, InitializeParams, InitializeResult};
pub use list::{IntoIter, List, ListIter, Skipped};
pub use logging::{LoggingLevel, SetLevelParams, UnknownLevel};
pub use map::{Map, MapIter};
pub use notifications::{
    CancelledParams, ElicitationCompleteParams, LogParams, ProgressParams, ResourceUpdatedParams,
};
pub use owned::IntoOwned;
pub use presentation::UnsafeUrl;
pub use prompts::{
    GetPromptParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage,
};
pub use resources::{
    BlobResourceContents, ListResourceTemplatesResult, ListResourcesResult, ReadResourceParams,
    ReadResourceResult, Resource, ResourceContents, ResourceLink, ResourceTemplate,
    TextResourceContents, UriParams,
};
pub use roots::{ListRootsResult, Root};
pub use sampling::{
    CreateMessageParams, CreateMessageResult, IncludeContext, ModelHint, ModelPreferences,
    SamplingContent, SamplingMessage, StopReason, ToolChoice, ToolChoiceMode,
};
pub use schema::{SchemaDialect, SchemaError, SchemaValidator};
pub use subscriptions::{AcknowledgedParams, ListenParams, SubscriptionFilter};
pub(crate) use tasks::CancelledTask;
pub use tasks::{
    CreateTaskResult, DetailedTask, ListTasksResult, TASKS_EXTENSION, Task, TaskMetadata,
    TaskParams, TaskStatus, UpdateTaskParams,
};
pub use text::Text;
pub use tools::{
    CallToolParams, CallToolResult, ListToolsResult, PageParams, TaskSupport, Tool,
    ToolAnnotations, ToolExecution,
};
pub use trace_context::TraceContext;

#[cfg(test)]
mod owned_tests;
#[cfg(test)]
mod read_tests;
#[cfg(test)]
mod stateless_tests;
#[cfg(test)]
mod tests;
#[cfg(all(test, feature = "arbitrary"))]
mod written_tests;
