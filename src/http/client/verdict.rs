//! What heads and bodies say, apart from what they are an answer to.

use crate::http::{Field, Headers};
use crate::json::{Envelope, Str};
use crate::limits::Limits;
use crate::peer::{CarrierFailure, CarrierFailureKind};
use crate::rpc::{ErrorObject, Message, Versions, classify};

/// The error of JSON-RPC in the body of a refusal, whatever id it has: it can only be about one request.
pub(super) fn error_in<'r>(body: &'r [u8], limits: &Limits) -> Option<ErrorObject<'r>> {
    let envelope = Envelope::scan(body, limits.depth);
    match classify(&envelope, limits, Versions::Any) {
        Ok(Message::Error { error, .. } | Message::IdlessError { error }) => Some(error),
        // Some put the name of their own failure where the id belongs, or null with something else.
        _ => None,
    }
}

/// What a status says.
pub(super) fn failure(status: u16, headers: Headers<'_>) -> CarrierFailure<'static> {
    // A server with several ways to authenticate may write each challenge in a field of its own.
    let challenge = headers.combined("WWW-Authenticate").map(|value| Str::from(&*value));
    let is_unauthorized = status == 401 || (status == 403 && challenge.is_some());
    let kind = if is_unauthorized {
        CarrierFailureKind::Unauthorized
    } else {
        CarrierFailureKind::Refused
    };
    let retry_after = match headers.get("Retry-After") {
        Field::Once(value) => Some(Str::from(value)),
        _ => None,
    };
    CarrierFailure { status: Some(status), challenge, retry_after, ..CarrierFailure::new(kind) }
}

/// Whether this can be the id of a session.
pub(super) fn is_session_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| matches!(byte, b'!'..=b'~'))
}
