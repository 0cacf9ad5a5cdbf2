//! The error codes that travel on the wire, and the faults of a peer that lead to them: two tables.

use core::fmt;

/// The code of a JSON-RPC error.
///
/// Any integer can arrive, and programs disagree about nearly all of them: show a code, do not
/// branch on it, except on those that a method defines. The constants are the codes that MCP gives
/// a meaning to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
pub struct ErrorCode(i64);

impl ErrorCode {
    /// The code with this number.
    ///
    /// Codes of an application's own belong outside -32768..=-32000, which JSON-RPC reserves.
    pub const fn new(code: i64) -> Self {
        Self(code)
    }

    /// The number.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// Whether from 2026-07-28 on it belongs to the protocol, which gives a meaning to three of those: those
    /// that the machine sends.
    pub(crate) const fn is_reserved(self) -> bool {
        -32_099 <= self.0 && self.0 <= -32_000
    }
}

macro_rules! error_codes {
    ($($(#[$documentation:meta])* $name:ident = $code:literal, $text:literal;)*) => {
        impl ErrorCode {
            $(
                $(#[$documentation])*
                pub const $name: Self = Self($code);
            )*

            /// What the code means, if JSON-RPC or MCP defines it.
            pub const fn meaning(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some($text),)*
                    Self(_) => None,
                }
            }
        }
    };
}

error_codes! {
    /// The input is not JSON ([JSON-RPC 2.0](https://www.jsonrpc.org/specification#error_object)).
    PARSE_ERROR = -32700, "Parse error";
    /// The input is JSON but no request that may be made now.
    INVALID_REQUEST = -32600, "Invalid request";
    /// The method does not exist, or not in this revision, direction or set of capabilities.
    METHOD_NOT_FOUND = -32601, "Method not found";
    /// The params do not fit the method; also an unknown tool or prompt and an invalid cursor.
    INVALID_PARAMS = -32602, "Invalid params";
    /// The receiver failed in a way that is not the sender's fault.
    INTERNAL_ERROR = -32603, "Internal error";
    /// There is no such resource (revisions up to 2025-11-25, prose only).
    RESOURCE_NOT_FOUND = -32002, "Resource not found";
    /// A header of an HTTP request does not fit its body (from 2026-07-28 on).
    HEADER_MISMATCH = -32020, "Header mismatch";
    /// The request needs a capability that its `_meta` does not declare (from 2026-07-28 on).
    MISSING_CLIENT_CAPABILITY = -32021, "Missing required client capability";
    /// The `_meta` of the request names a version that is not served (from 2026-07-28 on).
    UNSUPPORTED_PROTOCOL_VERSION = -32022, "Unsupported protocol version";
    /// The user has to visit a URL first (2025-11-25).
    URL_ELICITATION_REQUIRED = -32042, "URL elicitation required";
    /// The user refused, the documented answer to a sampling request.
    USER_REJECTED = -1, "User rejected the request";
}

impl From<i64> for ErrorCode {
    fn from(code: i64) -> Self {
        Self(code)
    }
}

impl From<ErrorCode> for i64 {
    fn from(code: ErrorCode) -> Self {
        code.0
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.meaning() {
            Some(meaning) => write!(formatter, "{} ({meaning})", self.0),
            None => fmt::Display::fmt(&self.0, formatter),
        }
    }
}

macro_rules! violations {
    ($($(#[$documentation:meta])* $name:ident, $code:expr, $text:literal;)*) => {
        /// What a peer did that the protocol does not allow.
        ///
        /// None of it ends the session. See [`Violation`](crate::event::Violation) for what comes with it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum ViolationKind {
            $($(#[$documentation])* $name,)*
        }

        impl ViolationKind {
            /// The error that answers a request which is wrong in this way.
            ///
            /// `None` for what is never answered.
            pub const fn code(self) -> Option<ErrorCode> {
                match self {
                    $(Self::$name => $code,)*
                }
            }

            /// The same in a sentence, which is also the message of that error.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }

        #[cfg(test)]
        pub(crate) const ALL_VIOLATIONS: &[ViolationKind] = &[$(ViolationKind::$name,)*];
    };
}

const PARSE: Option<ErrorCode> = Some(ErrorCode::PARSE_ERROR);
const INVALID: Option<ErrorCode> = Some(ErrorCode::INVALID_REQUEST);
const NO_METHOD: Option<ErrorCode> = Some(ErrorCode::METHOD_NOT_FOUND);
const PARAMS: Option<ErrorCode> = Some(ErrorCode::INVALID_PARAMS);
const VERSION: Option<ErrorCode> = Some(ErrorCode::UNSUPPORTED_PROTOCOL_VERSION);
const CAPABILITY: Option<ErrorCode> = Some(ErrorCode::MISSING_CLIENT_CAPABILITY);
const INTERNAL: Option<ErrorCode> = Some(ErrorCode::INTERNAL_ERROR);

violations! {
    // Framing.
    /// The line is not JSON: usually a program printed to the wire.
    NotJson, PARSE, "the line is not JSON";
    /// A string holds a raw control character or an escape that JSON does not have.
    BadString, PARSE, "a string holds a raw control character or a wrong escape";
    /// A `Content-Length:` header, as the Language Server Protocol frames messages. MCP has one
    /// message per line.
    ContentLength, None, "messages are lines, not Content-Length blocks";
    /// One JSON text stands on several lines. The lines that belong to it raise no further events.
    SplitOverLines, PARSE, "a message must stand on one line";
    /// The input ended in the middle of a message.
    Truncated, None, "the input ended in the middle of a message";
    /// The message is longer than [`Limits::frame_bytes`](crate::Limits::frame_bytes).
    TooLong, INVALID, "the message is too long";
    /// The message is not UTF-8.
    NotUtf8, PARSE, "the message is not UTF-8";
    /// The message nests deeper than [`Limits::depth`](crate::Limits::depth).
    TooDeep, INVALID, "the message nests too deep";
    /// The array holds no message.
    EmptyBatch, INVALID, "a batch must not be empty";
    /// The array holds more than [`Limits::batch_elements`](crate::Limits::batch_elements).
    LongBatch, INVALID, "the batch has too many elements";
    /// An array of messages, but this session has no batches. None of them was looked at.
    BatchNotAllowed, INVALID, "this revision has no batches";

    // The JSON-RPC envelope.
    /// A JSON value that has nothing of a JSON-RPC message.
    NotAMessage, INVALID, "not a JSON-RPC message";
    /// `jsonrpc` is not `"2.0"`.
    WrongJsonrpc, INVALID, "jsonrpc must be \"2.0\"";
    /// The id stands there more than once, so there is none to answer to.
    DuplicateId, INVALID, "duplicate member id";
    /// A member of the envelope other than the id stands there more than once.
    DuplicateMember, INVALID, "duplicate member";
    /// The id of a request is `null`.
    NullId, INVALID, "the id must not be null";
    /// The id is neither an integer nor a string.
    MalformedId, INVALID, "the id must be a string or an integer";
    /// The id is longer than [`Limits::id_bytes`](crate::Limits::id_bytes). The error that refuses the request has it all
    /// the same.
    LongId, INVALID, "the id is too long";
    /// `method` is missing or not a string.
    MissingMethod, INVALID, "method must be a string";
    /// The method is longer than [`Limits::method_bytes`](crate::Limits::method_bytes).
    LongMethod, NO_METHOD, "the method is too long";
    /// A method together with a result or an error.
    Ambiguous, INVALID, "a message is either a request or a response";
    /// `params` is not an object.
    ParamsNotAnObject, PARAMS, "params must be an object";
    /// A response that is none: not exactly one of result and error, a result that is no object, an
    /// error without a code. The call it belongs to, if any, ended as malformed.
    MalformedResponse, None, "malformed response";

    // The session.
    /// A request other than `ping` before `initialize`.
    NotInitialized, INVALID, "the session is not initialized";
    /// A second `initialize`.
    AlreadyInitialized, INVALID, "the session is initialized already";
    /// `initialize` as an element of a batch.
    InitializeInBatch, INVALID, "initialize must not be in a batch";
    /// A notification that has no meaning in this phase.
    UnexpectedNotification, None, "unexpected notification";
    /// A method that MCP has, but not for this revision, this direction or these capabilities.
    MethodNotAvailable, NO_METHOD, "method not available in this session";
    /// A method that MCP does not have.
    UnknownMethod, NO_METHOD, "method not found";
    /// The params do not have the shape that the method asks for.
    InvalidParams, PARAMS, "invalid params";
    /// The params ask for something that belongs to a capability which this side has not declared: a
    /// mode of elicitation, tools for a model.
    NotOffered, PARAMS, "the params need a capability that was not declared";
    /// The params of a notification do not have the shape that it asks for. It is not delivered.
    MalformedNotification, None, "malformed notification";
    /// The result of a call is not what the method asks for. The call ended as malformed.
    InvalidResult, None, "the result does not fit the method";
    /// One batch holds requests or notifications as well as responses. All of them were dealt with.
    MixedBatch, None, "a batch holds either requests or responses";
    /// A client lists a root that is no `file://` URI. The list was delivered.
    RootNotAFile, None, "a root must be a file URI";
    /// The URI to subscribe to is longer than [`Limits::uri_bytes`](crate::Limits::uri_bytes).
    LongUri, PARAMS, "the URI is too long";
    /// A client has [`Limits::subscriptions`](crate::Limits::subscriptions) already.
    TooManySubscriptions, INTERNAL, "too many subscriptions";
    /// A capability is declared with something other than an object.
    MalformedCapabilities, PARAMS, "a capability must be an object";

    // What a request says of itself, where there are no sessions.
    /// The `_meta` of the request names no protocol version, and there is no session.
    NoRequestMeta, PARAMS,
        "params._meta needs io.modelcontextprotocol/protocolVersion (2026-07-28), or initialize first";
    /// The request is modern, and the connection has a session and may be used in one era only
    /// ([`ServerConfig::one_era`](crate::ServerConfig::one_era)).
    OtherEra, INVALID, "this connection has a session";
    /// The `_meta` of the request lacks a required member, or a member has the wrong type.
    MalformedRequestMeta, PARAMS, "malformed _meta";
    /// It names a revision that is not served.
    UnsupportedRevision, VERSION, "Unsupported protocol version";
    /// It does not declare a capability that the request needs.
    MissingCapability, CAPABILITY, "Missing required client capability";
    /// A server has sent a request where there are no sessions, so that only clients may. It is not
    /// answered.
    RequestFromServer, None, "a server sends no requests in this revision";
    /// The result of a call does not say what kind of result it is. It was taken for complete.
    NoResultType, None, "the result has no resultType";
    /// A notification of a subscription came before it was acknowledged. It was kept until it was.
    NotAcknowledged, None, "a notification of a subscription that is not acknowledged";
    /// A notification of a subscription that this side does not have. It is not delivered.
    UnknownSubscription, None, "a notification of an unknown subscription";
    /// [`Limits::listens`](crate::Limits::listens) subscriptions are open.
    TooManyListens, INTERNAL, "too many subscriptions are open";

    // Requests in flight.
    /// A request with the id of one that is not answered yet. Neither was harmed, neither answered.
    DuplicateRequestId, None, "the id is in flight already";
    /// A request that could ask for a task, and does not
    /// ([`ConnectionConfig::insist_on_tasks`](crate::ConnectionConfig::insist_on_tasks)).
    TaskRequired, INVALID, "this request has to ask for a task";
    /// A cancellation of a request that has asked for a task: those end by `tasks/cancel`. It was ignored.
    TaskCancellation, None, "a task is not cancelled like a request";
    /// The metadata by which a message belongs to a task is something else. It was ignored.
    MalformedRelatedTask, None, "malformed related task";
    /// More requests than [`Limits::inbound_requests`](crate::Limits::inbound_requests).
    TooManyRequests, INTERNAL, "too many requests in flight";
    /// A request whose id has the same hash as those of too many others that are in flight. It does not happen by
    /// chance: the peer has looked for such ids.
    CollidingId, INTERNAL, "too many ids of requests in flight collide";
    /// A request of a batch, and [`Limits::batches`](crate::Limits::batches) earlier ones wait for their last answer.
    TooManyBatches, INTERNAL, "too many batches wait for their last answer (Limits::batches)";
    /// A request that would make what is kept of the peer exceed
    /// [`Limits::connection_bytes`](crate::Limits::connection_bytes).
    TooManyBytes, INTERNAL,
        "too many bytes are kept for this connection (Limits::connection_bytes)";
    /// A request after the connection began to shut down.
    ShuttingDown, INTERNAL, "the connection is shutting down";
    /// The answer of this side to `initialize` is longer than
    /// [`Limits::outbox_bytes`](crate::Limits::outbox_bytes): the configuration is at fault.
    AnswerTooLong, INTERNAL, "the answer is too long to be sent";
    /// A cancellation that names no request.
    MalformedCancellation, None, "malformed cancellation";
    /// A progress notification without a token or a number.
    MalformedProgress, None, "malformed progress";
    /// A progress token that is neither a string nor an integer, or is longer than
    /// [`Limits::token_bytes`](crate::Limits::token_bytes).
    MalformedToken, PARAMS, "the progress token must be a string or an integer";
    /// Progress for a token that this side never gave out.
    UnknownToken, None, "unknown progress token";
    /// Progress that does not increase.
    ProgressNotIncreasing, None, "progress must increase";
}

impl fmt::Display for ViolationKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn codes_tell_their_meaning() {
        assert_eq!(format!("{:?}", ErrorCode::PARSE_ERROR), "-32700 (Parse error)");
        assert_eq!(format!("{:?} {}", ErrorCode::new(7), ErrorCode::new(7)), "7 7");
    }
}
