//! Frames in: told apart, and handed to whatever deals with their kind of message.

use super::call_cx::Answer;
use super::context::RequestContext;
use super::cx::Cx;
use super::event::{Outcome, Violation};
use super::exchanges::Said;
use super::for_role::ForRole;
use super::incoming_request::IncomingRequest;
use super::noise::{defective as defective_frame, report_and_answer};
use super::outlets::{Arrival, Observation};
use super::peer_event::PeerEvent;
use super::reception::Reception;
use super::request::{Admission, Admitted, Refusal};
use super::{ConnectionConfig, Peer};
use crate::dialect::features::Feature;
use crate::error::ViolationKind;
use crate::frame::{Element, Frame, Origin};
use crate::json::{Envelope, Member, Raw, ScannedFrame, shown};
use crate::rpc::{
    Defective, Intent, Message, ResultType, Versions, classify, defect_kind, write_success,
};
use crate::session::Phase;

impl Peer {
    /// Takes a frame in. Total: any bytes, in any phase.
    ///
    /// The caller keeps what has been scanned while it deals with what came in.
    pub(crate) fn receive<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        frame: Frame<'a>,
        arrival: Arrival,
        scanned: &'e mut ScannedFrame<'a>,
    ) -> Option<ForRole<'e, 'a>> {
        if self.messages.lifecycle.phase == Phase::Closed {
            return None;
        }
        #[cfg(any(call_table, fuzzing))]
        self.check_calls();
        self.messages.outgoing.clock_mut().tick(arrival.now);
        self.heard(cx.config, arrival.now);
        self.messages.violations.begin_frame();
        let reception = Reception::from(arrival);
        if let Origin::Element(element) = frame.origin() {
            return self.element(cx, frame, element, scanned, &reception);
        }
        // A batch whose last element never came has ended.
        self.end_batch(cx);
        match self.framing_fault(cx, frame) {
            None => self.message(cx, frame, scanned, &reception),
            Some(kind) => self.faulty_frame(cx, frame, kind, &reception),
        }
    }

    /// The frame has been dealt with, by the role as well.
    pub(crate) fn end_reception(&mut self, cx: &mut Cx<'_, '_>) {
        if self.messages.incoming.batches.has_all_elements() {
            self.end_batch(cx);
        }
        self.flush_listens(cx);
        self.messages.lifecycle.observe(cx.out);
        #[cfg(any(call_table, fuzzing))]
        self.check_calls();
    }

    /// No more elements of a batch come in.
    fn end_batch(&mut self, cx: &mut Cx<'_, '_>) {
        let batches = &mut self.messages.incoming.batches;
        if batches.has_current() && batches.end_current(cx.out) {
            self.messages.violations.note(ViolationKind::MixedBatch);
        }
    }

    /// What was wrong before anybody looked at the text.
    fn framing_fault(&self, cx: &Cx<'_, '_>, frame: Frame<'_>) -> Option<ViolationKind> {
        match frame.origin() {
            // A frame that came without an inbox can be too long, too.
            Origin::Message | Origin::LastLine => (cx.config.limits.frame_bytes
                < frame.bytes().len())
            .then_some(ViolationKind::TooLong),
            Origin::Element(_) => None,
            Origin::TooLong { .. } => Some(ViolationKind::TooLong),
            Origin::EmptyBatch => Some(ViolationKind::EmptyBatch),
            Origin::LongBatch => Some(ViolationKind::LongBatch),
            Origin::BrokenBatch(error) => Some(defect_kind(error.kind())),
        }
    }

    fn faulty_frame<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        frame: Frame<'a>,
        kind: ViolationKind,
        reception: &Reception,
    ) -> Option<ForRole<'e, 'a>> {
        let defective = Defective { kind, id: None, meant: true, intent: Intent::Other };
        let mut event = defective_frame(&mut self.messages, cx, defective, frame, reception);
        if let (Some(PeerEvent::Violation(violation)), Origin::TooLong { length }) =
            (&mut event, frame.origin())
        {
            violation.length = length;
        }
        event.map(ForRole::Event)
    }

    /// An element of a batch: a message if the session has batches.
    fn element<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        frame: Frame<'a>,
        element: Element,
        scanned: &'e mut ScannedFrame<'a>,
        reception: &Reception,
    ) -> Option<ForRole<'e, 'a>> {
        let Some(session) = self.messages.session.terms else {
            return self.early_element(cx, frame, element, reception);
        };
        if !Feature::Batches.is_in(session.revision) {
            // One array is one offence, and its elements are not looked at.
            return self.forbidden_batch(cx, frame, element, reception);
        }
        if element.index == 0 {
            self.end_batch(cx);
        }
        let mut reception = *reception;
        reception.arrival.batch =
            self.messages.incoming.batches.begin_element(element, reception.arrival.lane);
        self.message(cx, frame, scanned, &reception)
    }

    /// An element of a batch while nothing is agreed: each request is told by its id.
    fn early_element<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        frame: Frame<'a>,
        element: Element,
        reception: &Reception,
    ) -> Option<ForRole<'e, 'a>> {
        let config = cx.config;
        let envelope = Envelope::scan(frame.bytes(), config.limits.depth);
        match classify(&envelope, &config.limits, config.versions()) {
            Ok(Message::Request { id, .. }) => {
                let kind = ViolationKind::BatchNotAllowed;
                let violation = Violation::of(kind, Some(id), frame.bytes());
                report_and_answer(&mut self.messages, cx, violation, None, reception)
                    .map(ForRole::Event)
            }
            _ => self.forbidden_batch(cx, frame, element, reception),
        }
    }

    fn forbidden_batch<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        frame: Frame<'a>,
        element: Element,
        reception: &Reception,
    ) -> Option<ForRole<'e, 'a>> {
        if 0 < element.index {
            self.messages.violations.pass_over();
            return None;
        }
        let violation = Violation::of(ViolationKind::BatchNotAllowed, None, frame.bytes());
        report_and_answer(&mut self.messages, cx, violation, None, reception).map(ForRole::Event)
    }

    #[inline]
    fn message<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        frame: Frame<'a>,
        scanned: &'e mut ScannedFrame<'a>,
        reception: &Reception,
    ) -> Option<ForRole<'e, 'a>> {
        let config = cx.config;
        let bytes = frame.bytes();
        if mutant!("receiving_allocates") {
            drop(alloc::boxed::Box::new(0_u8));
        }
        let envelope: &'e _ = scanned.read(bytes, config.limits.depth);
        let classified = classify(envelope, &config.limits, config.versions());
        let (method, id) = match &classified {
            Ok(message) => message.shown(),
            Err(_) => shown_members(envelope),
        };
        cx.out.observe(&Observation::Received { method, id, bytes: bytes.len() });
        match classified {
            Ok(message) => {
                self.messages.violations.is_message();
                self.well_formed(cx, message, bytes, reception)
            }
            Err(defective) => self.ill_formed(cx, defective, frame, reception),
        }
    }

    #[inline]
    fn well_formed<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        message: Message<'e, 'a>,
        bytes: &'a [u8],
        reception: &Reception,
    ) -> Option<ForRole<'e, 'a>> {
        if reception.arrival.batch.is_some() {
            let asks = matches!(message, Message::Request { .. } | Message::Notification { .. });
            self.messages.incoming.batches.note(asks);
        }
        match message {
            Message::Request { id, method, params, meta } => {
                let arrival = reception.arrival;
                let (context, is_relayed) = (RequestContext::default(), false);
                let request = IncomingRequest {
                    id,
                    method,
                    params,
                    meta,
                    context,
                    is_relayed,
                    arrival,
                    bytes,
                };
                self.request(cx, request)
            }
            Message::Notification { method, params, .. } => {
                self.notification(cx, method, params, bytes, reception)
            }
            Message::Result { id, result, result_type } => {
                let outcome = Outcome::Result(Raw::trusted(result.text()));
                self.response(cx, id, Answer { outcome, bytes, result_type })
            }
            Message::Error { id, error } => {
                let outcome = Outcome::PeerError(error);
                self.response(cx, id, Answer { outcome, bytes, result_type: ResultType::Absent })
            }
            Message::IdlessError { error } => self.idless_error(cx, error, bytes, reception),
        }
    }

    #[inline]
    fn request<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        mut request: IncomingRequest<'e, 'a>,
    ) -> Option<ForRole<'e, 'a>> {
        let config = cx.config;
        let admission = Admission {
            messages: &self.messages,
            listens: self.listens.len(),
            is_probing: self.opening.is_probing(&self.messages),
        };
        match admission.admissible(cx, &request) {
            Ok(Admitted::Ping) => {
                let to = (request.arrival.batch, request.arrival.lane);
                self.messages
                    .answer_into(cx, to, Said::Result, |writer| write_success(writer, &request.id));
                None
            }
            Ok(Admitted::Handshake) => Some(ForRole::Initialize(request)),
            Ok(Admitted::Work(kind, context)) => {
                request.context = context;
                request.is_relayed = kind.is_none() && config.relay.covers(&request.method);
                Some(ForRole::Request(kind, request))
            }
            Err(refusal) => self.refuse(cx, refusal, request).map(ForRole::Event),
        }
    }

    /// Refuses a request. It never reaches the application.
    pub(crate) fn refuse<'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        refusal: impl Into<Refusal>,
        request: IncomingRequest<'_, 'a>,
    ) -> Option<PeerEvent<'a>> {
        let Refusal { kind, misfit, detail } = refusal.into();
        let IncomingRequest { id, bytes, arrival, .. } = request;
        let violation = Violation { misfit, ..Violation::of(kind, Some(id), bytes) };
        report_and_answer(&mut self.messages, cx, violation, detail.as_ref(), &arrival.into())
    }

    /// A frame that is no message. If it was going to be the answer to a call, it ends the call.
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
            if let Some(call) = self.pending(cx, id) {
                if defective.kind == ViolationKind::SplitOverLines {
                    self.messages.violations.begins_split_text(bytes);
                }
                let outcome = Outcome::Malformed { kind: defective.kind, message: bytes.into() };
                return self.answer(
                    cx,
                    call,
                    Answer { outcome, bytes, result_type: reception.result_type },
                );
            }
            if self.was_given_up(cx, id) {
                // Late and broken, but an answer, which is never answered.
                defective.intent = Intent::Response;
            }
        }
        defective_frame(&mut self.messages, cx, defective, frame, reception).map(ForRole::Event)
    }
}

/// The method and the id of a frame that is no message, as far as they are short enough to be shown.
#[cold]
fn shown_members<'a>(envelope: &Envelope<'a>) -> (Option<&'a str>, Option<&'a str>) {
    let member = |member| envelope.get(member).and_then(shown);
    let unquoted = |text: &'a str| text.strip_prefix('"')?.strip_suffix('"');
    (member(Member::Method).and_then(unquoted), member(Member::Id))
}

impl ConnectionConfig {
    const fn versions(&self) -> Versions {
        if self.lenient_version { Versions::Any } else { Versions::Exact }
    }
}
