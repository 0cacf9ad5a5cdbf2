//! Which calls of tools become tasks.

use super::Server;
use crate::capability::Capability;
use crate::dialect::{NotAllowed, RespondError};
use crate::error::ErrorCode;
use crate::handle::InboundId;
use crate::model::TaskSupport;
use crate::peer::{Cx, Outlets};
use crate::rpc::Fault;
use crate::task::EXTENSION;

/// How a tool is to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "there is no third way")]
pub enum TaskMode {
    /// The call is answered with its result.
    Inline,
    /// The call may become a task. In a session it is one that the client has asked for, where there are
    /// no sessions that is for the server to decide.
    Task,
}

impl Server {
    /// Says how the call of a tool with this [`taskSupport`](TaskSupport) is to be served. `None` means not
    /// at all: it has been rejected, before the tool did anything.
    ///
    /// | tool | in a session that has tasks | where there are no sessions |
    /// |---|---|---|
    /// | forbidden | inline; `-32601` if a task is asked for | inline |
    /// | optional | as the client asks | a task if the client knows tasks, otherwise inline |
    /// | required | a task; `-32601` if none is asked for | a task; `-32021` if the client does not know tasks |
    ///
    /// In a session without tasks every tool runs inline but those that require one, whose calls get
    /// `-32601`.
    ///
    /// # Errors
    ///
    /// [`RespondError::NotAllowed`] if the tool requires what the configuration does not offer: the
    /// capability `tasks.requests.tools.call` or the [extension](EXTENSION). Otherwise as for
    /// [`respond`](crate::Connection::respond).
    pub fn task_mode(
        &mut self,
        request: InboundId,
        support: &TaskSupport<'_>,
        out: &mut impl Outlets,
    ) -> Result<Option<TaskMode>, RespondError> {
        self.connection.peer.serving.check_answerable(request)?;
        let context = self.context(request).ok_or(RespondError::Stale)?;
        let in_session = context.revision.rules().tasks.asked_for;
        match (support, context.task.is_some()) {
            (TaskSupport::Optional | TaskSupport::Required, true) => Ok(Some(TaskMode::Task)),
            (TaskSupport::Required, false) => {
                self.reject_without_task(request, in_session, out)?;
                Ok(None)
            }
            (_, true) if in_session => {
                let (code, text) = (ErrorCode::METHOD_NOT_FOUND, "the tool cannot run as a task");
                self.reject(request, code, text, out)?;
                Ok(None)
            }
            _ => Ok(Some(TaskMode::Inline)),
        }
    }

    /// Rejects the call of a tool that runs only as a task.
    fn reject_without_task(
        &mut self,
        request: InboundId,
        in_session: bool,
        out: &mut dyn Outlets,
    ) -> Result<(), RespondError> {
        let config = &self.config.connection;
        if in_session {
            let needed = Capability::ServerTasksCallTool;
            if !self.connection.peer.messages().session.offered.contains(needed) {
                return Err(NotAllowed::Capability(needed).into());
            }
            let fault = Fault::plain(ErrorCode::METHOD_NOT_FOUND, &"the tool runs only as a task");
            return self.connection.peer.serving.reject(
                &mut Cx::undated(config, out),
                request,
                fault,
            );
        }
        self.connection.peer.serving.reject_missing_extension(
            &mut Cx::undated(config, out),
            request,
            EXTENSION,
        )
    }
}
