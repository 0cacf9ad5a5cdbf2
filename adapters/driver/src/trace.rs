//! Says what happens on a connection to `tracing`, if the feature with that name is on. Methods, ids and
//! reasons are said, payloads never: the `Debug` of events shows kinds and lengths.

use mcp_sansio::{CallId, Cause, IncomingId, Outcome};

use crate::machine::Machine;

/// Where these events come from.
#[cfg(feature = "tracing")]
const TARGET: &str = "mcp";

/// A request goes to its handler.
pub(crate) fn request<M: Machine>(id: IncomingId, request: &M::Request) {
    #[cfg(feature = "tracing")]
    {
        let method = M::method(request).to_str();
        tracing::debug!(target: TARGET, ?id, ?method, "a request is served");
    }
    _ = (id, request);
}

/// A request of the peer has been answered by its handler.
pub(crate) fn answered(id: IncomingId) {
    #[cfg(feature = "tracing")]
    tracing::debug!(target: TARGET, ?id, "a request has been answered");
    _ = id;
}

/// A handler has ended without answering its request.
pub(crate) fn unanswered(id: IncomingId) {
    #[cfg(feature = "tracing")]
    tracing::warn!(target: TARGET, ?id, "a handler has not answered its request");
    _ = id;
}

/// A call has ended.
pub(crate) fn call_ended(call: CallId, outcome: &Outcome<'_>) {
    #[cfg(feature = "tracing")]
    tracing::debug!(target: TARGET, ?call, ?outcome, "a call has ended");
    _ = (call, outcome);
}

/// Something else has happened.
pub(crate) fn event<M: Machine>(event: &M::Event) {
    #[cfg(feature = "tracing")]
    tracing::debug!(target: TARGET, ?event, "an event");
    _ = event;
}

/// The connection, or its input, is over.
pub(crate) fn disconnected(cause: Cause) {
    #[cfg(feature = "tracing")]
    tracing::debug!(target: TARGET, %cause, "disconnected");
    _ = cause;
}
