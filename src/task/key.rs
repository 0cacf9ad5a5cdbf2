//! `TaskKey`: the name of a task among the tasks of this process.

use core::fmt;

use crate::handle::Place;

/// The name of a task among the [`Tasks`](super::Tasks) of this process: small, and never that of another task.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskKey(pub(crate) Place);

impl TaskKey {
    /// The place of the task, which is free again once the task is forgotten. Use it to keep the
    /// application's own state in a `Vec`.
    pub const fn index(self) -> usize {
        self.0.index as usize
    }
}

impl fmt::Debug for TaskKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "TaskKey({}:{})", self.0.index, self.0.generation)
    }
}
