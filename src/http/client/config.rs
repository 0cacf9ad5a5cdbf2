//! [`HttpClientConfig`], the configuration of a client over HTTP.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

/// The HTTP options of a client. [`ClientConfig`](crate::ClientConfig) has the options of the protocol.
///
/// ```
/// use mcp_sansio::http::HttpClientConfig;
///
/// let mut config = HttpClientConfig::new("https://example.com/mcp");
/// config.header("Authorization", "Bearer …token").unwrap_err(); // no header field can hold that
/// config.header("Authorization", "Bearer token").unwrap();
/// config.header("Mcp-Method", "tools/call").unwrap_err(); // that is for the protocol to say
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct HttpClientConfig {
    /// The URL of the endpoint.
    pub url: String,
    /// Whether a client in a session requests an event stream, on which the server can send messages at any time.
    /// Default true.
    pub listens: bool,
    /// How long requests wait for the response to `notifications/initialized`. They then wait as long again for the
    /// event stream to open. Many servers send requests of their own on the stream in reaction
    /// to a client request, and lose them if the stream is not open. Default 250 ms.
    pub listen_first: Duration,
    /// The handling of a server that supports neither era at this URL. By default, the client requests the event
    /// stream of 2024-11-05.
    pub one_stream: OneStream,
    /// The time that such a server has to name the endpoint for messages. Default 5 s.
    pub endpoint_timeout: Duration,
    /// The delay before an event stream that broke off is requested again, unless the server sets one. Each further
    /// attempt waits half as long again, up to [`most_delay`](Self::most_delay), or for the delay of the server if that
    /// is longer. Default 1 s.
    pub first_delay: Duration,
    /// The maximum of that delay. Default 30 s.
    pub most_delay: Duration,
    /// The maximum number of failed attempts in a row to resume the event stream of a call. Default 5. The event stream
    /// of a session is requested as long as the session lasts.
    pub attempts: u32,
    /// The maximum number of notifications and responses of this side that are being posted at a time. Default 64. Each
    /// of them can take a connection of its own. Beyond the limit, and while they have more than
    /// [`Limits::congestion_bytes`](crate::Limits::congestion_bytes) bytes, messages wait in the outbox, as for a
    /// server that does not read.
    pub most_notices: u32,
    /// The maximum time until such a message is answered. Default 1 min. Then its HTTP request is aborted.
    pub notice_timeout: Duration,
    /// The maximum number of tools whose header annotations are remembered; tools without annotations do not count.
    /// The tools that were listed first are dropped first. Default 4096.
    pub most_tools: usize,
    /// The maximum bytes of memory of these annotations. The tools that were listed first are dropped first. Default
    /// 4 MiB.
    pub most_tool_bytes: usize,
    /// Additional header fields of every request.
    headers: Vec<(String, String)>,
}

/// Omits the values of header fields, and the URL after its path: they may be secrets.
impl fmt::Debug for HttpClientConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| &**name).collect();
        let place = self.url.split(['?', '#']).next().unwrap_or_default();
        // The host may be preceded by a user name and password.
        let place = place.rsplit('@').next().unwrap_or_default();
        formatter
            .debug_struct("HttpClientConfig")
            .field("url", &place)
            .field("headers", &names)
            .field("listens", &self.listens)
            .field("one_stream", &self.one_stream)
            .finish_non_exhaustive()
    }
}

/// The use of the HTTP+SSE transport of 2024-11-05: the server sends all messages on one event stream, which also
/// names the endpoint for POSTs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OneStream {
    /// If the server supports nothing newer.
    #[default]
    Fallback,
    /// Never.
    Never,
    /// From the start, for a server that is known to be that old.
    Always,
}

/// The reason why a header field cannot be sent with requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// The protocol sets this header field itself.
    #[error("this header field is for the protocol to say")]
    Reserved,
    /// The name is not a valid name, or the value contains characters that no value can have.
    #[error("this is no header field")]
    Invalid,
}

impl HttpClientConfig {
    /// Creates the configuration for the endpoint at this URL.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            listens: true,
            listen_first: Duration::from_millis(250),
            one_stream: OneStream::default(),
            endpoint_timeout: Duration::from_secs(5),
            first_delay: Duration::from_secs(1),
            most_delay: Duration::from_secs(30),
            attempts: 5,
            most_notices: 64,
            notice_timeout: Duration::from_secs(60),
            most_tools: 4096,
            most_tool_bytes: 4 << 20,
            headers: Vec::new(),
        }
    }

    /// Adds a header field to every request: credentials, for example.
    ///
    /// # Errors
    ///
    /// [`HeaderError`] if the field is reserved or invalid.
    pub fn header(&mut self, name: &str, value: &str) -> Result<&mut Self, HeaderError> {
        const RESERVED: [&str; 6] = [
            "accept",
            "content-type",
            "content-length",
            "host",
            "last-event-id",
            "transfer-encoding",
        ];
        let lower = name.to_ascii_lowercase();
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if lower.starts_with("mcp-") || RESERVED.contains(&&*lower) {
            return Err(HeaderError::Reserved);
        }
        let is_text = value.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
        if name.is_empty() || !name.bytes().all(is_token) || !is_text {
            return Err(HeaderError::Invalid);
        }
        self.headers.push((name.to_string(), value.trim().to_string()));
        Ok(self)
    }

    /// Returns the additional header fields of every request.
    pub fn headers(&self) -> &[(String, String)] {
        &self.headers
    }
}
