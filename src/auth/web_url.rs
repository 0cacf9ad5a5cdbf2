//! `WebUrl`: an absolute `http` or `https` URL of a server, kept in its original spelling.

use alloc::borrow::{Cow, ToOwned};
use alloc::format;
use alloc::string::String;
use core::fmt;
use core::net::IpAddr;

use fluent_uri::Uri;
use fluent_uri::component::Host as UriHost;

/// An absolute `http` or `https` URL of a server, in its original spelling.
///
/// The URL is a URI by [RFC 3986](https://www.rfc-editor.org/rfc/rfc3986) with a host, without userinfo and without
/// a fragment. Hosts that browsers and resolvers interpret differently, such as `0x7f.1`, are rejected, so every
/// component that handles the URL refers to the same server. Two URLs are equal if their texts are equal.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct WebUrl {
    text: String,
    is_https: bool,
    /// The host in lower case, an IPv6 address in brackets.
    host: String,
    address: Option<IpAddr>,
    port: u16,
    /// The offset in the text at which the path begins.
    path: usize,
    /// The offset in the text at which the path ends.
    path_end: usize,
}

/// The reason why a text is not a usable URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// The text is not an absolute URI with a host.
    #[error("not an absolute URL")]
    NotAbsolute,
    /// The scheme is neither `http` nor `https`, or it is `http` where only `https` is confidential.
    #[error("the scheme is not https, nor http where that is allowed")]
    Scheme,
    /// The URL contains userinfo in front of the host.
    #[error("there is a user in front of the host")]
    User,
    /// The URL contains a fragment.
    #[error("there is a fragment")]
    Fragment,
    /// The host or the port is invalid, or parsers disagree about the host.
    #[error("the host is not clear")]
    Host,
}

impl WebUrl {
    /// Parses a URL.
    ///
    /// # Errors
    ///
    /// [`UrlError`] if the text is not a usable URL.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let uri = Uri::parse(text).map_err(|_| UrlError::NotAbsolute)?;
        let is_https = match &*uri.scheme().as_str().to_ascii_lowercase() {
            "https" => true,
            "http" => false,
            _ => return Err(UrlError::Scheme),
        };
        let authority = uri.authority().ok_or(UrlError::NotAbsolute)?;
        if authority.has_userinfo() {
            return Err(UrlError::User);
        }
        if uri.fragment().is_some() {
            return Err(UrlError::Fragment);
        }
        let host = authority.host().to_ascii_lowercase();
        let address = match authority.host_parsed() {
            UriHost::Ipv4(address) => Some(IpAddr::V4(address)),
            UriHost::Ipv6(address) => Some(IpAddr::V6(address)),
            UriHost::RegName(_) if is_name(&host) => None,
            _ => return Err(UrlError::Host),
        };
        let port = authority.port_to_u16().map_err(|_| UrlError::Host)?;
        let port = port.unwrap_or(if is_https { 443 } else { 80 });
        let after_scheme = uri.scheme().as_str().len() + "://".len();
        let path = after_scheme + authority.as_str().len();
        let path_end = path + uri.path().as_str().len();
        Ok(Self { text: text.to_owned(), is_https, host, address, port, path, path_end })
    }

    /// Returns the text that was parsed.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the scheme is `https`.
    pub const fn is_https(&self) -> bool {
        self.is_https
    }

    /// Returns the host in lower case, an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port: the explicit one or the default of the scheme.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Returns the IP address, if the host is an address and not a name.
    pub const fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// Whether the host is this computer: `localhost`, a subdomain of `localhost`, or a loopback address.
    pub fn is_loopback(&self) -> bool {
        let is_name = self.host == "localhost" || self.host.ends_with(".localhost");
        is_name || self.address.is_some_and(|address| address.to_canonical().is_loopback())
    }

    /// Returns the path, which is empty or begins with a slash.
    pub fn path(&self) -> &str {
        self.text.get(self.path..self.path_end).unwrap_or_default()
    }

    /// Returns the query without its question mark, if the URL has a query.
    pub fn query(&self) -> Option<&str> {
        self.text.get(self.path_end..).and_then(|rest| rest.strip_prefix('?'))
    }

    /// Returns scheme, host and port in their original spelling, without a path.
    pub fn origin_text(&self) -> &str {
        self.text.get(..self.path).unwrap_or_default()
    }

    /// Returns the text without the query.
    pub fn without_query(&self) -> &str {
        self.text.get(..self.path_end).unwrap_or_default()
    }

    /// Whether both URLs have the same scheme, host and port.
    pub fn is_same_origin(&self, other: &Self) -> bool {
        (self.is_https, &self.host, self.port) == (other.is_https, &other.host, other.port)
    }

    /// Whether a resource with this URL contains `other`: the origins are the same, and the path of `other` is equal
    /// to this path or extends it at a segment boundary. Queries are ignored
    /// ([RFC 9728, section 3.3](https://www.rfc-editor.org/rfc/rfc9728#section-3.3)).
    pub fn contains(&self, other: &Self) -> bool {
        let parent = self.path().trim_end_matches('/');
        let rest = other.path().strip_prefix(parent);
        self.is_same_origin(other)
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Returns the canonical form of RFC 8707 as MCP defines it: scheme and host in lower case, no default port, no
    /// path that is only a slash, no query.
    pub fn canonical(&self) -> String {
        let path = if self.path() == "/" { "" } else { self.path() };
        self.canonical_origin() + path
    }

    /// Returns scheme, host and port: scheme and host in lower case, no default port.
    pub(super) fn canonical_origin(&self) -> String {
        let scheme = if self.is_https { "https" } else { "http" };
        let is_usual = self.port == if self.is_https { 443 } else { 80 };
        let port = if is_usual { Cow::Borrowed("") } else { format!(":{}", self.port).into() };
        format!("{scheme}://{}{port}", self.host)
    }

    /// Returns the URL with more form parameters appended to its query. Existing parameters are kept.
    pub(super) fn with_query(&self, more: &str) -> String {
        let separator = match self.query() {
            None => "?",
            Some("") => "",
            Some(_) => "&",
        };
        format!("{}{separator}{more}", self.text)
    }
}

/// Omits the query, which may be confidential.
impl fmt::Debug for WebUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", self.without_query())
    }
}

/// Whether a host is a name: letters, digits, hyphens, underscores and dots. The last label must not be a number,
/// which some parsers read as an IPv4 address. `localhost.` is rejected: some resolvers query DNS for it, others
/// resolve it to this computer.
fn is_name(host: &str) -> bool {
    let last = host.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    if last == "localhost" && host.ends_with('.') {
        return false;
    }
    let digits = last.strip_prefix("0x").unwrap_or(last);
    let is_number = match digits.len() == last.len() {
        true => digits.bytes().all(|byte| byte.is_ascii_digit()),
        false => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
    };
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !last.is_empty() && !is_number && host.bytes().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clear_urls_of_servers_are_taken() {
        let table = [
            ("https://a.example/mcp?x=1", Ok(())),
            ("HTTPS://A.example:8443", Ok(())),
            ("http://[::1]:3000/", Ok(())),
            ("https://xn--bcher-kva.example", Ok(())),
            ("//a.example", Err(UrlError::NotAbsolute)),
            ("/x", Err(UrlError::NotAbsolute)),
            ("https:/x", Err(UrlError::NotAbsolute)),
            ("https:\\\\a.example", Err(UrlError::NotAbsolute)),
            ("https://a b", Err(UrlError::NotAbsolute)),
            ("javascript:alert(1)", Err(UrlError::Scheme)),
            ("file:///etc/passwd", Err(UrlError::Scheme)),
            ("https://me@a.example", Err(UrlError::User)),
            ("https://a.example/#x", Err(UrlError::Fragment)),
            ("https:///x", Err(UrlError::Host)),
            ("https://a%2eexample", Err(UrlError::Host)),
            ("https://0x7f.1", Err(UrlError::Host)),
            ("https://2130706433/", Err(UrlError::Host)),
            ("https://127.1", Err(UrlError::Host)),
            ("https://localhost.", Err(UrlError::Host)),
            ("https://a.example.", Ok(())),
            ("https://a.0b", Ok(())),
            ("https://a.0xg", Ok(())),
            ("https://[v1.a]", Err(UrlError::Host)),
            ("https://a.example:99999", Err(UrlError::Host)),
        ];
        for (text, expected) in table {
            assert_eq!(WebUrl::parse(text).map(|_| ()), expected, "{text}");
        }
    }

    #[test]
    fn the_parts_are_those_of_the_text() {
        let url = WebUrl::parse("https://A.example/x?secret=1").unwrap();
        assert_eq!((url.host(), url.port(), url.query()), ("a.example", 443, Some("secret=1")));
        assert_eq!(
            (url.origin_text(), url.without_query()),
            ("https://A.example", "https://A.example/x")
        );
        assert_eq!(alloc::format!("{url:?}"), r#""https://A.example/x""#);
        assert_eq!(WebUrl::parse("http://a.example").unwrap().port(), 80);
        assert_eq!(WebUrl::parse("http://a.example:8080/").unwrap().port(), 8080);
    }

    /// Proves A-PRM-12.
    #[test]
    fn a_resource_url_contains_the_urls_below_its_path() {
        let server = WebUrl::parse("https://a.example/x/mcp?session=1").unwrap();
        let table = [
            ("https://a.example/x/mcp", true),
            ("https://A.example:443/x/mcp?other", true),
            ("https://a.example/x", true),
            ("https://a.example/x/", true),
            ("https://a.example", true),
            ("https://a.example/x/mc", false),
            ("https://a.example/x/mcp2", false),
            ("https://a.example/x/mcp/y", false),
            ("https://a.example/X/mcp", false),
            ("http://a.example/x/mcp", false),
            ("https://a.example:8443/x/mcp", false),
            ("https://b.example/x/mcp", false),
        ];
        for (resource, expected) in table {
            assert_eq!(WebUrl::parse(resource).unwrap().contains(&server), expected, "{resource}");
        }
    }

    /// Proves A-AUTHZ-10.
    #[test]
    fn the_canonical_form_has_no_accidents() {
        let table = [
            ("https://mcp.example.com/mcp", "https://mcp.example.com/mcp"),
            ("HTTPS://MCP.Example.com/MCP", "https://mcp.example.com/MCP"),
            ("https://mcp.example.com", "https://mcp.example.com"),
            ("https://mcp.example.com/", "https://mcp.example.com"),
            ("https://mcp.example.com:443/mcp", "https://mcp.example.com/mcp"),
            ("https://mcp.example.com:8443", "https://mcp.example.com:8443"),
            ("https://mcp.example.com/server/mcp/", "https://mcp.example.com/server/mcp/"),
            ("http://LOCALHOST:80/mcp?a=b", "http://localhost/mcp"),
        ];
        for (text, expected) in table {
            assert_eq!(WebUrl::parse(text).unwrap().canonical(), expected);
        }
    }
}
