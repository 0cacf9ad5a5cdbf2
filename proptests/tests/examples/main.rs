//! The examples, run as a user would run them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod adapters;
mod attack;
mod authorization_server;
#[cfg(unix)]
mod gateway;
mod inspect;
mod inspect_login;
#[cfg(unix)]
mod inspect_recorded;
mod kit;
#[cfg(unix)]
mod mqtt;
mod replay;
#[cfg(target_os = "linux")]
mod standard_streams;
#[cfg(unix)]
mod troubles;
mod web;
