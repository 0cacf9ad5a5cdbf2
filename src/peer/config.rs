//! What a connection is configured with, whichever role it has.

use core::time::Duration;

use crate::limits::Limits;

/// How a connection behaves. The defaults are what the specification asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ConnectionConfig {
    /// Bounds on everything.
    pub limits: Limits,
    /// How long things may take.
    pub timeouts: Timeouts,
    /// What happens to a request whose id is in flight already.
    pub duplicate_ids: DuplicateIds,
    /// What happens to a request whose method MCP does not have.
    pub unknown_methods: UnknownMethods,
    /// Whether a response with id `"7"` may answer the call `7`.
    ///
    /// Default false. Some servers turn ids into strings.
    pub match_stringified_ids: bool,
    /// Whether messages are taken whose `jsonrpc` is missing or something other than `"2.0"`.
    ///
    /// Default false. What leaves is JSON-RPC 2.0 in any case.
    pub lenient_version: bool,
    /// Whether, and how often, a server answers a message whose id could not be read.
    ///
    /// Default `None`, as the official SDKs do on stdio: an answer to noise is noise to the peer.
    /// Clients never do. The error has no `id` from 2025-11-25 on, `id: null` before.
    pub replies_without_id: Option<RepliesWithoutId>,
    /// Whether to keep what the peer said of itself in the handshake. Default false: the event of
    /// the handshake lends it, and most programs need it only then.
    pub keep_handshake: bool,
    /// The id of the first call. They count up from there. Default 1.
    pub first_call_id: u32,
}

impl Default for ConnectionConfig {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            timeouts: Timeouts::default(),
            duplicate_ids: DuplicateIds::default(),
            unknown_methods: UnknownMethods::default(),
            match_stringified_ids: false,
            lenient_version: false,
            replies_without_id: None,
            keep_handshake: false,
            first_call_id: 1,
        }
    }
}

/// How long things may take.
///
/// Zero means at once; `None` means as long as it takes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Timeouts {
    /// How long a client waits for the answer to `initialize`. Default 60 s: many servers are
    /// downloaded and built when they are started.
    pub handshake: Option<Duration>,
    /// How long a call waits for an answer or progress. Default 60 s.
    pub idle: Option<Duration>,
    /// How long a call takes at most, whatever its progress. Default 10 min.
    pub total: Option<Duration>,
    /// How long a server whose input has ended waits for its handlers. Default 5 s.
    pub drain: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            handshake: Some(Duration::from_secs(60)),
            idle: Some(Duration::from_secs(60)),
            total: Some(Duration::from_secs(600)),
            drain: Duration::from_secs(5),
        }
    }
}

/// What happens to a request whose id is in flight already. The peer is at fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DuplicateIds {
    /// It is a violation: neither dispatched nor answered, because an error with this id would be
    /// taken for the answer to the first.
    #[default]
    Refuse,
    /// It is served like any other, and a cancellation hits all requests of that id. For clients
    /// that send every request with the same id.
    Serve,
}

/// What happens to a request whose method MCP does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnknownMethods {
    /// It is handed to the application, which should reject it with
    /// [`ErrorCode::METHOD_NOT_FOUND`](crate::ErrorCode::METHOD_NOT_FOUND) unless it knows it.
    #[default]
    Surface,
    /// The machine rejects it.
    Reject,
}

/// How often a server answers messages whose id could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RepliesWithoutId {
    /// At most this many answers...
    pub count: u32,
    /// ...in any period of this length.
    pub per: Duration,
}

impl RepliesWithoutId {
    /// At most so many answers in a period.
    pub const fn at_most(count: u32, per: Duration) -> Self {
        Self { count, per }
    }
}
