//! What both roles share: exchanges and calls, cancellation, progress, timers, shutdown.
//!
//! [`Server`](crate::Server) and [`Client`](crate::Client) are faces of the symmetric [`Peer`]
//! here: either side asks, answers, cancels and reports progress. What only one role does (the
//! handshake, the typed requests) is in its own module.
//!
//! The table goes up from what everything uses to [`Peer`], with a few exceptions; no two modules
//! use each other. Below all of them is `rpc`: requests and their ids, deadlines, the way out.
//! Modules that hold only the types of one of these are not listed.
//!
//! | modules | what they do |
//! |---|---|
//! | `cx`, `config`, `reception`, `outlets`, `counts`, `event`, `room` | what every call is given: the configuration, the time, the output; limits |
//! | `claim`, `identity`, `context`, `route` | what requests say of themselves, and under which rules that puts them |
//! | `lifecycle`, `session`, `gate`, `rules`, `stamp`, `request_stamp`, `versions` | which revision holds, what may be said now, and what a message of this side carries |
//! | `incoming`, `exchange`, `exchanges`, `batches`, `violations` | requests of the peer until they are answered; what the peer did wrong |
//! | `messages`, `ask`, `held`, `take_back`, `request`, `reply`, `notify`, `progress`, `batch`, `noise` | one side of a connection that knows messages: ask, serve, answer, cancel, notify, report, refuse |
//! | `call_cx`, `pages`, `again`, `gathering`, `check_result`, `wanted_inputs` | what a call is given; lists read page by page; requests made again; results checked |
//! | `remote_task`, `task_inputs`, `task_messages`, `task_snapshot` | calls that become tasks of the peer |
//! | `subscription`, `subscription_state` | subscriptions of this side |
//! | `call_state`, `call_index`, `subscribe`, `session_subscribe` | what a request of this side stands for, and what each kind does when something happens to it |
//! | `bridge`, `listens` | calls of this side made for a request of the peer; subscriptions of the peer |
//! | `hosting`, `task_news` | tasks of this side, as the peer sees them |
//! | `opening`, `keep_alive` | the handshake, pings |
//! | `commands`, `steps`, `receive`, `notification`, `response`, `respond`, `timers`, `closing` | [`Peer`]: what the application, the peer and the clock may do, each as one step |
//! | `call_table` | what can become of a call, checked in builds for fuzzing |

mod again;
mod ask;
mod asked;
mod batch;
mod batches;
mod bridge;
mod cache_hints;
mod call_cx;
mod call_index;
mod call_options;
mod call_state;
#[cfg(any(call_table, fuzzing))]
mod call_table;
mod cancel;
mod carrier_failure;
mod change;
mod check_result;
mod claim;
mod closing;
mod commands;
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
mod for_role;
mod gate;
mod gathering;
mod held;
mod hosting;
mod identity;
mod incoming;
mod incoming_request;
mod inputs;
mod keep_alive;
mod late_probe;
mod lifecycle;
mod listens;
mod messages;
mod noise;
mod notification;
mod notify;
mod opening;
mod outlets;
mod pages;
mod peer_event;
mod progress;
mod progress_report;
mod receive;
mod reception;
mod remote_task;
mod reply;
mod request;
mod request_stamp;
mod respond;
mod response;
mod resumed;
mod room;
mod route;
mod rules;
mod session;
mod session_subscribe;
mod stamp;
mod steps;
mod subscribe;
mod subscription;
mod subscription_state;
mod take_back;
mod task_face;
mod task_inputs;
mod task_messages;
mod task_news;
mod task_snapshot;
mod task_update;
mod timers;
mod transport_error;
mod versions;
mod violations;
mod wanted_inputs;

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
pub(crate) use for_role::ForRole;
pub(crate) use identity::{Identity, client_info, client_info_alone, meta_to_pass_on, server_info};
pub(crate) use incoming_request::IncomingRequest;
pub(crate) use inputs::InputRequested;
pub(crate) use late_probe::LateProbe;
pub(crate) use notify::Notice;
pub(crate) use peer_event::PeerEvent;
pub(crate) use resumed::Resumed;
pub(crate) use route::Role;
pub(crate) use task_face::task_face;
pub(crate) use timers::Elapsed;
pub(crate) use versions::{versions, versions_in};

use alloc::sync::Arc;

use bridge::Bridges;
use call_index::CallIndex;
use call_state::Below;
use keep_alive::Silence;
use listens::Listens;
use messages::Messages;
use opening::Opening;

use crate::capability::{Capability, CapabilitySet};
use crate::dialect::methods::RequestKind;
use crate::dialect::{EraRules, RespondError};
use crate::frame::Frame;
use crate::handle::{CallId, ConnectionNumber, InboundId};
use crate::json::EncodeError;
use crate::lazy_box::LazyBox;
use crate::limits::Limits;
use crate::model::{LoggingLevel, SubscriptionFilter};
use crate::rpc::Ending;
use crate::session::{Phase, Step};
use crate::subscription::{Filter, Interests};
use crate::time::Instant;
use crate::version::{Revision, RevisionSet};

/// One side of a connection, whichever side it is: the script that dispatches what comes in, what is due and what ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Peer {
    messages: Below,
    /// What is known of all calls together.
    index: LazyBox<CallIndex>,
    opening: Opening,
    /// The role has something to hand out.
    has_news: bool,
    /// Subscriptions that requests of the peer keep open.
    listens: LazyBox<Listens>,
    /// Requests of the peer that wait for the input they require.
    bridges: LazyBox<Bridges>,
    keep_alive: LazyBox<Silence>,
    #[cfg(any(call_table, fuzzing))]
    last_states: call_table::LastStates,
}

impl Peer {
    pub(crate) fn new(
        role: Role,
        own: (RevisionSet, CapabilitySet),
        connection: ConnectionNumber,
        config: &ConnectionConfig,
    ) -> Self {
        Self {
            messages: Messages::new(role, own, connection, config),
            index: LazyBox::EMPTY,
            opening: Opening::default(),
            has_news: false,
            listens: LazyBox::EMPTY,
            bridges: LazyBox::EMPTY,
            keep_alive: LazyBox::EMPTY,
            #[cfg(any(call_table, fuzzing))]
            last_states: call_table::LastStates::default(),
        }
    }

    pub(crate) const fn phase(&self) -> Phase {
        self.messages.lifecycle.phase
    }

    pub(crate) const fn session(&self) -> Option<Terms> {
        self.messages.session.terms
    }

    pub(crate) fn connection(&self) -> ConnectionNumber {
        self.messages.connection()
    }

    pub(crate) fn counts(&self) -> Counts {
        self.messages.counts()
    }

    /// Whether a request in this frame would be taken in now, or never: then waiting does not help.
    pub(crate) fn has_room_for(&self, limits: &Limits, frame: &Frame<'_>, unsent: usize) -> bool {
        // Nothing else is in the way but subscriptions, which last until the peer ends them.
        let is_free = self.messages.incoming.table.len() as usize <= self.listens.len();
        (unsent == 0 && is_free) || self.messages.has_room_for(limits, frame, unsent)
    }

    /// The level of log messages that are sent before the peer names another.
    pub(crate) const fn set_log_level(&mut self, level: LoggingLevel) {
        self.messages.interests.set_level(level);
    }

    /// The level of log messages that requests ask for where there are no sessions.
    pub(crate) const fn set_request_level(&mut self, level: Option<LoggingLevel>) {
        self.messages.session.request_level = level;
    }

    /// Stops the clock of the calls, or lets it go on.
    pub(crate) fn set_paused(&mut self, paused: bool, now: Instant) {
        self.messages.outgoing.clock_mut().set_stopped(paused, now);
    }

    /// Opens the session that a handshake has settled.
    pub(crate) fn open_session(&mut self, revision: Revision, theirs: CapabilitySet) {
        self.messages.session.open(revision, theirs);
    }

    /// Goes on without a session. A server that has not said what it offers may offer everything.
    pub(crate) fn open_stateless(&mut self, revision: Revision, theirs: Option<CapabilitySet>) {
        self.messages.session.open_stateless(revision, theirs);
    }

    /// Goes back to where there was no session.
    pub(crate) const fn forget_terms(&mut self) {
        self.messages.session.terms = None;
    }

    /// Something is to be handed out that nothing has brought about.
    pub(crate) const fn set_news(&mut self, has_news: bool) {
        self.has_news = has_news;
    }

    /// Whether this side offers something, in whatever session.
    pub(crate) const fn offers(&self, capability: Capability) -> bool {
        self.messages.session.offered.contains(capability)
    }

    /// Sets who this side is where there are no sessions.
    pub(crate) fn set_identity(&mut self, identity: Arc<Identity>) {
        self.messages.session.set_identity(identity);
    }

    /// Replaces who this side says it is.
    pub(crate) fn identify(&mut self, identity: Option<Identity>) {
        self.messages.session.identity = identity.map(Arc::new);
    }

    pub(crate) fn identity(&self) -> Option<&Identity> {
        self.messages.session.identity()
    }

    /// Whether the identity was released. It has to be set again before a message is received.
    pub(crate) const fn is_anonymous(&self) -> bool {
        self.messages.session.is_anonymous
    }

    /// The rules of the era that both sides have found.
    pub(crate) fn rules(&self) -> &'static EraRules {
        self.messages.session.rules()
    }

    pub(crate) const fn interests(&self) -> &Interests {
        &self.messages.interests
    }

    /// Takes a step of the life of a connection. Returns whether its phase allows it.
    pub(crate) fn take_step(&mut self, step: Step) -> bool {
        self.messages.lifecycle.step(step)
    }

    /// Observes a change of the phase.
    pub(crate) fn observe_phase(&mut self, out: &mut dyn Outlets) {
        self.messages.lifecycle.observe(out);
    }

    /// Bytes of the peer have come in.
    pub(crate) fn heard(&mut self, config: &ConnectionConfig, now: Instant) {
        if let Some(policy) = config.keep_alive {
            self.keep_alive.heard(policy, now);
        }
    }

    /// The context of a request that can still be answered.
    pub(crate) fn context(&self, id: InboundId) -> Option<RequestContext> {
        self.messages.answerable(id).ok().map(|exchange| exchange.context)
    }

    /// Whether a request can still be answered.
    pub(crate) fn check_answerable(&self, id: InboundId) -> Result<(), RespondError> {
        self.messages.answerable(id).map(|_| ())
    }

    /// The requests that can still be answered, in the order they came.
    pub(crate) fn open_requests(&self) -> impl Iterator<Item = InboundId> {
        let open = self.phase() != Phase::Closed;
        let requests = self.messages.incoming.table.iter();
        requests
            .filter(move |(_, exchange)| open && !exchange.marked)
            .map(|(place, _)| InboundId(place))
    }

    /// Takes a request of the peer into the table.
    pub(crate) fn admit(
        &mut self,
        cx: &mut Cx<'_, '_>,
        kind: Option<RequestKind>,
        request: &IncomingRequest<'_, '_>,
    ) -> Result<(InboundId, RequestContext), crate::error::ViolationKind> {
        request::admit(&mut self.messages, cx, kind, request)
    }

    /// Takes a request out of the table that was never handed out.
    pub(crate) fn abandon_request(&mut self, cx: &mut Cx<'_, '_>, id: InboundId) {
        if let Some(taken) = self.messages.take(id, Ending::Closed) {
            self.finish(cx, taken);
        }
    }

    /// Opens a subscription that a request of the peer keeps open.
    pub(crate) fn open_listen(&mut self, id: InboundId, params: &str) -> bool {
        self.listens.open(&self.messages.session, id, params)
    }

    /// Acknowledges a subscription, as far as it has been granted.
    pub(crate) fn acknowledge(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: InboundId,
        granted: Option<&Filter<()>>,
        knows: impl Fn(&str) -> bool,
    ) -> Result<(), EncodeError> {
        if self.listens.is_empty() {
            return Ok(());
        }
        self.listens.acknowledge(&mut self.messages.incoming, id, (granted, knows), cx.out)
    }

    /// The subscriptions that are open or are being opened, in the order they were made.
    pub(crate) fn subscriptions(&self) -> impl Iterator<Item = CallId> {
        self.index.subscriptions.iter().copied()
    }

    /// What subscriptions that were lost had asked for, and those that are still there.
    pub(crate) fn wanted_subscriptions(&self) -> impl Iterator<Item = SubscriptionFilter<'static>> {
        subscribe::wanted(&self.messages, &self.index)
    }

    /// The call that a request of the peer belongs to, because the call has become a task.
    pub(crate) fn needed_for(&self, request: &IncomingRequest<'_, '_>) -> Option<CallId> {
        if self.index.by_task.0.is_empty() {
            return None;
        }
        let related = request.in_meta(crate::task::RELATED)?;
        let id = crate::json::member(related, "taskId").and_then(crate::json::Str::from_literal)?;
        self.index.call_of_task(&id.to_str())
    }

    /// Sends `initialize`, of which the params have this form.
    pub(crate) fn call_initialize<T: serde::ser::Serialize + ?Sized>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        params: &T,
        revision: Revision,
    ) -> Result<(), EncodeError> {
        let asks = (asked::Owner::Initialize, RequestKind::Initialize);
        let form = (revision, cx.config.timeouts.handshake);
        self.opening.ask(&mut self.messages, cx, asks, params, form)
    }

    /// Asks the server what it is, without a session.
    pub(crate) fn call_probe(
        &mut self,
        cx: &mut Cx<'_, '_>,
        revision: Revision,
    ) -> Result<(), EncodeError> {
        let asks = (asked::Owner::Probe, RequestKind::Discover);
        let form = (revision, cx.config.timeouts.probe);
        self.opening.ask(&mut self.messages, cx, asks, &(), form)
    }

    /// Takes the request that opens the connection out of the table: what came of it has been handed out.
    pub(crate) fn forget_opening(&mut self) {
        self.opening.forget(&mut self.messages);
    }

    /// Waits no longer for what the server is.
    pub(crate) fn give_up_probe(&mut self) {
        self.opening.give_up_probe(&mut self.messages);
    }

    /// Answers `server/discover`, by itself. Returns whether it could.
    pub(crate) fn answer_discovery<T: serde::ser::Serialize>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        request: &IncomingRequest<'_, '_>,
        result: &T,
    ) -> bool {
        let own = self.messages.session.identity.clone();
        self.messages.answer_discovery(cx, own.as_deref(), request, result)
    }

    /// Sends something that no caller asked for. Returns whether it could.
    pub(crate) fn send_own(
        &mut self,
        cx: &mut Cx<'_, '_>,
        lane: Lane,
        said: Said<'_>,
        write: impl FnOnce(&mut crate::json::Writer<'_>) -> Result<(), EncodeError>,
    ) -> bool {
        self.messages.send_own(cx, lane, said, write)
    }

    /// Reports how far the work on a request is.
    pub(crate) fn report_progress(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: InboundId,
        report: Progress<'_>,
    ) -> Result<ProgressReport, RespondError> {
        progress::report(&mut self.messages, cx, id, report)
    }

    /// Releases all memory that nothing is in.
    pub(crate) fn release_memory(&mut self) {
        self.messages.release_memory();
        self.index.release();
    }
}
