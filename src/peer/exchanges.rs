//! Requests of the peer: accepted, answered, refused, reported on.

use alloc::string::String;

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::context::RequestContext;
use super::event::{CancelCause, Cancelled, PeerEvent};
use super::outlets::{Lane, Outlets};
use super::{Cause, ConnectionConfig, DuplicateIds, Peer};
use crate::dialect::features::Feature;
use crate::error::ErrorCode;
use crate::frame::Room;
use crate::handle::InboundId;
use crate::json::{Additions, EncodeError, Number, Raw, Str, Writer};
use crate::rpc::{Answer, Ending, Id, Recycle, write_error, write_notification, write_result};
use crate::session::Phase;

/// What is kept of a request until it is answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Exchange {
    context: RequestContext,
    /// The literal of the progress token; empty if there is none.
    token: String,
    progress: Option<Number>,
    /// The peer has cancelled it, and the application has not been told yet.
    marked: bool,
}

impl Recycle for Exchange {
    fn recycle(&mut self) {
        self.context = RequestContext::default();
        self.token.clear();
        self.progress = None;
        self.marked = false;
    }
}

/// Why a request could not be answered or reported on. Nothing was sent.
///
/// None of this is the application's fault except [`Encode`](Self::Encode) and answering twice: a
/// request can be cancelled while it is being worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum RespondError {
    /// It has been answered already.
    #[error("the request has been answered already")]
    Answered,
    /// The peer has cancelled it, so it must not be answered.
    #[error("the peer has cancelled the request")]
    Cancelled,
    /// The connection has ended.
    #[error("the connection has ended")]
    Closed,
    /// The handle is of another connection, or of a request that ended long ago.
    #[error("no such request on this connection")]
    Stale,
    /// The answer could not be written; the request is still open.
    #[error("the answer could not be written: {0}")]
    Encode(#[from] EncodeError),
}

/// What became of a progress report. None of it is an error: work need not know who watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProgressReport {
    /// It was sent.
    Sent,
    /// The peer did not ask for progress.
    NotWanted,
    /// It is not greater than the last one, and was not sent.
    NotIncreasing,
}

/// How far the work on a request is.
///
/// ([progress](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress))
///
/// ```
/// use mcp_sansio::Progress;
///
/// let half = Progress::new(50_u32).total(100_u32).message("halfway there");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    progress: Number,
    total: Option<Number>,
    message: Option<&'a str>,
}

impl<'a> Progress<'a> {
    /// So far. Each report on a request must be greater than the one before.
    pub fn new(progress: impl Into<Number>) -> Self {
        Self { progress: progress.into(), total: None, message: None }
    }

    /// How far it has to go.
    #[must_use]
    pub fn total(mut self, total: impl Into<Number>) -> Self {
        self.total = Some(total.into());
        self
    }

    /// What is going on, for people. Left out in sessions of 2024-11-05, which has no place for it.
    #[must_use]
    pub const fn message(mut self, message: &'a str) -> Self {
        self.message = Some(message);
        self
    }
}

/// The params of a progress notification.
struct ProgressParams<'a> {
    token: &'a str,
    progress: Progress<'a>,
}

impl Serialize for ProgressParams<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Progress { progress, total, message } = self.progress;
        let mut params = serializer.serialize_struct("ProgressParams", 4)?;
        params.serialize_field("progressToken", &Raw::trusted(self.token))?;
        params.serialize_field("progress", &progress)?;
        if let Some(total) = total {
            params.serialize_field("total", &total)?;
        }
        if let Some(message) = message {
            params.serialize_field("message", message)?;
        }
        params.end()
    }
}

impl Peer {
    /// Takes a request into the table.
    pub(crate) fn accept(
        &mut self,
        config: &ConnectionConfig,
        id: &Id<'_>,
        context: RequestContext,
        token: Option<&Id<'_>>,
    ) -> InboundId {
        let fill = |exchange: &mut Exchange| {
            exchange.context = context;
            if let Some(token) = token {
                exchange.token.push_str(token.as_wire());
            }
        };
        InboundId(match config.duplicate_ids {
            DuplicateIds::Refuse => self.inbound.insert(id, fill),
            DuplicateIds::Serve => self.inbound.insert_twin(id, fill),
        })
    }

    /// Whether a request with this id is in flight.
    pub(super) fn is_in_flight(&self, id: &Id<'_>) -> bool {
        self.inbound.find(id).is_some()
    }

    pub(crate) fn respond<T: Serialize + ?Sized>(
        &mut self,
        id: InboundId,
        result: &T,
        out: &mut dyn Outlets,
    ) -> Result<(), RespondError> {
        let wire = self.answerable(id)?;
        send(out, Lane::Exchange(id), None, |writer| {
            write_result(writer, &wire, result, Additions::default())
        })?;
        self.answered(id);
        Ok(())
    }

    pub(crate) fn reject<T: Serialize + ?Sized>(
        &mut self,
        id: InboundId,
        code: ErrorCode,
        message: &str,
        data: Option<&T>,
        out: &mut dyn Outlets,
    ) -> Result<(), RespondError> {
        let wire = self.answerable(id)?;
        send(out, Lane::Exchange(id), None, |writer| {
            write_error(writer, Answer::To(&wire), code, message, data)
        })?;
        self.answered(id);
        Ok(())
    }

    pub(crate) fn report_progress(
        &mut self,
        id: InboundId,
        progress: Progress<'_>,
        out: &mut dyn Outlets,
    ) -> Result<ProgressReport, RespondError> {
        self.answerable(id)?;
        let Some(exchange) = self.inbound.get_mut(id.0) else { return Err(RespondError::Stale) };
        if exchange.token.is_empty() {
            return Ok(ProgressReport::NotWanted);
        }
        if exchange.progress.is_some_and(|last| progress.progress <= last) {
            return Ok(ProgressReport::NotIncreasing);
        }
        let mut progress = progress;
        if !Feature::ProgressMessage.is_in(exchange.context.revision) {
            progress.message = None;
        }
        let params = ProgressParams { token: &exchange.token, progress };
        const METHOD: &str = "notifications/progress";
        send(out, Lane::Exchange(id), Some(METHOD), |writer| {
            write_notification(writer, METHOD, &params)
        })?;
        exchange.progress = Some(progress.progress);
        Ok(ProgressReport::Sent)
    }

    /// The peer cancels a request of its own.
    pub(super) fn cancelled_by_peer<'a>(
        &mut self,
        id: &Id<'_>,
        reason: Option<Str<'a>>,
    ) -> Option<PeerEvent<'a>> {
        let place = self.inbound.find(id)?;
        self.inbound.remove(place, Ending::Cancelled);
        // Where duplicate ids are served, others can have the same one. They come out one by one.
        while let Some(other) = self.inbound.find(id) {
            self.inbound.detach(other);
            if let Some(exchange) = self.inbound.get_mut(other) {
                exchange.marked = true;
            }
            self.marked.push_back(other);
        }
        Some(PeerEvent::Cancelled(Cancelled {
            id: InboundId(place),
            cause: CancelCause::Peer,
            reason,
        }))
    }

    /// The next exchange that was cancelled together with another one.
    pub(super) fn next_marked(&mut self) -> Option<PeerEvent<'static>> {
        let place = self.marked.pop_front()?;
        self.inbound.remove(place, Ending::Cancelled);
        let id = InboundId(place);
        Some(PeerEvent::Cancelled(Cancelled { id, cause: CancelCause::Peer, reason: None }))
    }

    /// The next exchange that the end of the connection has ended.
    pub(super) fn next_abandoned(&mut self) -> Option<PeerEvent<'static>> {
        let place = self.inbound.first()?;
        self.inbound.remove(place, Ending::Closed);
        let id = InboundId(place);
        Some(PeerEvent::Cancelled(Cancelled { id, cause: CancelCause::Closed, reason: None }))
    }

    /// The context of a request that can still be answered.
    pub(crate) fn context(&self, id: InboundId) -> Option<RequestContext> {
        self.answerable(id).ok()?;
        self.inbound.get(id.0).map(|exchange| exchange.context)
    }

    /// The requests that can still be answered, in the order they came.
    pub(crate) fn open_requests(&self) -> impl Iterator<Item = InboundId> {
        let open = self.phase != Phase::Closed;
        self.inbound
            .iter()
            .filter(move |(_, exchange)| open && !exchange.marked)
            .map(|(place, _)| InboundId(place))
    }

    /// The wire id of a request, if it can still be answered.
    fn answerable(&self, id: InboundId) -> Result<Id<'_>, RespondError> {
        match self.inbound.get(id.0) {
            Some(_) if self.phase == Phase::Closed => return Err(RespondError::Closed),
            Some(exchange) if exchange.marked => return Err(RespondError::Cancelled),
            Some(_) => {}
            None => {
                return Err(match self.inbound.ending(id.0) {
                    Some(Ending::Answered) => RespondError::Answered,
                    Some(Ending::Cancelled) => RespondError::Cancelled,
                    Some(Ending::Closed) => RespondError::Closed,
                    None => RespondError::Stale,
                });
            }
        }
        self.inbound.id(id.0).ok_or(RespondError::Stale)
    }

    fn answered(&mut self, id: InboundId) {
        self.inbound.remove(id.0, Ending::Answered);
    }

    /// Sends an error by itself. Says whether it could.
    pub(super) fn send_error(
        &mut self,
        lane: Lane,
        id: Answer<'_>,
        code: ErrorCode,
        message: &str,
        out: &mut dyn Outlets,
    ) -> bool {
        self.send_own(lane, None, out, |writer| write_error::<()>(writer, id, code, message, None))
    }

    /// Sends something that no caller asked for. Says whether it could.
    ///
    /// It may use the reserve of the outbox; a peer that fills that too does not read, and loses the
    /// connection. What does not even fit an empty outbox is no fault of the peer.
    pub(crate) fn send_own(
        &mut self,
        lane: Lane,
        method: Option<&str>,
        out: &mut dyn Outlets,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>,
    ) -> bool {
        let outbox = out.lane(lane);
        let has_unread = !outbox.is_empty();
        if outbox.append(Room::Reserve, None, write).is_err() {
            if has_unread {
                self.close(Cause::OutboxOverflow);
            }
            return false;
        }
        observe_sent(out, lane, method);
        true
    }
}

/// Sends something that a caller asked for.
pub(super) fn send(
    out: &mut dyn Outlets,
    lane: Lane,
    method: Option<&str>,
    write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    out.lane(lane).append(Room::Limit, None, write)?;
    observe_sent(out, lane, method);
    Ok(())
}

/// Tells whoever watches that a message was put on a lane.
pub(super) fn observe_sent(out: &mut dyn Outlets, lane: Lane, method: Option<&str>) {
    let bytes = out.lane(lane).last_length();
    out.observe(&super::Observation::Sent { method, lane, bytes });
}
