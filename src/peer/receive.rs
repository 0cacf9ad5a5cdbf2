//! Frames in. What both roles treat alike is answered or absorbed here, the rest is handed on.

use super::call::{Purpose, Whereabouts};
use super::event::{Notification, Outcome, PeerEvent, ProgressUpdate, Stray, Violation};
use super::outlets::{Arrival, Lane, Observation, Outlets};
use super::route::{Route, Standing, route};
use super::{ConnectionConfig, DuplicateIds, Peer, RequestContext, UnknownMethods};
use crate::dialect::features::Feature;
use crate::dialect::methods::{NotificationKind, RequestKind};
use crate::error::ViolationKind;
use crate::frame::{Element, Frame, Origin};
use crate::handle::{CallId, InboundId};
use crate::json::{Additions, Envelope, Member, MemberTexts, Number, Raw, Str, shown};
use crate::rpc::{
    Defective, ErrorObject, Id, Message, Shape, StrayCause, Versions, classify, defect_kind,
    write_result,
};
use crate::session::Phase;

/// What is left for the role.
#[derive(Debug)]
pub(crate) enum Incoming<'a> {
    /// Something that both roles surface in the same way.
    Event(PeerEvent<'a>),
    /// `initialize`, with nothing in its way but its params.
    Initialize(IncomingRequest<'a>),
    /// A request of the session.
    Request(Option<RequestKind>, IncomingRequest<'a>),
    /// A notification other than those about requests, and its whole frame.
    Notification(Option<NotificationKind>, Notification<'a>, &'a [u8]),
    /// What came of `initialize`.
    HandshakeEnded(Outcome<'a>),
}

/// A request that is not in the table yet.
#[derive(Debug)]
pub(crate) struct IncomingRequest<'a> {
    pub(crate) id: Id<'a>,
    pub(crate) method: Str<'a>,
    pub(crate) params: Option<&'a str>,
    pub(crate) meta: Option<&'a str>,
    /// The whole frame.
    bytes: &'a [u8],
}

/// What goes through every step of receiving.
struct Reception<'c, 'o> {
    config: &'c ConnectionConfig,
    arrival: Arrival,
    out: &'o mut dyn Outlets,
}

impl Peer {
    /// Takes a frame in. Total: any bytes, in any phase.
    pub(crate) fn receive<'a>(
        &mut self,
        config: &ConnectionConfig,
        frame: Frame<'a>,
        arrival: Arrival,
        out: &mut dyn Outlets,
    ) -> Option<Incoming<'a>> {
        if self.phase == Phase::Closed {
            return None;
        }
        self.noise.begin_frame();
        let mut reception = Reception { config, arrival, out };
        let violation = |kind| Defective { kind, id: None, meant: true, shape: Shape::Other };
        let defect = match frame.origin() {
            Origin::Message | Origin::LastLine => match self.check_length(config, frame) {
                None => return self.message(frame, None, &mut reception),
                Some(kind) => kind,
            },
            Origin::Element(element) => return self.element(frame, element, &mut reception),
            Origin::TooLong { .. } => ViolationKind::TooLong,
            Origin::EmptyBatch => ViolationKind::EmptyBatch,
            Origin::LongBatch => ViolationKind::LongBatch,
            Origin::BrokenBatch(error) => defect_kind(error.kind()),
        };
        let Reception { arrival, out, .. } = reception;
        let mut event =
            self.defective(config, violation(defect), frame.bytes(), frame.origin(), arrival, out);
        if let (Some(PeerEvent::Violation(violation)), Origin::TooLong { length }) =
            (&mut event, frame.origin())
        {
            violation.length = length;
        }
        event.map(Incoming::Event)
    }

    /// A frame that came without an inbox can be too long, too.
    fn check_length(&self, config: &ConnectionConfig, frame: Frame<'_>) -> Option<ViolationKind> {
        (config.limits.frame_bytes < frame.bytes().len()).then_some(ViolationKind::TooLong)
    }

    /// An element of a batch: a message if the session has batches.
    fn element<'a>(
        &mut self,
        frame: Frame<'a>,
        element: Element,
        reception: &mut Reception<'_, '_>,
    ) -> Option<Incoming<'a>> {
        let config = reception.config;
        match self.session {
            Some(session) if Feature::Batches.is_in(session.revision) => {
                return self.message(frame, Some(element), reception);
            }
            // One array is one offence, and its elements are not looked at.
            Some(_) if 0 < element.index => {
                self.noise.pass_over();
                return None;
            }
            Some(_) | None => {}
        }
        let mut id = None;
        let envelope;
        if self.session.is_none() {
            // Nothing is agreed yet, so each request is told by its id.
            envelope = Envelope::scan(frame.bytes(), config.limits.depth);
            match classify(&envelope, &config.limits, config.versions()) {
                Ok(Message::Request { id: request, .. }) => id = Some(request),
                _ if 0 < element.index => {
                    self.noise.pass_over();
                    return None;
                }
                _ => {}
            }
        }
        let kind = ViolationKind::BatchNotAllowed;
        self.violation(config, kind, id, frame.bytes(), reception.arrival, reception.out)
            .map(Incoming::Event)
    }

    fn message<'a>(
        &mut self,
        frame: Frame<'a>,
        element: Option<Element>,
        reception: &mut Reception<'_, '_>,
    ) -> Option<Incoming<'a>> {
        let config = reception.config;
        let bytes = frame.bytes();
        let envelope = Envelope::scan(bytes, config.limits.depth);
        reception.out.observe(&Observation::Received {
            method: envelope
                .get(Member::Method)
                .and_then(shown)
                .and_then(|method| method.strip_prefix('"')?.strip_suffix('"')),
            id: envelope.get(Member::Id).and_then(shown),
            bytes: bytes.len(),
        });
        match classify(&envelope, &config.limits, config.versions()) {
            Ok(message) => {
                self.noise.is_message();
                self.well_formed(message, bytes, element, reception)
            }
            Err(defective) => self.ill_formed(defective, frame, reception),
        }
    }

    fn well_formed<'a>(
        &mut self,
        message: Message<'a>,
        bytes: &'a [u8],
        element: Option<Element>,
        reception: &mut Reception<'_, '_>,
    ) -> Option<Incoming<'a>> {
        match message {
            Message::Request { id, method, params, meta } => {
                let request = IncomingRequest { id, method, params, meta, bytes };
                self.request(request, element, reception)
            }
            Message::Notification { method, params, .. } => {
                self.notification(method, params, bytes, reception)
            }
            Message::Result { id, result } => {
                self.response(id, Outcome::Result(Raw::trusted(result)), reception.config)
            }
            Message::Error { id, error } => {
                self.response(id, Outcome::PeerError(error), reception.config)
            }
            Message::IdlessError { error } => Some(self.idless_error(error, reception.arrival)),
        }
    }

    /// A frame that is no message. If it was going to be the answer to a call, it ends the call.
    fn ill_formed<'a>(
        &mut self,
        mut defective: Defective<'a>,
        frame: Frame<'a>,
        reception: &mut Reception<'_, '_>,
    ) -> Option<Incoming<'a>> {
        let config = reception.config;
        let bytes = frame.bytes();
        if matches!(defective.shape, Shape::Response | Shape::Either)
            && let Some(id) = &defective.id
        {
            if let Some(call) = self.pending(id, config) {
                if defective.kind == ViolationKind::SplitOverLines {
                    self.noise.begins_split_text(bytes);
                }
                let outcome = Outcome::Malformed { kind: defective.kind, message: bytes.into() };
                return Some(self.ended(call, outcome));
            }
            if self.was_given_up(id, config) {
                // Late and broken, but an answer, which is never answered.
                defective.shape = Shape::Response;
            }
        }
        let (arrival, origin) = (reception.arrival, frame.origin());
        self.defective(config, defective, bytes, origin, arrival, reception.out)
            .map(Incoming::Event)
    }

    fn request<'a>(
        &mut self,
        request: IncomingRequest<'a>,
        element: Option<Element>,
        reception: &mut Reception<'_, '_>,
    ) -> Option<Incoming<'a>> {
        let config = reception.config;
        let arrival = reception.arrival;
        if config.duplicate_ids == DuplicateIds::Refuse && self.is_in_flight(&request.id) {
            let kind = ViolationKind::DuplicateRequestId;
            return self.refuse(config, kind, request, arrival, reception.out);
        }
        let kind = RequestKind::of(&request.method);
        if kind == Some(RequestKind::Ping) {
            self.send_own(arrival.lane, None, reception.out, |writer| {
                write_result(writer, &request.id, &(), Additions::default())
            });
            return None;
        }
        if self.phase == Phase::Draining {
            let kind = ViolationKind::ShuttingDown;
            return self.refuse(config, kind, request, arrival, reception.out);
        }
        let standing = if element.is_some() { Standing::InBatch } else { Standing::Alone };
        match route(kind, self.role, standing, self.session, self.offered) {
            Route::Handshake => Some(Incoming::Initialize(request)),
            Route::InSession(None) if config.unknown_methods == UnknownMethods::Reject => {
                let kind = ViolationKind::UnknownMethod;
                self.refuse(config, kind, request, arrival, reception.out)
            }
            Route::InSession(kind) => Some(Incoming::Request(kind, request)),
            Route::Refuse(kind) => self.refuse(config, kind, request, arrival, reception.out),
        }
    }

    /// Refuses a request. It never reaches the application.
    pub(crate) fn refuse<'a>(
        &mut self,
        config: &ConnectionConfig,
        kind: ViolationKind,
        request: IncomingRequest<'a>,
        arrival: Arrival,
        out: &mut dyn Outlets,
    ) -> Option<Incoming<'a>> {
        let IncomingRequest { id, bytes, .. } = request;
        self.violation(config, kind, Some(id), bytes, arrival, out).map(Incoming::Event)
    }

    /// Takes a request of the session into the table, unless the table is full or the progress token
    /// is none. The context is that of the session.
    pub(crate) fn admit<'a>(
        &mut self,
        config: &ConnectionConfig,
        request: &IncomingRequest<'a>,
        arrival: Arrival,
    ) -> Result<(InboundId, RequestContext), ViolationKind> {
        if config.limits.inbound_requests <= self.inbound.len() {
            return Err(ViolationKind::TooManyRequests);
        }
        let token = request.progress_token(config)?;
        let mut context = RequestContext {
            wants_progress: token.is_some(),
            principal: arrival.principal,
            ..RequestContext::default()
        };
        if let Some(session) = self.session {
            context.revision = session.revision;
            context.capabilities = session.capabilities;
        }
        Ok((self.accept(config, &request.id, context, token.as_ref()), context))
    }

    fn notification<'a>(
        &mut self,
        method: Str<'a>,
        params: Option<&'a str>,
        bytes: &'a [u8],
        reception: &Reception<'_, '_>,
    ) -> Option<Incoming<'a>> {
        let kind = NotificationKind::of(&method);
        let config = reception.config;
        let event = match kind {
            Some(NotificationKind::Cancelled) => self.cancellation(params, bytes, config),
            Some(NotificationKind::Progress) => {
                self.progress(params, bytes, config, reception.arrival)
            }
            _ => {
                let params = params.map(Raw::trusted);
                let notification = Notification { method, params };
                return Some(Incoming::Notification(kind, notification, bytes));
            }
        };
        event.map(Incoming::Event)
    }

    /// The peer cancels one of its requests. Naming one that is not in flight is no fault: it may
    /// have been answered meanwhile.
    fn cancellation<'a>(
        &mut self,
        params: Option<&'a str>,
        bytes: &'a [u8],
        config: &ConnectionConfig,
    ) -> Option<PeerEvent<'a>> {
        let mut id = None;
        let mut reason = None;
        for (key, value) in MemberTexts::of(params.unwrap_or_default()) {
            if key == "requestId" {
                id = Id::from_literal(value, config.limits.id_bytes).ok();
            } else if key == "reason" {
                reason = Str::from_literal(value);
            }
        }
        match id {
            Some(id) => self.cancelled_by_peer(&id, reason),
            None => self.unanswered(ViolationKind::MalformedCancellation, bytes, config),
        }
    }

    /// The peer reports on one of our calls. Being late is no fault.
    fn progress<'a>(
        &mut self,
        params: Option<&'a str>,
        bytes: &'a [u8],
        config: &ConnectionConfig,
        arrival: Arrival,
    ) -> Option<PeerEvent<'a>> {
        let (mut token, mut progress, mut total, mut message) = (None, None, None, None);
        for (key, value) in MemberTexts::of(params.unwrap_or_default()) {
            if key == "progressToken" {
                token = Id::from_literal(value, config.limits.token_bytes).ok();
            } else if key == "progress" {
                progress = Number::from_literal(value);
            } else if key == "total" {
                total = Number::from_literal(value);
            } else if key == "message" {
                message = Str::from_literal(value);
            }
        }
        let (Some(token), Some(progress)) = (token, progress) else {
            return self.unanswered(ViolationKind::MalformedProgress, bytes, config);
        };
        // The token of a call is its id.
        let id = token.number(config.match_stringified_ids);
        let place = id.and_then(|id| self.outbound.find(id));
        let Some(place) = place else {
            return match self.outbound.stray(id) {
                StrayCause::NeverIssued => {
                    self.unanswered(ViolationKind::UnknownToken, bytes, config)
                }
                _ => None,
            };
        };
        let call = CallId(place);
        let entry = self.outbound.get(place)?;
        if !entry.wants_progress {
            return self.unanswered(ViolationKind::UnknownToken, bytes, config);
        }
        if entry.progress.is_some_and(|last| progress <= last) {
            return self.unanswered(ViolationKind::ProgressNotIncreasing, bytes, config);
        }
        self.has_progressed(call, progress, arrival.now);
        Some(PeerEvent::Progress(ProgressUpdate { call, progress, total, message }))
    }

    /// Reports a notification that is wrong; those are never answered.
    pub(crate) fn unanswered<'a>(
        &mut self,
        kind: ViolationKind,
        bytes: &'a [u8],
        config: &ConnectionConfig,
    ) -> Option<PeerEvent<'a>> {
        self.report(config, Violation::of(kind, None, bytes))
    }

    fn response<'a>(
        &mut self,
        id: Id<'a>,
        outcome: Outcome<'a>,
        config: &ConnectionConfig,
    ) -> Option<Incoming<'a>> {
        match self.pending(&id, config) {
            Some(call) => Some(self.ended(call, outcome)),
            None => {
                let cause = self.stray_cause(&id, config);
                Some(Incoming::Event(PeerEvent::Stray(Stray { id, cause })))
            }
        }
    }

    /// An error that names no request. If the carrier knows which call it answers, it ends that
    /// call; before the session is open it can only mean `initialize`.
    fn idless_error<'a>(&mut self, error: ErrorObject<'a>, arrival: Arrival) -> Incoming<'a> {
        let by_lane = match arrival.lane {
            Lane::Call(call) if self.is_pending(call) => Some(call),
            _ => None,
        };
        match by_lane.or(self.initialize) {
            Some(call) => self.ended(call, Outcome::PeerError(error)),
            None => Incoming::Event(PeerEvent::PeerFault(error)),
        }
    }

    /// The call that this id belongs to. One that is still held cannot have been answered.
    fn pending(&self, id: &Id<'_>, config: &ConnectionConfig) -> Option<CallId> {
        let place = self.outbound.find(id.number(config.match_stringified_ids)?)?;
        let entry = self.outbound.get(place)?;
        (!matches!(entry.whereabouts, Whereabouts::Held(_))).then_some(CallId(place))
    }

    /// Whether a call of ours with this id was cancelled or timed out not long ago.
    fn was_given_up(&self, id: &Id<'_>, config: &ConnectionConfig) -> bool {
        matches!(self.stray_cause(id, config), StrayCause::Cancelled | StrayCause::TimedOut)
    }

    /// Why an id belongs to no call that could be answered.
    fn stray_cause(&self, id: &Id<'_>, config: &ConnectionConfig) -> StrayCause {
        let number = id.number(config.match_stringified_ids);
        if number.is_some_and(|number| self.outbound.find(number).is_some()) {
            // It is held, so nobody has heard of it.
            return StrayCause::NeverIssued;
        }
        self.outbound.stray(number)
    }

    fn ended<'a>(&mut self, call: CallId, outcome: Outcome<'a>) -> Incoming<'a> {
        let purpose = self.outbound.get(call.0).map(|entry| entry.purpose);
        match (purpose, self.end_call(call, outcome)) {
            (Some(Purpose::Initialize), PeerEvent::CallEnded(ended)) => {
                Incoming::HandshakeEnded(ended.outcome)
            }
            (_, event) => Incoming::Event(event),
        }
    }
}

impl ConnectionConfig {
    const fn versions(&self) -> Versions {
        if self.lenient_version { Versions::Any } else { Versions::Exact }
    }
}

impl<'a> IncomingRequest<'a> {
    /// The token that the peer wants progress under; `null` counts as none.
    fn progress_token(&self, config: &ConnectionConfig) -> Result<Option<Id<'a>>, ViolationKind> {
        let Some(meta) = self.meta else { return Ok(None) };
        let token = MemberTexts::of(meta).filter(|(key, _)| key == "progressToken").last();
        match token {
            None | Some((_, "null")) => Ok(None),
            Some((_, literal)) => Id::from_literal(literal, config.limits.token_bytes)
                .map(Some)
                .map_err(|_| ViolationKind::MalformedToken),
        }
    }
}
