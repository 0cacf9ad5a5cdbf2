//! Under which rules a request is served.

use super::outlets::Principal;
use crate::capability::CapabilitySet;
use crate::version::Revision;

/// The rules of one exchange, fixed when the request came in.
///
/// In a session they are those of the handshake. They come with each request because a later
/// revision of the protocol has no sessions: a handler that asks only the context serves both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RequestContext {
    /// The revision.
    pub revision: Revision,
    /// What the peer offers, as far as the revision knows it.
    pub capabilities: CapabilitySet,
    /// Whether the peer asked for progress.
    pub wants_progress: bool,
    /// Who is asking.
    pub principal: Principal,
}

impl Default for RequestContext {
    fn default() -> Self {
        Self {
            revision: Revision::LATEST_HANDSHAKE,
            capabilities: CapabilitySet::NONE,
            wants_progress: false,
            principal: Principal::default(),
        }
    }
}
