//! Requests of the client that one upstream answers: calls of tools, prompts, resources, completions.
//!
//! The name says which upstream that is. What is passed on is what came, without the prefix of the name and
//! without what each connection says for itself; the answer goes back as it is, and so does an error.

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
use crate::upstream::Errand;

/// What is being done for a request of the client.
pub(crate) enum Job {
    Forwarded(Box<Forwarded>),
    List(List),
}

/// A request that an upstream is to answer.
pub(crate) struct Forwarded {
    pub(crate) request: Request<'static>,
    pub(crate) upstream: usize,
    pub(crate) call: CallId,
    /// Nobody has listed the resource, so upstreams are asked one after the other.
    pub(crate) is_search: bool,
    /// What the upstream needs before it can answer.
    pub(crate) needs: Vec<Need>,
}

/// How long an upstream may take. Whoever asks knows best how long to wait, and cancels: this is for those who
/// do not.
const LONGEST: Duration = Duration::from_secs(3600);

impl Gateway {
    /// A request of the client.
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
        // What a client without a session brings back belongs to an upstream that has none, or to us.
        let stands_alone = request.context.era() == Era::Modern;
        if stands_alone && request.state.is_some() && self.upstreams[upstream].has_session() {
            self.come_back(request, upstream);
        } else {
            self.forward(request, upstream, is_search);
        }
    }

    /// Asks an upstream what the client has asked.
    pub(crate) fn forward(&mut self, request: Request<'static>, upstream: usize, is_search: bool) {
        let options = options(&request.context, self.level);
        let params = params(&request, self.upstreams[upstream].has_session());
        let (errand, method) = (Errand::Answer(request.id), request.method.to_str());
        match self.upstreams[upstream].call(errand, &method, &params, options, self.now) {
            Ok(call) => {
                let (id, needs) = (request.id, Vec::new());
                let forwarded = Forwarded { request, upstream, call, is_search, needs };
                self.jobs.insert(id, Job::Forwarded(Box::new(forwarded)));
            }
            Err(error) => self.fail(request.id, upstream, &error.to_string()),
        }
    }

    /// A call of an upstream has ended.
    pub(crate) fn answered(&mut self, from: usize, ended: CallEnded<'_>) {
        let upstream = &mut self.upstreams[from];
        let Some(errand) = upstream.errands.take(ended.call) else { return };
        if upstream.wants_restart && ended.outcome == Outcome::NotSent {
            upstream.again.push(errand);
            return;
        }
        match errand {
            Errand::Answer(request) => {
                if let Some(Job::Forwarded(forwarded)) = self.jobs.take(request) {
                    self.answer(*forwarded, ended.outcome);
                }
            }
            Errand::Part(request) => self.part_ended(from, request, ended.outcome),
            Errand::Parked(number) => self.parking.ended(number, ended.outcome.into_owned()),
        }
    }

    /// Does what was to be done before an upstream was started again.
    pub(crate) fn do_again(&mut self, upstream: usize, errand: Errand) {
        match errand {
            Errand::Answer(request) => {
                if let Some(Job::Forwarded(forwarded)) = self.jobs.take(request) {
                    self.forward(forwarded.request, upstream, forwarded.is_search);
                }
            }
            Errand::Part(request) => {
                self.ask_for_part(upstream, request);
                self.finish_list(request);
            }
            // What was never sent has asked for nothing.
            Errand::Parked(_) => {}
        }
    }

    /// Answers a request with what an upstream has come to.
    pub(crate) fn answer(&mut self, forwarded: Forwarded, outcome: Outcome<'_>) {
        let Forwarded { request, upstream, is_search, .. } = forwarded;
        match outcome {
            Outcome::Result(result) => {
                // Its own machine says whether it is one, where that has to be said.
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
            // The client's revision has no word for it, for example.
            self.fail(request, upstream, &format!("its answer cannot be passed on: {error}"));
        }
    }

    /// Refuses a request as an upstream has.
    fn refuse(&mut self, request: IncomingId, error: &ErrorObject<'_>) {
        // The revision of the client may reserve the code for something else.
        let mut error = error.clone();
        for code in [error.code, ErrorCode::INTERNAL_ERROR] {
            error.code = code;
            let refused = self.server.reject_as(request, &error, &mut self.outbox);
            if !matches!(refused, Err(RespondError::NotAllowed(_) | RespondError::Encode(_))) {
                return;
            }
        }
    }

    /// Refuses a request because an upstream has not answered it.
    pub(crate) fn fail(&mut self, request: IncomingId, upstream: usize, reason: &str) {
        let message = format!("the server {}: {reason}", self.upstreams[upstream].name);
        self.reject(request, ErrorCode::INTERNAL_ERROR, &message);
    }

    /// Nobody waits for the answer to a request any more.
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

    /// Asks every upstream for log messages of this level, also those that have not said yet what they are.
    fn set_level(&mut self, request: IncomingId, level: LoggingLevel) {
        self.level = Some(level);
        for upstream in &mut self.upstreams {
            // One that logs nothing is as quiet as it should be.
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

/// Whether an error may mean that the upstream does not have what was asked for.
fn may_be_elsewhere(error: &ErrorObject<'_>) -> bool {
    let unknown = [ErrorCode::INVALID_PARAMS, ErrorCode::METHOD_NOT_FOUND];
    error.is_resource_not_found() || unknown.contains(&error.code)
}

/// Why there is no answer.
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
