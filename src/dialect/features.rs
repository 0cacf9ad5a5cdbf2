//! The features of the protocol that only some revisions have.

use crate::version::{Revision, RevisionSet};

/// A feature that only some revisions have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    /// JSON-RPC batches.
    Batches,
    /// Progress notifications can carry a message.
    ProgressMessages,
    /// Errors may omit `id`, where other revisions have `id: null`.
    AbsentErrorId,
    /// URL elicitations have ids and are reported as complete, and an error can ask for them.
    ElicitationIds,
    /// The second label of the prefix of a `_meta` key decides whether the prefix is reserved.
    ReservedBySecondLabel,
    /// Arguments that do not fit a tool fail the tool, not the request.
    ArgumentsAreTheTools,
    /// Tasks are part of the protocol, not an extension.
    Tasks,
    /// An unknown resource has an error code of its own.
    ResourceNotFoundCode,
    /// Event streams begin with an event id, so that a client can resume any of them.
    #[cfg(feature = "http")]
    PrimedStreams,
    /// HTTP requests carry a version header. It is required since 2025-06-18, and harmless before.
    #[cfg(feature = "http")]
    VersionHeader,
    /// A protected server has metadata that names its authorization servers.
    #[cfg(feature = "auth")]
    ResourceMetadata,
    /// An insufficient-scope challenge names the scopes of the request, and the client requests its earlier scopes as
    /// well.
    #[cfg(feature = "auth")]
    AddedScopes,
}

impl Feature {
    /// Returns the revisions that have the feature.
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

    /// Whether a revision has the feature.
    pub(crate) const fn is_in(self, revision: Revision) -> bool {
        self.revisions().contains(revision)
    }
}
