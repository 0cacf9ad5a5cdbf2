//! The methods of [`Connection`] about requests of the peer, its phase and its end.

use core::time::Duration;

use serde::ser::Serialize;

use super::{Cause, Connection, Counts, Outboxes, Progress, ProgressReport, RequestContext};
use crate::capability::CapabilitySet;
use crate::codes::ErrorCode;
use crate::dialect::RespondError;
use crate::frame::Frame;
use crate::handle::{CallId, ConnectionNumber, IncomingId};
use crate::rpc::{ErrorObject, Fault, Serialized};
use crate::schema::Payload;
use crate::session::Phase;
use crate::time::Instant;
use crate::version::Revision;

/// # Looking
///
/// None of these changes anything.
impl Connection {
    /// Where the connection is in its life.
    pub const fn phase(&self) -> Phase {
        self.dispatcher.phase()
    }

    /// The number of the connection, which every handle carries.
    pub fn connection_number(&self) -> ConnectionNumber {
        self.dispatcher.messages().connection()
    }

    /// The revision of the session; `None` before there is one.
    pub fn revision(&self) -> Option<Revision> {
        self.dispatcher.messages().session.negotiated.map(|session| session.revision)
    }

    /// What the peer offers, as far as the revision knows it; empty before the session.
    pub fn peer_capabilities(&self) -> CapabilitySet {
        self.dispatcher
            .messages()
            .session
            .negotiated
            .map(|session| session.theirs)
            .unwrap_or_default()
    }

    /// How much is going on.
    pub fn counts(&self) -> Counts {
        self.dispatcher.messages().counts()
    }

    /// Whether a request in this frame would be taken in now, while its outbox holds `unsent` bytes. Also true
    /// if the request would be refused for good, because waiting does not help then.
    ///
    /// A driver that leaves the frame in its [`Inbox`](crate::Inbox) and stops reading while this is false has
    /// no request refused that could be served later: because of
    /// [`Limits::inbound_requests`](crate::Limits::inbound_requests),
    /// [`batches`](crate::Limits::batches) or [`connection_bytes`](crate::Limits::connection_bytes).
    /// [`Inbox::peek`](crate::Inbox::peek) gives the frame. Ask again after an answer, after a cancellation, and
    /// when something has left the outbox.
    pub fn has_room_for(&self, frame: &Frame<'_>, unsent: usize) -> bool {
        self.dispatcher.serving.has_room_for(&self.config.connection().limits, frame, unsent)
    }

    /// The requests of the peer that can still be answered, in the order they came.
    pub fn open_requests(&self) -> impl Iterator<Item = IncomingId> {
        self.dispatcher.serving.open_requests()
    }

    /// The rules of a request; `None` if it cannot be answered any more.
    pub fn context(&self, request: IncomingId) -> Option<RequestContext> {
        self.dispatcher.serving.context(request)
    }

    /// The calls of this side that have not ended, in the order they were made.
    pub fn pending_calls(&self) -> impl Iterator<Item = CallId> {
        self.dispatcher.serving.calls.pending_calls().map(|(call, _)| call)
    }

    /// Those of them that were made because of a request.
    pub fn calls_made_for(&self, request: IncomingId) -> impl Iterator<Item = CallId> {
        let calls = self.dispatcher.serving.calls.pending_calls();
        calls.filter(move |(_, parent)| *parent == Some(request)).map(|(call, _)| call)
    }

    /// Whether a call has not ended.
    pub fn is_pending(&self, call: CallId) -> bool {
        self.dispatcher.serving.calls.is_pending(call)
    }

    /// When to call [`handle_timeout`](crate::Server::handle_timeout) next: in the past if outcomes
    /// wait to be handed out, `None` if nothing can expire.
    ///
    /// Every other method can change it.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.dispatcher.poll_timeout()
    }
}

/// # Memory
impl Connection {
    /// Gives memory back to the allocator that nothing is in, such as the tables if no request and
    /// no call is in flight. Harmless at any time: what is needed again is taken again.
    ///
    /// For connections that stay idle, together with [`Inbox::release`](crate::Inbox::release) and
    /// [`Outbox::release`](crate::Outbox::release). Handles of what has ended stay stale; how it
    /// has ended is forgotten ([`RespondError`] is [`Stale`](RespondError::Stale) then), so a
    /// machine that has been released need not be equal to one that has not.
    pub fn release(&mut self) {
        self.dispatcher.release_memory();
    }
}

/// # Answering
impl Connection {
    /// Answers a request. The result is a type of [`model`](crate::model), a [`Prepared`](crate::schema::Prepared) or
    /// another [`Payload`]; `()` is an empty one, and [`Json`](crate::schema::Json) holds a type of your own.
    ///
    /// # Errors
    ///
    /// [`RespondError`] says why the answer was not sent. After
    /// [`RespondError::Encode`] the request is still open.
    pub fn respond<T: Payload + ?Sized>(
        &mut self,
        request: IncomingId,
        result: &T,
        out: &mut impl Outboxes,
    ) -> Result<(), RespondError> {
        let (dispatcher, cx) = &mut self.enter(None, out);
        dispatcher.serving.respond(cx, request, &result)
    }

    /// Answers a request with an error. The message is one short sentence.
    ///
    /// # Errors
    ///
    /// As for [`respond`](Self::respond).
    pub fn reject(
        &mut self,
        request: IncomingId,
        code: ErrorCode,
        message: &str,
        out: &mut impl Outboxes,
    ) -> Result<(), RespondError> {
        let (dispatcher, cx) = &mut self.enter(None, out);
        dispatcher.serving.reject(cx, request, Fault::plain(code, &message))
    }

    /// Answers a request with an error and something more to say, any JSON.
    ///
    /// # Errors
    ///
    /// As for [`respond`](Self::respond).
    pub fn reject_with<T: Serialize + ?Sized>(
        &mut self,
        request: IncomingId,
        code: ErrorCode,
        message: &str,
        data: &T,
        out: &mut impl Outboxes,
    ) -> Result<(), RespondError> {
        let (dispatcher, cx) = &mut self.enter(None, out);
        let data = Serialized(data);
        let fault = Fault { code, message: &message, data: Some(&data) };
        dispatcher.serving.reject(cx, request, fault)
    }

    /// Answers a request with an error as it came from elsewhere: code, message and data. For gateways.
    ///
    /// # Errors
    ///
    /// As for [`respond`](Self::respond).
    pub fn reject_as(
        &mut self,
        request: IncomingId,
        error: &ErrorObject<'_>,
        out: &mut impl Outboxes,
    ) -> Result<(), RespondError> {
        let (dispatcher, cx) = &mut self.enter(None, out);
        dispatcher.serving.reject(cx, request, Fault::of(error))
    }

    /// Tells the peer how far the work on its request is, if it asked for that.
    ///
    /// # Errors
    ///
    /// As for [`respond`](Self::respond): there is no progress after the end.
    pub fn progress(
        &mut self,
        request: IncomingId,
        progress: Progress<'_>,
        now: Instant,
        out: &mut impl Outboxes,
    ) -> Result<ProgressReport, RespondError> {
        let (dispatcher, cx) = &mut self.enter(Some(now), out);
        dispatcher.serving.report_progress(cx, request, progress)
    }
}

/// # Ending
///
/// These only mark. What was in flight comes out of [`handle_timeout`](crate::Server::handle_timeout),
/// and `Closed` last.
impl Connection {
    /// Notes that bytes were read from the peer, even if they do not complete a message. Only
    /// [`ConnectionConfig::keep_alive`](crate::ConnectionConfig) uses this; receiving a frame notes it as well.
    pub fn on_bytes_received(&mut self, now: Instant) {
        self.dispatcher.on_bytes_received(self.config.connection(), now);
    }

    /// The transport has ended or failed.
    ///
    /// At [`Cause::EndOfInput`] a server may still answer what is in flight, until
    /// [`Timeouts::drain`](crate::config::Timeouts::drain) has passed; in every other case the
    /// connection is closed at once.
    pub fn disconnected(&mut self, cause: Cause, now: Instant) {
        self.dispatcher.disconnected(self.config.connection(), cause, now);
    }

    /// Takes no new work and ends when nothing is in flight, at the latest after `grace`.
    ///
    /// MCP has no message for this: once closed, close the transport.
    pub fn shut_down(&mut self, grace: Duration, now: Instant) {
        self.dispatcher.drain(Cause::ShutDown, grace, now);
    }

    /// Ends it now.
    pub fn close(&mut self) {
        self.dispatcher.close(Cause::ShutDown);
    }
}
