//! A hash index from ids to places in a table: open addressing, no tombstones, no randomness.

use alloc::vec;
use alloc::vec::Vec;

/// Finds places by hash. What they hold is the table's; the caller compares.
///
/// Nothing depends on the order of the cells, so the same calls always give the same answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Index {
    /// A power of two many, or none; at least half of them empty.
    cells: Vec<Option<Cell>>,
    used: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Cell {
    hash: u32,
    place: u32,
}

impl Index {
    /// Adds a place under a hash.
    pub(crate) fn insert(&mut self, hash: u32, place: u32) {
        if self.cells.len() <= self.used * 2 {
            self.grow();
        }
        self.put(Cell { hash, place });
        self.used += 1;
    }

    /// The first place under this hash that `is_it` accepts.
    pub(crate) fn find(&self, hash: u32, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut at = self.home(hash);
        while let Some(cell) = self.cell(at) {
            if cell.hash == hash && is_it(cell.place) {
                return Some(cell.place);
            }
            at = self.after(at);
        }
        None
    }

    /// Takes a place out again.
    pub(crate) fn remove(&mut self, hash: u32, place: u32) {
        let mut at = self.home(hash);
        while let Some(cell) = self.cell(at) {
            if cell.place == place {
                self.used -= 1;
                self.close(at);
                return;
            }
            at = self.after(at);
        }
    }

    /// Puts another place with the same hash where one was.
    pub(crate) fn replace(&mut self, hash: u32, place: u32, by: u32) {
        let mut at = self.home(hash);
        while let Some(cell) = self.cell(at) {
            if cell.place == place {
                self.set(at, Some(Cell { hash, place: by }));
                return;
            }
            at = self.after(at);
        }
    }

    /// Gives the memory back if there are no places.
    pub(crate) fn release(&mut self) {
        if self.used == 0 {
            self.cells = Vec::new();
        }
    }

    /// How many cells there are.
    #[cfg(test)]
    pub(crate) fn cells(&self) -> usize {
        self.cells.len()
    }

    /// Empties a cell and moves up what would no longer be found behind it.
    fn close(&mut self, mut gap: usize) {
        let mut at = self.after(gap);
        while let Some(cell) = self.cell(at) {
            let mask = self.cells.len().wrapping_sub(1);
            let from_home = at.wrapping_sub(self.home(cell.hash)) & mask;
            let from_gap = at.wrapping_sub(gap) & mask;
            if from_gap <= from_home {
                self.set(gap, Some(cell));
                gap = at;
            }
            at = self.after(at);
        }
        self.set(gap, None);
    }

    fn grow(&mut self) {
        let doubled = vec![None; (self.cells.len() * 2).max(8)];
        for cell in core::mem::replace(&mut self.cells, doubled).into_iter().flatten() {
            self.put(cell);
        }
    }

    fn put(&mut self, cell: Cell) {
        let mut at = self.home(cell.hash);
        while self.cell(at).is_some() {
            at = self.after(at);
        }
        self.set(at, Some(cell));
    }

    fn home(&self, hash: u32) -> usize {
        // The upper half of the product depends on every bit of the hash, also on the highest ones.
        let spread = u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        spread as usize & self.cells.len().wrapping_sub(1)
    }

    fn after(&self, at: usize) -> usize {
        (at + 1) & self.cells.len().wrapping_sub(1)
    }

    fn cell(&self, at: usize) -> Option<Cell> {
        self.cells.get(at).copied().flatten()
    }

    fn set(&mut self, at: usize, cell: Option<Cell>) {
        if let Some(place) = self.cells.get_mut(at) {
            *place = cell;
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;

    /// Ids of calls count up, and their hashes with them; others differ in their high bits only.
    #[test]
    fn hashes_that_are_alike_have_homes_of_their_own() {
        for shift in [0, 8, 16, 24] {
            let mut index = Index::default();
            let hashes = (0..128).map(|number| number << shift);
            hashes.clone().for_each(|hash| index.insert(hash, hash));
            assert_eq!(index.cells(), 256);
            let homes: BTreeSet<usize> = hashes.map(|hash| index.home(hash)).collect();
            assert!(64 < homes.len(), "{} homes", homes.len());
        }
    }
}
