//! [`Action`], one HTTP operation that the caller performs.

use super::exchange::ExchangeNumber;
use super::request::HttpRequest;
use crate::connection::TransportFailure;
use crate::handle::CallId;

/// An HTTP operation to perform.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Action {
    /// Send a request, and report its response or its failure.
    Send {
        /// The number of the new exchange.
        exchange: ExchangeNumber,
        /// The request.
        request: HttpRequest,
    },
    /// Abort an exchange: close its connection, or its HTTP/2 stream. Report nothing more about the exchange.
    Abort {
        /// The exchange.
        exchange: ExchangeNumber,
    },
    /// A call cannot be sent: pass this to [`Client::exchange_ended`](crate::Client::exchange_ended).
    Fail {
        /// The call.
        call: CallId,
        /// The reason.
        failure: TransportFailure<'static>,
    },
}
