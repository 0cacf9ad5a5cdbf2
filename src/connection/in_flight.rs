//! [`InFlight`]: the requests and calls of a connection that have not ended.

use core::fmt;

use super::{Connection, Counts, RequestContext};
use crate::dialect::methods::NotificationKind;
use crate::frame::Frame;
use crate::handle::{CallId, IncomingId};
use crate::json::Envelope;
use crate::rpc::{Id, Message, Versions, classify};
use crate::time::Instant;

/// A view of the requests and calls of a [`Connection`] that have not ended. It only reads.
///
/// [`Connection::in_flight`] returns it. The order of each iterator is deterministic.
///
/// ```
/// use std::sync::Arc;
///
/// use mcp_sansio::{Client, ClientConfig, Framing, Instant, Limits, Outbox};
/// use mcp_sansio::{CallOptions, model::{PageParams, method}};
///
/// let mut outbox = Outbox::new(Framing::Lines, &Limits::default());
/// let mut client = Client::new(Arc::new(ClientConfig::new("doc", "1.0")));
/// let (params, options) = (PageParams::default(), CallOptions::new());
/// let call = client.call::<method::ListTools>(&params, options, Instant::EPOCH, &mut outbox)?;
/// assert!(client.in_flight().is_pending(call));
/// assert_eq!(client.in_flight().own_id(call), Some(1));
///
/// client.cancel(call, None, &mut outbox)?;
/// assert_eq!(client.in_flight().calls().count(), 0);
/// assert_eq!(client.in_flight().counts().outbound, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct InFlight<'c> {
    connection: &'c Connection,
}

impl<'c> InFlight<'c> {
    pub(super) const fn new(connection: &'c Connection) -> Self {
        Self { connection }
    }

    /// Returns the numbers of open requests, calls and bytes.
    pub fn counts(self) -> Counts {
        self.connection.dispatcher.messages().counts()
    }

    /// Returns the requests of the peer that can still be answered, in the order they were received.
    pub fn requests(self) -> impl Iterator<Item = IncomingId> + use<'c> {
        self.connection.dispatcher.serving.open_requests()
    }

    /// Returns the context of a request; `None` if the request can no longer be answered.
    pub fn context(self, request: IncomingId) -> Option<RequestContext> {
        self.connection.dispatcher.serving.context(request)
    }

    /// Returns the id that the peer gave a request; `None` if the request can no longer be answered.
    pub fn peer_id(self, request: IncomingId) -> Option<Id<'c>> {
        self.context(request)?;
        self.connection.dispatcher.messages().incoming.table.id(request.0)
    }

    /// Returns the id of the request of a pending call; `None` if the call has ended, or has no request of its own: a
    /// [resumed task](Connection::resume_task), or a subscription in a session. Requests about a task, or about the
    /// resources of a subscription, have other ids. A call that is repeated with input, or that requests a further
    /// page, gets another id; while it waits for input, that is the id of its next request.
    pub fn own_id(self, call: CallId) -> Option<u64> {
        self.connection.dispatcher.serving.calls.own_id(call)
    }

    /// Returns the pending calls of this side, in the order they were made, without subscriptions.
    pub fn calls(self) -> impl Iterator<Item = CallId> + use<'c> {
        self.connection.dispatcher.serving.calls.pending_calls().map(|(call, _)| call)
    }

    /// Returns the pending calls that were made because of a request
    /// ([`CallOptions::parent`](crate::CallOptions::parent)).
    pub fn calls_made_for(self, request: IncomingId) -> impl Iterator<Item = CallId> + use<'c> {
        let calls = self.connection.dispatcher.serving.calls.pending_calls();
        calls.filter(move |(_, parent)| *parent == Some(request)).map(|(call, _)| call)
    }

    /// Returns the subscriptions of this side that are open or being opened, in the order they were made: see
    /// [`Client::subscribe`](crate::Client::subscribe).
    pub fn subscriptions(self) -> impl Iterator<Item = CallId> + use<'c> {
        self.connection.dispatcher.serving.calls.subscriptions()
    }

    /// Whether a call is pending.
    pub fn is_pending(self, call: CallId) -> bool {
        self.connection.dispatcher.serving.calls.is_pending(call)
    }

    /// Whether a request in this frame would be admitted now, while its outbox holds `unsent` bytes. Also true for a
    /// request that would be refused for any other reason, because waiting does not help then.
    ///
    /// A driver can leave the frame in its [`Inbox`](crate::Inbox) and stop reading while this is false. Then
    /// [`Limits::inbound_requests`](crate::Limits::inbound_requests), [`batches`](crate::Limits::batches) and
    /// [`connection_bytes`](crate::Limits::connection_bytes) refuse no request that could be served later.
    /// [`Inbox::peek`](crate::Inbox::peek) returns the frame.
    /// Check again after a response, after a cancellation, and when bytes have left the outbox.
    pub fn has_room_for(self, frame: &Frame<'_>, unsent: usize) -> bool {
        let limits = self.connection.limits();
        self.connection.dispatcher.serving.has_room_for(limits, frame, unsent)
    }

    /// Whether this frame has to wait for [room](Self::has_room_for): its message is a request, or it begins one more
    /// batch than the limit, which may contain requests.
    ///
    /// A driver asks this about a frame without room. It passes any other message on at once: a response of the peer
    /// ends a call, and a cancellation ends a request, which is what the driver waits for. The method reads the whole
    /// message, so do not ask twice about the same frame.
    pub fn needs_room(self, frame: &Frame<'_>) -> bool {
        let limits = self.connection.limits();
        let envelope = Envelope::scan(frame.bytes(), limits.depth);
        match classify(&envelope, limits, Versions::Any) {
            Ok(Message::Request { .. }) => true,
            // No batch holds responses and requests.
            Ok(Message::Result { .. } | Message::Error { .. } | Message::IdlessError { .. }) => {
                false
            }
            // Requests further back in the batch wait for room themselves, unless there are too many batches.
            Ok(Message::Notification { .. }) | Err(_) => {
                let batches = &self.connection.dispatcher.messages().incoming.batches;
                frame.begins_batch() && !batches.has_room(limits.batches)
            }
        }
    }

    /// Returns the id of the request in this frame. `None` if its message is no request. The method reads the whole
    /// message.
    pub fn request_id<'f>(self, frame: &Frame<'f>) -> Option<Id<'f>> {
        let config = self.connection.config.connection();
        let envelope = Envelope::scan(frame.bytes(), config.limits.depth);
        match classify(&envelope, &config.limits, config.versions()) {
            Ok(Message::Request { id, .. }) => Some(id),
            _ => None,
        }
    }

    /// Returns the id that a cancellation in this frame names, if the peer has no request with this id in flight.
    /// `None` for any other frame. The method reads the whole message.
    ///
    /// A driver that receives messages out of order, as over HTTP, may hold a request back until there is
    /// [room](Self::has_room_for), and receive its cancellation meanwhile. It drops the request with this
    /// [id](Self::request_id) then. The machine ignores such a cancellation.
    pub fn cancelled_before_receipt<'f>(self, frame: &Frame<'f>) -> Option<Id<'f>> {
        let config = self.connection.config.connection();
        let envelope = Envelope::scan(frame.bytes(), config.limits.depth);
        let message = classify(&envelope, &config.limits, config.versions());
        let Ok(Message::Notification { method, params: Some(params), .. }) = message else {
            return None;
        };
        if NotificationKind::of(&method) != Some(NotificationKind::Cancelled) {
            return None;
        }
        let id = Id::from_literal(params.get("requestId")?, config.limits.id_bytes).ok()?;
        let is_in_flight = self.connection.dispatcher.messages().is_in_flight(&id);
        (!is_in_flight).then_some(id)
    }

    /// Whether [`handle_timeout`](crate::Server::handle_timeout) has anything to do at this time: an event to return,
    /// a deadline that has passed, or a notification that waited for room in an outbox.
    ///
    /// A driver that would call `handle_timeout` after every input asks this first, because the answer is usually
    /// `false` and costs less. It stays `true` while such a notification finds no room: call `handle_timeout` until it
    /// returns `None`, not until this is `false`.
    pub fn is_due(self, now: Instant) -> bool {
        self.connection.dispatcher.is_due(now)
    }
}

/// Shows the counts and the handles.
impl fmt::Debug for InFlight<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("InFlight")
            .field("counts", &self.counts())
            .field("requests", &List(|| self.requests()))
            .field("calls", &List(|| self.calls()))
            .field("subscriptions", &List(|| self.subscriptions()))
            .finish()
    }
}

/// Shows the items of an iterator as a list.
struct List<F>(F);

impl<I: Iterator<Item: fmt::Debug>, F: Fn() -> I> fmt::Debug for List<F> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(items) = self;
        formatter.debug_list().entries(items()).finish()
    }
}
