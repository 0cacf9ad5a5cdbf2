//! [`Machine`], a trait over both roles, for code that treats them alike.

use core::fmt::Debug;
use core::hash::Hash;
use core::ops::DerefMut;

use crate::client::{Client, ClientEvent};
use crate::connection::{Connection, SubscriptionNews};
use crate::frame::{Frame, Outbox};
use crate::handle::{CallId, IncomingId};
use crate::server::{Server, ServerEvent};
use crate::time::Instant;

/// The meaning of an event, independent of the role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Meaning {
    /// The peer sends a request, or opens a subscription.
    Request(IncomingId),
    /// A request no longer expects a response.
    RequestEnded(IncomingId),
    /// An update of a call that has not ended.
    CallGoesOn(CallId),
    /// A call has its outcome.
    CallEnded(CallId),
    /// The connection has ended.
    Closed,
    /// Any other event.
    Other,
}

/// A [`Client`] or a [`Server`]: a [`Connection`] with the operations that differ by role. `Machine` of the adapters is
/// another trait: the role of a connection, for their types.
pub trait Machine: Clone + Debug + PartialEq + Hash + DerefMut<Target = Connection> {
    /// The event type of the role.
    type Event<'f>: Debug + PartialEq;

    /// Returns the meaning of an event.
    fn meaning(event: &Self::Event<'_>) -> Meaning;
    /// Copies the text of an event, so that it no longer borrows the input.
    fn into_owned(event: Self::Event<'_>) -> Self::Event<'static>;
    /// [`Server::receive`] or [`Client::receive`].
    fn receive<'f>(
        &mut self,
        frame: Frame<'f>,
        now: Instant,
        out: &mut Outbox,
    ) -> Option<Self::Event<'f>>;
    /// [`Server::handle_timeout`] or [`Client::handle_timeout`].
    fn handle_timeout(&mut self, now: Instant, out: &mut Outbox) -> Option<Self::Event<'static>>;
    /// Returns the calls without an outcome, including subscriptions.
    fn calls(&self) -> impl Iterator<Item = CallId>;
}

/// The methods that both roles have under the same name.
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
    };
}

impl Machine for Client {
    machine!(ClientEvent);

    fn calls(&self) -> impl Iterator<Item = CallId> {
        self.in_flight().calls().chain(self.in_flight().subscriptions())
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
            ClientEvent::ListRestarted(restarted) => Meaning::CallGoesOn(restarted.call),
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
        self.in_flight().calls()
    }

    fn meaning(event: &ServerEvent<'_>) -> Meaning {
        match event {
            ServerEvent::Request(request) => Meaning::Request(request.id),
            ServerEvent::Subscribed(subscribed) => Meaning::Request(subscribed.id),
            ServerEvent::Cancelled(cancelled) => Meaning::RequestEnded(cancelled.id),
            ServerEvent::CallEnded(ended) => Meaning::CallEnded(ended.call),
            ServerEvent::Page(page) => Meaning::CallGoesOn(page.call),
            ServerEvent::ListRestarted(restarted) => Meaning::CallGoesOn(restarted.call),
            ServerEvent::Progress(update) => Meaning::CallGoesOn(update.call),
            ServerEvent::Task(update) => Meaning::CallGoesOn(update.call),
            ServerEvent::Closed { .. } => Meaning::Closed,
            _ => Meaning::Other,
        }
    }
}
