//! [`LazyBox`]: state that most connections never need.

/// A value that is allocated on first use. Until then it takes the space of a pointer.
#[derive(Debug)]
pub(crate) struct LazyBox<T>(Option<Box<T>>);

impl<T> LazyBox<T> {
    pub(crate) const NONE: Self = Self(None);

    pub(crate) fn get(&self) -> Option<&T> {
        self.0.as_deref()
    }

    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }
}

impl<T: Default> LazyBox<T> {
    /// Returns the value, which is created if there is none.
    pub(crate) fn needed(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

impl<T> Default for LazyBox<T> {
    fn default() -> Self {
        Self::NONE
    }
}
