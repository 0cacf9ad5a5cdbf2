//! What both roles share: exchanges and calls, cancellation, progress, timers, shutdown.
//!
//! [`Server`](crate::Server) and [`Client`](crate::Client) are faces of the symmetric [`Peer`]
//! here: either side asks, answers, cancels and reports progress. What only one role does (the
//! handshake, the typed requests) is in its own module.
//!
//! | file | what it does |
//! |---|---|
//! | `receive` | frames in: what is answered or absorbed here, what is left for the role |
//! | `route` | which requests may be made now: a pure function |
//! | `exchanges` | requests of the peer: accept, answer, refuse, report progress |
//! | `calls` | requests of ours: make, hold, cancel, end |
//! | `timers`, `deadlines` | what expires when |
//! | `closing` | how a connection ends |
//! | `noise` | what is not a message |

mod calls;
mod closing;
mod config;
mod context;
mod counts;
mod deadlines;
mod event;
mod exchanges;
mod face;
mod noise;
mod outlets;
mod receive;
mod route;
mod timers;

pub use calls::{CallError, CallOptions, CancelError, Cancellation, NotifyError, Timeout};
pub use config::{ConnectionConfig, DuplicateIds, RepliesWithoutId, Timeouts, UnknownMethods};
pub use context::RequestContext;
pub use counts::Counts;
pub use event::{
    CallEnded, CancelCause, Cancelled, Cause, Expiry, Notification, Outcome, ProgressUpdate, Stray,
    Violation,
};
pub use exchanges::{Progress, ProgressReport, RespondError};
pub use outlets::{Arrival, Lane, Observation, Outlets, Principal};

pub(crate) use event::PeerEvent;
pub(crate) use face::peer_face;
pub(crate) use receive::{Incoming, IncomingRequest};
pub(crate) use route::Role;
pub(crate) use timers::Elapsed;

use calls::Call;
use closing::Closing;
use deadlines::Deadlines;
use exchanges::Exchange;
use noise::Noise;

use crate::dialect::CapabilitySet;
use crate::frame::{Framing, Outbox};
use crate::handle::ConnectionNumber;
use crate::limits::Limits;
use crate::rpc::{Inbound, Outbound};
use crate::session::{Phase, Step};
use crate::version::Revision;

/// The state of one side of a connection, whichever side it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Peer {
    role: Role,
    phase: Phase,
    /// The phase that was last observed.
    observed: Phase,
    session: Option<Session>,
    /// What this side offers.
    offered: CapabilitySet,
    inbound: Inbound<Exchange>,
    /// How many exchanges have been cancelled and wait to be told so.
    marked: u32,
    outbound: Outbound<Call>,
    deadlines: Deadlines,
    /// Calls and notifications that wait for the handshake.
    held: Outbox,
    closing: Closing,
    noise: Noise,
}

/// What a handshake has settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Session {
    pub(crate) revision: Revision,
    /// What the other side offers, as far as the revision knows it.
    pub(crate) capabilities: CapabilitySet,
}

impl Peer {
    pub(crate) fn new(
        role: Role,
        offered: CapabilitySet,
        connection: ConnectionNumber,
        config: &ConnectionConfig,
    ) -> Self {
        let limits = &config.limits;
        Self {
            role,
            phase: Phase::Opening,
            observed: Phase::Opening,
            session: None,
            offered,
            inbound: Inbound::new(connection),
            marked: 0,
            outbound: Outbound::new(connection, config.first_call_id, limits.remembered_calls),
            deadlines: Deadlines::default(),
            held: held(limits),
            closing: Closing::default(),
            noise: Noise::default(),
        }
    }

    pub(crate) const fn phase(&self) -> Phase {
        self.phase
    }

    pub(crate) const fn session(&self) -> Option<Session> {
        self.session
    }

    pub(crate) fn connection(&self) -> ConnectionNumber {
        self.outbound.connection()
    }

    /// Opens the session that a handshake has settled.
    pub(crate) fn open_session(&mut self, revision: Revision, declared: CapabilitySet) {
        self.session = Some(Session { revision, capabilities: declared.known_to(revision) });
    }

    /// Takes a step. Says whether it made sense.
    pub(crate) fn step(&mut self, step: Step) -> bool {
        let after = self.phase.after(step);
        if let Ok(phase) = after {
            self.phase = phase;
        }
        after.is_ok()
    }

    /// Tells a change of phase to whoever watches.
    pub(crate) fn observe_phase(&mut self, out: &mut dyn Outlets) {
        if self.observed != self.phase {
            out.observe(&Observation::Phase { from: self.observed, to: self.phase });
            self.observed = self.phase;
        }
    }
}

/// An outbox for what waits inside the machine: no framing, and as large as held calls may be.
fn held(limits: &Limits) -> Outbox {
    let mut inner = limits.clone();
    inner.outbox_bytes = limits.held_bytes;
    inner.reserve_bytes = 0;
    Outbox::new(Framing::Messages, &inner)
}
