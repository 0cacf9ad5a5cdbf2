//! [`ToolHeaders`]: the header fields of tools that change while the endpoint serves.

use std::fmt;
use std::sync::Arc;

use mcp_sansio::http::ParamHeaders;

/// A function that returns the header fields that clients repeat the arguments of a tool in, for tools that change while the
/// endpoint serves: see [`EndpointOptions::tool_headers`](crate::EndpointOptions::tool_headers). Clones share the function.
#[derive(Clone)]
pub struct ToolHeaders(Arc<Function>);

type Function = dyn Fn(&str) -> Option<Arc<ParamHeaders>> + Send + Sync;

impl ToolHeaders {
    /// Wraps a function of the name of a tool. It must not block. `None` if the call is not checked.
    pub fn new(
        headers_of: impl Fn(&str) -> Option<Arc<ParamHeaders>> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(headers_of))
    }

    pub(crate) fn of(&self, tool: &str) -> Option<Arc<ParamHeaders>> {
        (self.0)(tool)
    }
}

impl fmt::Debug for ToolHeaders {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ToolHeaders").finish_non_exhaustive()
    }
}
