//! Emits `tracing` events for the activity of a connection, if the feature `tracing` is enabled. The events contain
//! methods, ids and reasons, but no payloads: the `Debug` output of protocol events shows kinds and lengths only.

use mcp_sansio::{CallId, Cause, IncomingId, Outcome};

use crate::machine::Machine;

/// The target of all events.
#[cfg(feature = "tracing")]
const TARGET: &str = "mcp";

/// A request is passed to its handler.
pub(crate) fn request<M: Machine>(id: IncomingId, request: &M::Request) {
    #[cfg(feature = "tracing")]
    {
        let method = M::parts(request).method.to_str();
        tracing::debug!(target: TARGET, ?id, ?method, "a request is served");
    }
    _ = (id, request);
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
pub(crate) fn call_ended(call: CallId, outcome: &Outcome<'_>) {
    #[cfg(feature = "tracing")]
    tracing::debug!(target: TARGET, ?call, ?outcome, "a call has ended");
    _ = (call, outcome);
}

/// Another protocol event.
pub(crate) fn event<M: Machine>(event: &M::Event) {
    #[cfg(feature = "tracing")]
    tracing::debug!(target: TARGET, ?event, "an event");
    _ = event;
}

/// The connection, or its input, has ended.
pub(crate) fn disconnected(cause: Cause) {
    #[cfg(feature = "tracing")]
    tracing::debug!(target: TARGET, %cause, "disconnected");
    _ = cause;
}
