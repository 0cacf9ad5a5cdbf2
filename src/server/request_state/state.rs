//! States as they go out and as they come back, and why they do not.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::ser::{Serialize, Serializer};

use crate::time::Instant;

/// A text for `requestState`: one line of ASCII, without anything that JSON has to escape.
///
/// It is good for whoever can send the request it belongs to, so it should not get into logs:
/// `Debug` shows the length only.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SealedState {
    text: String,
}

impl SealedState {
    pub(super) const fn new(text: String) -> Self {
        Self { text }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text, to keep.
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

/// What was in a state that has come back. `Debug` shows the length of the payload only.
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct OpenedState {
    /// What the application sealed.
    pub payload: Vec<u8>,
    /// When the text stops being good: how long to remember a nonce in the payload.
    pub expiry: Instant,
}

impl fmt::Debug for OpenedState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { payload, expiry } = self;
        write!(formatter, "OpenedState({} bytes, expiry: {expiry:?})", payload.len())
    }
}

/// Why a payload was not sealed: the application is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The payload is longer than [`StateSealer::payload_bytes`](super::StateSealer::payload_bytes).
    #[error("the payload is too long")]
    PayloadTooLong,
}

/// Why a state that came back is of no use.
///
/// Answer with [`INVALID_PARAMS`](crate::ErrorCode::INVALID_PARAMS), or ask for the input again, with
/// a new state. Do not go on as if there had been no state unless that is harmless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// No sealer can have made this text, or it is too long: the client is at fault.
    #[error("the request state is malformed")]
    Malformed,
    /// It was not sealed by a key that is good, or not for this principal and this request, or
    /// something has changed it. Which of these cannot be told. The client is at fault, or an old key
    /// was dropped too early.
    #[error("the request state is not authentic")]
    NotAuthentic,
    /// It was sealed for this request, and its time is over. Nobody is at fault: a person may have
    /// taken long, so asking again is kinder.
    #[error("the request state has expired")]
    Expired,
}
