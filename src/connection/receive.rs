//! Receives frames: classifies them and passes them to the layer that handles their kind of message.

use core::ops::ControlFlow;

use super::call_cx::PeerResponse;
use super::call_state::CallState;
use super::check_result::judged;
use super::common_event::CommonEvent;
use super::context::RequestContext;
use super::cx::Cx;
use super::dispatcher::Dispatcher;
use super::event::{Outcome, UnmatchedResponse, Violation};
use super::for_role::ForRole;
use super::frame_checks;
use super::incoming_request::IncomingRequest;
use super::invalid_frames::{defective as defective_frame, report_and_answer};
use super::late_probe::LateProbe;
use super::outboxes::{Observation, Received, Route};
use super::outgoing_request::Owner;
use super::reception::Reception;
use super::request::{Admission, Admitted, Refusal};
use super::routing::Side;
use super::send::SentMessage;
use super::transport_failure::ExchangeEnd;
use crate::codes::ViolationKind;
use crate::dialect::methods::RequestKind;
use crate::frame::Frame;
use crate::handle::CallId;
use crate::json::{Envelope, Member, Raw, ScannedFrame, Str, shown};
use crate::rpc::{
    Defective, ErrorObject, Id, Intent, Lookup, Message, ResultType, UnmatchedCause, classify,
    write_success,
};
use crate::session::Phase;
use crate::version::RevisionSet;

impl Dispatcher {
    /// Handles a frame. Never fails: any bytes are valid input in any phase.
    ///
    /// The caller keeps `scanned` and the place for the request alive until the result has been handled. A request is
    /// large, so it is built in its place and not returned.
    pub(crate) fn receive<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        frame: Frame<'a>,
        received: Received,
        (scanned, place): (&'e mut ScannedFrame<'a>, &'e mut Option<IncomingRequest<'e, 'a>>),
    ) -> Option<ForRole<'e, 'a>> {
        if self.messages().lifecycle.phase == Phase::Closed {
            return None;
        }
        #[cfg(any(call_table, fuzzing))]
        self.serving.calls.check_calls();
        self.messages_mut().outgoing.clock_mut().tick(received.now);
        self.on_bytes_received(cx.config, received.now);
        self.messages_mut().violations.begin_frame();
        let mut reception = Reception::from(received);
        match frame_checks::take_in(&mut self.serving.calls.messages, cx, frame, &mut reception) {
            ControlFlow::Continue(()) => self.message(cx, frame, (scanned, place), &reception),
            ControlFlow::Break(event) => event.map(ForRole::Event),
        }
    }

    /// Ends the reception of a frame, after the role has handled it.
    pub(crate) fn end_reception(&mut self, cx: &mut Cx<'_, '_>) {
        if self.messages().incoming.batches.has_all_elements() {
            frame_checks::end_batch(&mut self.serving.calls.messages, cx);
        }
        self.serving.flush_listens(cx);
        self.messages_mut().lifecycle.observe(cx.out);
        #[cfg(any(call_table, fuzzing))]
        self.serving.calls.check_calls();
    }

    #[inline]
    fn message<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        frame: Frame<'a>,
        (scanned, place): (&'e mut ScannedFrame<'a>, &'e mut Option<IncomingRequest<'e, 'a>>),
        reception: &Reception,
    ) -> Option<ForRole<'e, 'a>> {
        let config = cx.config;
        let bytes = frame.bytes();
        let known = self.messages().session.known_members();
        let envelope: &'e _ = scanned.read(bytes, config.limits.depth, known);
        let classified = classify(envelope, &config.limits, config.versions());
        if cx.out.observes() {
            let (method, id) = match &classified {
                Ok(message) => message.shown(),
                Err(_) => shown_members(envelope),
            };
            cx.out.observe(&Observation::Received { method, id, bytes: bytes.len() });
        }
        if let Ok(message) = &classified {
            self.messages_mut().violations.is_message();
            if reception.received.batch.is_some() {
                let asks =
                    matches!(message, Message::Request { .. } | Message::Notification { .. });
                self.messages_mut().incoming.batches.note(asks);
            }
        }
        // Each arm moves the message once, because it is large.
        match classified {
            Ok(Message::Request { ref id, ref method, meta: None, .. })
                if self.is_usual_ping(id, method, &reception.received) =>
            {
                let route = reception.received.route;
                self.messages_mut()
                    .send_own(cx, route, SentMessage::Result, |writer| write_success(writer, id));
                None
            }
            Ok(Message::Request { id, method, params, meta }) => {
                let request = place.insert(IncomingRequest {
                    id,
                    method,
                    params,
                    meta,
                    usual_call: None,
                    context: RequestContext::default(),
                    is_relayed: false,
                    received: reception.received,
                    bytes,
                });
                self.request(cx, request)
            }
            Ok(message) => self.other_message(cx, message, bytes, reception),
            Err(defective) => self.ill_formed(cx, defective, frame, reception),
        }
    }

    /// Handles a message that is no request.
    fn other_message<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        message: Message<'e, 'a>,
        bytes: &'a [u8],
        reception: &Reception,
    ) -> Option<ForRole<'e, 'a>> {
        match message {
            // The caller handles requests.
            Message::Request { .. } => None,
            Message::Notification { method, params, .. } => {
                self.serving.notification(cx, (method, params), (bytes, reception))
            }
            Message::Result { id, result, result_type } => {
                let outcome = Outcome::Result(Raw::trusted(result.text()));
                self.response(cx, id, PeerResponse { outcome, bytes, result_type })
            }
            Message::Error { id, error } => {
                let outcome = Outcome::PeerError(error);
                self.response(
                    cx,
                    id,
                    PeerResponse { outcome, bytes, result_type: ResultType::Absent },
                )
            }
            Message::IdlessError { error } => self.idless_error(cx, error, bytes, reception),
        }
    }

    #[inline]
    fn request<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        request: &'e mut IncomingRequest<'e, 'a>,
    ) -> Option<ForRole<'e, 'a>> {
        let config = cx.config;
        let request_meta = self.messages_mut().session.request_meta(request.meta.as_ref());
        let admission = Admission {
            messages: &self.serving.calls.messages,
            listens: self.serving.listens.len(),
            is_probing: self.serving.calls.opening.is_probing(&self.serving.calls.messages),
        };
        match admission.admissible(cx, request, &request_meta) {
            Ok(Admitted::Ping) => {
                let to = (request.received.batch, request.received.route);
                self.serving.calls.messages.answer_into(cx, to, SentMessage::Result, |writer| {
                    write_success(writer, &request.id)
                });
                None
            }
            Ok(Admitted::Handshake) => Some(ForRole::Initialize(request)),
            Ok(Admitted::Work(kind)) => {
                request.is_relayed = kind.is_none() && config.relay.covers(&request.method);
                Some(ForRole::Request(kind, request))
            }
            Err(refusal) => self.refuse(cx, refusal, request).map(ForRole::Event),
        }
    }

    /// Whether a request without `_meta` is a `ping` that every rule admits: outside a batch, each server that speaks
    /// the legacy era answers it, in any phase.
    #[inline]
    fn is_usual_ping(&self, id: &Id<'_>, method: &Str<'_>, received: &Received) -> bool {
        let messages = self.messages();
        method.as_wire() == RequestKind::Ping.rule().name
            && received.batch.is_none()
            && messages.session.role == Side::Server
            && !messages.session.spoken.and(RevisionSet::LEGACY).is_empty()
            && messages.incoming.look_up(id) == Lookup::Free
    }

    /// Refuses a request before it reaches the application.
    #[inline(never)]
    pub(crate) fn refuse<'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        refusal: impl Into<Refusal>,
        request: &IncomingRequest<'_, 'a>,
    ) -> Option<CommonEvent<'a>> {
        let Refusal { kind, misfit, detail } = refusal.into();
        let id = Some(request.id.clone());
        let violation = Violation { misfit, ..Violation::of(kind, id, request.bytes) };
        report_and_answer(
            &mut self.serving.calls.messages,
            cx,
            violation,
            detail.as_ref(),
            &request.received.into(),
        )
    }

    /// Handles a frame that is no valid message. If it was meant as the response to a call, it ends the call.
    fn ill_formed<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        mut defective: Defective<'a>,
        frame: Frame<'a>,
        reception: &Reception,
    ) -> Option<ForRole<'e, 'a>> {
        let bytes = frame.bytes();
        if matches!(defective.intent, Intent::Response | Intent::Either)
            && let Some(id) = &defective.id
        {
            if let Some(call) = self.serving.calls.pending(cx, id) {
                if defective.kind == ViolationKind::SplitOverLines {
                    self.messages_mut().violations.begins_split_text(bytes);
                }
                let outcome = Outcome::Malformed { kind: defective.kind, message: bytes.into() };
                return self.answer(
                    cx,
                    call,
                    PeerResponse { outcome, bytes, result_type: reception.result_type },
                );
            }
            let cause = self.serving.calls.unmatched_cause(cx, id);
            if matches!(cause, UnmatchedCause::Cancelled | UnmatchedCause::TimedOut) {
                // A late response that is also malformed must not get an error response.
                defective.intent = Intent::Response;
            }
        }
        defective_frame(&mut self.serving.calls.messages, cx, defective, frame, reception)
            .map(ForRole::Event)
    }
}

/// # Responses
impl Dispatcher {
    pub(super) fn response<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: Id<'a>,
        answer: PeerResponse<'a>,
    ) -> Option<ForRole<'e, 'a>> {
        match self.serving.calls.pending(cx, &id) {
            Some(call) => self.answer(cx, call, answer),
            None if self
                .serving
                .calls
                .opening
                .is_late_probe(&id, cx.config.match_stringified_ids) =>
            {
                Some(ForRole::LateProbe(LateProbe { outcome: answer.outcome, id }))
            }
            None => {
                let cause = self.serving.calls.unmatched_cause(cx, &id);
                Some(ForRole::Event(CommonEvent::UnmatchedResponse(UnmatchedResponse {
                    id,
                    cause,
                })))
            }
        }
    }

    /// Handles an error without an id. If the transport knows the call that it belongs to, it ends that call; before
    /// the connection is open it can only belong to `initialize` or the probe.
    pub(super) fn idless_error<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        error: ErrorObject<'a>,
        bytes: &'a [u8],
        reception: &Reception,
    ) -> Option<ForRole<'e, 'a>> {
        let route = reception.received.route;
        let by_route = match route {
            Route::Call(call) if self.serving.calls.awaits_answer(call) => Some(call),
            _ => None,
        };
        let is_of_another =
            matches!(route, Route::Call(call) if Some(call) != self.serving.calls.opening.call);
        let is_open = self.messages().lifecycle.phase.is_ready();
        let opening = self.serving.calls.opening.call.filter(|_| !is_of_another && !is_open);
        match by_route.or(opening) {
            Some(call) => {
                let outcome = Outcome::PeerError(error);
                self.answer(
                    cx,
                    call,
                    PeerResponse { outcome, bytes, result_type: ResultType::Absent },
                )
            }
            None => Some(ForRole::Event(CommonEvent::UnsolicitedError(error))),
        }
    }

    /// Handles the end of the exchange that carried a call.
    pub(crate) fn exchange_ended<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        end: ExchangeEnd<'a>,
    ) -> Option<ForRole<'e, 'a>> {
        let asked = self.messages().outgoing.get(call.0);
        let may_be_known = asked.is_some_and(|asked| asked.sent.awaits_answer());
        if self.messages().lifecycle.phase == Phase::Closed || !may_be_known {
            return None;
        }
        #[cfg(any(call_table, fuzzing))]
        self.serving.calls.check_calls();
        self.messages_mut().outgoing.clock_mut().tick(cx.now());
        if let ExchangeEnd::Error { .. } = end {
            self.on_bytes_received(cx.config, cx.now());
        }
        let (outcome, status) = match end {
            ExchangeEnd::Error { is_mended: true, .. }
                if self.serving.calls.is_sent_again(cx, call) =>
            {
                return None;
            }
            ExchangeEnd::Error { error, status, .. } => (Outcome::PeerError(error), Some(status)),
            ExchangeEnd::Failure(failure) => {
                let status = failure.status;
                (Outcome::TransportFailed(failure), status)
            }
        };
        let answer = PeerResponse { outcome, bytes: b"", result_type: ResultType::Absent };
        let mut for_role = self.answer(cx, call, answer);
        if let Some(ForRole::Event(CommonEvent::CallEnded(ended))) = &mut for_role {
            ended.status = status;
        }
        for_role
    }

    /// Passes the response of a request of this side to the owner of the request.
    pub(super) fn answer<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        answer: PeerResponse<'a>,
    ) -> Option<ForRole<'e, 'a>> {
        match self.messages().outgoing.get(call.0)?.owner {
            Owner::Application | Owner::Subscription => {
                self.serving.calls.step(cx, (call, true), |state, at| state.answered(at, answer))
            }
            Owner::Initialize | Owner::Probe => {
                _ = self.serving.calls.take_out(call);
                Some(ForRole::HandshakeEnded(answer.outcome))
            }
            Owner::KeepAlive => {
                self.keep_alive.answered(&answer.outcome);
                _ = self.serving.calls.take_out(call);
                None
            }
            Owner::Input(id) => {
                let PeerResponse { outcome, bytes, .. } = answer;
                let outcome = judged(&mut self.serving.calls.messages, cx, call, outcome, bytes);
                _ = self.serving.calls.take_out(call);
                self.serving.input_answered(cx, (id, call), &outcome)
            }
            Owner::Interest => {
                _ = self.serving.calls.take_out(call);
                let is_granted = match answer.outcome {
                    Outcome::Result(_) => Some(true),
                    Outcome::PeerError(_) => Some(false),
                    // The server may have granted it.
                    _ => None,
                };
                self.serving.calls.in_sessions().request_ended(call, is_granted);
                None
            }
            Owner::TaskInput(_) => {
                let PeerResponse { outcome, bytes, .. } = answer;
                let outcome = judged(&mut self.serving.calls.messages, cx, call, outcome, bytes);
                let left = self.serving.calls.take_out(call)?;
                Some(ForRole::Event(self.serving.calls.ended(left, outcome, false)))
            }
            Owner::Poll { of, kind } => {
                _ = self.serving.calls.take_out(call);
                self.serving.calls.step(cx, (of, false), |state, at| match state {
                    CallState::Task(task) => task.polled(at, kind, answer),
                    _ => super::call_cx::Next::On(None),
                })
            }
            Owner::Abandoned => {
                self.serving.calls.abandoned_answered(cx, call, &answer).map(ForRole::Event)
            }
        }
    }
}

/// Returns the method and the id of an invalid message, if they are short enough for the observer.
#[cold]
fn shown_members<'a>(envelope: &Envelope<'a>) -> (Option<&'a str>, Option<&'a str>) {
    let member = |member| envelope.get(member).and_then(shown);
    let unquoted = |text: &'a str| text.strip_prefix('"')?.strip_suffix('"');
    (member(Member::Method).and_then(unquoted), member(Member::Id))
}
