//! A connection as those see it who ask something of the other side.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use mcp_sansio::call::{Cancellation, Paging, TaskOptions, TaskTicket, ToolTasks};
use mcp_sansio::capability::CapabilitySet;
use mcp_sansio::error::{CancelError, NotifyError};
use mcp_sansio::event::Counts;
use mcp_sansio::json::Raw;
use mcp_sansio::model::method::{Method, Notification, PagedMethod, SetLevel};
use mcp_sansio::model::{LoggingLevel, SubscriptionFilter};
use mcp_sansio::subscription::{ChangedList, Delivery, Log};
use mcp_sansio::{
    CallError, CallId, CallOptions, Client, ConnectionNumber, IncomingId, Payload, Phase, Revision,
    Server,
};
use serde::Serialize;

use crate::block::block_on;
use crate::failure::CallFailure;
use crate::machine::Machine;
use crate::out::Out;
use crate::pages::PendingPages;
use crate::pending::PendingCall;
use crate::signal::Notified;
use crate::waiting::Waiting;
use crate::wakers::Place;
use crate::wire::Wire;

/// Calls the other side. Clones share the connection.
pub struct Handle<M: Machine = Client> {
    wire: Arc<Wire<M>>,
}

impl<M: Machine> Handle<M> {
    pub(crate) fn new(wire: &Arc<Wire<M>>) -> Self {
        Self { wire: Arc::clone(wire) }
    }

    pub(crate) const fn wire(&self) -> &Arc<Wire<M>> {
        &self.wire
    }

    pub(crate) fn downgrade(&self) -> WeakHandle<M> {
        WeakHandle { wire: Arc::downgrade(&self.wire) }
    }

    /// Calls a method: `await` what this gives, or [`wait`](PendingCall::wait) for it.
    ///
    /// The call is made at once, or not at all, which comes out then. While the peer does not read there may
    /// be no room for it: see [`room`](Self::room).
    ///
    /// ```
    /// use mcp_sansio::model::{PageParams, method};
    /// use mcp_sansio::CallOptions;
    /// use mcp_sansio_driver::Handle;
    ///
    /// async fn how_many_tools(server: &Handle) -> Result<usize, Box<dyn std::error::Error>> {
    ///     let params = PageParams::default();
    ///     let reply = server.call::<method::ListTools>(&params, CallOptions::new()).await?;
    ///     Ok(reply.parse()?.tools.iter().count())
    /// }
    /// ```
    pub fn call<C: Method>(
        &self,
        params: &C::Params<'_>,
        options: CallOptions,
    ) -> PendingCall<M, C> {
        PendingCall::new(self.make(C::NAME, params, options), self)
    }

    /// Calls a method by name, as [`call`](Self::call) does.
    pub fn call_method<T: Payload + ?Sized>(
        &self,
        method: &str,
        params: &T,
        options: CallOptions,
    ) -> PendingCall<M> {
        PendingCall::new(self.make(method, params, options), self)
    }

    fn make<T: Payload + ?Sized>(
        &self,
        method: &str,
        params: &T,
        options: CallOptions,
    ) -> Result<CallId, CallError> {
        let params = Raw::from_payload(params)?;
        self.wire.call(|machine, out, now| machine.call_method(method, &params, options, now, out))
    }

    /// Asks for all pages of a list.
    pub fn list<P: PagedMethod>(&self, paging: Paging, options: CallOptions) -> PendingPages<M, P> {
        let made = self.wire.call(|machine, out, now| machine.list::<P>(paging, options, now, out));
        PendingPages::new(PendingCall::new(made, self))
    }

    /// Goes on with a task that a call on another connection has become: the result is that of the call.
    /// Tickets come with [`CallFailure::Task`](crate::CallFailure::Task), and with the events that say how
    /// far a task is.
    pub fn resume_task(&self, ticket: &TaskTicket, options: TaskOptions) -> PendingCall<M> {
        let resume =
            |machine: &mut M, out: &mut Out, now| machine.resume_task(ticket, options, now, out);
        PendingCall::new(self.wire.call(resume), self)
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
    pub fn notify_method<T: Payload + ?Sized>(
        &self,
        method: &str,
        params: &T,
    ) -> Result<Delivery, NotifyError> {
        self.notify_about(method, params, None)
    }

    pub(crate) fn notify_about<T: Payload + ?Sized>(
        &self,
        method: &str,
        params: &T,
        related: Option<IncomingId>,
    ) -> Result<Delivery, NotifyError> {
        let params = Raw::from_payload(params)?;
        self.wire.with(|machine, out, _| machine.notify_method(method, &params, related, out))
    }

    /// Ends a call that has been made and whose [`PendingCall`] somebody else waits for, by the
    /// [id](PendingCall::id) that its events have: see [`Client::cancel`](mcp_sansio::Connection::cancel). Whoever waits is told
    /// [`CallFailure::Cancelled`](crate::CallFailure::Cancelled).
    ///
    /// # Errors
    ///
    /// [`CancelError`] if it is over already.
    pub fn cancel(&self, call: CallId, reason: Option<&str>) -> Result<Cancellation, CancelError> {
        self.wire.act(|state| {
            let cancellation = state.machine.cancel(call, reason, &mut state.out)?;
            state.after.wake(state.calls.cancelled(call));
            Ok(cancellation)
        })
    }

    /// Waits until there is room for more: until the peer has read enough of what is there, or the connection
    /// has ended. Those who make many large calls wait here in between.
    pub fn room(&self) -> Room<M> {
        Room { handle: self.clone(), place: Place::NONE }
    }

    /// Waits until everything is over: the connection has ended, what was left to write has been written, or
    /// the peer has not read it, and everything has been told.
    pub fn ended(&self) -> Notified<'_> {
        self.wire.ended().notified()
    }

    /// Where the connection is in its life.
    pub fn phase(&self) -> Phase {
        self.wire.phase()
    }

    /// The number of the connection, which every handle carries.
    pub fn connection(&self) -> ConnectionNumber {
        self.wire.lock().machine.connection_number()
    }

    /// The revision of the session; `None` before there is one.
    pub fn revision(&self) -> Option<Revision> {
        self.wire.lock().machine.revision()
    }

    /// The capabilities of the other side, as far as the revision knows it; empty before the session.
    pub fn peer_capabilities(&self) -> CapabilitySet {
        self.wire.lock().machine.peer_capabilities()
    }

    /// How much is going on, to look for what nobody has answered or awaited.
    pub fn counts(&self) -> Counts {
        self.wire.lock().machine.counts()
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
    pub fn log<T: Serialize + ?Sized>(&self, log: &Log<'_, T>) -> Result<Delivery, NotifyError> {
        let wanted = self.wire.with(|server, _, _| server.wants_log(log));
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

    /// The same, as soon as there is room.
    pub(crate) fn tell_list_changed(&self, list: ChangedList) {
        self.wire.act(|state| {
            let tell = move |server: &mut Server, out: &mut Out| server.list_changed(list, out);
            state.tell_change(format!("{list:?}"), Box::new(tell));
        });
    }

    /// Says that a resource has changed, as soon as there is room.
    pub(crate) fn tell_resource_updated(&self, uri: &str) {
        let changed = uri.to_owned();
        self.wire.act(|state| {
            let tell =
                move |server: &mut Server, out: &mut Out| server.resource_updated(&changed, out);
            state.tell_change(format!("of {uri}"), Box::new(tell));
        });
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

/// # What a client asks to be told
impl Handle<Client> {
    /// Asks for log messages of this level and above: see [`Client::set_log_level`]. In a session the server is
    /// asked at once, and this waits until it has said that it does so; where there are no sessions every request
    /// says it from now on. Who does not wait takes the question back.
    ///
    /// ```
    /// # use mcp_sansio::model::LoggingLevel;
    /// # use mcp_sansio_driver::{CallFailure, Handle};
    /// # async fn example(server: &Handle) -> Result<(), CallFailure> {
    /// server.set_log_level(LoggingLevel::Warning).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`CallFailure`] says why the server was not asked, or what it answered.
    #[must_use = "dropping it takes the question back"]
    pub fn set_log_level(&self, level: LoggingLevel) -> Waiting<'static, Result<(), CallFailure>> {
        let made = self.wire.act(|state| {
            let now = self.wire.clock.now();
            let made = state.machine.set_log_level(level, now, &mut state.out).transpose();
            if let Some(Ok(call)) = made {
                state.calls.insert(call);
            }
            made
        });
        let asked = made.map(|made| PendingCall::<Client, SetLevel>::new(made, self));
        Waiting::new(async {
            match asked {
                Some(asked) => asked.await.map(drop),
                None => Ok(()),
            }
        })
    }

    /// How to call a tool, as a task if `wish` says so: see [`Client::tool_options`].
    ///
    /// # Errors
    ///
    /// [`CallError::NotAllowed`] if the tool runs as no task and a task is wished for.
    pub fn tool_options(
        &self,
        tools: &ToolTasks,
        tool: &str,
        wish: Option<TaskOptions>,
    ) -> Result<CallOptions, CallError> {
        self.wire.lock().machine.tool_options(tools, tool, wish)
    }

    /// Asks to be told of what a filter says, where there are no sessions: see [`Client::subscribe`]. What
    /// comes of it is told to the handler as an event.
    ///
    /// # Errors
    ///
    /// [`CallError`] says why there is no subscription.
    pub fn subscribe(&self, filter: &SubscriptionFilter<'_>) -> Result<CallId, CallError> {
        self.wire.with(|client, out, now| client.subscribe(filter, now, out))
    }

    /// The subscriptions that are open or are being opened, in the order they were made.
    pub fn subscriptions(&self) -> Vec<CallId> {
        self.wire.with(|client, _, _| client.subscriptions().collect())
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

/// Waits for room in the outbox of a connection: `await` it, or [`wait`](Self::wait) for it. See
/// [`Handle::room`].
#[must_use = "it waits for nothing unless it is awaited"]
#[derive(Debug)]
pub struct Room<M: Machine> {
    handle: Handle<M>,
    place: Place,
}

impl<M: Machine> Room<M> {
    /// Waits on this thread.
    pub fn wait(self) {
        block_on(self);
    }
}

impl<M: Machine> Future for Room<M> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self { handle, place } = &mut *self;
        handle.wire.poll_room(place, context)
    }
}

impl<M: Machine> Drop for Room<M> {
    fn drop(&mut self) {
        let left = self.handle.wire.lock().room.remove(&self.place);
        drop(left);
    }
}

/// A handle that does not keep anything of a connection that is over.
pub(crate) struct WeakHandle<M: Machine> {
    wire: Weak<Wire<M>>,
}

impl<M: Machine> WeakHandle<M> {
    pub(crate) fn is_alive(&self) -> bool {
        0 < self.wire.strong_count()
    }

    pub(crate) fn upgrade(&self) -> Option<Handle<M>> {
        self.wire.upgrade().map(|wire| Handle { wire })
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
