//! Why there is no connection.

use std::io;
use std::process::ExitStatus;

use mcp_sansio::{ConnectError, ConnectFailure};

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
    #[error("{}", failure_text(.0))]
    Connect(ConnectFailure<'static>),
}

fn failure_text(failure: &ConnectFailure<'_>) -> String {
    match failure {
        ConnectFailure::PeerError(error) => format!("the server refused with error {error}"),
        ConnectFailure::UnsupportedRevision { theirs, ours } => {
            let ours: Vec<_> = ours.iter().map(|revision| revision.name()).collect();
            let ours = ours.join(", ");
            format!("the server speaks revision {:?}, this client {ours}", theirs.to_str())
        }
        ConnectFailure::NoCommonRevision { theirs, ours } => {
            let ours: Vec<_> = ours.iter().map(|revision| revision.name()).collect();
            format!("the server speaks {theirs}, this client {}", ours.join(", "))
        }
        ConnectFailure::RestartAdvised(cause) => {
            format!("the server ended when it was asked what it is: {cause}")
        }
        ConnectFailure::MissingCapabilities(missing) => {
            format!("the server does not offer {missing:?}")
        }
        ConnectFailure::Malformed { kind, .. } => {
            format!("the server answered with nonsense when it was asked what it is: {kind}")
        }
        ConnectFailure::TimedOut => "the server did not answer in time".into(),
        ConnectFailure::Closed(cause) => {
            format!("the connection ended before it was open: {cause}")
        }
        ConnectFailure::Undelivered(failure) => failure.to_string(),
        other => format!("{other:?}"),
    }
}
