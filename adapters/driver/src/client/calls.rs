//! Calls of a client in one line, with owned results.

use mcp_sansio::call::Paging;
use mcp_sansio::json::{Kind, Raw};
use mcp_sansio::model::method::{
    self, CallTool, GetPrompt, ListPrompts, ListResourceTemplates, ListResources, ListTools,
    Method, PagedMethod, ReadResource,
};
use mcp_sansio::model::{
    CallToolParams, CallToolResult, CompleteParams, Completion, GetPromptParams, GetPromptResult,
    IntoOwned, List, Map, Prompt, ReadResourceParams, ReadResourceResult, Reference, Resource,
    ResourceTemplate, Text, Tool,
};
use mcp_sansio::{CallError, CallOptions, Client};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::CallFailure;
use crate::handle::Handle;
use crate::pending::PendingCall;
use crate::waiting::Waiting;

/// # Calls in one line
///
/// A call of a method whose capability the server does not have fails
/// ([`peer_capabilities`](Self::peer_capabilities) returns them), also `list_all_prompts` of a server without prompts.
///
/// These calls have the default options and owned results. For progress, time limits and tasks use
/// [`call`](Self::call). Dropping a future cancels its call.
///
/// ```
/// use mcp_sansio_driver::{CallFailure, Handle};
/// use serde_json::json;
///
/// # #[derive(serde::Deserialize)]
/// # struct Weather { degrees: f64 }
/// # async fn example(server: &Handle) -> Result<(), CallFailure> {
/// for tool in server.list_all_tools().await? {
///     println!("{}", tool.name);
/// }
/// let result = server.call_tool("greet", &json!({"name": "Alice"})).await?;
/// println!("{:?}", result.texts().next());
/// let weather: Weather = server.call_tool_as("weather", &json!({"city": "Oslo"})).await?;
/// println!("{} °C", weather.degrees);
/// # Ok(())
/// # }
/// ```
impl Handle<Client> {
    /// Calls a tool. The arguments are an object; `()` stands for none. A tool that has failed has a result, too: see
    /// [`CallToolResult::failed`].
    ///
    /// # Errors
    ///
    /// [`CallFailure`] if there is no result.
    pub fn call_tool<A: Serialize + ?Sized>(
        &self,
        name: &str,
        arguments: &A,
    ) -> Waiting<'static, Result<CallToolResult<'static>, CallFailure>> {
        let made = encoded(arguments).map(|arguments| {
            let mut params = CallToolParams::new(name);
            params.arguments = arguments;
            self.call::<CallTool>(&params, CallOptions::new())
        });
        result(made, |result: CallToolResult<'_>| Ok(result.into_owned()))
    }

    /// Calls a tool, and decodes its structured result. A server before 2025-06-18 has none, so without one the first
    /// text is decoded if it is JSON.
    ///
    /// # Errors
    ///
    /// [`CallFailure`] if there is no result: [`ToolFailed`](CallFailure::ToolFailed) if the tool has failed,
    /// [`Mismatch`](CallFailure::Mismatch) if its result has another type.
    pub fn call_tool_as<T: DeserializeOwned + 'static>(
        &self,
        name: &str,
        arguments: &(impl Serialize + ?Sized),
    ) -> Waiting<'static, Result<T, CallFailure>> {
        let calling = self.call_tool(name, arguments);
        Waiting::new(async move { structured(calling.await?) })
    }

    /// Requests a prompt. The arguments are an object; `()` stands for none. Values that are no strings are sent as
    /// their JSON text, because the arguments of prompts are strings.
    ///
    /// # Errors
    ///
    /// [`CallFailure`] if there is no result.
    pub fn get_prompt<A: Serialize + ?Sized>(
        &self,
        name: &str,
        arguments: &A,
    ) -> Waiting<'static, Result<GetPromptResult<'static>, CallFailure>> {
        let made = encoded(arguments).map(|arguments| {
            let mut params = GetPromptParams::new(name);
            params.arguments = arguments.as_ref().map(strings);
            self.call::<GetPrompt>(&params, CallOptions::new())
        });
        result(made, |result: GetPromptResult<'_>| Ok(result.into_owned()))
    }

    /// Reads a resource.
    ///
    /// # Errors
    ///
    /// [`CallFailure`] if there is no result.
    pub fn read_resource(
        &self,
        uri: &str,
    ) -> Waiting<'static, Result<ReadResourceResult<'static>, CallFailure>> {
        let params = ReadResourceParams::new(uri);
        let made = Ok(self.call::<ReadResource>(&params, CallOptions::new()));
        result(made, |result: ReadResourceResult<'_>| Ok(result.into_owned()))
    }

    /// Requests values for an argument of a prompt, or for a variable of a resource template, that begin like `typed`.
    ///
    /// # Errors
    ///
    /// [`CallFailure`] if there is no result.
    pub fn complete(
        &self,
        reference: Reference<'_>,
        argument: &str,
        typed: &str,
    ) -> Waiting<'static, Result<Completion<'static>, CallFailure>> {
        let params = CompleteParams::new(reference.into_owned(), argument, typed);
        let made = Ok(self.call::<method::Complete>(&params, CallOptions::new()));
        result(made, |result| Ok(IntoOwned::into_owned(result.completion)))
    }

    /// Requests all tools, page by page, up to the limits of
    /// [`PageLimits`](mcp_sansio::pagination::PageLimits). A list that changes meanwhile is read again, at most three
    /// times. If it changes further, its pages may belong to different states; [`list`](Self::list) reports that.
    ///
    /// # Errors
    ///
    /// [`CallFailure`] if a page has no result; [`Truncated`](CallFailure::Truncated) if the list is longer than the
    /// limits. `list` has other limits, and returns the pages until then.
    pub fn list_all_tools(&self) -> Waiting<'static, Result<Vec<Tool<'static>>, CallFailure>> {
        self.list_all::<ListTools, _>(|page| owned(&page.tools))
    }

    /// Requests all prompts, as [`list_all_tools`](Self::list_all_tools) does.
    ///
    /// # Errors
    ///
    /// As for [`list_all_tools`](Self::list_all_tools).
    pub fn list_all_prompts(&self) -> Waiting<'static, Result<Vec<Prompt<'static>>, CallFailure>> {
        self.list_all::<ListPrompts, _>(|page| owned(&page.prompts))
    }

    /// Requests all resources, as [`list_all_tools`](Self::list_all_tools) does.
    ///
    /// # Errors
    ///
    /// As for [`list_all_tools`](Self::list_all_tools).
    pub fn list_all_resources(
        &self,
    ) -> Waiting<'static, Result<Vec<Resource<'static>>, CallFailure>> {
        self.list_all::<ListResources, _>(|page| owned(&page.resources))
    }

    /// Requests all resource templates, as [`list_all_tools`](Self::list_all_tools) does.
    ///
    /// # Errors
    ///
    /// As for [`list_all_tools`](Self::list_all_tools).
    pub fn list_all_resource_templates(
        &self,
    ) -> Waiting<'static, Result<Vec<ResourceTemplate<'static>>, CallFailure>> {
        self.list_all::<ListResourceTemplates, _>(|page| owned(&page.resource_templates))
    }

    fn list_all<M: PagedMethod + 'static, T: Send + 'static>(
        &self,
        items: impl Fn(M::Result<'_>) -> Vec<T> + Send + 'static,
    ) -> Waiting<'static, Result<Vec<T>, CallFailure>> {
        let mut paging = Paging::default();
        paging.restarts = MOST_RESTARTS;
        let listing = self.list::<M>(paging, CallOptions::new());
        Waiting::new(async move {
            let pages = listing.await?;
            if let Some(stop) = pages.cut {
                return Err(CallFailure::Truncated(stop));
            }
            let mut all = Vec::new();
            for page in &pages.pages {
                all.extend(items(page.parse().map_err(|error| mismatch(&error))?));
            }
            Ok(all)
        })
    }
}

/// How often a list that changes while it is read is read again. After that, its pages may belong to different states.
const MOST_RESTARTS: u32 = 3;

/// Waits for a call and converts its result.
fn result<M: Method + 'static, T: Send + 'static>(
    made: Result<PendingCall<Client, M>, CallError>,
    convert: impl FnOnce(M::Result<'_>) -> Result<T, CallFailure> + Send + 'static,
) -> Waiting<'static, Result<T, CallFailure>> {
    Waiting::new(async move {
        let reply = made?.await?;
        convert(reply.parse().map_err(|error| mismatch(&error))?)
    })
}

fn mismatch(error: &dyn std::error::Error) -> CallFailure {
    CallFailure::Mismatch(error.to_string())
}

/// Encodes arguments; `null` stands for none.
fn encoded<A: Serialize + ?Sized>(arguments: &A) -> Result<Option<Raw<'static>>, CallError> {
    let raw = Raw::from_serialize(arguments)?;
    Ok((raw.kind() != Kind::Null).then_some(raw))
}

/// Returns the members of an object as strings. `null` stands for an absent member.
fn strings<'a>(arguments: &'a Raw<'_>) -> Map<'a, Text<'a>> {
    let mut all = Map::default();
    for (name, value) in arguments.members() {
        let text = match value.kind() {
            Kind::Null => continue,
            Kind::String => value.into_str().map(|text| text.to_str().into_owned()),
            _ => Some(value.as_json().to_owned()),
        };
        all.insert(name.to_str().into_owned(), Text::from(text.unwrap_or_default()));
    }
    all
}

/// Returns the structured content of a result, or the JSON of its first text.
fn structured<T: DeserializeOwned>(result: CallToolResult<'static>) -> Result<T, CallFailure> {
    if result.failed() {
        return Err(CallFailure::ToolFailed(Box::new(result)));
    }
    if let Some(content) = &result.structured_content {
        return content.parse().map_err(|error| mismatch(&error));
    }
    let Some(text) = result.texts().next() else {
        return Err(CallFailure::Mismatch("it has neither structured content nor a text".into()));
    };
    serde_json::from_str(text).map_err(|error| {
        CallFailure::Mismatch(format!(
            "it has no structured content, and the text is no JSON of the type: {error}"
        ))
    })
}

fn owned<'a, T: Clone + IntoOwned>(items: &List<'a, T>) -> Vec<T::Owned> {
    items.iter().cloned().map(IntoOwned::into_owned).collect()
}
