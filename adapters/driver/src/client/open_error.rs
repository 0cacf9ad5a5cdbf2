//! [`OpenError`]: why a connection could not be opened.

use std::io;
use std::process::ExitStatus;

use mcp_sansio::error::ConnectError;
use mcp_sansio::event::ConnectFailure;

/// Why client and server have not come to terms.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The server could not be started.
    #[error("the server could not be started: {0}")]
    Spawn(#[source] io::Error),
    /// The system has no threads, or cannot make the streams ready.
    #[error("nothing can be read from the server, or written to it: {0}")]
    Streams(#[source] io::Error),
    /// Nothing could be asked: the configuration is at fault.
    #[error("{0}")]
    Config(#[from] ConnectError),
    /// The server ended before the session was open.
    #[error("the server ended before it answered ({0})")]
    Ended(ExitStatus),
    /// The server refused, answered nonsense, or did not answer in time.
    #[error(transparent)]
    Connect(ConnectFailure<'static>),
}
