//! [`LazyBox`], for state that most connections never need.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::hash::{Hash, Hasher};
use core::ops::{Deref, DerefMut};

use crate::ordered::OrderedSet;
use crate::rpc::Deadlines;

/// A value that takes no heap memory until it is modified.
///
/// Reading it costs nothing; the first modification allocates it. So an idle session stays small, although a session
/// can hold much state.
#[derive(Clone, Debug)]
pub(crate) struct LazyBox<T>(Option<Box<T>>);

/// A type with a static empty value, which an unallocated [`LazyBox`] dereferences to.
pub(crate) trait Empty: Default + PartialEq + 'static {
    /// The default value.
    const EMPTY: &'static Self;
}

impl Empty for Deadlines {
    const EMPTY: &'static Self = &Self::NONE;
}

impl<K: PartialEq + 'static> Empty for OrderedSet<K> {
    const EMPTY: &'static Self = &Self::new();
}

impl<T: PartialEq + 'static> Empty for VecDeque<T> {
    const EMPTY: &'static Self = &Self::new();
}

impl<T> LazyBox<T> {
    pub(crate) const EMPTY: Self = Self(None);

    /// Returns the value if it is allocated. Otherwise it is empty.
    ///
    /// A test whether there is anything in the value costs less this way than through the empty one.
    #[inline]
    pub(crate) fn allocated(&self) -> Option<&T> {
        self.0.as_deref()
    }
}

impl<T: Empty> LazyBox<T> {
    /// Frees the memory if the value is empty.
    pub(crate) fn release(&mut self) {
        if self.0.as_deref().is_some_and(|value| *value == *T::EMPTY) {
            self.0 = None;
        }
    }
}

impl LazyBox<Deadlines> {
    /// Frees the memory if there are no deadlines.
    pub(crate) fn release_deadlines(&mut self) {
        if self.is_empty() {
            self.0 = None;
        }
    }
}

impl<T> Default for LazyBox<T> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<T: Empty> Deref for LazyBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::EMPTY)
    }
}

impl<T: Empty> DerefMut for LazyBox<T> {
    fn deref_mut(&mut self) -> &mut T {
        // Not a clone of the empty value: the code that clones a table is as large as the code that modifies it.
        self.0.get_or_insert_with(|| {
            let value = Box::<T>::default();
            debug_assert!(*value == *T::EMPTY);
            value
        })
    }
}

/// Boxes are equal if their values are, allocated or not.
impl<T: Empty> PartialEq for LazyBox<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Empty + Eq> Eq for LazyBox<T> {}

impl<T: Empty + Hash> Hash for LazyBox<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

#[cfg(test)]
mod tests {
    use core::hash::{BuildHasher, BuildHasherDefault};
    use std::hash::DefaultHasher;

    use super::*;

    type Queue = LazyBox<VecDeque<u32>>;

    #[test]
    fn an_empty_value_is_released() {
        let mut queue = Queue::EMPTY;
        queue.push_back(1);
        queue.release();
        assert_eq!(queue.front(), Some(&1));
        queue.clear();
        assert!(queue.allocated().is_some());
        queue.release();
        assert!(queue.allocated().is_none());
    }

    #[test]
    fn deadlines_are_released_when_there_are_none() {
        let mut deadlines = LazyBox::<Deadlines>::EMPTY;
        deadlines.set(3, 0, crate::Instant::EPOCH);
        deadlines.release_deadlines();
        assert!(deadlines.first().is_some());
        deadlines.clear(3);
        deadlines.release_deadlines();
        assert!(deadlines.allocated().is_none());
    }

    #[test]
    fn boxes_with_other_values_differ() {
        let [mut one, mut other] = [Queue::EMPTY, Queue::EMPTY];
        one.clear();
        let hash = |queue: &Queue| BuildHasherDefault::<DefaultHasher>::new().hash_one(queue);
        assert!(one == other && hash(&one) == hash(&other));
        other.push_back(1);
        assert!(one != other && hash(&one) != hash(&other));
    }
}
