//! Client input for upstreams: a form for the user, an answer of a model, the roots. Each side can be of either
//! era, so there are four cases:
//!
//! | the upstream | a legacy client | a modern client |
//! |---|---|---|
//! | ends the call because it requires input (modern) | its machine sends the requests and hands the client's request out again | gets an input-required result, and repeats its request with the answers |
//! | sends a request (legacy) | gets that request | gets an input-required result; the call is parked until the client repeats its request |
//!
//! In the first row the upstream is called again, with the answers and the state that it gave; the gateway stores
//! nothing in between. The last case is in `parking`.

use crate::forward::in_words;
use crate::gateway::Gateway;
use crate::upstream::Upstream;
use mcp_sansio::capability::CapabilitySet;
use mcp_sansio::error::NotAllowed;
use mcp_sansio::event::CallEnded;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{InputRequest, InputRequired, Text};
use mcp_sansio::{
    CallOptions, ErrorCode, IncomingId, Outcome, Request, RequestFromServer, RespondError,
    ServerRequest,
};

/// A request of an upstream that was passed on to the client.
pub(crate) struct Question {
    pub(crate) upstream: usize,
    pub(crate) request: IncomingId,
}

/// Creates the input-required result for the client, with the upstream's requests unchanged.
pub(crate) fn input_required<'a>(
    requests: impl Iterator<Item = (String, Raw<'a>)>,
    state: Option<String>,
) -> InputRequired<'a> {
    let mut required = InputRequired::new();
    for (key, request) in requests {
        required = required.request(key, InputRequest::Unknown(request));
    }
    required.state = state.map(Text::from);
    required
}

/// # Modern upstreams
impl Gateway {
    /// Handles a call that an upstream has ended because it requires input.
    pub(crate) fn require(&mut self, request: &Request<'_>, upstream: usize, needed: &Raw<'_>) {
        let requests = needed.get("inputRequests");
        let requests = requests.iter().flat_map(|requests| requests.members());
        let requests = requests.map(|(key, request)| (key.to_str().into_owned(), request));
        let state = needed.get("requestState").and_then(Raw::into_str);
        let state = state.map(|state| state.to_str().into_owned());
        let required = input_required(requests, state);
        let asked = self.server.require_input(request, &required, self.now, &mut self.outbox);
        self.explain(request.id, upstream, asked);
    }

    /// Handles a failed attempt to require client input: responds with the reason.
    pub(crate) fn explain(
        &mut self,
        request: IncomingId,
        upstream: usize,
        asked: Result<(), RespondError>,
    ) {
        match asked {
            Err(RespondError::NotAllowed(NotAllowed::Capability(missing))) => {
                let missing = CapabilitySet::NONE.with(missing);
                _ = self.server.reject_missing(request, missing, &mut self.outbox);
            }
            Err(error @ (RespondError::NotAllowed(_) | RespondError::Encode(_))) => {
                self.fail(
                    request,
                    upstream,
                    &format!("what it needs cannot be asked for: {error}"),
                );
            }
            // Other errors mean that the client has disconnected.
            _ => {}
        }
    }
}

/// # Legacy upstreams
impl Gateway {
    /// Handles a request of an upstream.
    pub(crate) fn asked(&mut self, from: usize, request: &RequestFromServer<'_>) {
        if matches!(request.kind, ServerRequest::Other | ServerRequest::Task(_)) {
            let (code, message) = (ErrorCode::METHOD_NOT_FOUND, "method not found");
            return self.turn_down(from, request.id, code, message);
        }
        // A legacy upstream does not say which call its request belongs to. The newest one is the best guess.
        match (self.newest_request(from), self.newest_parked(from)) {
            (Some(newest), _) if self.is_modern(newest) => self.note_need(from, newest, request),
            (None, Some(number)) => self.note_later(number, request),
            _ => self.ask_session(from, request),
        }
    }

    fn ask_session(&mut self, from: usize, request: &RequestFromServer<'_>) {
        let mut options = CallOptions::new();
        if request.context.wants_progress {
            options = options.progress();
        }
        let (method, params) = (request.method.to_str(), params(request));
        match self.server.call_method(&method, &params, options, self.now, &mut self.outbox) {
            Ok(call) => {
                self.questions.insert(call, Question { upstream: from, request: request.id });
            }
            Err(error) => {
                let message = format!("the client cannot be asked: {error}");
                self.turn_down(from, request.id, ErrorCode::INTERNAL_ERROR, &message);
            }
        }
    }

    /// Handles the client's response to a request of an upstream.
    pub(crate) fn question_ended(&mut self, ended: CallEnded<'_>) {
        let Some(Question { upstream, request }) = self.questions.take(ended.call) else { return };
        match ended.outcome {
            Outcome::Result(answer) => self.hand_answer(upstream, request, &answer),
            Outcome::PeerError(error) => {
                let Upstream { client, outbox, .. } = &mut self.upstreams[upstream];
                _ = client.reject_with(request, &error, outbox);
            }
            outcome => {
                let message = format!("the client has not answered: {}", in_words(&outcome));
                self.turn_down(upstream, request, ErrorCode::INTERNAL_ERROR, &message);
            }
        }
    }

    /// Handles the cancellation of a request by an upstream.
    pub(crate) fn question_withdrawn(&mut self, from: usize, request: IncomingId) {
        let is_it = |question: &Question| question.upstream == from && question.request == request;
        if let Some(call) = self.questions.find(is_it) {
            self.questions.take(call);
            _ = self.server.cancel(call, None, &mut self.outbox);
        }
        // Requests that await a modern client are found to be stale when the client repeats its request.
    }

    pub(crate) fn hand_answer(&mut self, upstream: usize, request: IncomingId, answer: &Raw<'_>) {
        let Upstream { client, outbox, .. } = &mut self.upstreams[upstream];
        let answer = answer.edited(&[("resultType", None)]);
        if let Err(RespondError::Encode(error)) = client.respond(request, &answer, outbox) {
            let message = format!("the client's answer does not fit: {error}");
            self.turn_down(upstream, request, ErrorCode::INTERNAL_ERROR, &message);
        }
    }

    pub(crate) fn turn_down(
        &mut self,
        upstream: usize,
        request: IncomingId,
        code: ErrorCode,
        message: &str,
    ) {
        let Upstream { client, outbox, .. } = &mut self.upstreams[upstream];
        _ = client.reject(request, code, message, outbox);
    }
}

/// The params of a request without the metadata of the connection.
pub(crate) fn params(request: &RequestFromServer<'_>) -> Option<Raw<'static>> {
    let params = request.params.as_ref()?;
    Some(params.edited(&[("_meta", request.meta_to_pass_on())]))
}
