//! Features of the wire that came and went.

use crate::version::{Revision, RevisionSet};

/// Something that some revisions have and others do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    /// JSON-RPC batches.
    Batches,
    /// Reports of progress can say something in words.
    ProgressMessages,
    /// Errors without an `id`, where others have `id: null`.
    AbsentErrorId,
    /// Elicitations by URL have ids and are reported as complete, and there is an error that asks for
    /// them.
    ElicitationIds,
    /// The second label of a prefix of a `_meta` key says that it is reserved.
    ReservedBySecondLabel,
    /// Arguments that do not fit a tool are the failure of the tool, not of the request.
    ArgumentsAreTheTools,
    /// Tasks as part of the protocol, not as an extension.
    Tasks,
    /// A resource that is not there has an error code of its own.
    ResourceNotFoundCode,
    /// Streams of events that begin with an id, so that a client can come back for the rest of any of them.
    #[cfg(feature = "http")]
    PrimedStreams,
    /// Requests of HTTP say their version. None is harmed by it before it was asked for, in 2025-06-18.
    #[cfg(feature = "http")]
    VersionHeader,
    /// A server that wants tokens has metadata that name its authorization servers.
    #[cfg(feature = "auth")]
    ResourceMetadata,
    /// A challenge for want of scope names what the request needs, and the scopes of before are requested as well.
    #[cfg(feature = "auth")]
    AddedScopes,
}

impl Feature {
    /// The revisions that have it.
    pub(crate) const fn revisions(self) -> RevisionSet {
        match self {
            Self::Batches => RevisionSet::only(Revision::V2025_03_26),
            Self::ProgressMessages => RevisionSet::since(Revision::V2025_03_26),
            Self::ElicitationIds | Self::Tasks => RevisionSet::only(Revision::V2025_11_25),
            #[cfg(feature = "http")]
            Self::PrimedStreams => RevisionSet::only(Revision::V2025_11_25),
            Self::ResourceNotFoundCode => RevisionSet::LEGACY,
            #[cfg(feature = "http")]
            Self::VersionHeader => RevisionSet::since(Revision::V2025_03_26),
            #[cfg(feature = "auth")]
            Self::ResourceMetadata => RevisionSet::since(Revision::V2025_06_18),
            #[cfg(feature = "auth")]
            Self::AddedScopes => RevisionSet::since(Revision::V2026_07_28),
            Self::AbsentErrorId | Self::ReservedBySecondLabel | Self::ArgumentsAreTheTools => {
                RevisionSet::since(Revision::V2025_11_25)
            }
        }
    }

    /// Whether a revision has it.
    pub(crate) const fn is_in(self, revision: Revision) -> bool {
        self.revisions().contains(revision)
    }
}
