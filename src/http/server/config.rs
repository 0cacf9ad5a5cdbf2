//! `HttpServerConfig`: the configuration of a server over HTTP.

use core::time::Duration;

use crate::http::{HostPolicy, OriginPolicy};

/// How a server behaves over HTTP, apart from what its
/// [`ServerConfig`](crate::ServerConfig) says of the protocol. Endpoints share it in an `Arc`.
///
/// ```
/// use mcp_sansio::http::{HttpServerConfig, ResponseMode};
///
/// let mut config = HttpServerConfig::default();
/// config.responses = ResponseMode::EventStream;
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct HttpServerConfig {
    /// Under which names the server is reached. Default those of the local machine, which together with
    /// `origins` keeps web pages of others from a server there (DNS rebinding). A server that others reach has a
    /// name of its own.
    pub hosts: HostPolicy,
    /// Which web pages may ask. Default those of the local machine. Whoever sends no `Origin` is no web page.
    pub origins: OriginPolicy,
    /// Longest body in bytes; a longer one is refused with 413. Default 4 MiB. What
    /// [`Limits::frame_bytes`](crate::Limits::frame_bytes) says holds as well.
    pub body_bytes: usize,
    /// Whether requests are served whose `Accept` is missing, as if it named everything. Default false: they
    /// are refused with 406, like those that do not accept both JSON and an event stream.
    pub lenient_accept: bool,
    /// In which form requests are answered.
    pub responses: ResponseMode,
    /// How long a request may take before its response becomes an event stream, so that its client sees that
    /// it is worked on ([`ResponseMode::Automatic`]). Default 15 s; `None` for never.
    pub stream_after: Option<Duration>,
    /// How long an event stream is silent before a comment is sent, so that nothing on the way takes it for
    /// dead. Default 15 s; `None` for never.
    pub keep_alive: Option<Duration>,
    /// What clients up to 2025-11-25 are served with.
    pub sessions: SessionMode,
    /// Whether clients of 2025-11-25 can go on with an event stream that has broken off
    /// ([resumability](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery)).
    /// Default true.
    pub resumable: bool,
    /// How long a client is told to wait before it comes back for an event stream that was closed before its
    /// end. Default 1 s.
    pub retry: Duration,
    /// How long an event stream that has broken off is kept for its client to come back. Default 5 min.
    pub kept_for: Duration,
    /// How many such streams a session keeps, those that broke off last. Default 16.
    pub kept_streams: usize,
    /// How many bytes that have not been sent wait on all such streams of a session together; the streams that broke off
    /// first are forgotten for the others. Default 1 MiB.
    pub kept_bytes: usize,
    /// How many bytes wait at most for a client of a session that has no event stream open for what belongs to
    /// no request. Default 64 KiB.
    pub standalone_bytes: usize,
    /// How many sessions there may be at a time. Default 10,000. One more displaces the one that has waited longest to
    /// become ready, or if all are ready, the one that has been idle longest, for at least
    /// [`displaced_after`](Self::displaced_after). If there is none, it is refused with 503
    /// ([`Sessions`](super::Sessions)).
    pub most_sessions: usize,
    /// How long a session has to be without any request and without an open stream before another one can displace it.
    /// Default 1 min.
    ///
    /// It matters at [`most_sessions`](Self::most_sessions) only. Below that a session lasts for
    /// [`session_idle`](Self::session_idle). A client whose session was displaced gets 404 and opens another one; the
    /// tasks that the session owned, and streams that its client could have come back for, have ended with it.
    pub displaced_after: Duration,
    /// How many of them one client may have: a principal, or without one an address
    /// ([`RequestSource`](super::RequestSource)). Default 1,000. One more displaces the one of the client that has
    /// waited longest to become ready, and is refused with 503 if all of them are. Raise it behind a proxy that hides addresses.
    pub sessions_of_client: usize,
    /// How long a session lasts in which nothing has come after `initialize`. Default 10 s.
    pub ready_within: Duration,
    /// How long a session without any request and without an open stream lasts. Default 30 min; `None` for
    /// ever.
    pub session_idle: Option<Duration>,
}

impl Default for HttpServerConfig {
    fn default() -> Self {
        Self {
            hosts: HostPolicy::default(),
            origins: OriginPolicy::default(),
            body_bytes: 4 << 20,
            lenient_accept: false,
            responses: ResponseMode::default(),
            stream_after: Some(Duration::from_secs(15)),
            keep_alive: Some(Duration::from_secs(15)),
            sessions: SessionMode::default(),
            resumable: true,
            retry: Duration::from_secs(1),
            kept_for: Duration::from_secs(300),
            kept_streams: 16,
            kept_bytes: 1 << 20,
            standalone_bytes: 64 << 10,
            most_sessions: 10_000,
            displaced_after: Duration::from_secs(60),
            sessions_of_client: 1_000,
            ready_within: Duration::from_secs(10),
            session_idle: Some(Duration::from_secs(1800)),
        }
    }
}

/// In which form requests are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResponseMode {
    /// With JSON if the answer is the first thing there is to say, and with an event stream if something else
    /// comes before it, or nothing for long.
    #[default]
    Automatic,
    /// With an event stream, but for what is refused with a status of its own.
    EventStream,
    /// With JSON. Notifications about a request are dropped, and nothing can be asked of the client because of
    /// one, unless it is a session that has an event stream open. Subscriptions have their event stream all the
    /// same.
    Json,
}

/// What clients up to 2025-11-25 are served with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SessionMode {
    /// With sessions, each with an id.
    #[default]
    Sessions,
    /// One request at a time, without sessions: each is served as if it were the first in a session that has
    /// just been opened, of the revision that its `MCP-Protocol-Version` names or else of 2025-03-26, by a
    /// client that cannot be asked anything. `initialize` is answered, and forgotten.
    ///
    /// It is for servers of many machines that share nothing. Such clients hear of no change and cancel
    /// nothing.
    Assumed,
    /// Not at all.
    Nothing,
}
