//! `TaskKey`: the handle of a task in this process.

use core::fmt;

use crate::handle::SlotKey;

/// The handle of a task in the [`Tasks`](super::Tasks) of this process: small, and never reused for another task.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskKey(pub(crate) SlotKey);

impl TaskKey {
    /// The index of the task, which is reused once the task is forgotten. Use it to keep the application's own state
    /// in a `Vec`.
    pub const fn index(self) -> usize {
        self.0.index as usize
    }
}

impl fmt::Debug for TaskKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "TaskKey({}:{})", self.0.index, self.0.generation)
    }
}
