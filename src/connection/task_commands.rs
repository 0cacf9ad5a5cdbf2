//! The methods of [`Connection`] about tasks of this side.

use super::task_host::{self, TaskHost};
use super::{Connection, Outboxes, Progress, ProgressReport};
use crate::dialect::RespondError;
use crate::handle::IncomingId;
use crate::task::{NewTask, TaskCall, TaskError, TaskKey, TaskNews, Tasks};
use crate::time::Instant;

/// # Tasks of this side
///
/// See [`task`](crate::task).
impl Connection {
    /// Begins a task for a request that [may become one](crate::RequestContext::task), and responds to the request
    /// with the task.
    ///
    /// # Errors
    ///
    /// [`TaskError`] if the task cannot be begun. The request stays open.
    pub fn begin_task(
        &mut self,
        request: IncomingId,
        new: NewTask,
        tasks: &mut Tasks,
        now: Instant,
        out: &mut impl Outboxes,
    ) -> Result<TaskKey, TaskError> {
        let (dispatcher, cx) = &mut self.enter(Some(now), out);
        TaskHost::new(&mut dispatcher.serving, tasks).begin_task(cx, request, new)
    }

    /// Begins a task without responding to the request, so that the application can persist the task first
    /// ([`Tasks::save`]). Afterwards call [`announce_task`](Self::announce_task), or [`Tasks::remove`] and
    /// [`reject`](Self::reject).
    ///
    /// # Errors
    ///
    /// The errors of [`begin_task`](Self::begin_task).
    pub fn create_task(
        &self,
        request: IncomingId,
        new: NewTask,
        tasks: &mut Tasks,
        now: Instant,
    ) -> Result<TaskKey, TaskError> {
        task_host::create_task(&self.dispatcher.serving, tasks, request, new, now)
    }

    /// Responds to a request with the task that was begun for it. `immediate_response` is a text that the host may
    /// pass to the model until the result is available (2025-11-25).
    ///
    /// # Errors
    ///
    /// The errors of [`begin_task`](Self::begin_task).
    pub fn announce_task(
        &mut self,
        request: IncomingId,
        task: TaskKey,
        immediate_response: Option<&str>,
        tasks: &mut Tasks,
        out: &mut impl Outboxes,
    ) -> Result<(), TaskError> {
        let (dispatcher, cx) = &mut self.enter(None, out);
        let about = (request, task);
        TaskHost::new(&mut dispatcher.serving, tasks).announce_task(cx, about, immediate_response)
    }

    /// Responds to a request about tasks, or holds it until the task has ended. A requestor has access only to the
    /// tasks that were begun for the same [`Requestor`](crate::request::Requestor).
    ///
    /// It also calls [`settle_tasks`](Self::settle_tasks).
    ///
    /// # Errors
    ///
    /// The errors of [`respond`](Self::respond).
    pub fn serve_task(
        &mut self,
        request: IncomingId,
        call: &TaskCall<'_>,
        tasks: &mut Tasks,
        now: Instant,
        out: &mut impl Outboxes,
    ) -> Result<Option<TaskNews>, RespondError> {
        let (dispatcher, cx) = &mut self.enter(Some(now), out);
        let mut host = TaskHost::new(&mut dispatcher.serving, tasks);
        let news = host.serve_task(cx, (request, call))?;
        host.settle_tasks(cx);
        Ok(news)
    }

    /// Sends the pending messages about tasks on this connection, as far as there is room: results that held requests
    /// wait for, status notifications, and, in a session, requests for input. Call it after a task has changed, for
    /// every connection that [`Tasks::connections_with_news`] returns. Messages without room are sent at the next
    /// call.
    pub fn settle_tasks(&mut self, tasks: &mut Tasks, now: Instant, out: &mut impl Outboxes) {
        let (dispatcher, cx) = &mut self.enter(Some(now), out);
        TaskHost::new(&mut dispatcher.serving, tasks).settle_tasks(cx);
    }

    /// Reports the progress of a task, if its requestor gave a progress token, uses this connection, and has a
    /// session. Otherwise nothing is sent: see [`Tasks::set_message`].
    ///
    /// # Errors
    ///
    /// [`TaskError::Final`] if the task has ended.
    pub fn report_task_progress(
        &mut self,
        task: TaskKey,
        progress: Progress<'_>,
        tasks: &mut Tasks,
        out: &mut impl Outboxes,
    ) -> Result<ProgressReport, TaskError> {
        let (dispatcher, cx) = &mut self.enter(None, out);
        TaskHost::new(&mut dispatcher.serving, tasks).report_task_progress(cx, task, progress)
    }
}
