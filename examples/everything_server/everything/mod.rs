//! The handler of the everything server.

mod elicitation;
mod media;
mod prompts;
mod resources;
mod tools;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use mcp_sansio::model::method::{Log, Notification, ResourceUpdated};
use mcp_sansio::model::{
    EmptyCapability, ListChanged, LogParams, LoggingLevel, ResourceUpdatedParams,
    ResourcesCapability,
};
use mcp_sansio::{Call, ErrorCode, RespondError, Server, ServerConfig};
use mcp_sansio_std::{Exchange, Handler};

/// Everything, and what the client has asked for.
#[derive(Debug)]
pub(crate) struct Everything {
    session: Mutex<Session>,
}

#[derive(Debug)]
struct Session {
    subscriptions: BTreeSet<String>,
    level: LoggingLevel,
}

impl Default for Everything {
    fn default() -> Self {
        let session = Session { subscriptions: BTreeSet::new(), level: LoggingLevel::Info };
        Self { session: Mutex::new(session) }
    }
}

/// What the server offers.
pub(crate) fn config() -> ServerConfig {
    let mut config = ServerConfig::new("everything", env!("CARGO_PKG_VERSION"));
    config.info.title = Some("Everything".into());
    config.capabilities.tools = Some(ListChanged::notified());
    config.capabilities.prompts = Some(ListChanged::notified());
    config.capabilities.resources = Some(ResourcesCapability::notified());
    config.capabilities.completions = Some(EmptyCapability::default());
    config.capabilities.logging = Some(EmptyCapability::default());
    config.instructions = Some("Something of everything, to try clients with.".into());
    config
}

impl Handler<Server> for Everything {
    fn serve(&self, exchange: &Exchange<Server>) {
        // A client that has gone, or has cancelled, is no error of ours.
        _ = self.answer(exchange);
    }
}

impl Everything {
    fn answer(&self, exchange: &Exchange<Server>) -> Result<(), RespondError> {
        match &exchange.request().call {
            Call::ListTools(page) => first_page(exchange, page, &tools::list()),
            Call::CallTool(call) => self.call_tool(exchange, call),
            Call::ListResources(page) => first_page(exchange, page, &resources::list()),
            Call::ListResourceTemplates(page) => {
                first_page(exchange, page, &resources::list_templates())
            }
            Call::ReadResource { uri } => resources::read(exchange, &uri.to_str()),
            Call::Subscribe { uri } => {
                self.with(|session| session.subscriptions.insert(uri.to_string()));
                exchange.respond(&())
            }
            Call::Unsubscribe { uri } => {
                self.with(|session| session.subscriptions.remove(&*uri.to_str()));
                exchange.respond(&())
            }
            Call::ListPrompts(page) => first_page(exchange, page, &prompts::list()),
            Call::GetPrompt(prompt) => prompts::get(exchange, prompt),
            Call::Complete(complete) => prompts::complete(exchange, complete),
            Call::SetLevel(level) => {
                self.with(|session| session.level = *level);
                exchange.respond(&())
            }
            _ => exchange.reject(ErrorCode::METHOD_NOT_FOUND, "method not found"),
        }
    }

    /// Sends a log message, if the client wants to hear of its level.
    fn log(&self, exchange: &Exchange<Server>, level: LoggingLevel, text: &str) {
        if self.with(|session| level < session.level) {
            return;
        }
        if let Ok(data) = mcp_sansio::json::Raw::from_serialize(text) {
            // A log message that cannot be sent is not worth failing for.
            _ = exchange.notify_method(Log::NAME, &LogParams::new(level, data));
        }
    }

    /// Tells the client that a resource has changed, if it has subscribed to it.
    fn publish(&self, exchange: &Exchange<Server>, uri: &str) {
        if self.with(|session| session.subscriptions.contains(uri)) {
            let params = ResourceUpdatedParams::new(uri);
            _ = exchange.handle().notify::<ResourceUpdated>(&params);
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Session) -> T) -> T {
        act(&mut self.session.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Answers with a list that has one page. No other page has a cursor, so every cursor is wrong.
fn first_page<T: serde::Serialize>(
    exchange: &Exchange<Server>,
    page: &mcp_sansio::Page<'_>,
    list: &T,
) -> Result<(), RespondError> {
    match page.cursor {
        None => exchange.respond(list),
        Some(_) => exchange.reject(ErrorCode::INVALID_PARAMS, "invalid cursor"),
    }
}
