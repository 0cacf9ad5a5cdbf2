//! The revision, the capabilities and the sender that apply to a message.

use core::fmt;
use core::time::Duration;

use super::request_meta::ModernMeta;
use crate::capability::{CapabilitySet, ExtensionSet};
use crate::handle::{Principal, Requestor};
use crate::model::LoggingLevel;
use crate::version::{Era, Revision};

/// The rules of one request of the peer, fixed when the request is received.
///
/// In a session the rules come from the handshake, otherwise from the request itself. A handler that reads only the
/// context serves both eras.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RequestContext {
    /// The revision of the request.
    pub revision: Revision,
    /// The capabilities that the peer declares, limited to those that the revision defines.
    pub capabilities: CapabilitySet,
    /// The extensions that the request declares and this side supports
    /// ([`ServerConfig::extension`](crate::ServerConfig::extension)). Empty in a session.
    pub extensions: ExtensionSet,
    /// The least severe log messages that the request asks for. `None` in a session, where the level is set once for
    /// the whole session.
    pub log_level: Option<LoggingLevel>,
    /// Whether the peer asked for progress.
    pub wants_progress: bool,
    /// The sender of the request.
    pub principal: Principal,
    /// The owner of the tasks that the request can reach.
    pub requestor: Requestor,
    /// The parameters of the [task](crate::task) that the request may become, if any.
    pub task: Option<TaskRequest>,
}

/// The parameters of the task that a request may be answered with.
///
/// In a session the request asks for a task. In the modern era the request only declares that its sender supports
/// tasks, and this side decides whether to create one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TaskRequest {
    /// How long the task should be kept, if the request names a time.
    pub ttl: Option<Duration>,
}

impl RequestContext {
    /// Returns the era of the revision: whether the request belongs to a session.
    pub const fn era(&self) -> Era {
        self.revision.era()
    }
}

/// Prints the requestor only if it differs from the principal.
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

/// The revision and the capabilities that client and server negotiated for a session, or that a modern request
/// declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Negotiated {
    pub(crate) revision: Revision,
    /// The capabilities that this side declares, limited to those that the revision defines.
    pub(crate) ours: CapabilitySet,
    /// The capabilities that the peer declares, limited to those that the revision defines.
    pub(crate) theirs: CapabilitySet,
}
