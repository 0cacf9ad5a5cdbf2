//! The subscriptions that a client keeps open with a `subscriptions/listen` request
//! ([subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)).

use super::ClientRequest;
use super::event::{Request, ServerEvent, Subscribed};
use crate::codes::ViolationKind;
use crate::config::Listening;
use crate::connection::{Connection, IncomingRequest, Outboxes};
use crate::dialect::methods::RequestKind;
use crate::json::Raw;

/// Opens a subscription, and acknowledges it unless the application decides.
///
/// # Errors
///
/// The violation to refuse the request with.
pub(super) fn open<'f>(
    connection: &mut Connection,
    listening: Listening,
    request: &mut IncomingRequest<'_, 'f>,
    out: &mut dyn Outboxes,
) -> Result<ServerEvent<'f>, ViolationKind> {
    let kind = Some(RequestKind::Listen);
    let call = ClientRequest::read(kind, request.params.as_ref(), request.context.revision)
        .ok_or(ViolationKind::InvalidParams)?;
    let (dispatcher, cx) = &mut connection.enter(None, out);
    let serving = &mut dispatcher.serving;
    let id = serving.admit(cx, kind, request)?;
    let has_topics = serving.open_listen(id, request.params_text().unwrap_or_default());
    if has_topics && listening != Listening::Granted {
        return Ok(ServerEvent::Request(Request::new(id, kind, call, request)));
    }
    // Without room for the acknowledgement there is no room for the notifications either.
    if serving.acknowledge(cx, id, None, |_| false).is_err() {
        serving.abandon_request(cx, id);
        return Err(ViolationKind::TooManyListens);
    }
    let requested = Raw::trusted(request.param("notifications").unwrap_or("{}"));
    let context = request.context;
    Ok(ServerEvent::Subscribed(Subscribed { id, context, requested }))
}
