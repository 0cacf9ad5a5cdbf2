//! [`Attachment`]: the values of a request. [`Extensions`]: the values of a connection.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;

/// The data that an adapter attaches to a request until its handler has ended: a share in the limits of the adapter,
/// and values for the handler. [`Exchange::extension`](crate::Exchange::extension) returns the values.
pub trait Attachment: Send + Sync {
    /// Returns the value of this type, if the request has one.
    fn value(&self, kind: TypeId) -> Option<&dyn Any> {
        _ = kind;
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

#[cfg(test)]
mod tests {
    use super::Extensions;

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
