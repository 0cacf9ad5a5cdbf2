//! [`Handle`]: a connection from the point of view of callers.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use mcp_sansio::call::{Cancellation, Paging, TaskOptions, TaskTicket};
use mcp_sansio::capability::CapabilitySet;
use mcp_sansio::error::{CancelError, ErrorObject, NotifyError};
use mcp_sansio::event::Counts;
use mcp_sansio::json::Raw;
use mcp_sansio::model::method::{Method, Notification, PagedMethod};
use mcp_sansio::subscription::{ChangedList, Delivery, Log};
use mcp_sansio::{
    CallError, CallId, CallOptions, Client, ConnectionNumber, IncomingId, Instant, Payload, Phase,
    RespondError, Revision, Server,
};
use serde::Serialize;

use crate::block::block_on;
use crate::events::EventsHandled;
use crate::machine::Machine;
use crate::out::Out;
use crate::pages::PendingPages;
use crate::pending::PendingCall;
use crate::signal::Notified;
use crate::spans::CallSpan;
use crate::wakers::WakerSlot;
use crate::wire::Wire;

/// A handle of a connection, for calls to the peer. Clones share the connection.
///
/// The role is that of this side: `Handle` alone is the handle of a client, and a server has a `Handle<Server>`.
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

    /// Calls a method: `await` the result, or block with [`wait`](PendingCall::wait).
    ///
    /// The call is made at once or not at all, and the future reports which. While the peer does not read, there
    /// may be no room for the call: see [`room`](Self::room).
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
        self.make(C::NAME, params, options_of::<C>(options))
    }

    /// Calls a method by name, as [`call`](Self::call) does.
    pub fn call_method<T: Payload + ?Sized>(
        &self,
        method: &str,
        params: &T,
        options: CallOptions,
    ) -> PendingCall<M> {
        self.make(method, params, options)
    }

    fn make<C, T: Payload + ?Sized>(
        &self,
        method: &str,
        params: &T,
        options: CallOptions,
    ) -> PendingCall<M, C> {
        let params = match Raw::from_payload(params) {
            Ok(params) => params,
            Err(error) => return PendingCall::new(Err(error.into()), self),
        };
        let span = CallSpan::begin(method, Some(&params));
        #[cfg(feature = "tracing")]
        let params = span.propagated(params, self.wire.extension());
        self.make_in(span, |machine, out, now| {
            machine.call_method(method, &params, options, now, out)
        })
    }

    fn make_in<C>(
        &self,
        span: CallSpan,
        make: impl FnOnce(&mut M, &mut Out, Instant) -> Result<CallId, CallError>,
    ) -> PendingCall<M, C> {
        let mut sent = None;
        let made = self.wire.call(|machine, out, now| {
            let made = make(machine, out, now);
            // The response may come as soon as the lock is released.
            sent = Some(span.sent(machine, made.ok()));
            made
        });
        // Subscribers are not called under the lock.
        sent.into_iter().for_each(|sent| span.record(&sent));
        PendingCall::in_span(span, made, self)
    }

    /// Requests all pages of a list.
    pub fn list<P: PagedMethod>(&self, paging: Paging, options: CallOptions) -> PendingPages<M, P> {
        let span = CallSpan::begin(P::NAME, None);
        PendingPages::new(
            self.make_in(span, |machine, out, now| machine.list::<P>(paging, options, now, out)),
        )
    }

    /// Follows a task that a call on another connection has become: the result is that of the call.
    /// [`CallFailure::Task`](crate::CallFailure::Task) and the events about the status of a task contain tickets.
    pub fn resume_task(&self, ticket: &TaskTicket, options: TaskOptions) -> PendingCall<M> {
        let resume =
            |machine: &mut M, out: &mut Out, now| machine.resume_task(ticket, options, now, out);
        PendingCall::new(self.wire.call(resume), self)
    }

    /// Sends a notification.
    ///
    /// # Errors
    ///
    /// [`NotifyError`] if it was not sent.
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

    /// Ends a call whose [`PendingCall`] is owned by other code, by the [id](PendingCall::id) in its events: see
    /// [`Client::cancel`](mcp_sansio::Connection::cancel). The owner gets
    /// [`CallFailure::Cancelled`](crate::CallFailure::Cancelled).
    ///
    /// The id must be of this connection. Without [`ConnectionOptions::tasks`](crate::ConnectionOptions::tasks) all
    /// connections over byte streams have the number 0, so the id of another one can name a call of this one.
    ///
    /// # Errors
    ///
    /// [`CancelError`] if the call has already ended.
    pub fn cancel(&self, call: CallId, reason: Option<&str>) -> Result<Cancellation, CancelError> {
        self.wire.act(|state| {
            let cancellation = state.machine.cancel(call, reason, &mut state.out)?;
            state.after.wake(state.calls.cancelled(call));
            Ok(cancellation)
        })
    }

    /// Returns a future that is ready when there is room for more output, because the peer has read enough, or when
    /// the connection has ended. Callers that make many large calls await it between them.
    pub fn room(&self) -> RoomFuture<M> {
        RoomFuture { handle: self.clone(), place: WakerSlot::NONE }
    }

    /// Returns a future that is ready when the handler has returned from all [events](crate::asynchronous::Handler::event)
    /// that have arrived so far.
    ///
    /// A handler receives events in order, but in a task of its own: the result of a call can be there before the handler
    /// has seen a log message that the peer sent earlier. Code that needs both in order awaits this after the result. Not
    /// for the handler of an event, which would wait for itself.
    pub fn events_handled(&self) -> EventsHandled<M> {
        EventsHandled::new(self.clone())
    }

    /// Returns a future that is ready when everything has ended: the connection is closed, the remaining output has
    /// been written or the peer did not read it, and all events have been delivered.
    pub fn ended(&self) -> Notified<'_> {
        self.wire.ended().notified()
    }

    /// Returns the phase of the connection.
    pub fn phase(&self) -> Phase {
        self.wire.phase()
    }

    /// Returns the number of the connection, which is part of every id.
    pub fn connection(&self) -> ConnectionNumber {
        self.wire.lock().machine.connection_number()
    }

    /// Returns the revision of the session; `None` before the session is open.
    pub fn revision(&self) -> Option<Revision> {
        self.wire.lock().machine.revision()
    }

    /// Returns the capabilities of the peer, as far as the revision defines them; empty before the session is open.
    pub fn peer_capabilities(&self) -> CapabilitySet {
        self.wire.lock().machine.peer_capabilities()
    }

    /// Returns the current numbers of requests, calls and bytes, for example to find requests without a response or
    /// calls that are not awaited.
    pub fn counts(&self) -> Counts {
        self.wire.lock().machine.in_flight().counts()
    }

    /// Accepts no new work, and ends the connection once nothing is in flight, at the latest after `grace`.
    pub fn shut_down(&self, grace: Duration) {
        self.wire.with(|machine, _, now| machine.shut_down(grace, now));
    }
}

/// Returns the options of a typed call.
const fn options_of<C: Method>(options: CallOptions) -> CallOptions {
    match C::EXTENSION {
        Some(name) => options.extension(name),
        None => options,
    }
}

/// # Notifications of a server
///
/// A notification that the client has not subscribed to is not sent, which is no error; see [`Delivery`].
impl Handle<Server> {
    /// Sends a log message, if the client enabled its level. If not, the data is not serialised.
    ///
    /// # Errors
    ///
    /// As for [`notify`](Self::notify).
    pub fn log<T: Serialize + ?Sized>(&self, log: &Log<'_, T>) -> Result<Delivery, NotifyError> {
        let wanted = self.wire.with(|server, _, _| server.notifications().wants_log(log));
        // No code of the application runs under the lock.
        let data = if wanted { Raw::from_serialize(log.data())? } else { Raw::NULL };
        self.wire.with(|server, out, _| server.notifications().log(&log.with_data(&data), out))
    }

    /// Sends the notification that a resource has changed, if the client is subscribed to it.
    ///
    /// # Errors
    ///
    /// As for [`notify`](Self::notify).
    pub fn resource_updated(&self, uri: &str) -> Result<Delivery, NotifyError> {
        self.wire.with(|server, out, _| server.notifications().resource_updated(uri, out))
    }

    /// Sends the notification that a resource has changed, if the client is subscribed to the resource that
    /// contains it.
    ///
    /// # Errors
    ///
    /// As for [`notify`](Self::notify).
    pub fn resource_updated_below(
        &self,
        subscribed: &str,
        uri: &str,
    ) -> Result<Delivery, NotifyError> {
        self.wire.with(|server, out, _| {
            server.notifications().resource_updated_below(subscribed, uri, out)
        })
    }

    /// Ends a subscription of the modern era ([`Subscribed`](mcp_sansio::ServerEvent::Subscribed)) with an error, because
    /// its changes cannot be reported any more. The client learns that, and may subscribe again.
    ///
    /// # Errors
    ///
    /// As for [`Exchange::respond`](crate::Exchange::respond).
    pub fn end_subscription(
        &self,
        subscription: IncomingId,
        error: &ErrorObject<'_>,
    ) -> Result<(), RespondError> {
        self.wire.answer(|server, _, out| server.reject_with(subscription, error, out))
    }

    /// Returns the URIs that the client is subscribed to, in order.
    pub fn subscriptions(&self) -> Vec<String> {
        self.wire
            .with(|server, _, _| server.notifications().subscriptions().map(String::from).collect())
    }

    /// Sends the notification that a list has changed.
    ///
    /// # Errors
    ///
    /// As for [`notify`](Self::notify).
    pub fn list_changed(&self, list: ChangedList) -> Result<Delivery, NotifyError> {
        self.wire.with(|server, out, _| server.notifications().list_changed(list, out))
    }

    /// As [`list_changed`](Self::list_changed), as soon as there is room.
    pub(crate) fn queue_list_changed(&self, list: ChangedList) {
        self.wire.act(|state| {
            let send = move |server: &mut Server, out: &mut Out, _| {
                server.notifications().list_changed(list, out)
            };
            state.send_change(format!("{list:?}"), Box::new(send));
        });
    }

    /// As [`resource_updated`](Self::resource_updated), as soon as there is room.
    pub(crate) fn queue_resource_updated(&self, uri: &str) {
        let changed = uri.to_owned();
        self.wire.act(|state| {
            let send = move |server: &mut Server, out: &mut Out, _| {
                server.notifications().resource_updated(&changed, out)
            };
            state.send_change(format!("of {uri}"), Box::new(send));
        });
    }

    /// As [`resource_updated_below`](Self::resource_updated_below), as soon as there is room.
    pub(crate) fn queue_resource_updated_below(&self, subscribed: &str, uri: &str) {
        let (whole, changed) = (subscribed.to_owned(), uri.to_owned());
        self.wire.act(|state| {
            let send = move |server: &mut Server, out: &mut Out, has_waited| {
                // A notification that waits stands for all changes below its subscription.
                let named = if has_waited { &whole } else { &changed };
                server.notifications().resource_updated_below(&whole, named, out)
            };
            state.send_change(format!("below {subscribed}"), Box::new(send));
        });
    }

    /// Sends the notification that the user has completed a URL elicitation.
    ///
    /// # Errors
    ///
    /// [`NotifyError::UnknownElicitation`] if no such elicitation is open; otherwise as for
    /// [`notify`](Self::notify).
    pub fn elicitation_complete(&self, elicitation_id: &str) -> Result<Delivery, NotifyError> {
        self.wire
            .with(|server, out, _| server.notifications().elicitation_complete(elicitation_id, out))
    }
}

/// A future that is ready when the outbox of a connection has room: `await` it, or block with [`wait`](Self::wait).
/// See [`Handle::room`].
#[must_use = "a future does nothing unless it is awaited"]
#[derive(Debug)]
pub struct RoomFuture<M: Machine> {
    handle: Handle<M>,
    place: WakerSlot,
}

impl<M: Machine> RoomFuture<M> {
    /// Blocks the current thread until there is room.
    pub fn wait(self) {
        block_on(self);
    }
}

impl<M: Machine> Future for RoomFuture<M> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self { handle, place } = &mut *self;
        handle.wire.poll_room(place, context)
    }
}

impl<M: Machine> Drop for RoomFuture<M> {
    fn drop(&mut self) {
        let left = self.handle.wire.lock().room.remove(&self.place);
        drop(left);
    }
}

/// A weak handle, which does not keep the memory of an ended connection.
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
