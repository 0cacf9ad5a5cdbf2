//! One deadline per place of a table, the earliest at hand.

use alloc::vec::Vec;

use crate::time::Instant;

/// A binary heap that knows where each place is, so a deadline can be moved or taken out.
///
/// Setting and clearing take logarithmic time; nothing is allocated once it has grown. Of equal
/// deadlines the one with the lower order comes first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Deadlines {
    heap: Vec<Deadline>,
    /// Where in the heap each place is.
    positions: Vec<Option<u32>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Deadline {
    at: Instant,
    order: u64,
    place: u32,
}

impl Deadlines {
    /// None.
    pub(crate) const NONE: Self = Self { heap: Vec::new(), positions: Vec::new() };

    pub(crate) const fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// The earliest deadline and whose it is.
    pub(crate) fn first(&self) -> Option<(Instant, u32)> {
        self.heap.first().map(|deadline| (deadline.at, deadline.place))
    }

    /// The deadline of a place, if it has one.
    pub(crate) fn of(&self, place: u32) -> Option<Instant> {
        self.heap.get(self.position(place)?).map(|deadline| deadline.at)
    }

    /// The earliest deadline but one.
    pub(crate) fn second(&self) -> Option<Instant> {
        let children = self.heap.iter().skip(1).take(2);
        children.map(|deadline| deadline.at).min()
    }

    /// Sets the deadline of a place, or moves it.
    pub(crate) fn set(&mut self, place: u32, order: u64, at: Instant) {
        let deadline = Deadline { at, order, place };
        let position = match self.position(place) {
            Some(position) => position,
            None => {
                self.heap.push(deadline);
                self.heap.len() - 1
            }
        };
        self.put(position, deadline);
        let position = self.rise(position);
        self.sink(position);
    }

    /// Takes the deadline of a place out, if it has one.
    pub(crate) fn clear(&mut self, place: u32) {
        let Some(position) = self.position(place) else { return };
        if let Some(known) = self.positions.get_mut(place as usize) {
            *known = None;
        }
        let Some(last) = self.heap.pop() else { return };
        if position < self.heap.len() {
            self.put(position, last);
            let position = self.rise(position);
            self.sink(position);
        }
    }

    fn rise(&mut self, mut position: usize) -> usize {
        while let Some(parent) = position.checked_sub(1).map(|below| below / 2)
            && self.is_before(position, parent)
        {
            self.swap(position, parent);
            position = parent;
        }
        position
    }

    fn sink(&mut self, mut position: usize) {
        loop {
            let (left, right) = (2 * position + 1, 2 * position + 2);
            let child = if self.is_before(right, left) { right } else { left };
            if !self.is_before(child, position) {
                return;
            }
            self.swap(position, child);
            position = child;
        }
    }

    /// Whether the deadline at one position comes before the one at another; a position outside the
    /// heap comes before nothing.
    fn is_before(&self, position: usize, other: usize) -> bool {
        match (self.heap.get(position), self.heap.get(other)) {
            (Some(deadline), Some(other)) => deadline < other,
            _ => false,
        }
    }

    fn swap(&mut self, position: usize, other: usize) {
        if let (Some(deadline), Some(moved)) =
            (self.heap.get(position).copied(), self.heap.get(other).copied())
        {
            self.put(other, deadline);
            self.put(position, moved);
        }
    }

    fn put(&mut self, position: usize, deadline: Deadline) {
        let place = deadline.place as usize;
        if self.positions.len() <= place {
            self.positions.resize(place + 1, None);
        }
        if let (Some(entry), Some(known)) =
            (self.heap.get_mut(position), self.positions.get_mut(place))
        {
            *entry = deadline;
            // Places are 32 bits wide, and the heap has no more entries than there are places.
            *known = u32::try_from(position).ok();
        }
    }

    fn position(&self, place: u32) -> Option<usize> {
        let position = self.positions.get(place as usize).copied().flatten()?;
        Some(position as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_is_first_whatever_was_done_before() {
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
