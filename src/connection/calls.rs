//! `Calls`: the calls of this side, of every kind.

use super::call_index::CallIndex;
use super::call_state::Below;
use super::incoming_request::IncomingRequest;
use super::opening::Opening;
use super::outboxes::Route;
use super::subscribe;
use crate::handle::CallId;
use crate::lazy_box::LazyBox;
use crate::model::SubscriptionFilter;

/// The calls of this side, and the messages below them.
///
/// One entry of `messages.outgoing` holds a request of this side and the call that it belongs to. Every entry is
/// removed through `leave`. `ended` makes the last event of every call of the application from the result of `leave`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Calls {
    pub(super) messages: Below,
    /// The indexes and queues over all calls.
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

    /// Returns the request that opens the connection, and the messages layer that sends it.
    pub(crate) const fn opening(&mut self) -> (&mut Opening, &mut Below) {
        (&mut self.opening, &mut self.messages)
    }

    /// Checks that the change of each call since the last check is a row of the table.
    #[cfg(any(call_table, fuzzing))]
    pub(super) fn check_calls(&mut self) {
        self.last_states.check(&self.messages, &self.index);
    }

    /// Returns the subscriptions that are open or are being opened, in the order they were made.
    pub(crate) fn subscriptions(&self) -> impl Iterator<Item = CallId> {
        self.index.subscriptions.iter().copied()
    }

    /// Returns the filters of lost subscriptions, and of those that still exist.
    pub(crate) fn wanted_subscriptions(&self) -> impl Iterator<Item = SubscriptionFilter<'static>> {
        subscribe::wanted(&self.messages, &self.index)
    }

    /// Returns the call that a request of the peer belongs to: that of its task, or the one on whose route it was
    /// received.
    pub(crate) fn needed_for(&self, request: &IncomingRequest<'_, '_>) -> Option<CallId> {
        let is_pending = |call: CallId| {
            let asked = self.messages.outgoing.get(call.0);
            asked.is_some_and(|asked| asked.owner.is_application())
        };
        let by_route = || match request.received.route {
            Route::Call(call) if is_pending(call) => Some(call),
            _ => None,
        };
        call_of_task(&self.index, request).or_else(by_route)
    }
}

/// Returns the call whose task a request of the peer belongs to.
fn call_of_task(index: &CallIndex, request: &IncomingRequest<'_, '_>) -> Option<CallId> {
    if index.by_task.0.is_empty() {
        return None;
    }
    let related = request.in_meta(crate::task::RELATED)?;
    let id = crate::json::member(related, "taskId").and_then(crate::json::Str::from_literal)?;
    index.call_of_task(&id.to_str())
}
