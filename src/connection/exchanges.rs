//! What leaves: a message in an outbox, and the observation of it.

use super::exchange::Exchange;
use super::outlets::{Lane, Observation, Outlets};
use crate::error::ErrorCode;
use crate::frame::{Room, Tag};
use crate::handle::InboundId;
use crate::schema::{EncodeError, Writer};

/// Sends something that a caller asked for.
pub(super) fn send(
    out: &mut dyn Outlets,
    lane: Lane,
    said: Said<'_>,
    write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let outbox = out.lane(lane);
    outbox.append(Room::Limit, Tag::Nothing, write)?;
    let bytes = outbox.last_length();
    observe_bytes(out, lane, said, bytes);
    Ok(())
}

/// Sends something about a request of the peer, which is taken back if the peer cancels it in time.
pub(super) fn send_about(
    exchange: &mut Exchange,
    id: InboundId,
    out: &mut dyn Outlets,
    method: &str,
    write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let lane = Lane::Exchange(id);
    let outbox = out.lane(lane);
    let serial = outbox.append(Room::Limit, Tag::Exchange(id), write)?;
    let bytes = outbox.last_length();
    exchange.last_output = Some(serial);
    observe_bytes(out, lane, Said::Method(method), bytes);
    Ok(())
}

/// What a message of this side is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Said<'a> {
    /// A request or a notification with this method.
    Method(&'a str),
    /// The result of a request, or a batch.
    Result,
    /// The refusal of a request.
    Error(ErrorCode),
}

/// Tells whoever watches that a message was put on a lane.
pub(super) fn observe_sent(out: &mut dyn Outlets, lane: Lane, said: Said<'_>) {
    let bytes = out.lane(lane).last_length();
    observe_bytes(out, lane, said, bytes);
}

/// The same if its length is at hand.
#[inline]
pub(super) fn observe_bytes(out: &mut dyn Outlets, lane: Lane, said: Said<'_>, bytes: usize) {
    let (method, error) = match said {
        Said::Method(method) => (Some(method), None),
        Said::Result => (None, None),
        Said::Error(code) => (None, Some(code)),
    };
    out.observe(&Observation::Sent { method, error, lane, bytes });
}
