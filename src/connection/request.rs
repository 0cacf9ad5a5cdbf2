//! Admits requests of the peer, or refuses them before they reach the application.

use alloc::borrow::Cow;
use core::time::Duration;

use super::context::{Negotiated, RequestContext, TaskRequest};
use super::cx::Cx;
use super::detail::Detail;
use super::incoming::bytes_of;
use super::incoming_request::IncomingRequest;
use super::messages::Messages;
use super::request_meta::RequestMeta;
use super::routing::{Decision, RoutingContext, decide};
use super::usual_call::admit_usual_call;
use super::violations::Violations;
use crate::codes::ViolationKind;
use crate::config::{DuplicateIds, UnknownMethods};
use crate::dialect::features::Feature;
use crate::dialect::methods::RequestKind;
use crate::dialect::{check_params, elicitation_id};
use crate::handle::IncomingId;
use crate::interests::uris_of;
use crate::json::{Raw, Str, member};
use crate::limits::Limits;
use crate::rpc::{Id, Lookup, Recycle};
use crate::schema::{Misfit, Problem, fits};
use crate::session::Phase;
use crate::task::{EXTENSION, RELATED};
use crate::version::{Era, RevisionSet};

/// The reason why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(super) kind: ViolationKind,
    pub(super) misfit: Option<Misfit>,
    /// The `data` of the error response.
    pub(super) detail: Option<Detail>,
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
    /// Refuses an unsupported protocol version.
    pub(crate) fn of_version(supported: RevisionSet, requested: &Str<'_>) -> Self {
        let detail = Detail::versions(supported, requested);
        Self { detail: Some(detail), ..Self::from(ViolationKind::UnsupportedRevision) }
    }
}

/// The kind of an admitted request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admitted {
    Handshake,
    Ping,
    /// A request for the application: its method, if MCP has it and it is not relayed.
    Work(Option<RequestKind>),
}

/// The check of a request of the peer before it reaches the application.
pub(super) struct Admission<'m, C> {
    pub(super) messages: &'m Messages<C>,
    /// The number of open subscriptions of the peer.
    pub(super) listens: usize,
    /// Whether a client is probing whether a session is needed.
    pub(super) is_probing: bool,
}

impl<C: Recycle> Admission<'_, C> {
    /// Returns the only era of the connection, if it is limited to one and the era has been used.
    fn only_era(&self) -> Option<Era> {
        let session = &self.messages.session;
        session.identity().filter(|own| own.one_era)?;
        match session.negotiated {
            Some(negotiated) => Some(negotiated.revision.era()),
            None => session.has_served_modern.then_some(Era::Modern),
        }
    }

    /// Whether a request may be served. Puts the context that selects its rules into the request, and the params of a
    /// usual call.
    pub(super) fn admissible(
        &self,
        cx: &Cx<'_, '_>,
        request: &mut IncomingRequest<'_, '_>,
        request_meta: &RequestMeta<'_>,
    ) -> Result<Admitted, Refusal> {
        match self.messages.incoming.look_up(&request.id) {
            Lookup::Found(_) if !cx.config.serves_duplicates() => {
                return Err(ViolationKind::DuplicateRequestId.into());
            }
            Lookup::Found(_) | Lookup::Free => {}
            Lookup::Crowded => return Err(ViolationKind::CollidingId.into()),
        }
        if admit_usual_call(self.messages, cx, request, request_meta) {
            let usual = Admitted::Work(Some(RequestKind::CallTool));
            if cfg!(debug_assertions) {
                let mut same = request.clone();
                let admitted = self.by_rules(cx, &mut same, request_meta);
                debug_assert_eq!((admitted.as_ref(), same.context), (Ok(&usual), request.context));
            }
            return Ok(usual);
        }
        self.by_rules(cx, request, request_meta)
    }

    /// Whether a request whose id is free may be served.
    fn by_rules(
        &self,
        cx: &Cx<'_, '_>,
        request: &mut IncomingRequest<'_, '_>,
        request_meta: &RequestMeta<'_>,
    ) -> Result<Admitted, Refusal> {
        let kind = RequestKind::of(&request.method);
        let is_relayed = cx.config.relay.covers(&request.method);
        let decision = decide(kind, request_meta, &self.context(request, is_relayed));
        let is_draining =
            self.messages.lifecycle.phase == Phase::Draining && decision != Decision::Ping;
        match decision {
            // This violation takes precedence over draining.
            Decision::Refuse(kind @ ViolationKind::RequestFromServer) => Err(kind.into()),
            _ if is_draining => Err(ViolationKind::ShuttingDown.into()),
            Decision::Ping => Ok(Admitted::Ping),
            Decision::Handshake => Ok(Admitted::Handshake),
            Decision::InSession(kind) => {
                let negotiated =
                    self.messages.session.negotiated.ok_or(ViolationKind::NotInitialized)?;
                let kind = self.check_request(cx, kind, request, negotiated, is_relayed)?;
                let task = self.task_in_session(cx, kind, request, negotiated)?;
                request.context = RequestContext { task, ..negotiated.into() };
                Ok(Admitted::Work(kind))
            }
            Decision::Modern(kind, meta) => {
                let ours = self.messages.session.offered_modern();
                let theirs = meta.capabilities;
                let negotiated = Negotiated { revision: meta.revision, ours, theirs };
                if !is_relayed {
                    self.check_extension(kind, request, &meta.into())?;
                }
                let kind = self.check_request(cx, kind, request, negotiated, is_relayed)?;
                let knows_tasks = self.messages.session.has_extension(EXTENSION, meta.extensions);
                let may_be = kind == Some(RequestKind::CallTool) && knows_tasks;
                let task = may_be.then(TaskRequest::default);
                request.context = RequestContext { task, ..meta.into() };
                Ok(Admitted::Work(kind))
            }
            Decision::Refuse(kind) => Err(self.refusal(kind, request_meta, request)),
        }
    }

    fn context(&self, request: &IncomingRequest<'_, '_>, is_relayed: bool) -> RoutingContext {
        RoutingContext {
            role: self.messages.session.role,
            in_batch: request.received.batch.is_some(),
            session: self.messages.session.negotiated,
            spoken: self.messages.session.spoken,
            offered_modern: self.messages.session.offered_modern(),
            era: self.only_era(),
            is_probing: self.is_probing,
            is_relayed,
        }
    }

    fn refusal(
        &self,
        kind: ViolationKind,
        request_meta: &RequestMeta<'_>,
        request: &IncomingRequest<'_, '_>,
    ) -> Refusal {
        let supported = self.messages.session.spoken.and(RevisionSet::MODERN);
        match (kind, request_meta) {
            (ViolationKind::MalformedRequestMeta, RequestMeta::Malformed(misfit)) => {
                Refusal { misfit: Some(*misfit), ..Refusal::from(kind) }
            }
            (ViolationKind::UnsupportedRevision, RequestMeta::Unsupported(name)) => {
                Refusal::of_version(supported, name)
            }
            // `initialize`, where no session can be opened.
            (ViolationKind::UnsupportedRevision, _) => {
                match request.param("protocolVersion").and_then(Str::from_literal) {
                    Some(requested) => Refusal::of_version(supported, &requested),
                    None => ViolationKind::NoRequestMeta.into(),
                }
            }
            _ => kind.into(),
        }
    }

    /// Checks a method of the tasks extension, which is served only if both sides support the extension. Own support
    /// is checked first (`-32601`), then the declaration of the request (`-32021`); the task id is checked only
    /// later. Task ids in a subscription filter get the same check, but are ignored if this side does not have the
    /// extension.
    fn check_extension(
        &self,
        kind: Option<RequestKind>,
        request: &IncomingRequest<'_, '_>,
        context: &RequestContext,
    ) -> Result<(), Refusal> {
        let is_method = kind.is_some_and(RequestKind::is_of_task_extension);
        let is_subject = kind == Some(RequestKind::Listen)
            && names_tasks(request.params_text().unwrap_or_default());
        if !(is_method || is_subject) {
            return Ok(());
        }
        let has_it =
            self.messages.session.identity().and_then(|own| own.extension(EXTENSION)).is_some();
        if is_method && !has_it {
            return Err(ViolationKind::MethodNotAvailable.into());
        }
        if !has_it || self.messages.session.has_extension(EXTENSION, context.extensions) {
            return Ok(());
        }
        let detail = Some(Detail::extension(EXTENSION));
        Err(Refusal { detail, ..Refusal::from(ViolationKind::MissingCapability) })
    }

    /// Reads the task options of a request in a session. They are ignored if this side does not offer tasks for the
    /// method.
    fn task_in_session(
        &self,
        cx: &Cx<'_, '_>,
        kind: Option<RequestKind>,
        request: &IncomingRequest<'_, '_>,
        negotiated: Negotiated,
    ) -> Result<Option<TaskRequest>, Refusal> {
        let capability = kind.and_then(RequestKind::task_capability);
        if !capability.is_some_and(|capability| negotiated.ours.contains(capability)) {
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

    /// Checks that the params fit the method and need no capability that is not offered. Returns the method, unless
    /// the request is relayed unchecked.
    fn check_request(
        &self,
        cx: &Cx<'_, '_>,
        kind: Option<RequestKind>,
        request: &IncomingRequest<'_, '_>,
        negotiated: Negotiated,
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
        let needs = fits(kind.rule().params(negotiated.revision), request.params.as_ref())?;
        let params = request.params_text().unwrap_or_default();
        if !needs.known_to(negotiated.revision).minus(negotiated.ours).is_empty() {
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
        // Pending subscriptions count, too: all of them may be granted.
        let most = cx.config.limits.subscriptions as usize;
        let granted = self.messages.interests.resources();
        let is_full =
            most <= granted.saturating_add(self.messages.incoming.asked_subscriptions as usize);
        if is_full && !self.messages.interests.wants_resource_on_wire(&uri) {
            return Err(ViolationKind::TooManySubscriptions);
        }
        Ok(())
    }

    /// Checks the limits of a subscription.
    fn check_listen(&self, cx: &Cx<'_, '_>, params: &str) -> Result<(), ViolationKind> {
        let limits = &cx.config.limits;
        if limits.listens as usize <= self.listens {
            return Err(ViolationKind::TooManyListens);
        }
        let filter = member(params, "notifications").unwrap_or_default();
        let uris = member(filter, "resourceSubscriptions").unwrap_or_default();
        let tasks = member(filter, "taskIds").unwrap_or_default();
        for (index, text) in uris_of(uris).chain(uris_of(tasks)).enumerate() {
            if limits.subscriptions as usize <= index {
                return Err(ViolationKind::TooManySubscriptions);
            }
            if limits.uri_bytes < text.as_wire().len() {
                return Err(ViolationKind::LongUri);
            }
        }
        Ok(())
    }
}

/// Whether the filter of a subscription names a task. The limits of the filter have not been checked.
fn names_tasks(params: &str) -> bool {
    let filter = member(params, "notifications").unwrap_or_default();
    uris_of(member(filter, "taskIds").unwrap_or_default()).next().is_some()
}

/// Puts a request of the peer into the table, and completes its context.
///
/// # Errors
///
/// The violation to refuse the request with: the table, the batches or the kept bytes are at their limit, or the
/// progress token is malformed.
pub(super) fn admit<C: Recycle>(
    messages: &mut Messages<C>,
    cx: &mut Cx<'_, '_>,
    kind: Option<RequestKind>,
    request: &mut IncomingRequest<'_, '_>,
) -> Result<IncomingId, ViolationKind> {
    let (limits, received) = (&cx.config.limits, request.received);
    if limits.inbound_requests <= messages.incoming.table.len() {
        return Err(ViolationKind::TooManyRequests);
    }
    if received.batch.is_some_and(|batch| messages.incoming.batches.is_full(batch, limits.batches))
    {
        return Err(ViolationKind::TooManyBatches);
    }
    let bytes = bytes_of(request.bytes);
    let unsent = cx.out.outbox(received.route).len();
    if !messages.may_keep(limits, bytes.saturating_add(unsent)) {
        return Err(ViolationKind::TooManyBytes);
    }
    let is_subscription = kind == Some(RequestKind::Listen);
    let token = match request.progress_token(cx)? {
        // A subscription gets no progress, only the notifications in its filter.
        _ if is_subscription => None,
        token => token,
    };
    request.context.wants_progress = token.is_some();
    request.context.principal = received.principal;
    request.context.requestor = received.owner();
    let params = request.params_text().unwrap_or_default();
    let related = related_task(&mut messages.violations, cx, kind, request);
    let context = &request.context;
    let table = &mut messages.incoming.table;
    let place = match cx.config.duplicate_ids {
        DuplicateIds::Refuse => table.insert(&request.id),
        DuplicateIds::Serve => table.insert_twin(&request.id),
    };
    if let Some(exchange) = table.get_mut(place) {
        exchange.context = *context;
        exchange.kind = kind;
        exchange.is_relayed = request.is_relayed;
        exchange.batch = received.batch;
        if let Some(kind) = kind {
            exchange.kept.keep(kind, params, context.revision, longest_kept(limits, kind));
        }
        let id = is_subscription.then_some(&request.id);
        if let Some(token) = token.as_ref().or(id) {
            exchange.token.push_str(token.as_wire());
        }
        exchange.related.0.push_str(related.as_deref().unwrap_or_default());
        exchange.bytes = bytes;
    }
    match kind {
        Some(RequestKind::Subscribe) => messages.incoming.asked_subscriptions += 1,
        Some(kind) if kind.asks_a_person() => {
            messages.outgoing.clock_mut().begin_asking(received.now);
            if let Some(id) = elicitation_id(kind, params, context.revision) {
                messages.elicitations.add(&id, &cx.config.limits);
            }
        }
        _ => {}
    }
    if let Some(batch) = received.batch {
        messages.incoming.batches.open_request(batch);
    }
    messages.incoming.bytes += bytes;
    messages.session.has_served_modern |= context.revision.rules().requests_are_self_contained;
    Ok(IncomingId(place))
}

/// Returns the length of the longest param that is kept with a request of this kind.
fn longest_kept(limits: &Limits, kind: RequestKind) -> usize {
    match kind {
        // The URI of a subscription has a limit of its own. The literal has two quotes as well.
        RequestKind::Subscribe | RequestKind::Unsubscribe => limits.uri_bytes.saturating_add(2),
        // A logging level is one of few names.
        RequestKind::SetLevel => usize::MAX,
        _ => limits.kept_bytes,
    }
}

/// Returns the task of the peer that a request belongs to, as a JSON literal.
fn related_task<'a>(
    violations: &mut Violations,
    cx: &Cx<'_, '_>,
    kind: Option<RequestKind>,
    request: &IncomingRequest<'_, 'a>,
) -> Option<Cow<'a, str>> {
    let has_tasks = Feature::Tasks.is_in(request.context.revision);
    if !has_tasks || kind.is_none_or(RequestKind::is_about_tasks) {
        return None;
    }
    let related = request.in_meta(RELATED)?;
    let id = member(related, "taskId").and_then(Str::from_literal);
    if id.is_none() || cx.config.limits.uri_bytes < related.len() {
        violations.note(ViolationKind::MalformedRelatedTask);
        return None;
    }
    // The literal becomes a part of the response, which must be one line.
    if !related.contains(['\n', '\r']) {
        return Some(Cow::Borrowed(related));
    }
    Raw::from_serialize(&Raw::trusted(related)).ok().map(|raw| Cow::Owned(raw.as_json().into()))
}

/// Parses a non-negative number without a fraction, in any notation.
fn whole(literal: &str) -> Option<u64> {
    literal.parse().ok().or_else(|| {
        let number: f64 = literal.parse().ok()?;
        let whole = number as u64;
        (whole as f64 == number).then_some(whole)
    })
}

impl<'a> IncomingRequest<'_, 'a> {
    /// Returns the progress token; `null` counts as none.
    pub(super) fn progress_token(&self, cx: &Cx<'_, '_>) -> Result<Option<Id<'a>>, ViolationKind> {
        match self.in_meta("progressToken") {
            None | Some("null") => Ok(None),
            Some(literal) => Id::from_literal(literal, cx.config.limits.token_bytes)
                .map(Some)
                .map_err(|_| ViolationKind::MalformedToken),
        }
    }
}
