//! Shared helpers of the shape tests: one side sends a payload, and the test checks the sent text.

mod asked;
mod built;
mod content;
mod kept;
mod paths;
mod payloads;
mod prepared;
mod received;
mod sent;

use mcp_sansio::error::NotifyError;
use mcp_sansio::json::Raw;
use mcp_sansio::schema::{EncodeError, Problem};
use mcp_sansio::{CallError, CallOptions, Payload, RespondError, Revision};
use mcp_sansio_proptests::{ClientSide, ServerSide, config, payload};

/// The sent text of a payload, or the member that prevented sending.
pub(crate) type Sent = Result<String, (&'static str, Problem)>;

/// The expected text in each of the four revisions.
pub(crate) type Leaves = [Result<&'static str, (&'static str, Problem)>; 4];

/// The placeholder of the payload in a template.
const HOLE: &str = "@";

/// Parses a JSON text.
#[track_caller]
pub(crate) fn raw(text: &str) -> Raw<'_> {
    Raw::new(text).unwrap()
}

/// Puts a JSON text into a template.
pub(crate) fn put(template: &str, inner: &str) -> String {
    assert_eq!(template.matches(HOLE).count(), 1, "{template}");
    template.replace(HOLE, inner)
}

/// Whether the server sends requests of this method.
pub(crate) fn is_of_server(method: &str) -> bool {
    matches!(method, "roots/list" | "sampling/createMessage" | "elicitation/create")
}

/// Returns a request in the form of the wire.
pub(crate) fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

fn misfit(error: EncodeError) -> (&'static str, Problem) {
    match error {
        EncodeError::Misfit(misfit) => (misfit.field, misfit.problem),
        other => panic!("not for its shape: {other:?}"),
    }
}

/// Returns the payload of the only sent message.
#[track_caller]
fn only(sent: &[String], before: &str) -> String {
    assert_eq!(sent.len(), 1, "{sent:?}");
    let rest = sent[0].strip_prefix(before).unwrap();
    rest.strip_suffix('}').unwrap().to_owned()
}

/// Responds to a request of this method.
#[track_caller]
pub(crate) fn sent_result<T: Payload + ?Sized>(
    method: &str,
    revision: Revision,
    result: &T,
) -> Sent {
    let params = payload::params(method);
    let params = if params.as_json() == "null" { "{}" } else { params.as_json() };
    let (answered, sent) = if is_of_server(method) {
        let mut side = ClientSide::ready(revision);
        let id = side.request(&request(method, params));
        (side.client.respond(id, result, &mut side.out), side.sent())
    } else {
        let mut side = ServerSide::ready(revision);
        let id = side.request(&request(method, params));
        (side.server.respond(id, result, &mut side.out), side.sent())
    };
    match answered {
        Ok(()) => Ok(only(&sent, r#"{"jsonrpc":"2.0","id":1,"result":"#)),
        Err(RespondError::Encode(error)) => {
            assert_eq!(sent, [""; 0], "what is refused leaves nothing behind");
            Err(misfit(error))
        }
        Err(other) => panic!("{method} {revision}: {other:?}"),
    }
}

/// Makes a call of this method, on the side that sends it.
#[track_caller]
pub(crate) fn called<T: Payload + ?Sized>(
    method: &str,
    revision: Revision,
    params: &T,
) -> (Result<(), CallError>, Vec<String>) {
    let options = CallOptions::new();
    if is_of_server(method) {
        let mut side = ServerSide::ready(revision);
        let called = side.server.call_method(method, params, options, side.now, &mut side.out);
        (called.map(drop), side.sent())
    } else {
        let mut side = ClientSide::ready(revision);
        let called = side.client.call_method(method, params, options, side.now, &mut side.out);
        (called.map(drop), side.sent())
    }
}

/// Returns the params of such a call.
#[track_caller]
pub(crate) fn sent_params<T: Payload + ?Sized>(
    method: &str,
    revision: Revision,
    params: &T,
) -> Sent {
    let (called, sent) = called(method, revision, params);
    // The client has sent `initialize` before.
    let id = if is_of_server(method) { 1 } else { 2 };
    let before = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":"#);
    match called {
        Ok(()) => Ok(only(&sent, &before)),
        Err(CallError::Encode(error)) => {
            assert_eq!(sent, [""; 0], "what is refused leaves nothing behind");
            Err(misfit(error))
        }
        Err(other) => panic!("{method} {revision}: {other:?}"),
    }
}

/// Returns the params of a notification of a server without a log filter.
#[track_caller]
pub(crate) fn sent_notification<T: Payload + ?Sized>(
    method: &str,
    revision: Revision,
    params: &T,
) -> Sent {
    let mut config = config::server();
    config.log_level = mcp_sansio::model::LoggingLevel::Debug;
    let mut side = ServerSide::ready_with(config, revision);
    let delivered = side.server.notify_method(method, params, None, &mut side.out);
    let before = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":"#);
    match delivered {
        Ok(_) => Ok(only(&side.sent(), &before)),
        Err(NotifyError::Encode(error)) => Err(misfit(error)),
        Err(other) => panic!("{method} {revision}: {other:?}"),
    }
}

/// Sends a payload inside a result in every revision, and checks the sent text.
#[track_caller]
pub(crate) fn results_leave(method: &str, template: &str, inner: &str, leaves: Leaves) {
    for (revision, expected) in Revision::LEGACY.into_iter().zip(leaves) {
        let sent = sent_result(method, revision, &raw(&put(template, inner)));
        let expected = expected.map(|inner| put(template, inner));
        assert_eq!(sent, expected, "{method} {revision} {inner}");
    }
}

/// The same for params.
#[track_caller]
pub(crate) fn params_leave(method: &str, template: &str, inner: &str, leaves: Leaves) {
    for (revision, expected) in Revision::LEGACY.into_iter().zip(leaves) {
        let sent = sent_params(method, revision, &raw(&put(template, inner)));
        let expected = expected.map(|inner| put(template, inner));
        assert_eq!(sent, expected, "{method} {revision} {inner}");
    }
}
