//! A request of ours: what is kept of it, how it is made, and why it could not be.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;
use core::time::Duration;

use super::call_options::TaskOptions;
use super::gathering::Gathering;
use super::outlets::Lane;
use super::subscription::Subscription;
use super::tracking::{Step, TaskPart, Tracked};
use super::walk::Walk;
use crate::capability::CapabilitySet;
use crate::dialect::Kept;
use crate::dialect::methods::RequestKind;
use crate::frame::Serial;
use crate::handle::InboundId;
use crate::json::Number;
use crate::model::LoggingLevel;
use crate::rpc::Recycle;
use crate::time::Instant;
use crate::version::RevisionSet;

/// What is kept of a call until it ends.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Call {
    pub(super) purpose: Purpose,
    /// What is called; nothing if MCP does not have it or the machine is not to look.
    pub(super) kind: Option<RequestKind>,
    /// The least severe log messages that are wanted, where that is said with each request.
    pub(super) level: Option<LoggingLevel>,
    /// What it declares of what this side can do, if that is not everything.
    pub(super) narrowed: Option<CapabilitySet>,
    /// What the peer needs before it answers is for the application to see to.
    pub(super) by_hand: bool,
    /// The params, to make the request again with; empty if they are not kept.
    pub(super) params: String,
    /// The revisions for which it was made again because the peer named them.
    pub(super) repeated: RevisionSet,
    /// What the peer needs before it answers.
    pub(super) gathering: Option<Box<Gathering>>,
    /// The peer has needed something before it answered.
    pub(super) needed_input: bool,
    /// When the request is to be made again.
    pub(super) again_at: Option<Instant>,
    /// What is known of a subscription.
    pub(super) subscription: Option<Box<Subscription>>,
    /// The request that it was made because of.
    pub(super) parent: Option<InboundId>,
    pub(super) wants_progress: bool,
    pub(super) progress: Option<Number>,
    /// How long to wait for an answer or progress.
    pub(super) idle: Option<Duration>,
    /// Until when, on the clock that stands still while a person is asked.
    pub(super) idle_deadline: Option<Instant>,
    pub(super) total_deadline: Option<Instant>,
    /// The application has said so for this call, so that it holds whatever becomes of it.
    pub(super) is_bounded: bool,
    /// For how long that clock had stood still when the call was made, and how much longer it may.
    pub(super) lag: Duration,
    pub(super) pause: Option<Duration>,
    pub(super) lane: Lane,
    pub(super) whereabouts: Whereabouts,
    /// What the answer has to fit.
    pub(super) kept: Kept,
    /// How often the list that is asked for had changed when it was asked for.
    pub(super) changes: u32,
    /// What is known of a list that is read page by page.
    pub(super) walk: Option<Box<Walk>>,
    /// What it has to do with a task.
    pub(super) task: Option<Box<TaskPart>>,
}

/// Who made a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    /// The application.
    Application,
    /// The machine, to open the session. It is never cancelled.
    Initialize,
    /// The machine, to find out whether there has to be a session. Nor is this.
    Probe,
    /// The application, and it lasts: a subscription.
    Subscription,
    /// The machine, to hear whether the peer is still there.
    KeepAlive,
    /// The machine, because a subscription of ours in a session wants or wanted a resource.
    Interest,
    /// The machine, because a request of the peer needs something of it.
    Input,
    /// The machine, because a task of this side needs something of the peer.
    TaskQuestion,
    /// The machine, because a call has become a task.
    TaskStep,
    /// The application, which has given it up; it may have become a task.
    Abandoned,
}

/// Where the request was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Whereabouts {
    /// Among what waits for the handshake.
    Held(Serial),
    /// Into the outbox of its lane.
    Lane(Serial),
    /// Into the outbox of its lane, together with others in one batch.
    Batch(Serial),
    /// Nowhere: the peer has answered that it needs something first.
    Answered,
    /// Nowhere any more: it has been taken back or could not be sent, and the call is about to end.
    Withdrawn,
}

impl Default for Call {
    fn default() -> Self {
        Self {
            purpose: Purpose::Application,
            kind: None,
            level: None,
            narrowed: None,
            by_hand: false,
            params: String::new(),
            repeated: RevisionSet::NONE,
            gathering: None,
            needed_input: false,
            again_at: None,
            subscription: None,
            parent: None,
            wants_progress: false,
            progress: None,
            idle: None,
            idle_deadline: None,
            total_deadline: None,
            is_bounded: false,
            lag: Duration::ZERO,
            pause: None,
            lane: Lane::Connection,
            whereabouts: Whereabouts::Lane(Serial::default()),
            kept: Kept::default(),
            changes: 0,
            walk: None,
            task: None,
        }
    }
}

/// Without what it says.
impl fmt::Debug for Call {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Call")
            .field("purpose", &self.purpose)
            .field("kind", &self.kind)
            .field("lane", &self.lane)
            .field("whereabouts", &self.whereabouts)
            .field("idle_deadline", &self.idle_deadline)
            .field("total_deadline", &self.total_deadline)
            .field("again_at", &self.again_at)
            .field("params", &self.params.len())
            .finish_non_exhaustive()
    }
}

impl Call {
    /// Whether its end is told to nobody: the machine has made it for itself, or the application has given
    /// it up.
    pub(super) const fn is_nobodys(&self) -> bool {
        matches!(self.purpose, Purpose::Interest | Purpose::TaskStep | Purpose::Abandoned)
    }

    /// Whether the connection need not wait for it to end: nobody does, or it goes on without the
    /// connection.
    pub(super) fn ends_quietly(&self) -> bool {
        matches!(self.purpose, Purpose::TaskStep | Purpose::Abandoned) || self.tracked().is_some()
    }

    /// Whether the request may have been sent and has not been answered.
    pub(super) const fn awaits_answer(&self) -> bool {
        matches!(self.whereabouts, Whereabouts::Lane(_) | Whereabouts::Batch(_))
    }

    /// Whether the peer may report progress on it: its request may have been sent, and has not been answered, or was
    /// answered with a task.
    pub(super) fn takes_progress(&self) -> bool {
        self.wants_progress
            && (self.awaits_answer() || self.tracked().is_some_and(|task| task.was_answered))
    }

    /// The earliest time at which something is to be done about it.
    pub(super) fn deadline(&self) -> Option<Instant> {
        [self.idle_deadline, self.total_deadline, self.again_at].into_iter().flatten().min()
    }
}

impl Recycle for Call {
    fn recycle(&mut self) {
        let mut kept = core::mem::take(&mut self.kept);
        kept.clear();
        let mut params = core::mem::take(&mut self.params);
        params.clear();
        *self = Self { kept, params, ..Self::default() };
    }
}

impl Call {
    pub(super) fn tracked(&self) -> Option<&Tracked> {
        match self.task.as_deref() {
            Some(TaskPart::Tracked(tracked)) => Some(tracked),
            _ => None,
        }
    }

    pub(super) fn tracked_mut(&mut self) -> Option<&mut Tracked> {
        match self.task.as_deref_mut() {
            Some(TaskPart::Tracked(tracked)) => Some(tracked),
            _ => None,
        }
    }

    pub(super) fn step(&self) -> Option<Step> {
        match self.task.as_deref() {
            Some(TaskPart::Step(step)) => Some(*step),
            _ => None,
        }
    }

    /// How it is to become a task, if it is.
    pub(super) fn task_options(&self) -> Option<TaskOptions> {
        match self.task.as_deref() {
            Some(TaskPart::Wanted(options)) => Some(*options),
            _ => None,
        }
    }
}
