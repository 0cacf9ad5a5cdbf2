//! [`Role`]: the operations that [`Server`] and [`Client`] share but implement each in its own way.

use core::ops::DerefMut;

use crate::client::{Client, ClientEvent};
use crate::connection::{Connection, Outboxes, Received};
use crate::frame::Frame;
use crate::server::{Server, ServerEvent};
use crate::time::Instant;

/// A [`Server`] or a [`Client`]: a [`Connection`] with the events of its role.
///
/// It is for code that drives either role, such as an adapter. A wrapper around a machine, for logs or for faults in a
/// test, implements it as well.
pub trait Role: DerefMut<Target = Connection> + Sized {
    /// [`ServerEvent`] or [`ClientEvent`]. It borrows the frame.
    type Event<'f>;

    /// [`Server::receive`] or [`Client::receive`].
    #[must_use = "a request in the event must be answered"]
    fn receive<'f>(
        &mut self,
        frame: impl Into<Frame<'f>>,
        received: impl Into<Received>,
        out: &mut impl Outboxes,
    ) -> Option<Self::Event<'f>>;

    /// [`Server::handle_timeout`] or [`Client::handle_timeout`]. The event borrows nothing, so it has any lifetime.
    #[must_use = "an event that is dropped is lost; it is not delivered again"]
    fn handle_timeout<'f>(
        &mut self,
        now: Instant,
        out: &mut impl Outboxes,
    ) -> Option<Self::Event<'f>>;
}

macro_rules! role {
    ($Machine:ident, $Event:ident) => {
        impl Role for $Machine {
            type Event<'f> = $Event<'f>;

            #[inline]
            fn receive<'f>(
                &mut self,
                frame: impl Into<Frame<'f>>,
                received: impl Into<Received>,
                out: &mut impl Outboxes,
            ) -> Option<$Event<'f>> {
                Self::receive(self, frame, received, out)
            }

            #[inline]
            fn handle_timeout<'f>(
                &mut self,
                now: Instant,
                out: &mut impl Outboxes,
            ) -> Option<$Event<'f>> {
                Self::handle_timeout(self, now, out)
            }
        }
    };
}

role!(Server, ServerEvent);
role!(Client, ClientEvent);
