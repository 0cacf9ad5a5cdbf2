//! `OutgoingRequest`: the state of a request of this side, and `Owner`: the receiver of its response.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

use super::call_options::TaskOptions;
use super::outboxes::Route;
use crate::capability::CapabilitySet;
use crate::dialect::Kept;
use crate::dialect::methods::RequestKind;
use crate::frame::Serial;
use crate::handle::{CallId, IncomingId};
use crate::json::Number;
use crate::model::LoggingLevel;
use crate::rpc::{Recycle, ResultType};
use crate::task::TaskKey;
use crate::version::RevisionSet;

/// The state of a request of this side until it ends.
///
/// `C` is the state of a call of the application beyond its request. The layer of messages never inspects it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct OutgoingRequest<C> {
    pub(super) owner: Owner,
    /// The requested method; `None` if MCP does not have it or it is relayed unchecked.
    pub(super) kind: Option<RequestKind>,
    /// The request of the peer that the application makes this request for.
    pub(super) parent: Option<IncomingId>,
    pub(super) route: Route,
    pub(super) sent: Sent,
    pub(super) progress: Wanted,
    pub(super) again: Again,
    /// The part of the params that the result is checked against.
    pub(super) kept: Kept,
    /// The version of the requested list when the request was made.
    pub(super) list_version: u32,
    /// The task options of the call, if it may become a task.
    pub(super) task: Option<Box<TaskOptions>>,
    pub(super) call: C,
}

/// The data that is needed to send a request again.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Again {
    /// The params; empty if they are not kept.
    pub(super) params: String,
    /// The minimum level of log messages, in an era where each request declares it.
    pub(super) level: Option<LoggingLevel>,
    /// The capabilities that the request declares, if fewer than all of this side.
    pub(super) narrowed: Option<CapabilitySet>,
    /// The revisions that the peer named and the request was sent again for.
    pub(super) repeated: RevisionSet,
    /// Whether the application itself handles input that the peer requires.
    pub(super) by_hand: bool,
    /// Whether the request was sent with everything that the peer needs to serve it, without a session.
    pub(super) is_self_contained: bool,
}

/// The receiver of the response to a request of this side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    /// The application: one handle, one outcome.
    #[default]
    Application,
    /// The application, for the lifetime of the subscription.
    Subscription,
    /// No receiver any more: the application has its outcome. The request may still become a task.
    Abandoned,
    /// The role, which opens the session with it. The request is never cancelled.
    Initialize,
    /// The role, which probes whether a session is needed. The request is never cancelled.
    Probe,
    /// The keep-alive, which pings a silent peer.
    KeepAlive,
    /// A subscription in a session, which subscribes to a resource or unsubscribes from one.
    Interest,
    /// A request of the peer that requires input.
    Input(IncomingId),
    /// A task of this side that requires input.
    TaskInput(TaskKey),
    /// A call that has become a task of the peer.
    Poll {
        /// The call.
        of: CallId,
        /// The kind of the request about the task.
        kind: PollKind,
    },
}

/// The kind of a request about a task of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum PollKind {
    Get,
    Result,
    Update,
    Cancel,
}

impl PollKind {
    /// Whether a result of this type is valid. The examples of the extension answer `tasks/get` with `task`.
    pub(super) fn takes(self, result_type: ResultType) -> bool {
        match result_type {
            ResultType::Absent | ResultType::Complete => true,
            ResultType::Task => self == Self::Get,
            _ => false,
        }
    }
}

impl Owner {
    /// Whether the application gets the outcome.
    pub(super) const fn is_application(self) -> bool {
        matches!(self, Self::Application | Self::Subscription)
    }

    /// Whether each elicitation by URL is a new one. A task may ask for the same input again, on another stream or in a
    /// restored session.
    pub(super) const fn elicits_once(self) -> bool {
        !matches!(self, Self::TaskInput(_))
    }

    /// Whether the request cancels a task. Such a request may be made while the connection drains.
    pub(super) const fn cancels_task(self) -> bool {
        matches!(self, Self::Poll { kind: PollKind::Cancel, .. })
    }

    /// Whether the end of the request returns no event.
    pub(super) const fn is_silent(self) -> bool {
        matches!(self, Self::Interest | Self::Poll { .. } | Self::Abandoned)
    }
}

/// The queue or outbox that a request was put into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sent {
    /// The queue that waits for the handshake.
    Queued(Serial),
    /// The outbox of its route.
    Outbox(Serial),
    /// The outbox of its route, as an element of a batch.
    InBatch(Serial),
    /// No queue or outbox: the old id was answered, and the request may be sent again under a new one.
    Nowhere,
    /// No queue or outbox any more: the request was withdrawn or could not be sent, and is about to end.
    Withdrawn,
}

impl Sent {
    /// Whether the request may have been sent and has no response yet.
    pub(super) const fn awaits_answer(self) -> bool {
        matches!(self, Self::Outbox(_) | Self::InBatch(_))
    }
}

/// Whether progress is requested, and the latest progress received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Wanted {
    #[default]
    Unwanted,
    Wanted(Option<Number>),
}

impl Wanted {
    pub(super) const fn is_wanted(self) -> bool {
        matches!(self, Self::Wanted(_))
    }

    /// Forgets the latest progress, because the request is sent under another id.
    pub(super) const fn restart(&mut self) {
        if let Self::Wanted(latest) = self {
            *latest = None;
        }
    }
}

impl<C> OutgoingRequest<C> {
    /// Whether the request stays in its outbox when it ends before it is sent. The application has learned that the peer
    /// is notified of the cancellation.
    pub(super) const fn stays_in_outbox(&self) -> bool {
        self.owner.cancels_task() && matches!(self.sent, Sent::Outbox(_))
    }
}

impl<C: Default> Default for OutgoingRequest<C> {
    fn default() -> Self {
        Self {
            owner: Owner::Application,
            kind: None,
            parent: None,
            route: Route::Connection,
            sent: Sent::Outbox(Serial::default()),
            progress: Wanted::Unwanted,
            again: Again::default(),
            kept: Kept::default(),
            list_version: 0,
            task: None,
            call: C::default(),
        }
    }
}

impl<C: Recycle> Recycle for OutgoingRequest<C> {
    fn recycle(&mut self) {
        self.owner = Owner::Application;
        self.kind = None;
        self.parent = None;
        self.route = Route::Connection;
        self.sent = Sent::Outbox(Serial::default());
        self.progress = Wanted::Unwanted;
        self.again.recycle();
        self.kept.clear();
        self.list_version = 0;
        self.task = None;
        self.call.recycle();
    }
}

impl Default for Again {
    fn default() -> Self {
        Self {
            params: String::new(),
            level: None,
            narrowed: None,
            repeated: RevisionSet::NONE,
            by_hand: false,
            is_self_contained: false,
        }
    }
}

impl Recycle for Again {
    fn recycle(&mut self) {
        self.params.clear();
        self.level = None;
        self.narrowed = None;
        self.repeated = RevisionSet::NONE;
        self.by_hand = false;
        self.is_self_contained = false;
    }
}

/// Leaves out the content of the request.
impl<C: fmt::Debug> fmt::Debug for OutgoingRequest<C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("OutgoingRequest")
            .field("owner", &self.owner)
            .field("kind", &self.kind)
            .field("route", &self.route)
            .field("sent", &self.sent)
            .field("params", &self.again.params.len())
            .field("call", &self.call)
            .finish_non_exhaustive()
    }
}
