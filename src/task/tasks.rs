//! `Tasks`: the tasks of a process, of all requestors.

use alloc::string::String;
use core::time::Duration;

use super::config::TasksConfig;
use super::error::TaskError;
use super::key::TaskKey;
use super::mail::{Mail, Notice};
use super::new::{NewTask, Origin};
use super::record::{Asking, BegunFor, Links, Record, Work};
use super::records::Records;
use super::status::Status;
use super::view::TaskView;
use crate::handle::{CallId, ConnectionNumber, IncomingId, Requestor};
use crate::json::Number;
use crate::time::Instant;

/// The tasks of a process: work that outlives the requests and connections that began it.
///
/// A plain value: it has no thread, clock or connection. The application does the work, and reports its outcome here.
/// [`Server`](crate::Server) and [`Client`](crate::Client) borrow the value to answer requests about tasks.
/// [`ConnectionTasks::settle`](crate::drive::ConnectionTasks::settle) sends the changes for one connection;
/// [`connections_with_news`](Self::connections_with_news) names the connections that have any.
///
/// Lookup, change, listing and expiry take constant time, or time logarithmic in the number of tasks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tasks {
    pub(super) config: TasksConfig,
    pub(crate) records: Records,
    pub(super) mail: Mail,
}

/// An event of the tasks that time has caused.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[must_use = "the work goes on until it is notified"]
pub enum TaskEvent {
    /// A task has expired and is forgotten: its key is invalid. The next
    /// [`settle`](crate::drive::ConnectionTasks::settle) answers open requests for its result with an error. If the
    /// work was still going on, stop it.
    Expired {
        /// The key of the task.
        key: TaskKey,
        /// The id of the task.
        id: String,
        /// Whether the task had not ended.
        was_going_on: bool,
    },
}

impl Default for Tasks {
    fn default() -> Self {
        Self::new(TasksConfig::default())
    }
}

/// # Lookup
impl Tasks {
    /// Returns an empty set of tasks.
    pub fn new(config: TasksConfig) -> Self {
        Self { config, records: Records::new(), mail: Mail::default() }
    }

    /// The limits and policies of the tasks.
    pub const fn config(&self) -> &TasksConfig {
        &self.config
    }

    /// The number of tasks, including ended tasks that are still kept.
    pub const fn len(&self) -> usize {
        self.records.len() as usize
    }

    /// The bytes that all tasks keep, limited by [`TasksConfig::bytes`].
    pub const fn bytes(&self) -> usize {
        self.records.bytes
    }

    /// Whether there are no tasks.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a task. `None` if it has been forgotten.
    pub fn get(&self, key: TaskKey) -> Option<TaskView<'_>> {
        self.records.get(key).map(TaskView)
    }

    /// Returns the task with this id, of any requestor.
    pub fn find(&self, id: &str) -> Option<TaskKey> {
        self.records.find(id)
    }

    /// Returns all tasks.
    pub fn iter(&self) -> impl Iterator<Item = (TaskKey, TaskView<'_>)> {
        self.records.iter().map(|(key, task)| (key, TaskView(task)))
    }

    /// Returns the tasks of a requestor, in the order in which they were begun.
    pub fn tasks_of(&self, owner: Requestor) -> impl Iterator<Item = TaskKey> {
        self.records.of_owner(owner, 0).map(|(_, key)| key)
    }

    pub(crate) fn record(&self, key: TaskKey) -> Option<&Record> {
        self.records.get(key)
    }

    pub(crate) fn record_mut(&mut self, key: TaskKey) -> Option<&mut Record> {
        self.records.get_mut(key)
    }
}

/// # Beginning and forgetting
impl Tasks {
    pub(crate) fn create(
        &mut self,
        origin: Origin,
        new: NewTask,
        now: Instant,
    ) -> Result<TaskKey, TaskError> {
        let ttl = new.ttl.unwrap_or_else(|| self.config.kept_for(origin.ttl));
        let poll_interval = Some(new.poll_interval.unwrap_or(self.config.poll_interval));
        // The task has no home yet: nothing is sent about it before it has been announced.
        let token_of = Some(origin.connection);
        let links = Links { token: origin.token, token_of, ..Links::default() };
        let serial = self.records.serial_at(now);
        let record = Record {
            id: new.id,
            owner: origin.owner,
            serial,
            request: BegunFor {
                kind: origin.kind,
                revision: origin.revision,
                capabilities: origin.capabilities,
                kept: origin.kept,
            },
            created: now,
            updated: now,
            ttl,
            poll_interval,
            message: new.message,
            work: Work { checkpoint: new.checkpoint, ..Work::default() },
            links,
            ..Record::default()
        };
        self.records.insert(&self.config, record)
    }

    /// Forgets a task in any state. The next [`settle`](crate::drive::ConnectionTasks::settle) answers open requests for
    /// its result with an error. Returns whether the task existed.
    pub fn remove(&mut self, key: TaskKey) -> bool {
        self.forget(key).is_some()
    }

    /// Forgets a task. Returns its id if it existed.
    fn forget(&mut self, key: TaskKey) -> Option<String> {
        let mut record = self.records.take_out(key)?;
        self.mail.gone(&mut record);
        Some(record.id)
    }

    /// Sets how long a task is kept from its beginning; `None` means forever. A task that has expired by then is
    /// forgotten by the next [`handle_timeout`](Self::handle_timeout).
    ///
    /// # Errors
    ///
    /// [`TaskError::Unknown`] if the task does not exist.
    pub fn set_ttl(&mut self, key: TaskKey, ttl: Option<Duration>) -> Result<(), TaskError> {
        let record = self.records.get_mut(key).ok_or(TaskError::Unknown)?;
        record.ttl = ttl;
        self.mail.changed(key, record);
        self.records.set_deadline(key);
        Ok(())
    }
}

/// # Time
impl Tasks {
    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout). `None` if no task can expire.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.records.next_deadline()
    }

    /// Forgets the next task that has expired. Call it until it returns `None`, then
    /// [`settle`](crate::drive::ConnectionTasks::settle) for each of
    /// [`connections_with_news`](Self::connections_with_news). A call that is early or late is harmless.
    #[must_use = "the event is the only notice that a task was removed"]
    pub fn handle_timeout(&mut self, now: Instant) -> Option<TaskEvent> {
        let key = self.records.expired(now)?;
        let was_going_on = self.get(key).is_some_and(|task| !task.status().is_final());
        let id = self.forget(key)?;
        Some(TaskEvent::Expired { key, id, was_going_on })
    }
}

/// # Connections
impl Tasks {
    /// Returns the connection with the lowest number that has notices about tasks to send, even if its outbox is
    /// full. Call [`settle`](crate::drive::ConnectionTasks::settle) for it. See
    /// [`connections_with_news`](Self::connections_with_news).
    pub fn next_connection(&self) -> Option<ConnectionNumber> {
        self.mail.first()
    }

    /// Returns all connections that have notices about tasks to send, in order. A connection with a full outbox, or
    /// with too many pending calls, stays among them: return to it when it has sent a message or a call has ended,
    /// not at once.
    pub fn connections_with_news(&self) -> impl Iterator<Item = ConnectionNumber> {
        self.mail.full()
    }

    /// Returns the [connections with news](Self::connections_with_news) for which a notice was added since the last
    /// [`settle`](crate::drive::ConnectionTasks::settle). The notices of the others found no room at their last
    /// `settle`.
    pub fn connections_with_untried_news(&self) -> impl Iterator<Item = ConnectionNumber> {
        self.mail.untried()
    }

    /// Whether a connection has notices about tasks to send.
    pub fn has_news_for(&self, connection: ConnectionNumber) -> bool {
        self.mail.has(connection)
    }

    /// Removes a connection that has ended. Its tasks continue.
    ///
    /// Call it after the `Closed` event, and give every connection a number of its own.
    pub fn disconnected(&mut self, connection: ConnectionNumber) {
        for notice in self.mail.forget(connection) {
            let Notice::Changed(key) = notice else { continue };
            let Some(record) = self.records.get_mut(key) else { continue };
            // Another connection may wait for the result of the task, and is asked for the input.
            if record.inputs.wanted.iter().any(|wanted| wanted.progress == Asking::Waits) {
                self.mail.asks(key, record);
            }
        }
    }

    /// Notes that a task has been announced on a connection. In the modern era only polls and subscriptions report on
    /// a task.
    pub(crate) fn announced(
        &mut self,
        key: TaskKey,
        connection: ConnectionNumber,
        progress: Option<Number>,
    ) {
        let Some(record) = self.records.get_mut(key) else { return };
        record.links.progress = progress;
        if !record.is_of_session() {
            return;
        }
        self.mail.know(connection);
        record.links.home = Some(connection);
        // Queues the changes since the task was begun.
        if record.status() != Status::Working || record.updated != record.created {
            self.mail.changed(key, record);
        }
    }

    pub(crate) fn next_notice(&self, connection: ConnectionNumber) -> Option<Notice> {
        self.mail.next(connection)
    }

    pub(crate) fn on_news_sent(&mut self, connection: ConnectionNumber) {
        self.mail.pop(connection);
    }

    /// Moves the next notice to the end, because it and the `failures` before it found no room. Returns whether to
    /// try another notice; the number of attempts is limited.
    pub(crate) fn postpone_notice(
        &mut self,
        connection: ConnectionNumber,
        failures: usize,
    ) -> bool {
        const MOST: usize = 64;
        let has_more = failures < self.mail.rotate(connection).min(MOST);
        if !has_more {
            self.mail.note_tried(connection);
        }
        has_more
    }

    /// Adds a request that waits for the result of a task. Waiters for which `is_open` is false, or whose connection
    /// has ended, are removed. From now on the task sends its input requests on the connection of the new waiter. It
    /// repeats those that it sent on another connection, or that `is_lost` says cannot reach the peer.
    pub(crate) fn wait(
        &mut self,
        key: TaskKey,
        waiter: IncomingId,
        is_open: impl Fn(IncomingId) -> bool,
        mut is_lost: impl FnMut(CallId) -> bool,
    ) {
        let connection = waiter.connection();
        self.mail.know(connection);
        let Some(record) = self.records.get_mut(key) else { return };
        let (mail, links) = (&mut self.mail, &mut record.links);
        mail.waits(waiter);
        if is_time_to_look(links.waiters.len()) {
            links.waiters.retain(|waiter| {
                let other = waiter.connection();
                if other == connection { is_open(*waiter) } else { mail.is_waiting(*waiter) }
            });
        }
        links.waiters.push(waiter);
        let has_moved = links.home != Some(connection);
        if has_moved
            && let Some(home) = links.home.replace(connection)
            && core::mem::take(&mut links.is_posted)
        {
            mail.withdraw(home, key);
        }
        for wanted in &mut record.inputs.wanted {
            if let Asking::Asked(call) = wanted.progress
                && (has_moved || is_lost(call))
            {
                mail.dismiss(call);
                wanted.progress = Asking::Waits;
            }
        }
        if record.inputs.wanted.iter().any(|wanted| wanted.progress == Asking::Waits) {
            mail.asks(key, record);
        }
    }

    /// Adds a subscription to a task. Subscriptions for which `is_open` is false, or whose connection has ended, are
    /// removed.
    pub(crate) fn watch(
        &mut self,
        key: TaskKey,
        listen: IncomingId,
        is_open: impl Fn(IncomingId) -> bool,
    ) {
        let connection = listen.connection();
        self.mail.know(connection);
        let Some(record) = self.records.get_mut(key) else { return };
        let (mail, links) = (&mut self.mail, &mut record.links);
        mail.waits(listen);
        if is_time_to_look(links.watchers.len()) {
            links.watchers.retain(|(listen, _)| {
                let other = listen.connection();
                if other == connection { is_open(*listen) } else { mail.is_waiting(*listen) }
            });
        }
        links.watchers.push((listen, true));
        // The subscription starts with the current state of the task.
        mail.post(connection, Notice::Watched(listen, key));
    }
}

/// Whether to remove ended entries from a list: when the list has doubled, so the cost of each entry is constant.
const fn is_time_to_look(length: usize) -> bool {
    3 < length && length.is_power_of_two()
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn lists_are_looked_through_when_they_have_doubled() {
        let lengths: Vec<usize> = (0..40).filter(|length| is_time_to_look(*length)).collect();
        assert_eq!(lengths, [4, 8, 16, 32]);
    }
}
