//! Delivers the changes of tasks of this side to a connection: responses, status notifications, requests for input.

use alloc::string::String;

use super::call_capacity::{has_room, make_room};
use super::call_options::{CallError, CallOptions};
use super::cx::Cx;
use super::event::{Outcome, TaskAnswer};
use super::identity::key;
use super::listens::send_notification;
use super::outboxes::{Outboxes, Route};
use super::outgoing_request::Owner;
use super::progress::ProgressParams;
use super::progress_report::{Progress, ProgressReport};
use super::send::{SentMessage, check_room, observe_sent};
use super::task_host::{NO_SUCH_TASK, TaskHost};
use crate::codes::ErrorCode;
use crate::dialect::RespondError;
use crate::dialect::features::Feature;
use crate::dialect::methods::NotificationKind;
use crate::frame::{Room, Tag};
use crate::handle::IncomingId;
use crate::json::Raw;
use crate::rpc::{Fault, GivenUp, write_notification, write_notification_with};
use crate::schema::{EncodeError, MetaAdditions};
use crate::session::Phase;
use crate::task::view::{InModernEra, InSession, related};
use crate::task::{Notice, RELATED, TaskError, TaskKey, TaskNews, Tasks, Which};
use crate::time::Instant;

/// A message has no room now, or too many calls are pending: it is sent later.
struct Later;

/// Whether a route will have room for a message that has not fit. An empty outbox never will.
fn has_room_later(route: Route, out: &mut dyn Outboxes) -> bool {
    !out.outbox(route).is_empty()
}

impl TaskHost<'_> {
    /// Sends the pending messages about tasks on this connection, as far as there is room. The rest waits for the
    /// next call.
    pub(crate) fn settle_tasks(&mut self, cx: &mut Cx<'_, '_>) {
        let connection = self.messages().connection();
        if self.messages().lifecycle.phase == Phase::Closed {
            return self.tasks.disconnected(connection);
        }
        let mut failures = 0;
        while let Some(notice) = self.tasks.next_notice(connection) {
            work!(1);
            let sent = match notice {
                Notice::Changed(key) => self.deliver_change(cx, key),
                Notice::Watched(listen, key) => self.notify_subscription(cx, listen, key),
                Notice::Answer(waiter, key) => {
                    let answered = self.give_result(cx, (waiter, key));
                    self.release(cx, waiter, answered)
                }
                Notice::Gone(waiter) => {
                    let answered = self.serving.refuse_about_task(cx, waiter, NO_SUCH_TASK);
                    self.release(cx, waiter, answered)
                }
                Notice::Dismiss(call) => {
                    if self.serving.calls.messages.outgoing.get(call.0).is_some() {
                        let reason = Some("the task does not need it any more");
                        // A call for the input of a task has started no other work.
                        _ = self.serving.calls.leave(call);
                        self.serving.calls.messages.drop(cx, call, GivenUp::Cancelled, reason);
                    }
                    Ok(())
                }
            };
            if sent.is_ok() {
                self.tasks.on_news_sent(connection);
                continue;
            }
            // A stream that the peer does not read must not block the others.
            failures += 1;
            if !self.tasks.postpone_notice(connection, failures) {
                return;
            }
        }
    }

    /// Handles a failed response to a held request for a result. Returns [`Later`] if the response will have room,
    /// and responds with an error if it can never be sent. After any other failure the request needs no response any
    /// more.
    fn release(
        &mut self,
        cx: &mut Cx<'_, '_>,
        waiter: IncomingId,
        answered: Result<(), RespondError>,
    ) -> Result<(), Later> {
        let Err(RespondError::Encode(error)) = answered else { return Ok(()) };
        if error == EncodeError::Full && has_room_later(Route::Exchange(waiter), cx.out) {
            return Err(Later);
        }
        let text = "the result cannot be sent on this connection";
        let fault = Fault::plain(ErrorCode::INTERNAL_ERROR, &text);
        // If the error has no room either, the sender's deadline ends the request.
        _ = self.serving.reject_as_is(cx, waiter, fault, None);
        Ok(())
    }

    /// Notifies the requestor that a task has changed, and requests the inputs that the task requires.
    fn deliver_change(&mut self, cx: &mut Cx<'_, '_>, key: TaskKey) -> Result<(), Later> {
        let notify = self.tasks.config().notify;
        let negotiated = self.messages().session.negotiated;
        let has_tasks = negotiated.is_some_and(|session| Feature::Tasks.is_in(session.revision));
        let Some(task) = self.tasks.record(key) else { return Ok(()) };
        let is_here = task.links.home == Some(self.messages().connection());
        if is_here && has_tasks {
            let notified = if notify && task.is_of_session() && !task.links.is_reported {
                self.notify_status(cx, &InSession(task))
            } else {
                Ok(())
            };
            let links = self.tasks.record_mut(key).map(|task| &mut task.links);
            if let (Ok(()), Some(links)) = (&notified, links) {
                links.is_reported = true;
            }
            // A notification that waits for room does not hold up the inputs, which may have another route.
            self.ask_for_task(cx, key)?;
            notified?;
        }
        let links = self.tasks.record_mut(key).map(|task| &mut task.links);
        if let Some(links) = links.filter(|_| is_here) {
            links.is_posted = false;
        }
        Ok(())
    }

    fn notify_status(&self, cx: &mut Cx<'_, '_>, task: &InSession<'_>) -> Result<(), Later> {
        let method = NotificationKind::TaskChanged.rule().name;
        // This notification is optional, so it is not queued for the handshake.
        if self.messages().must_hold(method) {
            return Ok(());
        }
        let sent = cx.out.outbox(Route::Connection).append(Room::Limit, Tag::Nothing, |writer| {
            write_notification(writer, method, task, None)
        });
        match sent {
            Ok(_) => observe_sent(cx.out, Route::Connection, SentMessage::Method(method)),
            Err(EncodeError::Full)
                if cx.out.has_reader(Route::Connection)
                    && has_room_later(Route::Connection, cx.out) =>
            {
                return Err(Later);
            }
            // This notification is optional.
            Err(_) => {}
        }
        Ok(())
    }

    /// Requests the inputs that a task requires, each by a call of its own.
    fn ask_for_task(&mut self, cx: &mut Cx<'_, '_>, key: TaskKey) -> Result<(), Later> {
        let at_once = self.tasks.config().ask_at_once;
        while let Some(task) = self.tasks.record(key) {
            let Some(wanted) = task.next_wanted() else { break };
            let connection = self.messages().connection();
            let is_open = |waiter: &IncomingId| {
                waiter.connection() == connection
                    && self.messages().incoming.table.get(waiter.0).is_some()
            };
            let mut waiters = task.links.waiters.iter().rev().copied().filter(is_open).peekable();
            let has_waiter = waiters.peek().is_some();
            let waiter = waiters.find(|waiter| cx.out.can_ask(Route::Exchange(*waiter)));
            // If no request waits here for the result, inputs are requested only for legacy tasks, and only with
            // `ask_at_once`. A modern task lists its inputs in its status.
            let may_ask_at_once = at_once && task.is_of_session();
            if waiter.is_none() && !has_waiter && !may_ask_at_once {
                break;
            }
            // The input waits until a message can reach the peer.
            if waiter.is_none() && !(may_ask_at_once && cx.out.has_reader(Route::Connection)) {
                return Err(Later);
            }
            let method = wanted.kind.rule().name;
            let route = waiter.map_or(Route::Connection, Route::Exchange);
            let options = CallOptions { parent: waiter, ..CallOptions::new() };
            let related = related(&task.id);
            let (messages, index) =
                (&mut self.serving.calls.messages, &mut self.serving.calls.index);
            let has_room = has_room(messages, index, cx);
            let owner = Owner::TaskInput(key);
            let asked = messages.order(cx, method, owner, options, has_room);
            let asked = asked.and_then(|mut order| {
                // The call lives as long as the task. The waiting request only provides the route.
                order.asked.parent = None;
                order.related = Some(related);
                let params = (!wanted.params.is_empty()).then(|| Raw::trusted(&wanted.params));
                let on = waiter.map(Route::Exchange);
                let call = messages.ask_on(cx, &mut order, on, method, &params)?;
                make_room(messages, index, cx);
                Ok(call)
            });
            let input = wanted.key.clone();
            match asked {
                Ok(call) => {
                    if let Some(task) = self.tasks.record_mut(key) {
                        task.asked(&input, call);
                    }
                }
                Err(CallError::TooManyCalls) => return Err(Later),
                Err(CallError::Encode(EncodeError::Full))
                    if self.messages().must_hold(method) || has_room_later(route, cx.out) =>
                {
                    return Err(Later);
                }
                // The input cannot be requested on this connection. The status of the task still lists it.
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// Notifies a subscription of the status of a task.
    fn notify_subscription(
        &mut self,
        cx: &mut Cx<'_, '_>,
        listen: IncomingId,
        key: TaskKey,
    ) -> Result<(), Later> {
        // Otherwise two connections with the same number would receive notifications about each other's tasks.
        let is_granted =
            |id: &String| self.serving.listens.tasks_of(listen).binary_search(id).is_ok();
        if let Some(task) = self.tasks.record(key).filter(|task| is_granted(&task.id))
            && let Some(exchange) = self
                .serving
                .calls
                .messages
                .incoming
                .table
                .get_mut(listen.0)
                .filter(|listen| !listen.marked)
        {
            let params = InModernEra { task, detailed: true };
            let kind = NotificationKind::DetailedTaskChanged;
            let sent = check_room(Route::Exchange(listen), params.least_bytes(), cx.out)
                .and_then(|()| send_notification(exchange, listen, kind, &params, cx.out));
            // A notification that can never fit is dropped; the client can poll.
            if sent == Err(EncodeError::Full) && has_room_later(Route::Exchange(listen), cx.out) {
                return Err(Later);
            }
        }
        if let Some(links) = self.tasks.record_mut(key).map(|task| &mut task.links) {
            links
                .watchers
                .iter_mut()
                .filter(|(one, _)| *one == listen)
                .for_each(|one| one.1 = false);
        }
        Ok(())
    }
}

/// # Reporting
impl TaskHost<'_> {
    /// Reports progress of a task to a requestor that gave a progress token in a session.
    pub(crate) fn report_task_progress(
        &mut self,
        cx: &mut Cx<'_, '_>,
        key: TaskKey,
        report: Progress<'_>,
    ) -> Result<ProgressReport, TaskError> {
        let task = self.tasks.record(key).ok_or(TaskError::Unknown)?;
        if task.status().is_final() {
            return Err(TaskError::Final(task.status()));
        }
        let is_here = task.links.token_of == Some(self.messages().connection())
            && self.messages().lifecycle.phase != Phase::Closed;
        // A task that has not been announced gets no progress reports.
        if task.links.token.is_empty() || task.links.home.is_none() || !is_here {
            return Ok(ProgressReport::NotWanted);
        }
        if task.links.progress.is_some_and(|last| report.progress <= last) {
            return Ok(ProgressReport::NotIncreasing);
        }
        let rule = NotificationKind::Progress.rule();
        let params = ProgressParams { token: &task.links.token, progress: report };
        let related = related(&task.id);
        let members = [(RELATED, &*related)];
        let meta = MetaAdditions { members: &members, text: "", reserved: key::OF_TASKS };
        let form = Some(rule.params(task.request.revision));
        cx.out.outbox(Route::Connection).append(Room::Limit, Tag::Nothing, |writer| {
            write_notification_with(writer, rule.name, &params, meta, form)
        })?;
        observe_sent(cx.out, Route::Connection, SentMessage::Method(rule.name));
        if let Some(links) = self.tasks.record_mut(key).map(|task| &mut task.links) {
            links.progress = Some(report.progress);
        }
        Ok(ProgressReport::Sent)
    }

    /// Acknowledges a subscription, which may watch tasks.
    pub(crate) fn grant_with_tasks(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: IncomingId,
        granted: Option<&crate::interests::Filter<()>>,
    ) -> Result<(), EncodeError> {
        let Some(owner) =
            self.messages().incoming.table.get(id.0).map(|exchange| exchange.context.requestor)
        else {
            return Ok(());
        };
        // An acknowledged subscription already watches its tasks, and each of them starts with its status.
        if self.serving.listens.is_acknowledged(id) {
            return Ok(());
        }
        self.serving.acknowledge(cx, id, granted, |name| {
            self.tasks.records.find_own(name, owner).is_some()
        })?;
        let inbound = &self.serving.calls.messages.incoming.table;
        for name in self.serving.listens.tasks_of(id) {
            if let Some(key) = self.tasks.records.find_own(name, owner) {
                self.tasks.watch(key, id, |listen| inbound.get(listen.0).is_some());
            }
        }
        Ok(())
    }
}

/// # Inputs in a session
impl Tasks {
    /// Handles the outcome of a request for the input of a task in a session (the event `TaskAnswer`). Returns news
    /// if the task can continue. An input that was refused, or timed out, is not requested again: the task continues
    /// without it.
    #[must_use = "the task goes on only if its worker gets the news"]
    pub fn answered(&mut self, answer: &TaskAnswer<'_>, now: Instant) -> Option<TaskNews> {
        let TaskAnswer { task, call, outcome } = answer;
        let given = match outcome {
            // A response that is too long to keep counts as a refusal.
            Outcome::Result(result) => {
                Some(result.as_json()).filter(|text| text.len() <= self.config().input_bytes)
            }
            Outcome::Closed(_) | Outcome::NotSent => {
                self.unanswered(*task, *call);
                return None;
            }
            _ => None,
        };
        self.give(*task, Which::Call(*call), given, now).then_some(TaskNews::Input(*task))
    }
}
