//! Functions that read the head and the body of a response, independently of its exchange.

use alloc::borrow::Cow;

use crate::connection::{TransportFailure, TransportFailureKind};
use crate::frame::Frames;
use crate::http::{Field, Headers};
use crate::json::{Envelope, Str};
use crate::limits::Limits;
use crate::rpc::{Defective, ErrorObject, Id, Intent, Message, Versions, classify};

/// Returns the JSON-RPC error in the body of a refusal. The id is ignored, because the error can only be about one
/// request.
pub(super) fn error_in<'r>(body: &'r [u8], limits: &Limits) -> Option<ErrorObject<'r>> {
    let envelope = Envelope::scan(body, limits.depth);
    match classify(&envelope, limits, Versions::Any) {
        Ok(Message::Error { error, .. } | Message::IdlessError { error }) => Some(error),
        // Some servers put the name of their own failure, or null, in place of the id.
        _ => None,
    }
}

/// Returns the failure that a refused response stands for.
pub(super) fn failure(status: u16, headers: Headers<'_>) -> TransportFailure<'static> {
    // A server with several authentication schemes may write each challenge in its own field.
    let challenge = headers.combined("WWW-Authenticate").map(|value| Str::from(&*value));
    let is_unauthorized = status == 401 || (status == 403 && challenge.is_some());
    let kind = if is_unauthorized {
        TransportFailureKind::Unauthorized
    } else {
        TransportFailureKind::Refused
    };
    let retry_after = match headers.get("Retry-After") {
        Field::Once(value) => Some(Str::from(value)),
        _ => None,
    };
    TransportFailure { status: Some(status), challenge, retry_after, ..TransportFailure::new(kind) }
}

/// Returns the id of a response as its request has it: with `stringified`, a number in a string is the number
/// ([`ConnectionConfig::match_stringified_ids`](crate::config::ConnectionConfig::match_stringified_ids)).
fn requested_id<'i>(id: &'i Id<'_>, stringified: bool) -> Cow<'i, str> {
    match id.number(stringified).filter(|_| id.as_wire().starts_with('"')) {
        Some(number) => Cow::Owned(itoa::Buffer::new().format(number).into()),
        None => Cow::Borrowed(id.as_wire()),
    }
}

/// Whether this text, a message or a batch, contains the response to the request with this id. `stringified` is as for
/// [`each_answered`].
pub(super) fn answers(text: &[u8], request: &str, limits: &Limits, stringified: bool) -> bool {
    Frames::of(text, limits).any(|frame| {
        let envelope = Envelope::scan(frame.bytes(), limits.depth);
        match classify(&envelope, limits, Versions::Any) {
            Ok(Message::Result { id, .. } | Message::Error { id, .. }) => {
                requested_id(&id, stringified) == request
            }
            // An error without an id can only refer to this request.
            Ok(Message::IdlessError { .. }) => true,
            _ => false,
        }
    })
}

/// Whether this text is a defective response to the request with this id, with which the machine ends the call.
pub(super) fn is_defective_answer(
    text: &[u8],
    request: &str,
    limits: &Limits,
    stringified: bool,
) -> bool {
    let envelope = Envelope::scan(text, limits.depth);
    match classify(&envelope, limits, Versions::Any) {
        Err(Defective { id: Some(id), intent: Intent::Response | Intent::Either, .. }) => {
            requested_id(&id, stringified) == request
        }
        _ => false,
    }
}

/// Calls `each` with the id of every request that this text, a message or a batch, responds to. With `stringified`, a
/// number in a string is the number.
pub(super) fn each_answered(
    text: &[u8],
    limits: &Limits,
    stringified: bool,
    mut each: impl FnMut(&str),
) {
    for frame in Frames::of(text, limits) {
        let envelope = Envelope::scan(frame.bytes(), limits.depth);
        if let Ok(Message::Result { id, .. } | Message::Error { id, .. }) =
            classify(&envelope, limits, Versions::Any)
        {
            each(&requested_id(&id, stringified));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_the_id_of_its_request_or_none() {
        let limits = Limits::default();
        let batch = br#"[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":"x","result":{}}]"#;
        assert!(answers(batch, "\"x\"", &limits, true));
        assert!(!answers(batch, "1", &limits, true));
        let error = br#"{"jsonrpc":"2.0","error":{"code":1,"message":"no"}}"#;
        assert!(answers(error, "1", &limits, false));
        let number = br#"{"jsonrpc":"2.0","id":"7","result":{}}"#;
        assert!(answers(number, "7", &limits, true) && !answers(number, "7", &limits, false));
        assert!(answers(number, "\"7\"", &limits, false));
        let mut answered = 0;
        each_answered(batch, &limits, true, |id| {
            assert_eq!(id, "\"x\"");
            answered += 1;
        });
        each_answered(error, &limits, true, |_| answered += 1);
        assert_eq!(answered, 1);
    }
}
