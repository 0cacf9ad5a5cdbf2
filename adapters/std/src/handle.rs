//! A connection as those see it who ask something of the other side.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use mcp_sansio::json::Raw;
use mcp_sansio::model::SubscriptionFilter;
use mcp_sansio::model::method::{Method, Notification, PagedMethod};
use mcp_sansio::{
    CallError, CallId, CallOptions, CancelError, ChangedList, Client, Delivery, InboundId, Instant,
    Log, NotifyError, Outbox, Paging, Phase, Server, TaskOptions, TaskTicket,
};
use serde::Serialize;

use crate::machine::Machine;
use crate::pending::{CallFailure, Pages, PendingCall, Reply};
use crate::wire::{Update, Wire};

/// Calls the other side. Clones share the connection.
pub struct Handle<M: Machine> {
    wire: Arc<Wire<M>>,
}

impl<M: Machine> Handle<M> {
    pub(crate) fn new(wire: &Arc<Wire<M>>) -> Self {
        Self { wire: Arc::clone(wire) }
    }

    pub(crate) const fn wire(&self) -> &Arc<Wire<M>> {
        &self.wire
    }

    /// Calls a method and waits for its result.
    ///
    /// # Errors
    ///
    /// [`CallFailure`] says why there is none.
    pub fn call<C: Method>(
        &self,
        params: &C::Params<'_>,
        options: CallOptions,
    ) -> Result<Reply, CallFailure> {
        self.call_method(C::NAME, params, options)
    }

    /// Calls a method by name and waits for its result.
    ///
    /// # Errors
    ///
    /// As for [`call`](Self::call).
    pub fn call_method<T: Serialize + ?Sized>(
        &self,
        method: &str,
        params: &T,
        options: CallOptions,
    ) -> Result<Reply, CallFailure> {
        self.start_method(method, params, options)?.wait()
    }

    /// Asks for all pages of a list and waits for them.
    ///
    /// # Errors
    ///
    /// As for [`call`](Self::call).
    pub fn list<P: PagedMethod>(
        &self,
        paging: Paging,
        options: CallOptions,
    ) -> Result<Pages, CallFailure> {
        let pending =
            self.start(|machine, out, now| machine.list::<P>(paging, options, now, out))?;
        let mut pages = Vec::new();
        let (last, stale) = pending.finish(|update| match update {
            Update::Page(page) => pages.push(Reply { raw: page.result }),
            Update::Restarted => pages.clear(),
            _ => {}
        })?;
        pages.push(last);
        Ok(Pages { pages, stale })
    }

    /// Calls a method by name without waiting.
    ///
    /// # Errors
    ///
    /// [`CallError`] says why there is no call.
    pub fn start_method<T: Serialize + ?Sized>(
        &self,
        method: &str,
        params: &T,
        options: CallOptions,
    ) -> Result<PendingCall<M>, CallError> {
        let params = Raw::from_serialize(params)?;
        self.start(|machine, out, now| machine.call(method, &params, options, now, out))
    }

    /// Goes on with a task that a call on another connection has become, and waits for nothing: the result is
    /// that of the call. Tickets come with [`CallFailure::Task`], and with the events that say how far a
    /// task is.
    ///
    /// # Errors
    ///
    /// [`CallError`] says why the task is not asked about.
    pub fn resume_task(
        &self,
        ticket: &TaskTicket,
        options: TaskOptions,
    ) -> Result<PendingCall<M>, CallError> {
        self.start(|machine, out, now| machine.resume_task(ticket, options, now, out))
    }

    fn start(
        &self,
        make: impl FnOnce(&mut M, &mut Outbox, Instant) -> Result<CallId, CallError>,
    ) -> Result<PendingCall<M>, CallError> {
        let (sender, updates) = channel();
        let call = self.wire.call(sender, make)?;
        Ok(PendingCall::new(call, self.clone(), updates))
    }

    /// Sends a notification.
    ///
    /// # Errors
    ///
    /// [`NotifyError`] says why it was not sent.
    pub fn notify<N: Notification>(&self, params: &N::Params<'_>) -> Result<Delivery, NotifyError> {
        self.notify_method(N::NAME, params)
    }

    /// Sends a notification by name.
    ///
    /// # Errors
    ///
    /// As for [`notify`](Self::notify).
    pub fn notify_method<T: Serialize + ?Sized>(
        &self,
        method: &str,
        params: &T,
    ) -> Result<Delivery, NotifyError> {
        self.notify_about(method, params, None)
    }

    pub(crate) fn notify_about<T: Serialize + ?Sized>(
        &self,
        method: &str,
        params: &T,
        related: Option<InboundId>,
    ) -> Result<Delivery, NotifyError> {
        let params = Raw::from_serialize(params)?;
        self.wire.with(|machine, out, _| machine.notify(method, &params, related, out))
    }

    /// Where the connection is in its life.
    pub fn phase(&self) -> Phase {
        self.wire.phase()
    }

    /// Takes no new work and ends when nothing is in flight, at the latest after `grace`.
    pub fn shut_down(&self, grace: Duration) {
        self.wire.with(|machine, _, now| machine.shut_down(grace, now));
    }
}

/// # What a server tells without being asked
///
/// What nobody has asked for is not sent, and that is no error; see [`Delivery`].
impl Handle<Server> {
    /// Sends a log message, if the client wants messages of its level. If not, nothing is serialised.
    ///
    /// # Errors
    ///
    /// As for [`notify`](Self::notify).
    pub fn log<T: Serialize + ?Sized>(&self, log: Log<'_, T>) -> Result<Delivery, NotifyError> {
        let wanted = self.wire.with(|server, _, _| server.wants_log(&log));
        // Nothing of the application's runs under the lock.
        let data = if wanted { Raw::from_serialize(log.data())? } else { Raw::NULL };
        self.wire.with(|server, out, _| server.log(&log.with_data(&data), out))
    }

    /// Says that a resource has changed, if the client has subscribed to it.
    ///
    /// # Errors
    ///
    /// As for [`notify`](Self::notify).
    pub fn resource_updated(&self, uri: &str) -> Result<Delivery, NotifyError> {
        self.wire.with(|server, out, _| server.resource_updated(uri, out))
    }

    /// Says that a resource has changed, if the client has subscribed to the one it is a part of.
    ///
    /// # Errors
    ///
    /// As for [`notify`](Self::notify).
    pub fn resource_updated_below(
        &self,
        subscribed: &str,
        uri: &str,
    ) -> Result<Delivery, NotifyError> {
        self.wire.with(|server, out, _| server.resource_updated_below(subscribed, uri, out))
    }

    /// The URIs that the client has subscribed to, in order.
    pub fn subscriptions(&self) -> Vec<String> {
        self.wire.with(|server, _, _| server.subscriptions().map(String::from).collect())
    }

    /// Says that a list has changed.
    ///
    /// # Errors
    ///
    /// As for [`notify`](Self::notify).
    pub fn list_changed(&self, list: ChangedList) -> Result<Delivery, NotifyError> {
        self.wire.with(|server, out, _| server.list_changed(list, out))
    }

    /// Says that what the user had to do at a URL is done.
    ///
    /// # Errors
    ///
    /// [`NotifyError::UnknownElicitation`] if no such elicitation is open; otherwise as for
    /// [`notify`](Self::notify).
    pub fn elicitation_complete(&self, elicitation_id: &str) -> Result<Delivery, NotifyError> {
        self.wire.with(|server, out, _| server.elicitation_complete(elicitation_id, out))
    }
}

/// # Subscribing
impl Handle<Client> {
    /// Asks to be told of what a filter says, where there are no sessions: see [`Client::subscribe`]. What
    /// comes of it is told to [`Handler::event`](crate::Handler::event).
    ///
    /// # Errors
    ///
    /// [`CallError`] says why there is no subscription.
    pub fn subscribe(&self, filter: &SubscriptionFilter<'_>) -> Result<CallId, CallError> {
        self.wire.with(|client, out, now| client.subscribe(filter, now, out))
    }

    /// Ends a subscription. The server is told.
    ///
    /// # Errors
    ///
    /// [`CancelError`] if it is over already.
    pub fn unsubscribe(&self, subscription: CallId) -> Result<(), CancelError> {
        self.wire.with(|client, out, _| client.cancel(subscription, None, out)).map(|_| ())
    }
}

impl<M: Machine> Clone for Handle<M> {
    fn clone(&self) -> Self {
        Self { wire: Arc::clone(&self.wire) }
    }
}

impl<M: Machine> fmt::Debug for Handle<M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Handle").field("phase", &self.phase()).finish_non_exhaustive()
    }
}
