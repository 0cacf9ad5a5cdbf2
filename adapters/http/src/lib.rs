//! Streamable HTTP for [`mcp_sansio`], on hyper and tokio: servers and clients of every revision.
//!
//! The protocol, including its HTTP part, is implemented by the core ([`mcp_sansio::http`]). This crate moves bytes,
//! provides the clock and runs handlers as tasks.
//!
//! - An [`Endpoint`] serves HTTP requests with a [`Handler`]: modern requests and the sessions of legacy clients, on
//!   the same path. An endpoint accepts requests from any stack that uses the types of [`http`](hyper::http), or
//!   from [`serve`].
//! - [`connect`] opens a [`Connection`] to a server of either era; its [`Handle`] makes calls.
//!
//! - [`Router`] serves tools, prompts and resources from functions. It is the shortest way to a server.
//!
//! Some pages are shared by all adapters; their examples import from `mcp_sansio_driver` what this crate exports.
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `auth` | yes | OAuth 2.1: a client that logs in, a server that requires access tokens |
//! | `jwt` | no | servers that verify JSON Web Tokens |
//! | `tls` | no | TLS by rustls: `https` URLs for [`connect`], certificates for `serve_tls` |
//! | `tower` | no | an [`Endpoint`] is a `tower` service, for axum and other routers |
//! | `in-memory` | no | a client and an endpoint in one process, for tests |
//! | `jsonschema` | no | compares arguments and results of tools with their schemas, also rules such as a minimum |
//! | `schemars` | no | JSON Schemas of the arguments of tools, derived from their types |
//! | `tracing` | no | `tracing` spans of requests and calls, and events of connections, without payloads |
//!
//! # The sender of a request
//!
//! A function of the application identifies the sender of a request ([`EndpointOptions::identify`]), or the endpoint
//! checks access tokens itself (`EndpointOptions::protect`). With both, the token determines the principal, and the
//! function only the address. Sessions, tasks and request state belong to the
//! [`Principal`](mcp_sansio::Principal) of the sender. Without a principal a session owns its tasks.
//!
//! A handler finds the HTTP request as an extension of its exchange: [`HttpRequest`] has the header fields, the
//! principal, the address, the claims of the token, and the values of middleware. [`ConnectionOptions::extension`]
//! adds a value for all handlers.
//!
//! This server knows its users by bearer tokens. A task belongs to the user who began it, so no other user sees it:
//!
//! ```
//! use mcp_sansio_http::mcp_sansio::http::Reply;
//! use mcp_sansio_http::mcp_sansio::model::{CallToolResult, ListChanged, TaskSupport};
//! use mcp_sansio_http::mcp_sansio::request::TaskMode;
//! use mcp_sansio_http::mcp_sansio::{
//!     ClientRequest, ErrorCode, Principal, RespondError, ServerConfig,
//! };
//! use mcp_sansio_http::{
//!     ConnectionOptions, Endpoint, EndpointOptions, Exchange, HttpRequest, SharedTasks, bearer_token,
//!     new_task,
//! };
//!
//! /// The number of a user. 0 stands for every unknown user.
//! fn user_of(token: &str) -> Option<u64> {
//!     ["token of alice", "token of bob"].iter().position(|known| *known == token).map(|at| at as u64 + 1)
//! }
//!
//! async fn serve(exchange: Exchange) -> Result<(), RespondError> {
//!     let ClientRequest::CallTool(_) = exchange.request().kind else {
//!         return exchange.reject(ErrorCode::METHOD_NOT_FOUND, "method not found");
//!     };
//!     let user = exchange.extension::<HttpRequest>().map(HttpRequest::principal).unwrap_or_default();
//!     // A call that asks for no task is rejected. If no task can begin, the dropped exchange responds with an error.
//!     if exchange.task_mode(&TaskSupport::Required)? == Some(TaskMode::Task)
//!         && let Ok(new) = new_task()
//!         && let Ok(task) = exchange.begin_task(new)
//!     {
//!         _ = task.complete(&CallToolResult::text(format!("done for user {}", user.get())));
//!     }
//!     Ok(())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let mut options = EndpointOptions::new().identify(|head| {
//!     let user = bearer_token(&head.headers).and_then(user_of);
//!     user.map(Principal::new).ok_or_else(|| Reply::unauthorized("Bearer"))
//! });
//! options.connection = ConnectionOptions::new().tasks(SharedTasks::default());
//! let mut config = ServerConfig::new("worker", "1.0");
//! config.capabilities.tools = Some(ListChanged::default());
//! config.capabilities = config.capabilities.with_tasks();
//! # use http_body_util::{BodyExt, Full};
//! # use mcp_sansio_http::mcp_sansio::json::Raw;
//! # use bytes::Bytes;
//! let endpoint = Endpoint::with(config, options, serve);
//! # let ask = async |token: &str, method: &str, name: &str, params: &str| {
//! #     let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{"extensions":{{"io.modelcontextprotocol/tasks":{{}}}}}}}}}}}}"#);
//! #     let request = hyper::Request::post("http://localhost/mcp")
//! #         .header("content-type", "application/json").header("accept", "application/json, text/event-stream")
//! #         .header("mcp-protocol-version", "2026-07-28").header("mcp-method", method).header("mcp-name", name)
//! #         .header("authorization", format!("Bearer {token}"))
//! #         .body(Full::new(Bytes::from(body))).unwrap();
//! #     let response = endpoint.handle(request).await;
//! #     String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
//! # };
//! # let begun = ask("token of alice", "tools/call", "work", r#""name":"work""#).await;
//! # let id = begun.split(r#""taskId":""#).nth(1).unwrap_or_else(|| panic!("{begun}")).split('"').next().unwrap().to_owned();
//! # let get = format!(r#""taskId":"{id}""#);
//! # let own = ask("token of alice", "tasks/get", &id, &get).await;
//! # assert!(own.contains("done for user 1"), "{own}");
//! # let other = ask("token of bob", "tasks/get", &id, &get).await;
//! # assert!(other.contains("no such task"), "{other}");
//! # assert_eq!(ask("a guess", "tasks/get", &id, &get).await, "");
//! # }
//! ```
//!
//! # In another server
//!
//! [`serve`] does more than pass requests on. A server that calls [`Endpoint::handle`] itself, or mounts the endpoint
//! as a `tower` service, has these duties:
//!
//! - **The address.** Insert a [`PeerAddress`] into the extensions of each request. Without it, clients without a
//!   principal cannot be distinguished: only the limits for all clients together apply, and one client can use all of
//!   them.
//! - **The name.** Set [`hosts`](mcp_sansio::http::HttpServerConfig::hosts) and
//!   [`origins`](mcp_sansio::http::HttpServerConfig::origins): by default only names of this computer pass.
//! - **The metadata** of a protected endpoint. Route each of
//!   [`ProtectedResource::metadata_paths`](mcp_sansio::auth::resource_server::ProtectedResource::metadata_paths) to
//!   `Endpoint::handle_metadata`. The documentation of [`Endpoint`] shows it with axum, at its implementation of
//!   `Service`.
//! - **Time limits** for the head of a request and for idle sockets, and a maximum number of connections.
//! - **The end.** Call [`Endpoint::shut_down`] before the server stops, because event streams do not end by themselves.
//!
//! ```
//! use std::net::SocketAddr;
//!
//! use hyper::body::Incoming;
//! use hyper::{Request, Response};
//! use mcp_sansio_http::mcp_sansio::http::HostPolicy;
//! use mcp_sansio_http::{Endpoint, EndpointOptions, PeerAddress, ResponseBody, Router};
//!
//! fn endpoint(router: Router) -> Result<Endpoint, Box<dyn std::error::Error>> {
//!     let mut options = EndpointOptions::new();
//!     options.http.hosts = HostPolicy::none().allow("mcp.example.com")?;
//!     Ok(Endpoint::with(router.config("notes", "1.0"), options, router))
//! }
//!
//! /// The server calls it for each request on the path of the endpoint.
//! async fn handle(endpoint: &Endpoint, from: SocketAddr, mut request: Request<Incoming>) -> Response<ResponseBody> {
//!     request.extensions_mut().insert(PeerAddress::new(from));
//!     endpoint.handle(request).await
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let endpoint = endpoint(Router::new()).expect("it is a host name");
//! # _ = handle;
//! // … at the end of the program:
//! endpoint.shut_down(std::time::Duration::from_secs(10));
//! # }
//! ```
//!
//! The example `axum_server` does the same with axum. `serve_connection` serves one connection with a function, and has
//! the time limits.
//!
//! # TLS
//!
//! With the feature `tls`, [`connect`] accepts `https` URLs, and `serve_tls` serves an endpoint with a certificate. Both
//! use [rustls](https://docs.rs/rustls). A program with another TLS library passes its client to [`connect_with`], and
//! its accepted connections to [`serve_stream_from`].

#[cfg(feature = "auth")]
mod authorize;
mod before_message;
mod body;
mod budget;
mod busy_body;
mod connect;
mod endpoint;
mod exchange;
mod http_request;
mod identify;
mod idle;
#[cfg(feature = "in-memory")]
mod in_memory;
mod one_request;
mod one_stream;
mod open_exchanges;
mod open_requests;
mod options;
mod prompt;
#[cfg(feature = "auth")]
mod protect;
#[cfg(not(feature = "auth"))]
#[path = "no_protection.rs"]
mod protect;
mod request_body;
mod request_head;
mod restart;
mod serve;
mod serve_connection;
#[cfg(feature = "tower")]
mod service;
mod service_future;
mod timekeeper;
#[cfg(feature = "tls")]
mod tls;
#[cfg(feature = "auth")]
mod token_time;
mod tool_headers;
mod transport_error;
mod unread;

#[cfg(feature = "auth")]
pub use authorize::{
    Authorization, AuthorizationHost, Authorized, CheckedResolver, FileStorage, HostFuture,
    MemoryStorage, StorageLock, TokenStorage, checked,
};
pub use before_message::BeforeMessage;
pub use body::ResponseBody;
pub use connect::{SendError, Transport, connect, connect_with, plain};
pub use endpoint::Endpoint;
pub use http_request::HttpRequest;
pub use identify::{Identify, PeerAddress, bearer_token};
#[cfg(feature = "in-memory")]
pub use in_memory::{InMemory, InMemoryStream, connect_in_memory};
pub use mcp_sansio;
pub use mcp_sansio_driver::asynchronous::{Handler, RefuseAll};
pub use mcp_sansio_driver::{
    Blocking, ByName, CallFailure, Clock, Connection, ConnectionGroup, ConnectionOptions,
    DuplicateNames, Entry, Exchange, Failed, FunctionResult, Handle, InvalidUriTemplate, Json,
    Machine, Next, Notified, OpenError, Pages, PendingCall, PendingPages, ProgressUpdates,
    PromptOutput, Reply, ResourceOutput, RoomFuture, Router, SharedTasks, TaskHandle, TaskInputs,
    ToolOutput, Waiting, new_task, random_bytes,
};
#[cfg(feature = "jsonschema")]
pub use mcp_sansio_driver::{CompiledSchema, JsonSchemaValidator, ToolSchemas};
#[cfg(feature = "tracing")]
pub use mcp_sansio_driver::{TracePropagator, tracing};
#[cfg(feature = "schemars")]
pub use mcp_sansio_driver::{Typed, schemars, tool_for};
pub use one_stream::OneStreamPaths;
pub use options::EndpointOptions;
#[cfg(feature = "jwt")]
pub use protect::{JwtVerifier, KeySource};
#[cfg(feature = "auth")]
pub use protect::{Protection, TokenVerifier, Verification, VerificationFuture};
#[cfg(feature = "tls")]
pub use rustls;
#[cfg(feature = "tls")]
pub use serve::serve_tls;
pub use serve::{serve, serve_stream, serve_stream_from};
pub use serve_connection::serve_connection;
#[cfg(all(feature = "auth", feature = "tls"))]
pub use tls::checked_tls;
#[cfg(feature = "tls")]
pub use tls::{HttpsClient, server_certificate, system_roots, tls, tls_with};
pub use tool_headers::ToolHeaders;

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
