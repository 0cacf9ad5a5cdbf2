//! Writes messages into outboxes and reports them to the observer.

use super::exchange::Exchange;
use super::outboxes::{Observation, Outboxes, Route};
use crate::codes::ErrorCode;
use crate::frame::{Room, Tag};
use crate::handle::IncomingId;
use crate::schema::{EncodeError, Writer};

/// Checks that the outbox of a route may have room for a message with a text of this length. An empty outbox is not
/// checked, because the message may be shorter than the text.
///
/// The check costs no look at the text. Without it, a peer that does not read could have a long text read after each
/// of its messages.
///
/// # Errors
///
/// [`EncodeError::Full`] if the outbox lacks room and is not empty.
pub(super) fn check_room(
    route: Route,
    length: usize,
    out: &mut dyn Outboxes,
) -> Result<(), EncodeError> {
    let outbox = out.outbox(route);
    if outbox.room() < length && !outbox.is_empty() { Err(EncodeError::Full) } else { Ok(()) }
}

/// Sends a message that a caller requested.
#[inline]
pub(super) fn send(
    out: &mut dyn Outboxes,
    route: Route,
    sent: SentMessage<'_>,
    write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let outbox = out.outbox(route);
    outbox.append(Room::Limit, Tag::Nothing, write)?;
    let bytes = outbox.last_length();
    observe_bytes(out, route, sent, bytes);
    Ok(())
}

/// Sends a message about a request of the peer. The message is withdrawn if the peer cancels the request in time.
pub(super) fn send_about(
    exchange: &mut Exchange,
    id: IncomingId,
    out: &mut dyn Outboxes,
    method: &str,
    write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    send_about_once(exchange, id, out, (method, false), write).map(drop)
}

/// The same with `is_once`, unless the unsent message before it in its outbox is equal. Returns whether it was sent.
#[inline]
pub(super) fn send_about_once(
    exchange: &mut Exchange,
    id: IncomingId,
    out: &mut dyn Outboxes,
    (method, is_once): (&str, bool),
    write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>,
) -> Result<bool, EncodeError> {
    let route = Route::Exchange(id);
    let outbox = out.outbox(route);
    let serial = outbox.append(Room::Limit, Tag::Exchange(id), write)?;
    if is_once && outbox.drop_repeated() {
        return Ok(false);
    }
    let bytes = outbox.last_length();
    exchange.last_output = Some(serial);
    observe_bytes(out, route, SentMessage::Method(method), bytes);
    Ok(true)
}

/// The kind of a message of this side.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SentMessage<'a> {
    /// A request or a notification with this method.
    Method(&'a str),
    /// The result of a request, or a batch.
    Result,
    /// An error response.
    Error(ErrorCode),
}

/// Reports a sent message to the observer.
pub(super) fn observe_sent(out: &mut dyn Outboxes, route: Route, sent: SentMessage<'_>) {
    if out.observes() {
        let bytes = out.outbox(route).last_length();
        observe_bytes(out, route, sent, bytes);
    }
}

/// Reports a sent message of known length to the observer.
#[inline]
pub(super) fn observe_bytes(
    out: &mut dyn Outboxes,
    route: Route,
    sent: SentMessage<'_>,
    bytes: usize,
) {
    if !out.observes() {
        return;
    }
    let (method, error) = match sent {
        SentMessage::Method(method) => (Some(method), None),
        SentMessage::Result => (None, None),
        SentMessage::Error(code) => (None, Some(code)),
    };
    out.observe(&Observation::Sent { method, error, route, bytes });
}
