//! `Records`: the table of tasks with its indexes.

use super::config::TasksConfig;
use super::error::TaskError;
use super::key::TaskKey;
use super::record::Record;
use super::status::Status;
use crate::handle::{ConnectionNumber, Requestor};
use crate::ordered::{Ordered, OrderedSet};
use crate::rpc::{Deadlines, Ending, Index, Table};
use crate::time::Instant;

/// All tasks, indexed by key, by id, by owner and serial number, and by deadline.
///
/// It counts the bytes towards [`TasksConfig::bytes`]. After a change of a record, call
/// [`count_again`](Self::count_again).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Records {
    table: Table<Record>,
    by_id: Index,
    /// The tasks of each owner, in the order in which they were begun.
    of_owner: Ordered<(Requestor, u64), u32>,
    /// The number of tasks of each owner, under [`count_of`].
    owners: Ordered<(Requestor, u64), u32>,
    deadlines: Deadlines,
    /// The serial number of the next task.
    pub(super) next_serial: u64,
    /// The bytes that count towards [`TasksConfig::bytes`].
    pub(super) bytes: usize,
    /// The tasks that have changed, if changes are tracked.
    pub(super) changed: Option<OrderedSet<TaskKey>>,
}

impl Records {
    pub(super) fn new() -> Self {
        Self {
            table: Table::new(ConnectionNumber::default()),
            by_id: Index::default(),
            of_owner: Ordered::new(),
            owners: Ordered::new(),
            deadlines: Deadlines::NONE,
            next_serial: 0,
            bytes: 0,
            changed: None,
        }
    }

    pub(super) const fn len(&self) -> u32 {
        self.table.len()
    }

    pub(super) fn get(&self, key: TaskKey) -> Option<&Record> {
        self.table.get(key.0)
    }

    pub(super) fn get_mut(&mut self, key: TaskKey) -> Option<&mut Record> {
        self.table.get_mut(key.0)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (TaskKey, &Record)> {
        self.table.iter().map(|(place, record)| (TaskKey(place), record))
    }

    /// Returns the task with this id, of any requestor.
    pub(super) fn find(&self, id: &str) -> Option<TaskKey> {
        let is_it = |index| {
            let place = self.table.place_of(index);
            place.and_then(|place| self.table.get(place)).is_some_and(|task| task.id == id)
        };
        self.by_id.find(hash(id), is_it).and_then(|index| self.table.place_of(index)).map(TaskKey)
    }

    /// Returns the task with this id, if the requestor may reach it.
    pub(crate) fn find_own(&self, id: &str, requestor: Requestor) -> Option<TaskKey> {
        let is_own =
            |key: &TaskKey| self.get(*key).is_some_and(|task| requestor.reaches(task.owner));
        self.find(id).filter(is_own)
    }

    /// Returns the tasks of a requestor from this serial number on, in the order in which they were begun.
    pub(super) fn of_owner(
        &self,
        owner: Requestor,
        from: u64,
    ) -> impl Iterator<Item = (u64, TaskKey)> {
        let own = self.of_owner.range((owner, from)..=(owner, u64::MAX));
        own.filter_map(|((_, serial), index)| {
            Some((*serial, TaskKey(self.table.place_of(*index)?)))
        })
    }

    /// Whether an owner has a task with this serial number.
    pub(super) fn has_serial(&self, owner: Requestor, serial: u64) -> bool {
        self.of_owner.contains_key(&(owner, serial))
    }

    /// Returns a task that has not ended.
    pub(super) fn going_on(&mut self, key: TaskKey) -> Result<&mut Record, TaskError> {
        let record = self.get_mut(key).ok_or(TaskError::Unknown)?;
        match record.status() {
            status if status.is_final() => Err(TaskError::Final(status)),
            _ => Ok(record),
        }
    }

    /// Returns a task that may change to the status `next`.
    pub(super) fn becoming(&self, key: TaskKey, next: Status) -> Result<&Record, TaskError> {
        let record = self.get(key).ok_or(TaskError::Unknown)?;
        match record.status() {
            status if status.may_become(next) => Ok(record),
            status => Err(TaskError::Final(status)),
        }
    }

    /// Whether `bytes` more bytes may be kept.
    pub(super) const fn has_room_for(&self, config: &TasksConfig, bytes: usize) -> bool {
        self.bytes.saturating_add(bytes) <= config.bytes
    }

    /// Returns how many more bytes may be kept.
    pub(super) const fn room(&self, config: &TasksConfig) -> usize {
        config.bytes.saturating_sub(self.bytes)
    }

    /// Counts the bytes of a task again after a change.
    pub(super) fn count_again(&mut self, key: TaskKey) {
        let Some(record) = self.table.get_mut(key.0) else { return };
        let bytes = record.bytes();
        let before = core::mem::replace(&mut record.counted, bytes);
        self.bytes = self.bytes.saturating_sub(before).saturating_add(bytes);
        self.note_change(key);
    }

    /// Whether the tasks are shared with other processes.
    pub(super) const fn is_shared(&self) -> bool {
        self.changed.is_some()
    }

    /// Returns the serial number of a task that begins now.
    pub(super) fn serial_at(&self, now: Instant) -> u64 {
        match u64::try_from(now.since_epoch().as_micros()) {
            Ok(time) if self.is_shared() => self.next_serial.max(time),
            _ => self.next_serial,
        }
    }

    /// Whether a task has changed since that was last reported.
    pub(super) fn is_changed(&self, key: TaskKey) -> bool {
        self.changed.as_ref().is_some_and(|changed| changed.contains_key(&key))
    }

    /// Forgets that a task has changed, because it is as it is stored.
    pub(super) fn forget_change(&mut self, key: TaskKey) {
        if let Some(changed) = &mut self.changed {
            changed.remove(&key);
        }
    }

    /// Notes that a task has changed, has begun or is forgotten.
    fn note_change(&mut self, key: TaskKey) {
        if let Some(changed) = &mut self.changed {
            changed.insert(key, ());
        }
    }

    /// Inserts a task with a unique serial number.
    pub(super) fn insert(
        &mut self,
        config: &TasksConfig,
        mut record: Record,
    ) -> Result<TaskKey, TaskError> {
        if record.id.is_empty() || self.find(&record.id).is_some() {
            return Err(TaskError::BadId);
        }
        let of_owner = self.owners.get(&count_of(record.owner)).copied().unwrap_or_default();
        if config.tasks <= self.table.len() || config.tasks_of_owner <= of_owner {
            return Err(TaskError::TooManyTasks);
        }
        record.counted = record.bytes();
        if !self.has_room_for(config, record.counted) {
            return Err(TaskError::TooManyBytes);
        }
        self.bytes += record.counted;
        let (owner, serial, deadline) = (record.owner, record.serial, record.deadline());
        let hash = hash(&record.id);
        let place = self.table.insert(|slot| *slot = record);
        self.next_serial = self.next_serial.max(serial + 1);
        self.by_id.insert(hash, place.index);
        self.of_owner.insert((owner, serial), place.index);
        self.owners.insert(count_of(owner), of_owner + 1);
        if let Some(deadline) = deadline {
            self.deadlines.set(place.index, serial, deadline);
        }
        self.note_change(TaskKey(place));
        Ok(TaskKey(place))
    }

    /// Removes a task. Returns its record, which is still linked to connections.
    pub(super) fn take_out(&mut self, key: TaskKey) -> Option<Record> {
        let record = core::mem::take(self.table.get_mut(key.0)?);
        self.bytes -= record.counted;
        self.by_id.remove(hash(&record.id), key.0.index);
        self.of_owner.remove(&(record.owner, record.serial));
        if let Some(count) = self.owners.get_mut(&count_of(record.owner)) {
            *count -= 1;
            if *count == 0 {
                self.owners.remove(&count_of(record.owner));
            }
        }
        self.deadlines.clear(key.0.index);
        self.table.remove(key.0, Ending::Closed);
        self.note_change(key);
        Some(record)
    }

    /// Updates the deadline of a task after its TTL has changed.
    pub(super) fn set_deadline(&mut self, key: TaskKey) {
        let Some(record) = self.table.get(key.0) else { return };
        match record.deadline() {
            Some(deadline) => self.deadlines.set(key.0.index, record.serial, deadline),
            None => self.deadlines.clear(key.0.index),
        }
        self.note_change(key);
    }

    /// The time at which the first task expires.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(at, _)| at)
    }

    /// Returns the first task that has expired.
    pub(super) fn expired(&self, now: Instant) -> Option<TaskKey> {
        let (_, index) = self.deadlines.first().filter(|(at, _)| *at <= now)?;
        self.table.place_of(index).map(TaskKey)
    }
}

/// The key for the count of an owner. It has the type of the keys of `of_owner`, so that both maps share their code.
const fn count_of(owner: Requestor) -> (Requestor, u64) {
    (owner, 0)
}

/// FNV-1a. Ids are made by the application, so a peer cannot choose them to collide.
fn hash(id: &str) -> u32 {
    id.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vectors of FNV-1a.
    #[test]
    fn ids_are_spread() {
        let hashes = ["", "a", "foobar"].map(hash);
        assert_eq!(hashes, [0x811c_9dc5, 0xe40c_292c, 0xbf9c_f968]);
    }
}
