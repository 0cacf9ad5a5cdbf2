//! `Calls`: the calls of this side, of every kind.

use super::call_index::CallIndex;
use super::call_state::Below;
use super::incoming_request::IncomingRequest;
use super::opening::Opening;
use super::subscribe;
use crate::handle::CallId;
use crate::lazy_box::LazyBox;
use crate::model::SubscriptionFilter;

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

    /// The request that opens the connection, and the messages by which it is made.
    pub(crate) const fn opening(&mut self) -> (&mut Opening, &mut Below) {
        (&mut self.opening, &mut self.messages)
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
