//! Tasks of this side, as its peer sees them on a connection
//! ([tasks](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks), and the
//! extension from 2026-07-28 on).
//!
//! [`Tasks`] know no connection, and a connection keeps nothing of a task but the requests and calls that
//! are in flight about it.

use alloc::string::String;

use serde::ser::Serialize;

use super::Peer;
use super::cx::Cx;
use super::stamp::ReplyKind;
use crate::dialect::{Kept, RespondError};
use crate::error::ErrorCode;
use crate::handle::InboundId;
use crate::json::{MemberTexts, Object, Raw, fits};
use crate::rpc::Fault;
use crate::task::view::{Alone, CreatedInSession, InSession, related, result_in_session};
use crate::task::{NewTask, Origin, State, TaskCall, TaskError, TaskKey, TaskNews, Tasks, Which};
use crate::time::Instant;

pub(super) const NO_SUCH_TASK: &str = "no such task";

/// # Beginning
impl Peer {
    /// Begins a task for a request, which is still to be answered.
    pub(crate) fn create_task(
        &self,
        tasks: &mut Tasks,
        id: InboundId,
        new: NewTask,
        now: Instant,
    ) -> Result<TaskKey, TaskError> {
        self.messages.answerable(id)?;
        let exchange = self.messages.incoming.table.get(id.0).ok_or(RespondError::Stale)?;
        let (Some(kind), Some(request)) = (exchange.kind, exchange.context.task) else {
            return Err(TaskError::NotWanted);
        };
        // Where there are no sessions nothing is reported on a task but by subscriptions.
        let keeps_token = exchange.rules().task_keeps_progress;
        let token = if keeps_token { exchange.token.clone() } else { String::new() };
        let origin = Origin {
            kind,
            revision: exchange.context.revision,
            capabilities: exchange.context.capabilities,
            owner: exchange.context.requestor,
            connection: self.connection(),
            ttl: request.ttl,
            kept: exchange.kept.clone(),
            token,
        };
        tasks.create(origin, new, now)
    }

    /// Answers a request with the task that it has become.
    pub(crate) fn announce_task(
        &mut self,
        cx: &mut Cx<'_, '_>,
        tasks: &mut Tasks,
        (id, key): (InboundId, TaskKey),
        immediate_response: Option<&str>,
    ) -> Result<(), TaskError> {
        self.messages.answerable(id)?;
        self.messages.incoming.send_delayed_progress(id, cx.out);
        let task = tasks.record(key).ok_or(TaskError::Unknown)?;
        let Some(exchange) = self.messages.incoming.table.get(id.0) else {
            return Err(RespondError::Stale.into());
        };
        if exchange.context.task.is_none() || exchange.kind != Some(task.kind) {
            return Err(TaskError::NotWanted);
        }
        // Its id is for nobody else.
        if !exchange.context.requestor.reaches(task.owner) {
            return Err(TaskError::Unknown);
        }
        let progress = exchange.progress;
        let is_of_session = exchange.rules().task_is_of_session;
        let taken = self.messages.reply(cx, id, ReplyKind::Task, |payload| {
            if is_of_session {
                return CreatedInSession { task, immediate_response }.serialize(payload);
            }
            Alone { task, detailed: false }.serialize(payload)
        })?;
        tasks.announced(key, self.connection(), progress);
        self.finish(cx, taken);
        Ok(())
    }

    /// Begins a task and answers the request with it: both, or neither.
    pub(crate) fn begin_task(
        &mut self,
        cx: &mut Cx<'_, '_>,
        tasks: &mut Tasks,
        id: InboundId,
        mut new: NewTask,
    ) -> Result<TaskKey, TaskError> {
        let immediate_response = new.immediate_response.take();
        let key = self.create_task(tasks, id, new, cx.now())?;
        let announced = self.announce_task(cx, tasks, (id, key), immediate_response.as_deref());
        if let Err(error) = announced {
            tasks.remove(key);
            return Err(error);
        }
        Ok(key)
    }
}

/// # Serving
impl Peer {
    /// Answers what the peer asks about tasks, or lets it wait.
    pub(crate) fn serve_task(
        &mut self,
        cx: &mut Cx<'_, '_>,
        tasks: &mut Tasks,
        (id, call): (InboundId, &TaskCall<'_>),
    ) -> Result<Option<TaskNews>, RespondError> {
        self.messages.answerable(id)?;
        let exchange = self.messages.incoming.table.get(id.0).ok_or(RespondError::Stale)?;
        let (owner, rules) = (exchange.context.requestor, exchange.rules());
        let name = match call {
            TaskCall::List { cursor } => {
                let page = tasks.page(owner, cursor.as_ref());
                match page {
                    Ok(page) => self.answer_about_task(cx, id, &page)?,
                    Err(_) => self.refuse_about_task(cx, id, "invalid cursor")?,
                }
                return Ok(None);
            }
            TaskCall::Get { task }
            | TaskCall::Result { task }
            | TaskCall::Cancel { task }
            | TaskCall::Update { task, .. } => task.to_str(),
        };
        let Some(key) = tasks.find_own(&name, owner) else {
            self.refuse_about_task(cx, id, NO_SUCH_TASK)?;
            return Ok(None);
        };
        match call {
            TaskCall::Get { .. } => {
                self.show_task(cx, tasks, (id, key))?;
                Ok(None)
            }
            TaskCall::Result { .. } => {
                self.give_result_or_wait(cx, tasks, (id, key))?;
                Ok(None)
            }
            TaskCall::Cancel { .. } if rules.task_cancel_ends => {
                self.cancel_hosted(cx, tasks, (id, key))
            }
            TaskCall::Cancel { .. } => self.hear_wish(cx, tasks, (id, key)),
            TaskCall::Update { inputs, .. } => self.take_inputs(cx, tasks, (id, key), inputs),
            TaskCall::List { .. } => Ok(None),
        }
    }

    fn show_task(
        &mut self,
        cx: &mut Cx<'_, '_>,
        tasks: &Tasks,
        (id, key): (InboundId, TaskKey),
    ) -> Result<(), RespondError> {
        let Some(task) = tasks.record(key) else { return Ok(()) };
        let Some(exchange) = self.messages.incoming.table.get(id.0) else { return Ok(()) };
        if exchange.rules().task_is_of_session {
            return self.answer_about_task(cx, id, &InSession(task));
        }
        self.answer_about_task(cx, id, &Alone { task, detailed: true })
    }

    /// Answers a request for the result of a task, unless the task goes on.
    fn give_result_or_wait(
        &mut self,
        cx: &mut Cx<'_, '_>,
        tasks: &mut Tasks,
        (id, key): (InboundId, TaskKey),
    ) -> Result<(), RespondError> {
        let Some(task) = tasks.record(key) else { return Ok(()) };
        if task.status().is_final() {
            return self.give_result(cx, tasks, (id, key));
        }
        let inbound = &self.messages.incoming.table;
        tasks.wait(key, id, |waiter| inbound.get(waiter.0).is_some());
        Ok(())
    }

    /// Answers a request for the result of a task exactly as the request that it was begun for would have
    /// been answered.
    pub(super) fn give_result(
        &mut self,
        cx: &mut Cx<'_, '_>,
        tasks: &Tasks,
        (id, key): (InboundId, TaskKey),
    ) -> Result<(), RespondError> {
        self.messages.answerable(id)?;
        let Some(task) = tasks.record(key) else {
            return self.refuse_about_task(cx, id, NO_SUCH_TASK);
        };
        match &task.state {
            State::Completed(result) => {
                // The answer belongs to the task, progress on the request for it does not.
                self.messages.incoming.send_delayed_progress(id, cx.out);
                if let Some(exchange) = self.messages.incoming.table.get_mut(id.0) {
                    exchange.related.0 = related(&task.id);
                }
                let result = result_in_session(task, result);
                self.answer_about_task(cx, id, &Raw::trusted(&result))
            }
            State::Failed(error) => {
                let data = error.data.as_deref().map(Raw::trusted);
                let message = &error.message;
                let fault = Fault { code: error.code, message, data: data.as_ref() };
                self.reject_as_is(cx, id, fault, None)
            }
            State::Cancelled | State::Working | State::InputRequired => {
                let fault = Fault::plain(ErrorCode::INTERNAL_ERROR, &"the task was cancelled");
                self.reject_as_is(cx, id, fault, None)
            }
        }
    }

    /// Cancels a task, as somebody in a session wants it to be.
    fn cancel_hosted(
        &mut self,
        cx: &mut Cx<'_, '_>,
        tasks: &mut Tasks,
        (id, key): (InboundId, TaskKey),
    ) -> Result<Option<TaskNews>, RespondError> {
        if tasks.get(key).is_some_and(|task| task.status().is_final()) {
            self.refuse_about_task(cx, id, "the task has ended already")?;
            return Ok(None);
        }
        tasks.wish_cancelled(key, true, cx.now());
        // It is cancelled, whatever becomes of the answer. That may use the reserve, so that nothing but
        // the end of the connection is in its way.
        let Some(task) = tasks.record(key) else { return Ok(None) };
        self.answer_shortly(cx, id, &InSession(task));
        Ok(Some(TaskNews::Cancelled(key)))
    }

    /// Somebody without a session does not want a task any more.
    fn hear_wish(
        &mut self,
        cx: &mut Cx<'_, '_>,
        tasks: &mut Tasks,
        (id, key): (InboundId, TaskKey),
    ) -> Result<Option<TaskNews>, RespondError> {
        let before = tasks.get(key).map(|task| (task.status(), task.is_cancel_requested()));
        let at_once = tasks.config().cancel_at_once;
        tasks.wish_cancelled(key, at_once, cx.now());
        self.answer_shortly(cx, id, &());
        Ok(match before {
            Some((status, _)) if status.is_final() => None,
            _ if at_once => Some(TaskNews::Cancelled(key)),
            Some((_, true)) => None,
            _ => Some(TaskNews::CancelRequested(key)),
        })
    }

    /// Takes what a task has asked for, all of it that fits or nothing.
    fn take_inputs(
        &mut self,
        cx: &mut Cx<'_, '_>,
        tasks: &mut Tasks,
        (id, key): (InboundId, TaskKey),
        inputs: &Raw<'_>,
    ) -> Result<Option<TaskNews>, RespondError> {
        let most = tasks.config().input_bytes;
        for (name, answer) in MemberTexts::of(inputs.as_json()) {
            if !tasks.accepts(key, &name.to_str(), |kind, params, revision| {
                let form = kind.rule().result(revision);
                let mut kept = Kept::default();
                kept.keep(kind, params, revision, usize::MAX);
                answer.len() <= most
                    && fits(form, Some(&Object::of(answer)))
                        .and_then(|_| kept.check_result(kind, answer))
                        .is_ok()
            }) {
                let text = "an answer does not fit what was asked for";
                self.refuse_about_task(cx, id, text)?;
                return Ok(None);
            }
        }
        self.answer_about_task(cx, id, &())?;
        let mut can_go_on = false;
        for (name, answer) in MemberTexts::of(inputs.as_json()) {
            can_go_on |= tasks.give(key, Which::Key(&name.to_str()), Some(answer), cx.now());
        }
        Ok(can_go_on.then_some(TaskNews::Input(key)))
    }
}

/// # Answering
impl Peer {
    /// Answers a request about tasks with something that has the right form.
    fn answer_about_task<T: Serialize + ?Sized>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: InboundId,
        result: &T,
    ) -> Result<(), RespondError> {
        self.messages.answerable(id)?;
        let kind = ReplyKind::AboutTask;
        let taken = self.messages.reply(cx, id, kind, |payload| result.serialize(payload))?;
        self.finish(cx, taken);
        Ok(())
    }

    /// The same with something short that has to be said, from the reserve if need be.
    fn answer_shortly<T: Serialize + ?Sized>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: InboundId,
        result: &T,
    ) {
        if let Some(taken) = self.messages.reply_shortly(cx, id, result) {
            self.finish(cx, taken);
        }
    }

    pub(super) fn refuse_about_task(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: InboundId,
        text: &'static str,
    ) -> Result<(), RespondError> {
        self.messages.answerable(id)?;
        let fault = Fault::plain(ErrorCode::INVALID_PARAMS, &text);
        self.reject_as_is(cx, id, fault, None)
    }
}
