//! The tasks of one program, whoever asked for them.

use alloc::string::String;
use core::time::Duration;

use super::config::TasksConfig;
use super::error::TaskError;
use super::key::TaskKey;
use super::mail::{Mail, Notice};
use super::new::{NewTask, Origin};
use super::record::{Asking, BegunFor, Links, Record};
use super::records::Records;
use super::status::Status;
use super::view::TaskView;
use crate::handle::{ConnectionNumber, IncomingId, Requestor};
use crate::json::Number;
use crate::time::Instant;

/// Work that outlives the requests that have begun it, and the connections they came on.
///
/// A plain value: no thread, no clock, no connection. The work itself is the application's, which says
/// here what came of it; [`Server`](crate::Server) and [`Client`](crate::Client) are lent the value to
/// answer what their peers ask about tasks. What changes here and is to be told on a connection is told by
/// `settle_tasks` of that connection; [`connections_with_news`](Self::connections_with_news) says which
/// ones those are.
///
/// Finding, changing, listing and expiring take a time that does not depend on how many tasks there are,
/// or that grows with its logarithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tasks {
    pub(super) config: TasksConfig,
    pub(crate) records: Records,
    pub(super) mail: Mail,
}

/// What time has brought about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[must_use = "the work goes on until it is told"]
pub enum TaskEvent {
    /// A task has been kept for as long as it was to be, and is forgotten: its key is dead, and whoever
    /// waits for it is told that there is no such task. If it was still going on, stop it.
    Expired {
        /// What it was called here.
        key: TaskKey,
        /// What it was called on the wire.
        id: String,
        /// Whether it had not ended.
        was_going_on: bool,
    },
}

impl Default for Tasks {
    fn default() -> Self {
        Self::new(TasksConfig::default())
    }
}

/// # Looking
impl Tasks {
    /// No tasks yet.
    pub fn new(config: TasksConfig) -> Self {
        Self { config, records: Records::new(), mail: Mail::default() }
    }

    /// The bounds, and how tasks behave.
    pub const fn config(&self) -> &TasksConfig {
        &self.config
    }

    /// How many tasks there are, those that have ended and are still kept included.
    pub const fn len(&self) -> usize {
        self.records.len() as usize
    }

    /// How many bytes are kept of all of them, which [`TasksConfig::bytes`] bounds.
    pub const fn bytes(&self) -> usize {
        self.records.bytes
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A task; `None` if it has been forgotten.
    pub fn get(&self, key: TaskKey) -> Option<TaskView<'_>> {
        self.records.get(key).map(TaskView)
    }

    /// The task with this id, whoever asked for it.
    pub fn find(&self, id: &str) -> Option<TaskKey> {
        self.records.find(id)
    }

    /// All tasks.
    pub fn iter(&self) -> impl Iterator<Item = (TaskKey, TaskView<'_>)> {
        self.records.iter().map(|(key, task)| (key, TaskView(task)))
    }

    /// The tasks of a requestor, in the order they were begun.
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
        // Nobody is told of it before it has been announced.
        let token_of = Some(origin.connection);
        let links = Links { token: origin.token, token_of, ..Links::default() };
        let serial = self.records.next_serial;
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
            links,
            ..Record::default()
        };
        self.records.insert(&self.config, record)
    }

    /// Forgets a task, whatever it is doing. Whoever waits for it is told that there is no such task.
    /// Says whether there was one.
    pub fn remove(&mut self, key: TaskKey) -> bool {
        self.forget(key).is_some()
    }

    /// Gives the id of the task, if there was one.
    fn forget(&mut self, key: TaskKey) -> Option<String> {
        let mut record = self.records.take_out(key)?;
        self.mail.gone(&mut record);
        Some(record.id)
    }

    /// How long a task is kept from its beginning; `None` for ever. If that has passed already it is
    /// forgotten by the next [`handle_timeout`](Self::handle_timeout).
    ///
    /// # Errors
    ///
    /// [`TaskError::Unknown`].
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
    /// When to call [`handle_timeout`](Self::handle_timeout) next; `None` if nothing can expire.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.records.next_deadline()
    }

    /// Forgets the next task whose time is over. Call it until it returns `None`; being early or late is
    /// harmless.
    #[must_use = "the event is the only word of a task that is forgotten"]
    pub fn handle_timeout(&mut self, now: Instant) -> Option<TaskEvent> {
        let key = self.records.expired(now)?;
        let was_going_on = self.get(key).is_some_and(|task| !task.status().is_final());
        let id = self.forget(key)?;
        Some(TaskEvent::Expired { key, id, was_going_on })
    }
}

/// # Connections
impl Tasks {
    /// A connection that has something to tell of tasks: call `settle_tasks` of its machine. The one with
    /// the lowest number, also if it has no room for it: see
    /// [`connections_with_news`](Self::connections_with_news).
    pub fn next_connection(&self) -> Option<ConnectionNumber> {
        self.mail.first()
    }

    /// All connections that have something to tell of tasks, in order. One whose outbox is full, or that has
    /// too many calls pending, stays among them: come back to it when it has sent something or a call has
    /// ended, not at once.
    pub fn connections_with_news(&self) -> impl Iterator<Item = ConnectionNumber> {
        self.mail.full()
    }

    /// Whether a connection has something to tell of tasks.
    pub fn has_news_for(&self, connection: ConnectionNumber) -> bool {
        self.mail.has(connection)
    }

    /// A connection has ended: nothing more is told on it. Its tasks go on.
    ///
    /// Call it when the machine has handed out `Closed`, and have a number of its own for every connection.
    pub fn disconnected(&mut self, connection: ConnectionNumber) {
        for notice in self.mail.forget(connection) {
            let Notice::Changed(key) = notice else { continue };
            let Some(record) = self.records.get_mut(key) else { continue };
            // Somebody else may wait for the task, who is asked what it needs.
            if record.inputs.wanted.iter().any(|wanted| wanted.progress == Asking::Waits) {
                self.mail.asks(key, record);
            }
        }
    }

    /// A task has been announced on a connection. Where there are no sessions nobody is told of it but those
    /// who look or have subscribed.
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
        // What has happened to it meanwhile.
        if record.status() != Status::Working || record.updated != record.created {
            self.mail.changed(key, record);
        }
    }

    pub(crate) fn next_notice(&self, connection: ConnectionNumber) -> Option<Notice> {
        self.mail.next(connection)
    }

    pub(crate) fn has_told(&mut self, connection: ConnectionNumber) {
        self.mail.pop(connection);
    }

    /// The next thing to tell has found no room, as others before it: it is told after the others. Says
    /// whether there are others, of which not too many are tried in vain.
    pub(crate) fn tell_later(&mut self, connection: ConnectionNumber, failures: usize) -> bool {
        const MOST: usize = 64;
        failures < self.mail.rotate(connection).min(MOST)
    }

    /// Somebody waits for the result of a task that goes on; those for whom `is_open` is not true, or whose
    /// connection has ended, do so no longer. From now on it asks them for what it needs.
    pub(crate) fn wait(
        &mut self,
        key: TaskKey,
        waiter: IncomingId,
        is_open: impl Fn(IncomingId) -> bool,
    ) {
        let connection = waiter.connection();
        self.mail.know(connection);
        let Some(record) = self.records.get_mut(key) else { return };
        let (mail, links) = (&mut self.mail, &mut record.links);
        if is_time_to_look(links.waiters.len()) {
            links.waiters.retain(|waiter| {
                let other = waiter.connection();
                if other == connection { is_open(*waiter) } else { mail.knows(other) }
            });
        }
        links.waiters.push(waiter);
        if links.home != Some(connection) {
            if let Some(home) = links.home.replace(connection)
                && core::mem::take(&mut links.is_posted)
            {
                mail.withdraw(home, key);
            }
            for wanted in &mut record.inputs.wanted {
                if let Asking::Asked(call) = wanted.progress {
                    mail.dismiss(call);
                    wanted.progress = Asking::Waits;
                }
            }
        }
        if record.inputs.wanted.iter().any(|wanted| wanted.progress == Asking::Waits) {
            mail.asks(key, record);
        }
    }

    /// A subscription wants to hear of a task; those for which `is_open` is not true, or whose connection
    /// has ended, do so no longer.
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
        if is_time_to_look(links.watchers.len()) {
            links.watchers.retain(|(listen, _)| {
                let other = listen.connection();
                if other == connection { is_open(*listen) } else { mail.knows(other) }
            });
        }
        links.watchers.push((listen, true));
        // It begins with how far the task is.
        mail.post(connection, Notice::Watched(listen, key));
    }
}

/// Whether a list is looked through for what has ended: when it has doubled, so that each entry is paid for
/// once.
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
