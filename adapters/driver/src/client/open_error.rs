//! [`OpenError`]: the reason why a connection could not be opened.

use std::io;
use std::process::ExitStatus;

use mcp_sansio::error::ConnectError;
use mcp_sansio::event::ConnectFailure;

/// The reason why a connection could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The server could not be started.
    #[error("the server could not be started: {0}")]
    Spawn(#[source] io::Error),
    /// The operating system has no threads, or cannot prepare the streams.
    #[error("nothing can be read from the server, or written to it: {0}")]
    Streams(#[source] io::Error),
    /// The URL of the server is `https`, and the adapter was built without its feature `tls`.
    #[error("an https URL needs the feature `tls` of mcp-sansio-http")]
    NoTls,
    /// The system has no root certificates, so no certificate of a server can be checked.
    #[error("the root certificates of the system cannot be loaded: {0}")]
    RootCertificates(#[source] io::Error),
    /// No request could be sent, because the configuration is invalid.
    #[error("{0}")]
    Config(#[from] ConnectError),
    /// The server ended before the session was open.
    #[error("the server ended before it answered ({status}){}", last_line(stderr))]
    Ended {
        /// Its exit status.
        status: ExitStatus,
        /// The last part of its standard error, if that is [captured](crate::Stderr::Capture), otherwise empty. Invalid
        /// UTF-8 is replaced. The message of this error ends with its last line.
        stderr: String,
    },
    /// The server refused, sent an invalid response, or did not respond in time.
    #[error(transparent)]
    Connect(ConnectFailure<'static>),
}

/// Returns the last line of a text that is not blank, after a colon. Empty if there is none.
fn last_line(text: &str) -> String {
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    line.map_or_else(String::new, |line| format!(": {line}"))
}
