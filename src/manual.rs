//! The manual: chapters beyond the reference documentation of each item.
//!
//! | task | chapter |
//! |---|---|
//! | write a loop | [`event_loop`], [`embedding`] |
//! | serve requests and make calls | [`requests`], [`cancellation`], [`time`], [`input`], [`tasks`], [`pagination`] |
//! | support several revisions | [`eras`] |
//! | look up the state machines | [`states`] |
//! | estimate the cost | [`limits`], [`performance`] |
//! | test your own program | [`fuzzing`], [`simulation`] |
//! | write a gateway | [`gateways`] |
//! | stop a server or a client | [`shutdown`] |
//! | restart a server and keep its sessions | [`restarts`] |
//! | serve many sessions, or on many computers | [`scaling`] |
//! | extend the protocol | [`extensions`] |
//! | migrate from the official SDK | [`migration`] |
#![cfg_attr(feature = "auth", doc = "| get access tokens, or ask for them | [`authorization`] |")]
//!
//! The crate consists of layers. A layer uses only those below it, and a box inside another belongs to it. Applications
//! use `Server`, `Client`, and values such as `Tasks` and `Pager`. `ARCHITECTURE.md` in the repository describes the
//! rest.
//!
#![doc = include_str!("manual/layers.svg")]

/// The event loop: the calls, their order, and the invariants at each step.
#[doc = include_str!("manual/event_loop.md")]
pub mod event_loop {}

/// Requests of the peer and calls of this side: their handles, responses and endings.
#[doc = include_str!("manual/requests.md")]
#[doc = ""]
#[doc = include_str!("manual/sequence_requests.svg")]
pub mod requests {}

/// Cancellation, and its races with other messages.
#[doc = include_str!("manual/cancellation.md")]
#[doc = ""]
#[doc = include_str!("manual/sequence_cancellation_early.svg")]
#[doc = ""]
#[doc = include_str!("manual/sequence_cancellation_late.svg")]
pub mod cancellation {}

/// Timeouts, progress, and keep-alive.
#[doc = include_str!("manual/time.md")]
#[doc = ""]
#[doc = include_str!("manual/sequence_timeout.svg")]
pub mod time {}

/// Input that a server requires before it can respond: forms, models, roots, in both eras.
#[doc = include_str!("manual/input.md")]
#[doc = ""]
#[doc = include_str!("manual/sequence_input_session.svg")]
#[doc = ""]
#[doc = include_str!("manual/sequence_input_modern.svg")]
pub mod input {}

/// Tasks: work that outlives the request that started it.
#[doc = include_str!("manual/tasks.md")]
#[doc = ""]
#[doc = include_str!("manual/sequence_task.svg")]
pub mod tasks {}

/// Lists in pages.
#[doc = include_str!("manual/pagination.md")]
#[doc = ""]
#[doc = include_str!("manual/sequence_pages.svg")]
pub mod pagination {}

/// Extensions: methods that the protocol does not define, with their capability.
#[doc = include_str!("manual/extensions.md")]
pub mod extensions {}

/// The legacy era with sessions, and the modern era.
#[doc = include_str!("manual/eras.md")]
#[doc = ""]
#[doc = include_str!("manual/sequence_detect_modern.svg")]
#[doc = ""]
#[doc = include_str!("manual/sequence_detect_legacy.svg")]
#[doc = ""]
#[doc = include_str!("manual/sequence_subscription.svg")]
pub mod eras {}

/// Limits on all resources, and memory.
#[doc = include_str!("manual/limits.md")]
pub mod limits {}

/// Integration into an existing loop: threads, tokio, smol, mio, io_uring, browsers, bare metal.
#[doc = include_str!("manual/embedding.md")]
pub mod embedding {}

/// How to fuzz your own handler.
#[doc = include_str!("manual/fuzzing.md")]
pub mod fuzzing {}

/// How to simulate your own agent, gateway or server.
#[doc = include_str!("manual/simulation.md")]
pub mod simulation {}

/// How to write a gateway between clients and servers.
#[doc = include_str!("manual/gateways.md")]
#[doc = ""]
#[doc = include_str!("manual/sequence_gateway.svg")]
pub mod gateways {}

/// How each adapter stops, and what happens to its handlers.
#[doc = include_str!("manual/shutdown.md")]
pub mod shutdown {}

/// Sessions that continue in another process.
#[doc = include_str!("manual/restarts.md")]
pub mod restarts {}

/// Many sessions in a process, and many processes for an endpoint.
#[doc = include_str!("manual/scaling.md")]
pub mod scaling {}

/// How to migrate from rmcp.
#[doc = include_str!("manual/migration.md")]
pub mod migration {}

/// The cost: instructions, allocations and memory, compared with the unavoidable minimum and with the official SDK.
#[doc = include_str!("manual/performance.md")]
#[doc = include_str!("manual/growth_in_flight.svg")]
#[doc = ""]
#[doc = include_str!("manual/growth.md")]
#[doc = include_str!("manual/growth_size.svg")]
#[doc = ""]
#[doc = include_str!("manual/footprint.md")]
pub mod performance {}

/// The states and transitions of connections, of the negotiation of a client, of calls, tasks and authorization.
#[doc = include_str!("manual/states.md")]
#[cfg_attr(feature = "auth", doc = "")]
#[cfg_attr(feature = "auth", doc = include_str!("manual/states_of_authorization.md"))]
pub mod states {}

/// Access tokens: a complete login step by step, the duties of a host, and the failures of an authorization.
#[cfg(feature = "auth")]
#[doc = include_str!("manual/authorization.md")]
#[doc = ""]
#[doc = include_str!("manual/sequence_login.svg")]
pub mod authorization {}

#[cfg(test)]
#[path = "manual/states_tests.rs"]
pub(crate) mod states_tests;
