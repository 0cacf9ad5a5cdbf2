//! Where output goes and where input came from.

use crate::capability::Capability;
use crate::error::ErrorCode;
use crate::frame::Outbox;
use crate::handle::{CallId, InboundId, Place, Principal, Requestor};
use crate::session::Phase;
use crate::time::Instant;

/// Which way a message goes, on carriers that have more than one.
///
/// On stdio and sockets every lane is the same stream. A carrier with one stream per request, such
/// as HTTP, gives each its own [`Outbox`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Lane {
    /// What concerns the whole connection.
    #[default]
    Connection,
    /// What belongs to a request of the peer: its answer, its progress, calls made because of it.
    Exchange(InboundId),
    /// What belongs to a call of ours.
    Call(CallId),
    /// A stream that the carrier has given this number: one on which a message came. What the machine
    /// answers at once, without handing a request out, goes back on it.
    Stream(u32),
}

/// Where the machine's output goes.
///
/// An [`Outbox`] is an outlet for every lane. Implement it for carriers with several streams, or to
/// watch what happens by overriding [`observe`](Self::observe).
pub trait Outlets {
    /// The outbox for this lane.
    fn lane(&mut self, lane: Lane) -> &mut Outbox;

    /// Told of each message received and sent and of each change of phase, without its payload.
    ///
    /// The default does nothing. It cannot influence the machine.
    fn observe(&mut self, observation: &Observation<'_>) {
        _ = observation;
    }

    /// Whether a request to the peer can go out on this lane. By default it can.
    ///
    /// A carrier that has no way to bring it to the peer, such as an HTTP response that is a single JSON
    /// object, says so here: then there is no call
    /// ([`NotAllowed::Carrier`](crate::NotAllowed::Carrier)), instead of one that waits in vain.
    fn can_ask(&self, lane: Lane) -> bool {
        _ = lane;
        true
    }

    /// Whether the peer reads this lane now. Where it does not, it is not asked whether it is still there
    /// ([`KeepAlive`](crate::KeepAlive)). By default it does.
    fn is_heard(&self, lane: Lane) -> bool {
        _ = lane;
        true
    }
}

impl Outlets for Outbox {
    fn lane(&mut self, _lane: Lane) -> &mut Outbox {
        self
    }
}

/// Something that happened, without payload: fit for a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Observation<'a> {
    /// A frame came in.
    Received {
        /// The method, as it stands on the wire between its quotes; responses have none.
        method: Option<&'a str>,
        /// The id as it stands on the wire; notifications have none. Neither is told if it is not of
        /// the right kind or too long, because it may be anything then.
        id: Option<&'a str>,
        /// The length of the frame.
        bytes: usize,
    },
    /// A message was put into an outbox.
    Sent {
        /// The method; responses have none.
        method: Option<&'a str>,
        /// The code of the error, if it is one.
        error: Option<ErrorCode>,
        /// The lane it was put on.
        lane: Lane,
        /// The length of the message, framing included.
        bytes: usize,
    },
    /// A message was sent that needs a capability which has not been declared
    /// ([`CapabilityPolicy::Warn`](crate::CapabilityPolicy::Warn)).
    NotDeclared {
        /// The method.
        method: &'a str,
        /// The capability.
        capability: Capability,
    },
    /// A notification that was held until the session was open was not sent, because the session
    /// does not allow it or nobody wants it.
    Dropped {
        /// The method.
        method: &'a str,
    },
    /// The connection entered another phase.
    Phase {
        /// The phase it was in.
        from: Phase,
        /// The phase it is in now.
        to: Phase,
    },
}

/// What came with a message: when, on which lane, from whom.
///
/// An [`Instant`] converts into it, so drivers with one lane and one principal pass the time.
///
/// ```
/// use mcp_sansio::{Arrival, Instant, Lane, Principal};
///
/// let arrival = Arrival::from(Instant::EPOCH).principal(Principal::new(7));
/// assert_eq!(arrival.lane, Lane::Connection);
/// assert_eq!(arrival.principal.get(), 7);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Arrival {
    /// When it came.
    pub now: Instant,
    /// On which lane it came. An immediate answer goes back on it.
    pub lane: Lane,
    /// Who sent it.
    pub principal: Principal,
    /// Whose tasks it reaches, if not those of the principal.
    pub(super) requestor: Option<Requestor>,
    /// The batch it is an element of.
    pub(super) batch: Option<Place>,
}

impl Arrival {
    /// The same on another lane.
    #[must_use]
    pub const fn lane(mut self, lane: Lane) -> Self {
        self.lane = lane;
        self
    }

    /// The same from another principal, with its tasks.
    #[must_use]
    pub const fn principal(mut self, principal: Principal) -> Self {
        self.principal = principal;
        self.requestor = None;
        self
    }

    /// The same from another requestor, and its principal. Carriers on which a connection has requests of many clients,
    /// or a client has many connections, say with it whose tasks are reached where there is no principal.
    #[must_use]
    pub const fn requestor(mut self, requestor: Requestor) -> Self {
        self.principal = requestor.principal();
        self.requestor = Some(requestor);
        self
    }

    /// Whose tasks it reaches.
    pub(super) fn owner(&self) -> Requestor {
        self.requestor.unwrap_or(Requestor::Principal(self.principal))
    }
}

impl From<Instant> for Arrival {
    fn from(now: Instant) -> Self {
        let (lane, principal) = (Lane::default(), Principal::default());
        Self { now, lane, principal, requestor: None, batch: None }
    }
}
