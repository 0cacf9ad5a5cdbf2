//! [`SlotQueue`], a queue of table entries, some of which end before their turn.

use alloc::collections::VecDeque;

use crate::handle::SlotKey;

/// A FIFO of slots of a table.
///
/// An entry that ends stays in the queue until its turn, or until half of the queue has ended: then one pass removes
/// every ended entry. So the end of an entry costs amortized constant time, for a queue of any length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct SlotQueue {
    places: VecDeque<SlotKey>,
    /// The number of these that are known to have ended.
    ended: usize,
}

impl SlotQueue {
    /// An empty queue.
    pub(crate) const EMPTY: Self = Self { places: VecDeque::new(), ended: 0 };

    /// Whether every entry is known to have ended.
    pub(crate) fn is_empty(&self) -> bool {
        self.places.len() <= self.ended
    }

    pub(crate) fn push(&mut self, place: SlotKey) {
        self.places.push_back(place);
    }

    /// Removes the first entry that lives.
    pub(crate) fn pop(&mut self, lives: impl Fn(SlotKey) -> bool) -> Option<SlotKey> {
        while let Some(place) = self.places.pop_front() {
            if lives(place) {
                return Some(place);
            }
            self.ended = self.ended.saturating_sub(1);
        }
        self.ended = 0;
        None
    }

    /// Removes the first of the last `count` entries, all of which live.
    pub(crate) fn take_from_last(&mut self, count: usize) -> Option<SlotKey> {
        self.places.remove(self.places.len().checked_sub(count)?)
    }

    /// Records that `count` entries have ended before their turn.
    pub(crate) fn note_ended(&mut self, count: usize, lives: impl Fn(SlotKey) -> bool) {
        self.ended += count;
        if self.places.len() < 2 * self.ended {
            work!(self.places.len());
            self.places.retain(|place| lives(*place));
            self.ended = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;
    use core::cell::Cell;

    use super::*;
    use crate::handle::ConnectionNumber;

    const fn place(index: u32) -> SlotKey {
        SlotKey { connection: ConnectionNumber::new(0), index, generation: 0 }
    }

    #[test]
    fn ended_slots_are_never_returned_and_cost_little() {
        const COUNT: u32 = 1_000;
        let (mut queue, mut living) = (SlotQueue::default(), BTreeSet::new());
        for index in 0..COUNT {
            queue.push(place(index));
            living.insert(place(index));
        }
        assert_eq!(queue.take_from_last(3), Some(place(COUNT - 3)));
        assert_eq!(queue.take_from_last(COUNT as usize), None);
        living.remove(&place(COUNT - 3));
        let looks = Cell::new(0);
        for index in (0..COUNT).filter(|index| index % 7 != 0) {
            if living.remove(&place(index)) {
                let lives = |place| {
                    looks.set(looks.get() + 1);
                    living.contains(&place)
                };
                queue.note_ended(1, lives);
                assert!(queue.places.len() <= 2 * living.len(), "at least half of the queue lives");
            }
        }
        assert!(looks.get() < 3 * COUNT, "{}", looks.get());
        let left: Vec<SlotKey> =
            core::iter::from_fn(|| queue.pop(|place| living.contains(&place))).collect();
        assert_eq!(left, living.iter().copied().collect::<Vec<_>>());
        assert!(queue.is_empty());
    }

    #[test]
    fn entries_that_end_together_are_removed_together() {
        let mut queue = SlotQueue::default();
        (1..=5).for_each(|index| queue.push(place(index)));
        queue.note_ended(4, |living| living == place(5));
        assert_eq!(queue.places, [place(5)]);
        assert_eq!(queue.pop(|_| true), Some(place(5)));
    }

    #[test]
    fn an_ended_entry_is_counted_once() {
        let mut queue = SlotQueue::default();
        for index in 1..=3 {
            queue.push(place(index));
        }
        let lives = |one: SlotKey| one != place(1);
        queue.note_ended(1, lives);
        assert_eq!(queue.pop(lives), Some(place(2)));
        assert!(!queue.is_empty(), "the third entry waits");
        assert_eq!(queue.pop(lives), Some(place(3)));
        assert!(queue.is_empty());
    }

    #[test]
    fn a_queue_of_which_all_has_ended_is_empty() {
        let mut queue = SlotQueue::default();
        queue.push(place(1));
        queue.push(place(2));
        queue.note_ended(1, |living| living == place(2));
        assert!(!queue.is_empty());
        queue.note_ended(1, |_| false);
        assert!(queue.is_empty() && queue.pop(|_| false).is_none());
    }
}
