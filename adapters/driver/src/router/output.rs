//! The outputs of router functions: [`ToolOutput`], [`PromptOutput`], [`ResourceOutput`] and [`Failed`].

use std::error::Error;
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

/// The reason why a function has no result.
///
/// `?` converts every error into it that threads can share, also `anyhow::Error`, `Box<dyn Error + Send + Sync>` and
/// texts; for a `Box<dyn Error>` use [`from_display`](Self::from_display). The client receives the texts of the error
/// and of its sources: `cannot read notes.txt: permission denied`.
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
    /// There is no resource with this URI.
    NotFound,
    /// The function has panicked.
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
    ///
    /// The second call starts at the beginning of the function, so require input before the first effect:
    ///
    /// ```
    /// use mcp_sansio::json::Raw;
    /// use mcp_sansio::model::{ElicitParams, ElicitResult, InputRequired};
    /// use mcp_sansio_driver::{Exchange, Failed};
    ///
    /// fn clear(exchange: &Exchange) -> Result<&'static str, Failed> {
    ///     let Some(answer) = exchange.request().input("sure") else {
    ///         let schema = Raw::new(r#"{"type":"object","properties":{}}"#)?;
    ///         let form = ElicitParams::form("Delete all notes?", schema.parse()?);
    ///         return Err(Failed::needs(InputRequired::new().elicit("sure", form).into_owned()));
    ///     };
    ///     match answer.parse::<ElicitResult<'_>>()?.filled_in() {
    ///         Some(_) => Ok("deleted"),
    ///         None => Ok("nothing has changed"),
    ///     }
    /// }
    /// # _ = clear;
    /// ```
    pub fn needs(required: InputRequired<'static>) -> Self {
        Self { reason: Reason::Needs(Box::new(required)) }
    }

    /// Creates a failure from a value that can be displayed: `result.map_err(Failed::from_display)?`.
    pub fn from_display(text: impl fmt::Display) -> Self {
        Self::new(text.to_string())
    }

    /// Whether the function has panicked. The client of a tool gets a result with `isError`, so that the model knows,
    /// and every other request gets the error `-32603`. A middleware can return another failure instead.
    pub const fn is_panic(&self) -> bool {
        matches!(self.reason, Reason::Panicked)
    }

    pub(super) const fn arguments(text: String) -> Self {
        Self { reason: Reason::Arguments(text) }
    }

    pub(super) const fn not_found() -> Self {
        Self { reason: Reason::NotFound }
    }
}

impl<'a, E: Into<Box<dyn Error + Send + Sync + 'a>>> From<E> for Failed {
    fn from(error: E) -> Self {
        let error = error.into();
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            // Some errors display their source as well.
            if !text.contains(&cause_text) {
                text.extend([": ", &cause_text]);
            }
            source = cause.source();
        }
        Self::new(text)
    }
}

impl fmt::Debug for Failed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.reason {
            Reason::Arguments(_) => "arguments",
            Reason::Failed(_) => "failed",
            Reason::Refused(..) => "refused",
            Reason::Needs(_) => "needs",
            Reason::NotFound => "not found",
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
    note = "give a `String`, a `&str`, a `CallToolResult`, or `Json` or `Typed` of a value",
    note = "if it can fail, give `Result<_, Failed>` and no other `Result`: errors, also those of \
            `anyhow`, and texts become a `Failed` with `?`",
    note = "a function that returns a future goes to `async_tool` or `async_tool_with`"
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

/// A possible output of a resource: a text, [`ResourceContents`], a [`ReadResourceResult`], a `Result` of one of these
/// and [`Failed`], or an `Option`, which is `None` if there is no such resource.
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

impl<T: ResourceOutput> ResourceOutput for Option<T> {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> FunctionResult {
        self.ok_or_else(Failed::not_found)?.into_contents(uri, mime_type)
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::io;

    use anyhow::Context;

    use super::{Failed, Reason};

    fn text(result: Result<(), Failed>) -> String {
        match result.unwrap_err().reason {
            Reason::Failed(text) => text,
            _ => panic!("another reason"),
        }
    }

    #[derive(Debug, thiserror::Error)]
    #[error("the second half is missing")]
    struct Outer(#[source] io::Error);

    #[derive(Debug, thiserror::Error)]
    #[error("it is over: {0}")]
    struct Showing(#[source] io::Error);

    fn fails<E>(error: E) -> Result<(), Failed>
    where
        Failed: From<E>,
    {
        Err(error)?;
        Ok(())
    }

    #[test]
    fn every_error_is_a_failure_with_its_causes() {
        let broken = || io::Error::other("the disk is full");
        assert_eq!(text(fails(broken())), "the disk is full");
        assert_eq!(text(fails(Outer(broken()))), "the second half is missing: the disk is full");
        // An error that shows its cause itself does not show it twice.
        assert_eq!(text(fails(Showing(broken()))), "it is over: the disk is full");
        let with_context = Err::<(), _>(broken()).context("cannot write notes.txt");
        assert_eq!(
            text(fails(with_context.unwrap_err())),
            "cannot write notes.txt: the disk is full"
        );
        let boxed: Box<dyn Error + Send + Sync> = Box::new(broken());
        assert_eq!(text(fails(boxed)), "the disk is full");
        let boxed: Box<dyn Error> = Box::new(broken());
        assert_eq!(text(Err(Failed::from_display(boxed))), "the disk is full");
        assert_eq!(text(fails("no such note")), "no such note");
        assert_eq!(text(fails(String::from("no such note"))), "no such note");
        assert_eq!(text(Err(Failed::from_display(12))), "12");
    }
}
