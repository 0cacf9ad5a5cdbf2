//! The methods of [`Connection`] for requests of the peer, the phase and the end of the connection.

use core::time::Duration;

use super::{Cause, Connection, InFlight, Outboxes, Progress, ProgressReport};
use crate::capability::CapabilitySet;
use crate::codes::ErrorCode;
use crate::dialect::RespondError;
use crate::handle::{ConnectionNumber, IncomingId};
use crate::rpc::{ErrorObject, Fault};
use crate::schema::Payload;
use crate::session::Phase;
use crate::time::Instant;
use crate::version::Revision;

/// # State
///
/// None of these methods changes the connection.
impl Connection {
    /// Returns the phase of the connection.
    pub const fn phase(&self) -> Phase {
        self.dispatcher.phase()
    }

    /// Returns the number of the connection, which every handle carries.
    pub fn connection_number(&self) -> ConnectionNumber {
        self.dispatcher.messages().connection()
    }

    /// Returns the revision of the session; `None` before the session is open.
    pub fn revision(&self) -> Option<Revision> {
        self.dispatcher.messages().session.negotiated.map(|session| session.revision)
    }

    /// Returns the capabilities that the peer declares, limited to those that the revision defines; empty before the
    /// session is open.
    pub fn peer_capabilities(&self) -> CapabilitySet {
        self.dispatcher
            .messages()
            .session
            .negotiated
            .map(|session| session.theirs)
            .unwrap_or_default()
    }

    /// Returns a view of the requests and calls that have not ended.
    pub const fn in_flight(&self) -> InFlight<'_> {
        InFlight::new(self)
    }

    /// Returns the time of the next [`handle_timeout`](crate::Server::handle_timeout): in the past if events wait to
    /// be handed out, `None` if nothing can expire.
    ///
    /// Every other method can change this time. A notification that waits for room in an outbox
    /// ([`Delivery::Lagged`](crate::subscription::Delivery::Lagged)) has no time: after bytes have left an outbox, call
    /// `handle_timeout` as well.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.dispatcher.poll_timeout()
    }
}

/// # Memory
impl Connection {
    /// Returns unused memory to the allocator, such as the tables if no request and no call is in flight. Harmless at
    /// any time: memory that is needed later is allocated again.
    ///
    /// Intended for idle connections, together with [`Inbox::release`](crate::Inbox::release) and
    /// [`Outbox::release`](crate::Outbox::release). Handles of ended requests and calls stay stale, but the reason of
    /// their end is forgotten: [`RespondError`] is [`Stale`](RespondError::Stale) then. So a released connection need
    /// not be equal to one that was not released.
    pub fn release(&mut self) {
        self.dispatcher.release_memory();
    }
}

/// # Responses
impl Connection {
    /// Responds to a request with a result. The result is a type of [`model`](crate::model), a
    /// [`Prepared`](crate::schema::Prepared) or another [`Payload`]. `()` is an empty result, and
    /// [`Json`](crate::schema::Json) wraps an application type.
    ///
    /// # Errors
    ///
    /// [`RespondError`] if the response was not sent. After [`Encode`](RespondError::Encode),
    /// [`NotAllowed`](RespondError::NotAllowed) and [`TooManyRounds`](RespondError::TooManyRounds) the request is still
    /// open.
    pub fn respond<T: Payload + ?Sized>(
        &mut self,
        request: IncomingId,
        result: &T,
        out: &mut impl Outboxes,
    ) -> Result<(), RespondError> {
        let (dispatcher, cx) = &mut self.enter(None, out);
        dispatcher.serving.respond(cx, request, &result)
    }

    /// Responds to a request with an error. The message is one short sentence.
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

    /// Responds to a request with an error object: a code, a message and data of the application
    /// ([`ErrorObject::with`]), or an error that was received elsewhere, as gateways pass it on.
    ///
    /// # Errors
    ///
    /// As for [`respond`](Self::respond).
    pub fn reject_with(
        &mut self,
        request: IncomingId,
        error: &ErrorObject<'_>,
        out: &mut impl Outboxes,
    ) -> Result<(), RespondError> {
        let (dispatcher, cx) = &mut self.enter(None, out);
        dispatcher.serving.reject(cx, request, Fault::of(error))
    }

    /// Reports the progress of a request to the peer, if the peer asked for progress.
    ///
    /// # Errors
    ///
    /// As for [`respond`](Self::respond): no progress can follow the response.
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

/// # Shutdown
///
/// These methods only mark the end. [`handle_timeout`](crate::Server::handle_timeout) hands out the outcomes of
/// everything in flight, and `Closed` last.
impl Connection {
    /// Notes that bytes were read from the peer, even if they do not complete a message. Only
    /// [`ConnectionConfig::keep_alive`](crate::ConnectionConfig) uses this; receiving a frame notes it as well.
    pub fn on_bytes_received(&mut self, now: Instant) {
        self.dispatcher.on_bytes_received(self.config.connection(), now);
    }

    /// Notes that the transport has ended or failed.
    ///
    /// At [`Cause::EndOfInput`] a server may still respond to open requests, until
    /// [`Timeouts::drain`](crate::config::Timeouts::drain) has passed. In every other case the connection is closed
    /// at once.
    pub fn disconnected(&mut self, cause: Cause, now: Instant) {
        self.dispatcher.disconnected(self.config.connection(), cause, now);
    }

    /// Accepts no new work, and ends the connection when nothing is in flight, at the latest after `grace`.
    ///
    /// MCP has no message for this: send the rest of the outbox after `Closed`, and close the transport. Tasks of the
    /// peer can still be cancelled while the connection drains.
    pub fn shut_down(&mut self, grace: Duration, now: Instant) {
        self.dispatcher.drain(Cause::ShutDown, grace, now);
    }

    /// Closes the connection at once.
    pub fn close(&mut self) {
        self.dispatcher.close(Cause::ShutDown);
    }
}
