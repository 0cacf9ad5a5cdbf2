//! `Outboxes`, `Route` and `Received`: the destination of output, and the origin of input.

use crate::capability::Capability;
use crate::codes::ErrorCode;
use crate::frame::Outbox;
use crate::handle::{CallId, IncomingId, Principal, Requestor, SlotKey};
use crate::session::Phase;
use crate::time::Instant;

/// The stream of the transport that a message belongs to.
///
/// On stdio and sockets all routes share one stream. A transport with a stream per request, such as HTTP, gives each
/// route its own [`Outbox`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Route {
    /// The whole connection.
    #[default]
    Connection,
    /// A request of the peer: its response, its progress, and the calls made because of it.
    Exchange(IncomingId),
    /// A call of this side.
    Call(CallId),
    /// The stream of the transport with this number, on which a message was received. A response that the machine
    /// writes at once, without a request event, uses the same stream.
    Stream(u32),
}

/// The outboxes of a connection, one for each [`Route`].
///
/// An [`Outbox`] implements it and takes the messages of every route. Implement it for a transport with several
/// streams, or override [`observe`](Self::observe) to log messages.
pub trait Outboxes {
    /// The outbox for this route.
    fn outbox(&mut self, route: Route) -> &mut Outbox;

    /// Called for each message received or sent and for each change of phase, without payloads.
    ///
    /// The default does nothing. It cannot influence the machine.
    fn observe(&mut self, observation: &Observation<'_>) {
        _ = observation;
    }

    /// Whether [`observe`](Self::observe) does anything now. The default is `true`. With `false`, messages are not
    /// described for it, which saves time.
    fn observes(&self) -> bool {
        true
    }

    /// Called with the calls of a batch of this side, once the batch is in the outbox of [`Route::Connection`].
    ///
    /// The default does nothing. A transport that sends each message in an exchange of its own needs the calls to end
    /// them if the exchange fails.
    fn note_batch(&mut self, calls: &[CallId]) {
        _ = calls;
    }

    /// Called when this side begins to wait for the late response to a call that has ended, and when it stops.
    ///
    /// The call was cancelled or timed out, and its response may create a task, which this side then cancels. The end of
    /// the connection ends the wait without a call of this method. The default does nothing. A transport that sends
    /// each message in an exchange of its own keeps the exchange of the call open meanwhile.
    fn note_late(&mut self, call: CallId, is_awaited: bool) {
        _ = (call, is_awaited);
    }

    /// Whether a request to the peer can be sent on this route. The default is `true`.
    ///
    /// A transport that cannot deliver a request, such as an HTTP response that is a single JSON object, returns
    /// `false`. The call then fails at once with [`NotAllowed::Transport`](crate::error::NotAllowed::Transport),
    /// instead of waiting for its timeout.
    fn can_ask(&self, route: Route) -> bool {
        _ = route;
        true
    }

    /// Whether the peer reads this route now. The default is `true`. No [`KeepAlive`](crate::config::KeepAlive) ping
    /// is sent on a route without a reader.
    fn has_reader(&self, route: Route) -> bool {
        _ = route;
        true
    }
}

impl Outboxes for Outbox {
    fn outbox(&mut self, _route: Route) -> &mut Outbox {
        self
    }

    #[inline]
    fn observes(&self) -> bool {
        false
    }
}

/// A message or a change of state, without payload, for logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Observation<'a> {
    /// A frame was received.
    Received {
        /// The method, in its JSON form without the quotes; responses have none.
        method: Option<&'a str>,
        /// The id in its JSON form; notifications have none. An id or a method is left out if its type is wrong or it
        /// is too long.
        id: Option<&'a str>,
        /// The length of the frame.
        bytes: usize,
    },
    /// A message was put into an outbox.
    Sent {
        /// The method; responses have none.
        method: Option<&'a str>,
        /// The error code, if the message is an error.
        error: Option<ErrorCode>,
        /// The route of the message.
        route: Route,
        /// The length of the message, framing included.
        bytes: usize,
    },
    /// A message was sent that needs an undeclared capability
    /// ([`CapabilityPolicy::Warn`](crate::config::CapabilityPolicy::Warn)).
    NotDeclared {
        /// The method.
        method: &'a str,
        /// The capability.
        capability: Capability,
    },
    /// A notification that waited for the session was not sent: the session does not allow it, or the peer has not
    /// subscribed to it.
    Dropped {
        /// The method.
        method: &'a str,
    },
    /// The phase of the connection changed.
    Phase {
        /// The previous phase.
        from: Phase,
        /// The new phase.
        to: Phase,
    },
}

/// The context of a received message: its time, its route and its sender.
///
/// An [`Instant`] converts into it: a driver with one stream and one principal passes the time alone.
///
/// ```
/// use mcp_sansio::{Received, Instant, Route, Principal};
///
/// let received = Received::from(Instant::EPOCH).principal(Principal::new(7));
/// assert_eq!(received.route, Route::Connection);
/// assert_eq!(received.principal.get(), 7);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Received {
    /// The time of reception.
    pub now: Instant,
    /// The route of the message. A response that the machine writes at once uses the same route.
    pub route: Route,
    /// The sender.
    pub principal: Principal,
    /// The owner of the tasks that the message can access, if that is not the principal.
    pub(super) requestor: Option<Requestor>,
    /// The batch that contains the message.
    pub(super) batch: Option<SlotKey>,
}

impl Received {
    /// Replaces the route.
    #[must_use]
    pub const fn route(mut self, route: Route) -> Self {
        self.route = route;
        self
    }

    /// Replaces the principal, which becomes the owner of the accessible tasks, too.
    #[must_use]
    pub const fn principal(mut self, principal: Principal) -> Self {
        self.principal = principal;
        self.requestor = None;
        self
    }

    /// Replaces the requestor and its principal. It names the owner of tasks on transports without principals, if one
    /// connection serves many clients or one client has many connections.
    #[must_use]
    pub const fn requestor(mut self, requestor: Requestor) -> Self {
        self.principal = requestor.principal();
        self.requestor = Some(requestor);
        self
    }

    /// Returns the owner of the tasks that the message can access.
    pub(super) fn owner(&self) -> Requestor {
        self.requestor.unwrap_or(Requestor::Principal(self.principal))
    }
}

impl From<Instant> for Received {
    fn from(now: Instant) -> Self {
        let (route, principal) = (Route::default(), Principal::default());
        Self { now, route, principal, requestor: None, batch: None }
    }
}
