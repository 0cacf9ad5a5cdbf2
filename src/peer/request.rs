//! Requests of the peer: which are served, and which are refused before anybody sees them.

use core::time::Duration;

use super::claim::Claim;
use super::context::{RequestContext, TaskRequest, Terms};
use super::cx::Cx;
use super::detail::Detail;
use super::event::Violation;
use super::exchanges::Said;
use super::incoming::Incoming;
use super::incoming_request::IncomingRequest;
use super::peer_event::PeerEvent;
use super::reception::Reception;
use super::route::{Role, Route, Situation, Standing, route};
use super::{Peer, UnknownMethods};
use crate::capability::{CapabilitySet, ExtensionSet};
use crate::dialect::check_params;
use crate::dialect::methods::RequestKind;
use crate::error::ViolationKind;
use crate::json::{Misfit, Problem, Str, fits, member};
use crate::rpc::{Id, Lookup, write_success};
use crate::session::Phase;
use crate::subscription::Filter;
use crate::task::EXTENSION;
use crate::version::{Era, RevisionSet};

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    kind: ViolationKind,
    misfit: Option<Misfit>,
    /// What more there is to say to the peer.
    detail: Option<Detail>,
}

impl From<ViolationKind> for Refusal {
    fn from(kind: ViolationKind) -> Self {
        Self { kind, misfit: None, detail: None }
    }
}

impl From<Misfit> for Refusal {
    fn from(misfit: Misfit) -> Self {
        Self { misfit: Some(misfit), ..Self::from(ViolationKind::InvalidParams) }
    }
}

impl Refusal {
    /// The version that is asked for is not served.
    pub(crate) fn of_version(supported: RevisionSet, requested: &Str<'_>) -> Self {
        let detail = Detail::versions(supported, requested);
        Self { detail: Some(detail), ..Self::from(ViolationKind::UnsupportedRevision) }
    }
}

/// What a request turned out to be.
enum Admitted {
    Handshake,
    Ping,
    /// What it asks for, if MCP has it and the machine is to look, and under which rules.
    Work(Option<RequestKind>, RequestContext),
}

impl Peer {
    #[inline]
    pub(super) fn request<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        mut request: IncomingRequest<'e, 'a>,
        _reception: &Reception,
    ) -> Option<Incoming<'e, 'a>> {
        let config = cx.config;
        match self.admissible(cx, &request) {
            Ok(Admitted::Ping) => {
                self.answer_own(cx, request.arrival, Said::Result, |writer| {
                    write_success(writer, &request.id)
                });
                None
            }
            Ok(Admitted::Handshake) => Some(Incoming::Initialize(request)),
            Ok(Admitted::Work(kind, context)) => {
                request.context = context;
                request.is_relayed = kind.is_none() && config.relay.covers(&request.method);
                Some(Incoming::Request(kind, request))
            }
            Err(refusal) => self.refuse(cx, refusal, request).map(Incoming::Event),
        }
    }

    /// Whether a request may be served.
    fn admissible(
        &self,
        cx: &Cx<'_, '_>,
        request: &IncomingRequest<'_, '_>,
    ) -> Result<Admitted, Refusal> {
        match self.look_up(&request.id) {
            Lookup::Found(_) if !cx.config.serves_duplicates() => {
                return Err(ViolationKind::DuplicateRequestId.into());
            }
            Lookup::Found(_) | Lookup::Free => {}
            Lookup::Crowded => return Err(ViolationKind::CollidingId.into()),
        }
        let kind = RequestKind::of(&request.method);
        let claim = self.claim(request);
        let routed = route(kind, &claim, &self.situation(request));
        let is_draining = self.phase == Phase::Draining && routed != Route::Ping;
        let is_relayed = || cx.config.relay.covers(&request.method);
        match routed {
            // What it lacks matters more than that it comes too late.
            Route::Refuse(kind @ ViolationKind::RequestFromServer) => Err(kind.into()),
            _ if is_draining => Err(ViolationKind::ShuttingDown.into()),
            Route::Ping => Ok(Admitted::Ping),
            Route::Handshake => Ok(Admitted::Handshake),
            Route::InSession(kind) => {
                let terms = self.session.ok_or(ViolationKind::NotInitialized)?;
                let kind = self.check_request(cx, kind, request, terms, is_relayed())?;
                let task = self.task_in_session(cx, kind, request, terms)?;
                Ok(Admitted::Work(kind, RequestContext { task, ..terms.into() }))
            }
            Route::Alone(kind, facts) => {
                let ours = self.offered_alone();
                let theirs = facts.capabilities;
                let terms = Terms { revision: facts.revision, ours, theirs };
                let is_relayed = is_relayed();
                if !is_relayed {
                    self.check_extension(kind, request, &facts.into())?;
                }
                let kind = self.check_request(cx, kind, request, terms, is_relayed)?;
                let knows_tasks = self.has_extension(EXTENSION, facts.extensions);
                let may_be = kind == Some(RequestKind::CallTool) && knows_tasks;
                let task = may_be.then(TaskRequest::default);
                Ok(Admitted::Work(kind, RequestContext { task, ..facts.into() }))
            }
            Route::Refuse(_) if is_relayed() && self.is_relayable(kind, &claim) => {
                let terms = self.session.ok_or(ViolationKind::NotInitialized)?;
                Ok(Admitted::Work(None, terms.into()))
            }
            Route::Refuse(kind) => Err(self.refusal(kind, &claim, request)),
        }
    }

    /// What a request says of itself, where that matters.
    fn claim<'a>(&self, request: &IncomingRequest<'_, 'a>) -> Claim<'a> {
        match self.identity() {
            Some(own) if self.role == Role::Server => {
                Claim::read(request.meta.as_ref(), self.spoken, own)
            }
            _ => Claim::Absent,
        }
    }

    fn situation(&self, request: &IncomingRequest<'_, '_>) -> Situation {
        let in_batch = request.arrival.batch.is_some();
        Situation {
            role: self.role,
            standing: if in_batch { Standing::InBatch } else { Standing::Alone },
            session: self.session,
            spoken: self.spoken,
            offered_alone: self.offered_alone(),
            era: self.only_era(),
            is_probing: self.is_probing(),
        }
    }

    /// The only era that the connection may still be used in, if there is to be one and it has been used.
    fn only_era(&self) -> Option<Era> {
        self.identity().filter(|own| own.one_era)?;
        match self.session {
            Some(terms) => Some(terms.revision.era()),
            None => self.has_served_alone.then_some(Era::Stateless),
        }
    }

    /// What this side offers to requests that stand alone.
    pub(super) fn offered_alone(&self) -> CapabilitySet {
        self.identity().map_or(CapabilitySet::NONE, |own| own.offered)
    }

    /// Whether a request of the session passes without being looked at although it would be refused.
    fn is_relayable(&self, kind: Option<RequestKind>, claim: &Claim<'_>) -> bool {
        self.session.is_some()
            && kind != Some(RequestKind::Initialize)
            && matches!(claim, Claim::Absent)
    }

    fn refusal(
        &self,
        kind: ViolationKind,
        claim: &Claim<'_>,
        request: &IncomingRequest<'_, '_>,
    ) -> Refusal {
        let supported = self.spoken.and(RevisionSet::STATELESS);
        match (kind, claim) {
            (ViolationKind::MalformedClaim, Claim::Malformed(misfit)) => {
                Refusal { misfit: Some(*misfit), ..Refusal::from(kind) }
            }
            (ViolationKind::UnsupportedRevision, Claim::Unsupported(name)) => {
                Refusal::of_version(supported, name)
            }
            // It wants a session, and there are none here.
            (ViolationKind::UnsupportedRevision, _) => {
                match request.param("protocolVersion").and_then(Str::from_literal) {
                    Some(requested) => Refusal::of_version(supported, &requested),
                    None => ViolationKind::NoClaim.into(),
                }
            }
            _ => kind.into(),
        }
    }

    /// Methods of the extension for tasks are there if both sides have it: first that this side has
    /// it, then that the request declares it, and what it names only then. So it is with tasks that a
    /// subscription is about, which are nothing if this side does not have the extension.
    fn check_extension(
        &self,
        kind: Option<RequestKind>,
        request: &IncomingRequest<'_, '_>,
        context: &RequestContext,
    ) -> Result<(), Refusal> {
        let is_method = kind.is_some_and(RequestKind::is_of_task_extension);
        let is_subject = kind == Some(RequestKind::Listen)
            && Filter::<()>::read_params(request.params_text().unwrap_or_default()).has_tasks();
        if !(is_method || is_subject) {
            return Ok(());
        }
        let has_it = self.identity().and_then(|own| own.extension(EXTENSION)).is_some();
        if is_method && !has_it {
            return Err(ViolationKind::MethodNotAvailable.into());
        }
        if !has_it || self.has_extension(EXTENSION, context.extensions) {
            return Ok(());
        }
        let detail = Some(Detail::extension(EXTENSION));
        Err(Refusal { detail, ..Refusal::from(ViolationKind::MissingCapability) })
    }

    /// Whether both sides have an extension.
    pub(super) fn has_extension(&self, name: &str, declared: ExtensionSet) -> bool {
        let own = self.identity().and_then(|own| own.extension(name));
        own.is_some_and(|extension| declared.contains(extension))
    }

    /// Whether a request of a session asks for a task. Where this side does not offer that, it does not
    /// matter what it asks for.
    fn task_in_session(
        &self,
        cx: &Cx<'_, '_>,
        kind: Option<RequestKind>,
        request: &IncomingRequest<'_, '_>,
        terms: Terms,
    ) -> Result<Option<TaskRequest>, Refusal> {
        let capability = kind.and_then(RequestKind::task_capability);
        if !capability.is_some_and(|capability| terms.ours.contains(capability)) {
            return Ok(None);
        }
        let task = request.param("task");
        let Some(task) = task.filter(|task| *task != "null") else {
            let is_refused = cx.config.insist_on_tasks && kind != Some(RequestKind::CallTool);
            return if is_refused { Err(ViolationKind::TaskRequired.into()) } else { Ok(None) };
        };
        if !task.starts_with('{') {
            return Err(Misfit::at("task", Problem::WrongType).into());
        }
        let ttl = match member(task, "ttl").filter(|ttl| *ttl != "null") {
            None => None,
            Some(ttl) => {
                let millis = whole(ttl).ok_or(Misfit::at("task.ttl", Problem::WrongType))?;
                Some(Duration::from_millis(millis))
            }
        };
        Ok(Some(TaskRequest { ttl }))
    }

    /// Whether the params are what the method asks for, and ask for nothing that is not offered. Gives
    /// the method if the machine is to look.
    fn check_request(
        &self,
        cx: &Cx<'_, '_>,
        kind: Option<RequestKind>,
        request: &IncomingRequest<'_, '_>,
        terms: Terms,
        is_relayed: bool,
    ) -> Result<Option<RequestKind>, Refusal> {
        let is_own = matches!(kind, Some(RequestKind::Discover | RequestKind::Listen));
        if is_relayed && !is_own {
            return Ok(None);
        }
        let Some(kind) = kind else {
            return match cx.config.unknown_methods {
                UnknownMethods::Reject => Err(ViolationKind::UnknownMethod.into()),
                UnknownMethods::Surface => Ok(None),
            };
        };
        let needs = fits(kind.rule().params(terms.revision), request.params.as_ref())?;
        let params = request.params_text().unwrap_or_default();
        if !needs.known_to(terms.revision).minus(terms.ours).is_empty() {
            return Err(ViolationKind::NotOffered.into());
        }
        check_params(kind, params)?;
        match kind {
            RequestKind::Subscribe => self.check_subscription(cx, params)?,
            RequestKind::Listen => self.check_listen(cx, params)?,
            _ => {}
        }
        Ok(Some(kind))
    }

    fn check_subscription(&self, cx: &Cx<'_, '_>, params: &str) -> Result<(), ViolationKind> {
        let Some(uri) = member(params, "uri").and_then(Str::from_literal) else { return Ok(()) };
        if cx.config.limits.uri_bytes < uri.as_wire().len() {
            return Err(ViolationKind::LongUri);
        }
        // Those that have not been answered count, too: all of them may be granted.
        let most = cx.config.limits.subscriptions as usize;
        let granted = self.interests.resources();
        let is_full = most <= granted.saturating_add(self.asked_subscriptions as usize);
        if is_full && !self.interests.wants_resource_on_wire(&uri) {
            return Err(ViolationKind::TooManySubscriptions);
        }
        Ok(())
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
        self.violation_with(cx, violation, detail.as_ref(), &arrival.into())
    }
}

/// A number that is not negative and has no fraction, however it is written.
fn whole(literal: &str) -> Option<u64> {
    literal.parse().ok().or_else(|| {
        let number: f64 = literal.parse().ok()?;
        let whole = number as u64;
        (whole as f64 == number).then_some(whole)
    })
}

impl<'a> IncomingRequest<'_, 'a> {
    /// The token that the peer wants progress under; `null` counts as none.
    pub(super) fn progress_token(&self, cx: &Cx<'_, '_>) -> Result<Option<Id<'a>>, ViolationKind> {
        match self.in_meta("progressToken") {
            None | Some("null") => Ok(None),
            Some(literal) => Id::from_literal(literal, cx.config.limits.token_bytes)
                .map(Some)
                .map_err(|_| ViolationKind::MalformedToken),
        }
    }
}
