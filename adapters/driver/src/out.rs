//! The outboxes of a machine: one for the whole stream, or one for each HTTP exchange.

#![allow(unnameable_types, reason = "only this crate has machines")]

use mcp_sansio::event::Observation;
use mcp_sansio::request::Requestor;
use mcp_sansio::{CallId, Instant, Outbox, Outboxes, Route};

use crate::http::HttpOutboxes;

/// The outboxes of a connection.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one to a connection")]
pub enum Out {
    /// A stream of messages: stdio, a socket, a pipe.
    Stream(Outbox),
    /// The requests or responses of HTTP.
    Http(HttpOutboxes),
}

impl Out {
    /// Returns the unsent bytes of the single stream.
    pub(crate) fn unsent(&self) -> &[u8] {
        match self {
            Self::Stream(outbox) => outbox.unsent(),
            Self::Http(_) => &[],
        }
    }

    /// Notes that this many of these bytes have been sent.
    pub(crate) fn sent(&mut self, bytes: usize) {
        match self {
            Self::Stream(outbox) => outbox.sent(bytes),
            Self::Http(_) => {}
        }
    }

    /// Frees a large buffer of the single stream if everything has been sent.
    pub(crate) fn release_above(&mut self, bytes: usize) {
        match self {
            Self::Stream(outbox) => outbox.release_above(bytes),
            Self::Http(_) => {}
        }
    }

    /// Returns the number of bytes that wait for the single stream.
    pub(crate) const fn len(&self) -> usize {
        match self {
            Self::Stream(outbox) => outbox.len(),
            Self::Http(http) => http.len(),
        }
    }

    /// Returns the requestor whose tasks end with the connection.
    pub(crate) fn session_requestor(&self) -> Option<Requestor> {
        match self {
            Self::Stream(_) => None,
            Self::Http(http) => http.session_requestor(),
        }
    }

    /// Whether nothing waits to be sent.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Stream(outbox) => outbox.is_empty(),
            Self::Http(http) => http.is_empty(),
        }
    }

    /// Whether all output for the peer is finished, once the connection has ended.
    pub(crate) fn is_done(&self) -> bool {
        match self {
            Self::Stream(outbox) => outbox.is_empty(),
            Self::Http(http) => http.is_done(),
        }
    }

    /// Returns the number of unsent bytes on all streams together.
    pub(crate) fn unsent_bytes(&self) -> usize {
        match self {
            Self::Stream(outbox) => outbox.len(),
            Self::Http(http) => http.unsent_bytes(),
        }
    }

    /// Returns the bytes of the output that is stored in case the peer has missed it.
    pub(crate) fn stored_bytes(&self) -> usize {
        match self {
            Self::Stream(_) => 0,
            Self::Http(http) => http.stored_bytes(),
        }
    }

    /// Whether too much output waits to start new work.
    pub(crate) fn is_congested(&self) -> bool {
        match self {
            Self::Stream(outbox) => outbox.is_congested(),
            Self::Http(http) => http.is_congested(),
        }
    }

    pub(crate) fn set_limit(&mut self, bytes: usize) {
        match self {
            Self::Stream(outbox) => outbox.set_limit(bytes),
            Self::Http(http) => http.set_limit(bytes),
        }
    }

    /// Returns the next deadline of the responses.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Stream(_) => None,
            Self::Http(http) => http.poll_timeout(),
        }
    }

    /// Shows an event of the machine to the outboxes before it is delivered.
    #[inline]
    pub(crate) fn watch(&mut self, event: Option<&impl Watched>) {
        if let (Self::Http(http), Some(event)) = (self, event) {
            event.show(http);
        }
    }
}

/// An event that the outboxes may inspect.
pub trait Watched {
    /// Shows the event to the outboxes.
    fn show(&self, http: &mut HttpOutboxes);
}

impl Outboxes for Out {
    fn outbox(&mut self, route: Route) -> &mut Outbox {
        match self {
            Self::Stream(outbox) => outbox,
            Self::Http(http) => http.outbox(route),
        }
    }

    fn observe(&mut self, observation: &Observation<'_>) {
        match self {
            Self::Stream(_) => _ = observation,
            Self::Http(http) => http.observe(observation),
        }
    }

    fn observes(&self) -> bool {
        match self {
            Self::Stream(_) => false,
            Self::Http(http) => http.observes(),
        }
    }

    fn note_batch(&mut self, calls: &[CallId]) {
        match self {
            Self::Stream(outbox) => outbox.note_batch(calls),
            Self::Http(http) => http.note_batch(calls),
        }
    }

    fn note_late(&mut self, call: CallId, is_awaited: bool) {
        match self {
            Self::Stream(outbox) => outbox.note_late(call, is_awaited),
            Self::Http(http) => http.note_late(call, is_awaited),
        }
    }

    fn can_ask(&self, route: Route) -> bool {
        match self {
            Self::Stream(outbox) => outbox.can_ask(route),
            Self::Http(http) => http.can_ask(route),
        }
    }

    fn has_reader(&self, route: Route) -> bool {
        match self {
            Self::Stream(outbox) => outbox.has_reader(route),
            Self::Http(http) => http.has_reader(route),
        }
    }
}
