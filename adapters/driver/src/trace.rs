//! Emits `tracing` events for the activity of a connection, if the feature `tracing` is enabled. The events contain
//! methods, ids and reasons, but no payloads: the `Debug` output of protocol events shows kinds and lengths only.
//!
//! A subscriber may use the connection, for example to send the client a log message, and it may panic. So no event is
//! emitted under the lock: it becomes one of the [`Entries`] there, which are emitted later.

use mcp_sansio::{CallId, Cause, IncomingId, Outcome};
#[cfg(feature = "tracing")]
use tracing::level_filters::{LevelFilter, STATIC_MAX_LEVEL};

use crate::after_unlock::AfterUnlock;
use crate::machine::Machine;

/// The target of all events.
#[cfg(feature = "tracing")]
const TARGET: &str = "mcp";

/// Events that happened under the lock of a connection.
#[must_use = "dropping the entries loses them"]
#[derive(Default)]
pub(crate) struct Entries {
    #[cfg(feature = "tracing")]
    entries: Vec<Entry>,
}

impl Entries {
    /// Emits the events. The caller must not hold a lock.
    pub(crate) fn emit(self) {
        #[cfg(feature = "tracing")]
        self.entries.into_iter().for_each(Entry::emit);
    }
}

#[cfg(feature = "tracing")]
enum Entry {
    Request {
        id: IncomingId,
        method: String,
    },
    CallEnded {
        call: CallId,
        outcome: String,
    },
    Event(String),
    #[cfg(feature = "http")]
    NotTaken {
        status: Option<u16>,
    },
}

#[cfg(feature = "tracing")]
impl Entry {
    /// Whether a subscriber may want these events. It is not asked, because it may use the connection.
    fn is_enabled() -> bool {
        Self::is_enabled_at(LevelFilter::DEBUG)
    }

    fn is_enabled_at(level: LevelFilter) -> bool {
        level <= STATIC_MAX_LEVEL.min(LevelFilter::current())
    }

    fn emit(self) {
        match self {
            Self::Request { id, method } => {
                tracing::debug!(target: TARGET, ?id, ?method, "a request is served");
            }
            Self::CallEnded { call, outcome } => {
                tracing::debug!(target: TARGET, ?call, %outcome, "a call has ended");
            }
            Self::Event(event) => tracing::debug!(target: TARGET, %event, "an event"),
            #[cfg(feature = "http")]
            Self::NotTaken { status } => {
                tracing::warn!(target: TARGET, ?status, "the server has not accepted a message");
            }
        }
    }
}

/// A request is passed to its handler.
pub(crate) fn request<M: Machine>(after: &mut AfterUnlock, id: IncomingId, request: &M::Request) {
    #[cfg(feature = "tracing")]
    if Entry::is_enabled() {
        let method = M::parts(request).method.to_str().into_owned();
        after.more().entries.entries.push(Entry::Request { id, method });
    }
    _ = (after, id, request);
}

/// A handler has responded to a request of the peer.
pub(crate) fn answered(id: IncomingId) {
    #[cfg(feature = "tracing")]
    tracing::debug!(target: TARGET, ?id, "a request has been answered");
    _ = id;
}

/// A handler has ended without a response to its request.
pub(crate) fn unanswered(id: IncomingId) {
    #[cfg(feature = "tracing")]
    tracing::warn!(target: TARGET, ?id, "a handler has not answered its request");
    _ = id;
}

/// An entry of a router has replaced another one.
#[cfg(feature = "server")]
pub(crate) fn replaced(kind: &str, name: &str) {
    #[cfg(feature = "tracing")]
    tracing::warn!(target: TARGET, kind, name, "an entry has replaced the one with the same name");
    _ = (kind, name);
}

/// A call has ended.
pub(crate) fn call_ended(after: &mut AfterUnlock, call: CallId, outcome: &Outcome<'_>) {
    #[cfg(feature = "tracing")]
    if Entry::is_enabled() {
        let outcome = format!("{outcome:?}");
        after.more().entries.entries.push(Entry::CallEnded { call, outcome });
    }
    _ = (after, call, outcome);
}

/// Another protocol event.
pub(crate) fn event<M: Machine>(after: &mut AfterUnlock, event: &M::Event) {
    #[cfg(feature = "tracing")]
    if Entry::is_enabled() {
        after.more().entries.entries.push(Entry::Event(format!("{event:?}")));
    }
    _ = (after, event);
}

/// A server over HTTP has not accepted a notification or a response of this side. Its handler was not notified, and the
/// server may wait for the response until its own timeout.
#[cfg(feature = "http")]
pub(crate) fn not_taken(after: &mut AfterUnlock, status: Option<u16>) {
    #[cfg(feature = "tracing")]
    if Entry::is_enabled_at(LevelFilter::WARN) {
        after.more().entries.entries.push(Entry::NotTaken { status });
    }
    _ = (after, status);
}

/// The connection, or its input, has ended.
pub(crate) fn disconnected(cause: Cause) {
    #[cfg(feature = "tracing")]
    tracing::debug!(target: TARGET, %cause, "disconnected");
    _ = cause;
}
