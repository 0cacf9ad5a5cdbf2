//! The span of an exchange.

#[cfg(feature = "tracing")]
use mcp_sansio::event::Id;
use mcp_sansio::{Era, ErrorCode, RespondError};

use super::Exchange;
#[cfg(feature = "tracing")]
use super::Inner;
use crate::machine::Machine;
#[cfg(feature = "tracing")]
use crate::spans::RequestSource;
use crate::spans::{RequestSpan, SpanScope};
#[cfg(feature = "tracing")]
use crate::trace_propagator::Propagation;

impl<M: Machine> Exchange<M> {
    /// Returns the span of the request, in which its handler runs. It begins with the first call.
    pub(crate) fn scope(&self) -> SpanScope {
        #[cfg(feature = "tracing")]
        return self.inner.span.begin(&M::parts(self.request()), &*self.inner);
        #[cfg(not(feature = "tracing"))]
        SpanScope::current()
    }

    /// For adapters. Runs a handler in the span of the request.
    pub fn in_span<T>(&self, serve: impl FnOnce() -> T) -> T {
        self.scope().run(serve)
    }

    /// Returns the span of the request, in which its handler runs: for code of the handler that runs elsewhere, and for
    /// further attributes.
    #[cfg(feature = "tracing")]
    pub fn span(&self) -> tracing::Span {
        self.scope().span().clone()
    }

    /// Returns the code that the peer gets: the modern era has none for resources that are not found.
    pub(super) fn code_on_the_wire(&self, code: ErrorCode) -> ErrorCode {
        let is_modern = M::parts(self.request()).revision.era() == Era::Modern;
        if is_modern && code == ErrorCode::RESOURCE_NOT_FOUND {
            return ErrorCode::INVALID_PARAMS;
        }
        code
    }

    /// Notes the response that was sent in the span of the request.
    pub(super) fn noted(
        &self,
        sent: Result<(), RespondError>,
        note: impl FnOnce(&RequestSpan),
    ) -> Result<(), RespondError> {
        if sent.is_ok() {
            note(&self.inner.span);
        }
        sent
    }
}

#[cfg(feature = "tracing")]
impl<M: Machine> RequestSource for Inner<M> {
    fn peer_id(&self) -> Option<Id<'static>> {
        let wire = self.handle.wire().lock();
        wire.machine.in_flight().peer_id(self.id()).map(Id::into_owned)
    }

    fn session_id(&self) -> Option<&str> {
        self.admitted.permit.as_deref()?.session_id()
    }

    fn propagation(&self) -> Option<&Propagation> {
        self.handle.wire().extension()
    }
}
