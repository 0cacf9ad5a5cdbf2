//! What a server answers if the arguments of a call do not fit the tool.

use super::{Server, ServerConfig};
use crate::capability::CapabilitySet;
use crate::dialect::RespondError;
use crate::dialect::features::Feature;
use crate::error::ErrorCode;
use crate::handle::InboundId;
use crate::model::CallToolResult;
use crate::peer::{Cx, Outlets};

/// Whose failure it is if the arguments of a call do not fit the tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BadArguments {
    /// What the revision of the session says: until 2025-06-18 the request is at fault, since
    /// 2025-11-25 the tool fails, so that the model learns of it and tries again
    /// ([error handling](https://modelcontextprotocol.io/specification/2025-11-25/server/tools#error-handling)).
    #[default]
    ByRevision,
    /// The request is at fault: the answer is the error `-32602`.
    Request,
    /// The tool fails: the answer is a result with `isError`.
    Tool,
}

impl ServerConfig {
    fn arguments_are_the_tools(&self, server: &Server, request: InboundId) -> bool {
        match self.bad_arguments {
            BadArguments::Request => false,
            BadArguments::Tool => true,
            BadArguments::ByRevision => server
                .context(request)
                .is_none_or(|context| Feature::ArgumentsAreTheTools.is_in(context.revision)),
        }
    }
}

impl Server {
    /// Refuses a request because the client has not declared what it takes to serve it. The client is
    /// told which of the needed capabilities it lacks: with `-32021` where requests stand alone, in a
    /// session with a failure of the tool if one was called, else with `-32602`.
    ///
    /// Ask [`RequestContext::capabilities`](crate::RequestContext::capabilities) before anything is done
    /// that cannot be undone.
    ///
    /// # Errors
    ///
    /// As for [`respond`](Self::respond).
    pub fn reject_missing(
        &mut self,
        request: InboundId,
        needed: CapabilitySet,
        out: &mut impl Outlets,
    ) -> Result<(), RespondError> {
        self.peer.serving.reject_missing(
            &mut Cx::undated(&self.config.connection, out),
            request,
            needed,
        )
    }

    /// Answers a `tools/call` whose arguments do not fit the tool, as
    /// [`ServerConfig::bad_arguments`] says. The text tells what is wrong with them, for a model.
    ///
    /// An unknown tool is another thing: [`reject`](Self::reject) it with
    /// [`INVALID_PARAMS`](crate::ErrorCode::INVALID_PARAMS) in every revision.
    ///
    /// # Errors
    ///
    /// As for [`respond`](Self::respond).
    pub fn reject_arguments(
        &mut self,
        request: InboundId,
        text: &str,
        out: &mut impl Outlets,
    ) -> Result<(), RespondError> {
        if self.config.arguments_are_the_tools(self, request) {
            self.respond(request, &CallToolResult::error(text), out)
        } else {
            self.reject(request, ErrorCode::INVALID_PARAMS, text, out)
        }
    }
}
