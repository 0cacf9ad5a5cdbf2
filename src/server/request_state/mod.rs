//! `requestState` that a server can trust when it comes back.
//!
//! A server that answers a request with `input_required` can hand the client a text, and receives it again with the
//! retry ([multi round-trip requests](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr)).
//! So the server itself keeps no state: another instance, or the same one after a restart, continues from the text
//! alone. But a client may have invented or modified the text, kept it for a year, or received it for another
//! request. A [`StateSealer`] detects that: it adds a tag to a payload of the application. The tag covers the
//! payload, the principal, the expiry and the request ([`Binding`]).
//!
//! The crate has no cryptography. The application brings it, as an [`Authenticator`]:
//!
//! ```
//! use core::time::Duration;
//! use hmac::{Hmac, KeyInit, Mac};
//! use mcp_sansio::json::Str;
//! use mcp_sansio::request_state::{Authenticator, Binding, OpenError, StateSealer};
//! use mcp_sansio::{Instant, Principal};
//! use sha2::Sha256;
//!
//! /// The first key signs. The others are older, and verify until what they signed has expired.
//! struct Keys(Vec<[u8; 32]>);
//!
//! fn hmac(key: &[u8; 32], message: &[u8]) -> Hmac<Sha256> {
//!     Hmac::new_from_slice(key).expect("any length will do").chain_update(message)
//! }
//!
//! impl Authenticator for Keys {
//!     fn tag(&self, message: &[u8]) -> [u8; 32] {
//!         hmac(&self.0[0], message).finalize().into_bytes().into()
//!     }
//!
//!     fn verify(&self, message: &[u8], tag: &[u8; 32]) -> bool {
//!         self.0.iter().any(|key| hmac(key, message).verify(tag.into()).is_ok())
//!     }
//! }
//!
//! let sealer = StateSealer::new(Keys(vec![[7; 32]]));
//! let now = Instant::from_millis(1_000);
//! // With a request at hand this is `Binding::of(&request)`.
//! let binding = Binding::new(Principal::new(1), "tools/call").name("deploy");
//! let state = sealer.seal(b"step 2", &binding, now + Duration::from_secs(600))?;
//!
//! let echoed = Str::from(state.as_str());
//! assert_eq!(sealer.open(&echoed, &binding, now)?.payload, b"step 2");
//! let other = Binding::new(Principal::new(1), "tools/call").name("delete");
//! assert_eq!(sealer.open(&echoed, &other, now), Err(OpenError::NotAuthentic));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limitations
//!
//! - **The payload is not hidden.** The client can read it. Encrypt secrets before sealing them.
//! - **A text is not single use.** The same text opens any number of times until it expires, and a client may send it
//!   twice after a network failure or to its own advantage. Either make the request idempotent, or keep a store in
//!   the application: put a nonce into the payload, and refuse a used nonce. Remember it until [`OpenedState::expiry`];
//!   after that the text is refused anyway.
//! - **Identical requests of one principal share a binding.** Two equal calls that run in parallel can swap their
//!   states. A nonce in the payload distinguishes them.
//!
//! # Several instances
//!
//! An instance can open the state that another one has sealed if three things are equal on both: the key, the number
//! of the [`Principal`](crate::Principal), and the epoch of [`Instant`] (the adapters use the Unix epoch). Servers of
//! different services need different keys.

mod binding;
mod form;
mod message;
mod state;

use core::fmt;

pub use binding::Binding;
pub use state::{OpenError, OpenedState, SealError, SealedState};

use crate::json::Str;
use crate::time::Instant;
use form::Parts;

/// Computes and verifies tags over messages with a secret key of the application: a message authentication code such as
/// HMAC-SHA-256.
///
/// The code must be unforgeable without the key; a checksum is not. A longer tag may be truncated to 32 bytes, and a
/// shorter one is not supported.
///
/// To rotate keys, let [`tag`](Self::tag) use the new key and [`verify`](Self::verify) accept both. With several
/// instances, each of them must verify with the new key before any of them signs with it. Drop the old key when all
/// its texts have expired.
pub trait Authenticator {
    /// Returns the tag over the message, made with the signing key.
    fn tag(&self, message: &[u8]) -> [u8; 32];

    /// Whether the tag is valid for the message with any accepted key.
    ///
    /// The comparison must take constant time, or the tag can be guessed byte by byte. Cryptographic libraries
    /// provide such a comparison; `==` is not one.
    fn verify(&self, message: &[u8], tag: &[u8; 32]) -> bool;
}

impl<A: Authenticator + ?Sized> Authenticator for &A {
    fn tag(&self, message: &[u8]) -> [u8; 32] {
        (**self).tag(message)
    }

    fn verify(&self, message: &[u8], tag: &[u8; 32]) -> bool {
        (**self).verify(message, tag)
    }
}

/// Seals payloads of the application into texts for `requestState`, and opens them again.
///
/// It holds only the key and a limit: a new sealer opens the texts of an earlier one. `Debug` does not show the key.
#[derive(Clone, Copy)]
pub struct StateSealer<A> {
    authenticator: A,
    payload_bytes: usize,
}

impl<A: Authenticator> StateSealer<A> {
    /// Returns a sealer for payloads of at most 64 KiB.
    pub const fn new(authenticator: A) -> Self {
        Self { authenticator, payload_bytes: 64 * 1024 }
    }

    /// Sets the maximum length of a payload in bytes, for sealing and opening. Default 64 KiB: the state travels to
    /// the client and back in every round.
    ///
    /// A text is a third longer than its payload, plus 64 bytes. Longer texts are refused unread.
    #[must_use]
    pub const fn payload_bytes(mut self, bytes: usize) -> Self {
        self.payload_bytes = bytes;
        self
    }

    /// Seals a payload for a request until `expiry`.
    ///
    /// The text is valid before `expiry`, so choose an expiry that gives a person enough time to answer, and no more.
    /// Work and memory are linear in the length of the payload and of the request.
    ///
    /// # Errors
    ///
    /// [`SealError`] if the payload is too long.
    pub fn seal(
        &self,
        payload: &[u8],
        binding: &Binding<'_>,
        expiry: Instant,
    ) -> Result<SealedState, SealError> {
        if self.payload_bytes < payload.len() {
            return Err(SealError::PayloadTooLong);
        }
        let tag = self.authenticator.tag(&message::of(payload, binding, expiry));
        Ok(SealedState::new(form::write(payload, expiry, &tag)))
    }

    /// Opens the `requestState` that came back with a request.
    ///
    /// Total: any text gives the payload that was sealed for this request, or an error. Work and memory are linear in
    /// the length of the text, up to the limit, and of the request.
    ///
    /// # Errors
    ///
    /// [`OpenError`] if the text was not sealed for this request, or has expired.
    pub fn open(
        &self,
        state: &Str<'_>,
        binding: &Binding<'_>,
        now: Instant,
    ) -> Result<OpenedState, OpenError> {
        let parts = form::read(state, self.payload_bytes).ok_or(OpenError::Malformed)?;
        let Parts { payload, expiry, tag } = parts;
        if !self.authenticator.verify(&message::of(&payload, binding, expiry), &tag) {
            return Err(OpenError::NotAuthentic);
        }
        // The expiry is checked last: only the tag makes it trustworthy.
        if expiry <= now {
            return Err(OpenError::Expired);
        }
        Ok(OpenedState { payload, expiry })
    }
}

impl<A> fmt::Debug for StateSealer<A> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StateSealer")
            .field("payload_bytes", &self.payload_bytes)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
