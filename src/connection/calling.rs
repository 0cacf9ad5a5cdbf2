//! The methods of [`Connection`] for calls and notifications of this side.

use alloc::vec::Vec;

use super::{
    Batch, BatchError, CallError, CallOptions, CancelError, Cancellation, Connection, Delivery,
    Notice, NotifyError, Outboxes, Paging, TaskOptions, TaskTicket,
};
use crate::handle::{CallId, IncomingId};
use crate::model::method::{Method, Notification as Notifies, PagedMethod};
use crate::schema::Payload;
use crate::time::Instant;

/// # Calls and notifications
impl Connection {
    /// Makes a call. Its one outcome is an event, now or later.
    ///
    /// Before the session is open, the call is queued within [`Limits::held_bytes`](crate::Limits::held_bytes), and
    /// its timers run. Only `ping` is sent at once.
    ///
    /// # Errors
    ///
    /// [`CallError`] if the call was not made; [`CallError::NotAllowed`] if not both sides have the
    /// [extension](Method::EXTENSION) of the method.
    pub fn call<M: Method>(
        &mut self,
        params: &M::Params<'_>,
        options: CallOptions,
        now: Instant,
        out: &mut impl Outboxes,
    ) -> Result<CallId, CallError> {
        self.call_method(M::NAME, params, options.of_method::<M>(), now, out)
    }

    /// Makes a call of a method by name. The params are a [`Payload`], or `()` for none.
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

    /// Requests a list page by page, under one handle. All pages but the last are events; the last is the outcome of
    /// the call.
    ///
    /// Progress, timeouts and cancellation are those of any call. Each page restarts the idle timeout, but not the
    /// total timeout.
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
        let options = options.of_method::<M>();
        let (dispatcher, cx) = &mut self.enter(Some(now), out);
        let method = (M::NAME, M::ITEMS);
        dispatcher.serving.calls.list(cx, method, paging, options)
    }

    /// Sends the messages that `fill` adds as one JSON-RPC batch. Nothing is sent if `fill` fails or panics.
    ///
    /// # Errors
    ///
    /// [`BatchError`] if nothing was sent, or the error of `fill`.
    pub fn batch<R, E: From<BatchError>>(
        &mut self,
        now: Instant,
        out: &mut impl Outboxes,
        fill: impl FnOnce(&mut Batch<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        let (dispatcher, cx) = &mut self.enter(Some(now), out);
        dispatcher.serving.calls.batch(cx, fill)
    }

    /// Cancels a call whose response is no longer needed. The call ends at once, without an event. The
    /// [`Cancellation`] says whether the peer is notified.
    ///
    /// # Errors
    ///
    /// [`CancelError`] if the call has already ended. Nothing was sent.
    pub fn cancel(
        &mut self,
        call: CallId,
        reason: Option<&str>,
        out: &mut impl Outboxes,
    ) -> Result<Cancellation, CancelError> {
        let (dispatcher, cx) = &mut self.enter(None, out);
        dispatcher.serving.calls.cancel(cx, call, reason)
    }

    /// Cancels every call that was made because of a request ([`CallOptions::parent`]), as is due when the request
    /// has been cancelled. Returns the number of cancelled calls.
    pub fn cancel_calls_made_for(
        &mut self,
        request: IncomingId,
        reason: Option<&str>,
        out: &mut impl Outboxes,
    ) -> usize {
        // Collected first: cancelling a call removes it from the table.
        #[allow(clippy::needless_collect, reason = "the table changes")]
        let calls: Vec<CallId> = self.in_flight().calls_made_for(request).collect();
        calls.into_iter().filter(|call| self.cancel(*call, reason, out).is_ok()).count()
    }

    /// Continues a task that a call on another connection has become. The new call for the task ends like any other.
    ///
    /// # Errors
    ///
    /// [`CallError`] if the task cannot be polled.
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

    /// Asks the peer to cancel the task that a call has become, and waits for the task to end. The call ends with
    /// [`Outcome::TaskCancelled`](crate::Outcome::TaskCancelled), or with the outcome of the task if the task ends
    /// before. [`cancel`](Self::cancel) does not wait.
    ///
    /// # Errors
    ///
    /// [`CallError::NotATask`] if the call is not a task; [`CallError::NotAllowed`] if the peer does not support the
    /// cancellation of tasks; [`CallError::Closed`], [`CallError::TooManyCalls`] and [`CallError::Encode`] as for any
    /// call. Nothing was sent, and the call continues.
    pub fn cancel_task(
        &mut self,
        call: CallId,
        now: Instant,
        out: &mut impl Outboxes,
    ) -> Result<(), CallError> {
        let (dispatcher, cx) = &mut self.enter(Some(now), out);
        dispatcher.serving.calls.cancel_task(cx, call)
    }

    /// Stops the timers of all calls (`true`), for [`Timeouts::person`](crate::config::Timeouts::person) at most, or
    /// lets them continue where they stopped (`false`). On a client the timers stop automatically while a request that
    /// asks a person is open.
    pub fn set_paused(&mut self, is_paused: bool, now: Instant) {
        self.dispatcher.messages_mut().set_paused(is_paused, now);
    }

    /// Sends a notification. Before the session is open, the notification is queued; only log messages are sent as
    /// soon as a server has answered `initialize`.
    ///
    /// `related` is the request that the notification is about, if any. The notification is sent on the route of that
    /// request, before its response. In the modern era, a server can send only notifications about a request, and
    /// notifications that a client has subscribed to.
    ///
    /// # Errors
    ///
    /// [`NotifyError`] if the notification was not sent.
    pub fn notify<N: Notifies>(
        &mut self,
        params: &N::Params<'_>,
        related: Option<IncomingId>,
        out: &mut impl Outboxes,
    ) -> Result<Delivery, NotifyError> {
        self.notify_method(N::NAME, params, related, out)
    }

    /// Sends a notification by name, as [`notify`](Self::notify) does. The params are a [`Payload`], or `()` for none.
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
