//! `HostPolicy` and `OriginPolicy`: the host names and the web pages that may use a server.
//!
//! A page of any site can have a browser send requests to a server on the same machine, and by
//! rebinding its own name to 127.0.0.1 it can read the answers, too
//! ([security warning](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning)).
//! What such a request cannot hide is its `Origin`, and the name that the browser thinks it talks to.

use alloc::string::String;
use alloc::vec::Vec;

use super::headers::{Field, Headers};
use super::name;

/// The names by which a machine calls itself.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Which hosts a server takes requests for, by `Host` or `:authority`.
///
/// A server on the machine of its user should take [local](Self::local) ones only, a server on the
/// net those that it is known by.
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

/// The sites whose pages may send requests to a server, by `Origin`. Programs other than browsers
/// send none, which is allowed.
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

/// What is to be allowed is not a host, or not an origin: the caller is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("not the name of a host, or not an origin")]
#[non_exhaustive]
pub struct InvalidName;

/// Which ports are allowed.
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
    /// [`HostPolicy::local`]
    fn default() -> Self {
        Self::local()
    }
}

impl HostPolicy {
    /// `localhost`, `127.0.0.1` and `[::1]`, with any port or none.
    pub fn local() -> Self {
        Self { any: false, hosts: LOOPBACK.map(|host| (host.into(), Port::Any)).into() }
    }

    /// No host, until one is [allowed](Self::allow).
    pub const fn none() -> Self {
        Self { any: false, hosts: Vec::new() }
    }

    /// Nothing is checked: for servers whose proxy does it, or that only serve who authenticates.
    pub const fn any() -> Self {
        Self { any: true, hosts: Vec::new() }
    }

    /// Allows one more: `mcp.example.com` with any port or none, `mcp.example.com:8080` with this port
    /// only. An IPv6 address stands in brackets.
    ///
    /// # Errors
    ///
    /// [`InvalidName`] if it is not the name of a host. Names beyond ASCII have to be in Punycode.
    pub fn allow(mut self, host: &str) -> Result<Self, InvalidName> {
        let (host, port) = host_and_port(host).ok_or(InvalidName)?;
        let port = port.map_or(Port::Any, |port| Port::Only(Some(port)));
        self.hosts.push((host.into(), port));
        Ok(self)
    }

    /// Whether a request with these headers is for a host that is allowed. `authority` is the
    /// pseudo-header `:authority` of HTTP/2 and later, where there is one.
    ///
    /// Of `Host` and `:authority` there has to be one, and if there are both, both have to be allowed.
    /// A `Host` that is malformed or repeated is not. What is not allowed gets status 403; the client is
    /// at fault.
    pub fn allows(&self, headers: Headers<'_>, authority: Option<&str>) -> bool {
        if self.any {
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

    fn allows_name(&self, name: &str) -> bool {
        host_and_port(name).is_some_and(|(name, port)| {
            self.hosts
                .iter()
                .any(|(host, ports)| host.eq_ignore_ascii_case(name) && ports.allows(port))
        })
    }
}

impl Default for OriginPolicy {
    /// [`OriginPolicy::local`]
    fn default() -> Self {
        Self::local()
    }
}

impl OriginPolicy {
    /// `http` and `https` of `localhost`, `127.0.0.1` and `[::1]`, with any port.
    pub fn local() -> Self {
        let of =
            |scheme: &'static str| LOOPBACK.map(|host| (scheme.into(), host.into(), Port::Any));
        Self { any: false, origins: [of("http"), of("https")].concat() }
    }

    /// No origin, until one is [allowed](Self::allow); requests without one are.
    pub const fn none() -> Self {
        Self { any: false, origins: Vec::new() }
    }

    /// Nothing is checked, not even that there is one `Origin` at most: for servers whose proxy does
    /// it, or that only serve who authenticates.
    pub const fn any() -> Self {
        Self { any: true, origins: Vec::new() }
    }

    /// Allows one more, as browsers write it: `https://app.example.com`. Without a port it is the port
    /// that the scheme has by default, `https://app.example.com:*` allows all ports.
    ///
    /// # Errors
    ///
    /// [`InvalidName`] if it is not an origin: a scheme, a host, and a port at most, so no path and no
    /// slash at the end. Names beyond ASCII have to be in Punycode.
    pub fn allow(mut self, origin: &str) -> Result<Self, InvalidName> {
        let (origin, has_any_port) =
            origin.strip_suffix(":*").map_or((origin, false), |origin| (origin, true));
        let (scheme, host, port) = parse(origin).ok_or(InvalidName)?;
        let port = if has_any_port { Port::Any } else { Port::Only(port) };
        self.origins.push((scheme.into(), host.into(), port));
        Ok(self)
    }

    /// Whether a request with these headers has no `Origin`, or one that is allowed: of the same
    /// scheme, host and port, in letters of any case.
    ///
    /// `null`, what is malformed, and several of them are not. What is not allowed gets status 403; the
    /// client is at fault.
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

/// The scheme, the host, and the port that is meant, of an origin that is more than `null`.
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

/// `localhost:3000` → `localhost`, 3000.
fn host_and_port(authority: &str) -> Option<(&str, Option<u16>)> {
    // The colons in brackets are those of an IPv6 address.
    let name_end = authority.find(']').map_or(0, |bracket| bracket + 1);
    let colon = authority.get(name_end..)?.find(':').map(|colon| name_end + colon);
    let (host, port) = match colon.and_then(|colon| authority.split_at_checked(colon)) {
        Some((host, port)) => (host, Some(digits(port.get(1..)?)?)),
        None => (authority, None),
    };
    is_host(host).then_some((host, port))
}

/// A port, in digits and nothing else.
fn digits(port: &str) -> Option<u16> {
    port.bytes().all(|digit| digit.is_ascii_digit()).then(|| port.parse().ok()).flatten()
}

/// A name, an IPv4 address, or an IPv6 address in brackets.
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
