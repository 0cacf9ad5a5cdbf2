//! `ConnectionConfig`: the configuration that both roles share.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use crate::limits::Limits;
use crate::rpc::Versions;

/// The behaviour of a connection. The defaults follow the specification.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct ConnectionConfig {
    /// The limits on memory and sizes.
    pub limits: Limits,
    /// The timeouts.
    pub timeouts: Timeouts,
    /// The handling of a request whose id is already in flight.
    pub duplicate_ids: DuplicateIds,
    /// The handling of a request whose method MCP does not define.
    pub unknown_methods: UnknownMethods,
    /// The handling of a message of this side that needs an undeclared capability.
    pub capability_policy: CapabilityPolicy,
    /// The messages that are relayed without inspection.
    pub relay: Relay,
    /// Whether results of the peer are checked against the schema of the method.
    ///
    /// Default false: an invalid result then fails when it is decoded, and a list with one invalid element is still a
    /// list. With true, a call with an invalid result ends with [`Outcome::Malformed`](crate::Outcome::Malformed).
    pub check_results: bool,
    /// The minimum time between two progress notifications for one request. Of the notifications in between, only the
    /// newest is kept. Default `None`: every notification is sent.
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::short))]
    pub progress_interval: Option<Duration>,
    /// Whether, and how, a silent peer is pinged. Default `None`.
    pub keep_alive: Option<KeepAlive>,
    /// Whether a response with id `"7"` may answer the call `7`.
    ///
    /// Default false. Some servers turn ids into strings.
    pub match_stringified_ids: bool,
    /// Whether messages are accepted whose `jsonrpc` is missing or other than `"2.0"`.
    ///
    /// Default false. Messages of this side are always JSON-RPC 2.0.
    pub lenient_version: bool,
    /// Whether, and how often, a server responds to a message whose id could not be read.
    ///
    /// Default `None`, as in the official SDKs on stdio: a response to noise is noise to the peer. Clients never
    /// respond. The error has no `id` since 2025-11-25, and `id: null` before.
    pub replies_without_id: Option<RepliesWithoutId>,
    /// Whether to keep the handshake data of the peer. Default false: the event of the handshake lends it, and most
    /// programs need it only then.
    pub keep_handshake: bool,
    /// Whether a request that could ask for a task, and does not, is refused with `-32600` (2025-11-25). Default
    /// false. Tool calls are exempt: each tool declares its own task support.
    pub insist_on_tasks: bool,
    /// The id of the first call. Later ids count up from it. Default 1.
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

/// The timeouts of a connection.
///
/// Zero means at once, and `None` means no timeout.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct Timeouts {
    /// How long a client waits for the response to `initialize`. Default 60 s: many servers are downloaded and built
    /// when they are started.
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::short))]
    pub handshake: Option<Duration>,
    /// How long a client waits for the response to `server/discover`. Then it sends `initialize`, or fails to connect
    /// if it speaks only the modern era. Default 10 s.
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::short))]
    pub probe: Option<Duration>,
    /// How long a subscription may take to be acknowledged. An open subscription has no timeout. Default 10 s.
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::short))]
    pub acknowledgement: Option<Duration>,
    /// How long a call waits for a response or progress. Default 60 s.
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::short))]
    pub idle: Option<Duration>,
    /// The maximum duration of a call, regardless of its progress. Default 10 min.
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::short))]
    pub total: Option<Duration>,
    /// How long a person may take. Default 15 min.
    ///
    /// A server waits this long for the response to a sampling or elicitation request, which has no idle timeout. On
    /// a client, the timers of its calls are paused while such a request is open, for at most this long.
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::short))]
    pub person: Option<Duration>,
    /// How long a server waits for its handlers after its input has ended. Default 1.5 s: the clients of the official
    /// SDKs kill a server that has not exited after 2 s. A request that is not answered by then is refused with
    /// `-32603`.
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

/// The handling of a request whose id is already in flight. The peer is at fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub enum DuplicateIds {
    /// The request is a violation. It is neither dispatched nor answered, because the peer would take an error with
    /// this id for the response to the first request.
    #[default]
    Refuse,
    /// The request is served like any other, and a cancellation applies to all requests with that id. For clients
    /// that use the same id for every request.
    Serve,
}

/// The handling of a request whose method MCP does not define.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub enum UnknownMethods {
    /// The application receives the request. It should reject an unknown method with
    /// [`ErrorCode::METHOD_NOT_FOUND`](crate::ErrorCode::METHOD_NOT_FOUND).
    #[default]
    Surface,
    /// The machine rejects the request.
    Reject,
}

/// The handling of a message of this side that needs an undeclared capability.
///
/// The policy applies only to sending. Requests of a peer that need an undeclared capability are refused or tolerated
/// independently of it. (Since 2025-06-18 only negotiated capabilities may be used; before, this was a
/// recommendation.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub enum CapabilityPolicy {
    /// The command fails, and nothing is sent.
    #[default]
    Strict,
    /// The message is sent, and observers receive
    /// [`Observation::NotDeclared`](crate::event::Observation::NotDeclared).
    Warn,
    /// The message is sent.
    Off,
}

impl CapabilityPolicy {
    pub(crate) const fn is_strict(self) -> bool {
        matches!(self, Self::Strict)
    }
}

/// The messages that are relayed without inspection, for gateways that forward unknown messages.
///
/// Their params and results are neither checked nor changed. Capabilities and revisions are not enforced, and no
/// state of their content is kept. A relayed request arrives as `ClientRequest::Other`. Ids, cancellation and
/// progress are handled as for other messages. `ping`, `initialize`, `server/discover`, `subscriptions/listen` and
/// their notifications are never relayed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub enum Relay {
    /// No messages.
    #[default]
    Nothing,
    /// Requests and notifications with these methods.
    Methods(Vec<String>),
    /// All messages that the machine does not handle itself.
    Everything,
}

impl Relay {
    /// Whether messages with this method are relayed.
    pub(crate) fn covers<M: PartialEq<str> + ?Sized>(&self, method: &M) -> bool {
        match self {
            Self::Nothing => false,
            Self::Methods(methods) => methods.iter().any(|relayed| *method == **relayed),
            Self::Everything => true,
        }
    }
}

/// How a silent peer is pinged
/// ([ping](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/ping)). It has no effect in the modern
/// era, which has no `ping`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct KeepAlive {
    /// The duration of silence before a ping.
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::short))]
    pub every: Duration,
    /// The time that the peer has to answer a ping.
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::short))]
    pub answer_within: Duration,
    /// The number of consecutive unanswered pings after which the connection is closed with
    /// [`Cause::Unresponsive`](crate::Cause::Unresponsive). `None` means never.
    pub close_after: Option<u32>,
}

impl KeepAlive {
    /// Pings after this duration of silence, waits 30 s for a response, and never closes the connection.
    pub const fn every(every: Duration) -> Self {
        Self { every, answer_within: Duration::from_secs(30), close_after: None }
    }
}

/// The rate limit of responses to messages whose id could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct RepliesWithoutId {
    /// The maximum number of responses per period.
    pub count: u32,
    /// The length of the period.
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::short))]
    pub per: Duration,
}

impl RepliesWithoutId {
    /// Allows at most `count` responses per period.
    pub const fn at_most(count: u32, per: Duration) -> Self {
        Self { count, per }
    }
}

impl ConnectionConfig {
    /// Returns how strictly the member `jsonrpc` is checked.
    pub(crate) const fn versions(&self) -> Versions {
        if self.lenient_version { Versions::Any } else { Versions::Exact }
    }
}
