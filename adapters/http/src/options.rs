//! `EndpointOptions`: the options of an endpoint.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hyper::http::request::Parts;
use mcp_sansio::http::{HttpServerConfig, ParamHeaders, Reply, RequestSource};
use mcp_sansio_driver::ConnectionOptions;

use crate::identify::Identify;
use crate::one_stream::OneStreamPaths;
#[cfg(feature = "auth")]
use crate::protect::Protection;
use crate::tool_headers::ToolHeaders;

/// The options of an endpoint, besides the protocol options in [`ServerConfig`](mcp_sansio::ServerConfig).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EndpointOptions {
    /// The HTTP options.
    pub http: HttpServerConfig,
    /// The options of its connections: one for each session, and one for each modern request.
    pub connection: ConnectionOptions,
    /// The tool arguments that clients repeat in header fields (`x-mcp-header`, since 2026-07-28). The fields are
    /// compared with the arguments. A tool without an entry is not checked.
    pub tools: BTreeMap<String, Arc<ParamHeaders>>,
    /// The same for tools that change while the endpoint serves. It is asked for tools without an entry in `tools`.
    /// Default none.
    pub tool_headers: Option<ToolHeaders>,
    /// The maximum number of open requests, in sessions and without. Default 10,000. A further request is refused
    /// with 503 and `Retry-After`, or with `-32603` if it is part of a batch.
    ///
    /// A request counts from its admission until its handler has ended. A request counts even if its client has
    /// disconnected, if it waits for input of its client, or if it has become a task. A request without a session
    /// also counts until its response has ended, so subscriptions count. Requests that wait for one of the handlers
    /// of their connection ([`ConnectionOptions::handlers`]) count as well.
    ///
    /// Notifications, responses and pings of sessions are always accepted. The event streams of sessions do not
    /// count: they run no handler, a session has only one for itself, and the number of sessions is limited
    /// ([`HttpServerConfig::most_sessions`]).
    pub most_open: usize,
    /// The maximum number of open requests of one client: a principal, or an address if there is no principal
    /// ([`RequestSource`]). Default 1,000. A further request is refused in the same way. Clients that cannot be
    /// distinguished have only the common limit. Raise this limit behind a proxy that hides addresses.
    pub open_of_client: usize,
    /// The time limit for a client to send a body. Default 2 min. After it the request is refused with 408, and so
    /// is a request whose body pauses for 30 s.
    pub body_within: Duration,
    /// The maximum number of bytes kept for all clients together: bodies that are being read, open requests with
    /// four times the length of their bodies, unread responses and events, and the state of sessions, with or
    /// without an open response. Default 512 MiB.
    ///
    /// From about half of it on, sessions store no events, so that clients cannot resume streams that break off. At the
    /// limit a request is refused with 503 and `Retry-After`, and open requests continue. An eighth is reserved for
    /// small requests. A request is small if it counts at most 256 KiB, which is a body of about 60 KiB, and at most a
    /// sixteenth of this number. The state of a session has limits of its own
    /// ([`Limits::connection_bytes`](mcp_sansio::Limits::connection_bytes), [`HttpServerConfig::kept_bytes`]).
    pub bytes: usize,
    /// The maximum number of open connections of [`serve`](crate::serve). Default 10,000. A further connection waits
    /// until another one has ended, and a connection without a request ends after 30 s, or after 60 s over HTTP/2.
    pub most_connections: usize,
    /// Whether sessions outlive a shutdown, because the next process continues them. Default false.
    ///
    /// [`Endpoint::shut_down`](crate::Endpoint::shut_down) then refuses new requests of sessions with 503, ends their event
    /// streams when no request is open or the grace period is over, and leaves the sessions for
    /// [`Endpoint::suspend_sessions`](crate::Endpoint::suspend_sessions).
    pub keep_sessions: bool,
    /// The paths for clients that support only 2024-11-05: one for the event stream and one for messages. Default
    /// none.
    pub one_stream: Option<OneStreamPaths>,
    /// The function that identifies the sender of a request. By default senders are known only by their address.
    pub identify: Option<Identify>,
    /// The access control by access tokens. By default every client has access.
    #[cfg(feature = "auth")]
    pub protection: Option<Protection>,
}

impl Default for EndpointOptions {
    fn default() -> Self {
        Self {
            http: HttpServerConfig::default(),
            connection: ConnectionOptions::default(),
            tools: BTreeMap::new(),
            tool_headers: None,
            most_open: 10_000,
            open_of_client: 1_000,
            body_within: Duration::from_secs(120),
            bytes: 512 << 20,
            most_connections: 10_000,
            keep_sessions: false,
            one_stream: None,
            identify: None,
            #[cfg(feature = "auth")]
            protection: None,
        }
    }
}

impl EndpointOptions {
    /// Creates the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Requires access tokens. The principal of a request comes from the claims of its token, and not from
    /// [`identify`](Self::identify).
    #[cfg(feature = "auth")]
    #[must_use]
    pub fn protect(mut self, protection: Protection) -> Self {
        self.protection = Some(protection);
        self
    }

    /// Sets a function that identifies the sender of a request by the head of the request: by a bearer token, for
    /// example. If that needs more than the head, or time, call [`Endpoint::handle_as`](crate::Endpoint::handle_as)
    /// with the result instead.
    ///
    /// ```
    /// use mcp_sansio_http::{EndpointOptions, bearer_token};
    /// use mcp_sansio_http::mcp_sansio::Principal;
    /// use mcp_sansio_http::mcp_sansio::http::Reply;
    ///
    /// # fn user_of(_: &str) -> Option<u64> { None }
    /// let options = EndpointOptions::new().identify(|head| {
    ///     // Users are numbered from 1 on; 0 stands for every unknown user.
    ///     let user = bearer_token(&head.headers).and_then(user_of).ok_or_else(|| Reply::unauthorized("Bearer"))?;
    ///     Ok(Principal::new(user))
    /// });
    /// ```
    #[must_use]
    pub fn identify<S: Into<RequestSource>>(
        mut self,
        identify: impl Fn(&Parts) -> Result<S, Reply> + Send + Sync + 'static,
    ) -> Self {
        self.identify = Some(Identify::new(identify));
        self
    }
}
