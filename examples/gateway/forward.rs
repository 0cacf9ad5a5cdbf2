//! Requests of the client that one upstream serves: calls of tools, prompts, resources, completions.
//!
//! The name selects the upstream. The request is passed on unchanged, except for the prefix of the name and the
//! metadata of the connection. Results and errors are passed back unchanged.

use std::time::Duration;

use mcp_sansio::call::Timeout;
use mcp_sansio::error::ErrorObject;
use mcp_sansio::event::CallEnded;
use mcp_sansio::model::LoggingLevel;
use mcp_sansio::{
    CallId, CallOptions, ClientRequest, Era, ErrorCode, IncomingId, Outcome, Payload, Request,
    RequestContext, RespondError,
};

use crate::gateway::Gateway;
use crate::lists::{Kind, List};
use crate::parking::Need;
use crate::routing::{Destination, Subject, params};
use crate::upstream::Purpose;

/// The work in progress for a request of the client.
pub(crate) enum Job {
    Forwarded(Box<Forwarded>),
    List(List),
}

/// A request that was forwarded to an upstream.
pub(crate) struct Forwarded {
    pub(crate) request: Request<'static>,
    pub(crate) upstream: usize,
    pub(crate) call: CallId,
    /// Whether no upstream has listed the resource, so that upstreams are tried one after the other.
    pub(crate) is_search: bool,
    /// The requests of the upstream that await client input.
    pub(crate) needs: Vec<Need>,
}

/// How long an upstream may take. A client should know best how long to wait, and cancel; this limit is for clients
/// that do not.
const LONGEST: Duration = Duration::from_secs(3600);

impl Gateway {
    /// Serves a request of the client.
    pub(crate) fn serve(&mut self, request: Request<'_>) {
        let id = request.id;
        match &request.kind {
            ClientRequest::ListTools(page) => self.list(id, Kind::Tools, page),
            ClientRequest::ListPrompts(page) => self.list(id, Kind::Prompts, page),
            ClientRequest::ListResources(page) => self.list(id, Kind::Resources, page),
            ClientRequest::ListResourceTemplates(page) => self.list(id, Kind::Templates, page),
            ClientRequest::Subscribe { uri } => self.subscribe(id, &uri.to_str()),
            ClientRequest::Unsubscribe { .. } => self.unsubscribe(id),
            ClientRequest::SetLevel(level) => self.set_level(id, *level),
            _ => match self.destination(&request.kind) {
                Some(Destination { upstream, is_search }) => {
                    self.deliver(request.into_owned(), upstream, is_search);
                }
                None if Subject::of(&request.kind).is_none() => {
                    self.reject(id, ErrorCode::METHOD_NOT_FOUND, "method not found");
                }
                None => {
                    self.reject(id, ErrorCode::INVALID_PARAMS, "no server here has that");
                }
            },
        }
    }

    fn deliver(&mut self, request: Request<'static>, upstream: usize, is_search: bool) {
        // The state in a modern request belongs to a modern upstream, or to the parking of this gateway.
        let is_modern = request.context.era() == Era::Modern;
        if is_modern && request.state.is_some() && self.upstreams[upstream].has_session() {
            self.come_back(request, upstream);
        } else {
            self.forward(request, upstream, is_search);
        }
    }

    /// Forwards a request of the client to an upstream.
    pub(crate) fn forward(&mut self, request: Request<'static>, upstream: usize, is_search: bool) {
        let options = options(&request.context, self.level);
        let params = params(&request, self.upstreams[upstream].has_session());
        let (purpose, method) = (Purpose::Answer(request.id), request.method.to_str());
        match self.upstreams[upstream].call(purpose, &method, &params, options, self.now) {
            Ok(call) => {
                let (id, needs) = (request.id, Vec::new());
                let forwarded = Forwarded { request, upstream, call, is_search, needs };
                self.jobs.insert(id, Job::Forwarded(Box::new(forwarded)));
            }
            Err(error) => self.fail(request.id, upstream, &error.to_string()),
        }
    }

    /// Handles the end of a call to an upstream.
    pub(crate) fn answered(&mut self, from: usize, ended: CallEnded<'_>) {
        let upstream = &mut self.upstreams[from];
        let Some(purpose) = upstream.purposes.take(ended.call) else { return };
        if upstream.wants_restart && ended.outcome == Outcome::NotSent {
            upstream.again.push(purpose);
            return;
        }
        match purpose {
            Purpose::Answer(request) => {
                if let Some(Job::Forwarded(forwarded)) = self.jobs.take(request) {
                    self.answer(*forwarded, ended.outcome);
                }
            }
            Purpose::Part(request) => self.part_ended(from, request, ended.outcome),
            Purpose::Parked(number) => self.parking.ended(number, ended.outcome.into_owned()),
        }
    }

    /// Repeats the work that an upstream had before it was restarted.
    pub(crate) fn do_again(&mut self, upstream: usize, purpose: Purpose) {
        match purpose {
            Purpose::Answer(request) => {
                if let Some(Job::Forwarded(forwarded)) = self.jobs.take(request) {
                    self.forward(forwarded.request, upstream, forwarded.is_search);
                }
            }
            Purpose::Part(request) => {
                self.ask_for_part(upstream, request);
                self.finish_list(request);
            }
            // A call that was never sent has no parked requests.
            Purpose::Parked(_) => {}
        }
    }

    /// Responds to a request with the outcome of an upstream.
    pub(crate) fn answer(&mut self, forwarded: Forwarded, outcome: Outcome<'_>) {
        let Forwarded { request, upstream, is_search, .. } = forwarded;
        match outcome {
            Outcome::Result(result) => {
                // The machine of the client adds the member where the revision requires it.
                let result = result.edited(&[("resultType", None)]);
                self.respond(request.id, upstream, &result);
            }
            Outcome::PeerError(error) if is_search && may_be_elsewhere(&error) => {
                match self.next_with_resources(upstream + 1) {
                    Some(next) => self.forward(request, next, true),
                    None => self.refuse(request.id, &error),
                }
            }
            Outcome::PeerError(error) => self.refuse(request.id, &error),
            Outcome::InputRequired(needed) => self.require(&request, upstream, &needed),
            outcome => self.fail(request.id, upstream, &in_words(&outcome)),
        }
    }

    fn respond<T: Payload>(&mut self, request: IncomingId, upstream: usize, result: &T) {
        if let Err(RespondError::Encode(error)) =
            self.server.respond(request, result, &mut self.outbox)
        {
            // For example, the client's revision cannot express the result.
            self.fail(request, upstream, &format!("its answer cannot be passed on: {error}"));
        }
    }

    /// Rejects a request with the error of an upstream.
    fn refuse(&mut self, request: IncomingId, error: &ErrorObject<'_>) {
        // The revision of the client may reserve the code for another purpose.
        let mut error = error.clone();
        for code in [error.code, ErrorCode::INTERNAL_ERROR] {
            error.code = code;
            let refused = self.server.reject_with(request, &error, &mut self.outbox);
            if !matches!(refused, Err(RespondError::NotAllowed(_) | RespondError::Encode(_))) {
                return;
            }
        }
    }

    /// Rejects a request because an upstream has not served it.
    pub(crate) fn fail(&mut self, request: IncomingId, upstream: usize, reason: &str) {
        let message = format!("the server {}: {reason}", self.upstreams[upstream].name);
        self.reject(request, ErrorCode::INTERNAL_ERROR, &message);
    }

    /// Stops the work for a request whose response is no longer wanted.
    pub(crate) fn give_up(&mut self, request: IncomingId, reason: Option<&str>) {
        match self.jobs.take(request) {
            Some(Job::Forwarded(forwarded)) => {
                let Forwarded { upstream, call, needs, .. } = *forwarded;
                self.upstreams[upstream].cancel(call, reason);
                self.drop_needs(upstream, needs);
            }
            Some(Job::List(list)) => {
                for (upstream, call) in list.calls() {
                    self.upstreams[upstream].cancel(call, reason);
                }
            }
            None => self.stop_listening(request),
        }
    }

    /// Requests log messages of this level from every upstream, also from those that are not connected yet.
    fn set_level(&mut self, request: IncomingId, level: LoggingLevel) {
        self.level = Some(level);
        for upstream in &mut self.upstreams {
            // An upstream without logging sends no messages anyway.
            _ = upstream.client.set_log_level(level, self.now, &mut upstream.outbox);
        }
        _ = self.server.respond(request, &(), &mut self.outbox);
    }
}

fn options(context: &RequestContext, level: Option<LoggingLevel>) -> CallOptions {
    let mut options = CallOptions::new()
        .idle(Timeout::Never)
        .total(Timeout::After(LONGEST))
        .capabilities(context.capabilities)
        .input_by_hand();
    if let Some(level) = context.log_level.or(level) {
        options = options.log_level(level);
    }
    if context.wants_progress { options.progress() } else { options }
}

/// Whether an error may mean that another upstream has the resource.
fn may_be_elsewhere(error: &ErrorObject<'_>) -> bool {
    let unknown = [ErrorCode::INVALID_PARAMS, ErrorCode::METHOD_NOT_FOUND];
    error.is_resource_not_found() || unknown.contains(&error.code)
}

/// Describes why there is no result.
pub(crate) fn in_words(outcome: &Outcome<'_>) -> String {
    match outcome {
        Outcome::TimedOut(_) => "no answer came in time".into(),
        Outcome::Closed(cause) => cause.to_string(),
        Outcome::NotSent => "it has ended".into(),
        Outcome::CallError(error) => error.to_string(),
        Outcome::Malformed { kind, .. } => format!("its answer is none: {kind}"),
        Outcome::PeerError(error) => error.message.to_string(),
        outcome => format!("{outcome:?}"),
    }
}
