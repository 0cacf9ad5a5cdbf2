//! Messages of revision 2026-07-28, and servers that get them.

use mcp_sansio::error::ViolationKind;
use mcp_sansio::model::{
    Content, CreateMessageParams, ElicitParams, InputRequired, Map, ObjectSchema, Role,
    SamplingMessage,
};
use mcp_sansio::{
    ErrorCode, IncomingId, Request, RespondError, Revision, RevisionSet, ServerConfig, ServerEvent,
};
use mcp_sansio_proptests::{ServerSide, config};

/// What a result says of the server, and that it is one.
pub(crate) const SERVER: &str =
    r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"server","version":"1"}}"#;

/// A client that declares everything.
pub(crate) const ABLE: &str =
    r#"{"roots":{},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}}}"#;

/// The methods of this revision that the application answers, with the params that they need and the
/// least result that fits.
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

/// A request that stands alone, with these members of its params, of a client that can do nothing.
pub(crate) fn alone(id: &str, method: &str, members: &str) -> String {
    of_client(id, method, "{}", members)
}

/// The same, of a client with these capabilities.
pub(crate) fn of_client(id: &str, method: &str, capabilities: &str, members: &str) -> String {
    of_version(id, method, "2026-07-28", capabilities, members)
}

/// The same, with another name of a version.
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

/// The same, with nothing in its `_meta` but this.
pub(crate) fn with_meta(id: &str, method: &str, meta: &str, members: &str) -> String {
    let comma = if members.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{{{meta}}}{comma}{members}}}}}"#
    )
}

/// A request that says nothing of itself.
pub(crate) fn of_session(id: &str, method: &str, members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{members}}}}}"#)
}

/// A client says that a request is not wanted any more.
pub(crate) fn cancel(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

/// A client wants a session.
pub(crate) fn initialize(id: &str, revision: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    )
}

/// A complete result with these members, as it leaves.
pub(crate) fn complete(id: &str, members: &str) -> String {
    let comma = if members.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete"{comma}{members},{SERVER}}}}}"#
    )
}

/// The same, with the default hints of what can be used again.
pub(crate) fn cacheable(id: &str, members: &str) -> String {
    complete(id, &format!(r#"{members},"ttlMs":0,"cacheScope":"private""#))
}

/// An error as it leaves.
pub(crate) fn error(id: &str, code: i64, message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#)
}

/// The same, with data.
pub(crate) fn error_with(id: &str, code: i64, message: &str, data: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}","data":{data}}}}}"#
    )
}

/// The error that tells of versions.
pub(crate) fn other_version(id: &str, requested: &str) -> String {
    let data = format!(r#"{{"supported":["2026-07-28"],"requested":"{requested}"}}"#);
    error_with(id, -32022, "Unsupported protocol version", &data)
}

/// The error that asks for capabilities.
pub(crate) fn missing(id: &str, capabilities: &str) -> String {
    let data = format!(r#"{{"requiredCapabilities":{capabilities}}}"#);
    error_with(id, -32021, "Missing required client capability", &data)
}

/// The error that asks a request to say what it is.
pub(crate) fn no_request_meta(id: &str) -> String {
    error(
        id,
        -32602,
        "params._meta needs io.modelcontextprotocol/protocolVersion (2026-07-28), or initialize first",
    )
}

/// The error that says that there is no such method, or not here.
pub(crate) fn unavailable(id: &str) -> String {
    error(id, -32601, "method not available in this session")
}

/// A result as it leaves in a session.
pub(crate) fn plain(id: &str, members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{members}}}}}"#)
}

/// A request for a subscription with this filter.
pub(crate) fn listen(id: &str, filter: &str) -> String {
    alone(id, "subscriptions/listen", &format!(r#""notifications":{{{filter}}}"#))
}

/// What acknowledges it.
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

/// What tells of a resource.
pub(crate) fn updated(id: &str, uri: &str) -> String {
    tagged(id, "notifications/resources/updated", &format!(r#""uri":"{uri}","#))
}

/// The end of a subscription, if it is the server that ends it.
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

/// A server of both eras that offers everything.
pub(crate) fn server() -> ServerSide {
    ServerSide::with(config::server_of_both_eras())
}

/// The same, with another configuration.
pub(crate) fn server_with(change: impl FnOnce(&mut ServerConfig)) -> ServerSide {
    let mut config = config::server_of_both_eras();
    change(&mut config);
    ServerSide::with(config)
}

/// A server that has no sessions.
pub(crate) fn without_sessions() -> ServerSide {
    server_with(|config| config.revisions = RevisionSet::MODERN)
}

/// A server in the middle of a session, with a client that offers everything.
pub(crate) fn beside_session(revision: Revision) -> ServerSide {
    ServerSide::ready_with(config::server_of_both_eras(), revision)
}

/// The request that a frame brings to the application.
#[track_caller]
pub(crate) fn request(side: &mut ServerSide, frame: &str) -> Request<'static> {
    match side.receive(frame) {
        Some(ServerEvent::Request(request)) => request,
        other => panic!("not a request for the application: {other:?}"),
    }
}

/// Hands in a frame that is refused with exactly this error, and nobody is told but of that.
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

/// The server goes on as if nothing had happened.
#[track_caller]
pub(crate) fn lives(side: &mut ServerSide) {
    let id = side.request(&alone(r#""lives""#, "x/own", ""));
    side.server.reject(id, ErrorCode::METHOD_NOT_FOUND, "no", &mut side.out).unwrap();
    assert_eq!(side.sent(), [error(r#""lives""#, -32601, "no")]);
}

/// The least that a person can be asked.
pub(crate) fn form() -> ElicitParams<'static> {
    ElicitParams::form("who?", ObjectSchema::new(Map::default()))
}

/// The least that a model can be asked.
pub(crate) fn sample() -> CreateMessageParams<'static> {
    let message = SamplingMessage::new(Role::User, Content::text("hi"));
    CreateMessageParams::new([message].to_vec(), 5)
}

/// Says what the server needs of the client before it can answer.
pub(crate) fn require(
    side: &mut ServerSide,
    request: &Request<'_>,
    need: &InputRequired<'_>,
) -> Result<(), RespondError> {
    side.server.require_input(request, need, side.now, &mut side.out)
}
