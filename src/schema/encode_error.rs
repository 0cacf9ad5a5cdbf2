//! `EncodeError`: why a value could not be written.

use core::fmt::Display;

use super::misfit::Misfit;

/// Why a value could not be written. Nothing was: what had been appended is gone again.
///
/// The caller is at fault, except for [`Full`](Self::Full), which means that the peer does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// There is no room for the message, see [`Limits::outbox_bytes`](crate::Limits::outbox_bytes).
    #[error("the outbox has no room for the message (Limits::outbox_bytes)")]
    Full,
    /// `params` and `result` are objects in MCP; this value serialises to something else.
    #[error("the value is not an object")]
    NotAnObject,
    /// A map key serialises to something that is no string, number or truth value.
    #[error("a map key is not a string")]
    KeyNotAString,
    /// JSON has no NaN and no infinity.
    #[error("a number is not finite")]
    NotFinite,
    /// The value is not what the method asks for, or cannot be said in the revision of the session. The
    /// text names the path of the value.
    #[error("{0}")]
    Misfit(Misfit),
    /// The `Serialize` of the value gave up.
    #[error("the value failed to serialize")]
    Payload,
}

impl From<Misfit> for EncodeError {
    fn from(misfit: Misfit) -> Self {
        Self::Misfit(misfit)
    }
}

impl EncodeError {
    /// The same, in a member of this name.
    pub(crate) fn inside(self, field: &'static str) -> Self {
        self.map_misfit(|misfit| misfit.inside(field))
    }

    /// The same, in the element of an array with this index.
    pub(crate) fn in_element(self, index: usize) -> Self {
        self.map_misfit(|misfit| misfit.in_element(index))
    }

    /// The same, in the member of a map with this key.
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
