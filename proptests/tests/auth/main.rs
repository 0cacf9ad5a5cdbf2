//! Authorization: the authorizer of a client, and its messages on the wire.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod authorization_server;
mod challenges;
mod claims;
mod discovery;
mod extensions;
mod fallback;
mod fresh_tokens;
mod hostile;
mod kit;
mod login;
mod refresh_ends;
mod refreshing;
mod registration;
mod resource_server;
mod restoring;
mod step_up;
mod tokens;
mod unchallenged;
mod unusable;
mod worlds;
