//! Connections over HTTP: each message is part of an HTTP request or response.
//!
//! Without the feature `http`, this module is `no_http.rs`, which has the same names.

#![allow(unnameable_types, reason = "only this crate has machines")]

mod client;
#[cfg(all(test, not(shuttle)))]
mod inline_tests;
mod kept_bytes;
mod post_queue;
mod restart;
mod reuse;
mod server;

use mcp_sansio::event::Observation;
use mcp_sansio::http::{ClientTransport, Streams};
use mcp_sansio::request::Requestor;
use mcp_sansio::{CallId, ClientEvent, IncomingId, Instant, Outbox, Outboxes, Route, ServerEvent};

use self::client::Requests;
use self::kept_bytes::KeptBytes;
pub use self::kept_bytes::KeptTotal;
use self::post_queue::PostQueue;
pub use self::post_queue::{PostEntry, PostRefused, PostRoom};
pub use self::server::AcceptedPost;
use self::server::Responses;
use crate::machine::Machine;
use crate::out::Watched;

/// The HTTP state of a connection beside its outboxes. For a connection on a stream it stays empty.
#[derive(Default)]
pub(crate) struct HttpState {
    requests: Requests,
    responses: Responses,
    /// Boxed, because most sessions always have room.
    transport: Option<Box<PostQueue>>,
    kept: KeptBytes,
    /// The time at which an idle session releases memory.
    release_at: Option<Instant>,
    /// The request whose handler runs in the task of its response, until a task asks for the head of a response.
    inline: Option<IncomingId>,
}

impl HttpState {
    /// Whether the application already knows that the connection ends, so that this event need not be delivered.
    pub(crate) fn is_last_word_known<M: Machine>(&self, event: &M::Event) -> bool {
        self.responses.is_last_word_known::<M>(event)
    }

    /// Whether POSTs wait for room.
    pub(crate) fn waits_for_room(&self) -> bool {
        self.transport.as_ref().is_some_and(|transport| !transport.is_empty())
    }

    /// Whether the handler of a request runs in the task that asks for the head of its response next.
    pub(crate) fn is_inline(&self, id: IncomingId) -> bool {
        self.inline == Some(id)
    }

    pub(crate) const fn deadline(&self) -> Option<Instant> {
        self.release_at
    }
}

/// The outboxes of a connection over HTTP.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one to a connection")]
pub enum HttpOutboxes {
    /// The response streams of a server.
    Responses(Streams),
    /// The requests of a client.
    Requests(Box<ClientTransport>),
}

impl HttpOutboxes {
    /// Returns the number of queued bytes that are not assigned to a stream yet.
    pub(crate) const fn len(&self) -> usize {
        match self {
            Self::Responses(_) => 0,
            Self::Requests(transport) => transport.queued().len(),
        }
    }

    /// Returns the requestor whose tasks end with the connection.
    pub(crate) fn session_requestor(&self) -> Option<Requestor> {
        match self {
            Self::Responses(streams) => streams.session_requestor(),
            Self::Requests(_) => None,
        }
    }

    /// Whether nothing waits to be sent.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Responses(streams) => streams.is_empty(),
            Self::Requests(transport) => transport.is_empty(),
        }
    }

    /// Whether all output for the peer is finished, once the connection has ended. A response can be sent to its
    /// end without the connection.
    pub(crate) fn is_done(&self) -> bool {
        match self {
            Self::Responses(_) => true,
            Self::Requests(transport) => transport.is_over(),
        }
    }

    /// Returns the number of unsent bytes on all streams together.
    pub(crate) fn unsent_bytes(&self) -> usize {
        match self {
            Self::Responses(streams) => streams.unsent_bytes(),
            Self::Requests(transport) => transport.queued().len(),
        }
    }

    /// Returns the bytes of the events that are stored for clients that resume a stream.
    pub(crate) fn stored_bytes(&self) -> usize {
        match self {
            Self::Responses(streams) => streams.stored_bytes(),
            Self::Requests(_) => 0,
        }
    }

    /// Whether too much output waits to start new work. A response that the peer does not read delays its own
    /// request only.
    pub(crate) fn is_congested(&self) -> bool {
        match self {
            Self::Responses(streams) => streams.is_congested(),
            Self::Requests(transport) => transport.queued().is_congested(),
        }
    }

    pub(crate) fn set_limit(&mut self, bytes: usize) {
        match self {
            Self::Responses(streams) => streams.set_limit(bytes),
            Self::Requests(transport) => transport.queued_mut().set_limit(bytes),
        }
    }

    /// Returns the next deadline of the responses. The requests have their own: see
    /// [`Wire::next_action`](crate::Wire::next_action).
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Responses(streams) => streams.poll_timeout(),
            Self::Requests(_) => None,
        }
    }
}

impl Watched for ServerEvent<'_> {
    fn show(&self, http: &mut HttpOutboxes) {
        if let HttpOutboxes::Responses(streams) = http {
            streams.watch(self);
        }
    }
}

impl Watched for ClientEvent<'_> {
    fn show(&self, http: &mut HttpOutboxes) {
        if let HttpOutboxes::Requests(transport) = http {
            transport.watch(self);
        }
    }
}

impl Outboxes for HttpOutboxes {
    fn outbox(&mut self, route: Route) -> &mut Outbox {
        match self {
            Self::Responses(streams) => streams.outbox(route),
            Self::Requests(transport) => transport.outbox(route),
        }
    }

    fn observe(&mut self, observation: &Observation<'_>) {
        match self {
            Self::Responses(streams) => streams.observe(observation),
            Self::Requests(_) => _ = observation,
        }
    }

    fn note_batch(&mut self, calls: &[CallId]) {
        match self {
            Self::Responses(streams) => streams.note_batch(calls),
            Self::Requests(transport) => transport.note_batch(calls),
        }
    }

    fn note_late(&mut self, call: CallId, is_awaited: bool) {
        match self {
            Self::Responses(streams) => streams.note_late(call, is_awaited),
            Self::Requests(transport) => transport.note_late(call, is_awaited),
        }
    }

    fn can_ask(&self, route: Route) -> bool {
        match self {
            Self::Responses(streams) => streams.can_ask(route),
            Self::Requests(transport) => transport.can_ask(route),
        }
    }

    fn has_reader(&self, route: Route) -> bool {
        match self {
            Self::Responses(streams) => streams.has_reader(route),
            Self::Requests(transport) => transport.has_reader(route),
        }
    }
}
