//! [`Exchange`], one HTTP request and its response, and [`Purpose`], the message that it carries.
//!
//! A number identifies one exchange for the whole lifetime of a client.

use core::slice;

use super::pending_batch::PendingBatch;
use super::pending_call::PendingCall;
use super::resumption::Resumption;
use super::tool_refresh::Refresh;
use crate::connection::TransportFailure;
use crate::handle::CallId;
use crate::time::Instant;

/// The number of an exchange: an HTTP request and its response. Numbers count up and are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExchangeNumber(pub(super) u64);

/// An HTTP request that is open or scheduled.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Exchange {
    pub(super) purpose: Purpose,
    /// Whether the exchange belongs to a session, so that aborting it is not a cancellation.
    pub(super) in_session: bool,
    /// Whether the request carries the id of the session.
    pub(super) names_session: bool,
    /// Whether the response has started.
    pub(super) has_head: bool,
    /// Whether a response was an event stream.
    pub(super) was_open: bool,
    /// The status and the reason, if the head of the response is a refusal.
    pub(super) refusal: Option<(u16, TransportFailure<'static>)>,
    /// The position and the delay for resuming the event stream.
    pub(super) resumption: Resumption,
    /// The time of the next request to resume the stream, if none is open. Of the HTTP+SSE stream, the deadline for
    /// the endpoint. Of a notice, the deadline for the response.
    due: Option<Instant>,
    /// The length of the message of a notice.
    pub(super) notice_bytes: usize,
}

/// The purpose of an exchange.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Purpose {
    /// Carries a request of this side.
    Request(PendingCall),
    /// Lists the tools because of a call that was refused.
    Refresh(Refresh),
    /// Carries a batch with the requests of these calls, which have not ended.
    Batch(PendingBatch),
    /// Carries a notification or a response of this side, or a batch of them.
    Notice {
        /// Whether it is `notifications/initialized`, which starts the session.
        completes_handshake: bool,
    },
    /// Receives the messages that belong to no request.
    Standalone,
    /// The one event stream of a server of 2024-11-05.
    OneStream,
    /// Ends the session.
    Farewell,
}

/// Omits the event id, with which others could resume the stream.
impl core::fmt::Debug for Exchange {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("Exchange")
            .field("purpose", &self.purpose)
            .field("has_head", &self.has_head)
            .field("due", &self.due)
            .finish_non_exhaustive()
    }
}

impl Exchange {
    pub(super) const fn new(purpose: Purpose, in_session: bool) -> Self {
        Self {
            purpose,
            in_session,
            names_session: false,
            has_head: false,
            was_open: false,
            refusal: None,
            resumption: Resumption::new(),
            due: None,
            notice_bytes: 0,
        }
    }

    /// Creates the exchange of a notification, a response of this side, or a batch of them.
    pub(super) fn notice(completes_handshake: bool, bytes: usize, deadline: Instant) -> Self {
        let purpose = Purpose::Notice { completes_handshake };
        Self { due: Some(deadline), notice_bytes: bytes, ..Self::new(purpose, true) }
    }

    pub(super) const fn is_notice(&self) -> bool {
        matches!(self.purpose, Purpose::Notice { .. })
    }

    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Sets the due time. The exchange must not be in an [`ExchangeTable`](super::exchange_table::ExchangeTable),
    /// which indexes this time.
    pub(super) const fn set_due(&mut self, due: Option<Instant>) {
        self.due = due;
    }

    /// Returns the call whose request the exchange carries. Its response has not arrived: that ends the exchange.
    pub(super) const fn waiting_call(&self) -> Option<CallId> {
        match &self.purpose {
            Purpose::Request(asked) => Some(asked.call),
            _ => None,
        }
    }

    /// Returns the calls whose requests the exchange carries.
    pub(super) fn calls(&self) -> &[CallId] {
        match &self.purpose {
            Purpose::Request(asked) => slice::from_ref(&asked.call),
            Purpose::Batch(batch) => batch.calls(),
            _ => &[],
        }
    }

    /// Returns the ids of the requests that the exchange carries, or because of which it lists the tools.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        let (one, many) = match &self.purpose {
            Purpose::Request(asked) => (Some(&*asked.id), &[][..]),
            Purpose::Refresh(refresh) => (Some(refresh.call_id()), &[][..]),
            Purpose::Batch(batch) => (None, batch.ids()),
            _ => (None, &[][..]),
        };
        one.into_iter().chain(many.iter().map(|id| &**id))
    }

    /// Whether the exchange carries messages of this side in a session.
    pub(super) const fn sends_in_session(&self) -> bool {
        self.in_session
            && matches!(
                self.purpose,
                Purpose::Request(_) | Purpose::Batch(_) | Purpose::Notice { .. }
            )
    }

    /// Whether the exchange carries a batch, and every call of it has ended.
    pub(super) fn is_batch_without_calls(&self) -> bool {
        matches!(&self.purpose, Purpose::Batch(batch) if batch.calls().is_empty())
    }

    /// Returns the call whose request in the batch of the exchange has this id.
    pub(super) fn call_in_batch(&self, id: &str) -> Option<CallId> {
        match &self.purpose {
            Purpose::Batch(batch) => batch.call_of(id),
            _ => None,
        }
    }

    /// Whether the exchange is the event stream of HTTP+SSE.
    pub(super) fn is_one_stream(&self) -> bool {
        self.purpose == Purpose::OneStream
    }

    /// Whether the exchange carries `initialize`.
    pub(super) const fn opens_session(&self) -> bool {
        matches!(&self.purpose, Purpose::Request(asked) if asked.opens.is_some())
    }

    /// Whether the call of the exchange has ended, and its late response is awaited.
    pub(super) const fn is_late(&self) -> bool {
        matches!(&self.purpose, Purpose::Request(asked) if asked.is_late)
    }

    /// Whether a JSON-RPC error in the body of a refusal with this status decides how the exchange ends. A lost session
    /// is lost whatever the body says.
    pub(super) const fn is_decided_by_error(&self, status: u16) -> bool {
        let is_lost = status == 404 && self.names_session;
        matches!(self.purpose, Purpose::Request(_)) && !is_lost
    }

    /// Whether the exchange carries `notifications/initialized`.
    pub(super) const fn completes_handshake(&self) -> bool {
        matches!(self.purpose, Purpose::Notice { completes_handshake: true })
    }
}
