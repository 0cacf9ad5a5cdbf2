//! Names of HTTP header fields, spelled as in the newest revision. Comparisons ignore case.

/// The revision of a message, from 2025-06-18 on.
pub const PROTOCOL_VERSION: &str = "MCP-Protocol-Version";
/// The session of a message, from 2025-03-26 to 2025-11-25.
pub const SESSION_ID: &str = "Mcp-Session-Id";
/// The method of the message in the body, from 2026-07-28 on.
pub const METHOD: &str = "Mcp-Method";
/// The name or URI that a request refers to, from 2026-07-28 on; encoded by [`encode_value`](super::encode_value).
pub const NAME: &str = "Mcp-Name";
/// The prefix of the header fields that repeat arguments of a tool, from 2026-07-28 on: see
/// [`ParamHeaders`](super::ParamHeaders).
pub const PARAM_PREFIX: &str = "Mcp-Param-";
/// The id of the last event that a client received on a stream it resumes, from 2025-03-26 to 2025-11-25.
pub const LAST_EVENT_ID: &str = "Last-Event-ID";
/// The media types that a client accepts.
pub const ACCEPT: &str = "Accept";
/// The media type of a body.
pub const CONTENT_TYPE: &str = "Content-Type";
/// The origin of the web page that made a browser send the request.
pub const ORIGIN: &str = "Origin";
/// The host that a request is addressed to.
pub const HOST: &str = "Host";
/// The HTTP methods that are supported, in a response with status 405.
pub const ALLOW: &str = "Allow";
/// `no-cache` for event streams.
pub const CACHE_CONTROL: &str = "Cache-Control";
/// `no` asks proxies not to buffer an event stream.
pub const X_ACCEL_BUFFERING: &str = "X-Accel-Buffering";
