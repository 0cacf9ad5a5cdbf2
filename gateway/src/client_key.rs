//! [`ClientKey`]: what distinguishes a client of the gateway from others.

use mcp_sansio::http::RequestSource;
use mcp_sansio::request::Requestor;
use mcp_sansio::{ConnectionNumber, Principal};
use mcp_sansio_http::HttpRequest;
use mcp_sansio_tokio::Exchange;

/// A client. Two requests with equal keys come from the same client; the reverse does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ClientKey {
    /// An authenticated client.
    Principal(Principal),
    /// A session of a client that is not authenticated.
    Session(u64),
    /// A connection of a client of which nothing is known. Over HTTP each modern request has its own.
    Connection(ConnectionNumber),
}

impl ClientKey {
    /// Returns the key of the sender of a request.
    pub(crate) fn of(exchange: &Exchange) -> Self {
        match exchange.request().context.requestor {
            Requestor::Session(number) => Self::Session(number),
            Requestor::Principal(principal) if principal != Principal::default() => {
                Self::Principal(principal)
            }
            _ => Self::Connection(exchange.handle().connection()),
        }
    }

    /// Whether later requests of the client have the same key.
    pub(crate) const fn is_lasting(self) -> bool {
        !matches!(self, Self::Connection(_))
    }
}

/// Returns the sender of a request for limits per client, which count all sessions of a network together, like those of the
/// endpoint ([`RequestSource::client`]).
pub(crate) fn for_limits(exchange: &Exchange) -> Requestor {
    let requestor = exchange.request().context.requestor;
    match (requestor, exchange.extension::<HttpRequest>().and_then(HttpRequest::address)) {
        (Requestor::Session(_), Some(address)) => {
            RequestSource::default().address(address).client().unwrap_or(requestor)
        }
        _ => requestor,
    }
}
