//! Frames in: told apart, and handed to whatever deals with their kind of message.

use super::context::RequestContext;
use super::cx::Cx;
use super::event::{Outcome, Violation};
use super::incoming::Incoming;
use super::incoming_request::IncomingRequest;
use super::outlets::{Arrival, Observation};
use super::peer_event::PeerEvent;
use super::reception::Reception;
use super::{ConnectionConfig, Peer};
use crate::dialect::features::Feature;
use crate::error::ViolationKind;
use crate::frame::{Element, Frame, Origin};
use crate::json::{Envelope, Member, Raw, ScannedFrame, shown};
use crate::rpc::{Defective, Intent, Message, Versions, classify, defect_kind};
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
    ) -> Option<Incoming<'e, 'a>> {
        if self.phase == Phase::Closed {
            return None;
        }
        #[cfg(any(call_table, fuzzing))]
        self.check_calls();
        self.clock.tick(arrival.now);
        self.heard(cx.config, arrival.now);
        self.noise.begin_frame();
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
        if self.batches.has_all_elements() {
            self.end_batch(cx);
        }
        self.flush_listens(cx);
        self.observe_phase(cx.out);
        #[cfg(any(call_table, fuzzing))]
        self.check_calls();
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
    ) -> Option<Incoming<'e, 'a>> {
        let defective = Defective { kind, id: None, meant: true, intent: Intent::Other };
        let mut event = self.defective(cx, defective, frame, reception);
        if let (Some(PeerEvent::Violation(violation)), Origin::TooLong { length }) =
            (&mut event, frame.origin())
        {
            violation.length = length;
        }
        event.map(Incoming::Event)
    }

    /// An element of a batch: a message if the session has batches.
    fn element<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        frame: Frame<'a>,
        element: Element,
        scanned: &'e mut ScannedFrame<'a>,
        reception: &Reception,
    ) -> Option<Incoming<'e, 'a>> {
        let Some(session) = self.session else {
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
        reception.arrival.batch = self.batches.begin_element(element, reception.arrival.lane);
        self.message(cx, frame, scanned, &reception)
    }

    /// An element of a batch while nothing is agreed: each request is told by its id.
    fn early_element<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        frame: Frame<'a>,
        element: Element,
        reception: &Reception,
    ) -> Option<Incoming<'e, 'a>> {
        let config = cx.config;
        let envelope = Envelope::scan(frame.bytes(), config.limits.depth);
        match classify(&envelope, &config.limits, config.versions()) {
            Ok(Message::Request { id, .. }) => {
                let kind = ViolationKind::BatchNotAllowed;
                let violation = Violation::of(kind, Some(id), frame.bytes());
                self.violation(cx, violation, reception).map(Incoming::Event)
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
    ) -> Option<Incoming<'e, 'a>> {
        if 0 < element.index {
            self.noise.pass_over();
            return None;
        }
        let violation = Violation::of(ViolationKind::BatchNotAllowed, None, frame.bytes());
        self.violation(cx, violation, reception).map(Incoming::Event)
    }

    #[inline]
    fn message<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        frame: Frame<'a>,
        scanned: &'e mut ScannedFrame<'a>,
        reception: &Reception,
    ) -> Option<Incoming<'e, 'a>> {
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
                self.noise.is_message();
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
    ) -> Option<Incoming<'e, 'a>> {
        if reception.arrival.batch.is_some() {
            let asks = matches!(message, Message::Request { .. } | Message::Notification { .. });
            self.batches.note(asks);
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
                self.request(cx, request, reception)
            }
            Message::Notification { method, params, .. } => {
                self.notification(cx, method, params, bytes, reception)
            }
            Message::Result { id, result, result_type } => {
                let reception = &Reception { result_type, ..*reception };
                self.response(
                    cx,
                    id,
                    Outcome::Result(Raw::trusted(result.text())),
                    bytes,
                    reception,
                )
            }
            Message::Error { id, error } => {
                self.response(cx, id, Outcome::PeerError(error), bytes, reception)
            }
            Message::IdlessError { error } => self.idless_error(cx, error, bytes, reception),
        }
    }

    /// A frame that is no message. If it was going to be the answer to a call, it ends the call.
    fn ill_formed<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        mut defective: Defective<'a>,
        frame: Frame<'a>,
        reception: &Reception,
    ) -> Option<Incoming<'e, 'a>> {
        let bytes = frame.bytes();
        if matches!(defective.intent, Intent::Response | Intent::Either)
            && let Some(id) = &defective.id
        {
            if let Some(call) = self.pending(cx, id) {
                if defective.kind == ViolationKind::SplitOverLines {
                    self.noise.begins_split_text(bytes);
                }
                let outcome = Outcome::Malformed { kind: defective.kind, message: bytes.into() };
                return self.ended(cx, call, outcome, bytes, reception);
            }
            if self.was_given_up(cx, id) {
                // Late and broken, but an answer, which is never answered.
                defective.intent = Intent::Response;
            }
        }
        self.defective(cx, defective, frame, reception).map(Incoming::Event)
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
