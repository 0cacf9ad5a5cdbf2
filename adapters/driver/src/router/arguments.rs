//! Reads the arguments of tools and prompts, and the variables of URIs.

use mcp_sansio::ClientRequest;
use mcp_sansio::json::{Kind, Raw};
use serde::de::DeserializeOwned;

use super::checks::ToolChecks;
use super::misfit::misfit;
use super::output::Failed;
use super::text_values::{TextValue, TextValues};
use crate::exchange::Exchange;

/// Returns the arguments of a tool; absent ones count as `{}`.
pub(super) fn arguments_of<A: DeserializeOwned>(
    exchange: &Exchange,
    checks: &ToolChecks,
) -> Result<A, Failed> {
    let arguments = match &exchange.request().kind {
        ClientRequest::CallTool(call) => call.arguments.as_ref(),
        _ => None,
    };
    let none = Raw::EMPTY_OBJECT;
    let arguments = arguments.unwrap_or(&none);
    checks.arguments(arguments)?;
    match arguments.parse() {
        Ok(parsed) => Ok(parsed),
        // A function without arguments takes `()`.
        Err(error) => match Raw::NULL.parse() {
            Ok(parsed) if arguments.members().next().is_none() => Ok(parsed),
            _ => Err(Failed::arguments(misfit(arguments.as_json(), &error))),
        },
    }
}

/// Returns the arguments of a prompt, which are strings on the wire.
pub(super) fn prompt_arguments_of<A: DeserializeOwned>(exchange: &Exchange) -> Result<A, Failed> {
    let arguments = match &exchange.request().kind {
        ClientRequest::GetPrompt(prompt) => prompt.arguments.as_ref(),
        _ => None,
    };
    let mut values = TextValues::default();
    for (name, value) in arguments.into_iter().flat_map(Raw::members) {
        let text = match value.kind() {
            // The specification requires strings. Other values are read by their JSON text.
            Kind::String => value.into_str().map(|text| text.to_str().into_owned()),
            Kind::Null => continue,
            _ => Some(value.as_json().to_owned()),
        };
        values.push(&name.to_str(), TextValue::One(text.unwrap_or_default()));
    }
    values.read().map_err(|error| Failed::arguments(format!("the arguments do not fit: {error}")))
}

/// Returns the variables of the URI that is read, which its template has found.
pub(super) fn variables_of<V: DeserializeOwned>(exchange: &Exchange) -> Result<V, Failed> {
    let values = exchange.extension::<TextValues>().cloned().unwrap_or_default();
    values.read().map_err(|error| Failed::arguments(format!("the URI does not fit: {error}")))
}

/// Returns the URI of the request.
pub(super) fn uri_of(exchange: &Exchange) -> String {
    match &exchange.request().kind {
        ClientRequest::ReadResource { uri } | ClientRequest::Subscribe { uri } => {
            uri.to_str().into_owned()
        }
        _ => String::new(),
    }
}
