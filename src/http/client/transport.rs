//! [`Transport`], the HTTP transport that the server supports, with its endpoint for messages.
//!
//! The endpoint of HTTP+SSE has the origin of the configured URL, and does not change while its event stream is open.

use alloc::string::String;

use super::config::OneStream;
use super::url::resolve;

/// The transport of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Transport {
    /// Streamable HTTP: every request goes to one URL.
    Streamable,
    /// HTTP+SSE of 2024-11-05: the server sends on one event stream, where it also names the endpoint for POSTs.
    OneStream { endpoint: Option<String> },
}

impl Transport {
    pub(super) const fn new(one_stream: OneStream) -> Self {
        match one_stream {
            OneStream::Always => Self::OneStream { endpoint: None },
            OneStream::Fallback | OneStream::Never => Self::Streamable,
        }
    }

    pub(super) const fn is_streamable(&self) -> bool {
        matches!(self, Self::Streamable)
    }

    /// Whether no message can be sent because the server has not named its endpoint.
    pub(super) const fn lacks_endpoint(&self) -> bool {
        matches!(self, Self::OneStream { endpoint: None })
    }

    /// Returns the URL for POSTs, by default the configured URL.
    pub(super) fn target<'u>(&'u self, url: &'u str) -> &'u str {
        match self {
            Self::OneStream { endpoint: Some(endpoint) } => endpoint,
            _ => url,
        }
    }

    /// Sets the endpoint that the server has named, relative to the URL of its event stream. Returns whether it is
    /// the first one. Later ones are ignored, because another party may have sent them.
    ///
    /// Fails if this transport has no endpoint, or if the endpoint has another origin.
    pub(super) fn set_endpoint(&mut self, url: &str, place: &str) -> Result<bool, ()> {
        let Self::OneStream { endpoint } = self else { return Err(()) };
        if endpoint.is_some() {
            return Ok(false);
        }
        *endpoint = Some(resolve(url, place).ok_or(())?);
        Ok(true)
    }

    /// Clears the endpoint, which belongs to one event stream.
    pub(super) fn forget_endpoint(&mut self) {
        if let Self::OneStream { endpoint } = self {
            *endpoint = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_endpoint_of_the_same_origin_stays() {
        let url = "https://a.example/sse";
        let mut transport = Transport::new(OneStream::Always);
        assert!(transport.lacks_endpoint());
        assert_eq!(transport.set_endpoint(url, "https://b.example/in"), Err(()));
        assert_eq!(transport.set_endpoint(url, "/in"), Ok(true));
        assert_eq!(transport.set_endpoint(url, "/other"), Ok(false));
        assert_eq!(transport.target(url), "https://a.example/in");
        transport.forget_endpoint();
        assert!(transport.lacks_endpoint());
    }

    #[test]
    fn streamable_http_has_no_endpoint() {
        let mut transport = Transport::new(OneStream::Fallback);
        assert_eq!(transport.set_endpoint("https://a.example", "/in"), Err(()));
        assert_eq!(transport.target("https://a.example"), "https://a.example");
    }
}
