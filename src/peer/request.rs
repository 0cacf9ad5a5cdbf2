//! Requests of the peer: which are served, and which are refused before anybody sees them.

use super::event::{PeerEvent, Violation};
use super::outlets::Outlets;
use super::receive::{Incoming, IncomingRequest, Reception};
use super::route::{Route, Standing, route};
use super::rules::check_params;
use super::{ConnectionConfig, DuplicateIds, Peer, UnknownMethods};
use crate::dialect::methods::RequestKind;
use crate::error::ViolationKind;
use crate::json::{Additions, Misfit, Str, fits, member};
use crate::rpc::{Id, write_result};
use crate::session::Phase;

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    kind: ViolationKind,
    misfit: Option<Misfit>,
}

impl From<ViolationKind> for Refusal {
    fn from(kind: ViolationKind) -> Self {
        Self { kind, misfit: None }
    }
}

impl From<Misfit> for Refusal {
    fn from(misfit: Misfit) -> Self {
        Self { kind: ViolationKind::InvalidParams, misfit: Some(misfit) }
    }
}

impl Peer {
    pub(super) fn request<'a>(
        &mut self,
        request: IncomingRequest<'a>,
        reception: &mut Reception<'_, '_>,
    ) -> Option<Incoming<'a>> {
        let config = reception.config;
        match self.admissible(config, &request) {
            Ok(Some(RequestKind::Ping)) => {
                self.answer_own(config, request.arrival, reception.out, |writer| {
                    write_result(writer, &request.id, &(), Additions::default(), None)
                });
                None
            }
            Ok(Some(RequestKind::Initialize)) => Some(Incoming::Initialize(request)),
            Ok(kind) => Some(Incoming::Request(kind, request)),
            Err(refusal) => {
                self.refuse(config, refusal, request, reception.out).map(Incoming::Event)
            }
        }
    }

    /// Whether a request may be served. Gives what it asks for, if MCP has it and the machine is to
    /// look.
    fn admissible(
        &self,
        config: &ConnectionConfig,
        request: &IncomingRequest<'_>,
    ) -> Result<Option<RequestKind>, Refusal> {
        if config.duplicate_ids == DuplicateIds::Refuse && self.is_in_flight(&request.id) {
            return Err(ViolationKind::DuplicateRequestId.into());
        }
        let kind = RequestKind::of(&request.method);
        if kind == Some(RequestKind::Ping) {
            return Ok(kind);
        }
        if self.phase == Phase::Draining {
            return Err(ViolationKind::ShuttingDown.into());
        }
        let is_relayed = self.session.is_some()
            && kind != Some(RequestKind::Initialize)
            && config.relay.covers(&request.method.to_str());
        if is_relayed {
            return Ok(None);
        }
        let standing =
            if request.arrival.batch.is_some() { Standing::InBatch } else { Standing::Alone };
        match route(kind, self.role, standing, self.session, self.declared()) {
            Route::Handshake => Ok(kind),
            Route::InSession(None) if config.unknown_methods == UnknownMethods::Reject => {
                Err(ViolationKind::UnknownMethod.into())
            }
            Route::InSession(kind) => {
                if let Some(kind) = kind {
                    self.check_request(config, kind, request.params)?;
                }
                Ok(kind)
            }
            Route::Refuse(kind) => Err(kind.into()),
        }
    }

    /// Whether the params are what the method asks for, and ask for nothing that is not offered.
    fn check_request(
        &self,
        config: &ConnectionConfig,
        kind: RequestKind,
        params: Option<&str>,
    ) -> Result<(), Refusal> {
        let Some(session) = self.session else { return Ok(()) };
        let needs = fits(kind.rule().params(session.revision), params)?;
        let params = params.unwrap_or_default();
        if !needs.known_to(session.revision).without(self.offered).is_empty() {
            return Err(ViolationKind::NotOffered.into());
        }
        check_params(kind, params)?;
        if kind == RequestKind::Subscribe {
            self.check_subscription(config, params)?;
        }
        Ok(())
    }

    fn check_subscription(
        &self,
        config: &ConnectionConfig,
        params: &str,
    ) -> Result<(), ViolationKind> {
        let Some(uri) = member(params, "uri").and_then(Str::from_literal) else { return Ok(()) };
        if config.limits.uri_bytes < uri.as_wire().len() {
            return Err(ViolationKind::LongUri);
        }
        // Those that have not been answered count, too: all of them may be granted.
        let most = config.limits.subscriptions as usize;
        let granted = self.interests.resources();
        let is_full = most <= granted.saturating_add(self.inbound.len() as usize)
            && most <= granted.saturating_add(self.pending_subscriptions());
        if is_full && !self.interests.wants_resource_on_wire(&uri) {
            return Err(ViolationKind::TooManySubscriptions);
        }
        Ok(())
    }

    /// How many requests for a subscription have not been answered.
    fn pending_subscriptions(&self) -> usize {
        let kinds = self.inbound.iter().map(|(_, exchange)| exchange.kind);
        kinds.filter(|kind| *kind == Some(RequestKind::Subscribe)).count()
    }

    /// Refuses a request. It never reaches the application.
    pub(crate) fn refuse<'a>(
        &mut self,
        config: &ConnectionConfig,
        refusal: impl Into<Refusal>,
        request: IncomingRequest<'a>,
        out: &mut dyn Outlets,
    ) -> Option<PeerEvent<'a>> {
        let Refusal { kind, misfit } = refusal.into();
        let IncomingRequest { id, bytes, arrival, .. } = request;
        let violation = Violation { misfit, ..Violation::of(kind, Some(id), bytes) };
        self.violation(violation, &mut Reception { config, arrival, out })
    }
}

impl<'a> IncomingRequest<'a> {
    /// The token that the peer wants progress under; `null` counts as none.
    pub(super) fn progress_token(
        &self,
        config: &ConnectionConfig,
    ) -> Result<Option<Id<'a>>, ViolationKind> {
        match self.meta.and_then(|meta| member(meta, "progressToken")) {
            None | Some("null") => Ok(None),
            Some(literal) => Id::from_literal(literal, config.limits.token_bytes)
                .map(Some)
                .map_err(|_| ViolationKind::MalformedToken),
        }
    }
}
