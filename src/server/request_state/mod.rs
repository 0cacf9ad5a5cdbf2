//! `requestState` that a server can trust when it comes back.
//!
//! A server that ends a request with `input_required` can hand the client a text, and gets it back
//! with the retry
//! ([multi round-trip requests](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr)).
//! So the server itself need not remember anything: another instance, or the same one after a restart,
//! goes on from the text alone. But whoever sends it may have made it up, changed it, kept it for a
//! year, or got it for something else. A [`StateSealer`] notices that: it puts a tag on a payload of
//! the application, and the tag covers the payload, who asks, until when the text is good, and the
//! request that it belongs to ([`Binding`]).
//!
//! The crate has no cryptography. The host brings it, as an [`Authenticator`]:
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
//! # What it does not do
//!
//! - **It hides nothing.** The client can read the payload. Encrypt what it must not see before
//!   sealing it.
//! - **It is not single use.** The same text opens as often as it comes until it expires, and a
//!   client may well send it twice, because the network failed or because it gains by it. Either what
//!   the request does can be done twice, or the host keeps a store: put a nonce into the payload, and
//!   refuse one that has been used. [`OpenedState::expiry`] says how long to remember it; after that
//!   the text is refused anyway.
//! - **It tells identical requests of one principal apart only if something does.** Two equal calls
//!   that run side by side can swap their states. A nonce in the payload tells them apart, too.
//!
//! # Several instances
//!
//! One can open what another has sealed if three things are the same everywhere: the key, the number
//! of a [`Principal`](crate::Principal), and the epoch of [`Instant`] (the adapters use the Unix
//! epoch). Servers that are not the same service need keys of their own.

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

/// Makes and checks tags over messages, with a key that only the host has: a message authentication
/// code such as HMAC-SHA-256.
///
/// It has to be one that nobody can forge without the key; a checksum is none. A longer tag may be
/// cut to 32 bytes, a shorter one will not do.
///
/// To change keys, let [`tag`](Self::tag) use the new one and [`verify`](Self::verify) take both. Of
/// several instances, each has to verify with the new key before one of them signs with it. The old
/// key can go when everything it signed has expired.
pub trait Authenticator {
    /// The tag over the message, by the key that signs.
    fn tag(&self, message: &[u8]) -> [u8; 32];

    /// Whether the tag is one over the message, by any of the keys that are good.
    ///
    /// It must take the same time wherever the tag is wrong, or the tag can be guessed byte by byte.
    /// What cryptographic libraries offer for the purpose does; `==` does not.
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
/// It has no state but the key and a bound: a fresh one opens what another has sealed. `Debug` does
/// not show the key.
#[derive(Clone, Copy)]
pub struct StateSealer<A> {
    authenticator: A,
    payload_bytes: usize,
}

impl<A: Authenticator> StateSealer<A> {
    /// A sealer for payloads of at most 64 KiB.
    pub const fn new(authenticator: A) -> Self {
        Self { authenticator, payload_bytes: 64 * 1024 }
    }

    /// The longest payload in bytes, sealed or opened. Default 64 KiB: state is carried to the client
    /// and back in every round.
    ///
    /// Texts are a third longer than their payloads, and 64 bytes. Longer ones are refused unread.
    #[must_use]
    pub const fn payload_bytes(mut self, bytes: usize) -> Self {
        self.payload_bytes = bytes;
        self
    }

    /// Seals a payload for a request, until the expiry.
    ///
    /// The text is good while the time is before the expiry, so it should be as far away as a person
    /// may take to answer, and no further. Work and memory are linear in the length of the payload
    /// and of the request.
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

    /// Opens what came back as `requestState` of a request, `now`.
    ///
    /// Total: any text gives the payload that was sealed for this request or an error. Work and
    /// memory are linear in the length of the text, as far as it is read, and of the request.
    ///
    /// # Errors
    ///
    /// [`OpenError`] if it is not a text that was sealed for this request, or has expired.
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
        // Looked at last: of a text that anybody can have made, the expiry says nothing.
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
