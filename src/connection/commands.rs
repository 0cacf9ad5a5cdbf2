//! The commands of the application for calls: make, cancel, resume.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::call_capacity::{has_room, has_room_for, make_room};
use super::call_cx::CallCx;
use super::call_options::{CallError, CallOptions, TaskOptions, Timeout};
use super::call_state::{Call, CallState};
use super::calls::Calls;
use super::cancel::{CancelError, Cancellation};
use super::cx::Cx;
use super::messages::Messages;
use super::outgoing_request::{OutgoingRequest, Owner, PollKind, Sent};
use super::pages::{PageParams, Pages, Paging};
use super::remote_task::RemoteTask;
use super::subscribe::ListenParams;
use super::subscription::{Subscription, SubscriptionOrigin};
use super::subscription_state::subscription_mut;
use super::task_messages::poll;
use super::task_update::TaskTicket;
use super::{Batch, BatchError};
use crate::dialect::NotAllowed;
use crate::dialect::features::Feature;
use crate::dialect::methods::RequestKind;
use crate::handle::{CallId, IncomingId};
use crate::interests::Filter;
use crate::json::Raw;
use crate::model::SubscriptionFilter;
use crate::rpc::{Ending, GivenUp, Patience, Wait};
use crate::schema::Payload;

/// # Commands about calls
impl Calls {
    /// Makes a call.
    pub(crate) fn call(
        &mut self,
        cx: &mut Cx<'_, '_>,
        method: &str,
        params: &dyn Payload,
        options: CallOptions,
    ) -> Result<CallId, CallError> {
        let has_room = has_room(&self.messages, &self.index, cx);
        let owner = Owner::Application;
        let mut order = self.messages.order(cx, method, owner, options, has_room)?;
        let call = self.messages.ask(cx, &mut order, method, params)?;
        make_room(&mut self.messages, &mut self.index, cx);
        #[cfg(any(call_table, fuzzing))]
        self.check_calls();
        Ok(call)
    }

    /// Requests a list, and its further pages as they are received.
    pub(crate) fn list(
        &mut self,
        cx: &mut Cx<'_, '_>,
        method: (&'static str, &'static str),
        paging: Paging,
        options: CallOptions,
    ) -> Result<CallId, CallError> {
        let call = self.call(cx, method.0, &PageParams { cursor: None }, options)?;
        if let Some(asked) = self.messages.outgoing.get_mut(call.0) {
            asked.call.state = CallState::Pages(Box::new(Pages::new(method, paging)));
        }
        Ok(call)
    }

    /// Opens a subscription to the changes that a filter names.
    pub(crate) fn subscribe(
        &mut self,
        cx: &mut Cx<'_, '_>,
        filter: &SubscriptionFilter<'_>,
        origin: SubscriptionOrigin,
    ) -> Result<CallId, CallError> {
        let text = Raw::from_serialize(filter)?;
        let requested = Filter::read(text.as_json());
        let subscription = Subscription { requested, origin, ..Subscription::default() };
        if self.messages.session.rules().updates.session_subscribes {
            return self.subscribe_in_session(cx, subscription);
        }
        let method = RequestKind::Listen.rule().name;
        let idle = cx.config.timeouts.acknowledgement.map_or(Timeout::Never, Timeout::After);
        let options = CallOptions::new().idle(idle).total(Timeout::Never);
        let has_room = has_room(&self.messages, &self.index, cx);
        let owner = Owner::Subscription;
        let mut order = self.messages.order(cx, method, owner, options, has_room)?;
        order.asked.call.state = CallState::Subscription(Box::new(subscription));
        let call = self.messages.ask(cx, &mut order, method, &ListenParams(&text))?;
        let outgoing = &mut self.messages.outgoing;
        if outgoing.get(call.0).is_some_and(|asked| matches!(asked.sent, Sent::Queued(_))) {
            // The server has time to grant the subscription once it is asked for it: see `flush_held`.
            outgoing.wait(call.0, Wait::Retry(None), cx.now);
        }
        self.index.subscriptions.push_back(call);
        make_room(&mut self.messages, &mut self.index, cx);
        #[cfg(any(call_table, fuzzing))]
        self.check_calls();
        Ok(call)
    }

    /// Opens a subscription in a session. The legacy era has no request that keeps one open.
    fn subscribe_in_session(
        &mut self,
        cx: &mut Cx<'_, '_>,
        subscription: Subscription,
    ) -> Result<CallId, CallError> {
        if !self.messages.lifecycle.phase.takes_calls() {
            return Err(CallError::Closed);
        }
        let resources = subscription.requested.resources.len();
        let needed = u32::try_from(resources).unwrap_or(u32::MAX).saturating_add(1);
        if !has_room_for(&self.messages, &self.index, cx, needed) {
            return Err(CallError::TooManyCalls);
        }
        let state = CallState::Subscription(Box::new(subscription));
        let mut asked = OutgoingRequest {
            owner: Owner::Subscription,
            // No request is in flight under the id of the subscription.
            sent: Sent::Nowhere,
            call: Call { state, ..Call::default() },
            ..OutgoingRequest::default()
        };
        let call = self.messages.register(cx, &mut asked, Patience::default());
        self.index.subscriptions.push_back(call);
        make_room(&mut self.messages, &mut self.index, cx);
        self.in_sessions().begin(cx, call);
        Ok(call)
    }

    /// Sends the messages that `fill` adds as one batch, or nothing at all.
    pub(crate) fn batch<R, E: From<BatchError>>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        fill: impl FnOnce(&mut Batch<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        let Messages { session, lifecycle, .. } = &self.messages;
        let negotiated = session.negotiated.filter(|_| lifecycle.phase.is_ready());
        if !Feature::Batches.is_in(negotiated.ok_or(BatchError::NotReady)?.revision) {
            return Err(BatchError::NotInRevision.into());
        }
        let mut batch = Batch::new(self, cx);
        let filled = fill(&mut batch)?;
        batch.send(cx.out).map_err(BatchError::from)?;
        Ok(filled)
    }

    /// Cancels a call whose response is no longer needed.
    pub(crate) fn cancel(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        reason: Option<&str>,
    ) -> Result<Cancellation, CancelError> {
        #[cfg(any(call_table, fuzzing))]
        self.check_calls();
        if !self.is_pending(call) {
            return Err(CancelError::NotInFlight);
        }
        if self.messages.lifecycle.input_ended {
            return Err(CancelError::Closed);
        }
        if self.task_of(call).is_some() {
            let asked = self.cancel_remote(cx, call);
            // No event follows: the outcome is the return value.
            _ = self.leave(call);
            self.messages.outgoing.remove(call.0, Ending::Answered);
            return Ok(if asked { Cancellation::Notified } else { Cancellation::TaskGoesOn });
        }
        let may_become_task = self.may_become_task(cx, call);
        let left = self.leave(call);
        if may_become_task {
            self.abandon(cx, call, GivenUp::Cancelled);
            return Ok(Cancellation::Deferred);
        }
        let cancellation = self.messages.drop(cx, call, GivenUp::Cancelled, reason);
        let in_session =
            left.and_then(|left| left.state.subscription()?.in_session.as_ref().map(drop));
        Ok(if in_session.is_some() { Cancellation::Notified } else { cancellation })
    }

    /// Asks the peer to cancel the task that a call has become, and waits for the task to end.
    pub(crate) fn cancel_task(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
    ) -> Result<(), CallError> {
        let task = self.task_of(call).ok_or(CallError::NotATask)?;
        let id = alloc::string::String::from(task.id());
        poll(&mut self.messages, cx, (call, PollKind::Cancel), &id, (None, false)).map(drop)
    }

    /// Continues a task that was begun on another connection.
    pub(crate) fn resume_task(
        &mut self,
        cx: &mut Cx<'_, '_>,
        ticket: &TaskTicket,
        options: TaskOptions,
    ) -> Result<CallId, CallError> {
        if !self.messages.lifecycle.phase.takes_calls() {
            return Err(CallError::Closed);
        }
        let kind = RequestKind::named(&ticket.method);
        let kind = kind.filter(|kind| kind.task_capability().is_some());
        let kind = kind.ok_or(NotAllowed::Method)?;
        if !has_room(&self.messages, &self.index, cx) {
            return Err(CallError::TooManyCalls);
        }
        self.messages.outgoing.clock_mut().tick(cx.now());
        let mut asked =
            OutgoingRequest { kind: Some(kind), sent: Sent::Nowhere, ..OutgoingRequest::default() };
        let call = self.messages.register(cx, &mut asked, Patience::default());
        make_room(&mut self.messages, &mut self.index, cx);
        let (below, index) = (&mut self.messages, &mut self.index);
        let mut at = CallCx { cx, below, index, call };
        let task = RemoteTask::resume(&mut at, ticket.task_id.clone(), options);
        self.put_state(call, CallState::Task(task));
        Ok(call)
    }

    /// Whether a call of the application is pending.
    pub(crate) fn is_pending(&self, call: CallId) -> bool {
        self.messages.outgoing.get(call.0).is_some_and(|asked| asked.owner.is_application())
    }

    /// Returns the id of the request of a call; `None` if the call has ended, or has no request of its own.
    pub(crate) fn own_id(&self, call: CallId) -> Option<u64> {
        let has_request = match &self.messages.outgoing.get(call.0)?.call.state {
            CallState::Task(task) => task.was_answered,
            CallState::Subscription(subscription) => {
                subscription.in_session.is_none() && subscription.end.is_none()
            }
            _ => true,
        };
        self.messages.outgoing.id(call.0).filter(|_| has_request)
    }

    /// Returns the pending calls of the application in the order they were made, each with the request that it was
    /// made for.
    pub(crate) fn pending_calls(&self) -> impl Iterator<Item = (CallId, Option<IncomingId>)> {
        self.messages
            .outgoing
            .iter()
            .filter(|(_, asked)| asked.owner == Owner::Application)
            .map(|(place, asked)| (CallId(place), asked.parent))
    }
}

/// Returns the filters of the subscriptions that a reconnect has requested and the server has not acknowledged, because
/// it is of the other era. The caller opens them again.
pub(crate) fn take_reopened(calls: &mut Calls) -> Vec<SubscriptionFilter<'static>> {
    let mut filters = Vec::new();
    for call in &calls.index.subscriptions {
        let Some(one) = subscription_mut(&mut calls.messages, *call) else { continue };
        if one.origin == SubscriptionOrigin::Reconnect && !one.acknowledged {
            one.origin = SubscriptionOrigin::Elsewhere;
            filters.push(one.requested.as_sent());
        }
    }
    filters
}
