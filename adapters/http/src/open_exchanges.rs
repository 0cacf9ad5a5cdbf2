//! `OpenExchanges`: the tasks of the exchanges in flight.
//!
//! Tasks that have ended are removed only when the table has doubled, so an insertion costs constant time on average.
//! The table holds at most twice the tasks that were running at the last removal, and [`FEW`] more.

use std::collections::HashMap;
use std::hash::Hash;

/// The number of tasks below which none are removed.
const FEW: usize = 16;

/// The tasks of exchanges, by their numbers.
pub(crate) struct OpenExchanges<K, T> {
    tasks: HashMap<K, T>,
    /// The number of tasks at which those that have ended are removed.
    sweep_at: usize,
}

impl<K: Eq + Hash, T> OpenExchanges<K, T> {
    pub(crate) fn new() -> Self {
        Self { tasks: HashMap::new(), sweep_at: FEW }
    }

    /// Adds a task, and removes those that have ended if there are many by now.
    pub(crate) fn insert(&mut self, exchange: K, task: T, has_ended: impl Fn(&T) -> bool) {
        if self.sweep_at <= self.tasks.len() {
            self.tasks.retain(|_, task| !has_ended(task));
            self.sweep_at = FEW.max(2 * self.tasks.len());
        }
        self.tasks.insert(exchange, task);
    }

    pub(crate) fn remove(&mut self, exchange: &K) -> Option<T> {
        self.tasks.remove(exchange)
    }

    pub(crate) fn into_tasks(self) -> impl Iterator<Item = T> {
        self.tasks.into_values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Ten thousand exchanges in flight are looked at fewer than twice each.
    #[test]
    fn an_insertion_does_not_look_at_every_exchange() {
        const MANY: usize = 10_000;
        let looks = Cell::new(0);
        let mut open = OpenExchanges::new();
        for exchange in 0..MANY {
            open.insert(exchange, (), |()| {
                looks.set(looks.get() + 1);
                false
            });
        }
        assert!(looks.get() < 2 * MANY, "{}", looks.get());
        assert_eq!(open.remove(&1), Some(()));
        assert_eq!(open.into_tasks().count(), MANY - 1);
    }

    #[test]
    fn exchanges_that_have_ended_are_removed() {
        let mut open = OpenExchanges::new();
        for exchange in 0..10_000 {
            open.insert(exchange, exchange, |exchange| *exchange != 3);
            assert!(open.tasks.len() <= FEW);
        }
        assert_eq!(open.remove(&3), Some(3));
    }
}
