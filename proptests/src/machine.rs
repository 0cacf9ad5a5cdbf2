//! Both roles behind one trait, for tests that treat them alike.

use std::fmt::Debug;
use std::hash::Hash;
use std::time::Duration;

use mcp_sansio::{
    CallError, CallId, CallOptions, CancelError, Cancellation, Cause, Client, ClientEvent,
    ConnectionConfig, Counts, Delivery, Frame, InboundId, Instant, NotifyError, Outbox, Outcome,
    Phase, Progress, ProgressReport, RespondError, Server, ServerEvent,
};
use serde::Serialize;

use crate::config;

/// What an event says, whichever role it comes from.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "a test wants to know of everything new")]
pub enum Meaning {
    /// The peer asks.
    Request(InboundId),
    /// A request is not to be answered any more.
    RequestEnded(InboundId),
    /// A call has its outcome.
    CallEnded(CallId, Outcome<'static>),
    /// The connection has ended.
    Closed,
    /// Anything else.
    Other,
}

/// [`Client`] or [`Server`].
pub trait Machine: Clone + Debug + PartialEq + Hash {
    /// Its events.
    type Event<'f>: Debug;

    /// One that offers everything and is configured like this.
    fn with(connection: ConnectionConfig) -> Self;
    /// Does what this role does first: a client connects.
    fn begin(&mut self, now: Instant, out: &mut Outbox);
    /// What an event says.
    fn meaning(event: &Self::Event<'_>) -> Meaning;
    /// See the method of this name of either role.
    fn receive<'f>(
        &mut self,
        frame: Frame<'f>,
        now: Instant,
        out: &mut Outbox,
    ) -> Option<Self::Event<'f>>;
    /// See the method of this name of either role.
    fn handle_timeout(&mut self, now: Instant, out: &mut Outbox) -> Option<Self::Event<'static>>;
    /// See the method of this name of either role.
    fn poll_timeout(&self) -> Option<Instant>;
    /// See the method of this name of either role.
    fn phase(&self) -> Phase;
    /// See the method of this name of either role.
    fn counts(&self) -> Counts;
    /// See the method of this name of either role.
    fn pending_calls(&self) -> Vec<CallId>;
    /// See the method of this name of either role.
    fn open_requests(&self) -> Vec<InboundId>;
    /// See `call_method` of either role.
    ///
    /// # Errors
    ///
    /// Those of that method, here and below.
    fn call<T: Serialize + ?Sized>(
        &mut self,
        method: &str,
        params: &T,
        options: CallOptions,
        now: Instant,
        out: &mut Outbox,
    ) -> Result<CallId, CallError>;
    /// See the method of this name of either role.
    ///
    /// # Errors
    ///
    /// See there.
    fn cancel(
        &mut self,
        call: CallId,
        reason: Option<&str>,
        out: &mut Outbox,
    ) -> Result<Cancellation, CancelError>;
    /// See the method of this name of either role.
    ///
    /// # Errors
    ///
    /// See there.
    fn respond<T: Serialize + ?Sized>(
        &mut self,
        request: InboundId,
        result: &T,
        out: &mut Outbox,
    ) -> Result<(), RespondError>;
    /// See the method of this name of either role.
    ///
    /// # Errors
    ///
    /// See there.
    fn progress(
        &mut self,
        request: InboundId,
        progress: Progress<'_>,
        now: Instant,
        out: &mut Outbox,
    ) -> Result<ProgressReport, RespondError>;
    /// See `notify_method` of either role.
    ///
    /// # Errors
    ///
    /// See there.
    fn notify(&mut self, method: &str, out: &mut Outbox) -> Result<Delivery, NotifyError>;
    /// See the method of this name of either role.
    fn disconnected(&mut self, cause: Cause, now: Instant);
    /// See the method of this name of either role.
    fn shut_down(&mut self, grace: Duration, now: Instant);
    /// See the method of this name of either role.
    fn close(&mut self);
}

macro_rules! machine {
    ($Machine:ident, $Event:ident, $config:path, $begin:expr) => {
        impl Machine for $Machine {
            type Event<'f> = $Event<'f>;

            fn with(connection: ConnectionConfig) -> Self {
                let mut config = $config();
                config.connection = connection;
                Self::new(std::sync::Arc::new(config))
            }

            fn begin(&mut self, now: Instant, out: &mut Outbox) {
                $begin(self, now, out);
            }

            fn meaning(event: &$Event<'_>) -> Meaning {
                match event {
                    $Event::Request(request) => Meaning::Request(request.id),
                    $Event::Cancelled(cancelled) => Meaning::RequestEnded(cancelled.id),
                    $Event::CallEnded(ended) => {
                        Meaning::CallEnded(ended.call, ended.outcome.clone().into_owned())
                    }
                    $Event::Closed { .. } => Meaning::Closed,
                    _ => Meaning::Other,
                }
            }

            fn receive<'f>(
                &mut self,
                frame: Frame<'f>,
                now: Instant,
                out: &mut Outbox,
            ) -> Option<$Event<'f>> {
                Self::receive(self, frame, now, out)
            }

            fn handle_timeout(
                &mut self,
                now: Instant,
                out: &mut Outbox,
            ) -> Option<$Event<'static>> {
                Self::handle_timeout(self, now, out)
            }

            fn poll_timeout(&self) -> Option<Instant> {
                Self::poll_timeout(self)
            }

            fn phase(&self) -> Phase {
                Self::phase(self)
            }

            fn counts(&self) -> Counts {
                Self::counts(self)
            }

            fn pending_calls(&self) -> Vec<CallId> {
                Self::pending_calls(self).collect()
            }

            fn open_requests(&self) -> Vec<InboundId> {
                Self::open_requests(self).collect()
            }

            fn call<T: Serialize + ?Sized>(
                &mut self,
                method: &str,
                params: &T,
                options: CallOptions,
                now: Instant,
                out: &mut Outbox,
            ) -> Result<CallId, CallError> {
                self.call_method(method, params, options, now, out)
            }

            fn cancel(
                &mut self,
                call: CallId,
                reason: Option<&str>,
                out: &mut Outbox,
            ) -> Result<Cancellation, CancelError> {
                Self::cancel(self, call, reason, out)
            }

            fn respond<T: Serialize + ?Sized>(
                &mut self,
                request: InboundId,
                result: &T,
                out: &mut Outbox,
            ) -> Result<(), RespondError> {
                Self::respond(self, request, result, out)
            }

            fn progress(
                &mut self,
                request: InboundId,
                progress: Progress<'_>,
                now: Instant,
                out: &mut Outbox,
            ) -> Result<ProgressReport, RespondError> {
                Self::progress(self, request, progress, now, out)
            }

            fn notify(&mut self, method: &str, out: &mut Outbox) -> Result<Delivery, NotifyError> {
                self.notify_method(method, &(), None, out)
            }

            fn disconnected(&mut self, cause: Cause, now: Instant) {
                Self::disconnected(self, cause, now);
            }

            fn shut_down(&mut self, grace: Duration, now: Instant) {
                Self::shut_down(self, grace, now);
            }

            fn close(&mut self) {
                Self::close(self);
            }
        }
    };
}

machine!(Client, ClientEvent, config::client, |client: &mut Self, now, out| {
    // It fails if the client has begun already, which tests do on purpose.
    _ = client.connect(now, out);
});
machine!(Server, ServerEvent, config::server, |_: &mut Self, _, _| {});
