//! [`Attachment`] and [`AddedValues`]: the values of a request. [`Extensions`]: the values of a connection.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The data that an adapter attaches to a request until its handler has ended: a share in the limits of the adapter,
/// and values for the handler. [`Exchange::extension`](crate::Exchange::extension) returns the values.
pub trait Attachment: Send + Sync {
    /// Returns the value of this type, if the request has one.
    fn value(&self, kind: TypeId) -> Option<&dyn Any> {
        _ = kind;
        None
    }

    /// Returns the id of the session over HTTP, if the request belongs to one: an attribute of its span.
    fn session_id(&self) -> Option<&str> {
        None
    }
}

/// The values of the application for the handlers of a connection, at most one of each type. Clones share the values.
///
/// [`ConnectionOptions::extension`](crate::ConnectionOptions::extension) adds a value, and
/// [`Exchange::extension`](crate::Exchange::extension) returns it.
#[derive(Clone, Default)]
pub(crate) struct Extensions {
    // Few values, so a search is faster than a map.
    values: Vec<(TypeId, Arc<dyn Any + Send + Sync>)>,
}

impl Extensions {
    /// Adds a value. It replaces a value of the same type.
    pub(crate) fn insert<T: Any + Send + Sync>(&mut self, value: T) {
        let kind = TypeId::of::<T>();
        self.values.retain(|(known, _)| *known != kind);
        self.values.push((kind, Arc::new(value)));
    }

    /// Returns the value of this type.
    pub(crate) fn get<T: Any>(&self) -> Option<&T> {
        let kind = TypeId::of::<T>();
        let (_, value) = self.values.iter().find(|(known, _)| *known == kind)?;
        value.downcast_ref()
    }
}

/// Shows the number of values, and no value: it may be secret.
impl fmt::Debug for Extensions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Extensions").field("len", &self.values.len()).finish()
    }
}

/// Values that are added one by one and never removed, so that a borrowed value stays valid while others are added.
#[derive(Default)]
pub(crate) struct AddedValues {
    first: OnceLock<Box<AddedValue>>,
}

struct AddedValue {
    value: Box<dyn Any + Send + Sync>,
    next: OnceLock<Box<Self>>,
}

impl AddedValues {
    pub(crate) fn insert<T: Any + Send + Sync>(&self, value: T) {
        let mut added = Box::new(AddedValue { value: Box::new(value), next: OnceLock::new() });
        let mut end = &self.first;
        // Another thread may add a value at the same end.
        while let Err(not_added) = end.set(added) {
            added = not_added;
            match end.get() {
                Some(taken) => end = &taken.next,
                None => return,
            }
        }
    }

    /// Returns the last added value of this type.
    pub(crate) fn get<T: Any>(&self) -> Option<&T> {
        let all = std::iter::successors(self.first.get(), |value| value.next.get());
        all.filter_map(|added| added.value.downcast_ref()).last()
    }
}

/// Drops the values one after another: a recursive drop of a long list would overflow the stack.
impl Drop for AddedValues {
    fn drop(&mut self) {
        let mut next = self.first.take();
        while let Some(mut value) = next {
            next = value.next.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use super::{AddedValue, AddedValues, Extensions};

    #[test]
    fn the_last_added_value_of_a_type_is_found() {
        let values = AddedValues::default();
        assert_eq!(values.get::<u32>(), None);
        values.insert(1_u32);
        values.insert("text");
        let first = values.get::<u32>();
        values.insert(2_u32);
        assert_eq!(
            (first, values.get::<u32>(), values.get::<&str>()),
            (Some(&1), Some(&2), Some(&"text"))
        );
    }

    #[test]
    fn a_long_list_of_values_is_dropped_without_recursion() {
        let mut list = AddedValues::default();
        for number in 0..200_000_u32 {
            let next = std::mem::take(&mut list.first);
            list.first = OnceLock::from(Box::new(AddedValue { value: Box::new(number), next }));
        }
        assert_eq!(list.get::<u32>(), Some(&0));
    }

    #[test]
    fn a_value_is_found_by_its_type_and_replaced_by_a_newer_one() {
        let mut extensions = Extensions::default();
        assert_eq!(extensions.get::<u8>(), None);
        extensions.insert(1_u8);
        extensions.insert("text");
        extensions.insert(2_u8);
        assert_eq!((extensions.get::<u8>(), extensions.get::<&str>()), (Some(&2), Some(&"text")));
        assert_eq!(extensions.get::<u16>(), None);
        assert_eq!(format!("{extensions:?}"), "Extensions { len: 2 }");
    }
}
