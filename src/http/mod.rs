//! MCP over HTTP, without IO: Streamable HTTP of all revisions, and the HTTP+SSE of 2024-11-05
//! ([transports](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http)).
//!
//! The machines are the same as everywhere; here is what carries their messages. Whoever has HTTP (a library, a
//! framework, a proxy, a simulation) hands in what comes and does what is said. The adapter `mcp-sansio-http` does so
//! on hyper.
//!
//! # A server
//!
//! | step | what does it |
//! |---|---|
//! | May this request come in, and what does it want? | [`RequestValidator::admit`], with the head alone |
//! | Where does its message belong? | [`RequestValidator::post`], with the body |
//! | The machine of that place takes it | [`Server::receive`](crate::Server::receive), with the [`Streams`] of the connection as its outboxes |
//! | What goes out on which response? | [`Streams::next`], as fast as the client reads |
//! | The client has gone | [`Streams::disconnected`] |
//! | Who has which session, and for how long? | [`Sessions`] |
//! | Who is asking? | the host says so, with a [`RequestSource`] for each request |
//!
//! [`HttpServer`] is all of that in one value, for a loop of one thread. There is one machine for each session, and one
//! for each request that stands alone, so nothing that one client does concerns another one.
//!
//! A response has a head, once; then a body, all of it or an event at a time; then its end. Whether it is JSON or an
//! event stream, and its status, are decided when the first message is known, or when the client has waited long enough
//! ([`HttpServerConfig::stream_after`]). Without a session a client that goes away has cancelled its request; in a
//! session it has not, and from 2025-11-25 on it can come back for the rest ([`EventStore`]).
//!
//! # A client
//!
//! | step | what does it |
//! |---|---|
//! | What is to be requested, or broken off? | [`ClientTransport::poll_action`]: the [`ClientTransport`] are the outboxes of the [`Client`](crate::Client) |
//! | The head of a response | [`ClientTransport::head`], which gives a [`ResponseReader`] |
//! | Parts of the body, and its end | [`ClientTransport::chunk`], [`ClientTransport::end`], which give messages for the machine |
//! | It failed | [`ClientTransport::failed`] or [`ClientTransport::broken`], with the [`TransportError`](crate::error::TransportError) that says why |
//!
//! Each message is a request of its own, with the header fields that its revision asks for. What goes wrong with one
//! ends the call that it carries, with [`Outcome::TransportFailed`](crate::Outcome::TransportFailed), and nothing else: the
//! connection lives on. Event streams that break off are asked for again where that is possible. A session that the
//! server has ended is [`Arrived::SessionLost`]. A server that asks for authorization shows in
//! [`TransportFailureKind::Unauthorized`](crate::error::TransportFailureKind::Unauthorized), with what it says; what to do about it
//! is not here.
//!
//! # Time
//!
//! Keep-alive comments, the delay before a response becomes an event stream, the time that a session lasts, and the
//! waiting before a stream is asked for again are deadlines: `poll_timeout` says when.

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
    ResponseMode, ResponsePart, SessionId, SessionMode, Sessions, Streams,
};
pub use sse::{SseDecoder, SseError, SseEvent, write_comment, write_event};
pub use value::{InvalidSentinel, decode_value, encode_value};
