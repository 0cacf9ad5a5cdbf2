//! The options of an endpoint.

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

/// How an endpoint is run, apart from what its [`ServerConfig`](mcp_sansio::ServerConfig) says of the protocol.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EndpointOptions {
    /// How it uses HTTP.
    pub http: HttpServerConfig,
    /// How its connections are run: one for each session, and one for each request that stands alone.
    pub connection: ConnectionOptions,
    /// Which arguments of which tools clients repeat in header fields (`x-mcp-header`, from 2026-07-28 on): what
    /// they say there is compared with the arguments. A tool that is not in here is not checked.
    pub tools: BTreeMap<String, Arc<ParamHeaders>>,
    /// How many requests are answered at a time, in sessions and without. Default 10,000; one more is refused with 503
    /// and `Retry-After`, or with `-32603` if it is part of a batch.
    ///
    /// A request counts from the moment it is taken in until its handler has ended, also if its client has gone, it
    /// waits for input of its client, or it has become a task; without a session also until its response has ended, so
    /// that subscriptions count. Requests that wait for one of the handlers of their connection
    /// ([`ConnectionOptions::handlers`]) count as well.
    ///
    /// Notifications, responses and pings of sessions are taken in all the same. The event streams that clients of
    /// sessions listen to do not count: they run no handler, a session has one for itself, and the number of sessions
    /// is bounded ([`HttpServerConfig::most_sessions`]).
    pub most_open: usize,
    /// How many of them one client may have: a principal, or without one an address ([`RequestSource`]). Default 1,000;
    /// one more is refused in the same way. Clients that cannot be told apart are only bounded together. Raise it behind
    /// a proxy that hides addresses.
    pub open_of_client: usize,
    /// How long a client may take to send a body. Default 2 min; then the request is refused with 408. A pause of 30 s
    /// within the body has the same effect.
    pub body_within: Duration,
    /// Most bytes that are kept of all clients together: bodies that are being read, requests until they are answered,
    /// each with four times the length of its body, answers and events that have not been read, and what sessions keep,
    /// whether or not a response is open. Default 512 MiB.
    ///
    /// When they are exhausted a request is refused with 503 and `Retry-After`, and what there is goes on. What a
    /// session keeps has bounds of its own ([`Limits::connection_bytes`](mcp_sansio::Limits::connection_bytes),
    /// [`HttpServerConfig::kept_bytes`]).
    pub bytes: usize,
    /// How many connections [`serve`](crate::serve) has open at a time. Default 10,000; one more waits until another has
    /// ended, which one without a request does after 30 s.
    pub most_connections: usize,
    /// Two more paths for clients of 2024-11-05 that know nothing newer: where their event stream is, and where
    /// their messages go. By default there are none.
    pub one_stream: Option<OneStreamPaths>,
    /// Finds out who sends a request. By default nobody is known by more than an address.
    pub identify: Option<Identify>,
    /// Lets only those in who show an access token. By default everybody is let in.
    #[cfg(feature = "auth")]
    pub protection: Option<Protection>,
}

impl Default for EndpointOptions {
    fn default() -> Self {
        Self {
            http: HttpServerConfig::default(),
            connection: ConnectionOptions::default(),
            tools: BTreeMap::new(),
            most_open: 10_000,
            open_of_client: 1_000,
            body_within: Duration::from_secs(120),
            bytes: 512 << 20,
            most_connections: 10_000,
            one_stream: None,
            identify: None,
            #[cfg(feature = "auth")]
            protection: None,
        }
    }
}

impl EndpointOptions {
    /// As it is usual.
    pub fn new() -> Self {
        Self::default()
    }

    /// With access tokens. The principal of a request comes from the claims of its token, and not from
    /// [`identify`](Self::identify).
    #[cfg(feature = "auth")]
    #[must_use]
    pub fn protect(mut self, protection: Protection) -> Self {
        self.protection = Some(protection);
        self
    }

    /// With a function that finds out from the head of a request who sends it: from a bearer token, for example. Where
    /// it takes more than the head, or time, call [`Endpoint::handle_as`](crate::Endpoint::handle_as) with what has been found out.
    ///
    /// ```
    /// use mcp_sansio_http::EndpointOptions;
    /// use mcp_sansio_http::mcp_sansio::Principal;
    /// use mcp_sansio_http::mcp_sansio::http::Reply;
    ///
    /// # fn user_of(_: &str) -> Option<u64> { None }
    /// let options = EndpointOptions::new().identify(|head| {
    ///     let field = head.headers.get("authorization").and_then(|value| value.to_str().ok());
    ///     let token = field.and_then(|field| field.strip_prefix("Bearer "));
    ///     // Users are numbered from 1 on: 0 is nobody who is known.
    ///     let user = token.and_then(user_of).ok_or_else(|| Reply::unauthorized("Bearer"))?;
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
