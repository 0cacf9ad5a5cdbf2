//! Both roles behind one trait, for what treats them alike.

use core::fmt::Debug;
use core::hash::Hash;
use core::time::Duration;

use serde::ser::Serialize;

use crate::client::{Client, ClientEvent};
use crate::dialect::RespondError;
use crate::error::ErrorCode;
use crate::frame::{Frame, Outbox};
use crate::handle::{CallId, InboundId};
use crate::peer::{
    CallError, CallOptions, CancelError, Cancellation, Cause, Counts, Delivery, NotifyError,
    Progress, ProgressReport, SubscriptionNews,
};
use crate::server::{Server, ServerEvent};
use crate::session::Phase;
use crate::time::Instant;

/// What an event says, whichever role it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Meaning {
    /// The peer asks, or keeps a subscription open.
    Request(InboundId),
    /// A request is not to be answered any more.
    RequestEnded(InboundId),
    /// News of a call that has not ended.
    CallGoesOn(CallId),
    /// A call has its outcome.
    CallEnded(CallId),
    /// The connection has ended.
    Closed,
    /// Anything else.
    Other,
}

/// [`Client`] or [`Server`].
///
/// Every method is the one of the same name of either; [`call`](Self::call) is `call_method`, and
/// [`notify`](Self::notify) is `notify_method` without params.
pub trait Machine: Clone + Debug + PartialEq + Hash {
    /// Its events.
    type Event<'f>: Debug + PartialEq;

    /// What an event says.
    fn meaning(event: &Self::Event<'_>) -> Meaning;
    /// An event with its own copy of the text.
    fn into_owned(event: Self::Event<'_>) -> Self::Event<'static>;
    /// See either role.
    fn receive<'f>(
        &mut self,
        frame: Frame<'f>,
        now: Instant,
        out: &mut Outbox,
    ) -> Option<Self::Event<'f>>;
    /// See either role.
    fn handle_timeout(&mut self, now: Instant, out: &mut Outbox) -> Option<Self::Event<'static>>;
    /// See either role.
    fn poll_timeout(&self) -> Option<Instant>;
    /// See either role.
    fn phase(&self) -> Phase;
    /// See either role.
    fn counts(&self) -> Counts;
    /// Calls that have no outcome, subscriptions among them.
    fn calls(&self) -> impl Iterator<Item = CallId>;
    /// See either role.
    fn open_requests(&self) -> impl Iterator<Item = InboundId>;
    /// See either role.
    ///
    /// # Errors
    ///
    /// Those of either role, here and below.
    fn call<T: Serialize + ?Sized>(
        &mut self,
        method: &str,
        params: &T,
        options: CallOptions,
        now: Instant,
        out: &mut Outbox,
    ) -> Result<CallId, CallError>;
    /// See either role.
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
    /// See either role.
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
    /// See either role.
    ///
    /// # Errors
    ///
    /// See there.
    fn reject(
        &mut self,
        request: InboundId,
        code: ErrorCode,
        message: &str,
        out: &mut Outbox,
    ) -> Result<(), RespondError>;
    /// See either role.
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
    /// See either role.
    ///
    /// # Errors
    ///
    /// See there.
    fn notify(&mut self, method: &str, out: &mut Outbox) -> Result<Delivery, NotifyError>;
    /// See either role.
    fn disconnected(&mut self, cause: Cause, now: Instant);
    /// See either role.
    fn shut_down(&mut self, grace: Duration, now: Instant);
    /// See either role.
    fn close(&mut self);
}

/// What both roles have under the same name.
macro_rules! machine {
    ($Event:ident) => {
        type Event<'f> = $Event<'f>;

        fn into_owned(event: $Event<'_>) -> $Event<'static> {
            event.into_owned()
        }

        fn receive<'f>(
            &mut self,
            frame: Frame<'f>,
            now: Instant,
            out: &mut Outbox,
        ) -> Option<$Event<'f>> {
            Self::receive(self, frame, now, out)
        }

        fn handle_timeout(&mut self, now: Instant, out: &mut Outbox) -> Option<$Event<'static>> {
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

        fn open_requests(&self) -> impl Iterator<Item = InboundId> {
            Self::open_requests(self)
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

        fn reject(
            &mut self,
            request: InboundId,
            code: ErrorCode,
            message: &str,
            out: &mut Outbox,
        ) -> Result<(), RespondError> {
            Self::reject(self, request, code, message, out)
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
    };
}

impl Machine for Client {
    machine!(ClientEvent);

    fn calls(&self) -> impl Iterator<Item = CallId> {
        self.pending_calls().chain(self.subscriptions())
    }

    fn meaning(event: &ClientEvent<'_>) -> Meaning {
        match event {
            ClientEvent::Request(request) => Meaning::Request(request.id),
            ClientEvent::Cancelled(cancelled) => Meaning::RequestEnded(cancelled.id),
            ClientEvent::CallEnded(ended) => Meaning::CallEnded(ended.call),
            ClientEvent::Subscription(update) => match update.news {
                SubscriptionNews::Ended(_) => Meaning::CallEnded(update.call),
                _ => Meaning::CallGoesOn(update.call),
            },
            ClientEvent::Page(page) => Meaning::CallGoesOn(page.call),
            ClientEvent::PagesRestarted(restarted) => Meaning::CallGoesOn(restarted.call),
            ClientEvent::Progress(update) => Meaning::CallGoesOn(update.call),
            ClientEvent::Task(update) => Meaning::CallGoesOn(update.call),
            ClientEvent::Closed { .. } => Meaning::Closed,
            _ => Meaning::Other,
        }
    }
}

impl Machine for Server {
    machine!(ServerEvent);

    fn calls(&self) -> impl Iterator<Item = CallId> {
        self.pending_calls()
    }

    fn meaning(event: &ServerEvent<'_>) -> Meaning {
        match event {
            ServerEvent::Request(request) => Meaning::Request(request.id),
            ServerEvent::Subscribed(subscribed) => Meaning::Request(subscribed.id),
            ServerEvent::Cancelled(cancelled) => Meaning::RequestEnded(cancelled.id),
            ServerEvent::CallEnded(ended) => Meaning::CallEnded(ended.call),
            ServerEvent::Page(page) => Meaning::CallGoesOn(page.call),
            ServerEvent::PagesRestarted(restarted) => Meaning::CallGoesOn(restarted.call),
            ServerEvent::Progress(update) => Meaning::CallGoesOn(update.call),
            ServerEvent::Task(update) => Meaning::CallGoesOn(update.call),
            ServerEvent::Closed { .. } => Meaning::Closed,
            _ => Meaning::Other,
        }
    }
}
