//! [`HostPolicy`] and [`OriginPolicy`]: the host names and web origins that may use a server.
//!
//! Any web page can make a browser send requests to a server on the same computer. If the page rebinds its own DNS
//! name to 127.0.0.1, it can also read the responses
//! ([security warning](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning)).
//! Such a request still carries its `Origin` and the host name that the browser uses.

use alloc::string::String;
use alloc::vec::Vec;

use super::headers::{Field, Headers};
use super::name;

/// The host names of the local computer.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The hosts that a server accepts requests for, by `Host` or `:authority`.
///
/// A server on its user's computer should accept only [local](Self::local) hosts; a public server should accept only
/// its own names.
///
/// ```
/// use mcp_sansio::http::{Headers, HostPolicy};
///
/// let policy = HostPolicy::local().allow("mcp.example.com")?;
/// let is_allowed = |host: &str| {
///     let fields = [("Host", host.as_bytes())];
///     policy.allows(Headers::from(&fields[..]), None)
/// };
/// assert!(is_allowed("localhost:3000") && is_allowed("MCP.example.com"));
/// assert!(!is_allowed("evil.example.com"));
/// # Ok::<(), mcp_sansio::http::InvalidName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPolicy {
    any: bool,
    hosts: Vec<(String, Port)>,
}

/// The web origins whose pages may send requests to a server, by `Origin`. Requests without `Origin`, as programs
/// other than browsers send them, are allowed.
///
/// ```
/// use mcp_sansio::http::{Headers, OriginPolicy};
///
/// let policy = OriginPolicy::local().allow("https://app.example.com")?;
/// let is_allowed = |origin: &str| {
///     let fields = [("Origin", origin.as_bytes())];
///     policy.allows(Headers::from(&fields[..]))
/// };
/// assert!(is_allowed("http://localhost:6274") && is_allowed("https://app.example.com:443"));
/// assert!(!is_allowed("http://app.example.com") && !is_allowed("null"));
/// assert!(policy.allows(Headers::from(&[][..])));
/// # Ok::<(), mcp_sansio::http::InvalidName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OriginPolicy {
    any: bool,
    /// Scheme, host and port.
    origins: Vec<(String, String, Port)>,
}

/// The argument is not a host or not an origin. The caller is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("not the name of a host, or not an origin")]
#[non_exhaustive]
pub struct InvalidName;

/// The ports that are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Port {
    Any,
    Only(Option<u16>),
}

impl Port {
    fn allows(self, port: Option<u16>) -> bool {
        match self {
            Self::Any => true,
            Self::Only(only) => only == port,
        }
    }
}

impl Default for HostPolicy {
    /// Returns [`HostPolicy::local`].
    fn default() -> Self {
        Self::local()
    }
}

impl HostPolicy {
    /// Allows `localhost`, `127.0.0.1` and `[::1]`, with any port or none.
    pub fn local() -> Self {
        Self { any: false, hosts: LOOPBACK.map(|host| (host.into(), Port::Any)).into() }
    }

    /// Allows no host until one is [added](Self::allow).
    pub const fn none() -> Self {
        Self { any: false, hosts: Vec::new() }
    }

    /// Allows every request, without a check: for servers behind a proxy that checks, or that require authentication.
    pub const fn any() -> Self {
        Self { any: true, hosts: Vec::new() }
    }

    /// Adds a host: `mcp.example.com` with any port or none, or `mcp.example.com:8080` with this port only. An IPv6
    /// address is in brackets.
    ///
    /// # Errors
    ///
    /// [`InvalidName`] if the argument is not a host. Names beyond ASCII must be in Punycode.
    pub fn allow(mut self, host: &str) -> Result<Self, InvalidName> {
        let (host, port) = host_and_port(host).ok_or(InvalidName)?;
        let port = port.map_or(Port::Any, |port| Port::Only(Some(port)));
        self.hosts.push((host.into(), port));
        Ok(self)
    }

    /// Whether a request with these headers is for an allowed host. `authority` is the pseudo-header `:authority` of
    /// HTTP/2 and later, if there is one.
    ///
    /// At least one of `Host` and `:authority` must be present, and each present one must be allowed. A malformed or
    /// repeated `Host` is not allowed. A request that is not allowed gets status 403; the client is at fault.
    pub fn allows(&self, headers: Headers<'_>, authority: Option<&str>) -> bool {
        if self.any {
            return true;
        }
        if authority.is_none()
            && headers.only(name::HOST).is_some_and(|host| self.allows_plainly(host))
        {
            return true;
        }
        let host = match headers.get(name::HOST) {
            Field::Absent => None,
            Field::Once(host) => Some(host),
            Field::Repeated | Field::NotText => return false,
        };
        let mut names = host.into_iter().chain(authority).peekable();
        names.peek().is_some() && names.all(|name| self.allows_name(name))
    }

    /// Whether a `Host` is written exactly like a host that is allowed with any port, without a port or with one of at
    /// most four digits. [`allows_name`](Self::allows_name) handles all other forms.
    fn allows_plainly(&self, host: &[u8]) -> bool {
        const MOST_DIGITS: usize = 4;
        let digits = host.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let name = match host.split_at_checked(host.len() - digits) {
            Some(([name @ .., b':'], _)) if (1..=MOST_DIGITS).contains(&digits) => name,
            _ => host,
        };
        self.hosts.iter().any(|(allowed, port)| *port == Port::Any && name == allowed.as_bytes())
    }

    fn allows_name(&self, name: &str) -> bool {
        host_and_port(name).is_some_and(|(name, port)| {
            self.hosts
                .iter()
                .any(|(host, ports)| host.eq_ignore_ascii_case(name) && ports.allows(port))
        })
    }
}

impl Default for OriginPolicy {
    /// Returns [`OriginPolicy::local`].
    fn default() -> Self {
        Self::local()
    }
}

impl OriginPolicy {
    /// Allows `http` and `https` origins of `localhost`, `127.0.0.1` and `[::1]`, with any port.
    pub fn local() -> Self {
        let of =
            |scheme: &'static str| LOOPBACK.map(|host| (scheme.into(), host.into(), Port::Any));
        Self { any: false, origins: [of("http"), of("https")].concat() }
    }

    /// Allows no origin until one is [added](Self::allow). Requests without `Origin` are allowed.
    pub const fn none() -> Self {
        Self { any: false, origins: Vec::new() }
    }

    /// Allows every request, without a check, even with several `Origin` fields: for servers behind a proxy that
    /// checks, or that require authentication.
    pub const fn any() -> Self {
        Self { any: true, origins: Vec::new() }
    }

    /// Adds an origin as browsers write it: `https://app.example.com`. Without a port, only the default port of the
    /// scheme is allowed; `https://app.example.com:*` allows all ports.
    ///
    /// # Errors
    ///
    /// [`InvalidName`] if the argument is not an origin: a scheme, a host and an optional port, without a path or a
    /// trailing slash. Names beyond ASCII must be in Punycode.
    pub fn allow(mut self, origin: &str) -> Result<Self, InvalidName> {
        let (origin, has_any_port) =
            origin.strip_suffix(":*").map_or((origin, false), |origin| (origin, true));
        let (scheme, host, port) = parse(origin).ok_or(InvalidName)?;
        let port = if has_any_port { Port::Any } else { Port::Only(port) };
        self.origins.push((scheme.into(), host.into(), port));
        Ok(self)
    }

    /// Whether a request with these headers has no `Origin`, or an allowed one. Scheme, host and port must match,
    /// ignoring case.
    ///
    /// `null`, malformed origins and repeated `Origin` fields are not allowed. A request that is not allowed gets
    /// status 403; the client is at fault.
    pub fn allows(&self, headers: Headers<'_>) -> bool {
        if self.any {
            return true;
        }
        let origin = match headers.get(name::ORIGIN) {
            Field::Absent => return true,
            Field::Once(origin) => parse(origin),
            Field::Repeated | Field::NotText => None,
        };
        origin.is_some_and(|(scheme, host, port)| {
            self.origins.iter().any(|(allowed_scheme, allowed_host, ports)| {
                allowed_scheme.eq_ignore_ascii_case(scheme)
                    && allowed_host.eq_ignore_ascii_case(host)
                    && ports.allows(port)
            })
        })
    }
}

/// Splits an origin into scheme, host and port, with the default port of `http` and `https`. Returns `None` for
/// `null` and malformed origins.
fn parse(origin: &str) -> Option<(&str, &str, Option<u16>)> {
    let (scheme, authority) = origin.split_once("://")?;
    let starts_well = scheme.starts_with(|first: char| first.is_ascii_alphabetic());
    let goes_on_well =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    if !starts_well || !scheme.bytes().all(goes_on_well) {
        return None;
    }
    let (host, port) = host_and_port(authority)?;
    let default = if scheme.eq_ignore_ascii_case("http") {
        Some(80)
    } else {
        scheme.eq_ignore_ascii_case("https").then_some(443)
    };
    Some((scheme, host, port.or(default)))
}

/// Splits `localhost:3000` into `localhost` and 3000.
fn host_and_port(authority: &str) -> Option<(&str, Option<u16>)> {
    // Colons within brackets belong to an IPv6 address.
    let name_end = authority.find(']').map_or(0, |bracket| bracket + 1);
    let colon = authority.get(name_end..)?.find(':').map(|colon| name_end + colon);
    let (host, port) = match colon.and_then(|colon| authority.split_at_checked(colon)) {
        Some((host, port)) => (host, Some(digits(port.get(1..)?)?)),
        None => (authority, None),
    };
    is_host(host).then_some((host, port))
}

/// Parses a port that consists of digits only.
fn digits(port: &str) -> Option<u16> {
    port.bytes().all(|digit| digit.is_ascii_digit()).then(|| port.parse().ok()).flatten()
}

/// Whether the text is a name, an IPv4 address, or an IPv6 address in brackets.
fn is_host(host: &str) -> bool {
    match host.strip_prefix('[').map(|address| address.strip_suffix(']')) {
        Some(Some(address)) => address.parse::<core::net::Ipv6Addr>().is_ok(),
        Some(None) => false,
        None => {
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
            !host.is_empty() && host.bytes().all(is_part)
        }
    }
}

#[cfg(test)]
mod tests;
