//! Two tables: the error codes of the wire, and the kinds of protocol violations with the codes that reject them.

use core::fmt;

/// The code of a JSON-RPC error.
///
/// Any integer can arrive, and implementations disagree about nearly all codes: show a code, but do not branch on it,
/// except on codes that a method defines. The constants are the codes that MCP defines.
#[doc(alias(
    "HeaderMismatchError",
    "InternalError",
    "InvalidParamsError",
    "InvalidRequestError",
    "MethodNotFoundError",
))]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
pub struct ErrorCode(i64);

impl ErrorCode {
    /// Creates a code from its number.
    ///
    /// Codes of an application belong outside -32768..=-32000, the range that JSON-RPC reserves.
    pub const fn new(code: i64) -> Self {
        Self(code)
    }

    /// Returns the number.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// Whether the code is reserved for the protocol from 2026-07-28 on. That revision defines three of the reserved
    /// codes; the machine sends only those.
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

            /// Returns the meaning of the code, if JSON-RPC or MCP defines it.
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
    /// The input is JSON but not a request that is valid now.
    INVALID_REQUEST = -32600, "Invalid request";
    /// The method does not exist, or not for this revision, direction or set of capabilities.
    METHOD_NOT_FOUND = -32601, "Method not found";
    /// The params do not match the method; also an unknown tool or prompt and an invalid cursor.
    INVALID_PARAMS = -32602, "Invalid params";
    /// The receiver failed in a way that is not the sender's fault.
    INTERNAL_ERROR = -32603, "Internal error";
    /// The resource does not exist (revisions up to 2025-11-25, prose only).
    RESOURCE_NOT_FOUND = -32002, "Resource not found";
    /// A header of an HTTP request contradicts its body (from 2026-07-28 on).
    HEADER_MISMATCH = -32020, "Header mismatch";
    /// The request needs a capability that its `_meta` does not declare (from 2026-07-28 on).
    MISSING_CLIENT_CAPABILITY = -32021, "Missing required client capability";
    /// The `_meta` of the request names a version that is not served (from 2026-07-28 on).
    UNSUPPORTED_PROTOCOL_VERSION = -32022, "Unsupported protocol version";
    /// The user has to visit a URL first (2025-11-25).
    URL_ELICITATION_REQUIRED = -32042, "URL elicitation required";
    /// The user refused: the documented response to a sampling request.
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
        /// A kind of protocol violation by the peer.
        ///
        /// No violation ends the session. See [`Violation`](crate::event::Violation) for its details.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum ViolationKind {
            $($(#[$documentation])* $name,)*
        }

        impl ViolationKind {
            /// Returns the code of the error response that rejects a request with this violation.
            ///
            /// `None` for violations that get no response.
            pub const fn code(self) -> Option<ErrorCode> {
                match self {
                    $(Self::$name => $code,)*
                }
            }

            /// Returns the violation as a sentence, which is also the message of the error response.
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
    /// A string contains a raw control character or an escape that JSON does not define.
    BadString, PARSE, "a string holds a raw control character or a wrong escape";
    /// A `Content-Length:` header, as the Language Server Protocol frames messages. MCP has one message per line.
    ContentLength, None, "messages are lines, not Content-Length blocks";
    /// One JSON text spans several lines. Its other lines raise no further events.
    SplitOverLines, PARSE, "a message must stand on one line";
    /// The input ended in the middle of a message.
    Truncated, None, "the input ended in the middle of a message";
    /// The message is longer than [`Limits::frame_bytes`](crate::Limits::frame_bytes).
    TooLong, INVALID, "the message is too long";
    /// The message is not UTF-8.
    NotUtf8, PARSE, "the message is not UTF-8";
    /// The message nests deeper than [`Limits::depth`](crate::Limits::depth).
    TooDeep, INVALID, "the message nests too deep";
    /// The array contains no message.
    EmptyBatch, INVALID, "a batch must not be empty";
    /// The array contains more elements than [`Limits::batch_elements`](crate::Limits::batch_elements).
    LongBatch, INVALID, "the batch has too many elements";
    /// An array of messages in a session without batches. The elements are not processed.
    BatchNotAllowed, INVALID, "this revision has no batches";

    // The JSON-RPC envelope.
    /// A JSON value without any member of a JSON-RPC message.
    NotAMessage, INVALID, "not a JSON-RPC message";
    /// `jsonrpc` is not `"2.0"`.
    WrongJsonrpc, INVALID, "jsonrpc must be \"2.0\"";
    /// The id occurs more than once, so no id is valid for a response.
    DuplicateId, INVALID, "duplicate member id";
    /// A member of the envelope other than the id occurs more than once.
    DuplicateMember, INVALID, "duplicate member";
    /// The id of a request is `null`.
    NullId, INVALID, "the id must not be null";
    /// The id is neither an integer nor a string.
    MalformedId, INVALID, "the id must be a string or an integer";
    /// The id is longer than [`Limits::id_bytes`](crate::Limits::id_bytes). The error response contains it
    /// nevertheless.
    LongId, INVALID, "the id is too long";
    /// `method` is missing or not a string.
    MissingMethod, INVALID, "method must be a string";
    /// The method is longer than [`Limits::method_bytes`](crate::Limits::method_bytes).
    LongMethod, NO_METHOD, "the method is too long";
    /// A method together with a result or an error.
    Ambiguous, INVALID, "a message is either a request or a response";
    /// `params` is not an object.
    ParamsNotAnObject, PARAMS, "params must be an object";
    /// An invalid response: not exactly one of result and error, a result that is not an object, or an error without
    /// a code. The matching call, if any, ended as malformed.
    MalformedResponse, None, "malformed response";

    // The session.
    /// A request other than `ping` before `initialize`.
    NotInitialized, INVALID, "the session is not initialized";
    /// A second `initialize`.
    AlreadyInitialized, INVALID, "the session is initialized already";
    /// `initialize` as an element of a batch.
    InitializeInBatch, INVALID, "initialize must not be in a batch";
    /// A notification that is not allowed in this phase.
    UnexpectedNotification, None, "unexpected notification";
    /// A method that MCP defines, but not for this revision, direction or set of capabilities.
    MethodNotAvailable, NO_METHOD, "method not available in this session";
    /// A method that MCP does not define.
    UnknownMethod, NO_METHOD, "method not found";
    /// The params do not have the shape that the method requires.
    InvalidParams, PARAMS, "invalid params";
    /// The params require a capability that this side has not declared: a mode of elicitation, tools for a model.
    NotOffered, PARAMS, "the params need a capability that was not declared";
    /// The params of a notification do not have the required shape. The notification is not delivered.
    MalformedNotification, None, "malformed notification";
    /// The result of a call does not match the method. The call ended as malformed.
    InvalidResult, None, "the result does not fit the method";
    /// One batch contains both responses and requests or notifications. All of its elements were processed.
    MixedBatch, None, "a batch holds either requests or responses";
    /// A client listed a root that is not a `file://` URI. The list was delivered.
    RootNotAFile, None, "a root must be a file URI";
    /// The URI of a subscription is longer than [`Limits::uri_bytes`](crate::Limits::uri_bytes).
    LongUri, PARAMS, "the URI is too long";
    /// The client has reached [`Limits::subscriptions`](crate::Limits::subscriptions).
    TooManySubscriptions, INTERNAL, "too many subscriptions";
    /// The value of a declared capability is not an object.
    MalformedCapabilities, PARAMS, "a capability must be an object";

    // The metadata of a modern request.
    /// The `_meta` of the request names no protocol version, and the connection has no session.
    NoRequestMeta, PARAMS,
        "params._meta needs io.modelcontextprotocol/protocolVersion (2026-07-28), or initialize first";
    /// The request is modern, but the connection has a session and is limited to one era
    /// ([`ServerConfig::one_era`](crate::ServerConfig::one_era)).
    OtherEra, INVALID, "this connection has a session";
    /// The `_meta` of the request lacks a required member, or a member has the wrong type.
    MalformedRequestMeta, PARAMS, "malformed _meta";
    /// The `_meta` names a revision that is not served.
    UnsupportedRevision, VERSION, "Unsupported protocol version";
    /// The `_meta` does not declare a capability that the request needs.
    MissingCapability, CAPABILITY, "Missing required client capability";
    /// A server sent a request in the modern era, in which only clients send requests. It gets no response.
    RequestFromServer, None, "a server sends no requests in this revision";
    /// The result of a call declares no result type. It was treated as complete.
    NoResultType, None, "the result has no resultType";
    /// A notification of a subscription arrived before the acknowledgement. It was kept until then.
    NotAcknowledged, None, "a notification of a subscription that is not acknowledged";
    /// A notification of a subscription that this side does not have. It is not delivered.
    UnknownSubscription, None, "a notification of an unknown subscription";
    /// The client has reached [`Limits::listens`](crate::Limits::listens) open subscriptions.
    TooManyListens, INTERNAL, "too many subscriptions are open";

    // Requests in flight.
    /// A request with the id of an open request. The open request is unaffected; the new one gets no response.
    DuplicateRequestId, None, "the id is in flight already";
    /// A request that supports tasks, but does not request one
    /// ([`ConnectionConfig::insist_on_tasks`](crate::ConnectionConfig::insist_on_tasks)).
    TaskRequired, INVALID, "this request has to ask for a task";
    /// A cancellation of a request that asked for a task: such requests are cancelled with `tasks/cancel`. It was
    /// ignored.
    TaskCancellation, None, "a task is not cancelled like a request";
    /// The `related-task` metadata of a message is malformed. It was ignored.
    MalformedRelatedTask, None, "malformed related task";
    /// The peer has reached [`Limits::inbound_requests`](crate::Limits::inbound_requests).
    TooManyRequests, INTERNAL, "too many requests in flight";
    /// The hash of the request's id collides with too many ids of open requests. This does not happen by chance: the
    /// peer has searched for such ids.
    CollidingId, INTERNAL, "too many ids of requests in flight collide";
    /// A request of a batch, while [`Limits::batches`](crate::Limits::batches) earlier batches wait for their last
    /// response.
    TooManyBatches, INTERNAL, "too many batches wait for their last answer (Limits::batches)";
    /// A request that would make the bytes kept for the peer exceed
    /// [`Limits::connection_bytes`](crate::Limits::connection_bytes).
    TooManyBytes, INTERNAL,
        "too many bytes are kept for this connection (Limits::connection_bytes)";
    /// A request that arrived after the shutdown of the connection began.
    ShuttingDown, INTERNAL, "the connection is shutting down";
    /// The response of this side to `initialize` or `server/discover` cannot be written: it is longer than
    /// [`Limits::outbox_bytes`](crate::Limits::outbox_bytes), or the revision does not allow a value in it. The
    /// configuration is at fault.
    AnswerTooLong, INTERNAL, "the description of the server is invalid, or too long to be sent";
    /// A cancellation that names no request.
    MalformedCancellation, None, "malformed cancellation";
    /// A progress notification without a token or a number.
    MalformedProgress, None, "malformed progress";
    /// A progress token that is neither a string nor an integer, or is longer than
    /// [`Limits::token_bytes`](crate::Limits::token_bytes).
    MalformedToken, PARAMS, "the progress token must be a string or an integer";
    /// Progress for a token that this side never issued.
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
    fn debug_of_error_codes_shows_their_meaning() {
        assert_eq!(format!("{:?}", ErrorCode::PARSE_ERROR), "-32700 (Parse error)");
        assert_eq!(format!("{:?} {}", ErrorCode::new(7), ErrorCode::new(7)), "7 7");
    }
}
