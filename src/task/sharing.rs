//! Tasks that several processes share: each has some of them, and copies of others.

use super::call::TaskNews;
use super::error::TaskError;
use super::key::TaskKey;
use super::mail::Mail;
use super::record::{Asking, Record, Wanted};
use super::snapshot::{RestoreError, TaskRecord};
use super::status::Status;
use super::tasks::Tasks;
use super::work::Which;
use crate::ordered::OrderedSet;
use crate::time::Instant;

/// # Several processes
///
/// The work of a task is done by one process, which stores the [record](Self::save) of the task after each change. Other
/// processes can serve requests about the task from a copy of that record.
///
/// ```
/// use mcp_sansio::task::Tasks;
///
/// let mut tasks = Tasks::default();
/// tasks.share();
/// // After each step, before its messages are sent:
/// while let Some(key) = tasks.next_changed() {
///     match tasks.save(key) {
///         Some(record) => { /* store it under record.id() */ _ = record }
///         None => { /* the task is forgotten: remove its record */ }
///     }
/// }
/// ```
impl Tasks {
    /// Tracks the changes of tasks from now on, so that [`next_changed`](Self::next_changed) returns them. It needs a key for
    /// each task that has changed since.
    ///
    /// Tasks are listed in the order of the times at which they were begun, to a microsecond, so that the lists of several
    /// processes agree. For that the times must count from one epoch, and
    /// [`TasksConfig::cursor_key`](super::TasksConfig::cursor_key) must be the same.
    pub fn share(&mut self) {
        if self.records.changed.is_none() {
            self.records.changed = Some(OrderedSet::new());
        }
    }

    /// Returns a task that has begun, has changed or was forgotten since it was last returned. Without
    /// [`share`](Self::share) there is none.
    pub fn next_changed(&mut self) -> Option<TaskKey> {
        let changed = self.records.changed.as_mut()?;
        let key = *changed.first()?.0;
        changed.remove(&key);
        Some(key)
    }

    /// Whether [`next_changed`](Self::next_changed) returns a task.
    pub fn has_changed(&self) -> bool {
        self.records.changed.as_ref().is_some_and(|changed| !changed.is_empty())
    }

    /// Whether a request for the result of a task, or a subscription to it, waits on a connection that has not ended.
    pub fn is_awaited(&self, key: TaskKey) -> bool {
        let Some(record) = self.records.get(key) else { return false };
        let waiters = record.links.waiters.iter();
        let watchers = record.links.watchers.iter().map(|(listen, _)| listen);
        waiters.chain(watchers).any(|one| self.mail.knows(one.connection()))
    }

    /// Replaces a task by its record, which another process has stored, or [restores](Self::restore) it. A task with a change
    /// that [`next_changed`](Self::next_changed) has not returned yet stays as it is. Requests and subscriptions that wait for
    /// the task learn of the change at the next [`settle`](crate::drive::ConnectionTasks::settle).
    ///
    /// # Errors
    ///
    /// [`RestoreError`]: nothing has changed. [`Present`](RestoreError::Present) if the task of this id has another owner.
    pub fn refresh(&mut self, record: TaskRecord) -> Result<TaskKey, RestoreError> {
        let Some(key) = self.find(record.id()) else { return self.restore(record) };
        let new = record.read()?;
        if self.records.is_changed(key) {
            return Ok(key);
        }
        let Some(old) = self.records.get_mut(key).filter(|old| old.owner == new.owner) else {
            return Err(RestoreError::Present);
        };
        let growth = new.bytes().saturating_sub(old.counted);
        if !self.records.has_room_for(&self.config, growth) {
            return Err(RestoreError::TooManyBytes);
        }
        let Some(old) = self.records.get_mut(key) else { return Err(RestoreError::Present) };
        replace_record(old, new, key, &mut self.mail);
        self.records.count_again(key);
        self.records.set_deadline(key);
        self.records.forget_change(key);
        Ok(key)
    }

    /// Does what the requestor of a task has done to a copy of it in another process: cancels the task, or gives it the
    /// responses to the input that it requires. Anything else in the copy is ignored, and doing it twice has no further
    /// effect. Returns the effect on the work.
    ///
    /// # Errors
    ///
    /// [`TaskError::Unknown`] if there is no such task, and [`TaskError::Final`] if it has ended.
    pub fn merge(&mut self, copy: TaskRecord, now: Instant) -> Result<Option<TaskNews>, TaskError> {
        let key = self.find(copy.id()).ok_or(TaskError::Unknown)?;
        // A record that is no copy says nothing.
        let Ok(copy) = copy.read() else { return Ok(None) };
        let is_done = |record: &&Record| {
            copy.status() == Status::Cancelled && record.status() == Status::Cancelled
        };
        if self.records.get(key).filter(is_done).is_some() {
            return Ok(None);
        }
        let was_requested = self.records.going_on(key)?.cancel_requested;
        if copy.status() == Status::Cancelled {
            self.request_cancellation(key, true, now);
            return Ok(Some(TaskNews::Cancelled(key)));
        }
        let mut news = None;
        if copy.cancel_requested && !was_requested {
            self.request_cancellation(key, false, now);
            news = Some(TaskNews::CancelRequested(key));
        }
        for wanted in copy.inputs.wanted.iter().filter(|wanted| !wanted.is_open()) {
            let answer = match &wanted.progress {
                Asking::Answered(answer) => Some(&**answer),
                _ => None,
            };
            if self.give(key, Which::Key(&wanted.key), answer, now) {
                news = news.or(Some(TaskNews::Input(key)));
            }
        }
        Ok(news)
    }

    pub(super) const fn is_shared(&self) -> bool {
        self.records.changed.is_some()
    }

    /// Returns the serial number of a task that begins now.
    pub(super) fn next_serial(&self, now: Instant) -> u64 {
        let next = self.records.next_serial;
        match u64::try_from(now.since_epoch().as_micros()) {
            Ok(time) if self.is_shared() => next.max(time),
            _ => next,
        }
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
