//! `RequestSource`: the sender of an HTTP request.

use core::net::IpAddr;

use super::session_id::SessionId;
use crate::handle::{Principal, Requestor};

/// Who sends a request of HTTP, and from where, as far as the host knows.
///
/// Sessions and tasks belong to the principal. Where the host knows none ([`Principal::default`]) a session owns its
/// tasks, and a request without a session reaches tasks by their ids only ([`Requestor`]). A host with authentication
/// numbers its users from 1 on.
///
/// Bounds that hold per client count a principal as one client, and without a principal an address: an IPv6 network of
/// 64 bits counts as one. A loopback address tells clients apart as little as no address does, because a proxy is there.
///
/// ```
/// use mcp_sansio::Principal;
/// use mcp_sansio::http::RequestSource;
///
/// let known = RequestSource::from(Principal::new(7));
/// let unknown = RequestSource::default().address([192, 0, 2, 1]);
/// assert_eq!(known.principal.get(), 7);
/// assert!(unknown.address.is_some());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RequestSource {
    /// Who sends it; the default if the host does not know.
    pub principal: Principal,
    /// The address of the client, if the host knows it. Behind a proxy that is not the address of the connection.
    pub address: Option<IpAddr>,
}

impl RequestSource {
    /// The same from this address.
    #[must_use]
    pub fn address(mut self, address: impl Into<IpAddr>) -> Self {
        self.address = Some(address.into());
        self
    }

    /// Whether the host knows who sends it.
    pub fn has_principal(&self) -> bool {
        self.principal != Principal::default()
    }

    /// Whose tasks a request reaches, in this session or in none.
    pub(super) fn requestor(&self, session: Option<SessionId>) -> Requestor {
        match session {
            _ if self.has_principal() => Requestor::Principal(self.principal),
            Some(session) => Requestor::Session(session.number()),
            None => Requestor::Unknown(self.network()),
        }
    }

    /// The client that bounds per client count it as; `None` if it cannot be told from others.
    ///
    /// A principal is one client. Without a principal, a network is one client: see the type.
    pub fn client(&self) -> Option<Requestor> {
        match self.requestor(None) {
            Requestor::Unknown(0) => None,
            client => Some(client),
        }
    }

    /// A number of its network, or 0. IPv4 addresses have the numbers of IPv6 networks that no client has.
    fn network(&self) -> u64 {
        match self.address.map(|address| address.to_canonical()) {
            Some(address) if address.is_loopback() => 0,
            Some(IpAddr::V4(address)) => u64::from(address.to_bits()),
            Some(IpAddr::V6(address)) => (address.to_bits() >> 64) as u64,
            None => 0,
        }
    }
}

impl From<Principal> for RequestSource {
    fn from(principal: Principal) -> Self {
        Self { principal, address: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(address: &str) -> Option<Requestor> {
        RequestSource::default().address(address.parse::<IpAddr>().unwrap()).client()
    }

    #[test]
    fn a_network_counts_as_one_client() {
        assert_eq!(client("2001:db8:1:2::1"), client("2001:db8:1:2:ffff::"));
        assert_ne!(client("2001:db8:1:2::1"), client("2001:db8:1:3::1"));
        assert_eq!(client("192.0.2.1"), client("::ffff:192.0.2.1"));
        assert_ne!(client("192.0.2.1"), client("192.0.2.2"));
        for local in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(client(local), None, "{local}");
        }
        let known = RequestSource::from(Principal::new(7));
        assert_eq!(known.client(), known.address([192, 0, 2, 1]).client());
    }

    #[test]
    fn a_session_owns_tasks_only_without_a_principal() {
        let session = |byte| Some(SessionId::from_random([byte; 16]));
        let (known, unknown) = (RequestSource::from(Principal::new(7)), RequestSource::default());
        assert_eq!(known.requestor(session(1)), known.requestor(None));
        assert_ne!(unknown.requestor(session(1)), unknown.requestor(session(2)));
        assert_ne!(unknown.requestor(session(1)), unknown.requestor(None));
        assert_eq!(unknown.requestor(None), Requestor::Unknown(0));
    }
}
