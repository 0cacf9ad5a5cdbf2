//! [`TaskSharing`]: tasks that several processes share. Each works on some of them, and has copies of others.

use alloc::string::String;

use super::call::TaskNews;
use super::error::TaskError;
use super::key::TaskKey;
use super::mail::Mail;
use super::record::{Asking, Record, Wanted};
use super::snapshot::{RestoreError, TaskRecord};
use super::status::Status;
use super::tasks::Tasks;
use super::work::Which;
use crate::handle::IncomingId;
use crate::ordered::OrderedSet;
use crate::time::Instant;

/// A view of [`Tasks`] as one of several processes that share them.
///
/// The work of a task is done by one process, which stores the [record](Tasks::save) of the task after each change. Other
/// processes can serve requests about the task from a copy of that record.
///
/// ```
/// use mcp_sansio::task::{TaskSharing, Tasks};
///
/// let mut tasks = Tasks::default();
/// TaskSharing::of(&mut tasks).begin();
/// // After each step, before its messages are sent:
/// while let Some(key) = TaskSharing::of(&mut tasks).next_changed() {
///     match tasks.save(key) {
///         Some(record) => { /* store it under record.id() */ _ = record }
///         None => { /* the task is forgotten: remove its record */ }
///     }
/// }
/// ```
#[derive(Debug)]
pub struct TaskSharing<'t>(&'t mut Tasks);

impl<'t> TaskSharing<'t> {
    /// Returns the view of these tasks.
    pub const fn of(tasks: &'t mut Tasks) -> Self {
        Self(tasks)
    }

    /// Tracks the changes of tasks from now on, so that [`next_changed`](Self::next_changed) returns them. It needs a key for
    /// each task that has changed since.
    ///
    /// Tasks are listed in the order of the times at which they were begun, to a microsecond, so that the lists of several
    /// processes agree. For that the times must count from one epoch, and
    /// [`TasksConfig::cursor_key`](super::TasksConfig::cursor_key) must be the same.
    pub fn begin(&mut self) {
        self.0.records.changed.get_or_insert_with(OrderedSet::new);
    }

    /// Returns a task that has begun, has changed or was forgotten since it was last returned. Without
    /// [`begin`](Self::begin) there is none.
    pub fn next_changed(&mut self) -> Option<TaskKey> {
        let changed = self.0.records.changed.as_mut()?;
        let key = *changed.first()?.0;
        changed.remove(&key);
        Some(key)
    }

    /// Whether [`next_changed`](Self::next_changed) returns a task.
    pub fn has_changed(&self) -> bool {
        self.0.records.changed.as_ref().is_some_and(|changed| !changed.is_empty())
    }

    /// Whether a request for the result of a task, or a subscription to it, waits on a connection that has not ended.
    ///
    /// A request that the peer has cancelled counts until [`request_cancelled`](Self::request_cancelled) is called for
    /// it. The drivers call that method.
    pub fn is_awaited(&self, key: TaskKey) -> bool {
        let Some(record) = self.0.records.get(key) else { return false };
        let waiters = record.links.waiters.iter();
        let watchers = record.links.watchers.iter().map(|(listen, _)| listen);
        waiters.chain(watchers).any(|one| self.0.mail.is_waiting(*one))
    }

    /// Notes that the peer has cancelled a request for the result of a task, or a subscription: see
    /// [`is_awaited`](Self::is_awaited). Call it for the event `Cancelled`. For any other request it has no effect.
    pub fn request_cancelled(&mut self, id: IncomingId) {
        self.0.mail.waits_no_more(id);
    }

    /// Replaces a task by its record, which another process has stored, or [restores](Tasks::restore) it. A task with a change
    /// that [`next_changed`](Self::next_changed) has not returned yet stays as it is. Requests and subscriptions that wait for
    /// the task learn of the change at the next [`settle`](crate::drive::ConnectionTasks::settle).
    ///
    /// # Errors
    ///
    /// [`RestoreError`]: nothing has changed. [`Present`](RestoreError::Present) if the task of this id has another owner.
    pub fn refresh(&mut self, record: TaskRecord) -> Result<TaskKey, RestoreError> {
        let Some(key) = self.0.find(record.id()) else { return self.0.restore(record) };
        let new = record.read()?;
        if self.0.records.is_changed(key) {
            return Ok(key);
        }
        let Some(old) = self.0.records.get_mut(key).filter(|old| old.owner == new.owner) else {
            return Err(RestoreError::Present);
        };
        let growth = new.bytes().saturating_sub(old.counted);
        if !self.0.records.has_room_for(&self.0.config, growth) {
            return Err(RestoreError::TooManyBytes);
        }
        let Some(old) = self.0.records.get_mut(key) else { return Err(RestoreError::Present) };
        replace_record(old, new, key, &mut self.0.mail);
        self.0.records.count_again(key);
        self.0.records.set_deadline(key);
        self.0.records.forget_change(key);
        Ok(key)
    }

    /// Does what the requestor of a task has done to a copy of it in another process: cancels the task, or gives it the
    /// responses to the input that it requires. Anything else in the copy is ignored, and doing it twice has no further
    /// effect. Returns the effect on the work; of a copy with both, [`TaskNews::CancelRequested`], after which
    /// [`TaskView::waits_for`](super::TaskView::waits_for) shows whether the input is complete.
    ///
    /// # Errors
    ///
    /// [`TaskError::Unknown`] if there is no such task, and [`TaskError::Final`] if it has ended.
    pub fn merge(&mut self, copy: TaskRecord, now: Instant) -> Result<Option<TaskNews>, TaskError> {
        let key = self.0.find(copy.id()).ok_or(TaskError::Unknown)?;
        // A record that is no copy says nothing.
        let Ok(copy) = copy.read() else { return Ok(None) };
        let is_done = |record: &&Record| {
            copy.status() == Status::Cancelled && record.status() == Status::Cancelled
        };
        if self.0.records.get(key).filter(is_done).is_some() {
            return Ok(None);
        }
        let was_requested = self.0.records.going_on(key)?.work.cancel_requested;
        if copy.status() == Status::Cancelled {
            self.0.request_cancellation(key, true, now);
            return Ok(Some(TaskNews::Cancelled(key)));
        }
        let mut news = None;
        if copy.work.cancel_requested && !was_requested {
            self.0.request_cancellation(key, false, now);
            news = Some(TaskNews::CancelRequested(key));
        }
        for wanted in copy.inputs.wanted.iter().filter(|wanted| !wanted.is_open()) {
            let answer = match &wanted.progress {
                Asking::Answered(answer) => Some(&**answer),
                _ => None,
            };
            if self.0.give(key, Which::Key(&wanted.key), answer, now) {
                news = news.or(Some(TaskNews::Input(key)));
            }
        }
        Ok(news)
    }

    /// Sets the text with which another process can continue the work: see [`NewTask::checkpoint`](super::NewTask::checkpoint). Peers do not see it, so
    /// the time of the last change stays.
    ///
    /// # Errors
    ///
    /// As for [`cancel`](Tasks::cancel), and [`TaskError::TooManyBytes`] if the text would exceed
    /// [`TasksConfig::bytes`](super::TasksConfig::bytes).
    pub fn set_checkpoint(
        &mut self,
        key: TaskKey,
        checkpoint: Option<&str>,
    ) -> Result<(), TaskError> {
        let before = self.0.records.going_on(key)?.work.checkpoint.as_ref().map_or(0, String::len);
        let more = checkpoint.map_or(0, str::len).saturating_sub(before);
        if !self.0.records.has_room_for(&self.0.config, more) {
            return Err(TaskError::TooManyBytes);
        }
        self.0.records.going_on(key)?.work.checkpoint = checkpoint.map(String::from);
        self.0.records.count_again(key);
        Ok(())
    }
}

/// Replaces the state of a task, and queues the notices of the change.
fn replace_record(old: &mut Record, mut new: Record, key: TaskKey, mail: &mut Mail) {
    for wanted in &old.inputs.wanted {
        let Asking::Asked(call) = wanted.progress else { continue };
        // A request for an input that is still open goes on.
        let is_it = |one: &&mut Wanted| one.is_open() && one.key == wanted.key;
        match new.inputs.wanted.iter_mut().find(is_it) {
            Some(open) => open.progress = Asking::Asked(call),
            None => mail.dismiss(call),
        }
    }
    (new.serial, new.owner, new.counted) = (old.serial, old.owner, old.counted);
    new.links = core::mem::take(&mut old.links);
    let had_ended = old.status().is_final();
    let shown = |record: &Record| (record.updated, record.ttl, record.poll_interval);
    let has_changed = shown(&new) != shown(old)
        || new.state != old.state
        || new.message != old.message
        || new.inputs != old.inputs;
    *old = new;
    if old.status().is_final() && !had_ended {
        mail.ended(key, old);
    } else if has_changed {
        mail.changed(key, old);
    }
}
