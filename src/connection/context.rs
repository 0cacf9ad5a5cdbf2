//! Under which rules a message is exchanged.

use core::fmt;
use core::time::Duration;

use super::request_meta::ModernMeta;
use crate::capability::{CapabilitySet, ExtensionSet};
use crate::handle::{Principal, Requestor};
use crate::model::LoggingLevel;
use crate::version::{Era, Revision};

/// The rules of one exchange, fixed when the request came in.
///
/// In a session they are those of the handshake, otherwise those that the request itself brings: a
/// handler that asks only the context serves both.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RequestContext {
    /// The revision.
    pub revision: Revision,
    /// What the peer offers, as far as the revision knows it.
    pub capabilities: CapabilitySet,
    /// The extensions that the request declares and that this side has
    /// ([`Server::extension`](crate::Server::extension)). There are none in a session.
    pub extensions: ExtensionSet,
    /// The least severe log messages that the request asks for. In a session it asks for none: what is
    /// wanted is said once, for all of it.
    pub log_level: Option<LoggingLevel>,
    /// Whether the peer asked for progress.
    pub wants_progress: bool,
    /// Who is asking.
    pub principal: Principal,
    /// Whose tasks the request reaches.
    pub requestor: Requestor,
    /// That the request may become a [task](crate::task), if it may.
    pub task: Option<TaskRequest>,
}

/// A request may be answered with a task.
///
/// In a session that is what it asks for. Where there are no sessions it says that its sender knows tasks,
/// and whether there is one is for this side to decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TaskRequest {
    /// How long the task should be kept, if the request says so.
    pub ttl: Option<Duration>,
}

impl RequestContext {
    /// The era of its revision: whether the request belongs to a session.
    pub const fn era(&self) -> Era {
        self.revision.era()
    }
}

/// The requestor only where it is another one than the principal.
impl fmt::Debug for RequestContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("RequestContext");
        debug
            .field("revision", &self.revision)
            .field("capabilities", &self.capabilities)
            .field("extensions", &self.extensions)
            .field("log_level", &self.log_level)
            .field("wants_progress", &self.wants_progress)
            .field("principal", &self.principal);
        if self.requestor != Requestor::Principal(self.principal) {
            debug.field("requestor", &self.requestor);
        }
        debug.field("task", &self.task).finish()
    }
}

impl Default for RequestContext {
    fn default() -> Self {
        Self {
            revision: Revision::LATEST_LEGACY,
            capabilities: CapabilitySet::NONE,
            extensions: ExtensionSet::default(),
            log_level: None,
            wants_progress: false,
            principal: Principal::default(),
            requestor: Requestor::default(),
            task: None,
        }
    }
}

impl From<Negotiated> for RequestContext {
    fn from(negotiated: Negotiated) -> Self {
        let Negotiated { revision, theirs, .. } = negotiated;
        Self { revision, capabilities: theirs, ..Self::default() }
    }
}

impl From<ModernMeta> for RequestContext {
    fn from(meta: ModernMeta) -> Self {
        let ModernMeta { revision, capabilities, extensions, log_level } = meta;
        Self { revision, capabilities, extensions, log_level, ..Self::default() }
    }
}

/// The revision and the capabilities that client and server negotiated for a session, or that a modern request declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Negotiated {
    pub(crate) revision: Revision,
    /// What this side offers, as far as the revision knows it.
    pub(crate) ours: CapabilitySet,
    /// What the other side offers, as far as the revision knows it.
    pub(crate) theirs: CapabilitySet,
}
