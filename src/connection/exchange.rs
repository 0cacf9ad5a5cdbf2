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
use crate::handle::SlotKey;
use crate::json::Number;
use crate::rpc::Recycle;

/// A text that `Debug` omits.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Unprinted(pub(super) String);

impl fmt::Debug for Unprinted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.len().fmt(formatter)
    }
}

/// The state of a request of the peer until it is answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Exchange {
    pub(super) context: RequestContext,
    /// The kind of the request; `None` if MCP does not define the method or the request is relayed.
    pub(super) kind: Option<RequestKind>,
    pub(super) kept: Kept,
    /// The input of a call that the request stands for, if the machine made the request from the response to that
    /// call.
    pub(super) need: Option<Need>,
    /// Whether the request is relayed without validation.
    pub(super) is_relayed: bool,
    /// The latest message about the request that was put into the outbox.
    pub(super) last_output: Option<Serial>,
    /// The batch that contains the request.
    pub(super) batch: Option<SlotKey>,
    /// The token in notifications about the request, a JSON literal: its progress token (empty if it has none), or
    /// the id of the request if it is a subscription.
    pub(super) token: String,
    pub(super) progress: Option<Number>,
    pub(super) delayed: Option<Box<Delayed>>,
    /// The metadata that associates the request and its response with a task of the peer, a JSON literal. Empty if
    /// there is no such task.
    pub(super) related: Unprinted,
    /// Whether the request was cancelled and the application has not received the event yet.
    pub(super) marked: bool,
    /// The bytes that count towards [`Limits::connection_bytes`](crate::Limits::connection_bytes).
    pub(super) bytes: usize,
}

impl Exchange {
    /// Whether the sender asks for a task instead of the result.
    pub(super) const fn asks_for_task(&self) -> bool {
        self.context.task.is_some() && self.rules().tasks.asked_for
    }

    /// Returns the rules of the era of the request.
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
