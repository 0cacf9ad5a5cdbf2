//! `Few`: a vector that stores a single element without a heap allocation. Most lists of MCP have one element.

use alloc::vec::{self, Vec};
use core::hash::{Hash, Hasher};
use core::ops::Deref;
use core::slice;

/// Elements in order. A single one is stored inline, several in a vector.
#[derive(Clone, Debug)]
pub(super) enum Few<E> {
    One(E),
    /// Any number of elements, which may be one or none.
    Many(Vec<E>),
}

impl<E> Default for Few<E> {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl<E> Deref for Few<E> {
    type Target = [E];

    fn deref(&self) -> &[E] {
        match self {
            Self::One(element) => slice::from_ref(element),
            Self::Many(elements) => elements,
        }
    }
}

impl<E: PartialEq> PartialEq for Few<E> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<E: Eq> Eq for Few<E> {}

impl<E: Hash> Hash for Few<E> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        <[E]>::hash(self, state);
    }
}

impl<E> From<Vec<E>> for Few<E> {
    fn from(elements: Vec<E>) -> Self {
        Self::Many(elements)
    }
}

impl<E> FromIterator<E> for Few<E> {
    fn from_iter<I: IntoIterator<Item = E>>(elements: I) -> Self {
        let mut few = Self::default();
        few.extend(elements);
        few
    }
}

impl<E> Extend<E> for Few<E> {
    fn extend<I: IntoIterator<Item = E>>(&mut self, elements: I) {
        let mut elements = elements.into_iter();
        let Some(first) = elements.next() else { return };
        let second = elements.next();
        if second.is_none() && self.is_empty() {
            *self = Self::One(first);
            return;
        }
        let mut all = match core::mem::take(self) {
            Self::One(element) => [element].into(),
            Self::Many(all) => all,
        };
        if all.len() <= 1 {
            // A vector that grows by itself would reserve room for four elements.
            all.reserve_exact(1 + usize::from(second.is_some()) + elements.size_hint().0);
        }
        all.push(first);
        all.extend(second);
        // Chained iterators would be compiled again for each type of elements: they were 2 % of the code of the core.
        all.extend(elements);
        *self = Self::Many(all);
    }
}

impl<E> IntoIterator for Few<E> {
    type Item = E;
    type IntoIter = IntoIter<E>;

    fn into_iter(self) -> IntoIter<E> {
        match self {
            Self::One(element) => IntoIter { one: Some(element), many: Vec::new().into_iter() },
            Self::Many(elements) => IntoIter { one: None, many: elements.into_iter() },
        }
    }
}

/// An iterator over the elements of a [`Few`].
#[derive(Debug)]
pub(super) struct IntoIter<E> {
    one: Option<E>,
    many: vec::IntoIter<E>,
}

impl<E> Iterator for IntoIter<E> {
    type Item = E;

    fn next(&mut self) -> Option<E> {
        self.one.take().or_else(|| self.many.next())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = usize::from(self.one.is_some()) + self.many.len();
        (count, Some(count))
    }
}

#[cfg(test)]
mod tests {
    use core::hash::{BuildHasher, BuildHasherDefault};
    use std::hash::DefaultHasher;

    use super::*;

    #[test]
    fn elements_come_out_in_the_order_they_went_in() {
        for sizes in [&[0][..], &[1], &[2], &[0, 1], &[1, 0, 1], &[1, 1, 1], &[1, 3], &[3, 1, 2]] {
            let mut few = Few::default();
            let mut all = Vec::new();
            for &size in sizes {
                let more = all.len()..all.len() + size;
                few.extend(more.clone());
                all.extend(more);
                assert_eq!(*few, *all);
            }
            assert!(matches!(few, Few::One(_)) == (all.len() == 1), "{few:?}");
            assert_eq!(few, Few::from(all.clone()));
            let elements = few.into_iter();
            assert_eq!(elements.size_hint(), (all.len(), Some(all.len())));
            assert!(elements.eq(all));
        }
    }
    #[test]
    fn a_few_elements_take_no_spare_room() {
        for sizes in [&[2][..], &[3], &[1, 1], &[1, 2], &[0, 3]] {
            let mut few = Few::default();
            sizes.iter().for_each(|size| few.extend(0..*size));
            let Few::Many(elements) = &few else { panic!("{few:?}") };
            assert_eq!(elements.capacity(), elements.len(), "{sizes:?}");
        }
    }

    #[test]
    fn the_form_does_not_change_the_hash() {
        let hash = |few: Few<u32>| BuildHasherDefault::<DefaultHasher>::new().hash_one(few);
        assert_eq!(hash(Few::One(1)), hash(Few::Many([1].into())));
        assert_ne!(hash(Few::One(1)), hash(Few::One(2)));
    }
}
