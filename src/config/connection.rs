//! `ConnectionConfig`: the configuration that both roles share.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use crate::limits::Limits;
use crate::rpc::Versions;

/// How a connection behaves. The defaults are what the specification asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
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
    /// What happens when this side is about to use what has not been declared.
    pub capability_policy: CapabilityPolicy,
    /// Which messages pass without being looked at.
    pub relay: Relay,
    /// Whether results of the peer are compared with what the method asks for.
    ///
    /// Default false: a result that does not fit shows when it is decoded, and a list with one bad
    /// element is still a list. With true such a call ends with
    /// [`Outcome::Malformed`](crate::Outcome::Malformed).
    pub check_results: bool,
    /// The least time between two progress reports on one request. What comes faster is held back,
    /// the newest of it only. Default `None`: every report is sent.
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::short))]
    pub progress_interval: Option<Duration>,
    /// Whether, and how, a silent peer is asked if it is still there. Default `None`.
    pub keep_alive: Option<KeepAlive>,
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
    /// Whether a request that could ask for a task, and does not, is refused with `-32600` (2025-11-25).
    /// Default false. Calls of tools are not meant: what they can be is for each tool to say.
    pub insist_on_tasks: bool,
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
            capability_policy: CapabilityPolicy::default(),
            relay: Relay::default(),
            check_results: false,
            progress_interval: None,
            keep_alive: None,
            match_stringified_ids: false,
            lenient_version: false,
            replies_without_id: None,
            keep_handshake: false,
            insist_on_tasks: false,
            first_call_id: 1,
        }
    }
}

/// How long things may take.
///
/// Zero means at once; `None` means as long as it takes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct Timeouts {
    /// How long a client waits for the answer to `initialize`. Default 60 s: many servers are
    /// downloaded and built when they are started.
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::short))]
    pub handshake: Option<Duration>,
    /// How long a client that speaks both eras waits for the answer to `server/discover` before it tries
    /// `initialize`. Default 10 s.
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::short))]
    pub probe: Option<Duration>,
    /// How long a subscription may take to be opened; once it is it lasts. Default 10 s.
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::short))]
    pub acknowledgement: Option<Duration>,
    /// How long a call waits for an answer or progress. Default 60 s.
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::short))]
    pub idle: Option<Duration>,
    /// How long a call takes at most, whatever its progress. Default 10 min.
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::short))]
    pub total: Option<Duration>,
    /// How long a person may take. Default 15 min.
    ///
    /// A server waits this long for the answer to a sampling or elicitation request, which has no
    /// idle timeout. On a client, the timers of its calls stand still while such a request is open,
    /// for this long at most.
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::short))]
    pub person: Option<Duration>,
    /// How long a server whose input has ended waits for its handlers. Default 1.5 s: the clients of the official
    /// SDKs end a server that has not ended by itself after 2 s. A request that is not answered by then is
    /// refused with `-32603`.
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::short))]
    pub drain: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            handshake: Some(Duration::from_secs(60)),
            probe: Some(Duration::from_secs(10)),
            acknowledgement: Some(Duration::from_secs(10)),
            idle: Some(Duration::from_secs(60)),
            total: Some(Duration::from_secs(600)),
            person: Some(Duration::from_secs(900)),
            drain: Duration::from_millis(1_500),
        }
    }
}

impl ConnectionConfig {
    pub(crate) const fn serves_duplicates(&self) -> bool {
        matches!(self.duplicate_ids, DuplicateIds::Serve)
    }
}

/// What happens to a request whose id is in flight already. The peer is at fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
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
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub enum UnknownMethods {
    /// It is handed to the application, which should reject it with
    /// [`ErrorCode::METHOD_NOT_FOUND`](crate::ErrorCode::METHOD_NOT_FOUND) unless it knows it.
    #[default]
    Surface,
    /// The machine rejects it.
    Reject,
}

/// What happens when this side is about to use what the side that has to declare it has not declared.
///
/// This is about sending. What a peer asks for without need is refused or tolerated whatever the
/// policy. (From 2025-06-18 on only negotiated capabilities may be used, before that they should.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub enum CapabilityPolicy {
    /// It is an error, and nothing is sent.
    #[default]
    Strict,
    /// It is sent, and whoever watches is told with
    /// [`Observation::NotDeclared`](crate::event::Observation::NotDeclared).
    Warn,
    /// It is sent.
    Off,
}

impl CapabilityPolicy {
    pub(crate) const fn is_strict(self) -> bool {
        matches!(self, Self::Strict)
    }
}

/// Which messages pass without being looked at: for gateways, which hand on what they may not know.
///
/// Their params and results are neither checked nor changed, no capability and no revision is asked
/// for, nothing is remembered of them, and a request comes as `ClientRequest::Other`. Ids, cancellation and
/// progress are looked after as for any other, and `ping`, `initialize` and the notifications that
/// belong to them are never relayed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub enum Relay {
    /// None.
    #[default]
    Nothing,
    /// Requests and notifications with these methods.
    Methods(Vec<String>),
    /// All that are not the machine's own.
    Everything,
}

impl Relay {
    /// Whether messages with this method pass without being looked at.
    pub(crate) fn covers<M: PartialEq<str> + ?Sized>(&self, method: &M) -> bool {
        match self {
            Self::Nothing => false,
            Self::Methods(methods) => methods.iter().any(|relayed| *method == **relayed),
            Self::Everything => true,
        }
    }
}

/// How a silent peer is asked whether it is still there
/// ([ping](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/ping)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct KeepAlive {
    /// How long the peer is silent before it is asked.
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::short))]
    pub every: Duration,
    /// How long it may take to answer.
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::short))]
    pub answer_within: Duration,
    /// After how many unanswered pings in a row the connection is closed with
    /// [`Cause::Unresponsive`](crate::Cause::Unresponsive); `None` for never.
    pub close_after: Option<u32>,
}

impl KeepAlive {
    /// Asks after so much silence, waits 30 s for an answer, and never closes.
    pub const fn every(every: Duration) -> Self {
        Self { every, answer_within: Duration::from_secs(30), close_after: None }
    }
}

/// How often a server answers messages whose id could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct RepliesWithoutId {
    /// At most this many answers...
    pub count: u32,
    /// ...in any period of this length.
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::short))]
    pub per: Duration,
}

impl RepliesWithoutId {
    /// At most so many answers in a period.
    pub const fn at_most(count: u32, per: Duration) -> Self {
        Self { count, per }
    }
}

impl ConnectionConfig {
    /// How strictly the member `jsonrpc` is read.
    pub(crate) const fn versions(&self) -> Versions {
        if self.lenient_version { Versions::Any } else { Versions::Exact }
    }
}
