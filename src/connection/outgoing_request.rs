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
use crate::rpc::Recycle;
use crate::task::TaskKey;
use crate::version::RevisionSet;

/// What is kept of a request of ours until it ends.
///
/// `C` is what a call of the application is beyond its request; nothing in the layer of messages looks at it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct OutgoingRequest<C> {
    pub(super) owner: Owner,
    /// What is asked for; `None` if MCP does not have the method or the machine is not to look.
    pub(super) kind: Option<RequestKind>,
    /// The request of the peer because of which the application made this one.
    pub(super) parent: Option<IncomingId>,
    pub(super) route: Route,
    pub(super) sent: Sent,
    pub(super) progress: Wanted,
    pub(super) again: Again,
    /// What the answer has to fit.
    pub(super) kept: Kept,
    /// The version of the list that was asked for, at that time.
    pub(super) list_version: u32,
    /// How the call is to become a task, if it may.
    pub(super) task: Option<Box<TaskOptions>>,
    pub(super) call: C,
}

/// What it takes to send a request again.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Again {
    /// The params; empty if they are not kept.
    pub(super) params: String,
    /// The least severe log messages that are wanted, where each request says so.
    pub(super) level: Option<LoggingLevel>,
    /// What the request declares of what this side can do, if that is not everything.
    pub(super) narrowed: Option<CapabilitySet>,
    /// The revisions for which the request was sent again because the peer named them.
    pub(super) repeated: RevisionSet,
    /// The application deals with input that the peer requires.
    pub(super) by_hand: bool,
}

/// Who gets the answer to a request of ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    /// The application: one handle, one outcome.
    #[default]
    Application,
    /// The application, as long as the subscription lasts.
    Subscription,
    /// Nothing any more: the application has its outcome. The request may still become a task.
    Abandoned,
    /// The role, which opens the session with it. It is never cancelled.
    Initialize,
    /// The role, which asks with it whether there has to be a session. It is never cancelled.
    Probe,
    /// The keep-alive, which asks whether the peer is still there.
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
        /// What is asked about the task.
        kind: PollKind,
    },
}

/// What is asked about a task of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum PollKind {
    Get,
    Result,
    Update,
    Cancel,
}

impl Owner {
    /// Whether the application gets the outcome.
    pub(super) const fn is_application(self) -> bool {
        matches!(self, Self::Application | Self::Subscription)
    }

    /// Whether no event follows when the request ends.
    pub(super) const fn is_silent(self) -> bool {
        matches!(self, Self::Interest | Self::Poll { .. } | Self::Abandoned)
    }
}

/// Where a request was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sent {
    /// Into the queue that waits for the handshake.
    Queued(Serial),
    /// Into the outbox of its route.
    Outbox(Serial),
    /// Into the outbox of its route, together with others in one batch.
    InBatch(Serial),
    /// Nowhere: its id was answered, and it may be sent again under another one.
    Nowhere,
    /// Nowhere any more: it was taken back or could not be sent, and is about to end.
    Withdrawn,
}

impl Sent {
    /// Whether the request may have been sent and has not been answered.
    pub(super) const fn awaits_answer(self) -> bool {
        matches!(self, Self::Outbox(_) | Self::InBatch(_))
    }
}

/// Whether progress is wanted, and the latest that came.
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
    }
}

/// Without what the request says.
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
