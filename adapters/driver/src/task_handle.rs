//! The work on a task.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Weak;
use std::task::{Context, Poll};
use std::time::{Duration, Instant as Monotonic};

use mcp_sansio::json::Raw;
use mcp_sansio::model::InputRequired;
use mcp_sansio::progress::{Progress, ProgressReport};
use mcp_sansio::task::{Status, TaskError, TaskKey, TaskView, Tasks};
use mcp_sansio::{ErrorCode, Instant, Payload};
use serde::Serialize;

use crate::block::block_until;
use crate::tasks::{Link, Shared, SharedTasks};
use crate::wakers::Place;

/// How long to wait at least before looking again whether the time of a task is over.
const A_LITTLE: Duration = Duration::from_millis(10);

/// The work on a task that a request has become
/// ([`Exchange::begin_task`](crate::Exchange::begin_task)). It can be sent to any thread, and goes on
/// when the connection has ended.
///
/// A handle that is dropped before the task has ended, because the work was forgotten or has panicked,
/// lets the task fail with `-32603`.
#[must_use = "a task whose handle is dropped fails"]
pub struct TaskHandle {
    key: TaskKey,
    tasks: SharedTasks,
    /// The connection that the request came on.
    home: Weak<dyn Link>,
}

impl TaskHandle {
    pub(crate) fn new(key: TaskKey, tasks: &SharedTasks, home: Weak<dyn Link>) -> Self {
        Self { key, tasks: tasks.clone(), home }
    }

    /// The name of the task among the [`SharedTasks`].
    pub const fn key(&self) -> TaskKey {
        self.key
    }

    /// The work is done: the task ends with this result, which is what the request would have been
    /// answered with. A tool that has failed has a result, too.
    ///
    /// # Errors
    ///
    /// [`TaskError::Final`] and [`TaskError::Unknown`] if nobody wants it any more. After
    /// [`TaskError::Encode`] and [`TaskError::NotAResult`] the task goes on: see [`Tasks::complete`].
    pub fn complete<T: Payload + ?Sized>(&self, result: &T) -> Result<(), TaskError> {
        let result = Raw::from_payload(result)?;
        self.with(|tasks, now| tasks.complete(self.key, &result, now))
    }

    /// The work has failed, in a way in which the request would have been answered with an error. The
    /// message tells people why.
    ///
    /// # Errors
    ///
    /// As for [`complete`](Self::complete).
    pub fn fail(&self, code: ErrorCode, message: &str) -> Result<(), TaskError> {
        self.with(|tasks, now| tasks.fail(self.key, code, message, now))
    }

    /// The same with something more to say, any JSON.
    ///
    /// # Errors
    ///
    /// As for [`complete`](Self::complete).
    pub fn fail_with<T: Serialize + ?Sized>(
        &self,
        code: ErrorCode,
        message: &str,
        data: &T,
    ) -> Result<(), TaskError> {
        let data = Raw::from_serialize(data)?;
        self.with(|tasks, now| tasks.fail_with(self.key, code, message, &data, now))
    }

    /// The work has been given up: the task is cancelled.
    ///
    /// # Errors
    ///
    /// As for [`complete`](Self::complete).
    pub fn cancel(&self) -> Result<(), TaskError> {
        self.with(|tasks, now| tasks.cancel(self.key, now))
    }

    /// How far the work is, for people who look at the task.
    ///
    /// # Errors
    ///
    /// As for [`complete`](Self::complete).
    pub fn set_message(&self, message: &str) -> Result<(), TaskError> {
        self.with(|tasks, now| tasks.set_message(self.key, Some(message), now))
    }

    /// Tells whoever asked for the task how far the work is, if they asked for that in a session which is
    /// still there. Everybody else looks at the [message](Self::set_message).
    ///
    /// # Errors
    ///
    /// As for [`complete`](Self::complete).
    pub fn progress(&self, progress: Progress<'_>) -> Result<ProgressReport, TaskError> {
        match self.home.upgrade() {
            Some(home) => home.report(self.key, progress),
            None => self
                .tasks
                .change(|shared, _| self.going_on(shared).map(|_| ProgressReport::NotWanted)),
        }
    }

    /// Asks whoever asked for the task for something: `await` the answers, or
    /// [`wait`](TaskInputs::wait) for them. Each key is used once in the life of a task.
    ///
    /// # Errors
    ///
    /// [`TaskError::Final`], [`TaskError::CancelRequested`] and [`TaskError::Unknown`] if the work is not
    /// wanted any more, and what [`Tasks::require_input`] says if this may not be asked for.
    pub fn require_input(&self, required: &InputRequired<'_>) -> Result<TaskInputs<'_>, TaskError> {
        self.with(|tasks, now| tasks.require_input(self.key, required, now))?;
        Ok(TaskInputs { task: self, place: Place::NONE })
    }

    /// Whether the work is not wanted any more: the task has been cancelled or is to be, has been kept for as
    /// long as it was to be, or has ended in another way. Work should stop.
    pub fn is_cancelled(&self) -> bool {
        self.tasks.change(|shared, _| self.wanted(shared).is_err())
    }

    /// Waits, at most so long, until the work is not wanted any more. Says whether that is so.
    ///
    /// Work on a thread of its own that has to wait waits here.
    pub fn wait_cancelled(&self, patience: Duration) -> bool {
        let deadline = Monotonic::now().checked_add(patience);
        let unwanted = Unwanted { task: self, place: Place::NONE };
        self.block(deadline, unwanted).is_some()
    }

    /// Waits until the work is not wanted any more.
    ///
    /// That a task has been kept for as long as it was to be is noticed by the connections that share the
    /// tasks. While there is none, this goes on waiting.
    pub async fn cancelled(&self) {
        Unwanted { task: self, place: Place::NONE }.await;
    }

    /// Looks at the task, if somebody wants it to go on, and is woken when that may have changed.
    fn poll<T>(
        &self,
        place: &mut Place,
        context: &Context<'_>,
        look: impl FnOnce(Result<TaskView<'_>, TaskError>) -> Poll<T>,
    ) -> Poll<T> {
        let (seen, old) = self.tasks.change(|shared, _| {
            let seen = look(self.wanted(shared));
            let old = if seen.is_pending() { shared.wait(self.key, place, context) } else { None };
            (seen, old)
        });
        drop(old);
        seen
    }

    /// Nobody waits there any more.
    fn wait_no_more(&self, place: &Place) {
        let left = self.tasks.lock().wait_no_more(self.key, place);
        drop(left);
    }

    fn with<T>(&self, act: impl FnOnce(&mut Tasks, Instant) -> T) -> T {
        self.tasks.change(|shared, now| act(&mut shared.tasks, now))
    }

    /// Waits on this thread, where nobody else need be there to look at the time.
    fn block<F: Future>(&self, deadline: Option<Monotonic>, future: F) -> Option<F::Output> {
        let mut future = std::pin::pin!(future);
        loop {
            // A clock that stands still does not bring it about that it is over.
            let soon = Monotonic::now() + A_LITTLE;
            let expiry = self.expiry().map(|expiry| expiry.max(soon));
            let until = deadline.into_iter().chain(expiry).min();
            let output = block_until(until, future.as_mut());
            let is_due = deadline.is_some_and(|deadline| deadline <= Monotonic::now());
            if output.is_some() || is_due {
                return output;
            }
        }
    }

    /// Until when the task is kept, if it still is.
    fn expiry(&self) -> Option<Monotonic> {
        let shared = self.tasks.lock();
        let task = shared.tasks.get(self.key)?;
        self.tasks.clock().monotonic(task.created() + task.ttl()?)
    }

    /// The task, if it goes on.
    fn going_on<'s>(&self, shared: &'s Shared) -> Result<TaskView<'s>, TaskError> {
        let task = shared.tasks.get(self.key).ok_or(TaskError::Unknown)?;
        if task.status().is_final() { Err(TaskError::Final(task.status())) } else { Ok(task) }
    }

    /// The task, if somebody wants it to go on.
    fn wanted<'s>(&self, shared: &'s Shared) -> Result<TaskView<'s>, TaskError> {
        let task = self.going_on(shared)?;
        if task.is_cancel_requested() { Err(TaskError::CancelRequested) } else { Ok(task) }
    }
}

/// Waits until everything that a task has asked for has been answered or refused, however long that takes:
/// `await` it, or [`wait`](Self::wait) for it. Gives an object with an answer under each key; what was refused
/// is not in it.
///
/// Ends with [`TaskError::Final`], [`TaskError::CancelRequested`] or [`TaskError::Unknown`] if the work is not
/// wanted any more; see [`TaskHandle::cancelled`] for when that is noticed.
#[must_use = "it waits for nothing unless it is awaited"]
#[derive(Debug)]
pub struct TaskInputs<'t> {
    task: &'t TaskHandle,
    place: Place,
}

impl TaskInputs<'_> {
    /// Waits on this thread.
    ///
    /// # Errors
    ///
    /// As the future says.
    pub fn wait(self) -> Result<Raw<'static>, TaskError> {
        let task = self.task;
        // Without a deadline there is an output.
        task.block(None, self).unwrap_or(Err(TaskError::Unknown))
    }
}

impl Future for TaskInputs<'_> {
    type Output = Result<Raw<'static>, TaskError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { task, place } = &mut *self;
        task.poll(place, context, |task| match task {
            Err(error) => Poll::Ready(Err(error)),
            Ok(task) if task.status() == Status::InputRequired => Poll::Pending,
            Ok(task) => Poll::Ready(Ok(task.inputs())),
        })
    }
}

impl Drop for TaskInputs<'_> {
    fn drop(&mut self) {
        self.task.wait_no_more(&self.place);
    }
}

/// Waits until the work is not wanted any more.
struct Unwanted<'t> {
    task: &'t TaskHandle,
    place: Place,
}

impl Future for Unwanted<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self { task, place } = &mut *self;
        task.poll(place, context, |task| match task {
            Err(_) => Poll::Ready(()),
            Ok(_) => Poll::Pending,
        })
    }
}

impl Drop for Unwanted<'_> {
    fn drop(&mut self) {
        self.task.wait_no_more(&self.place);
    }
}

impl Drop for TaskHandle {
    fn drop(&mut self) {
        let text = "the work has ended without a result";
        self.tasks.change(|shared, now| {
            // If it has ended already, so much the better.
            _ = shared.tasks.fail(self.key, ErrorCode::INTERNAL_ERROR, text, now);
            shared.forget_work(self.key);
        });
    }
}

impl fmt::Debug for TaskHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TaskHandle").field("key", &self.key).finish_non_exhaustive()
    }
}
