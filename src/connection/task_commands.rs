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
    /// Begins a task for a request that [may become one](crate::RequestContext::task), and answers the
    /// request with it.
    ///
    /// # Errors
    ///
    /// [`TaskError`] says why there is no task. The request is still open.
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

    /// Begins a task without answering the request: for those who write it down first
    /// ([`Tasks::save`]). Then [`announce_task`](Self::announce_task), or
    /// [`Tasks::remove`] and [`reject`](Self::reject).
    ///
    /// # Errors
    ///
    /// As for [`begin_task`](Self::begin_task).
    pub fn create_task(
        &self,
        request: IncomingId,
        new: NewTask,
        tasks: &mut Tasks,
        now: Instant,
    ) -> Result<TaskKey, TaskError> {
        task_host::create_task(&self.dispatcher.serving, tasks, request, new, now)
    }

    /// Answers a request with the task that has been begun for it. `immediate_response` is what the
    /// model may be told until the result is there (2025-11-25).
    ///
    /// # Errors
    ///
    /// As for [`begin_task`](Self::begin_task).
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

    /// Answers a request about tasks, or lets it wait until the task has ended. A requestor sees
    /// only the tasks that were begun for the same [`Requestor`](crate::request::Requestor).
    ///
    /// It also does what [`settle_tasks`](Self::settle_tasks) does.
    ///
    /// # Errors
    ///
    /// As for [`respond`](Self::respond).
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

    /// Tells on this connection what there is to tell of tasks, as far as there is room: results
    /// that somebody waits for, changes, and what tasks ask for in a session. Call it after a task
    /// has changed, for every connection that [`Tasks::connections_with_news`] names; what has found
    /// no room is sent the next time.
    pub fn settle_tasks(&mut self, tasks: &mut Tasks, now: Instant, out: &mut impl Outboxes) {
        let (dispatcher, cx) = &mut self.enter(Some(now), out);
        TaskHost::new(&mut dispatcher.serving, tasks).settle_tasks(cx);
    }

    /// Reports the progress of a task, if its requestor gave a progress token, is connected here, and
    /// has a session. Otherwise nothing is sent: see [`Tasks::set_message`].
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
