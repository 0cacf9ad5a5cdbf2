//! MCP over HTTP, without IO: Streamable HTTP of all revisions, and the HTTP+SSE of 2024-11-05
//! ([transports](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http)).
//!
//! The protocol state machines are the same as for other transports; this module carries their messages. An HTTP
//! library, framework, proxy or simulation passes in received requests and responses, and performs the returned
//! actions. The crate `mcp-sansio-http` is such an adapter for hyper.
//!
//! # A server
//!
//! | task | API |
//! |---|---|
//! | Check a request and determine its purpose | [`RequestValidator::admit`], with the head alone |
//! | Determine the destination of its messages | [`RequestValidator::post`], with the body |
//! | Pass the messages to the machine of that destination | [`Server::receive`](crate::Server::receive), with the [`Streams`] of the connection as its outboxes |
//! | Write the responses | [`Streams::next`], as fast as the client reads |
//! | Report that the client has disconnected | [`Streams::disconnected`] |
//! | Own the sessions and their lifetimes | [`Sessions`] |
//! | Identify the client | the application passes a [`RequestSource`] with each request |
//!
//! [`HttpServer`] combines these parts in one value, for a single-threaded loop. Each session and each modern request
//! has its own machine, so clients do not affect each other.
//!
//! A response consists of one head, a body (whole or event by event), and an end. Its status, and whether it is JSON
//! or an event stream, are fixed when the first message is known or after [`HttpServerConfig::stream_after`]. In the
//! modern era a client that disconnects cancels its request. In a session it does not; from 2025-11-25 on, the client
//! can resume the stream ([`EventStore`]).
//!
//! # A client
//!
//! | task | API |
//! |---|---|
//! | Get the next request to send or to abort | [`ClientTransport::poll_action`]; a [`ClientTransport`] holds the outboxes of the [`Client`](crate::Client) |
//! | Report the head of a response | [`ClientTransport::head`], which returns a [`ResponseReader`] |
//! | Report the body and its end | [`ClientTransport::chunk`], [`ClientTransport::end`], which return messages for the machine |
//! | Report a failure | [`ClientTransport::failed`] or [`ClientTransport::broken`], with the [`TransportError`](crate::error::TransportError) as its cause |
//!
//! Each message is one HTTP request, with the header fields of its revision. A failed exchange ends only its own
//! call, with [`Outcome::TransportFailed`](crate::Outcome::TransportFailed); the connection stays usable. Event
//! streams that break off are resumed where possible. A session that the server has ended is reported as
//! [`Arrived::SessionLost`]. A server that requires authorization is reported as
//! [`TransportFailureKind::Unauthorized`](crate::error::TransportFailureKind::Unauthorized), with its challenge;
//! authorization itself is not part of this module.
//!
//! # Time
//!
//! Deadlines cover keep-alive comments, the delay before a response becomes an event stream, the lifetime of a
//! session, and the delay before a stream is requested again. `poll_timeout` returns the next deadline.

pub mod name;

mod client;
mod headers;
mod media;
mod origin;
mod param_headers;
pub(crate) mod server;
mod sse;
mod value;

pub use client::{
    Action, Arrived, ClientTransport, ExchangeNumber, HeaderError, HttpClient, HttpClientConfig,
    HttpRequest, OneStream, Refusal, ResponseReader,
};
pub use headers::{Field, Headers};
pub use media::{accepts, has_content_type, is_json};
pub use origin::{HostPolicy, InvalidName, OriginPolicy};
pub use param_headers::{
    AnnotationFlaw, IntegerOutOfRange, InvalidAnnotation, ParamCause, ParamHeaders, ParamMismatch,
};
pub use server::{
    Accepted, Content, Destination, EventStore, HttpExchange, HttpServer, HttpServerConfig,
    MemoryEvents, Reply, RequestHead, RequestSource, RequestValidator, ResponseHead, ResponseId,
    ResponseMode, ResponsePart, SavedHttpSession, SessionId, SessionMode, Sessions, Streams,
};
pub use sse::{SseDecoder, SseError, SseEvent, write_comment, write_event};
pub use value::{InvalidSentinel, decode_value, encode_value};
