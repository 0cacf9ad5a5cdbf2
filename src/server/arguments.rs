//! What a server answers if the arguments of a call do not fit the tool.

use super::Server;
use crate::BadArguments;
use crate::capability::CapabilitySet;
use crate::config::ServerConfig;
use crate::dialect::RespondError;
use crate::dialect::features::Feature;
use crate::error::ErrorCode;
use crate::handle::InboundId;
use crate::model::CallToolResult;
use crate::peer::Outlets;

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
    /// As for [`respond`](crate::Connection::respond).
    pub fn reject_missing(
        &mut self,
        request: InboundId,
        needed: CapabilitySet,
        out: &mut impl Outlets,
    ) -> Result<(), RespondError> {
        let (peer, cx) = &mut self.connection.enter(None, out);
        peer.serving.reject_missing(cx, request, needed)
    }

    /// Answers a `tools/call` whose arguments do not fit the tool, as
    /// [`ServerConfig::bad_arguments`] says. The text tells what is wrong with them, for a model.
    ///
    /// An unknown tool is another thing: [`reject`](crate::Connection::reject) it with
    /// [`INVALID_PARAMS`](crate::ErrorCode::INVALID_PARAMS) in every revision.
    ///
    /// # Errors
    ///
    /// As for [`respond`](crate::Connection::respond).
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
