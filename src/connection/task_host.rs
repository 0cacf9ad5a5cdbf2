//! `TaskHost`: the tasks of this side, as the peer sees them on a connection
//! ([tasks](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks), and the extension from
//! 2026-07-28 on).
//!
//! [`Tasks`] has no reference to a connection. A connection stores only the requests and calls about a task that are
//! in flight.

use alloc::string::String;

use super::call_state::Below;
use super::cx::Cx;
use super::outboxes::Route;
use super::result_members::ReplyKind;
use super::send::check_room;
use super::serving::Serving;
use crate::codes::ErrorCode;
use crate::dialect::{Kept, RespondError};
use crate::handle::{CallId, IncomingId};
use crate::json::{MemberTexts, Object, Raw};
use crate::rpc::{ErrorData, Fault};
use crate::schema::{Payload, fits};
use crate::task::view::{CreatedInSession, InModernEra, InSession, result_in_session};
use crate::task::{NewTask, Origin, State, TaskCall, TaskError, TaskKey, TaskNews, Tasks, Which};
use crate::time::Instant;

pub(super) const NO_SUCH_TASK: &str = "no such task";

/// The tasks of this side and one connection, borrowed for one step. It responds to requests about tasks, and reports
/// changes of tasks on the connection.
pub(crate) struct TaskHost<'h> {
    pub(super) serving: &'h mut Serving,
    pub(super) tasks: &'h mut Tasks,
}

/// Begins a task for a request, without responding to the request.
pub(crate) fn create_task(
    serving: &Serving,
    tasks: &mut Tasks,
    id: IncomingId,
    new: NewTask,
    now: Instant,
) -> Result<TaskKey, TaskError> {
    serving.calls.messages.answerable(id)?;
    let exchange = serving.calls.messages.incoming.table.get(id.0).ok_or(RespondError::Stale)?;
    let (Some(kind), Some(request)) = (exchange.kind, exchange.context.task) else {
        return Err(TaskError::NotWanted);
    };
    // In the modern era only subscriptions report on a task.
    let keeps_token = exchange.rules().tasks.keep_progress;
    let token = if keeps_token { exchange.token.clone() } else { String::new() };
    let origin = Origin {
        kind,
        revision: exchange.context.revision,
        capabilities: exchange.context.capabilities,
        owner: exchange.context.requestor,
        connection: serving.calls.messages.connection(),
        ttl: request.ttl,
        kept: exchange.kept.clone(),
        token,
    };
    tasks.create(origin, new, now)
}

/// # Beginning
impl<'h> TaskHost<'h> {
    /// Borrows the tasks and the connection.
    pub(crate) const fn new(serving: &'h mut Serving, tasks: &'h mut Tasks) -> Self {
        Self { serving, tasks }
    }

    /// Returns the messages of the connection.
    pub(super) const fn messages(&self) -> &Below {
        &self.serving.calls.messages
    }

    /// Responds to a request with the task that it has become.
    pub(crate) fn announce_task(
        &mut self,
        cx: &mut Cx<'_, '_>,
        (id, key): (IncomingId, TaskKey),
        immediate_response: Option<&str>,
    ) -> Result<(), TaskError> {
        self.messages().answerable(id)?;
        let task = self.tasks.record(key).ok_or(TaskError::Unknown)?;
        let Some(exchange) = self.messages().incoming.table.get(id.0) else {
            return Err(RespondError::Stale.into());
        };
        if exchange.context.task.is_none() || exchange.kind != Some(task.request.kind) {
            return Err(TaskError::NotWanted);
        }
        // The id of a task must not reach another requestor.
        if !exchange.context.requestor.reaches(task.owner) {
            return Err(TaskError::Unknown);
        }
        let progress = exchange.progress;
        let is_of_session = exchange.rules().tasks.of_session;
        let created: &dyn Payload = match is_of_session {
            true => &CreatedInSession { task, immediate_response },
            false => &InModernEra { task, detailed: false },
        };
        let taken = self.serving.calls.messages.reply(cx, id, ReplyKind::Task, created)?;
        self.tasks.announced(key, self.messages().connection(), progress);
        self.serving.finish(cx, taken);
        Ok(())
    }

    /// Begins a task and responds to the request with it. If one step fails, neither has an effect.
    pub(crate) fn begin_task(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: IncomingId,
        mut new: NewTask,
    ) -> Result<TaskKey, TaskError> {
        let immediate_response = new.immediate_response.take();
        let key = create_task(self.serving, self.tasks, id, new, cx.now())?;
        let announced = self.announce_task(cx, (id, key), immediate_response.as_deref());
        if let Err(error) = announced {
            self.tasks.remove(key);
            return Err(error);
        }
        Ok(key)
    }
}

/// # Serving
impl TaskHost<'_> {
    /// Responds to a request about tasks, or holds it.
    pub(crate) fn serve_task(
        &mut self,
        cx: &mut Cx<'_, '_>,
        (id, call): (IncomingId, &TaskCall<'_>),
    ) -> Result<Option<TaskNews>, RespondError> {
        self.messages().answerable(id)?;
        let exchange = self.messages().incoming.table.get(id.0).ok_or(RespondError::Stale)?;
        let (owner, rules) = (exchange.context.requestor, exchange.rules());
        let name = match call {
            TaskCall::List { cursor } => {
                let page = self.tasks.page(owner, cursor.as_ref());
                match page {
                    Ok(page) => self.serving.answer_about_task(cx, id, &page)?,
                    Err(_) => self.serving.refuse_about_task(cx, id, "invalid cursor")?,
                }
                return Ok(None);
            }
            TaskCall::Get { task }
            | TaskCall::Result { task }
            | TaskCall::Cancel { task }
            | TaskCall::Update { task, .. } => task.to_str(),
        };
        let Some(key) = self.tasks.records.find_own(&name, owner) else {
            self.serving.refuse_about_task(cx, id, NO_SUCH_TASK)?;
            return Ok(None);
        };
        match call {
            TaskCall::Get { .. } => {
                self.show_task(cx, (id, key))?;
                Ok(None)
            }
            TaskCall::Result { .. } => {
                self.give_result_or_wait(cx, (id, key))?;
                Ok(None)
            }
            TaskCall::Cancel { .. } if rules.tasks.cancel_ends => self.cancel_hosted(cx, (id, key)),
            TaskCall::Cancel { .. } => self.request_cancellation(cx, (id, key)),
            TaskCall::Update { inputs, .. } => self.take_inputs(cx, (id, key), inputs),
            TaskCall::List { .. } => Ok(None),
        }
    }

    fn show_task(
        &mut self,
        cx: &mut Cx<'_, '_>,
        (id, key): (IncomingId, TaskKey),
    ) -> Result<(), RespondError> {
        let Some(task) = self.tasks.record(key) else { return Ok(()) };
        let Some(exchange) = self.messages().incoming.table.get(id.0) else { return Ok(()) };
        if exchange.rules().tasks.of_session {
            return self.serving.answer_about_task(cx, id, &InSession(task));
        }
        let shown = InModernEra { task, detailed: true };
        check_room(Route::Exchange(id), shown.least_bytes(), cx.out)?;
        self.serving.answer_about_task(cx, id, &shown)
    }

    /// Responds to a request for the result of a task, or holds it until the task has ended.
    fn give_result_or_wait(
        &mut self,
        cx: &mut Cx<'_, '_>,
        (id, key): (IncomingId, TaskKey),
    ) -> Result<(), RespondError> {
        let Some(task) = self.tasks.record(key) else { return Ok(()) };
        if task.status().is_final() {
            return self.give_result(cx, (id, key));
        }
        let messages = &self.serving.calls.messages;
        let is_open = |waiter: IncomingId| messages.incoming.table.get(waiter.0).is_some();
        // A request that the peer may have received is not repeated, unless its stream has broken off.
        let out = &mut *cx.out;
        let is_lost = |call: CallId| match messages.outgoing.get(call.0).map(|asked| asked.route) {
            Some(route @ Route::Exchange(_)) => !out.can_ask(route),
            Some(_) => !out.has_reader(Route::Connection) && messages.is_unsent(call, out),
            None => false,
        };
        self.tasks.wait(key, id, is_open, is_lost);
        Ok(())
    }

    /// Responds to a request for the result of a task exactly as the original request would have been responded to.
    pub(super) fn give_result(
        &mut self,
        cx: &mut Cx<'_, '_>,
        (id, key): (IncomingId, TaskKey),
    ) -> Result<(), RespondError> {
        self.messages().answerable(id)?;
        let Some(task) = self.tasks.record(key) else {
            return self.serving.refuse_about_task(cx, id, NO_SUCH_TASK);
        };
        check_room(Route::Exchange(id), task.state.least_bytes(), cx.out)?;
        match &task.state {
            State::Completed(result) => {
                let result = result_in_session(task, result.as_json());
                self.serving.answer_with_result_of(cx, id, &task.id, &Raw::trusted(&result))
            }
            State::Failed(error) => {
                let data = error.data.as_deref().map(Raw::trusted);
                let message = &error.message;
                let fault = Fault {
                    code: error.code,
                    message,
                    data: data.as_ref().map(|data| data as &dyn ErrorData),
                };
                self.serving.reject_as_is(cx, id, fault, None)
            }
            State::Cancelled | State::Working | State::InputRequired => {
                let fault = Fault::plain(ErrorCode::INTERNAL_ERROR, &"the task was cancelled");
                self.serving.reject_as_is(cx, id, fault, None)
            }
        }
    }

    /// Cancels a task at the request of a legacy client.
    fn cancel_hosted(
        &mut self,
        cx: &mut Cx<'_, '_>,
        (id, key): (IncomingId, TaskKey),
    ) -> Result<Option<TaskNews>, RespondError> {
        if self.tasks.get(key).is_some_and(|task| task.status().is_final()) {
            self.serving.refuse_about_task(cx, id, "the task has ended already")?;
            return Ok(None);
        }
        self.tasks.request_cancellation(key, true, cx.now());
        // The task is cancelled even if the response cannot be sent. The response may use the reserve of the outbox,
        // so only the end of the connection can prevent it.
        let Some(task) = self.tasks.record(key) else { return Ok(None) };
        self.serving.answer_shortly(cx, id, &InSession(task));
        Ok(Some(TaskNews::Cancelled(key)))
    }

    /// Handles a cancellation of a task by a modern client.
    fn request_cancellation(
        &mut self,
        cx: &mut Cx<'_, '_>,
        (id, key): (IncomingId, TaskKey),
    ) -> Result<Option<TaskNews>, RespondError> {
        let before = self.tasks.get(key).map(|task| (task.status(), task.is_cancel_requested()));
        let at_once = self.tasks.config().cancel_at_once;
        self.tasks.request_cancellation(key, at_once, cx.now());
        self.serving.answer_shortly(cx, id, &());
        Ok(match before {
            Some((status, _)) if status.is_final() => None,
            _ if at_once => Some(TaskNews::Cancelled(key)),
            Some((_, true)) => None,
            _ => Some(TaskNews::CancelRequested(key)),
        })
    }

    /// Takes the inputs that a task requires. If one of them is invalid, none is taken. An answer that is too long to
    /// keep counts as a refusal. An error would not help: the peer would send the same answer again.
    fn take_inputs(
        &mut self,
        cx: &mut Cx<'_, '_>,
        (id, key): (IncomingId, TaskKey),
        inputs: &Raw<'_>,
    ) -> Result<Option<TaskNews>, RespondError> {
        let most = self.tasks.config().input_bytes;
        let mut checked = alloc::vec::Vec::new();
        for (name, answer) in MemberTexts::of(inputs.as_json()) {
            let Some(task) = self.tasks.record(key) else { break };
            // Inputs that the task does not require are ignored, and so is another answer to the same input.
            let Some((index, wanted)) = task.open_wanted(&name.to_str()) else { continue };
            if checked.contains(&index) || most < answer.len() {
                continue;
            }
            checked.push(index);
            let form = wanted.kind.rule().result(task.request.revision);
            let mut kept = Kept::default();
            kept.keep(wanted.kind, &wanted.params, task.request.revision, usize::MAX);
            let is_right = fits(form, Some(&Object::of(answer)))
                .and_then(|_| kept.check_result(wanted.kind, answer))
                .is_ok();
            if !is_right {
                let text = "an answer does not fit what was asked for";
                self.serving.refuse_about_task(cx, id, text)?;
                return Ok(None);
            }
        }
        self.serving.answer_about_task(cx, id, &())?;
        let mut can_go_on = false;
        for (name, answer) in MemberTexts::of(inputs.as_json()) {
            let given = Some(answer).filter(|answer| answer.len() <= most);
            can_go_on |= self.tasks.give(key, Which::Key(&name.to_str()), given, cx.now());
        }
        Ok(can_go_on.then_some(TaskNews::Input(key)))
    }
}
