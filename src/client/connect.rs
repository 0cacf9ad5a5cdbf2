//! The negotiation of a client with its server: the era, and in the legacy era the handshake that opens a session
//! ([initialization](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization),
//! [discovery](https://modelcontextprotocol.io/specification/2026-07-28/server/discover)).

use alloc::boxed::Box;

use super::answers::{Discovery, InitializeOutcome};
use super::connected::{ConnectError, ConnectFailure, Connected};
use super::event::ClientEvent;
use super::negotiation::{Abilities, Failing, Move, NegotiationBasis, Probed, Refused};
use super::{Client, Stage};
use crate::capability::CapabilitySet;
use crate::codes::ErrorCode;
use crate::config::ClientConfig;
use crate::connection::{
    Cause, Expiry, Identity, LateProbe, Outboxes, Outcome, Route, SentMessage, UnmatchedResponse,
    take_reopened,
};
use crate::dialect::declarable;
use crate::json::Raw;
use crate::json::member;
use crate::model::InitializeParams;
use crate::rpc::{UnmatchedCause, write_notification};
use crate::schema::EncodeError;
use crate::session::{Phase, Step};
use crate::time::Instant;
use crate::version::{Revision, RevisionSet};

/// # Connecting
impl Client {
    /// Starts the connection: determines the era of the server, and opens a session in the legacy era. An event
    /// reports the outcome.
    ///
    /// # Errors
    ///
    /// [`ConnectError`] if nothing was sent.
    pub fn connect(&mut self, now: Instant, out: &mut impl Outboxes) -> Result<(), ConnectError> {
        if self.phase() != Phase::Opening {
            return Err(ConnectError::NotAtStart);
        }
        let able = self.config.abilities();
        if able.offer.is_some_and(|offer| !able.sessions().contains(offer)) {
            return Err(ConnectError::NoRevision);
        }
        match self.negotiation.begin(able) {
            Move::Probe(revision) => self.probe(revision, now, out)?,
            Move::Initialize(offer) => self.initialize(offer, now, out)?,
            Move::Fail(_) => return Err(ConnectError::NoRevision),
            Move::Go(revision, basis) => {
                if basis == NegotiationBasis::Known && able.checks_known() {
                    // The client does not wait for this probe, but its response shows whether the known revision was
                    // right.
                    self.probe(revision, now, out)?;
                }
                let identity = self.config.identity(revision)?;
                self.connection.dispatcher.messages_mut().session.identify(Some(identity));
                self.connection.dispatcher.messages_mut().lifecycle.step(Step::Begin);
                self.go(revision, None, now, out);
                self.announced = Some(self.settle(basis));
                self.connection.dispatcher.set_news();
            }
        }
        if self.phase() == Phase::Opening {
            self.connection.dispatcher.messages_mut().lifecycle.step(Step::Begin);
        }
        self.connection.dispatcher.messages_mut().lifecycle.observe(out);
        Ok(())
    }

    /// How the era of the server was determined. `None` before that, and again while the client negotiates anew because
    /// a known revision was wrong. The value remains after the end of the connection.
    pub const fn basis(&self) -> Option<NegotiationBasis> {
        self.basis
    }

    /// Returns the `Connected` event of a client that continues without waiting for a response.
    pub(super) fn announce(&mut self) -> Option<ClientEvent<'static>> {
        let basis = self.announced.take()?;
        let revision = self.revision()?;
        let capabilities = self.peer_capabilities();
        // The result of a late discovery; otherwise the client did not ask.
        let result = if self.config.connection.keep_handshake {
            self.server.as_deref().cloned()
        } else {
            self.server.take().map(|result| *result)
        };
        let result = result.unwrap_or(Raw::EMPTY_OBJECT);
        Some(ClientEvent::Connected(Connected { revision, capabilities, basis, result }))
    }

    fn initialize(
        &mut self,
        offer: Revision,
        now: Instant,
        out: &mut dyn Outboxes,
    ) -> Result<(), EncodeError> {
        let params = InitializeParams {
            protocol_version: offer.name().into(),
            capabilities: declarable(&self.config.capabilities, offer),
            client_info: self.config.info.clone(),
            meta: None,
        };
        let (dispatcher, cx) = &mut self.connection.enter(Some(now), out);
        let (opening, messages) = dispatcher.serving.calls.opening();
        opening.initialize(messages, cx, &params, offer)?;
        self.stage = Stage::Initializing;
        Ok(())
    }

    fn probe(
        &mut self,
        revision: Revision,
        now: Instant,
        out: &mut dyn Outboxes,
    ) -> Result<(), EncodeError> {
        let identity = self.config.identity(revision)?;
        let before = self.connection.dispatcher.messages().session.identity().cloned();
        self.connection.dispatcher.messages_mut().session.identify(Some(identity));
        let (dispatcher, cx) = &mut self.connection.enter(Some(now), out);
        let (opening, messages) = dispatcher.serving.calls.opening();
        if let Err(error) = opening.probe(messages, cx, revision) {
            self.connection.dispatcher.messages_mut().session.identify(before);
            return Err(error);
        }
        self.stage = Stage::Probing;
        Ok(())
    }

    /// Handles the outcome of the request that opens the connection.
    pub(super) fn handshake_ended<'f>(
        &mut self,
        outcome: Outcome<'f>,
        now: Instant,
        out: &mut dyn Outboxes,
    ) -> Option<ClientEvent<'f>> {
        match self.stage {
            Stage::Probing => self.probe_ended(outcome, now, out),
            Stage::Initializing => self.initialize_ended(outcome, now, out),
        }
    }

    fn probe_ended<'f>(
        &mut self,
        outcome: Outcome<'f>,
        now: Instant,
        out: &mut dyn Outboxes,
    ) -> Option<ClientEvent<'f>> {
        let session = &self.connection.dispatcher.messages().session;
        if self.phase() == Phase::Draining && session.negotiated.is_some() {
            // The client was open without this response, and is about to end.
            return None;
        }
        let discovery = Discovery::of(&outcome);
        let able = self.config.abilities();
        if session.negotiated.is_some() && self.is_no_evidence(discovery.probed, able) {
            return None;
        }
        let next = self.negotiation.probed(discovery.probed, able);
        if let Move::Go(revision, basis) = next {
            if self.phase() == Phase::Draining {
                return Some(self.connect_failed(ConnectFailure::Closed(Cause::ShutDown), out));
            }
            return self.discovered(outcome, &discovery, (revision, basis), now, out);
        }
        // A server that names other modern revisions is still modern, so the connection stays ready.
        let is_repeated = matches!(next, Move::Probe(_));
        if self.phase().is_ready() && !is_repeated {
            // The client had assumed the modern era without a response.
            self.connection.dispatcher.messages_mut().lifecycle.step(Step::Reopen);
            self.connection.dispatcher.messages_mut().session.negotiated = None;
            // Subscriptions of an earlier connection are opened again in the era of the server.
            let calls = &mut self.connection.dispatcher.serving.calls;
            self.wanted.extend(take_reopened(calls));
            self.announced = None;
            self.basis = None;
        }
        let failing = match self.advance(next, now, out) {
            Ok(()) => return None,
            Err(failing) => failing,
        };
        let ours = self.config.revisions;
        Some(self.connect_failed(discovery.failure(outcome, failing, ours), out))
    }

    /// Whether the outcome of a probe leaves an open client as it is. The probe was sent beside the first calls, because
    /// the revision was known: without evidence against it, the revision stays assumed, and the calls go on.
    fn is_no_evidence(&self, probed: Probed, able: Abilities) -> bool {
        let session = &self.connection.dispatcher.messages().session;
        match probed {
            // The transport failed, or this side ended the connection.
            Probed::TransportFailed => true,
            Probed::TimedOut | Probed::Closed => {
                session.has_modern_result || able.sessions().is_empty()
            }
            // A server that has given a modern result is modern, unless it denies the method itself.
            Probed::Nonsense | Probed::WrongVersion(None) => session.has_modern_result,
            Probed::Error(code) => session.has_modern_result && code != ErrorCode::METHOD_NOT_FOUND,
            Probed::Discovery(_) | Probed::WrongVersion(Some(_)) | Probed::Refused(_) => false,
        }
    }

    /// Handles a discovery result with a common revision.
    fn discovered<'f>(
        &mut self,
        outcome: Outcome<'f>,
        discovery: &Discovery,
        (revision, basis): (Revision, NegotiationBasis),
        now: Instant,
        out: &mut dyn Outboxes,
    ) -> Option<ClientEvent<'f>> {
        let Outcome::Result(result) = outcome else { return None };
        let capabilities = discovery.capabilities.known_to(revision);
        let missing = self.config.required.minus(capabilities);
        if !missing.is_empty() {
            let failure = ConnectFailure::MissingCapabilities(missing);
            return Some(self.connect_failed(failure, out));
        }
        let was_ready = self.phase().is_ready();
        if was_ready {
            self.connection
                .dispatcher
                .messages_mut()
                .session
                .open_modern(revision, Some(capabilities));
        } else {
            self.go(revision, Some(capabilities), now, out);
        }
        let declared = member(result.as_json(), "capabilities").unwrap_or("{}");
        self.connection.dispatcher.messages_mut().session.declared_by_server(declared);
        if self.config.connection.keep_handshake {
            self.server = Some(Box::new(result.clone().into_owned()));
        }
        // The application has had its `Connected` event if the client was ready before.
        (!was_ready || self.announced.take().is_some()).then(|| {
            let basis = self.settle(if was_ready { NegotiationBasis::Known } else { basis });
            ClientEvent::Connected(Connected { revision, capabilities, basis, result })
        })
    }

    /// Continues in the modern era.
    fn go(
        &mut self,
        revision: Revision,
        capabilities: Option<CapabilitySet>,
        now: Instant,
        out: &mut dyn Outboxes,
    ) {
        self.connection.dispatcher.messages_mut().lifecycle.step(Step::Complete);
        self.connection.dispatcher.messages_mut().session.open_modern(revision, capabilities);
        let (dispatcher, cx) = &mut self.connection.enter(Some(now), out);
        dispatcher.serving.calls.flush_held(cx);
        self.subscribe_to_wanted(now, out);
    }

    const fn settle(&mut self, basis: NegotiationBasis) -> NegotiationBasis {
        self.basis = Some(basis);
        basis
    }

    /// Performs the next move. Returns the reason if the move fails.
    fn advance(&mut self, next: Move, now: Instant, out: &mut dyn Outboxes) -> Result<(), Failing> {
        if self.phase() == Phase::Draining {
            // The connection is about to end, so no request is sent.
            return Err(Failing::AsItIs);
        }
        let sent = match next {
            Move::Probe(revision) => self.probe(revision, now, out),
            Move::Initialize(offer) => self.initialize(offer, now, out),
            Move::Go(revision, basis) => self.go_on(revision, basis, now, out),
            Move::Fail(failing) => return Err(failing),
        };
        sent.map_err(|_| Failing::AsItIs)
    }

    /// Continues in the modern era, after the negotiation has found it.
    fn go_on(
        &mut self,
        revision: Revision,
        basis: NegotiationBasis,
        now: Instant,
        out: &mut dyn Outboxes,
    ) -> Result<(), EncodeError> {
        let identity = self.config.identity(revision)?;
        self.connection.dispatcher.messages_mut().session.identify(Some(identity));
        let late = self.negotiation.late_capabilities();
        self.go(revision, late.map(|late| late.known_to(revision)), now, out);
        if let Some(result) = self.server.as_deref() {
            let declared = member(result.as_json(), "capabilities").unwrap_or("{}");
            let messages = self.connection.dispatcher.messages_mut();
            messages.session.declared_by_server(declared);
        }
        self.announced = Some(basis);
        self.basis = Some(basis);
        self.connection.dispatcher.set_news();
        Ok(())
    }

    fn initialize_ended<'f>(
        &mut self,
        outcome: Outcome<'f>,
        now: Instant,
        out: &mut dyn Outboxes,
    ) -> Option<ClientEvent<'f>> {
        let connected = match outcome {
            Outcome::Result(result) => self.open(result, now, out),
            Outcome::PeerError(error) => Err(ConnectFailure::PeerError(error)),
            Outcome::Malformed { kind, message } => {
                Err(ConnectFailure::Malformed { kind, message })
            }
            Outcome::TransportFailed(failure) => Err(ConnectFailure::TransportFailed(failure)),
            Outcome::TimedOut(_) => Err(ConnectFailure::TimedOut),
            Outcome::Closed(cause) => Err(ConnectFailure::Closed(cause)),
            // `initialize` has no other outcomes; these variants are unreachable.
            _ => Err(ConnectFailure::Closed(Cause::HandshakeFailed)),
        };
        match connected {
            Ok(connected) => Some(ClientEvent::Connected(connected)),
            Err(failure) => self.refused(failure, now, out),
        }
    }

    /// Reports that the negotiation failed, and closes the connection.
    pub(super) fn connect_failed<'f>(
        &mut self,
        failure: ConnectFailure<'f>,
        out: &mut dyn Outboxes,
    ) -> ClientEvent<'f> {
        let (opening, messages) = self.connection.dispatcher.serving.calls.opening();
        opening.forget(messages);
        // A client that assumed the era may not have reported that yet, and nothing is reported after a failure.
        self.announced = None;
        if self.basis.is_none() {
            self.server = None;
        }
        self.connection.dispatcher.close(Cause::HandshakeFailed);
        self.connection.dispatcher.messages_mut().lifecycle.observe(out);
        ClientEvent::ConnectFailed(failure)
    }

    /// No session was opened: lets the negotiation choose between another probe and failure.
    fn refused<'f>(
        &mut self,
        failure: ConnectFailure<'f>,
        now: Instant,
        out: &mut dyn Outboxes,
    ) -> Option<ClientEvent<'f>> {
        let refused = match &failure {
            ConnectFailure::PeerError(error) => Refused::Error(error.code),
            // The connection has ended, or the server lacks a required capability: another probe cannot help.
            ConnectFailure::Closed(_) | ConnectFailure::MissingCapabilities(_) => {
                return Some(self.connect_failed(failure, out));
            }
            _ => Refused::Otherwise,
        };
        if matches!(failure, ConnectFailure::TimedOut) {
            let (opening, messages) = self.connection.dispatcher.serving.calls.opening();
            opening.forget(messages);
        }
        let next = self.negotiation.refused(refused, self.config.abilities());
        if let (Move::Go(revision, _), Some(late)) = (next, self.negotiation.late_capabilities()) {
            let missing = self.config.required.minus(late.known_to(revision));
            if !missing.is_empty() {
                let failure = ConnectFailure::MissingCapabilities(missing);
                return Some(self.connect_failed(failure, out));
            }
        }
        match self.advance(next, now, out) {
            Ok(()) => None,
            Err(_) => Some(self.connect_failed(failure, out)),
        }
    }

    /// Notes the response to a probe that has timed out. It counts if `initialize` is refused as well.
    pub(super) fn late_probe<'f>(&mut self, late: LateProbe<'f>) -> Option<ClientEvent<'f>> {
        let LateProbe { outcome, id } = late;
        let Discovery { probed, capabilities } = Discovery::of(&outcome);
        if let (Probed::Discovery(theirs), Outcome::Result(result), None) =
            (probed, outcome, self.basis)
        {
            self.negotiation.answered_late(theirs, capabilities);
            // Until the negotiation ends: only then it is certain whether this result counts.
            self.server = Some(Box::new(result.into_owned()));
        }
        Some(ClientEvent::UnmatchedResponse(UnmatchedResponse {
            id,
            cause: UnmatchedCause::TimedOut,
        }))
    }

    /// Handles the timeout of the request that opens the connection.
    pub(super) fn handshake_timed_out(
        &mut self,
        now: Instant,
        out: &mut dyn Outboxes,
    ) -> Option<ClientEvent<'static>> {
        if self.stage == Stage::Probing {
            let (opening, messages) = self.connection.dispatcher.serving.calls.opening();
            opening.give_up_probe(messages);
        }
        self.handshake_ended(Outcome::TimedOut(Expiry::Total), now, out)
    }

    fn open<'f>(
        &mut self,
        result: Raw<'f>,
        now: Instant,
        out: &mut dyn Outboxes,
    ) -> Result<Connected<'f>, ConnectFailure<'f>> {
        let text = result.borrowed().unwrap_or_default();
        let malformed = |kind| ConnectFailure::Malformed { kind, message: text.as_bytes().into() };
        let answer = InitializeOutcome::read(text).map_err(malformed)?;
        let spoken = Revision::from_name(&answer.version.to_str())
            .filter(|revision| self.config.revisions.and(RevisionSet::LEGACY).contains(*revision));
        let Some(revision) = spoken else {
            let ours = self.config.revisions;
            return Err(ConnectFailure::UnsupportedRevision { theirs: answer.version, ours });
        };
        let missing = self.config.required.minus(answer.capabilities.known_to(revision));
        if !missing.is_empty() {
            return Err(ConnectFailure::MissingCapabilities(missing));
        }
        if self.phase() != Phase::Handshake {
            return Err(ConnectFailure::Closed(Cause::ShutDown));
        }
        const METHOD: &str = "notifications/initialized";
        let (dispatcher, cx) = &mut self.connection.enter(None, out);
        let sent = dispatcher.messages_mut().send_own(
            cx,
            Route::Connection,
            SentMessage::Method(METHOD),
            |writer| write_notification(writer, METHOD, &(), None),
        );
        if !sent {
            return Err(ConnectFailure::Closed(Cause::OutboxOverflow));
        }
        self.connection.dispatcher.messages_mut().lifecycle.step(Step::Complete);
        self.connection.dispatcher.messages_mut().session.open(revision, answer.capabilities);
        let (dispatcher, cx) = &mut self.connection.enter(Some(now), out);
        dispatcher.serving.calls.flush_held(cx);
        self.subscribe_to_wanted(now, out);
        let keeps = self.config.connection.keep_handshake;
        self.server = keeps.then(|| Box::new(result.clone().into_owned()));
        let basis = self.settle(self.negotiation.basis(self.config.abilities()));
        let capabilities = self.peer_capabilities();
        Ok(Connected { revision, capabilities, basis, result })
    }
}

impl ClientConfig {
    /// The identity that the client sends in every modern request.
    ///
    /// # Errors
    ///
    /// [`EncodeError`] if it cannot be written. [`Client::connect`] fails then, so that later calls cannot.
    fn identity(&self, revision: Revision) -> Result<Identity, EncodeError> {
        let info = self.identify.then_some(&self.info);
        Identity::of_client(revision, info, &self.capabilities)
    }
}
