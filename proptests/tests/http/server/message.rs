//! Messages, as they stand on the wire.

/// What a result says of the server, and that it is one.
pub(crate) const SERVER: &str =
    r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"server","version":"1"}}"#;

/// A request that stands alone, with these members of its params.
pub(crate) fn alone(id: &str, method: &str, members: &str) -> String {
    of_version(id, method, "2026-07-28", members)
}

/// The same, of a version with this name.
pub(crate) fn of_version(id: &str, method: &str, version: &str, members: &str) -> String {
    let meta = format!(
        r#""io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientCapabilities":{{}}"#
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

/// A request that stands alone and wants to hear of its progress.
pub(crate) fn watched(id: &str, method: &str, members: &str) -> String {
    let meta = format!(
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}},"progressToken":{id}"#
    );
    with_meta(id, method, &meta, members)
}

/// A request that says nothing of itself.
pub(crate) fn plain(id: &str, method: &str, members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{members}}}}}"#)
}

/// A notification that says nothing of itself.
pub(crate) fn notification(method: &str, members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{{members}}}}}"#)
}

/// A client that can be asked anything wants a session.
pub(crate) fn initialize(id: &str, revision: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{"roots":{{}},"sampling":{{}},"elicitation":{{}}}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    )
}

/// A complete result with these members, as it leaves where there is no session.
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

/// A result as it leaves in a session.
pub(crate) fn result(id: &str, members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{members}}}}}"#)
}

/// An error that names its request.
pub(crate) fn error(id: &str, code: i64, message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#)
}

/// An error that names no request.
pub(crate) fn fault(code: i64, message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","error":{{"code":{code},"message":"{message}"}}}}"#)
}

/// The error that tells of versions.
pub(crate) fn other_version(id: &str, requested: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0",{id}"error":{{"code":-32022,"message":"Unsupported protocol version","data":{{"supported":["2026-07-28"],"requested":"{requested}"}}}}}}"#
    )
}

/// A notification of progress, as it leaves.
pub(crate) fn progress(token: &str, progress: i64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{progress}}}}}"#
    )
}
