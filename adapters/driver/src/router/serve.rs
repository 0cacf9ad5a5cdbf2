//! Serves requests from the entries of a router.

use std::sync::Arc;

use mcp_sansio::capability::CapabilitySet;
use mcp_sansio::error::{ErrorObject, NotAllowed};
use mcp_sansio::json::Str;
use mcp_sansio::model::method::{
    ListPrompts, ListResourceTemplates, ListResources, ListTools, PagedMethod,
};
use mcp_sansio::model::{CallToolResult, Prompt, Resource, ResourceTemplate, Tool};
use mcp_sansio::{ClientRequest, ErrorCode, RespondError, Server};
use serde_json::json;

use super::Router;
use super::arguments::uri_of;
use super::completions::completed;
use super::function::{Function, FunctionResult, RunsOn};
use super::middleware::Next;
use super::output::{Failed, Reason};
use super::registry::{Listing, Named, Registry};
use super::visibility::{EntryKind, is_shown};
use crate::asynchronous::Handler;
use crate::exchange::Exchange;
use crate::handle::Handle;

/// The text for a function that has panicked. The panic itself is not for the client: it may contain secrets.
const PANICKED: &str = "the server failed while it ran this (a panic)";

/// # Serving
impl Router {
    /// Serves a request, for use in a [`Handler`]. Blocking functions run on their own threads.
    ///
    /// A handler of its own serves the methods that the router does not have, and leaves the others to it:
    ///
    /// ```
    /// use mcp_sansio::Server;
    /// use mcp_sansio_driver::asynchronous::Handler;
    /// use mcp_sansio_driver::{Exchange, Handle, Router};
    ///
    /// struct Application {
    ///     router: Router,
    /// }
    ///
    /// impl Handler<Server> for Application {
    ///     async fn serve(&self, exchange: Exchange) {
    ///         if exchange.request().method == "app/status" {
    ///             _ = exchange.respond(&serde_json::json!({"status": "well"}));
    ///         } else {
    ///             self.router.serve(exchange).await;
    ///         }
    ///     }
    ///
    ///     fn begin(&self, handle: &Handle<Server>) {
    ///         self.router.begin(handle);
    ///     }
    /// }
    /// ```
    pub async fn serve(&self, exchange: Exchange) {
        // The only possible error is that the response is no longer wanted.
        _ = self.answer(exchange, RunsOn::Threads(Arc::clone(&self.threads))).await;
    }

    /// As [`serve`](Self::serve), for callers that may block: blocking functions run on the thread that polls this.
    pub async fn serve_here(&self, exchange: Exchange) {
        _ = self.answer(exchange, RunsOn::PollingThread).await;
    }

    /// Adds a connection that receives change notifications, for use in [`Handler::begin`].
    pub fn begin(&self, handle: &Handle<Server>) {
        self.group.add(handle);
    }

    async fn answer(&self, exchange: Exchange, runs_on: RunsOn) -> Result<(), RespondError> {
        let (code, missing) = (ErrorCode::INVALID_PARAMS, "there is no such");
        match &exchange.request().kind {
            ClientRequest::ListTools(page) => {
                let list = self.lock().registry.tools.list();
                self.list::<ListTools, _>(&list, &exchange, page.cursor.as_ref())
            }
            ClientRequest::ListPrompts(page) => {
                let list = self.lock().registry.prompts.list();
                self.list::<ListPrompts, _>(&list, &exchange, page.cursor.as_ref())
            }
            ClientRequest::ListResources(page) => {
                let list = self.lock().registry.resources.list();
                self.list::<ListResources, _>(&list, &exchange, page.cursor.as_ref())
            }
            ClientRequest::ListResourceTemplates(page) => {
                let list = self.lock().registry.templates.list();
                self.list::<ListResourceTemplates, _>(&list, &exchange, page.cursor.as_ref())
            }
            ClientRequest::CallTool(call) => {
                let name = call.name.to_str();
                let find = |registry: &Registry| registry.tools.function(&name);
                match self.shown::<Tool<'_>>(&exchange, &name, find) {
                    Some(function) => self.run(&name, function, &exchange, runs_on).await,
                    None => exchange.reject(code, &format!("{missing} tool: {}", call.name)),
                }
            }
            ClientRequest::GetPrompt(prompt) => {
                let name = prompt.name.to_str();
                let find = |registry: &Registry| registry.prompts.function(&name);
                match self.shown::<Prompt<'_>>(&exchange, &name, find) {
                    Some(function) => self.run(&name, function, &exchange, runs_on).await,
                    None => exchange.reject(code, &format!("{missing} prompt: {}", prompt.name)),
                }
            }
            ClientRequest::ReadResource { uri } => match self.reader_of(&exchange, &uri.to_str()) {
                Some((name, function)) => self.run(&name, function, &exchange, runs_on).await,
                None => give(&exchange, Err(Failed::not_found())),
            },
            ClientRequest::Complete(_) => match self.completion_of(&exchange) {
                Ok(Some((name, function))) => self.run(&name, function, &exchange, runs_on).await,
                Ok(None) => give(&exchange, completed([""; 0])),
                Err(failed) => give(&exchange, Err(failed)),
            },
            ClientRequest::Subscribe { uri } => {
                give(&exchange, self.accept_subscription(&exchange, &uri.to_str()).await)
            }
            ClientRequest::Listen(requested) => self.grant(&exchange, requested).await,
            ClientRequest::Unsubscribe { .. } => exchange.respond(&()),
            _ => match self.method_of(&exchange) {
                Some((name, function)) => self.run(name, function, &exchange, runs_on).await,
                None => exchange.reject(ErrorCode::METHOD_NOT_FOUND, "method not found"),
            },
        }
    }

    /// Returns the name and the function of the resource with this URI, or of the first template that matches, among
    /// those that the client may see. The variables of the URI become an extension of the exchange.
    pub(super) fn reader_of(&self, exchange: &Exchange, uri: &str) -> Option<(String, Function)> {
        let (resource, templates) = {
            let registry = &self.lock().registry;
            (registry.resources.function(uri), registry.templates.entries())
        };
        if resource.is_some() {
            let function = self.shown::<Resource<'_>>(exchange, uri, |_| resource)?;
            return Some((uri.to_owned(), function));
        }
        let filters = self.filters(EntryKind::Template);
        templates.iter().find_map(|(template, served)| {
            let (pattern, function) = served;
            let variables = pattern.variables(uri)?;
            let name = &template.uri_template;
            if !is_shown::<ResourceTemplate<'_>>(&filters, exchange, name, served) {
                return None;
            }
            exchange.insert_extension(variables);
            Some((name.to_string(), function.clone()))
        })
    }

    /// Whether an entry has this URI that the client may not see.
    pub(super) fn is_hidden(&self, exchange: &Exchange, uri: &str) -> bool {
        let (resource, templates) = {
            let registry = &self.lock().registry;
            (registry.resources.has(uri), registry.templates.entries())
        };
        let has_template =
            || templates.iter().any(|(_, (pattern, _))| pattern.variables(uri).is_some());
        (resource || has_template()) && self.reader_of(exchange, uri).is_none()
    }

    /// Responds with a page of the entries that the client may see.
    fn list<M: PagedMethod, T: Named>(
        &self,
        list: &Listing<T>,
        exchange: &Exchange,
        cursor: Option<&Str<'_>>,
    ) -> Result<(), RespondError> {
        match list.answer::<M>(&self.filters(T::ENTRY), exchange, cursor) {
            Ok(answered) => answered,
            Err(error) => exchange.reject(ErrorCode::INVALID_PARAMS, &error.to_string()),
        }
    }

    /// Runs a function in the middleware, and responds with its result.
    async fn run(
        &self,
        name: &str,
        function: Function,
        exchange: &Exchange,
        runs_on: RunsOn,
    ) -> Result<(), RespondError> {
        give(exchange, self.outcome(name, function, exchange, runs_on).await)
    }

    /// Runs a function in the middleware, and returns its result.
    pub(super) async fn outcome(
        &self,
        name: &str,
        function: Function,
        exchange: &Exchange,
        runs_on: RunsOn,
    ) -> FunctionResult {
        let middleware = Arc::clone(&self.lock().middleware);
        if middleware.is_empty() {
            return function.run(exchange.clone(), runs_on).await;
        }
        Next::new(middleware, name.into(), function, runs_on).run(exchange.clone()).await
    }
}

/// Responds with the output of a function. If the revision does not allow the output, the function is at fault, and
/// the client receives an error.
fn give(exchange: &Exchange, result: FunctionResult) -> Result<(), RespondError> {
    let result = match result {
        Ok(result) => result,
        Err(failed) => return fail(exchange, failed.reason),
    };
    match exchange.respond(&result) {
        Err(RespondError::Encode(error)) => {
            exchange.reject(ErrorCode::INTERNAL_ERROR, &format!("the result does not fit: {error}"))
        }
        answered => answered,
    }
}

fn fail(exchange: &Exchange, reason: Reason) -> Result<(), RespondError> {
    let is_tool = matches!(exchange.request().kind, ClientRequest::CallTool(_));
    match reason {
        Reason::Arguments(text) if is_tool => exchange.reject_arguments(&text),
        Reason::Arguments(text) => exchange.reject(ErrorCode::INVALID_PARAMS, &text),
        Reason::Failed(text) if is_tool => exchange.respond(&CallToolResult::error(text)),
        Reason::Failed(text) => exchange.reject(ErrorCode::INTERNAL_ERROR, &text),
        Reason::Refused(code, message) => exchange.reject(code, &message),
        Reason::Needs(required) => match exchange.require_input(&required) {
            // The client has not declared that it can be asked for this input.
            Err(RespondError::NotAllowed(NotAllowed::Capability(missing))) => {
                exchange.reject_missing(CapabilitySet::NONE.with(missing))
            }
            required => required,
        },
        Reason::Panicked if is_tool => exchange.respond(&CallToolResult::error(PANICKED)),
        Reason::Panicked => exchange.reject(ErrorCode::INTERNAL_ERROR, PANICKED),
        Reason::NotFound => {
            let data = json!({ "uri": uri_of(exchange) });
            let (code, message) = (ErrorCode::RESOURCE_NOT_FOUND, "there is no such resource");
            exchange.reject_with(&ErrorObject::with(code, message, &data)?)
        }
    }
}

impl Handler<Server> for Router {
    async fn serve(&self, exchange: Exchange) {
        Self::serve(self, exchange).await;
    }

    fn begin(&self, handle: &Handle<Server>) {
        Self::begin(self, handle);
    }
}
