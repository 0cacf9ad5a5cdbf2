//! Derives the cause of a transport failure from the errors of hyper, its connectors and the system.

use std::error::Error;
use std::io;

use hyper::Uri;
use mcp_sansio::error::{TransportError, TransportErrorKind};

/// The stage at which the transport failed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Before the request was sent: no connection was made.
    Connecting,
    /// After a connection was made.
    Connected,
}

/// Returns the transport error with its kind, and with host and port of the URL.
pub(crate) fn transport_error(
    url: &Uri,
    stage: Stage,
    error: Box<dyn Error + Send + Sync>,
) -> TransportError {
    let is_https = url.scheme_str() == Some("https");
    let kind = chain(&*error).find_map(|link| kind_of(link, stage)).unwrap_or(
        // TLS libraries have their own error types. No other component between TCP and HTTP can fail.
        match stage {
            Stage::Connecting if is_https => TransportErrorKind::Tls,
            _ => TransportErrorKind::Other,
        },
    );
    let known = TransportError::new(kind).caused_by(error);
    let Some(host) = url.host() else { return known };
    let port = url.port_u16().unwrap_or(if is_https { 443 } else { 80 });
    known.at(&format!("{host}:{port}"))
}

/// Returns an error and its causes, outermost first.
pub(crate) fn chain<'e>(
    error: &'e (dyn Error + 'static),
) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |link| cause_of(*link))
}

fn cause_of<'e>(link: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    // The `source` of an `io::Error` skips the error that it wraps.
    match link.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(within) => Some(within),
        None => link.source(),
    }
}

/// Returns the kind of one link of the chain, if it has one.
fn kind_of(link: &(dyn Error + 'static), stage: Stage) -> Option<TransportErrorKind> {
    use TransportErrorKind as Kind;
    if let Some(kind) = link.downcast_ref::<Kind>() {
        return Some(*kind);
    }
    if let Some(error) = link.downcast_ref::<TransportError>() {
        return Some(error.kind());
    }
    #[cfg(feature = "auth")]
    if let Some(failure) = link.downcast_ref::<mcp_sansio::auth::AuthorizationFailure>() {
        // Only `Authorization` suspends the event stream of a session until the application sends a request.
        return Some(match failure.is_temporary() {
            true => Kind::AuthorizationUnavailable,
            false => Kind::Authorization,
        });
    }
    if let Some(error) = link.downcast_ref::<io::Error>() {
        return match error.kind() {
            io::ErrorKind::ConnectionRefused => Some(Kind::ConnectionRefused),
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                Some(Kind::HostUnreachable)
            }
            io::ErrorKind::TimedOut => Some(Kind::TimedOut),
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => Some(Kind::ConnectionReset),
            // While connecting, this error is a TLS handshake that the server ended.
            io::ErrorKind::UnexpectedEof if stage == Stage::Connected => {
                Some(Kind::ConnectionReset)
            }
            _ => None,
        };
    }
    if let Some(error) = link.downcast_ref::<hyper::Error>() {
        return match () {
            () if error.is_timeout() => Some(Kind::TimedOut),
            () if error.is_incomplete_message() || error.is_closed() => Some(Kind::ConnectionReset),
            () => None,
        };
    }
    // The connector of hyper-util has a private error type with three constant texts for these.
    match &*link.to_string() {
        "dns error" => Some(Kind::Dns),
        text if text.starts_with("invalid URL, ") => Some(Kind::InvalidUrl),
        _ => None,
    }
}
