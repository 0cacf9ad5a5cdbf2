//! The [Model Context Protocol](https://modelcontextprotocol.io) (MCP) as a sans-IO state machine.
//!
//! Bytes or messages go in; events and outgoing bytes come out. There is no socket, thread, runtime,
//! clock or randomness inside, so the machine runs in any event loop, under a fuzzer, in a
//! deterministic simulation, and without `std`. It has both roles, and every revision from 2024-11-05 to
//! 2026-07-28.
//!
//! **Read on** in the [manual]: [the loop](manual::event_loop), [requests and calls](manual::requests),
//! [cancellation](manual::cancellation), [time](manual::time), [input](manual::input), [tasks](manual::tasks),
//! [pages](manual::pagination), [both eras](manual::eras), [states](manual::states), [limits](manual::limits),
//! [every kind of loop](manual::embedding), [fuzzing](manual::fuzzing), [simulation](manual::simulation),
//! [gateways](manual::gateways), [what it costs](manual::performance), and
//! [coming from rmcp](manual::migration).
#![cfg_attr(
    feature = "auth",
    doc = "[Authorization](manual::authorization) is for servers that want access tokens."
)]
//!
//! For programs that only want a server or a client, an adapter brings the loop: `mcp-sansio-std` with threads,
//! `mcp-sansio-tokio` and `mcp-sansio-async-std` (which also serves smol) with tasks, `mcp-sansio-http` with
//! hyper for HTTP.
//!
//! # Three values and a loop
//!
//! An [`Inbox`] turns bytes into frames and owns partial input. An [`Outbox`] turns messages into
//! bytes and owns unsent output. A [`Server`] or a [`Client`] owns the state of the protocol and
//! nothing else: no bytes, no clock, no handle of a transport.
//!
//! ```
//! use std::io::{Read, Write};
//! use std::sync::Arc;
//! use std::time::SystemTime;
//!
//! use mcp_sansio::model::{CallToolResult, ListChanged};
//! use mcp_sansio::{
//!     ClientRequest, Cause, ErrorCode, Framing, Inbox, Instant, Outbox, Phase, Server, ServerConfig,
//!     ServerEvent,
//! };
//!
//! # let mut stdin = concat!(
//! #     r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
//! #     r#""capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#, "\n",
//! #     r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, "\n",
//! #     "some noise\n",
//! #     r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet"}}"#, "\n",
//! # ).as_bytes();
//! # let mut stdout = Vec::new();
//! let mut config = ServerConfig::new("greeter", "1.0.0");
//! config.capabilities.tools = Some(ListChanged::default());
//!
//! let limits = config.connection.limits.clone();
//! let mut inbox = Inbox::new(&limits);
//! let mut outbox = Outbox::new(Framing::Lines, &limits);
//! let mut server = Server::new(Arc::new(config));
//!
//! while server.phase() != Phase::Closed {
//!     match stdin.read(inbox.space())? {
//!         0 => inbox.finish(),
//!         bytes => inbox.filled(bytes),
//!     }
//!     let now = Instant::from(SystemTime::now());
//!     while let Some(frame) = inbox.next() {
//!         match server.receive(frame, now, &mut outbox) {
//!             Some(ServerEvent::Request(request)) => match request.kind {
//!                 ClientRequest::CallTool(call) if call.name == "greet" => {
//!                     server.respond(request.id, &CallToolResult::text("Hello!"), &mut outbox)?;
//!                 }
//!                 _ => {
//!                     let code = ErrorCode::METHOD_NOT_FOUND;
//!                     server.reject(request.id, code, "I can only greet", &mut outbox)?;
//!                 }
//!             },
//!             Some(ServerEvent::Violation(violation)) => eprintln!("{}", violation.kind),
//!             Some(_) => {} // progress, cancellations, notifications, outcomes of calls, …
//!             None => {}    // answered or absorbed by the machine itself
//!         }
//!     }
//!     if inbox.is_finished() {
//!         server.disconnected(Cause::EndOfInput, now);
//!     }
//!     while let Some(event) = server.handle_timeout(now, &mut outbox) {
//!         eprintln!("{event:?}");
//!     }
//!     stdout.write_all(outbox.unsent())?;
//!     outbox.sent(outbox.unsent().len());
//! }
//! # let stdout = String::from_utf8(stdout)?;
//! # let lines: Vec<&str> = stdout.lines().collect();
//! # assert_eq!(lines.len(), 2);
//! # assert_eq!(lines[1], r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"Hello!"}]}}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - One message in, **at most one event** out. What has several outcomes at once, such as the end of
//!   a connection with calls in flight, comes out of `handle_timeout`, one per call, until `None`.
//! - An event **borrows the input and nothing else**: the machine can be used while it is alive.
//!   `into_owned` keeps it longer.
//! - **Commands** (`respond`, `call`, `cancel`, …) write into the outbox they are given and never
//!   wait. One that fails has changed nothing: a request whose answer could not be written is still open, and
//!   [is rejected instead](manual::event_loop#when-an-answer-cannot-be-written).
//! - **Time is an argument**, an [`Instant`] that counts from an epoch of the caller's choice.
//!   `poll_timeout` says when to call `handle_timeout`; being early or late is harmless.
//! - **Output has routes.** One [`Outbox`] takes the messages of all routes. A transport with a stream per exchange
//!   implements [`Outboxes`], with an outbox for each [`Route`].
//! - Messages need no inbox: `receive` takes anything that converts into a [`Frame`], and
//!   [`Frames::of`] takes a text that may be a batch. They can leave one by one, by
//!   [`Outbox::messages`].
//!
//! # Calls and requests
//!
//! The roles are symmetric once a session is open: either side asks, answers, cancels and reports
//! progress. Without sessions (from 2026-07-28 on) clients ask and servers answer. A call of ours is named by
//! a [`CallId`] and has exactly one [`Outcome`]. A request of the peer is named by an [`IncomingId`] and is
//! answered at most once; its [`RequestContext`] says under which rules. Both handles are small, `Copy`, dense (so a side table can be a `Vec`) and never
//! mistaken for those of another connection or of an earlier use.
//!
//! Methods are called by type (`client.call::<method::CallTool>(…)`, see [`model::method`]) or by
//! name with any [`Payload`]. Requests arrive as views on the input ([`ClientRequest`]); whatever
//! no view has a field for is in `params`, as [`json::Raw`].
//!
//! # Words
//!
//! | word | here it is |
//! |---|---|
//! | call | a request that this side makes: [`CallId`], [`Outcome`] |
//! | request | one that the peer makes: [`IncomingId`], [`Request`] with a [`ClientRequest`], [`RequestFromServer`] with a [`ServerRequest`] |
//! | exchange | a request with its answer and everything between; where each has a stream of its own, that as well |
//! | frame | a message as bytes: [`Frame`] |
//! | transport | whatever moves bytes or messages: pipes, a socket, HTTP, a queue |
//! | route | the stream of the transport that a message belongs to: [`Route`] |
//! | era | whether there are sessions: [`Era`]. Where there are none, a request *stands alone* |
//! | principal | who is asking, a number of the host's: [`Principal`] |
//! | relay | what passes without being looked at: [`Relay`](config::Relay) |
//! | held | made before the connection was open, and sent when it is |
//!
//! # Revisions
//!
//! Every request is served under the rules of one [`Revision`]: that of its session, or the one that it
//! names itself. A server serves what that revision has, and what was declared. Nothing in an application
//! depends on it unless it asks. What a message looks like in which revision
//! is a table: members that came later do not leave, kinds of content that came later are an error of
//! the command that would send them, and whatever the peer sends against the rules is refused with the
//! name of the field that is wrong.
//!
//! What the peer has not declared is not asked of it, see [`CapabilityPolicy`](config::CapabilityPolicy). A gateway switches both
//! off, for some methods or for all: [`Relay`](config::Relay).
//!
//! # Both eras
//!
//! Up to 2025-11-25 a client opens a session with `initialize`. From 2026-07-28 on every request stands
//! alone: its `_meta` says which revision it is and what its sender can do ([`Era`]). Both are served on one
//! connection at the same time, and a handler need not know which it serves: what it needs of the client
//! before it can answer it [requires](Server::require_input), and is entered again; what changes it tells
//! [by the same commands](Server::list_changed). A client [finds out](event::Connected) what a server speaks. The
//! chapter [`manual::eras`] says how, and [`request_state`] keeps clients from forging what they were given to
//! bring back.
//!
//! # What the machine keeps
//!
//! - **Pages.** `client.list::<method::ListTools>(…)` asks for page after page: every page but the last
//!   is a [`ListPage`](event::ListPage) event, the last one ends the call. It begins anew, once, if the list changes or
//!   a cursor dies meanwhile ([`ListRestarted`](event::ListRestarted)). A server cuts its lists with a
//!   [`Pager`](pagination::Pager), whose cursors it recognises.
//! - **Subscriptions and log levels.** A server remembers them: [`Server::resource_updated`] and
//!   [`Server::log`] write only what the client wants, and say so ([`Delivery`](subscription::Delivery)). A request that stands alone
//!   names the level itself.
//! - **Elicitations by URL**, in both roles, until they are done: [`Server::elicitation_complete`].
//! - **Batches**, in 2025-03-26: one that comes in is answered as one; one that goes out is written
//!   with [`Connection::batch`] or [`Connection::batch`].
//! - **Tasks.** A call made with [`CallOptions::task`] may become one: it is asked about, what it asks for
//!   comes as a request like any other, and the call ends with its result. [`TaskUpdate`](event::TaskUpdate) says how far it
//!   is, and has the ticket with which [`Connection::resume_task`] goes on with it after a crash. The tasks of
//!   this side are a value of their own, see [`task`].
//! - **Time.** The timers of a client stand still while a server's request waits for a person, for
//!   [`Timeouts::person`](config::Timeouts::person) at most; [`Connection::pause`] stops them for anything else. [`KeepAlive`](config::KeepAlive) asks a
//!   silent peer whether it is still there.
//!
//! # When things go wrong
//!
//! | what | who is at fault | how it shows |
//! |---|---|---|
//! | noise, broken messages, limits that a peer exceeds | the peer | a [`Violation`](event::Violation) event; an error goes back if the id could be read; the session lives on |
//! | a broken answer to a call | the peer | the call ends with [`Outcome::Malformed`], which holds the text |
//! | a response that no call waits for | the peer, or a race | an [`UnmatchedResponse`](event::UnmatchedResponse) event with the cause |
//! | an error about nothing in particular | usually us | an `UnsolicitedError` event |
//! | a command that cannot be carried out | the caller | a small error: [`RespondError`], [`CallError`], [`CancelError`](error::CancelError), [`NotifyError`](error::NotifyError), [`ConnectError`](error::ConnectError) |
//! | what carries a call fails, where each has an exchange of its own (HTTP) | the network, or the server | the call ends with [`Outcome::TransportFailed`]; the connection lives on |
//! | no answer in time | anybody | [`Outcome::TimedOut`]; the peer is told |
//! | what a server needed was not given | the application, or the user | the call ends with [`Outcome::InputRefused`] |
//! | a call that was given up became a task after all | chance | [`AbandonedTask`](event::AbandonedTask), which says whether the peer could be told to cancel it |
//! | a task that is over is worked on | chance | [`TaskError::Final`](task::TaskError), and nothing happens |
//! | what a client was asked for did not come | the client | the machine answers the request with a failure, and [`CancelCause::InputFailed`](event::CancelCause::InputFailed) |
//! | the end of the connection | anybody | every call ends, every open request is reported, then `Closed` |
//!
//! Every bound is in [`Limits`], with its reason and with the memory that a connection takes at worst.
//!
//! # Promises
//!
//! | | promise | proven by, among others |
//! |---|---|---|
//! | 1 | `receive` is total: no input panics, stack use is constant, work is linear | `promise_1_no_input_panics`, `promise_1_depth_takes_no_stack`, the fuzz targets `server`, `client`, `scan` |
//! | 2 | every call has exactly one outcome, and the end leaves nothing behind | `promise_2_every_call_has_one_outcome`, `nothing_goes_wrong_in_any_order`, `every_call_ends_once_when_the_peer_dies` |
//! | 3 | a request is answered at most once, a cancelled one never, noise never by default | `promise_3_every_request_has_one_answer_at_most`, `nothing_is_answered_twice_or_unasked` |
//! | 4 | nothing waits on a write: what has not left is taken back | `promise_4_nothing_waits_on_a_write`, `a_timeout_takes_back_what_has_not_left`, `a_call_that_has_not_left_is_withdrawn` |
//! | 5 | events come in wire order, messages leave in call order, chunks make no difference | `promise_5_chunks_make_no_difference`, `promise_5_messages_leave_whole_and_in_order`, `any_chunking_gives_the_same_events_and_output` |
//! | 6 | everything is bounded | `promise_6_everything_is_bounded`, `more_requests_than_the_limit_are_refused_with_their_own_id`, `a_line_that_is_too_long_costs_only_itself` |
//! | 7 | the same calls, bytes and times give the same machine and the same output | `promise_7_the_same_again_is_the_same`, `promise_7_a_recording_is_replayed_to_the_byte`, `the_core_is_deterministic` |
//! | 8 | a warm connection allocates nothing | `promise_8_a_warm_connection_allocates_nothing`, `a_server_allocates_nothing_with_many_in_flight`, `a_client_allocates_nothing_with_many_in_flight` |
//! | 9 | what the library does not know reaches the application as it came | `promise_9_what_is_not_known_is_passed_on`, `one_bad_element_does_not_lose_the_list`, `odd_content_is_answered_or_passed_on` |
//! | 10 | `Debug` shows kinds, ids, methods and lengths, and no payload | `promise_10_debug_shows_no_payload`, `events_debug_without_payload` |
//!
//! Each of these is broken on purpose by `each_broken_promise_is_noticed_by_its_oracle`. How to run all of it,
//! and for how long, is in the `CONTRIBUTING.md` of the repository.
//!
//! # Features
//!
//! - `std` (default): an [`Instant`] from a `std::time::SystemTime`. Without it the crate is `no_std`
//!   and needs `alloc`.
//! - `http`: the HTTP transports of all revisions, without IO, in both roles: the module `http`. It needs
//!   no further dependencies.
//! - `testing`: the simulation kit, `testing`: links with faults, monitors of the promises above,
//!   recordings, and an exploration of everything that can happen.
//! - `arbitrary`: `arbitrary::Arbitrary` for the [`model`], for JSON, and for what a connection is
//!   configured with, so that the fuzz targets of handlers take structured input; one to copy is
//!   `fuzz/fuzz_targets/handler.rs` in the repository. Needs `std`.
//!
//!   ```
//!   # #[cfg(feature = "arbitrary")]
//!   # fn target(bytes: &[u8]) -> arbitrary::Result<()> {
//!   use arbitrary::Unstructured;
//!   use mcp_sansio::Instant;
//!   use mcp_sansio::model::CallToolParams;
//!
//!   // With `fuzz_target!(|input: (Instant, CallToolParams<'_>)| …)` libFuzzer does this by itself.
//!   let (now, params): (Instant, CallToolParams<'_>) = Unstructured::new(bytes).arbitrary()?;
//!   # assert_eq!((now, params.name.as_str()), (Instant::from_millis(2), "add"));
//!   # Ok(())
//!   # }
//!   # #[cfg(feature = "arbitrary")]
//!   # target(b"\x02\0\0\0\x03add").unwrap();
//!   ```
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(clippy::alloc_instead_of_core, clippy::std_instead_of_alloc, clippy::std_instead_of_core)]

extern crate alloc;
#[cfg(any(feature = "std", test, mutants))]
extern crate std;

// First, because their macros are used in all others.
#[macro_use]
mod mutant;
#[macro_use]
mod work;

#[cfg(feature = "arbitrary")]
mod arbitrary;
#[cfg(feature = "auth")]
pub mod auth;
mod base64;
mod byte_stream;
pub mod capability;
mod client;
mod codes;
pub mod config;
mod connection;
mod dialect;
mod frame;
mod handle;
#[cfg(feature = "http")]
pub mod http;
mod interests;
pub mod json;
mod lazy_box;
mod limits;
pub mod manual;
pub mod model;
mod ordered;
pub mod pagination;
mod role;
mod rpc;
pub mod schema;
mod server;
mod session;
pub mod task;
#[cfg(feature = "testing")]
pub mod testing;
mod time;
mod version;

pub use byte_stream::ByteStream;
pub use client::cache;
pub use client::{Client, ClientEvent, RequestFromServer, ServerRequest};
pub use codes::ErrorCode;
pub use config::{ClientConfig, ConnectionConfig, ServerConfig};
pub use connection::{
    CallError, CallOptions, Cause, Connection, Outboxes, Outcome, Received, RequestContext, Route,
};
pub use dialect::RespondError;
pub use frame::{Frame, Frames, Framing, Inbox, Messages, Outbox};
pub use handle::{CallId, ConnectionNumber, IncomingId, Principal};
pub use limits::Limits;
pub use schema::Payload;
pub use server::request_state;
pub use server::{ClientRequest, Request, Server, ServerEvent};
pub use session::Phase;
pub use time::Instant;
pub use version::{Era, Revision, RevisionSet};

/// Code that drives either role, and the steps of a [`ByteStream`].
pub mod drive {
    pub use crate::byte_stream::Step;
    pub use crate::role::Role;
}

/// The contents of events: outcomes, cancellations, violations, changes of subscriptions and tasks.
///
/// The events themselves are [`ServerEvent`] and [`ClientEvent`].
pub mod event {
    pub use crate::client::{ConnectFailure, Connected, NegotiationBasis};
    pub use crate::connection::{
        AbandonedTask, CallEnded, CancelCause, Cancelled, Counts, Expiry, ListPage, ListRestarted,
        Notification, Observation, RestartCause, SubscriptionEnd, SubscriptionNews,
        SubscriptionUpdate, TaskAnswer, TaskUpdate, UnmatchedResponse, Violation,
    };
    pub use crate::frame::MessageBytes;
    pub use crate::rpc::{Id, UnmatchedCause};
    pub use crate::server::{Opened, Subscribed};
}

/// The errors of commands, of the transport, and of JSON-RPC.
///
/// [`RespondError`] and [`CallError`], the most frequent ones, are at the root of the crate.
pub mod error {
    pub use crate::client::ConnectError;
    pub use crate::codes::ViolationKind;
    pub use crate::config::BadArguments;
    pub use crate::connection::{
        BatchError, CancelError, NotifyError, TransportError, TransportErrorKind, TransportFailure,
        TransportFailureKind,
    };
    pub use crate::dialect::{InvalidMetaKey, NotAllowed};
    pub use crate::rpc::ErrorObject;
    pub use crate::version::UnknownRevision;
}

/// Calls of this side: their options, pages, tasks and batches. [`CallOptions`] is at the root of the crate.
pub mod call {
    pub use crate::client::ToolTasks;
    pub use crate::connection::{
        Batch, BegunTask, Cancellation, ExchangeEnd, Paging, TaskOptions, TaskTicket, Timeout,
    };
}

/// Requests of the peer: views on their params, their sender, and their metadata.
///
/// The requests themselves are [`ClientRequest`] and [`ServerRequest`].
pub mod request {
    pub use crate::connection::TaskRequest;
    pub use crate::dialect::{MetaKey, name_in};
    pub use crate::handle::Requestor;
    pub use crate::server::{CallTool, Complete, GetPrompt, Page, TaskMode};
}

/// Progress, in both directions.
pub mod progress {
    pub use crate::connection::{Progress, ProgressReport, ProgressUpdate};
}

/// Change notifications and log messages of a server, and their delivery to the clients that asked for them.
pub mod subscription {
    pub use crate::connection::Delivery;
    pub use crate::server::{ChangedList, Log};
}
