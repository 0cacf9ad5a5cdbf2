//! Tools that ask the client for something.

use std::sync::{Mutex, MutexGuard, PoisonError};

use mcp_sansio::json::Raw;
use mcp_sansio::model::{
    Content, CreateMessageParams, ElicitAction, ElicitParams, ElicitResult, ElicitationRequired,
    ObjectSchema, Role, SamplingMessage, method,
};
use mcp_sansio::{Capability, ErrorCode, RespondError, Server};
use mcp_sansio_std::{CallFailure, Exchange};

use super::tools::ToolResult;

/// The page that some tools send users to.
const PAGE: &str = "https://example.com/sign-in";

/// Who has to visit a page, and has.
#[derive(Debug, Default)]
pub(super) struct Visits {
    state: Mutex<VisitState>,
}

#[derive(Debug, Default)]
struct VisitState {
    /// Every elicitation has an id of its own.
    asked: u64,
    /// The user has been to the page, as far as this server can pretend to know.
    visited: bool,
}

impl Visits {
    /// Sends the user to the page, and says when it is done: at once, because there is no page.
    pub(super) fn visit(&self, exchange: &Exchange<Server>) -> ToolResult {
        let id = self.next_id();
        let params = ElicitParams::url("Please sign in", PAGE, id.as_str());
        let handle = exchange.handle();
        let reply = match handle.call::<method::Elicit>(&params, exchange.call_options()) {
            Ok(reply) => reply,
            Err(failure) => return failed(&failure),
        };
        match reply.parse::<method::Elicit>().map(|answer| answer.action) {
            Ok(ElicitAction::Accept) => match handle.elicitation_complete(&id) {
                Ok(_) => ToolResult::text("The user has been to the page"),
                Err(error) => ToolResult::error(error.to_string()),
            },
            Ok(action) => ToolResult::text(format!("The user said {}", action.as_str())),
            Err(error) => ToolResult::error(error.to_string()),
        }
    }

    /// Fails until the user has been to the page, which happens as soon as the client knows of it.
    pub(super) fn need(&self, exchange: &Exchange<Server>) -> Result<(), RespondError> {
        if self.state().visited {
            return exchange.respond(&ToolResult::text("Welcome back"));
        }
        let id = self.next_id();
        let visit = ElicitParams::url("Please sign in", PAGE, id.as_str());
        let code = ErrorCode::URL_ELICITATION_REQUIRED;
        let data = ElicitationRequired::new([visit]);
        match exchange.reject_with(code, "Please sign in first", &data) {
            Ok(()) => {
                self.state().visited = true;
                _ = exchange.handle().elicitation_complete(&id);
                Ok(())
            }
            Err(RespondError::NotAllowed(error)) => {
                exchange.respond(&ToolResult::error(error.to_string()))
            }
            Err(error) => Err(error),
        }
    }

    fn next_id(&self) -> String {
        let mut state = self.state();
        state.asked += 1;
        format!("visit-{}", state.asked)
    }

    fn state(&self) -> MutexGuard<'_, VisitState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn roots(exchange: &Exchange<Server>) -> ToolResult {
    let reply = match exchange
        .handle()
        .call::<method::ListRoots>(&method::Empty::default(), exchange.call_options())
    {
        Ok(reply) => reply,
        Err(failure) => return failed(&failure),
    };
    match reply.parse::<method::ListRoots>() {
        Ok(list) => {
            let uris: Vec<String> = list.roots.iter().map(|root| root.uri.to_string()).collect();
            ToolResult::text(uris.join("\n"))
        }
        Err(error) => ToolResult::error(error.to_string()),
    }
}

pub(super) fn sampling(exchange: &Exchange<Server>, prompt: String) -> ToolResult {
    if !exchange.request().context.capabilities.contains(Capability::Sampling) {
        return ToolResult::error("The client does not support sampling");
    }
    let message = SamplingMessage::new(Role::User, Content::text(prompt));
    let params = CreateMessageParams::new([message], 100);
    let options = exchange.call_options();
    match exchange.handle().call::<method::CreateMessage>(&params, options) {
        Ok(reply) => match reply.parse::<method::CreateMessage>() {
            Ok(answer) => {
                let text = answer.content.iter().find_map(Content::as_text).unwrap_or("");
                ToolResult::text(format!("LLM response: {text}"))
            }
            Err(error) => ToolResult::error(error.to_string()),
        },
        Err(failure) => failed(&failure),
    }
}

pub(super) fn elicit(
    exchange: &Exchange<Server>,
    question: String,
    schema: ObjectSchema<'_>,
    preface: &str,
) -> ToolResult {
    if !exchange.request().context.capabilities.contains(Capability::ElicitationForm) {
        return ToolResult::error("The client does not support elicitation");
    }
    let params = ElicitParams::form(question, schema);
    let options = exchange.call_options();
    match exchange.handle().call::<method::Elicit>(&params, options) {
        Ok(reply) => match reply.parse::<method::Elicit>() {
            Ok(ElicitResult { action, content, .. }) => {
                let content = content.unwrap_or(Raw::EMPTY_OBJECT);
                let action = action.as_str();
                ToolResult::text(format!("{preface} action={action}, content={content}"))
            }
            Err(error) => ToolResult::error(error.to_string()),
        },
        Err(failure) => failed(&failure),
    }
}

fn failed(failure: &CallFailure) -> ToolResult {
    ToolResult::error(failure.to_string())
}
