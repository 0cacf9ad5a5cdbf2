//! What the functions give.

use std::fmt;

use mcp_sansio::ErrorCode;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{
    CallToolResult, Content, GetPromptResult, InputRequired, PromptMessage, ReadResourceResult,
    ResourceContents,
};
use mcp_sansio::schema::Json;
use serde::Serialize;

use super::function::Answer;

/// Why a function has no result. Every error becomes one with `?`; what it says is told to the client.
pub struct Failed {
    pub(super) reason: Reason,
}

pub(super) enum Reason {
    /// The arguments do not fit.
    Arguments(String),
    /// The thing itself has failed, which a model may want to know.
    Failed(String),
    /// The request is refused.
    Refused(ErrorCode, String),
    /// Something is needed of the client first.
    Needs(Box<InputRequired<'static>>),
    /// The URI is not of the template.
    NotMine,
    /// There is no result, nor will there be one.
    Panicked,
}

impl Failed {
    pub(super) const fn panicked() -> Self {
        Self { reason: Reason::Panicked }
    }

    /// With a text that says what has gone wrong: a tool gives a result that tells so to the model, everything
    /// else the error `-32603`.
    pub fn new(text: impl Into<String>) -> Self {
        Self { reason: Reason::Failed(text.into()) }
    }

    /// The request is refused with an error of the protocol.
    pub fn refused(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { reason: Reason::Refused(code, message.into()) }
    }

    /// Something is needed of the client first. The function is called again with the
    /// [`inputs`](mcp_sansio::Request::inputs) in the request of its exchange: see
    /// [`Server::require_input`](mcp_sansio::Server::require_input).
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

/// A value of a type that has a schema, given as structured content as [`Json`] is: [`Router::tool`](super::Router::tool) describes the tool with it, so that
/// clients know what they get. Only objects have one, and in sessions only they can be structured content: of
/// anything else clients get the text there, and nothing more.
#[cfg(feature = "schemars")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "it is a mark and will have no second field")]
pub struct Typed<T>(pub T);

/// What a tool may give: a text, a [`CallToolResult`], [`Json`], with the feature `schemars` `Typed`, or one of
/// these or [`Failed`].
#[diagnostic::on_unimplemented(
    message = "a tool cannot give `{Self}`",
    label = "the function of a tool gives this",
    note = "give a `String`, a `&str`, a `CallToolResult`, or `Json` of what can be serialised",
    note = "if it can fail, give `Result<_, Failed>`: errors become a `Failed` with `?`, and \
            texts with `Failed::new`"
)]
pub trait ToolOutput {
    /// The schema of what is given, for the description of the tool. By default there is none.
    fn output_schema() -> Option<Raw<'static>> {
        None
    }

    /// The result of the call.
    ///
    /// # Errors
    ///
    /// [`Failed`] says why there is none.
    fn into_tool_result(self) -> Answer;
}

impl ToolOutput for CallToolResult<'_> {
    fn into_tool_result(self) -> Answer {
        Ok(Raw::from_serialize(&self)?)
    }
}

impl ToolOutput for String {
    fn into_tool_result(self) -> Answer {
        CallToolResult::text(self).into_tool_result()
    }
}

impl ToolOutput for &str {
    fn into_tool_result(self) -> Answer {
        CallToolResult::text(self).into_tool_result()
    }
}

/// Given as structured content, an object, and as text for clients that do not know it.
///
/// The tool gets no `outputSchema` from it, because not every type that can be serialised has a schema: with the
/// feature `schemars` those of `Typed` do. Otherwise say it by hand, in the
/// [`output_schema`](mcp_sansio::model::Tool::output_schema) of the tool.
impl<T: Serialize> ToolOutput for Json<T> {
    fn into_tool_result(self) -> Answer {
        CallToolResult::structured(Raw::from_serialize(&self.0)?).into_tool_result()
    }
}

#[cfg(feature = "schemars")]
impl<T: Serialize + schemars::JsonSchema> ToolOutput for Typed<T> {
    fn output_schema() -> Option<Raw<'static>> {
        // Of what is written, which is not always what is read.
        let settings = schemars::generate::SchemaSettings::default().for_serialize();
        let schema = settings.into_generator().into_root_schema_for::<T>();
        let is_object = schema.get("type").is_some_and(|kind| kind == "object");
        is_object.then(|| Raw::from_serialize(&schema).ok()).flatten()
    }

    fn into_tool_result(self) -> Answer {
        Json(self.0).into_tool_result()
    }
}

impl<T: ToolOutput> ToolOutput for Result<T, Failed> {
    fn output_schema() -> Option<Raw<'static>> {
        T::output_schema()
    }

    fn into_tool_result(self) -> Answer {
        self?.into_tool_result()
    }
}

/// What a prompt may give: a text of the user, a [`GetPromptResult`], or one of these or [`Failed`].
#[diagnostic::on_unimplemented(
    message = "a prompt cannot give `{Self}`",
    label = "the function of a prompt gives this",
    note = "give a `String` or a `&str`, which the user says, or a `GetPromptResult`",
    note = "if it can fail, give `Result<_, Failed>`: errors become a `Failed` with `?`, and \
            texts with `Failed::new`"
)]
pub trait PromptOutput {
    /// The result of the request.
    ///
    /// # Errors
    ///
    /// [`Failed`] says why there is none.
    fn into_prompt_result(self) -> Answer;
}

impl PromptOutput for GetPromptResult<'_> {
    fn into_prompt_result(self) -> Answer {
        Ok(Raw::from_serialize(&self)?)
    }
}

impl PromptOutput for String {
    fn into_prompt_result(self) -> Answer {
        GetPromptResult::new([PromptMessage::user(Content::text(self))]).into_prompt_result()
    }
}

impl PromptOutput for &str {
    fn into_prompt_result(self) -> Answer {
        GetPromptResult::new([PromptMessage::user(Content::text(self))]).into_prompt_result()
    }
}

impl<T: PromptOutput> PromptOutput for Result<T, Failed> {
    fn into_prompt_result(self) -> Answer {
        self?.into_prompt_result()
    }
}

/// What a resource may give: a text, [`ResourceContents`], a [`ReadResourceResult`], or one of these or
/// [`Failed`].
#[diagnostic::on_unimplemented(
    message = "a resource cannot give `{Self}`",
    label = "the function of a resource gives this",
    note = "give a `String` or a `&str`, a `ResourceContents`, or a `ReadResourceResult`",
    note = "if it can fail, give `Result<_, Failed>`: errors become a `Failed` with `?`, and \
            texts with `Failed::new`"
)]
pub trait ResourceOutput {
    /// The result of reading the resource of this URI and type.
    ///
    /// # Errors
    ///
    /// [`Failed`] says why there is none.
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Answer;
}

impl ResourceOutput for ReadResourceResult<'_> {
    fn into_contents(self, _: &str, _: Option<&str>) -> Answer {
        Ok(Raw::from_serialize(&self)?)
    }
}

impl ResourceOutput for ResourceContents<'_> {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Answer {
        ReadResourceResult::from(self).into_contents(uri, mime_type)
    }
}

impl ResourceOutput for String {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Answer {
        self.as_str().into_contents(uri, mime_type)
    }
}

impl ResourceOutput for &str {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Answer {
        let contents = ResourceContents::text(uri, self);
        match mime_type {
            Some(mime_type) => contents.mime_type(mime_type).into_contents(uri, None),
            None => contents.into_contents(uri, None),
        }
    }
}

impl<T: ResourceOutput> ResourceOutput for Result<T, Failed> {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Answer {
        self?.into_contents(uri, mime_type)
    }
}
