//! `CheckedResolver`: filters the addresses of host names.

use std::error::Error;
use std::net::{SocketAddr, ToSocketAddrs};
use std::task::{Context, Poll};
use std::{fmt, io};

use bytes::Bytes;
use http_body_util::Full;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use mcp_sansio::auth::FetchPolicy;
use tower_service::Service;

use super::HostFuture;
use crate::connect::pooled;

/// Resolves names like the system, and drops the addresses that a [`FetchPolicy`] forbids. A server therefore cannot
/// make a client send requests to its private network. For [`HttpConnector::new_with_resolver`].
#[derive(Clone, Copy, Debug)]
pub struct CheckedResolver {
    policy: FetchPolicy,
}

impl CheckedResolver {
    /// Creates a resolver with this policy.
    pub const fn new(policy: FetchPolicy) -> Self {
        Self { policy }
    }
}

/// The cause of the error of a name that leads only to addresses which the policy forbids.
#[derive(Clone, Copy, Debug)]
pub(super) struct ForbiddenAddresses;

impl fmt::Display for ForbiddenAddresses {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name leads to addresses that are not allowed")
    }
}

impl Error for ForbiddenAddresses {}

/// Returns a hyper client without TLS that connects only to addresses which the policy allows.
pub fn checked(policy: FetchPolicy) -> legacy::Client<HttpConnector<CheckedResolver>, Full<Bytes>> {
    let mut connector = HttpConnector::new_with_resolver(CheckedResolver::new(policy));
    connector.set_nodelay(true);
    pooled(connector)
}

impl Service<Name> for CheckedResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = HostFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let policy = self.policy;
        Box::pin(async move {
            let resolve = move || (name.as_str(), 0).to_socket_addrs();
            let all = tokio::task::spawn_blocking(resolve).await.map_err(io::Error::other)??;
            let allowed: Vec<SocketAddr> =
                all.filter(|address| policy.allows_address(address.ip())).collect();
            if allowed.is_empty() {
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, ForbiddenAddresses));
            }
            Ok(allowed.into_iter())
        })
    }
}
