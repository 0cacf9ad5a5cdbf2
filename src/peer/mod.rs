//! What both roles share: exchanges and calls, cancellation, progress, timers, shutdown.
//!
//! [`Server`](crate::Server) and [`Client`](crate::Client) are faces of the symmetric [`Peer`]
//! here: either side asks, answers, cancels and reports progress. What only one role does (the
//! handshake, the typed requests) is in its own module.
//!
//! | file | what it does |
//! |---|---|
//! | `receive` | frames in: told apart |
//! | `claim`, `identity`, `context` | what requests say of themselves, and under which rules that puts them |
//! | `request`, `route` | requests of the peer: served or refused |
//! | `notification`, `response` | notifications and responses of the peer |
//! | `exchanges`, `answer`, `progress` | requests that have been taken in: answer, report, drop |
//! | `batches`, `batch` | batches of the peer, and of ours |
//! | `gate`, `rules` | what may be said now, and what comes of what a message holds |
//! | `call_table` | what can become of a call, checked in builds for fuzzing |
//! | `call`, `calls`, `pending`, `held`, `repeat`, `cancel` | requests of ours: make, hold, make again, end, give up |
//! | `carrier` | calls that end because of what carries them |
//! | `pages` | lists that are read page by page |
//! | `hosting`, `task_news` | tasks of this side, as the peer sees them |
//! | `task_calls`, `tracking`, `polling`, `task_inputs`, `giving_up_tasks` | calls that become tasks of the peer |
//! | `notify`, `elicitations` | notifications of ours, and who wants them |
//! | `timers`, `clock`, `keep_alive` | what is due when |
//! | `closing` | how a connection ends |
//! | `noise` | what is not a message |
//! | `release` | memory that is not needed |

mod answer;
mod batch;
mod batches;
mod bridge;
mod cache_hints;
mod call;
mod call_options;
#[cfg(any(call_table, fuzzing))]
mod call_table;
mod calls;
mod cancel;
mod carrier;
mod carrier_failure;
mod change;
mod claim;
mod clock;
mod closing;
mod config;
mod context;
mod counts;
mod cx;
mod detail;
mod elicitations;
mod event;
mod exchange;
mod exchanges;
mod face;
mod gate;
mod gather;
mod gathering;
mod giving_up_tasks;
mod held;
mod hosting;
mod identity;
mod incoming;
mod incoming_request;
mod keep_alive;
mod late_probe;
mod listens;
mod noise;
mod notification;
mod notify;
mod opening;
mod outlets;
mod pages;
mod peer_event;
mod pending;
mod polling;
mod progress;
mod progress_report;
mod rare;
mod receive;
mod reception;
mod release;
mod repeat;
mod request;
mod request_stamp;
mod response;
mod resumed;
mod route;
mod rules;
mod session_subscribe;
mod stamp;
mod subscribe;
mod subscription;
mod task_calls;
mod task_face;
mod task_inputs;
mod task_news;
mod task_update;
mod timers;
mod tracking;
mod transport_error;
mod versions;
mod waiting;
mod walk;
mod withdrawn_inputs;

pub use batch::{Batch, BatchError};
pub use cache_hints::{CacheHint, CacheHints};
pub use call_options::TaskOptions;
pub use call_options::{CallError, CallOptions, Timeout};
pub use cancel::{CancelError, Cancellation};
pub use carrier_failure::{CarrierFailure, CarrierFailureKind, ExchangeEnd};
pub use config::{
    CapabilityPolicy, ConnectionConfig, DuplicateIds, KeepAlive, Relay, RepliesWithoutId, Timeouts,
    UnknownMethods,
};
pub use context::{RequestContext, TaskRequest};
pub use counts::Counts;
pub use event::{
    CallEnded, CancelCause, Cancelled, Cause, Expiry, ListPage, Notification, Outcome,
    PagesRestarted, ProgressUpdate, RestartCause, Stray, TaskAnswer, Violation,
};
pub use notify::{Delivery, NotifyError};
pub use outlets::{Arrival, Lane, Observation, Outlets};
pub use pages::Paging;
pub use progress_report::{Progress, ProgressReport};
pub use subscription::{SubscriptionEnd, SubscriptionNews, SubscriptionUpdate};
pub use task_update::{BegunTask, OrphanTask, TaskTicket, TaskUpdate};
pub use transport_error::{TransportError, TransportErrorKind};

pub(crate) use change::Change;
#[cfg(feature = "http")]
pub(crate) use claim::Claim;
pub(crate) use context::Terms;
pub(crate) use cx::Cx;
pub(crate) use detail::Detail;
pub(crate) use exchanges::Said;
pub(crate) use face::peer_face;
pub(crate) use gathering::InputRequested;
pub(crate) use identity::{Identity, client_info, client_info_alone, meta_to_pass_on, server_info};
pub(crate) use incoming::Incoming;
pub(crate) use incoming_request::IncomingRequest;
pub(crate) use late_probe::LateProbe;
pub(crate) use notify::Notice;
pub(crate) use peer_event::PeerEvent;
pub(crate) use rare::Rare;
pub(crate) use resumed::Resumed;
pub(crate) use route::Role;
pub(crate) use task_face::task_face;
pub(crate) use timers::Elapsed;
pub(crate) use versions::{versions, versions_in};

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use batches::Batches;
use bridge::Bridges;
use clock::Clock;
use closing::Closing;
use elicitations::Elicitations;
use exchange::Exchange;
use gathering::Stuck;
use held::Held;
use keep_alive::Silence;
use listens::Listens;
use noise::Noise;
use pending::Pending;
use rare::Empty;
use task_calls::TrackedCalls;
use walk::Changes;

use crate::capability::{Capability, CapabilitySet};
use crate::dialect::EraRules;
use crate::frame::Frame;
use crate::handle::{CallId, ConnectionNumber, Place};
use crate::limits::Limits;
use crate::model::LoggingLevel;
use crate::rpc::{Deadlines, Inbound, PlaceQueue};
use crate::session::{Phase, Step};
use crate::subscription::{Filter, Interests};
use crate::version::{Revision, RevisionSet};

/// The state of one side of a connection, whichever side it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Peer {
    role: Role,
    phase: Phase,
    /// The phase that was last observed.
    observed: Phase,
    session: Option<Terms>,
    /// The revisions that this side speaks.
    spoken: RevisionSet,
    /// What this side says of itself where there are no sessions.
    identity: Option<Arc<Identity>>,
    /// The handshake has been completed, whatever has happened since.
    was_ready: bool,
    /// What this side offers.
    offered: CapabilitySet,
    inbound: Inbound<Exchange>,
    /// What counts for all of them towards [`Limits::connection_bytes`](crate::Limits::connection_bytes).
    inbound_bytes: usize,
    /// How many of these ask for a resource to be told of.
    asked_subscriptions: u32,
    /// Exchanges that were cancelled together with another one, and wait to be told so.
    marked: Rare<VecDeque<(Place, CancelCause)>>,
    outbound: Pending,
    /// The call by which the connection is opened, while it is pending.
    initialize: Option<CallId>,
    /// It is not known what the peer offers.
    assumes_all: bool,
    /// The role has something to hand out.
    has_news: bool,
    /// The level of log messages that requests of ours ask for.
    request_level: Option<LoggingLevel>,
    /// Where the params of the next call are put.
    spare: String,
    unsettled: Rare<Unsettled>,
    /// When calls expire, on the clock that stands still while a person is asked.
    deadlines: Deadlines,
    clock: Clock,
    /// Until when no further progress may be sent, per request.
    progress_deadlines: Rare<Deadlines>,
    batches: Rare<Batches>,
    held: Rare<Held>,
    /// What the peer wants to be told.
    interests: Interests,
    elicitations: Elicitations,
    /// Subscriptions that requests of the peer keep open.
    listens: Rare<Listens>,
    /// Requests of the peer that wait for what it is asked for.
    bridges: Rare<Bridges>,
    /// The calls that have become tasks of the peer.
    tracked: Rare<TrackedCalls>,
    /// When something is to be done about those, on a clock that never stands still.
    polls: Rare<Deadlines>,
    /// A request that stands alone has been served.
    has_served_alone: bool,
    /// Who this side is has been let go of, and is to be said again before it is needed.
    is_anonymous: bool,
    /// How often the lists of the peer have changed.
    changes: Changes,
    silence: Rare<Silence>,
    closing: Closing,
    noise: Noise,
    #[cfg(any(call_table, fuzzing))]
    last_states: call_table::LastStates,
}

/// What is left to do about calls, on the few connections where something is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Unsettled {
    /// The id of the question whether there has to be a session, if that was given up.
    late_probe: Option<u64>,
    /// Requests to the application that it has not been told of.
    needs: PlaceQueue,
    /// Calls that cannot go on, because the application refused what they needed.
    given_up: VecDeque<(CallId, Stuck)>,
    /// Calls that were made without knowing what time it is.
    undated: VecDeque<CallId>,
    /// Subscriptions of which something came too early.
    early: VecDeque<CallId>,
    /// Resources that no subscription wants any more.
    unwanted: VecDeque<String>,
    /// Requests for resources of subscriptions that have ended meanwhile, with those resources.
    orphaned: Vec<(CallId, String)>,
    /// What subscriptions asked for that were lost.
    lost_subscriptions: Vec<Filter<()>>,
}

impl Empty for Unsettled {
    const EMPTY: &'static Self = &Self {
        late_probe: None,
        needs: PlaceQueue::EMPTY,
        given_up: VecDeque::new(),
        undated: VecDeque::new(),
        early: VecDeque::new(),
        unwanted: VecDeque::new(),
        orphaned: Vec::new(),
        lost_subscriptions: Vec::new(),
    };
}

impl Unsettled {
    /// Whether there is something to hand out.
    fn has_news(&self) -> bool {
        !(self.needs.is_empty()
            && self.given_up.is_empty()
            && self.undated.is_empty()
            && self.early.is_empty()
            && self.unwanted.is_empty())
    }
}

impl Peer {
    pub(crate) fn new(
        role: Role,
        (spoken, offered): (RevisionSet, CapabilitySet),
        connection: ConnectionNumber,
        config: &ConnectionConfig,
    ) -> Self {
        let limits = &config.limits;
        Self {
            role,
            phase: Phase::Opening,
            observed: Phase::Opening,
            session: None,
            spoken,
            identity: None,
            was_ready: false,
            offered,
            inbound: Inbound::new(connection),
            inbound_bytes: 0,
            asked_subscriptions: 0,
            marked: Rare::EMPTY,
            outbound: Pending::new(
                connection,
                config.first_call_id.into(),
                limits.remembered_calls,
            ),
            initialize: None,
            assumes_all: false,
            has_news: false,
            request_level: None,
            spare: String::new(),
            unsettled: Rare::EMPTY,
            deadlines: Deadlines::default(),
            clock: Clock::default(),
            progress_deadlines: Rare::EMPTY,
            polls: Rare::EMPTY,
            batches: Rare::EMPTY,
            held: Rare::EMPTY,
            interests: Interests::new(LoggingLevel::Debug),
            elicitations: Elicitations::default(),
            listens: Rare::EMPTY,
            bridges: Rare::EMPTY,
            tracked: Rare::EMPTY,
            has_served_alone: false,
            is_anonymous: false,
            changes: Changes::default(),
            silence: Rare::EMPTY,
            closing: Closing::default(),
            noise: Noise::default(),
            #[cfg(any(call_table, fuzzing))]
            last_states: call_table::LastStates::default(),
        }
    }

    pub(crate) const fn phase(&self) -> Phase {
        self.phase
    }

    pub(crate) const fn session(&self) -> Option<Terms> {
        self.session
    }

    pub(crate) fn connection(&self) -> ConnectionNumber {
        self.outbound.connection()
    }

    /// How many bytes are kept of the peer, apart from what the tables take themselves: its requests that have
    /// not been answered, answers that wait for others of their batch, what it has given as input, and what it is
    /// subscribed to.
    pub(super) fn kept_bytes(&self) -> usize {
        [
            self.batches.bytes(),
            self.bridges.bytes(),
            self.interests.bytes(),
            self.outbound.kept_bytes(),
        ]
        .into_iter()
        .fold(self.inbound_bytes, usize::saturating_add)
    }

    /// Whether a request in this frame would be taken in now, or never: then waiting does not help.
    pub(crate) fn has_room_for(&self, limits: &Limits, frame: &Frame<'_>, unsent: usize) -> bool {
        // Nothing else is in the way but subscriptions, which last until the peer ends them.
        if unsent == 0 && self.inbound.len() as usize <= self.listens.len() {
            return true;
        }
        self.inbound.len() < limits.inbound_requests
            && (!frame.begins_batch() || self.batches.has_room(limits.batches))
            && self.may_keep(limits, exchanges::bytes_of(frame.bytes()).saturating_add(unsent))
    }

    /// Whether so many bytes more may be kept.
    pub(super) fn may_keep(&self, limits: &Limits, bytes: usize) -> bool {
        self.kept_bytes().saturating_add(bytes) <= limits.connection_bytes
            || mutant!("kept_bytes_are_not_bounded")
    }

    /// The level of log messages that are sent before the peer names another.
    pub(crate) const fn set_log_level(&mut self, level: LoggingLevel) {
        self.interests.set_level(level);
    }

    /// Stops the clock of the calls, or lets it go on.
    pub(crate) fn set_paused(&mut self, paused: bool, now: crate::time::Instant) {
        self.clock.set_stopped(paused, now);
    }

    /// Opens the session that a handshake has settled, or what stands for it on a client where there
    /// are none.
    pub(crate) fn open_session(&mut self, revision: Revision, theirs: CapabilitySet) {
        let ours = self.offered.known_to(revision);
        self.session = Some(Terms { revision, ours, theirs: theirs.known_to(revision) });
    }

    /// Whether this side offers something, in whatever session.
    pub(crate) const fn offers(&self, capability: Capability) -> bool {
        self.offered.contains(capability)
    }

    /// Says who this side is where there are no sessions.
    pub(crate) fn set_identity(&mut self, identity: Arc<Identity>) {
        self.identity = Some(identity);
        self.is_anonymous = false;
    }

    pub(crate) fn identity(&self) -> Option<&Identity> {
        self.identity.as_deref()
    }

    /// The rules of the era that both sides have found, [`EraRules::UNDECIDED`] before.
    pub(crate) fn rules(&self) -> &'static EraRules {
        self.session.map_or(&EraRules::UNDECIDED, |terms| terms.revision.rules())
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
