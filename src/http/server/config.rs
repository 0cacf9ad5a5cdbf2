//! [`HttpServerConfig`], the configuration of a server over HTTP.

use core::time::Duration;

use crate::http::{HostPolicy, OriginPolicy};

/// The HTTP options of a server. [`ServerConfig`](crate::ServerConfig) has the options of the protocol. Endpoints
/// share the configuration in an `Arc`.
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
    /// The host names of the server. Default those of the local computer. Together with `origins` the default protects
    /// a local server from web pages of other sites (DNS rebinding). A public server sets its own name.
    pub hosts: HostPolicy,
    /// The web origins that may send requests. Default those of the local computer. Requests without `Origin` do not
    /// come from web pages and are allowed.
    pub origins: OriginPolicy,
    /// The maximum length of a body in bytes; a longer body is refused with 413. Default 4 MiB.
    /// [`Limits::frame_bytes`](crate::Limits::frame_bytes) applies as well.
    pub body_bytes: usize,
    /// Whether a missing `Accept` means that all media types are accepted. Default false: such a request is refused
    /// with 406, like one that does not accept both JSON and an event stream.
    pub lenient_accept: bool,
    /// The format of responses.
    pub responses: ResponseMode,
    /// The time after which the response to a pending request becomes an event stream, as a sign of progress for the
    /// client ([`ResponseMode::Automatic`]). Default 15 s; `None` for never.
    pub stream_after: Option<Duration>,
    /// The time of silence on an event stream after which a comment is sent, so that intermediaries keep the
    /// connection. Default 15 s; `None` for never.
    pub keep_alive: Option<Duration>,
    /// The handling of clients up to 2025-11-25.
    pub sessions: SessionMode,
    /// Whether clients of 2025-11-25 can resume an event stream that broke off
    /// ([resumability](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery)).
    /// Default true.
    pub resumable: bool,
    /// The delay that a client is asked for before it resumes an event stream whose response was closed early.
    /// Default 1 s.
    pub retry: Duration,
    /// The time that an event stream that broke off is kept for its client, and the maximum age of the events that are
    /// kept in memory for clients that resume a stream. Default 5 min.
    pub kept_for: Duration,
    /// The maximum number of such streams of a session; the latest ones are kept. Default 16.
    pub kept_streams: usize,
    /// The maximum number of unsent bytes on all such streams of a session together. Beyond it, a stream that exceeds
    /// the limit alone is dropped, then those that broke off first and have unsent bytes. Default 1 MiB.
    pub kept_bytes: usize,
    /// The maximum number of bytes that wait on the standalone stream of a session that its client has not opened.
    /// Default 64 KiB.
    pub standalone_bytes: usize,
    /// The maximum number of sessions. Default 10,000. Beyond it, a new session displaces the session that has waited
    /// longest to become ready. If all are ready, it displaces the one that has been idle longest, for at least
    /// [`displaced_after`](Self::displaced_after). Without such a session, the new one is refused with 503
    /// ([`Sessions`](super::Sessions)).
    pub most_sessions: usize,
    /// The idle time, without any request and without an open stream, after which another session can displace a
    /// session. Default 1 min.
    ///
    /// The setting only matters at the limit [`most_sessions`](Self::most_sessions). Below the limit a session lasts
    /// for [`session_idle`](Self::session_idle). A client whose session was displaced gets 404 and opens another one.
    /// The tasks that the session owned, and the streams that its client could have resumed, end with it.
    pub displaced_after: Duration,
    /// The maximum number of sessions of one client: of a principal, or without a principal, of an address
    /// ([`RequestSource`](super::RequestSource)). Default 1,000. Beyond it, a new session displaces the session of
    /// the client that has waited longest to become ready. If all of them are ready, the new one is refused with 503.
    /// Raise the limit behind a proxy that hides addresses.
    pub sessions_of_client: usize,
    /// The lifetime of a session that receives nothing after `initialize`. Default 1 min, because a client on a busy
    /// machine can be slow, and some clients do not open another session after 404.
    pub ready_within: Duration,
    /// The lifetime of a session without any request and without an open stream. Default 30 min; `None` for no limit.
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
            ready_within: Duration::from_secs(60),
            session_idle: Some(Duration::from_secs(1800)),
        }
    }
}

/// The format of responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResponseMode {
    /// JSON if the response is the first message. An event stream if another message precedes it, or after a delay.
    #[default]
    Automatic,
    /// An event stream, except for refusals with their own status.
    EventStream,
    /// JSON. Notifications about a request are dropped. A request to the client, because of a client request, needs a
    /// session with an open event stream. Subscriptions have an event stream nevertheless.
    Json,
}

/// The handling of clients up to 2025-11-25.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SessionMode {
    /// Sessions, each with an id.
    #[default]
    Sessions,
    /// Single requests without sessions. Each request is handled like the first one in a new session, of the revision
    /// in `MCP-Protocol-Version`, by default 2025-03-26. The server cannot send requests to the client. `initialize`
    /// gets a response but leaves no state.
    ///
    /// This mode is for servers on several computers without shared state. Clients receive no change notifications and
    /// cannot cancel.
    Assumed,
    /// Such clients are refused.
    Nothing,
}
