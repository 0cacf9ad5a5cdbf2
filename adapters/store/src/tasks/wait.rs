//! [`Wait`]: the changes of tasks that a response waits for.

use std::collections::BTreeSet;

use mcp_sansio::request::Requestor;
use mcp_sansio::task::{TaskKey, Tasks};
use tokio::time::Instant;

use super::{Failure, Known, NodeTasks, Table, Undone, Unwritten};
use crate::store::StoreError;

/// The reason why the changes of a task were not stored.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum TaskNotStored {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another node has taken the task over, or another task has its id.
    #[error("another node works on the task")]
    TakenOver,
    #[error("the id of a task is empty, or longer than 256 bytes")]
    BadId,
    #[error("the node that works on the task cannot be reached")]
    NotSent,
    /// The task has ended at its node meanwhile.
    #[error("the task has changed at its node")]
    Outdated,
}

/// The changes that a response waits for.
#[derive(Default)]
pub(crate) struct Wait {
    /// The number of the latest change before the request.
    pub(crate) since: u64,
    /// The ids of tasks all of whose changes are to be stored.
    pub(crate) ids: BTreeSet<String>,
    /// The other tasks whose changes since the request are to be stored, because it is not known which of them it concerns.
    pub(crate) others: Others,
}

/// Tasks that a request does not name.
#[derive(Clone, Copy, Default)]
pub(crate) enum Others {
    #[default]
    None,
    /// The tasks of a requestor.
    Of(Requestor),
    All,
}

impl Others {
    /// Whether the task of an owner is one of them.
    fn contain(self, owner: Option<Requestor>) -> bool {
        match (self, owner) {
            (Self::None, _) => false,
            (Self::All, _) | (Self::Of(_), None) => true,
            // Unknown requestors reach each other's tasks.
            (Self::Of(Requestor::Unknown(_)), Some(Requestor::Unknown(_))) => true,
            (Self::Of(requestor), Some(owner)) => requestor == owner,
        }
    }
}

impl NodeTasks {
    /// Returns the number of the latest change.
    pub(crate) fn latest_change(&self) -> u64 {
        let mut table = self.table();
        self.note_changes(&mut table);
        table.changes
    }

    /// Whether a change up to the latest, that a response waits for, is not stored yet: of a copy, or of a task of this node.
    pub(super) fn is_due(&self, wait: &Wait, latest: u64, of_copies: bool) -> bool {
        let table = self.table();
        if table.unwritten.is_empty() {
            return false;
        }
        self.tasks.inspect(|tasks, _| table.due(tasks, wait, latest, of_copies).next().is_some())
    }

    /// Returns the error of a change that was undone since the request.
    pub(super) fn undone(&self, wait: &Wait) -> Result<(), TaskNotStored> {
        let table = self.table();
        let mut undone = table.undone.iter().filter(|undone| wait.since < undone.latest);
        let is_it =
            |undone: &&Undone| wait.ids.contains(&undone.id) || wait.others.contain(undone.owner);
        match undone.find(is_it) {
            Some(undone) => Err(undone.error.clone()),
            // It is not known which tasks these changes were of.
            None if wait.since < table.forgotten && !matches!(wait.others, Others::All) => {
                Err(TaskNotStored::TakenOver)
            }
            None => Ok(()),
        }
    }
}

impl Table {
    /// Returns the changes up to the latest that a response waits for: of copies, or of tasks of this node.
    pub(super) fn due(
        &self,
        tasks: &Tasks,
        wait: &Wait,
        latest: u64,
        of_copies: bool,
    ) -> impl Iterator<Item = &Unwritten> {
        // There may be more ids than unwritten tasks, by orders of magnitude.
        let is_named = |key: &TaskKey| {
            !wait.ids.is_empty() && tasks.get(*key).is_some_and(|task| wait.ids.contains(task.id()))
        };
        // Nothing waits for all tasks that waits for one of them alone.
        let is_left = |unwritten: &Unwritten| {
            matches!(wait.others, Others::All) && unwritten.has_just_failed()
        };
        let due = self.unwritten.iter().filter(move |(key, unwritten)| {
            let is_copy = matches!(self.known.get(key), Some(Known::Copy(_)));
            let owner = || tasks.get(**key).map(|task| task.owner());
            is_copy == of_copies
                && unwritten.first <= latest
                && !is_left(unwritten)
                && (is_named(key) || wait.since < unwritten.latest && wait.others.contain(owner()))
        });
        due.map(|(_, unwritten)| unwritten)
    }

    /// Returns the next failure.
    pub(super) fn next_failure(&mut self, error: StoreError) -> Failure {
        self.failures += 1;
        Failure { number: self.failures, at: Instant::now(), error }
    }
}
