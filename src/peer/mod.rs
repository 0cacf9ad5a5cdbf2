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
//! | `call`, `calls`, `held`, `cancel` | requests of ours: make, hold, end, give up |
//! | `timers`, `deadlines` | what expires when |
//! | `closing` | how a connection ends |
//! | `noise` | what is not a message |

mod call;
mod calls;
mod cancel;
mod closing;
mod config;
mod context;
mod counts;
mod deadlines;
mod event;
mod exchanges;
mod face;
mod held;
mod noise;
mod outlets;
mod receive;
mod route;
mod timers;

pub use call::{CallError, CallOptions, NotifyError, Timeout};
pub use cancel::{CancelError, Cancellation};
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

use alloc::collections::VecDeque;

use call::Call;
use closing::Closing;
use deadlines::Deadlines;
use exchanges::Exchange;
use held::Held;
use noise::Noise;

use crate::dialect::CapabilitySet;
use crate::handle::{CallId, ConnectionNumber, Place};
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
    /// The handshake has been completed, whatever has happened since.
    was_ready: bool,
    /// What this side offers.
    offered: CapabilitySet,
    inbound: Inbound<Exchange>,
    /// Exchanges that were cancelled together with another one, and wait to be told so.
    marked: VecDeque<Place>,
    outbound: Outbound<Call>,
    /// The call of `initialize` while it is pending.
    initialize: Option<CallId>,
    deadlines: Deadlines,
    held: Held,
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
            was_ready: false,
            offered,
            inbound: Inbound::new(connection),
            marked: VecDeque::new(),
            outbound: Outbound::new(
                connection,
                config.first_call_id.into(),
                limits.remembered_calls,
            ),
            initialize: None,
            deadlines: Deadlines::default(),
            held: Held::new(limits.held_bytes),
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
        self.offered = self.offered.known_to(revision);
        self.session = Some(Session { revision, capabilities: declared.known_to(revision) });
    }

    /// Takes a step. Says whether it made sense.
    pub(crate) fn step(&mut self, step: Step) -> bool {
        let after = self.phase.after(step);
        if let Ok(phase) = after {
            self.phase = phase;
            self.was_ready |= phase.is_ready();
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
