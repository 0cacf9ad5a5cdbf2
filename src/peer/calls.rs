//! `Calls`: the calls of this side, whatever each of them stands for.

use super::asked::Owner;
use super::call_index::CallIndex;
use super::call_state::Below;
use super::cx::Cx;
use super::incoming_request::IncomingRequest;
use super::opening::Opening;
use super::subscribe;
use crate::dialect::methods::RequestKind;
use crate::handle::CallId;
use crate::json::EncodeError;
use crate::lazy_box::LazyBox;
use crate::model::SubscriptionFilter;
use crate::version::Revision;

/// The calls of this side, and the messages below them.
///
/// A request of this side and what it stands for lie in one entry of `messages.outgoing`. Every entry leaves through
/// `leave`, and every call of the application ends with what `ended` makes of that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Calls {
    pub(super) messages: Below,
    /// What is known of all calls together.
    pub(super) index: LazyBox<CallIndex>,
    pub(super) opening: Opening,
    #[cfg(any(call_table, fuzzing))]
    last_states: super::call_table::LastStates,
}

impl Calls {
    pub(super) fn new(messages: Below) -> Self {
        Self {
            messages,
            index: LazyBox::EMPTY,
            opening: Opening::default(),
            #[cfg(any(call_table, fuzzing))]
            last_states: super::call_table::LastStates::default(),
        }
    }

    /// Checks that what has happened to each call since the last time is a row of the table.
    #[cfg(any(call_table, fuzzing))]
    pub(super) fn check_calls(&mut self) {
        self.last_states.check(&self.messages, &self.index);
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
}

/// # The opening of the connection
impl Calls {
    /// Sends `initialize`, of which the params have this form.
    pub(crate) fn call_initialize<T: serde::ser::Serialize + ?Sized>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        params: &T,
        revision: Revision,
    ) -> Result<(), EncodeError> {
        let asks = (Owner::Initialize, RequestKind::Initialize);
        let form = (revision, cx.config.timeouts.handshake);
        self.opening.ask(&mut self.messages, cx, asks, params, form)
    }

    /// Asks the server what it is, without a session.
    pub(crate) fn call_probe(
        &mut self,
        cx: &mut Cx<'_, '_>,
        revision: Revision,
    ) -> Result<(), EncodeError> {
        let asks = (Owner::Probe, RequestKind::Discover);
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
}
