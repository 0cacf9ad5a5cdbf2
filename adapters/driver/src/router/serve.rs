//! Serves requests from the entries of a router.

use mcp_sansio::error::ErrorObject;
use mcp_sansio::json::{Raw, Str};
use mcp_sansio::model::method::{
    ListPrompts, ListResourceTemplates, ListResources, ListTools, PagedMethod,
};
use mcp_sansio::{ClientRequest, ErrorCode, RespondError, Server};
use serde_json::json;

use super::Router;
use super::function::Function;
use super::output::{Failed, Reason};
use super::registry::{Listing, Named};
use crate::asynchronous::Handler;
use crate::blocking::Threads;
use crate::exchange::Exchange;
use crate::handle::Handle;

impl Router {
    /// Serves a request, for use in a [`Handler`]. Blocking functions run on their own threads.
    pub async fn serve(&self, exchange: Exchange) {
        // The only possible error is that the response is no longer wanted.
        _ = self.answer(exchange, Some(self.threads())).await;
    }

    /// As [`serve`](Self::serve), for callers that may block: blocking functions run on the thread that polls this.
    pub async fn serve_here(&self, exchange: Exchange) {
        _ = self.answer(exchange, None).await;
    }

    /// Adds a connection that receives change notifications, for use in [`Handler::begin`].
    pub fn begin(&self, handle: &Handle<Server>) {
        self.group.add(handle);
    }

    async fn answer(
        &self,
        exchange: Exchange,
        threads: Option<&Threads>,
    ) -> Result<(), RespondError> {
        let (code, missing) = (ErrorCode::INVALID_PARAMS, "there is no such");
        match &exchange.request().kind {
            ClientRequest::ListTools(page) => {
                let list = self.lock().registry.tools.list();
                respond::<ListTools, _>(&list, &exchange, page.cursor.as_ref())
            }
            ClientRequest::ListPrompts(page) => {
                let list = self.lock().registry.prompts.list();
                respond::<ListPrompts, _>(&list, &exchange, page.cursor.as_ref())
            }
            ClientRequest::ListResources(page) => {
                let list = self.lock().registry.resources.list();
                respond::<ListResources, _>(&list, &exchange, page.cursor.as_ref())
            }
            ClientRequest::ListResourceTemplates(page) => {
                let list = self.lock().registry.templates.list();
                respond::<ListResourceTemplates, _>(&list, &exchange, page.cursor.as_ref())
            }
            ClientRequest::CallTool(call) => {
                let function = self.lock().registry.tools.function(&call.name.to_str());
                match function {
                    Some(function) => run(&function, &exchange, threads).await,
                    None => exchange.reject(code, &format!("{missing} tool: {}", call.name)),
                }
            }
            ClientRequest::GetPrompt(prompt) => {
                let function = self.lock().registry.prompts.function(&prompt.name.to_str());
                match function {
                    Some(function) => run(&function, &exchange, threads).await,
                    None => exchange.reject(code, &format!("{missing} prompt: {}", prompt.name)),
                }
            }
            ClientRequest::ReadResource { uri } => {
                self.read(&exchange, &uri.to_str(), threads).await
            }
            // The machine stores the subscriptions.
            ClientRequest::Subscribe { .. } | ClientRequest::Unsubscribe { .. } => {
                exchange.respond(&())
            }
            _ => exchange.reject(ErrorCode::METHOD_NOT_FOUND, "method not found"),
        }
    }

    async fn read(
        &self,
        exchange: &Exchange,
        uri: &str,
        threads: Option<&Threads>,
    ) -> Result<(), RespondError> {
        let (resource, templates) = {
            let registry = &self.lock().registry;
            (registry.resources.function(uri), registry.templates.functions())
        };
        if let Some(resource) = resource {
            return run(&resource, exchange, threads).await;
        }
        for template in templates {
            match template.run(exchange.clone(), threads).await {
                Err(Failed { reason: Reason::NotMine }) => {}
                Err(failed) => return fail(exchange, failed.reason),
                Ok(result) => return give(exchange, &result),
            }
        }
        let data = json!({ "uri": uri });
        let (code, message) = (ErrorCode::RESOURCE_NOT_FOUND, "there is no such resource");
        exchange.reject_with(&ErrorObject::with(code, message, &data)?)
    }
}

async fn run(
    function: &Function,
    exchange: &Exchange,
    threads: Option<&Threads>,
) -> Result<(), RespondError> {
    match function.run(exchange.clone(), threads).await {
        Ok(result) => give(exchange, &result),
        Err(failed) => fail(exchange, failed.reason),
    }
}

/// Responds with the output of a function. If the revision does not allow the output, the function is at fault, and
/// the client receives an error.
fn give(exchange: &Exchange, result: &Raw<'_>) -> Result<(), RespondError> {
    match exchange.respond(result) {
        Err(RespondError::Encode(error)) => {
            exchange.reject(ErrorCode::INTERNAL_ERROR, &format!("the result does not fit: {error}"))
        }
        answered => answered,
    }
}

fn respond<M: PagedMethod, T: Named>(
    list: &Listing<T>,
    exchange: &Exchange,
    cursor: Option<&Str<'_>>,
) -> Result<(), RespondError> {
    match list.answer::<M>(exchange, cursor) {
        Ok(answered) => answered,
        Err(error) => exchange.reject(ErrorCode::INVALID_PARAMS, &error.to_string()),
    }
}

fn fail(exchange: &Exchange, reason: Reason) -> Result<(), RespondError> {
    let is_tool = matches!(exchange.request().kind, ClientRequest::CallTool(_));
    match reason {
        Reason::Arguments(text) if is_tool => exchange.reject_arguments(&text),
        Reason::Arguments(text) => exchange.reject(ErrorCode::INVALID_PARAMS, &text),
        Reason::Failed(text) if is_tool => {
            exchange.respond(&mcp_sansio::model::CallToolResult::error(text))
        }
        Reason::Failed(text) => exchange.reject(ErrorCode::INTERNAL_ERROR, &text),
        Reason::Refused(code, message) => exchange.reject(code, &message),
        Reason::Needs(required) => exchange.require_input(&required),
        // The dropped exchange responds with an error.
        Reason::Panicked => Ok(()),
        Reason::NotMine => {
            exchange.reject(ErrorCode::RESOURCE_NOT_FOUND, "there is no such resource")
        }
    }
}

/// Returns the URI of the request.
pub(super) fn uri_of(exchange: &Exchange) -> Option<String> {
    match &exchange.request().kind {
        ClientRequest::ReadResource { uri } => Some(uri.to_str().into_owned()),
        _ => None,
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
