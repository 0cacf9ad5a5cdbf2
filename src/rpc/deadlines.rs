//! [`Deadlines`], a heap with one deadline per slot of a table.

use alloc::vec::Vec;

use crate::time::Instant;

/// The number of children of each heap node. Four need half the levels of two, and comparing four adjacent deadlines
/// costs less than a level.
const BELOW: usize = 4;

/// A heap that knows the position of each slot, so that a deadline can be moved or removed.
///
/// Setting and clearing take logarithmic time; a heap that has grown allocates nothing. Of equal deadlines, the one
/// with the lower order comes first; no two slots have the same order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Deadlines {
    heap: Vec<Deadline>,
    /// The position of each slot in the heap, or [`NOWHERE`].
    positions: Vec<u32>,
}

/// The mark of a slot without a deadline. It is never a valid position, because so many deadlines would not fit into
/// memory.
const NOWHERE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Deadline {
    at: Instant,
    order: u64,
    place: u32,
}

impl Deadline {
    /// Compares the keys as one number, which takes no branch.
    const fn is_before(&self, other: &Self) -> bool {
        self.key() < other.key()
    }

    const fn key(&self) -> u128 {
        (self.at.as_nanos() as u128) << 64 | self.order as u128
    }
}

impl Deadlines {
    /// An empty heap.
    pub(crate) const NONE: Self = Self { heap: Vec::new(), positions: Vec::new() };

    pub(crate) const fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Returns the earliest deadline and its slot.
    pub(crate) fn first(&self) -> Option<(Instant, u32)> {
        self.heap.first().map(|deadline| (deadline.at, deadline.place))
    }

    /// Returns the deadline of a slot, if it has one.
    pub(crate) fn of(&self, place: u32) -> Option<Instant> {
        self.heap.get(self.position(place)?).map(|deadline| deadline.at)
    }

    /// Returns the second earliest deadline.
    pub(crate) fn second(&self) -> Option<Instant> {
        let below = self.heap.iter().skip(1).take(BELOW);
        below.map(|deadline| deadline.at).min()
    }

    /// Frees the memory if the heap is empty.
    pub(crate) fn release(&mut self) {
        if self.is_empty() {
            *self = Self::NONE;
        }
    }

    /// Sets or moves the deadline of a slot.
    pub(crate) fn set(&mut self, place: u32, order: u64, at: Instant) {
        let deadline = Deadline { at, order, place };
        let position = self.position(place).unwrap_or_else(|| {
            self.heap.push(deadline);
            let places = place as usize + 1;
            if self.positions.len() < places {
                self.positions.resize(places, NOWHERE);
            }
            self.heap.len() - 1
        });
        self.settle(position, deadline);
    }

    /// Removes the deadline of a slot, if it has one.
    pub(crate) fn clear(&mut self, place: u32) {
        let Some(position) = self.position(place) else { return };
        if let Some(known) = self.positions.get_mut(place as usize) {
            *known = NOWHERE;
        }
        let Some(last) = self.heap.pop() else { return };
        if position < self.heap.len() {
            self.settle(position, last);
        }
    }

    /// Moves a deadline from a free position to its place in the heap. The others move into the gap one by one, so
    /// the deadline is written once.
    fn settle(&mut self, position: usize, deadline: Deadline) {
        let mut gap = self.rise(position, &deadline);
        if gap == position {
            gap = self.sink(position, &deadline);
        }
        self.put(gap, deadline);
    }

    fn rise(&mut self, mut gap: usize, deadline: &Deadline) -> usize {
        while let Some(above) = gap.checked_sub(1).map(|before| before / BELOW)
            && let Some(upper) = self.heap.get(above).filter(|upper| deadline.is_before(upper))
        {
            self.put(gap, *upper);
            gap = above;
        }
        gap
    }

    fn sink(&mut self, mut gap: usize, deadline: &Deadline) -> usize {
        while let Some((below, lower)) = self.first_below(gap)
            && lower.is_before(deadline)
        {
            self.put(gap, lower);
            gap = below;
        }
        gap
    }

    /// Returns the earliest of the children of a position, with its own position.
    fn first_below(&self, position: usize) -> Option<(usize, Deadline)> {
        let start = BELOW * position + 1;
        let below = self.heap.get(start..).filter(|below| !below.is_empty())?;
        let earlier = |one: usize, other: usize| match (below.get(one), below.get(other)) {
            (Some(first), Some(second)) if second.is_before(first) => other,
            _ => one,
        };
        let at = match below.first_chunk::<BELOW>() {
            // The comparisons of the two pairs do not depend on each other.
            Some([a, b, c, d]) => {
                let left = usize::from(b.is_before(a));
                let right = 2 + usize::from(d.is_before(c));
                earlier(left, right)
            }
            None => (1..below.len()).fold(0, earlier),
        };
        below.get(at).map(|first| (start + at, *first))
    }

    fn put(&mut self, position: usize, deadline: Deadline) {
        if let (Some(entry), Some(known)) =
            (self.heap.get_mut(position), self.positions.get_mut(deadline.place as usize))
        {
            *entry = deadline;
            *known = position as u32;
        }
    }

    fn position(&self, place: u32) -> Option<usize> {
        let position = self.positions.get(place as usize).copied()?;
        (position != NOWHERE).then_some(position as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_deadline_is_first_after_any_operations() {
        let mut deadlines = Deadlines::default();
        assert!(deadlines.is_empty());
        let mut model: Vec<(Instant, u64, u32)> = Vec::new();
        let mut random = 12_345_u64;
        for step in 0..5_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let place = (random >> 33) as u32 % 40;
            model.retain(|entry| entry.2 != place);
            if random.is_multiple_of(3) {
                deadlines.clear(place);
            } else {
                let at = Instant::from_millis((random >> 40) % 50);
                deadlines.set(place, step, at);
                model.push((at, step, place));
            }
            model.sort_unstable();
            let expected = model.first().map(|(at, _, place)| (*at, *place));
            assert_eq!(deadlines.first(), expected, "step {step}");
            assert_eq!(deadlines.second(), model.get(1).map(|entry| entry.0), "step {step}");
            assert_eq!(deadlines.is_empty(), model.is_empty(), "step {step}");
        }
    }
}
