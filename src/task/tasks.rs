//! The tasks of one program, whoever asked for them.

use alloc::collections::BTreeMap;
use alloc::string::String;
use core::time::Duration;

use super::config::TasksConfig;
use super::error::TaskError;
use super::key::TaskKey;
use super::mail::{Mail, Notice};
use super::new::{NewTask, Origin};
use super::record::{Asking, Links, Record};
use super::status::Status;
use super::view::TaskView;
use crate::handle::{ConnectionNumber, InboundId, Requestor};
use crate::json::Number;
use crate::rpc::{Deadlines, Ending, Index, Table};
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
    pub(super) table: Table<Record>,
    by_id: Index,
    /// The tasks of each owner, in the order they were begun.
    pub(super) of_owner: BTreeMap<(Requestor, u64), u32>,
    /// How many each owner has.
    owners: BTreeMap<Requestor, u32>,
    deadlines: Deadlines,
    pub(super) next_serial: u64,
    /// What counts towards [`TasksConfig::bytes`].
    bytes: usize,
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
        Self {
            config,
            table: Table::new(ConnectionNumber::default()),
            by_id: Index::default(),
            of_owner: BTreeMap::new(),
            owners: BTreeMap::new(),
            deadlines: Deadlines::NONE,
            next_serial: 0,
            bytes: 0,
            mail: Mail::default(),
        }
    }

    /// The bounds, and how tasks behave.
    pub const fn config(&self) -> &TasksConfig {
        &self.config
    }

    /// How many tasks there are, those that have ended and are still kept included.
    pub const fn len(&self) -> usize {
        self.table.len() as usize
    }

    /// How many bytes are kept of all of them, which [`TasksConfig::bytes`] bounds.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether so many bytes more may be kept.
    pub(super) const fn has_room_for(&self, bytes: usize) -> bool {
        self.bytes.saturating_add(bytes) <= self.config.bytes
    }

    /// Something else is kept of a task than before.
    pub(super) fn count_again(&mut self, key: TaskKey) {
        let Some(record) = self.table.get_mut(key.0) else { return };
        let bytes = record.bytes();
        let before = core::mem::replace(&mut record.counted, bytes);
        self.bytes = self.bytes.saturating_sub(before).saturating_add(bytes);
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// A task; `None` if it has been forgotten.
    pub fn get(&self, key: TaskKey) -> Option<TaskView<'_>> {
        self.table.get(key.0).map(TaskView)
    }

    /// The task with this id, whoever asked for it.
    pub fn find(&self, id: &str) -> Option<TaskKey> {
        let is_it = |index| {
            let place = self.table.place_of(index);
            place.and_then(|place| self.table.get(place)).is_some_and(|task| task.id == id)
        };
        self.by_id.find(hash(id), is_it).and_then(|index| self.table.place_of(index)).map(TaskKey)
    }

    /// All tasks.
    pub fn iter(&self) -> impl Iterator<Item = (TaskKey, TaskView<'_>)> {
        self.table.iter().map(|(place, task)| (TaskKey(place), TaskView(task)))
    }

    /// The tasks of a requestor, in the order they were begun.
    pub fn tasks_of(&self, owner: Requestor) -> impl Iterator<Item = TaskKey> {
        let own = self.of_owner.range((owner, 0)..=(owner, u64::MAX));
        own.filter_map(|(_, index)| self.table.place_of(*index)).map(TaskKey)
    }

    /// The task with this id, if this requestor reaches it.
    pub(crate) fn find_own(&self, id: &str, requestor: Requestor) -> Option<TaskKey> {
        let is_own =
            |key: &TaskKey| self.record(*key).is_some_and(|task| requestor.reaches(task.owner));
        self.find(id).filter(is_own)
    }

    pub(crate) fn record(&self, key: TaskKey) -> Option<&Record> {
        self.table.get(key.0)
    }

    pub(crate) fn links_mut(&mut self, key: TaskKey) -> Option<&mut Links> {
        self.table.get_mut(key.0).map(|task| &mut task.links)
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
        let serial = self.next_serial;
        let record = Record {
            id: new.id,
            owner: origin.owner,
            serial,
            kind: origin.kind,
            revision: origin.revision,
            capabilities: origin.capabilities,
            kept: origin.kept,
            created: now,
            updated: now,
            ttl,
            poll_interval,
            message: new.message,
            links,
            ..Record::default()
        };
        self.insert(record)
    }

    /// Puts in a task whose serial no other one has.
    pub(super) fn insert(&mut self, mut record: Record) -> Result<TaskKey, TaskError> {
        if record.id.is_empty() || self.find(&record.id).is_some() {
            return Err(TaskError::BadId);
        }
        let of_owner = self.owners.get(&record.owner).copied().unwrap_or_default();
        if self.config.tasks <= self.table.len() || self.config.tasks_of_owner <= of_owner {
            return Err(TaskError::TooManyTasks);
        }
        record.counted = record.bytes();
        if !self.has_room_for(record.counted) {
            return Err(TaskError::TooManyBytes);
        }
        self.bytes += record.counted;
        let (owner, serial, deadline) = (record.owner, record.serial, record.deadline());
        let hash = hash(&record.id);
        let place = self.table.insert(|slot| *slot = record);
        self.next_serial = self.next_serial.max(serial + 1);
        self.by_id.insert(hash, place.index);
        self.of_owner.insert((owner, serial), place.index);
        self.owners.insert(owner, of_owner + 1);
        if let Some(deadline) = deadline {
            self.deadlines.set(place.index, serial, deadline);
        }
        Ok(TaskKey(place))
    }

    /// Forgets a task, whatever it is doing. Whoever waits for it is told that there is no such task.
    /// Says whether there was one.
    pub fn remove(&mut self, key: TaskKey) -> bool {
        self.take_out(key).is_some()
    }

    fn take_out(&mut self, key: TaskKey) -> Option<String> {
        let record = self.table.get_mut(key.0)?;
        let (id, owner, serial) = (core::mem::take(&mut record.id), record.owner, record.serial);
        self.bytes -= record.counted;
        self.mail.gone(record);
        self.by_id.remove(hash(&id), key.0.index);
        self.of_owner.remove(&(owner, serial));
        if let Some(count) = self.owners.get_mut(&owner) {
            *count -= 1;
            if *count == 0 {
                self.owners.remove(&owner);
            }
        }
        self.deadlines.clear(key.0.index);
        self.table.remove(key.0, Ending::Closed);
        Some(id)
    }

    /// How long a task is kept from its beginning; `None` for ever. If that has passed already it is
    /// forgotten by the next [`handle_timeout`](Self::handle_timeout).
    ///
    /// # Errors
    ///
    /// [`TaskError::Unknown`].
    pub fn set_ttl(&mut self, key: TaskKey, ttl: Option<Duration>) -> Result<(), TaskError> {
        let record = self.table.get_mut(key.0).ok_or(TaskError::Unknown)?;
        record.ttl = ttl;
        match record.deadline() {
            Some(deadline) => self.deadlines.set(key.0.index, record.serial, deadline),
            None => self.deadlines.clear(key.0.index),
        }
        self.mail.changed(key, record);
        Ok(())
    }
}

/// # Time
impl Tasks {
    /// When to call [`handle_timeout`](Self::handle_timeout) next; `None` if nothing can expire.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.deadlines.first().map(|(at, _)| at)
    }

    /// Forgets the next task whose time is over. Call it until it returns `None`; being early or late is
    /// harmless.
    #[must_use = "the event is the only word of a task that is forgotten"]
    pub fn handle_timeout(&mut self, now: Instant) -> Option<TaskEvent> {
        let (_, index) = self.deadlines.first().filter(|(at, _)| *at <= now)?;
        let key = TaskKey(self.table.place_of(index)?);
        let was_going_on = self.get(key).is_some_and(|task| !task.status().is_final());
        let id = self.take_out(key)?;
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
            let Some(record) = self.table.get_mut(key.0) else { continue };
            // Somebody else may wait for the task, who is asked what it needs.
            if record.wanted.iter().any(|wanted| wanted.progress == Asking::Waits) {
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
        let Some(record) = self.table.get_mut(key.0) else { return };
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
        waiter: InboundId,
        is_open: impl Fn(InboundId) -> bool,
    ) {
        let connection = waiter.connection();
        self.mail.know(connection);
        let Some(record) = self.table.get_mut(key.0) else { return };
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
            for wanted in &mut record.wanted {
                if let Asking::Asked(call) = wanted.progress {
                    mail.dismiss(call);
                    wanted.progress = Asking::Waits;
                }
            }
        }
        if record.wanted.iter().any(|wanted| wanted.progress == Asking::Waits) {
            mail.asks(key, record);
        }
    }

    /// A subscription wants to hear of a task; those for which `is_open` is not true, or whose connection
    /// has ended, do so no longer.
    pub(crate) fn watch(
        &mut self,
        key: TaskKey,
        listen: InboundId,
        is_open: impl Fn(InboundId) -> bool,
    ) {
        let connection = listen.connection();
        self.mail.know(connection);
        let Some(record) = self.table.get_mut(key.0) else { return };
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

/// FNV-1a. Ids are made by the application, so nobody can choose them to be alike.
fn hash(id: &str) -> u32 {
    id.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
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

    /// The test vectors of FNV-1a.
    #[test]
    fn ids_are_spread() {
        let hashes = ["", "a", "foobar"].map(hash);
        assert_eq!(hashes, [0x811c_9dc5, 0xe40c_292c, 0xbf9c_f968]);
    }
}
