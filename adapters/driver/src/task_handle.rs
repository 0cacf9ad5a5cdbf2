//! [`TaskHandle`]: the work on a task.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Weak;
use std::task::{Context, Poll};
use std::time::{Duration, Instant as Monotonic};

use mcp_sansio::json::Raw;
use mcp_sansio::model::InputRequired;
use mcp_sansio::progress::{Progress, ProgressReport};
use mcp_sansio::task::{Status, TaskError, TaskKey, TaskSharing, TaskView, Tasks};
use mcp_sansio::{ErrorCode, Instant, Payload};
use serde::Serialize;

use crate::block::block_until;
use crate::tasks::{Link, Shared, SharedTasks};
use crate::wakers::WakerSlot;

/// The shortest delay before checking again whether a task has expired.
const A_LITTLE: Duration = Duration::from_millis(10);

/// The handle of a task that a request has become ([`Exchange::begin_task`](crate::Exchange::begin_task)). It can
/// be sent to any thread, and it outlives the connection.
///
/// If the handle is dropped before the task has ended, because the work was forgotten or has panicked, the task
/// fails with `-32603`.
#[must_use = "a task whose handle is dropped fails"]
pub struct TaskHandle {
    key: TaskKey,
    /// The number of this handle: a task has one at a time.
    number: u64,
    tasks: SharedTasks,
    /// The connection of the original request, unless that was one of another process.
    home: Option<Weak<dyn Link>>,
}

impl TaskHandle {
    pub(crate) fn new(key: TaskKey, tasks: &SharedTasks, home: Option<Weak<dyn Link>>) -> Self {
        let number = tasks.change(|shared, _| shared.new_handle(key));
        Self { key, number, tasks: tasks.clone(), home }
    }

    /// Returns the key of the task in the [`SharedTasks`].
    pub const fn key(&self) -> TaskKey {
        self.key
    }

    /// Completes the task with the result of the original request. A failed tool has a result, too.
    ///
    /// # Errors
    ///
    /// [`TaskError::Final`] and [`TaskError::Unknown`] if the result is no longer wanted. After
    /// [`TaskError::Encode`] and [`TaskError::NotAResult`] the task continues: see [`Tasks::complete`].
    pub fn complete<T: Payload + ?Sized>(&self, result: &T) -> Result<(), TaskError> {
        let result = Raw::from_payload(result)?;
        self.with(|tasks, now| tasks.complete(self.key, &result, now))
    }

    /// Ends the task with an error that would have been the response to the original request. The message is for
    /// people.
    ///
    /// # Errors
    ///
    /// As for [`complete`](Self::complete).
    pub fn fail(&self, code: ErrorCode, message: &str) -> Result<(), TaskError> {
        self.with(|tasks, now| tasks.fail(self.key, code, message, now))
    }

    /// As [`fail`](Self::fail), with additional data, any JSON.
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

    /// Cancels the task, because its work has been given up.
    ///
    /// # Errors
    ///
    /// As for [`complete`](Self::complete).
    pub fn cancel(&self) -> Result<(), TaskError> {
        self.with(|tasks, now| tasks.cancel(self.key, now))
    }

    /// Sets the status message of the task, for people who look at it.
    ///
    /// # Errors
    ///
    /// As for [`complete`](Self::complete).
    pub fn set_message(&self, message: &str) -> Result<(), TaskError> {
        self.with(|tasks, now| tasks.set_message(self.key, Some(message), now))
    }

    /// Sets the text with which another process can continue the work ([`TaskSharing::set_checkpoint`]): how far the work has
    /// come.
    ///
    /// # Errors
    ///
    /// As for [`complete`](Self::complete).
    pub fn set_checkpoint(&self, checkpoint: &str) -> Result<(), TaskError> {
        self.with(|tasks, _| TaskSharing::of(tasks).set_checkpoint(self.key, Some(checkpoint)))
    }

    /// Sends a progress notification to the requestor of the task, if it requested progress in a session that is
    /// still open. All other peers see only the [message](Self::set_message).
    ///
    /// # Errors
    ///
    /// As for [`complete`](Self::complete).
    pub fn progress(&self, progress: Progress<'_>) -> Result<ProgressReport, TaskError> {
        self.tasks.change(|shared, _| self.going_on(shared).map(drop))?;
        match self.home.as_ref().and_then(Weak::upgrade) {
            Some(home) => home.report(self.key, progress),
            None => Ok(ProgressReport::NotWanted),
        }
    }

    /// Requests input from the requestor of the task: `await` the answers, or block with
    /// [`wait`](TaskInputs::wait). A task uses each key at most once.
    ///
    /// # Errors
    ///
    /// [`TaskError::Final`], [`TaskError::CancelRequested`] and [`TaskError::Unknown`] if the work is no longer
    /// wanted, and the errors of [`Tasks::require_input`] if this input must not be requested.
    pub fn require_input(&self, required: &InputRequired<'_>) -> Result<TaskInputs<'_>, TaskError> {
        self.with(|tasks, now| tasks.require_input(self.key, required, now))?;
        Ok(TaskInputs { task: self, place: WakerSlot::NONE })
    }

    /// As [`require_input`](Self::require_input), for work that requires more input while it waits for earlier input.
    /// If all earlier input has been answered or refused by now, its responses are returned as well: the new
    /// [`TaskInputs`] has only those to this input then. Otherwise it has all of them. Drop the earlier [`TaskInputs`].
    ///
    /// # Errors
    ///
    /// As for [`require_input`](Self::require_input). The earlier input is still required then.
    pub fn require_more_input(
        &self,
        required: &InputRequired<'_>,
    ) -> Result<(Option<Raw<'static>>, TaskInputs<'_>), TaskError> {
        // In one step: a response in between would be lost.
        let settled = self.with(|tasks, now| {
            let task = tasks.get(self.key).ok_or(TaskError::Unknown)?;
            let settled = (task.status() != Status::InputRequired).then(|| task.inputs());
            tasks.require_input(self.key, required, now)?;
            Ok(settled)
        })?;
        Ok((settled, TaskInputs { task: self, place: WakerSlot::NONE }))
    }

    /// Withdraws required input that the work no longer needs: see [`Tasks::withdraw_input`]. A [`TaskInputs`] that waits
    /// only for this input becomes ready. Returns whether the input was still required.
    ///
    /// # Errors
    ///
    /// [`TaskError::Final`] and [`TaskError::Unknown`] if the task has ended.
    pub fn withdraw_input(&self, input: &str) -> Result<bool, TaskError> {
        self.tasks.change(|shared, now| {
            self.going_on(shared)?;
            let withdrawn = shared.tasks.withdraw_input(self.key, input, now)?;
            shared.changed(self.key);
            Ok(withdrawn)
        })
    }

    /// Waits for the input that the task requires already: for the work of another process that is
    /// [continued](SharedTasks::resume). Its output has the responses to the input that was required last.
    pub const fn inputs(&self) -> TaskInputs<'_> {
        TaskInputs { task: self, place: WakerSlot::NONE }
    }

    /// Whether the work is no longer wanted: the task has been cancelled, its cancellation has been requested, it
    /// has expired, or it has ended otherwise. The work should stop then.
    pub fn is_cancelled(&self) -> bool {
        self.tasks.change(|shared, _| self.wanted(shared).is_err())
    }

    /// Blocks until the work is no longer wanted, at most for `patience`. Returns whether that is the case.
    ///
    /// For work on its own thread that has to wait.
    pub fn wait_cancelled(&self, patience: Duration) -> bool {
        let deadline = Monotonic::now().checked_add(patience);
        let unwanted = Unwanted { task: self, place: WakerSlot::NONE };
        self.block(deadline, unwanted).is_some()
    }

    /// Waits until the work is no longer wanted.
    ///
    /// The connections that share the tasks detect that a task has expired. Without any connection, this future
    /// does not notice it.
    pub async fn cancelled(&self) {
        Unwanted { task: self, place: WakerSlot::NONE }.await;
    }

    /// Polls the task as long as it is wanted, and registers the waker for changes.
    fn poll<T>(
        &self,
        place: &mut WakerSlot,
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

    /// Removes the waker of a future that no longer waits.
    fn wait_no_more(&self, place: &WakerSlot) {
        let mut shared = self.tasks.lock();
        // The places of a former handle belong to its successor.
        let is_handle = shared.is_handle(self.key, self.number);
        let left = if is_handle { shared.wait_no_more(self.key, place) } else { None };
        drop(shared);
        drop(left);
    }

    fn with<T>(
        &self,
        act: impl FnOnce(&mut Tasks, Instant) -> Result<T, TaskError>,
    ) -> Result<T, TaskError> {
        self.tasks.change(|shared, now| match shared.is_handle(self.key, self.number) {
            true => act(&mut shared.tasks, now),
            false => Err(TaskError::Unknown),
        })
    }

    /// Blocks the current thread, and checks the expiry of the task itself, so that no connection has to exist.
    fn block<F: Future>(&self, deadline: Option<Monotonic>, future: F) -> Option<F::Output> {
        let mut future = std::pin::pin!(future);
        loop {
            // A stopped clock does not reach the expiry, so the wait lasts at least a little.
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

    /// Returns the expiry of the task, if the task still exists.
    fn expiry(&self) -> Option<Monotonic> {
        let shared = self.tasks.lock();
        let task = shared.tasks.get(self.key)?;
        self.tasks.clock().monotonic(task.created() + task.ttl()?)
    }

    /// Returns the task, if it has not ended.
    fn going_on<'s>(&self, shared: &'s Shared) -> Result<TaskView<'s>, TaskError> {
        let task = shared.tasks.get(self.key).ok_or(TaskError::Unknown)?;
        if !shared.is_handle(self.key, self.number) {
            return Err(TaskError::Unknown);
        }
        if task.status().is_final() { Err(TaskError::Final(task.status())) } else { Ok(task) }
    }

    /// Returns the task, if it has not ended and its cancellation has not been requested.
    fn wanted<'s>(&self, shared: &'s Shared) -> Result<TaskView<'s>, TaskError> {
        let task = self.going_on(shared)?;
        if task.is_cancel_requested() { Err(TaskError::CancelRequested) } else { Ok(task) }
    }
}

/// A future that is ready when all input that a task has requested has been answered or refused, without a time
/// limit: `await` it, or block with [`wait`](Self::wait). Its output is an object with an answer under each key;
/// refused input is absent.
///
/// It fails with [`TaskError::Final`], [`TaskError::CancelRequested`] or [`TaskError::Unknown`] if the work is no
/// longer wanted; see [`TaskHandle::cancelled`] for when that is detected.
#[must_use = "a future does nothing unless it is awaited"]
#[derive(Debug)]
pub struct TaskInputs<'t> {
    task: &'t TaskHandle,
    place: WakerSlot,
}

impl TaskInputs<'_> {
    /// Blocks the current thread until the input has arrived.
    ///
    /// # Errors
    ///
    /// As for the future.
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

/// A future that is ready when the work is no longer wanted.
struct Unwanted<'t> {
    task: &'t TaskHandle,
    place: WakerSlot,
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
            if shared.is_handle(self.key, self.number) {
                // The task may have ended already; then the call has no effect.
                _ = shared.tasks.fail(self.key, ErrorCode::INTERNAL_ERROR, text, now);
                shared.forget_work(self.key);
            }
        });
    }
}

impl fmt::Debug for TaskHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TaskHandle").field("key", &self.key).finish_non_exhaustive()
    }
}
