//! `Catalog`: the items of a list that is read again after each change.

use alloc::vec::Vec;

/// The items of a list from the last complete walk, and the items of the walk in progress.
///
/// Data about a list (such as the schemas of tools) stays valid until the list has been read again to its end. A
/// single page does not replace the items, and neither does a walk that fails.
///
/// ```
/// use mcp_sansio::pagination::Catalog;
///
/// let mut tools = Catalog::default();
/// tools.page(["a", "b"]);
/// tools.page(["c"]);
/// assert_eq!(tools.items(), [""; 0], "the walk is not over");
/// tools.finish();
/// assert_eq!(tools.items(), ["a", "b", "c"]);
/// tools.page(["a"]);
/// tools.restart();
/// assert_eq!(tools.items(), ["a", "b", "c"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Catalog<T> {
    items: Vec<T>,
    coming: Vec<T>,
}

impl<T> Default for Catalog<T> {
    fn default() -> Self {
        Self { items: Vec::new(), coming: Vec::new() }
    }
}

impl<T> Catalog<T> {
    /// The items of the last complete walk.
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// Adds a page to the walk in progress.
    pub fn page(&mut self, items: impl IntoIterator<Item = T>) {
        self.coming.extend(items);
    }

    /// Discards the pages of the walk in progress, because it starts again or is given up.
    pub fn restart(&mut self) {
        self.coming.clear();
    }

    /// Ends the walk: its items replace the previous ones.
    pub fn finish(&mut self) {
        self.items = core::mem::take(&mut self.coming);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves L-PAGE-13.
    #[test]
    fn only_a_complete_walk_replaces_the_catalog() {
        let mut catalog = Catalog::default();
        catalog.page([1, 2]);
        catalog.page([3]);
        assert_eq!(catalog.items(), [0; 0]);
        catalog.finish();
        assert_eq!(catalog.items(), [1, 2, 3]);
        catalog.page([9]);
        assert_eq!(catalog.items(), [1, 2, 3]);
        catalog.restart();
        catalog.page([4]);
        catalog.finish();
        assert_eq!(catalog.items(), [4]);
        catalog.finish();
        assert_eq!(catalog.items(), [0; 0], "an empty list is a list");
    }
}
