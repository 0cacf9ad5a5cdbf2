//! The outputs of router functions: [`ToolOutput`], [`PromptOutput`], [`ResourceOutput`] and [`Failed`].

use std::fmt;

use mcp_sansio::ErrorCode;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{
    CallToolResult, Content, GetPromptResult, InputRequired, PromptMessage, ReadResourceResult,
    ResourceContents,
};
use mcp_sansio::schema::Json;
use serde::Serialize;

use super::function::FunctionResult;

/// The reason why a function has no result. `?` converts every error into it; the client receives the error's text.
pub struct Failed {
    pub(super) reason: Reason,
}

pub(super) enum Reason {
    /// The arguments are invalid.
    Arguments(String),
    /// The function itself has failed; for a tool, the model should know.
    Failed(String),
    /// The request is refused.
    Refused(ErrorCode, String),
    /// Client input is required first.
    Needs(Box<InputRequired<'static>>),
    /// The URI does not match the template.
    NotMine,
    /// There is no result, and none will follow.
    Panicked,
}

impl Failed {
    pub(super) const fn panicked() -> Self {
        Self { reason: Reason::Panicked }
    }

    /// Creates a failure with a text that describes it. A tool call gets a result that shows the text to the model;
    /// every other request gets the error `-32603`.
    pub fn new(text: impl Into<String>) -> Self {
        Self { reason: Reason::Failed(text.into()) }
    }

    /// Refuses the request with a protocol error.
    pub fn refused(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { reason: Reason::Refused(code, message.into()) }
    }

    /// Requires client input first. The function is called again with the [`inputs`](mcp_sansio::Request::inputs)
    /// in the request of its exchange: see [`Server::require_input`](mcp_sansio::Server::require_input).
    pub fn needs(required: InputRequired<'static>) -> Self {
        Self { reason: Reason::Needs(Box::new(required)) }
    }

    pub(super) fn arguments(text: &str) -> Self {
        Self { reason: Reason::Arguments(text.to_owned()) }
    }

    pub(super) const fn not_mine() -> Self {
        Self { reason: Reason::NotMine }
    }
}

impl<E: std::error::Error> From<E> for Failed {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}

impl fmt::Debug for Failed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.reason {
            Reason::Arguments(_) => "arguments",
            Reason::Failed(_) => "failed",
            Reason::Refused(..) => "refused",
            Reason::Needs(_) => "needs",
            Reason::NotMine => "not mine",
            Reason::Panicked => "panicked",
        };
        formatter.debug_tuple("Failed").field(&kind).finish()
    }
}

/// A value of a type with a schema, returned as structured content like [`Json`].
/// [`Router::tool`](super::Router::tool) adds the schema to the tool's description, so that clients know the type.
/// Only objects get a schema, and in the legacy era only objects can be structured content: for any other value,
/// legacy clients get the text alone.
#[cfg(feature = "schemars")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "it is a mark and will have no second field")]
pub struct Typed<T>(pub T);

/// A possible output of a tool: a text, a [`CallToolResult`], [`Json`], with the feature `schemars` `Typed`, or a
/// `Result` of one of these and [`Failed`].
#[diagnostic::on_unimplemented(
    message = "a tool cannot give `{Self}`",
    label = "the function of a tool gives this",
    note = "give a `String`, a `&str`, a `CallToolResult`, or `Json` of what can be serialised",
    note = "if it can fail, give `Result<_, Failed>`: errors become a `Failed` with `?`, and \
            texts with `Failed::new`"
)]
pub trait ToolOutput {
    /// Returns the schema of the output, for the description of the tool. By default there is none.
    fn output_schema() -> Option<Raw<'static>> {
        None
    }

    /// Converts the output into the result of the call.
    ///
    /// # Errors
    ///
    /// [`Failed`] if there is no result.
    fn into_tool_result(self) -> FunctionResult;
}

impl ToolOutput for CallToolResult<'_> {
    fn into_tool_result(self) -> FunctionResult {
        Ok(Raw::from_serialize(&self)?)
    }
}

impl ToolOutput for String {
    fn into_tool_result(self) -> FunctionResult {
        CallToolResult::text(self).into_tool_result()
    }
}

impl ToolOutput for &str {
    fn into_tool_result(self) -> FunctionResult {
        CallToolResult::text(self).into_tool_result()
    }
}

/// Returned as structured content, an object, and as text for clients without support for structured content.
///
/// The tool gets no `outputSchema` from this type, because not every serialisable type has a schema; with the
/// feature `schemars`, those of `Typed` do. Otherwise set [`output_schema`](mcp_sansio::model::Tool::output_schema)
/// of the tool by hand.
impl<T: Serialize> ToolOutput for Json<T> {
    fn into_tool_result(self) -> FunctionResult {
        CallToolResult::structured(Raw::from_serialize(&self.0)?).into_tool_result()
    }
}

#[cfg(feature = "schemars")]
impl<T: Serialize + schemars::JsonSchema> ToolOutput for Typed<T> {
    fn output_schema() -> Option<Raw<'static>> {
        // The schema of the serialised form, which can differ from the deserialised one.
        let settings = schemars::generate::SchemaSettings::default().for_serialize();
        let schema = settings.into_generator().into_root_schema_for::<T>();
        let is_object = schema.get("type").is_some_and(|kind| kind == "object");
        is_object.then(|| Raw::from_serialize(&schema).ok()).flatten()
    }

    fn into_tool_result(self) -> FunctionResult {
        Json(self.0).into_tool_result()
    }
}

impl<T: ToolOutput> ToolOutput for Result<T, Failed> {
    fn output_schema() -> Option<Raw<'static>> {
        T::output_schema()
    }

    fn into_tool_result(self) -> FunctionResult {
        self?.into_tool_result()
    }
}

/// A possible output of a prompt: a text as a user message, a [`GetPromptResult`], or a `Result` of one of these
/// and [`Failed`].
#[diagnostic::on_unimplemented(
    message = "a prompt cannot give `{Self}`",
    label = "the function of a prompt gives this",
    note = "give a `String` or a `&str`, which the user says, or a `GetPromptResult`",
    note = "if it can fail, give `Result<_, Failed>`: errors become a `Failed` with `?`, and \
            texts with `Failed::new`"
)]
pub trait PromptOutput {
    /// Converts the output into the result of the request.
    ///
    /// # Errors
    ///
    /// [`Failed`] if there is no result.
    fn into_prompt_result(self) -> FunctionResult;
}

impl PromptOutput for GetPromptResult<'_> {
    fn into_prompt_result(self) -> FunctionResult {
        Ok(Raw::from_serialize(&self)?)
    }
}

impl PromptOutput for String {
    fn into_prompt_result(self) -> FunctionResult {
        GetPromptResult::new([PromptMessage::user(Content::text(self))]).into_prompt_result()
    }
}

impl PromptOutput for &str {
    fn into_prompt_result(self) -> FunctionResult {
        GetPromptResult::new([PromptMessage::user(Content::text(self))]).into_prompt_result()
    }
}

impl<T: PromptOutput> PromptOutput for Result<T, Failed> {
    fn into_prompt_result(self) -> FunctionResult {
        self?.into_prompt_result()
    }
}

/// A possible output of a resource: a text, [`ResourceContents`], a [`ReadResourceResult`], or a `Result` of one of
/// these and [`Failed`].
#[diagnostic::on_unimplemented(
    message = "a resource cannot give `{Self}`",
    label = "the function of a resource gives this",
    note = "give a `String` or a `&str`, a `ResourceContents`, or a `ReadResourceResult`",
    note = "if it can fail, give `Result<_, Failed>`: errors become a `Failed` with `?`, and \
            texts with `Failed::new`"
)]
pub trait ResourceOutput {
    /// Converts the output into the result of reading the resource with this URI and MIME type.
    ///
    /// # Errors
    ///
    /// [`Failed`] if there is no result.
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> FunctionResult;
}

impl ResourceOutput for ReadResourceResult<'_> {
    fn into_contents(self, _: &str, _: Option<&str>) -> FunctionResult {
        Ok(Raw::from_serialize(&self)?)
    }
}

impl ResourceOutput for ResourceContents<'_> {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> FunctionResult {
        ReadResourceResult::from(self).into_contents(uri, mime_type)
    }
}

impl ResourceOutput for String {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> FunctionResult {
        self.as_str().into_contents(uri, mime_type)
    }
}

impl ResourceOutput for &str {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> FunctionResult {
        let contents = ResourceContents::text(uri, self);
        match mime_type {
            Some(mime_type) => contents.mime_type(mime_type).into_contents(uri, None),
            None => contents.into_contents(uri, None),
        }
    }
}

impl<T: ResourceOutput> ResourceOutput for Result<T, Failed> {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> FunctionResult {
        self?.into_contents(uri, mime_type)
    }
}
