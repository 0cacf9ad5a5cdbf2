//! `EncodeError`: the reason why a value could not be written.

use core::fmt::Display;

use super::misfit::Misfit;

/// The reason why a value could not be written. A failed write leaves no output behind.
///
/// The caller is at fault, except for [`Full`](Self::Full), which means that the peer does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The outbox has no room for the message, see [`Limits::outbox_bytes`](crate::Limits::outbox_bytes).
    #[error("the outbox has no room for the message (Limits::outbox_bytes)")]
    Full,
    /// The value does not serialize to an object, which MCP requires of `params` and `result`.
    #[error("the value is not an object")]
    NotAnObject,
    /// A map key serializes to something other than a string, a number or a boolean.
    #[error("a map key is not a string")]
    KeyNotAString,
    /// A number is NaN or infinite, which JSON cannot represent.
    #[error("a number is not finite")]
    NotFinite,
    /// The value does not fit the method, or the revision in use cannot express it. The text contains the path of the
    /// value.
    #[error("{0}")]
    Misfit(Misfit),
    /// The `Serialize` implementation of the value returned an error.
    #[error("the value failed to serialize")]
    Payload,
}

impl From<Misfit> for EncodeError {
    fn from(misfit: Misfit) -> Self {
        Self::Misfit(misfit)
    }
}

impl EncodeError {
    /// Returns the error with its path prefixed by this member.
    pub(crate) fn inside(self, field: &'static str) -> Self {
        self.map_misfit(|misfit| misfit.inside(field))
    }

    /// Returns the error with its path prefixed by this index of an array.
    pub(crate) fn in_element(self, index: usize) -> Self {
        self.map_misfit(|misfit| misfit.in_element(index))
    }

    /// Returns the error with its path prefixed by this key of a map.
    pub(crate) fn in_entry(self, key: &str) -> Self {
        self.map_misfit(|misfit| misfit.in_entry(key))
    }

    fn map_misfit(self, map: impl FnOnce(Misfit) -> Misfit) -> Self {
        match self {
            Self::Misfit(misfit) => Self::Misfit(map(misfit)),
            other => other,
        }
    }
}

impl serde::ser::Error for EncodeError {
    fn custom<T: Display>(_message: T) -> Self {
        Self::Payload
    }
}

pub(super) type Result<T = (), E = EncodeError> = core::result::Result<T, E>;
