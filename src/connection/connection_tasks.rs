//! [`ConnectionTasks`]: the tasks of this side, used with one connection.

use super::task_host::{self, TaskHost};
use super::{Connection, Outboxes, Progress, ProgressReport};
use crate::dialect::RespondError;
use crate::handle::IncomingId;
use crate::interests::Filter;
use crate::json::Raw;
use crate::model::SubscriptionFilter;
use crate::task::{NewTask, TaskCall, TaskError, TaskKey, TaskNews, Tasks};
use crate::time::Instant;

/// The [`Tasks`] of this side together with one [`Connection`], for the commands that change both.
///
/// [`Connection::tasks`] returns it. See [the module](crate::task) for an example.
#[derive(Debug)]
pub struct ConnectionTasks<'c> {
    connection: &'c mut Connection,
    tasks: &'c mut Tasks,
}

impl Connection {
    /// Returns a view of this connection and `tasks`: it begins a task for a request, serves requests about tasks, and
    /// reports changes of tasks.
    pub const fn tasks<'c>(&'c mut self, tasks: &'c mut Tasks) -> ConnectionTasks<'c> {
        ConnectionTasks { connection: self, tasks }
    }
}

impl ConnectionTasks<'_> {
    /// Begins a task for a request that [may become one](crate::RequestContext::task), and responds to the request
    /// with the task.
    ///
    /// # Errors
    ///
    /// [`TaskError`] if the task cannot be begun. The request stays open.
    pub fn begin(
        &mut self,
        request: IncomingId,
        new: NewTask,
        now: Instant,
        out: &mut impl Outboxes,
    ) -> Result<TaskKey, TaskError> {
        let (dispatcher, cx) = &mut self.connection.enter(Some(now), out);
        TaskHost::new(&mut dispatcher.serving, self.tasks).begin_task(cx, request, new)
    }

    /// Begins a task without responding to the request, so that the application can persist the task first
    /// ([`Tasks::save`]). Afterwards call [`announce`](Self::announce), or [`Tasks::remove`] and
    /// [`reject`](Connection::reject).
    ///
    /// # Errors
    ///
    /// The errors of [`begin`](Self::begin).
    pub fn create(
        &mut self,
        request: IncomingId,
        new: NewTask,
        now: Instant,
    ) -> Result<TaskKey, TaskError> {
        task_host::create_task(&self.connection.dispatcher.serving, self.tasks, request, new, now)
    }

    /// Responds to a request with the task that was begun for it. `immediate_response` is a text that the application
    /// may pass to the model until the result is available (2025-11-25).
    ///
    /// # Errors
    ///
    /// The errors of [`begin`](Self::begin).
    pub fn announce(
        &mut self,
        request: IncomingId,
        task: TaskKey,
        immediate_response: Option<&str>,
        out: &mut impl Outboxes,
    ) -> Result<(), TaskError> {
        let (dispatcher, cx) = &mut self.connection.enter(None, out);
        let about = (request, task);
        TaskHost::new(&mut dispatcher.serving, self.tasks).announce_task(
            cx,
            about,
            immediate_response,
        )
    }

    /// Responds to a request about tasks, or holds it until the task has ended. A requestor has access only to the
    /// tasks that were begun for the same [`Requestor`](crate::request::Requestor).
    ///
    /// It also calls [`settle`](Self::settle).
    ///
    /// # Errors
    ///
    /// The errors of [`respond`](Connection::respond).
    pub fn serve(
        &mut self,
        request: IncomingId,
        call: &TaskCall<'_>,
        now: Instant,
        out: &mut impl Outboxes,
    ) -> Result<Option<TaskNews>, RespondError> {
        let (dispatcher, cx) = &mut self.connection.enter(Some(now), out);
        let mut host = TaskHost::new(&mut dispatcher.serving, self.tasks);
        let news = host.serve_task(cx, (request, call))?;
        host.settle_tasks(cx);
        Ok(news)
    }

    /// Sends the pending messages about tasks on this connection, as far as there is room: results that held requests
    /// wait for, status notifications, and, in a session, requests for input. Call it after a task has changed, for
    /// every connection that [`Tasks::connections_with_news`] returns. Messages without room are sent at the next
    /// call. `Pair::settle` of the module `testing` is another operation.
    pub fn settle(&mut self, now: Instant, out: &mut impl Outboxes) {
        let (dispatcher, cx) = &mut self.connection.enter(Some(now), out);
        TaskHost::new(&mut dispatcher.serving, self.tasks).settle_tasks(cx);
    }

    /// Reports the progress of a task, if its requestor gave a progress token, uses this connection, and has a
    /// session. Otherwise nothing is sent: see [`Tasks::set_message`].
    ///
    /// # Errors
    ///
    /// [`TaskError::Final`] if the task has ended, and [`TaskError::Unknown`] if it does not exist.
    /// [`TaskError::Encode`] if the notification has no room in the outbox; a later report can succeed.
    pub fn report_progress(
        &mut self,
        task: TaskKey,
        progress: Progress<'_>,
        out: &mut impl Outboxes,
    ) -> Result<ProgressReport, TaskError> {
        let (dispatcher, cx) = &mut self.connection.enter(None, out);
        TaskHost::new(&mut dispatcher.serving, self.tasks).report_task_progress(cx, task, progress)
    }

    /// Grants a subscription that may cover tasks as well: those that the requestor may see. After the
    /// acknowledgement, the client receives the current status of each of them. For servers: it grants nothing for a
    /// request other than `subscriptions/listen`, and the request stays open.
    ///
    /// [`Server::grant`](crate::Server::grant) grants no tasks.
    ///
    /// # Errors
    ///
    /// As for [`respond`](Connection::respond).
    pub fn grant(
        &mut self,
        request: IncomingId,
        filter: Option<&SubscriptionFilter<'_>>,
        now: Instant,
        out: &mut impl Outboxes,
    ) -> Result<(), RespondError> {
        let (dispatcher, cx) = &mut self.connection.enter(Some(now), out);
        dispatcher.serving.check_answerable(request)?;
        let filter = filter.map(Raw::from_serialize).transpose()?;
        let filter = filter.map(|filter| Filter::read(filter.as_json()));
        let mut host = TaskHost::new(&mut dispatcher.serving, self.tasks);
        host.grant_with_tasks(cx, request, filter.as_ref())?;
        host.settle_tasks(cx);
        Ok(())
    }
}
