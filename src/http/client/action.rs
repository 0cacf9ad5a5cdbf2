//! [`Action`], one step that the caller takes with HTTP.

use super::exchange::ExchangeNumber;
use super::request::HttpRequest;
use crate::connection::TransportFailure;
use crate::handle::CallId;

/// Something to do with HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Action {
    /// Make a request, and report its response or its failure.
    Send {
        /// What it is called from now on.
        exchange: ExchangeNumber,
        /// The request.
        request: HttpRequest,
    },
    /// Break an exchange off: close its connection, or its stream of HTTP/2. Report nothing more about it.
    Abort {
        /// The exchange.
        exchange: ExchangeNumber,
    },
    /// A call cannot be carried: hand this to [`Client::exchange_ended`](crate::Client::exchange_ended).
    Fail {
        /// The call.
        call: CallId,
        /// Why.
        failure: TransportFailure<'static>,
    },
}
