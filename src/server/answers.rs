//! The responses that only a server sends: input required, capabilities missing, subscriptions granted, tasks.

use super::Server;
use super::event::Request;
use crate::capability::{Capability, CapabilitySet};
use crate::codes::ErrorCode;
use crate::config::BadArguments;
use crate::connection::{Cx, Outboxes};
use crate::dialect::features::Feature;
use crate::dialect::{NotAllowed, RespondError};
use crate::handle::IncomingId;
use crate::interests::Filter;
use crate::json::Raw;
use crate::model::{CallToolResult, InputRequired, SubscriptionFilter, TaskSupport};
use crate::rpc::Fault;
use crate::task::EXTENSION;
use crate::time::Instant;

/// How a tool call is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "there is no third way")]
pub enum TaskMode {
    /// The response to the call is its result.
    Inline,
    /// The call may become a task. In a session the client has asked for the task; in the modern era the server
    /// decides.
    Task,
}

/// # Requiring input
impl Server {
    /// Requires client input before a request can be answered: user input, the output of a model, the roots. The
    /// request comes again as another [`Request`] event, with [`inputs`](Request::inputs) and
    /// [`state`](Request::state). In the modern era its old handle is then stale.
    ///
    /// The handler is the same in both eras. In the modern era the response asks for the input, the client repeats
    /// the request if and when it likes, and the server keeps no state of it. In a session the machine sends one
    /// request to the client for each input. Once all of them are answered, the same request comes again with the
    /// same [`id`](Request::id). If one of them is answered with an error, or not in time, the machine fails the
    /// request and reports [`CancelCause::InputFailed`](crate::event::CancelCause::InputFailed).
    ///
    /// Only `tools/call`, `prompts/get` and `resources/read` may require input. A client can return any state:
    /// [`request_state`](crate::request_state) protects it.
    ///
    /// # Errors
    ///
    /// [`RespondError::NotAllowed`] if the request has another method, if the client has not declared the input
    /// ([`reject_missing`](Self::reject_missing) reports that to the client), or if the connection is closing and the
    /// client cannot be asked any more. [`RespondError::Encode`] if neither input nor a state is given, or if a
    /// request for input does not fit the revision. [`RespondError::TooManyRounds`] in a session, if input was required
    /// too often or too many calls are pending. In all these cases the request is still open. Otherwise as for
    /// [`respond`](crate::Connection::respond).
    pub fn require_input(
        &mut self,
        request: &Request<'_>,
        required: &InputRequired<'_>,
        now: Instant,
        out: &mut impl Outboxes,
    ) -> Result<(), RespondError> {
        let params = request.params.as_ref().map(Raw::as_json);
        let request = (request.id, params);
        let (dispatcher, cx) = &mut self.connection.enter(Some(now), out);
        dispatcher.serving.require_input(cx, request, required)
    }
}

/// # Responses that depend on the revision
impl Server {
    /// Refuses a request because the client has not declared the capabilities that it needs. The response names the
    /// missing capabilities: with `-32021` in the modern era, and in a session with a failed tool result for a
    /// `tools/call`, otherwise with `-32602`.
    ///
    /// Check [`RequestContext::capabilities`](crate::RequestContext::capabilities) before any irreversible work.
    ///
    /// # Errors
    ///
    /// As for [`respond`](crate::Connection::respond).
    pub fn reject_missing(
        &mut self,
        request: IncomingId,
        needed: CapabilitySet,
        out: &mut impl Outboxes,
    ) -> Result<(), RespondError> {
        let (dispatcher, cx) = &mut self.connection.enter(None, out);
        dispatcher.serving.reject_missing(cx, request, needed)
    }

    /// Answers a `tools/call` whose arguments do not fit the tool, according to
    /// [`ServerConfig::bad_arguments`](crate::ServerConfig::bad_arguments). The text describes the defect for a
    /// model.
    ///
    /// For an unknown tool, use [`reject`](crate::Connection::reject) with
    /// [`INVALID_PARAMS`](crate::ErrorCode::INVALID_PARAMS) in every revision.
    ///
    /// # Errors
    ///
    /// As for [`respond`](crate::Connection::respond).
    pub fn reject_arguments(
        &mut self,
        request: IncomingId,
        text: &str,
        out: &mut impl Outboxes,
    ) -> Result<(), RespondError> {
        let is_the_tools = match self.config.bad_arguments {
            BadArguments::Request => false,
            BadArguments::Tool => true,
            BadArguments::ByRevision => self
                .in_flight()
                .context(request)
                .is_none_or(|context| Feature::ArgumentsAreTheTools.is_in(context.revision)),
        };
        if is_the_tools {
            self.respond(request, &CallToolResult::error(text), out)
        } else {
            self.reject(request, ErrorCode::INVALID_PARAMS, text, out)
        }
    }

    /// Decides how the call of a tool with this [`taskSupport`](TaskSupport) is served. `None` means that the call
    /// has been rejected, before the tool did anything.
    ///
    /// | tool | in a session with tasks | in the modern era |
    /// |---|---|---|
    /// | forbidden | inline; `-32601` if a task is asked for | inline |
    /// | optional | as the client asks | a task if the client supports tasks, otherwise inline |
    /// | required | a task; `-32601` if none is asked for | a task; `-32021` if the client does not support tasks |
    ///
    /// In a session of an earlier revision every tool runs inline, except a tool that requires a task: its calls are
    /// rejected with `-32601`.
    ///
    /// # Errors
    ///
    /// [`RespondError::NotAllowed`] if the tool requires a task and the configuration does not offer it: with the
    /// capability `tasks.requests.tools.call` in a session, with the [extension](EXTENSION) in the modern era.
    /// Otherwise as for [`respond`](crate::Connection::respond).
    pub fn task_mode(
        &mut self,
        request: IncomingId,
        support: &TaskSupport<'_>,
        out: &mut impl Outboxes,
    ) -> Result<Option<TaskMode>, RespondError> {
        self.connection.dispatcher.serving.check_answerable(request)?;
        let context = self.in_flight().context(request).ok_or(RespondError::Stale)?;
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
        request: IncomingId,
        in_session: bool,
        out: &mut dyn Outboxes,
    ) -> Result<(), RespondError> {
        let config = &self.config.connection;
        if in_session {
            let needed = Capability::ServerTasksCallTool;
            if !self.connection.dispatcher.messages().session.offered.contains(needed) {
                return Err(NotAllowed::Capability(needed).into());
            }
            let fault = Fault::plain(ErrorCode::METHOD_NOT_FOUND, &"the tool runs only as a task");
            return self.connection.dispatcher.serving.reject(
                &mut Cx::undated(config, out),
                request,
                fault,
            );
        }
        self.connection.dispatcher.serving.reject_missing_extension(
            &mut Cx::undated(config, out),
            request,
            EXTENSION,
        )
    }
}

/// # Granting subscriptions
impl Server {
    /// Grants a subscription, as far as `filter` allows it and the server offers it. Without a filter, it grants
    /// everything that was requested. The client receives the granted filter, and then the changes since its request.
    /// Tasks are granted only by [`ConnectionTasks::grant`](crate::drive::ConnectionTasks::grant).
    ///
    /// The subscription lasts until the client cancels it, the connection ends, or the application answers the
    /// request with [`respond`](crate::Connection::respond) and `()`.
    ///
    /// # Errors
    ///
    /// As for [`respond`](crate::Connection::respond).
    pub fn grant(
        &mut self,
        request: IncomingId,
        filter: Option<&SubscriptionFilter<'_>>,
        out: &mut impl Outboxes,
    ) -> Result<(), RespondError> {
        self.connection.dispatcher.serving.check_answerable(request)?;
        let filter = filter.map(Raw::from_serialize).transpose()?;
        let filter = filter.map(|filter| Filter::read(filter.as_json()));
        let (dispatcher, cx) = &mut self.connection.enter(None, out);
        Ok(dispatcher.serving.acknowledge(cx, request, filter.as_ref(), |_| false)?)
    }
}
