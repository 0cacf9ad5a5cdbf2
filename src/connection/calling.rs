//! The methods of [`Connection`] about calls and notifications of this side.

use alloc::vec::Vec;

use super::{
    Batch, BatchError, CallError, CallOptions, CancelError, Cancellation, Connection, Delivery,
    Notice, NotifyError, Outboxes, Paging, TaskOptions, TaskTicket,
};
use crate::handle::{CallId, IncomingId};
use crate::model::method::{Method, Notification as Notifies, PagedMethod};
use crate::schema::Payload;
use crate::time::Instant;

/// # Asking
impl Connection {
    /// Makes a call. Its one outcome comes as an event, now or later.
    ///
    /// Before the session is open the call is held, within
    /// [`Limits::held_bytes`](crate::Limits::held_bytes), and its timers run; only `ping` goes
    /// out at once.
    ///
    /// # Errors
    ///
    /// [`CallError`] says why there is no call.
    pub fn call<M: Method>(
        &mut self,
        params: &M::Params<'_>,
        options: CallOptions,
        now: Instant,
        out: &mut impl Outboxes,
    ) -> Result<CallId, CallError> {
        self.call_method(M::NAME, params, options, now, out)
    }

    /// Makes a call of a method by name. The params are a [`Payload`], or nothing:
    /// `()`.
    ///
    /// # Errors
    ///
    /// As for [`call`](Self::call).
    pub fn call_method<T: Payload + ?Sized>(
        &mut self,
        method: &str,
        params: &T,
        options: CallOptions,
        now: Instant,
        out: &mut impl Outboxes,
    ) -> Result<CallId, CallError> {
        let (dispatcher, cx) = &mut self.enter(Some(now), out);
        dispatcher.serving.calls.call(cx, method, &params, options)
    }

    /// Asks for a list, page by page, under one handle. All pages but the last come as events;
    /// the last is the outcome of the call. Progress, timeouts and cancellation are those of
    /// any call: the idle timeout begins anew with each page, the total one does not.
    ///
    /// # Errors
    ///
    /// As for [`call`](Self::call).
    pub fn list<M: PagedMethod>(
        &mut self,
        paging: Paging,
        options: CallOptions,
        now: Instant,
        out: &mut impl Outboxes,
    ) -> Result<CallId, CallError> {
        let (dispatcher, cx) = &mut self.enter(Some(now), out);
        let method = (M::NAME, M::ITEMS);
        dispatcher.serving.calls.list(cx, method, paging, options)
    }

    /// Sends what `fill` adds as one JSON-RPC batch, or nothing at all if it fails or panics.
    ///
    /// # Errors
    ///
    /// [`BatchError`] says why nothing was sent; so does what `fill` returns.
    pub fn batch<R, E: From<BatchError>>(
        &mut self,
        now: Instant,
        out: &mut impl Outboxes,
        fill: impl FnOnce(&mut Batch<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        let (dispatcher, cx) = &mut self.enter(Some(now), out);
        dispatcher.serving.calls.batch(cx, fill)
    }

    /// Ends a call because its answer is not wanted any more. It is over at once, without an
    /// event; the peer is notified unless nothing had been sent yet.
    ///
    /// # Errors
    ///
    /// [`CancelError`] if the call is over already. Nothing was sent.
    pub fn cancel(
        &mut self,
        call: CallId,
        reason: Option<&str>,
        out: &mut impl Outboxes,
    ) -> Result<Cancellation, CancelError> {
        let (dispatcher, cx) = &mut self.enter(None, out);
        dispatcher.serving.calls.cancel(cx, call, reason)
    }

    /// Ends every call that was made because of a request
    /// ([`CallOptions::parent`]), as is due when the request has been cancelled. Says how many
    /// they were.
    pub fn cancel_calls_made_for(
        &mut self,
        request: IncomingId,
        reason: Option<&str>,
        out: &mut impl Outboxes,
    ) -> usize {
        // Collected first: cancelling them takes them out of the table.
        #[allow(clippy::needless_collect, reason = "the table changes")]
        let calls: Vec<CallId> = self.calls_made_for(request).collect();
        calls.into_iter().filter(|call| self.cancel(*call, reason, out).is_ok()).count()
    }

    /// Goes on with a task that a call on another connection has become. The call that stands for it
    /// ends like any other.
    ///
    /// # Errors
    ///
    /// [`CallError`] says why the task is not asked about.
    pub fn resume_task(
        &mut self,
        ticket: &TaskTicket,
        options: TaskOptions,
        now: Instant,
        out: &mut impl Outboxes,
    ) -> Result<CallId, CallError> {
        let (dispatcher, cx) = &mut self.enter(Some(now), out);
        dispatcher.serving.calls.resume_task(cx, ticket, options)
    }

    /// Asks the peer to cancel the task that a call has become, and waits for what comes of that: the
    /// call ends with [`Outcome::TaskCancelled`](crate::Outcome::TaskCancelled), or as the task does
    /// if that is sooner. [`cancel`](Self::cancel) does not wait.
    ///
    /// # Errors
    ///
    /// [`CallError::NotATask`] if the call is none; [`CallError::NotAllowed`] if the peer does not let
    /// its tasks be cancelled; [`CallError::Closed`], [`CallError::TooManyCalls`] and
    /// [`CallError::Encode`] as for any call. Nothing was sent, and the call goes on.
    pub fn cancel_task(
        &mut self,
        call: CallId,
        now: Instant,
        out: &mut impl Outboxes,
    ) -> Result<(), CallError> {
        let (dispatcher, cx) = &mut self.enter(Some(now), out);
        dispatcher.serving.calls.cancel_task(cx, call)
    }

    /// Stops the timers of all calls, for as long as
    /// [`Timeouts::person`](crate::config::Timeouts::person) at most: somebody is thinking about
    /// something. On a client this happens by itself while a request that asks a person is
    /// open.
    pub fn pause(&mut self, now: Instant) {
        self.dispatcher.messages_mut().set_paused(true, now);
    }

    /// Lets the timers go on that [`pause`](Self::pause) has stopped.
    pub fn resume(&mut self, now: Instant) {
        self.dispatcher.messages_mut().set_paused(false, now);
    }

    /// Sends a notification. Before the session is open it is held; only log messages go out as soon as a server has answered `initialize`.
    ///
    /// # Errors
    ///
    /// [`NotifyError`] says why it was not sent.
    pub fn notify<N: Notifies>(
        &mut self,
        params: &N::Params<'_>,
        out: &mut impl Outboxes,
    ) -> Result<Delivery, NotifyError> {
        self.notify_method(N::NAME, params, None, out)
    }

    /// Sends a notification about a request: on the route of its exchange, before its answer. Where
    /// requests stand alone a server can send only such notifications, and those that somebody has
    /// subscribed to.
    ///
    /// # Errors
    ///
    /// As for [`notify`](Self::notify).
    pub fn notify_about<N: Notifies>(
        &mut self,
        request: IncomingId,
        params: &N::Params<'_>,
        out: &mut impl Outboxes,
    ) -> Result<Delivery, NotifyError> {
        self.notify_method(N::NAME, params, Some(request), out)
    }

    /// Sends a notification by name. `related` is the request it is about, if any: it goes
    /// out on the route of that exchange.
    ///
    /// # Errors
    ///
    /// As for [`notify`](Self::notify).
    pub fn notify_method<T: Payload + ?Sized>(
        &mut self,
        method: &str,
        params: &T,
        related: Option<IncomingId>,
        out: &mut impl Outboxes,
    ) -> Result<Delivery, NotifyError> {
        let (dispatcher, cx) = &mut self.enter(None, out);
        let change = None;
        let params: &dyn Payload = &params;
        let notice = Notice { method, params, related, wanted: None, change };
        dispatcher.serving.notify(cx, notice)
    }
}
