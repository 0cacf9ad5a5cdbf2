//! Chapters for those who want to know more than what each item does.
//!
//! | to | read |
//! |---|---|
//! | write a loop | [`event_loop`], [`embedding`] |
//! | answer and ask | [`requests`], [`cancellation`], [`time`], [`input`], [`tasks`], [`pagination`] |
//! | know which revision means what | [`eras`] |
//! | know what can follow what | [`states`] |
//! | know what it takes | [`limits`], [`performance`] |
//! | trust what you build on it | [`fuzzing`], [`simulation`] |
//! | put it between others | [`gateways`] |
//! | come from the official SDK | [`migration`] |
#![cfg_attr(feature = "auth", doc = "| get access tokens, or ask for them | [`authorization`] |")]

/// The loop: what to call, in which order, and what holds at each step.
#[doc = include_str!("manual/event_loop.md")]
pub mod event_loop {}

/// Requests of the peer and calls of this side: how each is named, answered and ended.
#[doc = include_str!("manual/requests.md")]
pub mod requests {}

/// Cancellation, and everything that it can pass on its way.
#[doc = include_str!("manual/cancellation.md")]
pub mod cancellation {}

/// Timeouts, progress, and whether anybody is there.
#[doc = include_str!("manual/time.md")]
pub mod time {}

/// What a server needs before it can answer: forms, models, roots, with and without sessions.
#[doc = include_str!("manual/input.md")]
pub mod input {}

/// Work that outlives the request which asked for it.
#[doc = include_str!("manual/tasks.md")]
pub mod tasks {}

/// Lists in pages.
#[doc = include_str!("manual/pagination.md")]
pub mod pagination {}

/// Sessions, and requests that stand alone.
#[doc = include_str!("manual/eras.md")]
pub mod eras {}

/// Bounds on everything, and memory.
#[doc = include_str!("manual/limits.md")]
pub mod limits {}

/// How to put it into the loop that you have: threads, tokio, smol, mio, io_uring, browsers, bare metal.
#[doc = include_str!("manual/embedding.md")]
pub mod embedding {}

/// How to fuzz a handler of your own.
#[doc = include_str!("manual/fuzzing.md")]
pub mod fuzzing {}

/// How to simulate an agent, a gateway or a server of your own.
#[doc = include_str!("manual/simulation.md")]
pub mod simulation {}

/// How to write what stands between clients and servers.
#[doc = include_str!("manual/gateways.md")]
pub mod gateways {}

/// How to come from rmcp.
#[doc = include_str!("manual/migration.md")]
pub mod migration {}

/// What it costs: instructions, allocations and memory, beside what nobody can avoid and beside the
/// official SDK.
#[doc = include_str!("manual/performance.md")]
#[doc = include_str!("manual/growth_in_flight.svg")]
#[doc = ""]
#[doc = include_str!("manual/growth.md")]
#[doc = include_str!("manual/growth_size.svg")]
#[doc = ""]
#[doc = include_str!("manual/footprint.md")]
pub mod performance {}

/// The states there are and what leads from one to the next: connections, the negotiation of a client, calls,
/// tasks, authorization.
#[doc = include_str!("manual/states.md")]
#[cfg_attr(feature = "auth", doc = "")]
#[cfg_attr(feature = "auth", doc = include_str!("manual/states_of_authorization.md"))]
pub mod states {}

/// Access tokens: a whole login by hand, what a host has to do, and how an authorization can fail.
#[cfg(feature = "auth")]
#[doc = include_str!("manual/authorization.md")]
pub mod authorization {}

#[cfg(test)]
#[path = "manual/states_tests.rs"]
pub(crate) mod states_tests;
