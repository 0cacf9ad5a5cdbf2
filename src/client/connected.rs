//! `Connected`, `ConnectFailure` and `ConnectError`: the results of opening a connection.

use super::negotiation::NegotiationBasis;
use crate::capability::CapabilitySet;
use crate::codes::ViolationKind;
use crate::connection::{Cause, TransportFailure, server_info};
use crate::frame::MessageBytes;
use crate::json::{Raw, Str};
use crate::model::Implementation;
use crate::rpc::ErrorObject;
use crate::schema::EncodeError;
use crate::version::{Revision, RevisionSet};

/// The reason why the first request was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// `connect` was called before, or the connection has ended. Every connection needs a client of its own.
    #[error("the connection is not at its start")]
    NotAtStart,
    /// The configuration has no revision at all ([`ClientConfig::revisions`](crate::ClientConfig::revisions)), or
    /// offers one that is not a legacy revision among them ([`offer`](crate::ClientConfig::offer)).
    #[error(
        "there is no revision to ask for (ClientConfig::revisions), or the one to offer is not a legacy revision that \
         the client speaks (ClientConfig::offer)"
    )]
    NoRevision,
    /// The request could not be written: for example, the revision does not allow a value of
    /// [`ClientConfig::info`](crate::ClientConfig::info) or
    /// [`capabilities`](crate::ClientConfig::capabilities).
    #[error("the first request could not be written: {0}")]
    Encode(#[from] EncodeError),
}

/// The connection is open: its revision was negotiated, or is assumed without a response of the server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Connected<'a> {
    /// The revision of the connection.
    pub revision: Revision,
    /// The capabilities of the server that the revision knows. All capabilities if the client did not ask: the server
    /// refuses unsupported requests.
    pub capabilities: CapabilitySet,
    /// How the era of the server was determined.
    pub basis: NegotiationBasis,
    /// The complete result: an [`InitializeResult`](crate::model::InitializeResult) in the legacy era, a
    /// [`DiscoverResult`](crate::model::DiscoverResult) in the modern era, or an empty object if the client did not
    /// ask.
    pub result: Raw<'a>,
}

impl Connected<'_> {
    /// The name and version of the server, for display only. `None` if the server did not send them, as a modern
    /// server may, or not in a readable form.
    pub fn server_info(&self) -> Option<Implementation<'_>> {
        server_info(&self.result, self.revision)
    }

    /// The instructions for the model on how to use the server. Empty and `None` are different.
    pub fn instructions(&self) -> Option<Str<'_>> {
        self.result.get("instructions")?.into_str()
    }

    /// Returns an owned copy.
    pub fn into_owned(self) -> Connected<'static> {
        Connected { result: self.result.into_owned(), ..self }
    }
}

/// The reason why client and server did not agree on a revision. The connection is closed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectFailure<'a> {
    /// The server refused with an error response.
    #[error("the server refused with error {0}")]
    PeerError(ErrorObject<'a>),
    /// The server chose a revision that the client does not speak.
    #[error("the server speaks revision {:?}, this client {ours}", theirs.to_str())]
    UnsupportedRevision {
        /// The revision that the server chose.
        theirs: Str<'a>,
        /// The revisions that the client speaks.
        ours: RevisionSet,
    },
    /// Client and server have no revision in common.
    #[error("the server speaks {theirs}, this client {ours}")]
    NoCommonRevision {
        /// The names of the revisions that the server speaks.
        theirs: Raw<'a>,
        /// The revisions that the client speaks.
        ours: RevisionSet,
    },
    /// The server lacks capabilities that the client requires.
    #[error("the server does not offer {0}")]
    MissingCapabilities(CapabilitySet),
    /// The server sent a response that is not a result of the request.
    #[error("the response to the first request is invalid: {kind}")]
    Malformed {
        /// The defect of the response.
        kind: ViolationKind,
        /// The whole response, or only the result if the result is invalid.
        message: MessageBytes<'a>,
    },
    /// The server did not respond within [`Timeouts::handshake`](crate::config::Timeouts::handshake), or, if only the
    /// modern era is possible, within [`Timeouts::probe`](crate::config::Timeouts::probe).
    #[error("the server did not answer in time")]
    TimedOut,
    /// The server closed the connection on the probe, as servers do that know only `initialize`. Start the server
    /// again: a [`Client::reconnect`](crate::Client::reconnect) begins with `initialize`.
    #[error("the server closed the connection when it was probed: {0}")]
    RestartAdvised(Cause),
    /// The transport failed: the server is unreachable, does not speak MCP, or demands authorization first.
    #[error(transparent)]
    TransportFailed(TransportFailure<'a>),
    /// The connection ended before the negotiation was complete.
    #[error("the connection ended before it was open: {0}")]
    Closed(Cause),
}

impl ConnectFailure<'_> {
    /// Returns an owned copy.
    pub fn into_owned(self) -> ConnectFailure<'static> {
        match self {
            Self::PeerError(error) => ConnectFailure::PeerError(error.into_owned()),
            Self::UnsupportedRevision { theirs, ours } => {
                ConnectFailure::UnsupportedRevision { theirs: theirs.into_owned(), ours }
            }
            Self::NoCommonRevision { theirs, ours } => {
                ConnectFailure::NoCommonRevision { theirs: theirs.into_owned(), ours }
            }
            Self::MissingCapabilities(missing) => ConnectFailure::MissingCapabilities(missing),
            Self::Malformed { kind, message } => {
                ConnectFailure::Malformed { kind, message: message.into_owned() }
            }
            Self::TimedOut => ConnectFailure::TimedOut,
            Self::RestartAdvised(cause) => ConnectFailure::RestartAdvised(cause),
            Self::TransportFailed(failure) => ConnectFailure::TransportFailed(failure.into_owned()),
            Self::Closed(cause) => ConnectFailure::Closed(cause),
        }
    }
}
