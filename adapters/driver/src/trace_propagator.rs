//! [`TracePropagator`]: connects the spans of both sides of a connection.

use std::fmt;
use std::sync::Arc;

use mcp_sansio::model::TraceContext;
use tracing::Span;

/// Connects the spans of this side with those of the peer, by the [`TraceContext`] in the metadata of requests.
///
/// `tracing` has no trace ids: the subscriber of the application does. The example `opentelemetry` of
/// `mcp-sansio-tokio` implements this trait with `tracing-opentelemetry`, in 30 lines.
/// [`ConnectionOptions::trace_propagator`](crate::ConnectionOptions::trace_propagator) sets it.
///
/// ```
/// use mcp_sansio::model::TraceContext;
/// use mcp_sansio_driver::{ConnectionOptions, TracePropagator};
/// use tracing::Span;
///
/// /// Puts every call into one trace, and does not look at the traces of the peer.
/// struct OneTrace(TraceContext<'static>);
///
/// impl TracePropagator for OneTrace {
///     fn extract(&self, _: &Span, _: &TraceContext<'_>) {}
///
///     fn inject(&self, _: &Span) -> Option<TraceContext<'static>> {
///         Some(self.0.clone())
///     }
/// }
///
/// let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// let trace = TraceContext::new(parent).ok_or("invalid")?;
/// let options = ConnectionOptions::new().trace_propagator(OneTrace(trace));
/// # _ = options;
/// # Ok::<(), &str>(())
/// ```
pub trait TracePropagator: Send + Sync {
    /// Makes the span of a request a child of the span of the peer. Called before the span is entered first, only for
    /// requests with a trace context, and never while the connection is locked.
    fn extract(&self, span: &Span, context: &TraceContext<'_>);

    /// Returns the trace context of a span, for the peer; `None` sends none. Called for every call whose params have
    /// no trace context, and never while the connection is locked.
    ///
    /// The span is that of the call. If no subscriber wants it, it is the current span of the caller.
    fn inject(&self, span: &Span) -> Option<TraceContext<'static>>;
}

/// The propagator of a connection, as one of its extensions.
pub(crate) struct Propagation(pub(crate) Arc<dyn TracePropagator>);

impl fmt::Debug for Propagation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Propagation").finish_non_exhaustive()
    }
}
