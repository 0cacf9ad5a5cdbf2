//! Messages of revision 2026-07-28, and servers that receive them.

use mcp_sansio::error::ViolationKind;
use mcp_sansio::model::{
    Content, CreateMessageParams, ElicitParams, InputRequired, Map, ObjectSchema, Role,
    SamplingMessage,
};
use mcp_sansio::{
    ErrorCode, IncomingId, Request, RespondError, Revision, RevisionSet, ServerConfig, ServerEvent,
};
use mcp_sansio_proptests::{ServerSide, config};

/// The `_meta` of a result that identifies the server.
pub(crate) const SERVER: &str =
    r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"server","version":"1"}}"#;

/// The capabilities of a client that declares everything.
pub(crate) const ABLE: &str =
    r#"{"roots":{},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}}}"#;

/// The methods of this revision that the application answers, with their required params and a minimal result.
pub(crate) const METHODS: [(&str, &str, &str); 8] = [
    ("tools/list", "", r#""tools":[]"#),
    ("tools/call", r#""name":"t""#, r#""content":[]"#),
    ("prompts/list", "", r#""prompts":[]"#),
    ("prompts/get", r#""name":"p""#, r#""messages":[]"#),
    ("resources/list", "", r#""resources":[]"#),
    ("resources/templates/list", "", r#""resourceTemplates":[]"#),
    ("resources/read", r#""uri":"x:y""#, r#""contents":[]"#),
    (
        "completion/complete",
        r#""ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}"#,
        r#""completion":{"values":[]}"#,
    ),
];

/// A modern request with these members of its params, of a client without capabilities.
pub(crate) fn modern_request(id: &str, method: &str, members: &str) -> String {
    of_client(id, method, "{}", members)
}

/// The same, of a client with these capabilities.
pub(crate) fn of_client(id: &str, method: &str, capabilities: &str, members: &str) -> String {
    of_version(id, method, "2026-07-28", capabilities, members)
}

/// The same, with another version.
pub(crate) fn of_version(
    id: &str,
    method: &str,
    version: &str,
    capabilities: &str,
    members: &str,
) -> String {
    let meta = format!(
        r#""io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientCapabilities":{capabilities}"#
    );
    with_meta(id, method, &meta, members)
}

/// The same, with one more member of its `_meta`.
pub(crate) fn with_more(id: &str, method: &str, more: &str, members: &str) -> String {
    let meta = format!(
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}},{more}"#
    );
    with_meta(id, method, &meta, members)
}

/// The same, with exactly this content of its `_meta`.
pub(crate) fn with_meta(id: &str, method: &str, meta: &str, members: &str) -> String {
    let comma = if members.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{{{meta}}}{comma}{members}}}}}"#
    )
}

/// A request without a claim.
pub(crate) fn of_session(id: &str, method: &str, members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{members}}}}}"#)
}

/// The cancellation of a request.
pub(crate) fn cancel(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

/// An `initialize` request.
pub(crate) fn initialize(id: &str, revision: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    )
}

/// A complete result with these members, in wire form.
pub(crate) fn complete(id: &str, members: &str) -> String {
    let comma = if members.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete"{comma}{members},{SERVER}}}}}"#
    )
}

/// The same, with the default caching hints.
pub(crate) fn cacheable(id: &str, members: &str) -> String {
    complete(id, &format!(r#"{members},"ttlMs":0,"cacheScope":"private""#))
}

/// An error in wire form.
pub(crate) fn error(id: &str, code: i64, message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#)
}

/// The same, with data.
pub(crate) fn error_with(id: &str, code: i64, message: &str, data: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}","data":{data}}}}}"#
    )
}

/// The error for an unsupported version.
pub(crate) fn other_version(id: &str, requested: &str) -> String {
    let data = format!(r#"{{"supported":["2026-07-28"],"requested":"{requested}"}}"#);
    error_with(id, -32022, "Unsupported protocol version", &data)
}

/// The error for missing capabilities.
pub(crate) fn missing(id: &str, capabilities: &str) -> String {
    let data = format!(r#"{{"requiredCapabilities":{capabilities}}}"#);
    error_with(id, -32021, "Missing required client capability", &data)
}

/// The error for a request without a claim.
pub(crate) fn no_request_meta(id: &str) -> String {
    error(
        id,
        -32602,
        "params._meta needs io.modelcontextprotocol/protocolVersion (2026-07-28), or initialize first",
    )
}

/// The error for a method that does not exist or is not available.
pub(crate) fn unavailable(id: &str) -> String {
    error(id, -32601, "method not available in this session")
}

/// A legacy result in wire form.
pub(crate) fn plain(id: &str, members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{members}}}}}"#)
}

/// A `subscriptions/listen` request with this filter.
pub(crate) fn listen(id: &str, filter: &str) -> String {
    modern_request(id, "subscriptions/listen", &format!(r#""notifications":{{{filter}}}"#))
}

/// The acknowledgement of that request.
pub(crate) fn acknowledged(id: &str, filter: &str) -> String {
    let members = format!(r#""notifications":{{{filter}}},"#);
    tagged(id, "notifications/subscriptions/acknowledged", &members)
}

/// A notification of a subscription, with these members before its tag.
pub(crate) fn tagged(id: &str, method: &str, members: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"{method}","params":{{{members}"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
    )
}

/// The notification of an updated resource.
pub(crate) fn updated(id: &str, uri: &str) -> String {
    tagged(id, "notifications/resources/updated", &format!(r#""uri":"{uri}","#))
}

/// The end of a subscription by the server.
pub(crate) fn ended(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","_meta":{{"io.modelcontextprotocol/subscriptionId":{id},"io.modelcontextprotocol/serverInfo":{{"name":"server","version":"1"}}}}}}}}"#
    )
}

/// Opens a subscription that is acknowledged with exactly this filter.
#[track_caller]
pub(crate) fn subscribe(
    side: &mut ServerSide,
    id: &str,
    filter: &str,
    granted: &str,
) -> IncomingId {
    match side.receive(&listen(id, filter)) {
        Some(ServerEvent::Subscribed(subscribed)) => {
            assert_eq!(subscribed.requested.as_json(), format!("{{{filter}}}"));
            assert_eq!(side.sent(), [acknowledged(id, granted)]);
            subscribed.id
        }
        other => panic!("not subscribed: {other:?}"),
    }
}

/// A server of both eras with every capability.
pub(crate) fn server() -> ServerSide {
    ServerSide::with(config::server_of_both_eras())
}

/// The same with another configuration.
pub(crate) fn server_with(change: impl FnOnce(&mut ServerConfig)) -> ServerSide {
    let mut config = config::server_of_both_eras();
    change(&mut config);
    ServerSide::with(config)
}

/// A modern server without sessions.
pub(crate) fn without_sessions() -> ServerSide {
    server_with(|config| config.revisions = RevisionSet::MODERN)
}

/// A server in a session with a client that has every capability.
pub(crate) fn beside_session(revision: Revision) -> ServerSide {
    ServerSide::ready_with(config::server_of_both_eras(), revision)
}

/// The request that a frame delivers to the application.
#[track_caller]
pub(crate) fn request(side: &mut ServerSide, frame: &str) -> Request<'static> {
    match side.receive(frame) {
        Some(ServerEvent::Request(request)) => request,
        other => panic!("not a request for the application: {other:?}"),
    }
}

/// Asserts that a frame is refused with exactly this error, and that the violation is the only event.
#[track_caller]
pub(crate) fn refused(side: &mut ServerSide, frame: &str, kind: ViolationKind, sent: &str) {
    match side.receive(frame) {
        Some(ServerEvent::Violation(violation)) => {
            assert_eq!(violation.kind, kind, "{frame}");
            assert!(violation.answered, "{frame}");
        }
        other => panic!("not refused: {other:?} {frame}"),
    }
    assert_eq!(side.sent(), [sent], "{frame}");
    lives(side);
}

/// Asserts that the server still works.
#[track_caller]
pub(crate) fn lives(side: &mut ServerSide) {
    let id = side.request(&modern_request(r#""lives""#, "x/own", ""));
    side.server.reject(id, ErrorCode::METHOD_NOT_FOUND, "no", &mut side.out).unwrap();
    assert_eq!(side.sent(), [error(r#""lives""#, -32601, "no")]);
}

/// A minimal elicitation.
pub(crate) fn form() -> ElicitParams<'static> {
    ElicitParams::form("who?", ObjectSchema::new(Map::default()))
}

/// A minimal sampling request.
pub(crate) fn sample() -> CreateMessageParams<'static> {
    let message = SamplingMessage::new(Role::User, Content::text("hi"));
    CreateMessageParams::new([message].to_vec(), 5)
}

/// Requires input before the request can be answered.
pub(crate) fn require(
    side: &mut ServerSide,
    request: &Request<'_>,
    need: &InputRequired<'_>,
) -> Result<(), RespondError> {
    side.server.require_input(request, need, side.now, &mut side.out)
}
