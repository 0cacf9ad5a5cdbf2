//! Messages in the form of the wire.

/// The `_meta` member of a modern result.
pub(crate) const SERVER: &str =
    r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"server","version":"1"}}"#;

/// Returns a modern request with these members of its params.
pub(crate) fn modern_request(id: &str, method: &str, members: &str) -> String {
    of_version(id, method, "2026-07-28", members)
}

/// Returns a modern request of this protocol version.
pub(crate) fn of_version(id: &str, method: &str, version: &str, members: &str) -> String {
    let meta = format!(
        r#""io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientCapabilities":{{}}"#
    );
    with_meta(id, method, &meta, members)
}

/// Returns a request with only these members in `_meta`.
pub(crate) fn with_meta(id: &str, method: &str, meta: &str, members: &str) -> String {
    let comma = if members.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{{{meta}}}{comma}{members}}}}}"#
    )
}

/// Returns a modern request with a progress token.
pub(crate) fn watched(id: &str, method: &str, members: &str) -> String {
    let meta = format!(
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}},"progressToken":{id}"#
    );
    with_meta(id, method, &meta, members)
}

/// Returns a request without `_meta`.
pub(crate) fn plain(id: &str, method: &str, members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{members}}}}}"#)
}

/// Returns a notification without `_meta`.
pub(crate) fn notification(method: &str, members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{{members}}}}}"#)
}

/// Returns an `initialize` request of a client with all capabilities.
pub(crate) fn initialize(id: &str, revision: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{"roots":{{}},"sampling":{{}},"elicitation":{{}}}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    )
}

/// Returns a complete modern result with these members.
pub(crate) fn complete(id: &str, members: &str) -> String {
    let comma = if members.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete"{comma}{members},{SERVER}}}}}"#
    )
}

/// Returns a complete modern result with the default cache hints.
pub(crate) fn cacheable(id: &str, members: &str) -> String {
    complete(id, &format!(r#"{members},"ttlMs":0,"cacheScope":"private""#))
}

/// Returns a result in a session.
pub(crate) fn result(id: &str, members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{members}}}}}"#)
}

/// Returns an error response with an id.
pub(crate) fn error(id: &str, code: i64, message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#)
}

/// Returns an error response without an id.
pub(crate) fn fault(code: i64, message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","error":{{"code":{code},"message":"{message}"}}}}"#)
}

/// Returns the error for an unsupported protocol version.
pub(crate) fn other_version(id: &str, requested: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0",{id}"error":{{"code":-32022,"message":"Unsupported protocol version","data":{{"supported":["2026-07-28"],"requested":"{requested}"}}}}}}"#
    )
}

/// Returns a progress notification.
pub(crate) fn progress(token: &str, progress: i64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{progress}}}}}"#
    )
}
