//! `HttpClientConfig`: the configuration of a client over HTTP.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

/// How a client behaves over HTTP, apart from what its [`ClientConfig`](crate::ClientConfig) says of the
/// protocol.
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
    /// Whether a client of a session asks for an event stream, on which the server can speak without being
    /// asked. Default true.
    pub listens: bool,
    /// How long further requests wait for that stream to open, and before that for the answer to
    /// `notifications/initialized`: what many a server asks for because of a request it says there, and to nobody if
    /// nobody listens yet. Default 250 ms.
    pub listen_first: Duration,
    /// What is done about a server that knows neither era at this URL: default, it is asked for the event stream
    /// of 2024-11-05.
    pub one_stream: OneStream,
    /// How long such a server may take to say where its messages go. Default 5 s.
    pub endpoint_timeout: Duration,
    /// How long to wait before an event stream that has broken off is asked for again, if the server has not said
    /// how long. Default 1 s; half as long again each further time, up to [`most_delay`](Self::most_delay).
    pub first_delay: Duration,
    /// Default 30 s.
    pub most_delay: Duration,
    /// How often in a row an event stream is asked for again in vain. Default 5.
    pub attempts: u32,
    /// How many tools are remembered whose arguments are repeated in header fields, those that were listed last.
    /// Default 4096.
    pub most_tools: usize,
    /// Header fields that go with every request.
    headers: Vec<(String, String)>,
}

/// Without the values of header fields, and without what stands behind the path of the URL: they may be secrets.
impl fmt::Debug for HttpClientConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| &**name).collect();
        let place = self.url.split(['?', '#']).next().unwrap_or_default();
        // A name and a password may stand in front of the host.
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

/// Whether the transport of 2024-11-05 is used: an event stream for everything that the server says, and POSTs to
/// a place of which it tells there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OneStream {
    /// If the server serves nothing newer.
    #[default]
    Fallback,
    /// Never.
    Never,
    /// From the start: the server is known to be that old.
    Always,
}

/// Why a header field cannot go with requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// It is the protocol's own.
    #[error("this header field is for the protocol to say")]
    Reserved,
    /// The name is no name, or the value has something in it that no value can hold.
    #[error("this is no header field")]
    Invalid,
}

impl HttpClientConfig {
    /// For the endpoint at this URL.
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
            most_tools: 4096,
            headers: Vec::new(),
        }
    }

    /// Sends a header field with every request: who is asking, for example.
    ///
    /// # Errors
    ///
    /// [`HeaderError`] says why it cannot be sent.
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

    /// The header fields that go with every request.
    pub fn headers(&self) -> &[(String, String)] {
        &self.headers
    }
}
