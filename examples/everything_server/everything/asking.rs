//! Tools that require client input.
//!
//! Each tool runs once to request the input, and again with the client's answer. In the legacy era the machine
//! sends the requests in between; in the modern era the client repeats its call. The tools do not see the
//! difference.

use mcp_sansio::capability::{Capability, CapabilitySet};
use mcp_sansio::error::NotAllowed;
use mcp_sansio::json::Raw;
use mcp_sansio::model::method::Method;
use mcp_sansio::model::{
    Content, CreateMessageParams, ElicitParams, InputRequired, ObjectSchema, Role, SamplingMessage,
    method,
};
use mcp_sansio::{ClientRequest, ErrorCode, RespondError, Server};
use mcp_sansio_std::Exchange;

use super::tools::ToolResult;

/// The result of a tool in this module.
pub(super) type Answered = Result<(), RespondError>;

/// The key of the only input that these tools require.
const ANSWER: &str = "answer";

/// Requires client input for a request. A client without the needed capability gets an error that names it.
pub(super) fn need(exchange: &Exchange<Server>, required: &InputRequired<'_>) -> Answered {
    match exchange.require_input(required) {
        Err(RespondError::NotAllowed(NotAllowed::Capability(missing))) => {
            exchange.reject_missing(CapabilitySet::NONE.with(missing))
        }
        Err(error @ (RespondError::NotAllowed(_) | RespondError::Encode(_))) => {
            match exchange.request().kind {
                ClientRequest::CallTool(_) => {
                    exchange.respond(&ToolResult::error(error.to_string()))
                }
                _ => exchange.reject(ErrorCode::INVALID_PARAMS, &error.to_string()),
            }
        }
        asked => asked,
    }
}

/// Returns the client's answer for this key, if there is a valid one.
pub(super) fn answer<M: Method>(exchange: &Exchange<Server>, key: &str) -> Option<Raw<'static>> {
    let answer = exchange.request().input(key)?.into_owned();
    let makes_sense = answer.parse::<M::Result<'_>>().is_ok();
    makes_sense.then_some(answer)
}

pub(super) fn roots(exchange: &Exchange<Server>) -> Answered {
    let Some(answer) = answer::<method::ListRoots>(exchange, ANSWER) else {
        return need(exchange, &InputRequired::new().roots(ANSWER));
    };
    exchange.respond(&ToolResult::text(uris(&answer).join("\n")))
}

/// Returns the URIs of a list of roots.
pub(super) fn uris(answer: &Raw<'_>) -> Vec<String> {
    let list = answer.parse::<<method::ListRoots as Method>::Result<'_>>();
    let list = list.map(|list| list.roots.iter().map(|root| root.uri.to_string()).collect());
    list.unwrap_or_default()
}

/// Creates a sampling request with this text.
pub(super) fn question(text: String, most_tokens: i64) -> CreateMessageParams<'static> {
    CreateMessageParams::new([SamplingMessage::new(Role::User, Content::text(text))], most_tokens)
}

/// Returns the text of the model's answer.
pub(super) fn text_of(answer: &Raw<'_>) -> String {
    let answer = answer.parse::<<method::CreateMessage as Method>::Result<'_>>();
    let text = answer
        .map(|answer| answer.content.iter().find_map(Content::as_text).unwrap_or("").to_string());
    text.unwrap_or_default()
}

pub(super) fn sampling(exchange: &Exchange<Server>, prompt: String) -> Answered {
    match answer::<method::CreateMessage>(exchange, ANSWER) {
        Some(answer) => {
            exchange.respond(&ToolResult::text(format!("LLM response: {}", text_of(&answer))))
        }
        None => need(exchange, &InputRequired::new().sample(ANSWER, question(prompt, 100))),
    }
}

pub(super) fn elicit(
    exchange: &Exchange<Server>,
    question: String,
    schema: ObjectSchema<'static>,
    preface: &str,
) -> Answered {
    let Some(answer) = answer::<method::Elicit>(exchange, ANSWER) else {
        let params = ElicitParams::form(question, schema);
        return need(exchange, &InputRequired::new().elicit(ANSWER, params));
    };
    let action = answer.get("action").and_then(|action| action.into_str());
    let action = action.map(|action| action.to_str().into_owned()).unwrap_or_default();
    let content = answer.get("content").unwrap_or(Raw::EMPTY_OBJECT);
    exchange.respond(&ToolResult::text(format!("{preface} action={action}, content={content}")))
}

/// Requires a client with a model, without using the model.
pub(super) fn missing_capability(exchange: &Exchange<Server>) -> Answered {
    if exchange.request().context.capabilities.contains(Capability::Sampling) {
        return exchange.respond(&ToolResult::text("The client has a model"));
    }
    exchange.reject_missing(CapabilitySet::NONE.with(Capability::Sampling))
}
