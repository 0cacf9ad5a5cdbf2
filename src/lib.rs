//! The [Model Context Protocol](https://modelcontextprotocol.io) (MCP) as a sans-IO state machine.
//!
//! Bytes or messages go in; events and outgoing bytes come out. The crate has no sockets, threads, runtime, clock or
//! randomness inside. So it runs in any event loop, under a fuzzer, in a deterministic simulation, and without `std`.
//! It implements client and server, in every revision of the protocol from 2024-11-05 to 2026-07-28.
//!
//! **Read on** in the [manual]: [the loop](manual::event_loop), [requests and calls](manual::requests),
//! [cancellation](manual::cancellation), [time](manual::time), [input](manual::input), [tasks](manual::tasks),
//! [pages](manual::pagination), [both eras](manual::eras), [states](manual::states), [limits](manual::limits),
//! [each kind of event loop](manual::embedding), [shutdown](manual::shutdown), [restarts](manual::restarts),
//! [scaling](manual::scaling), [extensions](manual::extensions), [fuzzing](manual::fuzzing),
//! [simulation](manual::simulation), [gateways](manual::gateways), [cost](manual::performance), and [coming from
//! rmcp](manual::migration).
#![cfg_attr(
    feature = "auth",
    doc = "[Authorization](manual::authorization) covers servers that require access tokens."
)]
//!
//! A program that only needs a server or a client uses an adapter, which brings the loop: `mcp-sansio-std` with
//! threads, `mcp-sansio-tokio` and `mcp-sansio-async-std` (also for smol) with tasks, `mcp-sansio-http` with hyper for
//! HTTP. `mcp-sansio-store` lets several processes serve one endpoint, `mcp-sansio-gateway` puts many servers behind
//! one, `mcp-sansio-extensions` has the official extensions, and `mcp-sansio-ffi` is this crate for C and Python.
//!
//! # A server in one loop
//!
//! A [`ByteStream`] pairs a [`Server`] or a [`Client`] with the buffers of one byte stream. The loop waits for input or
//! for the next timeout, whichever is first.
//!
//! ```
//! use std::io::Write;
//! use std::sync::Arc;
//! use std::sync::mpsc::RecvTimeoutError;
//! use std::time::Duration;
//!
//! use mcp_sansio::model::{CallToolResult, ListChanged};
//! use mcp_sansio::{
//!     ByteStream, ClientRequest, ErrorCode, Instant, Server, ServerConfig, ServerEvent,
//! };
//!
//! # let (sender, chunks) = std::sync::mpsc::channel::<Vec<u8>>();
//! # let sent = concat!(
//! #     r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
//! #     r#""capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#, "\n",
//! #     r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, "\n",
//! #     "some noise\n",
//! #     r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet"}}"#, "\n",
//! # );
//! # for chunk in sent.as_bytes().chunks(100) {
//! #     sender.send(chunk.to_vec())?;
//! # }
//! # drop(sender);
//! # let mut stdout = Vec::new();
//! let mut config = ServerConfig::new("greeter", "1.0.0");
//! config.capabilities.tools = Some(ListChanged::default());
//!
//! let mut stream = ByteStream::lines(Server::new(Arc::new(config)));
//! // Instants count from the Unix epoch here, because the timestamps of tasks do.
//! let (begun, start) = (Instant::from(std::time::SystemTime::now()), std::time::Instant::now());
//! let now = || begun + start.elapsed();
//! let mut has_input = true;
//! loop {
//!     while let Some(step) = stream.next_step(now()) {
//!         match step.event {
//!             Some(ServerEvent::Request(request)) => match request.kind {
//!                 ClientRequest::CallTool(call) if call.name == "greet" => {
//!                     // A result that does not fit is an error, and the request stays open: see
//!                     // `manual::event_loop#when-an-answer-cannot-be-written`.
//!                     let result = CallToolResult::text("Hello!");
//!                     step.machine.respond(request.id, &result, step.outbox)?;
//!                 }
//!                 _ => {
//!                     let code = ErrorCode::METHOD_NOT_FOUND;
//!                     step.machine.reject(request.id, code, "I can only greet", step.outbox)?;
//!                 }
//!             },
//!             Some(ServerEvent::Violation(violation)) => eprintln!("{}", violation.kind),
//!             // Progress, notifications, outcomes of calls, … and cancellations, which a tool that takes time
//!             // handles: see `manual::time#progress`.
//!             Some(_) => {}
//!             None => {}    // the machine answered or absorbed the message itself
//!         }
//!     }
//!     if !stream.unsent().is_empty() {
//!         // This waits for the client. A loop that cannot wait looks at `Outbox::is_congested`.
//!         stdout.write_all(stream.unsent())?;
//!         stream.sent(stream.unsent().len());
//!         continue; // notifications may have waited for the room
//!     }
//!     if stream.is_closed() {
//!         break;
//!     }
//!
//!     // A thread reads standard input into `chunks`, at most 8 KiB at a time: see `manual::embedding`.
//!     let wait = stream.poll_timeout().map_or(Duration::from_secs(60), |due| due - now());
//!     if !has_input {
//!         std::thread::sleep(wait);
//!         continue;
//!     }
//!     match chunks.recv_timeout(wait) {
//!         Ok(chunk) => assert_eq!(stream.feed(&chunk), chunk.len()),
//!         Err(RecvTimeoutError::Timeout) => {}
//!         Err(RecvTimeoutError::Disconnected) => {
//!             stream.finish();
//!             has_input = false;
//!         }
//!     }
//! }
//! # let stdout = String::from_utf8(stdout)?;
//! # let lines: Vec<&str> = stdout.lines().collect();
//! # assert_eq!(lines.len(), 2);
//! # assert_eq!(lines[1], r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"Hello!"}]}}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Three values
//!
//! A [`ByteStream`] consists of three values, which a loop can also use by itself ([`manual::event_loop`]):
//!
//! - An [`Inbox`] turns bytes into frames and owns partial input.
//! - A [`Server`] or a [`Client`] owns the state of the protocol and nothing else: no bytes, no clock, no handle of a
//!   transport.
//! - An [`Outbox`] turns messages into bytes and owns unsent output.
//!
//! The contract between them:
//!
//! - One message in, **at most one event** out. A transition with several outcomes, such as the end of a connection
//!   with calls in flight, delivers them through `handle_timeout`, one per call, until it returns `None`.
//! - An event **borrows the input and nothing else**: the machine can be used while the event is alive. `into_owned`
//!   copies the event.
//! - **Commands** (`respond`, `call`, `cancel`, …) write into the given outbox and never wait. A command that fails
//!   changes nothing: a request whose response could not be written is still open and [must be rejected
//!   instead](manual::event_loop#when-an-answer-cannot-be-written).
//! - **Time is an argument**, an [`Instant`] that counts from an epoch of the caller's choice. `poll_timeout` returns
//!   when to call `handle_timeout`; an early or a late call is harmless.
//! - **Output has routes.** One [`Outbox`] takes the messages of all routes. A transport with a stream per exchange
//!   implements [`Outboxes`], with an outbox for each [`Route`].
//! - Messages need no inbox: `receive` takes anything that converts into a [`Frame`], and [`Frames::of`] takes a text
//!   that may be a batch. Messages leave one by one with [`Outbox::messages`].
//!
//! # Calls and requests
//!
//! In a session of the legacy era both sides send requests, responses, cancellations and progress. In the modern era
//! clients send requests and servers respond. A request that this side sends is a *call*: it has a [`CallId`] and
//! exactly one [`Outcome`]. A request of the peer has an [`IncomingId`] and gets at most one response; its
//! [`RequestContext`] holds the rules that apply to it. Both handles are small, `Copy` and dense, so a side table can
//! be a `Vec`. A stale handle is an error and never another request. So is a handle of another connection, if each has
//! its own [`ConnectionNumber`].
//!
//! Calls name a method by its type (`client.call::<method::CallTool>(…)`, see [`model::method`]) or by its name, with
//! any [`Payload`]. Requests arrive as views on the input: [`ClientRequest`] at a server, [`ServerRequest`] at a
//! client. Members without a field in the view are in `params`, a [`json::Raw`].
//!
//! # Words
//!
//! | word | meaning |
//! |---|---|
//! | machine | the state machine of one connection: a [`Server`] or a [`Client`] |
//! | call | a request that this side sends: [`CallId`], [`Outcome`] |
//! | request | a request that the peer sends: [`Request`] with a [`ClientRequest`], [`RequestFromServer`] with a [`ServerRequest`] |
//! | exchange | a request with its response and the messages between them; over HTTP, also their stream |
//! | frame | a message as bytes: [`Frame`] |
//! | text | strings: [`json::Str`] is a string of a received message, with `to_str()` for a `match`; [`model::Text`] is a member of a model type, and dereferences to `str` |
//! | route | the stream of the transport that a message belongs to: [`Route`] |
//! | principal | the authenticated sender of a request, a number that the application chooses: [`Principal`] |
//! | driver | the loop that moves bytes between the machine and the transport: an adapter, or the program itself |
//! | era | legacy (sessions, up to 2025-11-25) or modern (self-contained requests, from 2026-07-28 on): [`Era`] |
//! | abandoned call | a call that was cancelled or has timed out, whose response may still arrive |
//! | by hand | a step that the machine leaves to the application: [`CallOptions::input_by_hand`], [`TaskOptions::by_hand`](call::TaskOptions::by_hand) |
//!
//! # Revisions
//!
//! Each request is served under the rules of one [`Revision`]: that of its session, or in the modern era the one that
//! its `_meta` names. A server serves the methods of that revision, as far as both sides declared their capabilities.
//! An application need not look at the revision. The form of each message in each revision is a table. A member that
//! the revision lacks is omitted. A content block, or another value, that the revision lacks fails the command. A
//! message of the peer that breaks the rules is refused with the name of the wrong member.
//!
//! A request that needs a capability which the peer has not declared is not sent, see
//! [`CapabilityPolicy`](config::CapabilityPolicy). A gateway switches both checks off, for some methods or for all,
//! with a [`Relay`](config::Relay).
//!
//! # Both eras
//!
//! Up to 2025-11-25 a client opens a session with `initialize`. From 2026-07-28 on there are no sessions: the `_meta`
//! of every request names its revision and the capabilities of the client ([`Era`]). A server serves both eras on one
//! connection at the same time, and its handlers are the same for both. A handler that needs client input calls
//! [`require_input`](Server::require_input) and is invoked again with the response. Changes are announced with the
//! [same commands](Server::notifications). A client [negotiates](event::Connected) the era with its server. The chapter
//! [`manual::eras`] has the details; [`request_state`] stops clients from forging the state that they send back.
//!
//! # State that the machine keeps
//!
//! - **Pages.** `client.list::<method::ListTools>(…)` requests page after page: each page but the last is a
//!   [`ClientEvent::Page`] event, and the last one is the outcome of the call. The list is read again, once, if it
//!   changes meanwhile, and once if a cursor expires ([`ListRestarted`](event::ListRestarted)). A server cuts its lists with a
//!   [`Pager`](pagination::Pager), which verifies its cursors.
//! - **Subscriptions and log levels.** A [`Notifications`](subscription::Notifications) view sends only messages that the
//!   client subscribed to, and returns the [`Delivery`](subscription::Delivery). A modern request names its log level
//!   itself.
//! - **URL elicitations**, in both roles, until they are complete:
//!   [`elicitation_complete`](subscription::Notifications::elicitation_complete).
//! - **Batches** of 2025-03-26: a batch of the peer is answered as one; [`Connection::batch`] writes one.
//! - **Tasks.** A call with [`CallOptions::task`] may become a task of the peer: the machine polls it, the input that
//!   it requires arrives as requests, and its result ends the call. [`TaskUpdate`](event::TaskUpdate) has its status,
//!   and a ticket with which [`Connection::resume_task`] polls it after a crash. Tasks of this side are a value of
//!   their own, see [`task`].
//! - **Time.** The timers of a client stop while a server's request waits for a person, for
//!   [`Timeouts::person`](config::Timeouts::person) at most; [`Connection::set_paused`] stops them for any other reason.
//!   [`KeepAlive`](config::KeepAlive) pings a silent peer.
//!
//! # When things go wrong
//!
//! | problem | who is at fault | result |
//! |---|---|---|
//! | noise, broken messages, exceeded limits | the peer | a [`Violation`](event::Violation) event; an error response if the id is readable; the session goes on |
//! | a broken response to a call | the peer | [`Outcome::Malformed`], with the text |
//! | a response that no call waits for | the peer, or a race | an [`UnmatchedResponse`](event::UnmatchedResponse) event with the cause |
//! | an error response without an id | usually this side | an `UnsolicitedError` event |
//! | a command that cannot be executed | the caller | a small error: [`RespondError`], [`CallError`], [`CancelError`](error::CancelError), [`NotifyError`](error::NotifyError), [`ConnectError`](error::ConnectError) |
//! | the transport of one call fails (HTTP) | the network, or the server | [`Outcome::TransportFailed`]; the connection goes on |
//! | no response in time | either side | [`Outcome::TimedOut`]; the call is cancelled on the wire |
//! | required input was refused | the application, or the user | [`Outcome::InputRefused`] |
//! | the response to a cancelled or timed-out call is a task | a race | [`AbandonedTask`](event::AbandonedTask), which says whether `tasks/cancel` was sent |
//! | a command for a task that is complete | a race | [`TaskError::Final`](task::TaskError); nothing changes |
//! | a client does not answer a request for input | the client | the machine answers the original request with an error: [`CancelCause::InputFailed`](event::CancelCause::InputFailed) |
//! | the connection ends | either side | an outcome for every call, an event for every open request, then `Closed` |
//!
//! The bounds of a connection that can be set are in [`Limits`], with their reasons and the memory that a connection
//! takes at worst. A fixed bound, such as the ten minutes of [`Deferred`](call::Cancellation::Deferred), is at the item
//! that it concerns.
//!
//! # Promises
//!
//! | | promise | proven by, among others |
//! |---|---|---|
//! | 1 | `receive` is total: no input panics, stack use is constant, work is linear | `promise_1_no_input_panics`, `promise_1_depth_takes_no_stack`, the fuzz targets `server`, `client`, `scan` |
//! | 2 | every call has exactly one outcome, and the end leaves nothing behind | `promise_2_every_call_has_one_outcome`, `nothing_goes_wrong_in_any_order`, `every_call_ends_once_when_the_peer_dies` |
//! | 3 | a request is answered at most once, a cancelled one never; a message without a readable id gets no response by default | `promise_3_every_request_has_one_answer_at_most`, `nothing_is_answered_twice_or_unasked` |
//! | 4 | no operation waits for a write; a cancelled call that is still in the outbox is removed from it | `promise_4_nothing_waits_on_a_write`, `a_timed_out_call_withdraws_its_unsent_request`, `a_call_that_has_not_left_is_withdrawn` |
//! | 5 | events come in wire order, messages leave in call order, chunks make no difference | `promise_5_chunks_make_no_difference`, `promise_5_messages_leave_whole_and_in_order`, `any_chunking_gives_the_same_events_and_output` |
//! | 6 | everything is bounded | `promise_6_everything_is_bounded`, `more_requests_than_the_limit_are_refused_with_their_own_id`, `a_line_that_is_too_long_costs_only_itself` |
//! | 7 | the same calls, bytes and times give the same machine and the same output | `promise_7_the_same_again_is_the_same`, `promise_7_a_recording_is_replayed_to_the_byte`, `the_core_is_deterministic` |
//! | 8 | a warm connection allocates nothing | `promise_8_a_warm_connection_allocates_nothing`, `a_server_allocates_nothing_with_many_in_flight`, `a_client_allocates_nothing_with_many_in_flight` |
//! | 9 | unknown members reach the application unchanged | `promise_9_unknown_members_are_passed_on_unchanged`, `one_bad_element_does_not_lose_the_list`, `odd_content_is_answered_or_passed_on` |
//! | 10 | `Debug` of events, frames and machines shows kinds, ids, methods and lengths, and no payload | `promise_10_debug_shows_no_payload`, `events_debug_without_payload` |
//!
//! The repository also has a list of known defects. `.ci/run mutants` plants them one after another, and fails if a test
//! or a proof misses one. `CONTRIBUTING.md` has the commands of all proofs.
//!
//! # Features
//!
//! - `std` (default): an [`Instant`] from a `std::time::SystemTime`, and the feature `std` of `serde` and `serde_json`,
//!   so that a [`schema::Json`] can hold a `HashMap`. Without `std` the crate needs `alloc` only.
//! - `http`: the HTTP transports of all revisions, without IO, in both roles: the module `http`. It needs
//!   no further dependencies.
//! - `auth`: OAuth without IO, for clients and resource servers: the module `auth`. It includes `http`.
//! - `testing`: the simulation kit, `testing`: links with faults, monitors of the promises above,
//!   recordings, and an exploration of everything that can happen. Pictures of conversations need `std`.
//! - `work`: `testing::WorkMeter` counts the steps of loops whose length a peer can choose. It costs time, and needs
//!   `std` and `testing`.
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
#[cfg(any(feature = "std", test))]
extern crate std;

// First, because its macro is used in all others.
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
#[cfg(any(test, all(feature = "testing", feature = "std")))]
mod drawing;
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

/// Types for code that drives either role: [`Role`](drive::Role), the steps of a [`ByteStream`], the views of a
/// [`Connection`].
pub mod drive {
    pub use crate::byte_stream::Step;
    pub use crate::connection::{ConnectionTasks, InFlight, SavedSession};
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
        BatchError, CancelError, NotifyError, RestoreSessionError, TransportError,
        TransportErrorKind, TransportFailure, TransportFailureKind,
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
    pub use crate::server::{ChangedList, Log, Notifications};
}
