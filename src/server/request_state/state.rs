//! `SealedState`, `OpenedState` and their errors.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::ser::{Serialize, Serializer};

use crate::time::Instant;

/// A text for `requestState`: one line of ASCII without characters that JSON escapes.
///
/// Anyone who can send the matching request can use the text, so keep it out of logs: `Debug` shows only its length.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SealedState {
    text: String,
}

impl SealedState {
    pub(super) const fn new(text: String) -> Self {
        Self { text }
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the text as an owned string.
    pub fn into_string(self) -> String {
        self.text
    }
}

impl From<SealedState> for String {
    fn from(state: SealedState) -> Self {
        state.text
    }
}

impl Serialize for SealedState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl fmt::Debug for SealedState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SealedState({} bytes)", self.text.len())
    }
}

/// The content of a state that a client has returned. `Debug` shows only the length of the payload.
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct OpenedState {
    /// The payload that the application sealed.
    pub payload: Vec<u8>,
    /// The time at which the text expires. A nonce in the payload has to be remembered until then.
    pub expiry: Instant,
}

impl fmt::Debug for OpenedState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { payload, expiry } = self;
        write!(formatter, "OpenedState({} bytes, expiry: {expiry:?})", payload.len())
    }
}

/// The reason why a payload was not sealed. The application is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The payload is longer than [`StateSealer::payload_bytes`](super::StateSealer::payload_bytes).
    #[error("the payload is too long")]
    PayloadTooLong,
}

/// The reason why a returned state was refused.
///
/// Answer with [`INVALID_PARAMS`](crate::ErrorCode::INVALID_PARAMS), or require the input again with a new state. Do
/// not continue as without a state unless that is harmless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The text is too long, or was not made by a sealer. The client is at fault.
    #[error("the request state is malformed")]
    Malformed,
    /// The text was sealed with an unknown key, for another principal or another request, or was modified. These
    /// cases cannot be distinguished. The client is at fault, or an old key was dropped too early.
    #[error("the request state is not authentic")]
    NotAuthentic,
    /// The text was sealed for this request, but has expired. No side is at fault: a person may have taken long, so
    /// it is kinder to ask again.
    #[error("the request state has expired")]
    Expired,
}
