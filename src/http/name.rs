//! Names of headers, spelled as in the newest revision. Names are compared without regard to case.

/// Which revision a message is under, from 2025-06-18 on.
pub const PROTOCOL_VERSION: &str = "MCP-Protocol-Version";
/// Which session a message belongs to, from 2025-03-26 to 2025-11-25.
pub const SESSION_ID: &str = "Mcp-Session-Id";
/// The method in the body, from 2026-07-28 on.
pub const METHOD: &str = "Mcp-Method";
/// The name or the URI that a method is about, from 2026-07-28 on; encoded by
/// [`encode_value`](super::encode_value).
pub const NAME: &str = "Mcp-Name";
/// What the names of headers begin with that repeat arguments of a tool, from 2026-07-28 on:
/// [`ParamHeaders`](super::ParamHeaders).
pub const PARAM_PREFIX: &str = "Mcp-Param-";
/// The last event that a client has seen of a stream that it wants to go on with, from 2025-03-26 to
/// 2025-11-25.
pub const LAST_EVENT_ID: &str = "Last-Event-ID";
/// What kinds of content a client takes.
pub const ACCEPT: &str = "Accept";
/// What kind of content a body is.
pub const CONTENT_TYPE: &str = "Content-Type";
/// The site in whose name a browser sends a request.
pub const ORIGIN: &str = "Origin";
/// The host that a request is meant for.
pub const HOST: &str = "Host";
/// The HTTP methods that are served, beside status 405.
pub const ALLOW: &str = "Allow";
/// `no-cache` for streams.
pub const CACHE_CONTROL: &str = "Cache-Control";
/// `no` tells proxies to pass a stream on as it comes.
pub const X_ACCEL_BUFFERING: &str = "X-Accel-Buffering";
