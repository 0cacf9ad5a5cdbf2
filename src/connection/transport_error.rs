//! [`TransportError`]: the error of a transport that could not deliver a request or its response.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::error::Error;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::panic::{RefUnwindSafe, UnwindSafe};

/// The error of the transport below HTTP that could not deliver a request, or lost its response. It consists of a
/// kind, the target, and the error of the transport itself.
///
/// `Display` prints the kind and the target. The error of the transport is the [`source`](Error::source). Clones
/// share the source. Comparisons and hashes ignore it, and `Debug` does not print it.
///
/// ```
/// use std::error::Error;
///
/// use mcp_sansio::error::{TransportError, TransportErrorKind};
///
/// let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
/// let error = TransportError::new(TransportErrorKind::ConnectionRefused)
///     .at("user:password@example.com:443")
///     .caused_by(refused);
/// assert_eq!(error.to_string(), "the connection was refused (example.com:443)");
/// assert!(error.source().is_some_and(|source| source.is::<std::io::Error>()));
/// ```
#[derive(Clone)]
pub struct TransportError(Arc<Inner>);

struct Inner {
    kind: TransportErrorKind,
    target: Option<Box<str>>,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// The kind of a transport error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum TransportErrorKind {
    /// The URL is malformed, or the transport does not support its scheme. The configuration is at fault.
    #[error("the URL is not valid, or its scheme is not supported")]
    InvalidUrl,
    /// The name of the host could not be resolved.
    #[error("the host name could not be resolved")]
    Dns,
    /// The host refused the connection: most likely no server listens on the port.
    #[error("the connection was refused")]
    ConnectionRefused,
    /// No route leads to the host.
    #[error("the host is unreachable")]
    HostUnreachable,
    /// The TLS handshake failed: for example, the certificate is not trusted, or the server does not use TLS on this
    /// port.
    #[error("the TLS handshake failed")]
    Tls,
    /// The transport gave up waiting.
    #[error("the connection timed out")]
    TimedOut,
    /// The server, or a device on the way to it, reset or closed the connection.
    #[error("the connection was reset or closed")]
    ConnectionReset,
    /// The server requires an access token, and the client has none: the [`source`](Error::source) of the
    /// [`TransportError`] is the reason. The event stream of a session that fails for this reason is requested again
    /// only after the server has accepted a POST, because each request may ask a user for another login.
    #[error("authorization failed")]
    Authorization,
    /// The same for a temporary reason: the authorization server is unreachable, for example. The event stream of a
    /// session is requested again, as after any other error.
    #[error("authorization failed for now")]
    AuthorizationUnavailable,
    /// Any other error: the [`source`](Error::source) of the [`TransportError`] has the details, if any.
    #[error("the connection failed")]
    Other,
}

impl TransportError {
    /// Creates an error of this kind, without target and source.
    pub fn new(kind: TransportErrorKind) -> Self {
        Self(Arc::new(Inner { kind, target: None, source: None }))
    }

    /// Sets the host and port of the connection. A user name and password before an `@` are removed.
    #[must_use]
    pub fn at(self, host_and_port: &str) -> Self {
        let (_, target) = host_and_port.rsplit_once('@').unwrap_or(("", host_and_port));
        let Inner { kind, source, .. } = &*self.0;
        let (kind, source) = (*kind, source.clone());
        Self(Arc::new(Inner { kind, target: Some(target.into()), source }))
    }

    /// Sets the error of the transport.
    #[must_use]
    pub fn caused_by(self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let Inner { kind, target, .. } = &*self.0;
        let (kind, target) = (*kind, target.clone());
        Self(Arc::new(Inner { kind, target, source: Some(Arc::from(source.into())) }))
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> TransportErrorKind {
        self.0.kind
    }

    /// Returns the host and port of the connection, if known.
    pub fn target(&self) -> Option<&str> {
        self.0.target.as_deref()
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind().fmt(formatter)?;
        match self.target() {
            Some(target) => write!(formatter, " ({target})"),
            None => Ok(()),
        }
    }
}

impl Error for TransportError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

impl PartialEq for TransportError {
    fn eq(&self, other: &Self) -> bool {
        (self.kind(), self.target()) == (other.kind(), other.target())
    }
}

impl Eq for TransportError {}

impl Hash for TransportError {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.kind(), self.target()).hash(state);
    }
}

impl fmt::Debug for TransportError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("TransportError")
            .field("kind", &self.kind())
            .field("target", &self.target())
            .finish_non_exhaustive()
    }
}

// The source is only read, so a panic elsewhere cannot leave it half changed.
impl UnwindSafe for TransportError {}
impl RefUnwindSafe for TransportError {}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString;
    use core::hash::{BuildHasher, BuildHasherDefault};
    use std::hash::DefaultHasher;

    use super::*;

    #[test]
    fn the_source_is_no_part_of_the_value() {
        let bare = TransportError::new(TransportErrorKind::Dns).at("a:b@c@example.com:80");
        let caused = bare.clone().caused_by("secret");
        assert_eq!(bare, caused);
        assert_eq!(caused.target(), Some("example.com:80"));
        assert_eq!(caused.source().map(ToString::to_string).as_deref(), Some("secret"));
        assert_ne!(bare, TransportError::new(TransportErrorKind::Dns));
        assert_ne!(bare, TransportError::new(TransportErrorKind::Tls).at("example.com:80"));
        // The order of the builder calls does not matter.
        let turned = TransportError::new(TransportErrorKind::Dns).caused_by("secret").at("x:1");
        assert!(turned.source().is_some());
        let shown = format!("{caused:?} {caused}");
        assert!(!shown.contains("secret") && !shown.contains("a:b"), "{shown}");
        let fields = r#"kind: Dns, target: Some("example.com:80"), .."#;
        assert_eq!(format!("{caused:?}"), format!("TransportError {{ {fields} }}"));
    }

    #[test]
    fn equal_errors_have_equal_hashes() {
        let hash =
            |error: &TransportError| BuildHasherDefault::<DefaultHasher>::new().hash_one(error);
        let bare = TransportError::new(TransportErrorKind::Dns);
        assert_eq!(hash(&bare), hash(&bare.clone().caused_by("secret")));
        assert_ne!(hash(&bare), hash(&bare.clone().at("example.com:80")));
        assert_ne!(hash(&bare), hash(&TransportError::new(TransportErrorKind::Tls)));
    }
}
