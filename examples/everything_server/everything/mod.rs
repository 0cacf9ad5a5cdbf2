//! The handler of the everything server.

mod asking;
mod elicitation;
mod jobs;
mod media;
mod prompts;
mod resources;
mod rounds;
mod tools;
mod visits;

use mcp_sansio::model::method::{
    ListPrompts, ListResourceTemplates, ListResources, ListTools, PagedMethod,
};
use mcp_sansio::model::{
    EmptyCapability, ListChanged, LoggingLevel, ResourcesCapability, TasksCapability,
};
use mcp_sansio::pagination::Pager;
use mcp_sansio::request::Page;
use mcp_sansio::subscription::Log;
use mcp_sansio::{ClientRequest, ErrorCode, Payload, RespondError, Server, ServerConfig};
use mcp_sansio_std::{ConnectionGroup, Exchange, Handle, Handler};

/// The handler, with its page size and state.
#[derive(Debug)]
pub(crate) struct Everything {
    pager: Pager,
    rounds: rounds::Rounds,
    visits: visits::Visits,
    /// All connected clients.
    audience: ConnectionGroup,
}

impl Default for Everything {
    fn default() -> Self {
        Self::with_pages_of(usize::MAX)
    }
}

/// The configuration of the server. It has to be served with tasks.
pub(crate) fn config() -> ServerConfig {
    let mut config = ServerConfig::new("everything", env!("CARGO_PKG_VERSION"));
    config.info.title = Some("Everything".into());
    config.capabilities.tools = Some(ListChanged::notified());
    config.capabilities.prompts = Some(ListChanged::notified());
    config.capabilities.resources = Some(ResourcesCapability::notified());
    config.capabilities.completions = Some(EmptyCapability::default());
    config.capabilities.logging = Some(EmptyCapability::default());
    config.capabilities = config.capabilities.with_tasks();
    // Clients see only their own tasks.
    config.capabilities.tasks = Some(TasksCapability::of_tools().listed());
    config.instructions = Some("Something of everything, to try clients with.".into());
    config.log_level = LoggingLevel::Info;
    config
}

/// The tools of the server.
#[allow(dead_code, reason = "only servers over HTTP use it")]
pub(crate) fn tools() -> Vec<mcp_sansio::model::Tool<'static>> {
    tools::list()
}

impl Handler<Server> for Everything {
    fn serve(&self, exchange: &Exchange<Server>) {
        // A client that has disconnected or cancelled is no error of this side.
        _ = self.answer(exchange);
    }

    fn begin(&self, handle: &Handle<Server>) {
        self.audience.add(handle);
    }
}

impl Everything {
    /// Creates a handler whose lists have this many items on each page.
    pub(crate) fn with_pages_of(items: usize) -> Self {
        let (rounds, visits) = (rounds::Rounds::default(), visits::Visits::default());
        Self { pager: Pager::new(items), rounds, visits, audience: ConnectionGroup::new() }
    }

    fn answer(&self, exchange: &Exchange<Server>) -> Result<(), RespondError> {
        match &exchange.request().kind {
            ClientRequest::ListTools(page) => {
                self.list::<ListTools, _>(exchange, page, &tools::list())
            }
            ClientRequest::CallTool(call) => self.call_tool(exchange, call),
            ClientRequest::ListResources(page) => {
                self.list::<ListResources, _>(exchange, page, &resources::list())
            }
            ClientRequest::ListResourceTemplates(page) => {
                self.list::<ListResourceTemplates, _>(exchange, page, &resources::templates())
            }
            ClientRequest::ReadResource { uri } => resources::read(exchange, &uri.to_str()),
            ClientRequest::ListPrompts(page) => {
                self.list::<ListPrompts, _>(exchange, page, &prompts::list())
            }
            ClientRequest::GetPrompt(prompt) => prompts::get(exchange, prompt),
            ClientRequest::Complete(complete) => prompts::complete(exchange, complete),
            // The machine stores the level and the subscriptions.
            ClientRequest::SetLevel(_)
            | ClientRequest::Subscribe { .. }
            | ClientRequest::Unsubscribe { .. } => exchange.respond(&()),
            _ => exchange.reject(ErrorCode::METHOD_NOT_FOUND, "method not found"),
        }
    }

    /// Responds with the requested page of a list.
    fn list<M: PagedMethod, T: Payload>(
        &self,
        exchange: &Exchange<Server>,
        page: &Page<'_>,
        all: &[T],
    ) -> Result<(), RespondError> {
        match self.pager.page(all, page.cursor.as_ref()) {
            Ok(page) => exchange.respond(&page.result::<M>()),
            Err(error) => exchange.reject(ErrorCode::INVALID_PARAMS, &error.to_string()),
        }
    }
}

/// Sends a log message. Errors are ignored: the client may not want the message, or it cannot be sent.
fn log(exchange: &Exchange<Server>, level: LoggingLevel, text: &str) {
    _ = exchange.log(&Log::new(level, text).logger("everything"));
}
