//! Responses: results and errors of servers, as they are passed on to clients.

use mcp_sansio::capability::{Capability, CapabilitySet};
use mcp_sansio::error::{ErrorObject, NotAllowed};
use mcp_sansio::json::Raw;
use mcp_sansio::model::ClientCapabilities;
use mcp_sansio::{ErrorCode, RespondError};
use mcp_sansio_tokio::Exchange;

use super::params::result_for_client;
use crate::upstream::Upstream;

/// Responds with the result of a server.
pub(super) fn pass_result(
    exchange: &Exchange,
    upstream: &Upstream,
    result: &Raw<'_>,
) -> Result<(), RespondError> {
    let result = result_for_client(result);
    match exchange.respond(&result) {
        // For example, the revision of the client cannot express the result.
        Err(RespondError::Encode(error)) => {
            let name = &upstream.config.name;
            let message = format!("the server {name}: its result cannot be passed on: {error}");
            exchange.reject(ErrorCode::INTERNAL_ERROR, &message)
        }
        responded => responded,
    }
}

/// Responds with the error of a server.
pub(super) fn refuse(exchange: &Exchange, error: &ErrorObject<'_>) -> Result<(), RespondError> {
    let mut error = error.clone();
    if let Some(missing) = missing_capabilities(&error) {
        return exchange.reject_missing(missing);
    }
    if error.is_resource_not_found() {
        // The machine of the client writes the code of its era.
        error.code = ErrorCode::RESOURCE_NOT_FOUND;
    }
    match exchange.reject_with(&error) {
        // The revision of the client uses the code for another purpose.
        Err(RespondError::NotAllowed(_) | RespondError::Encode(_)) => {
            error.code = ErrorCode::INTERNAL_ERROR;
            exchange.reject_with(&error)
        }
        responded => responded,
    }
}

/// Returns the capabilities of the client that a modern server needs, if it has refused a request for lack of them.
pub(super) fn missing_capabilities(error: &ErrorObject<'_>) -> Option<CapabilitySet> {
    let data =
        error.data.as_ref().filter(|_| error.code == ErrorCode::MISSING_CLIENT_CAPABILITY)?;
    let needed = data.get("requiredCapabilities")?;
    let mut missing = CapabilitySet::from(&needed.parse::<ClientCapabilities<'_>>().ok()?);
    let names_form = needed.get("elicitation").is_some_and(|modes| modes.get("form").is_some());
    if !names_form {
        // An empty `elicitation` stands for forms as well.
        missing = missing.without(Capability::ElicitationForm);
    }
    Some(missing).filter(|missing| !missing.is_empty())
}

/// Responds with the reason if a client cannot be asked for input.
pub(super) fn explained(
    exchange: &Exchange,
    asked: Result<(), RespondError>,
) -> Result<(), RespondError> {
    match asked {
        Err(RespondError::NotAllowed(NotAllowed::Capability(missing))) => {
            exchange.reject_missing(CapabilitySet::NONE.with(missing))
        }
        Err(error) if cannot_be_asked(&error) => {
            let message =
                format!("the client cannot be asked for the input of the server: {error}");
            exchange.reject(ErrorCode::INTERNAL_ERROR, &message)
        }
        asked => asked,
    }
}

/// Whether an error means that a client cannot be asked for this input, but waits for its response.
pub(super) const fn cannot_be_asked(error: &RespondError) -> bool {
    use RespondError::{Encode, NotAllowed, TooManyRounds};
    matches!(error, NotAllowed(_) | Encode(_) | TooManyRounds)
}

/// Whether an error may mean that another server has the resource.
pub(super) fn may_be_elsewhere(error: &ErrorObject<'_>) -> bool {
    let unknown = [ErrorCode::INVALID_PARAMS, ErrorCode::METHOD_NOT_FOUND];
    error.is_resource_not_found() || unknown.contains(&error.code)
}

/// Refuses a request whose call nothing follows: the connection has ended.
pub(super) fn unfollowed(exchange: &Exchange) -> Result<(), RespondError> {
    exchange.reject(ErrorCode::INTERNAL_ERROR, "the connection to the server has ended")
}
