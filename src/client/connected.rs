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

/// Why the first request could not be sent. Nothing was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// It has been sent already, or the connection has ended. Every connection needs a client of
    /// its own.
    #[error("the connection is not at its start")]
    NotAtStart,
    /// The configuration offers a revision that it does not speak, or speaks none: see
    /// [`ClientConfig::revisions`](crate::ClientConfig::revisions),
    /// [`offer`](crate::ClientConfig::offer) and [`known`](crate::ClientConfig::known).
    #[error(
        "there is no revision to ask for (ClientConfig::revisions), or it is not among those the client speaks \
         (ClientConfig::offer, ClientConfig::known)"
    )]
    NoRevision,
    /// It could not be written.
    #[error("the first request could not be written: {0}")]
    Encode(#[from] EncodeError),
}

/// Client and server have agreed on a revision.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Connected<'a> {
    /// The revision it uses.
    pub revision: Revision,
    /// What the server offers, as far as the revision knows it. If the server was not asked, everything:
    /// what it does not have it refuses.
    pub capabilities: CapabilitySet,
    /// How it was found out to which era the server belongs.
    pub basis: NegotiationBasis,
    /// Everything the server said: an [`InitializeResult`](crate::model::InitializeResult) if there is a
    /// session, else a [`DiscoverResult`](crate::model::DiscoverResult), or an empty object if the server
    /// was not asked.
    pub result: Raw<'a>,
}

impl Connected<'_> {
    /// Who the server is, for people to read; nothing may depend on it. `None` if it has not said so, which
    /// without sessions it need not, or not in a form that can be read.
    pub fn server_info(&self) -> Option<Implementation<'_>> {
        server_info(&self.result, self.revision)
    }

    /// How to use the server, for the model. Empty and `None` are different.
    pub fn instructions(&self) -> Option<Str<'_>> {
        self.result.get("instructions")?.into_str()
    }

    /// The same with its own copy of the text.
    pub fn into_owned(self) -> Connected<'static> {
        Connected { result: self.result.into_owned(), ..self }
    }
}

/// Why client and server did not agree on a revision. The connection is closed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectFailure<'a> {
    /// The server refused.
    #[error("the server refused with error {0}")]
    PeerError(ErrorObject<'a>),
    /// The server chose a revision that the client does not speak.
    #[error("the server speaks revision {:?}, this client {ours}", theirs.to_str())]
    UnsupportedRevision {
        /// What the server chose.
        theirs: Str<'a>,
        /// What the client speaks.
        ours: RevisionSet,
    },
    /// The server speaks nothing that the client speaks.
    #[error("the server speaks {theirs}, this client {ours}")]
    NoCommonRevision {
        /// What the server speaks: the names of revisions.
        theirs: Raw<'a>,
        /// What the client speaks.
        ours: RevisionSet,
    },
    /// The server lacks what the client requires.
    #[error("the server does not offer {0}")]
    MissingCapabilities(CapabilitySet),
    /// The server answered with something that is no result of what it was asked.
    #[error("the server answered with nonsense when it was asked what it is: {kind}")]
    Malformed {
        /// What is wrong with it.
        kind: ViolationKind,
        /// What it answered: the whole message, or the result if that is what does not fit.
        message: MessageBytes<'a>,
    },
    /// The server did not answer within [`Timeouts::handshake`](crate::config::Timeouts::handshake), or, if it has
    /// to be one without sessions, within [`Timeouts::probe`](crate::config::Timeouts::probe).
    #[error("the server did not answer in time")]
    TimedOut,
    /// The server went away when it was asked what it is, as servers do that know nothing but `initialize`.
    /// Start it again: a [`Client::reconnect`](crate::Client::reconnect) begins with that.
    #[error("the server ended when it was asked what it is: {0}")]
    RestartAdvised(Cause),
    /// What carries requests has failed: there is nobody, or nobody who speaks MCP, or somebody who wants to know
    /// first who is asking.
    #[error(transparent)]
    TransportFailed(TransportFailure<'a>),
    /// The connection ended first.
    #[error("the connection ended before it was open: {0}")]
    Closed(Cause),
}

impl ConnectFailure<'_> {
    /// The same with its own copy of the text.
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
