//! From the first byte to the end: handshake, negotiation, capabilities, keep-alive, closing.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod client_handshake;
mod closing;
mod eras;
mod gating;
mod gating_extensions;
mod gating_notifications;
mod gating_phases;
mod gating_policies;
mod held;
mod keep_alive;
mod pains;
mod restoring;
mod server_handshake;
