//! [`RequestSource`], the sender of an HTTP request.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::session_id::SessionId;
use crate::handle::{Principal, Requestor};

/// The sender of an HTTP request and its address, as far as the application knows them.
///
/// Sessions and tasks belong to the principal. Without a principal ([`Principal::default`]), a session owns its
/// tasks, and a request without a session reaches tasks only by their ids ([`Requestor`]). An application with
/// authentication numbers its users from 1 on.
///
/// Limits per client count a principal as one client. Without a principal they count an address, or for IPv6 a 64-bit
/// network. A loopback address counts as unknown, because it may belong to a proxy.
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
    /// The sender; the default if the application does not know it.
    pub principal: Principal,
    /// The address of the client, if the application knows it. Behind a proxy it differs from the address of the
    /// connection.
    pub address: Option<IpAddr>,
}

impl RequestSource {
    /// Sets the address.
    #[must_use]
    pub fn address(mut self, address: impl Into<IpAddr>) -> Self {
        self.address = Some(address.into());
        self
    }

    /// Whether the application knows the sender.
    pub fn has_principal(&self) -> bool {
        self.principal != Principal::default()
    }

    /// Returns the owner of the tasks that a request reaches, in this session or without a session.
    pub fn requestor(&self, session: Option<SessionId>) -> Requestor {
        match session {
            _ if self.has_principal() => Requestor::Principal(self.principal),
            Some(session) => Requestor::Session(session.number()),
            None => Requestor::Unknown(self.network()),
        }
    }

    /// Returns the client for limits per client; `None` if it is indistinguishable from others.
    ///
    /// A principal is one client. Without a principal, a network is one client: see the type.
    pub fn client(&self) -> Option<Requestor> {
        match self.requestor(None) {
            Requestor::Unknown(0) => None,
            client => Some(client),
        }
    }

    /// Returns an address of the network of a client, if the client is one.
    pub(super) fn address_of(client: &Requestor) -> Option<IpAddr> {
        let Requestor::Unknown(network) = client else { return None };
        Some(match u32::try_from(*network) {
            Ok(bits) => Ipv4Addr::from_bits(bits).into(),
            Err(_) => Ipv6Addr::from_bits(u128::from(*network) << 64).into(),
        })
    }

    /// Returns a number of the network, or 0. IPv4 addresses have numbers of IPv6 networks that no client has.
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
    fn an_address_of_a_network_is_the_same_client() {
        for address in ["192.0.2.1", "2001:db8:1:2::1", "::ffff:192.0.2.1"] {
            let client = client(address).unwrap();
            let again = RequestSource {
                address: RequestSource::address_of(&client),
                ..RequestSource::default()
            };
            assert_eq!(again.client(), Some(client), "{address}");
        }
        assert_eq!(RequestSource::address_of(&Requestor::Principal(Principal::new(7))), None);
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
