//! The answers that only a server gives: input required, capabilities missing, subscriptions granted, tasks.

use super::Server;
use super::event::Request;
use crate::capability::{Capability, CapabilitySet};
use crate::codes::ErrorCode;
use crate::config::BadArguments;
use crate::connection::{Cx, Outboxes, TaskHost};
use crate::dialect::features::Feature;
use crate::dialect::{NotAllowed, RespondError};
use crate::handle::IncomingId;
use crate::interests::Filter;
use crate::json::Raw;
use crate::model::{CallToolResult, InputRequired, SubscriptionFilter, TaskSupport};
use crate::rpc::Fault;
use crate::task::{EXTENSION, Tasks};
use crate::time::Instant;

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

/// # Asking for input
impl Server {
    /// Ends a request because something is needed of the client before it can be answered: something the
    /// user has to fill in, the answer of a model, the roots. The request comes again, as another
    /// [`Request`] event, with [`inputs`](Request::inputs) and [`state`](Request::state).
    ///
    /// The handler is the same in both eras. Where requests stand alone the answer says so, and the client makes
    /// the request again if and when it likes; nothing of it is kept here. In a session the machine asks
    /// the client itself, one request for each thing, and the same request (it has the same
    /// [`id`](Request::id)) comes again once all answers are there. If one of them is an error or does
    /// not come in time, the machine answers the request with a failure and says so with
    /// [`CancelCause::InputFailed`](crate::event::CancelCause::InputFailed).
    ///
    /// Only `tools/call`, `prompts/get` and `resources/read` may need input. A client can bring back any
    /// state: [`request_state`](crate::request_state) protects it.
    ///
    /// # Errors
    ///
    /// [`RespondError::NotAllowed`] if the request is not of these methods, or if the client has not
    /// declared what is asked for ([`reject_missing`](Self::reject_missing) tells it so), or if it cannot be
    /// asked any more because the connection is closing;
    /// [`RespondError::Encode`] if neither anything is asked for nor a state is given, or if something
    /// that is asked for does not fit the revision. The request is still open.
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

/// # Answering as the revision says
impl Server {
    /// Refuses a request because the client has not declared what it takes to serve it. The answer
    /// names the capabilities that the client lacks: with `-32021` where requests stand alone, in a
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
        request: IncomingId,
        needed: CapabilitySet,
        out: &mut impl Outboxes,
    ) -> Result<(), RespondError> {
        let (dispatcher, cx) = &mut self.connection.enter(None, out);
        dispatcher.serving.reject_missing(cx, request, needed)
    }

    /// Answers a `tools/call` whose arguments do not fit the tool, as
    /// [`ServerConfig::bad_arguments`](crate::ServerConfig::bad_arguments) says. The text tells what is wrong with them, for a model.
    ///
    /// An unknown tool is another thing: [`reject`](crate::Connection::reject) it with
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
                .context(request)
                .is_none_or(|context| Feature::ArgumentsAreTheTools.is_in(context.revision)),
        };
        if is_the_tools {
            self.respond(request, &CallToolResult::error(text), out)
        } else {
            self.reject(request, ErrorCode::INVALID_PARAMS, text, out)
        }
    }

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
        request: IncomingId,
        support: &TaskSupport<'_>,
        out: &mut impl Outboxes,
    ) -> Result<Option<TaskMode>, RespondError> {
        self.connection.dispatcher.serving.check_answerable(request)?;
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
    /// Grants a subscription, as far as `filter` goes and the server offers it; everything that was asked
    /// for if there is none. The client is sent what is granted, and first of all what has changed since
    /// it asked. Tasks are granted by [`grant_with_tasks`](Self::grant_with_tasks) only.
    ///
    /// The subscription lasts until the client cancels it, the connection ends, or the request is
    /// answered with [`respond`](crate::Connection::respond) and `()`.
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

    /// The same, for a subscription that may be about tasks as well: of these it gets those that it may
    /// see, and first of all how far each is.
    ///
    /// # Errors
    ///
    /// As for [`respond`](crate::Connection::respond).
    pub fn grant_with_tasks(
        &mut self,
        request: IncomingId,
        filter: Option<&SubscriptionFilter<'_>>,
        tasks: &mut Tasks,
        now: Instant,
        out: &mut impl Outboxes,
    ) -> Result<(), RespondError> {
        self.connection.dispatcher.serving.check_answerable(request)?;
        let filter = filter.map(Raw::from_serialize).transpose()?;
        let filter = filter.map(|filter| Filter::read(filter.as_json()));
        let config = &self.config.connection;
        let mut host = TaskHost::new(&mut self.connection.dispatcher.serving, tasks);
        host.grant_with_tasks(&mut Cx::undated(config, out), request, filter.as_ref())?;
        host.settle_tasks(&mut Cx::at(config, now, out));
        Ok(())
    }
}
