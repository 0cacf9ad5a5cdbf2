//! `Exchange`: an open request of the peer.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

use super::context::RequestContext;
use super::inputs::Need;
use super::progress_report::Delayed;
use crate::dialect::methods::RequestKind;
use crate::dialect::{EraRules, Kept};
use crate::frame::Serial;
use crate::handle::Place;
use crate::json::Number;
use crate::rpc::Recycle;

/// A text that `Debug` leaves out.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Unprinted(pub(super) String);

impl fmt::Debug for Unprinted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.len().fmt(formatter)
    }
}

/// What is kept of a request until it is answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Exchange {
    pub(super) context: RequestContext,
    /// What is asked for; nothing if MCP does not have it or the machine is not to look.
    pub(super) kind: Option<RequestKind>,
    pub(super) kept: Kept,
    /// What it is needed for, if the machine has made it of the answer to a call.
    pub(super) need: Option<Need>,
    /// It passes without being looked at.
    pub(super) is_relayed: bool,
    /// The latest message about it that was put into the outbox.
    pub(super) last_output: Option<Serial>,
    /// The batch it came in.
    pub(super) batch: Option<Place>,
    /// What notifications about it name it by, a literal: its progress token, empty if it has none, or
    /// its id if it is a subscription.
    pub(super) token: String,
    pub(super) progress: Option<Number>,
    pub(super) delayed: Option<Box<Delayed>>,
    /// The metadata by which it belongs to a task of the peer, and its answer, too: a literal. Empty if it
    /// belongs to none.
    pub(super) related: Unprinted,
    /// The peer has cancelled it, and the application has not been told yet.
    pub(super) marked: bool,
    /// What counts for it towards [`Limits::connection_bytes`](crate::Limits::connection_bytes).
    pub(super) bytes: usize,
}

impl Exchange {
    /// Whether its sender wants a task, and not its result.
    pub(super) const fn asks_for_task(&self) -> bool {
        self.context.task.is_some() && self.rules().tasks.asked_for
    }

    /// The rules of the era that it belongs to.
    pub(super) const fn rules(&self) -> &'static EraRules {
        self.context.revision.rules()
    }
}

impl Recycle for Exchange {
    fn recycle(&mut self) {
        self.context = RequestContext::default();
        self.kind = None;
        self.kept.clear();
        self.need = None;
        self.is_relayed = false;
        self.last_output = None;
        self.batch = None;
        self.token.clear();
        self.progress = None;
        self.delayed = None;
        self.related.0.clear();
        self.marked = false;
        self.bytes = 0;
    }
}
