//! Challenges of the MCP server. Every authorization begins with a challenge, except for a refresh before expiry.

use core::time::Duration;

use super::activity::{Activity, Attempt};
use super::authorizer::Authorizer;
use super::discovery;
use super::effect::{RequestKey, Verdict};
use super::failure::{AuthorizationFailure, NotAllowed};
use super::pacing::PAUSE_AFTER_REFUSAL;
use crate::auth::{Challenges, Scopes};
use crate::dialect::features::Feature;
use crate::time::Instant;

/// A response with status 401, or with status 403 and a challenge.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Challenged<'c> {
    /// The HTTP status.
    pub status: u16,
    /// The challenges of the response.
    pub challenges: &'c Challenges,
    /// The generation of the token that the request was sent with. `None` if it had no token.
    pub generation: Option<u64>,
    /// The operation of the request. Requests with the same text, such as calls of the same tool, share the limit on
    /// step-ups.
    pub operation: &'c str,
}

impl<'c> Challenged<'c> {
    /// Describes a response to a request that was sent without a token.
    pub const fn new(status: u16, challenges: &'c Challenges) -> Self {
        Self { status, challenges, generation: None, operation: "" }
    }

    /// Sets the generation of the token that the request was sent with, if any.
    #[must_use]
    pub const fn generation(mut self, generation: Option<u64>) -> Self {
        self.generation = generation;
        self
    }

    /// Sets the operation of the request.
    #[must_use]
    pub const fn operation(mut self, operation: &'c str) -> Self {
        self.operation = operation;
        self
    }
}

/// The age up to which an expired token was useless from the start.
const JUST_ISSUED: Duration = Duration::from_secs(10);

impl Authorizer {
    /// Handles a response of the MCP server with status 401, or with status 403 and a challenge. [`Effect::Release`]
    /// later decides about the request, exactly once.
    ///
    /// [`Effect::Release`]: super::Effect::Release
    pub fn challenged(&mut self, request: RequestKey, challenged: Challenged<'_>, now: Instant) {
        // Only a lack of scopes makes a request with status 403 wait.
        let needs_scopes = challenged.status == 403;
        match self.judged(&challenged, now) {
            Judgement::Release(verdict) => self.inner.release(request, verdict),
            Judgement::Wait => self.wait(request, needs_scopes),
            Judgement::Begin(attempt) => {
                self.wait(request, needs_scopes);
                if self.inner.waiting.iter().any(|waiting| waiting.request == request) {
                    self.step_up = attempt.is_step_up.then(|| challenged.operation.into());
                    let named = challenged.challenges.bearer();
                    let named = named.and_then(|bearer| bearer.resource_metadata());
                    let outcome = discovery::find_resource(&mut self.inner, attempt, named, now);
                    self.proceed(outcome, now);
                }
            }
        }
    }

    fn judged(&mut self, challenged: &Challenged<'_>, now: Instant) -> Judgement {
        if !self.inner.config.is_confidential() {
            let (place, reason) = ("a token for the server", NotAllowed::ClearText);
            let failure = AuthorizationFailure::NotAllowed { place, reason };
            return Judgement::Release(Verdict::Fail(failure));
        }
        // A server that refuses only the request has accepted the token.
        if challenged.status == 403 {
            self.accepted(challenged.generation, None);
        }
        let has_newer = self.inner.token(now).is_some_and(|token| {
            challenged.generation.is_none_or(|generation| generation < token.generation())
        });
        if has_newer {
            return Judgement::Release(Verdict::Send);
        }
        let bearer = challenged.challenges.bearer();
        let error = bearer.and_then(|bearer| bearer.error());
        let needed = bearer.and_then(|bearer| bearer.scopes());
        if challenged.status == 403 {
            return match error {
                Some("insufficient_scope") => self.judged_scope(challenged.operation, needed, now),
                _ => Judgement::Release(Verdict::Fail(AuthorizationFailure::Forbidden)),
            };
        }
        if self.activity != Activity::Idle {
            return Judgement::Wait;
        }
        if let Some(failure) = self.inner.pacing.pause(now) {
            return Judgement::Release(Verdict::Fail(failure.clone()));
        }
        let grant = self.inner.saved.grant.as_ref();
        // The server may have lost its tokens before the first use of this one, and a refresh brings another one.
        let is_young = grant.is_some_and(|it| now < it.issued_at + PAUSE_AFTER_REFUSAL);
        let is_fresh = is_young
            && self.inner.saved.generation == self.inner.issued
            && self.inner.accepted < self.inner.issued;
        // The next token would expire as soon, before its first use.
        let has_expired_at_once = self.inner.refused < self.inner.issued
            && grant.is_some_and(|it| it.is_expired(now) && now - it.issued_at < JUST_ISSUED);
        if is_fresh && (has_expired_at_once || challenged.generation == Some(self.inner.issued)) {
            let failure = AuthorizationFailure::FreshTokenRefused;
            self.inner.refused = self.inner.issued;
            self.inner.drop_refresh_token();
            // The user has just logged in and is not asked again at once.
            self.inner.pacing.rest = Some((now + PAUSE_AFTER_REFUSAL, failure.clone()));
            return Judgement::Release(Verdict::Fail(failure));
        }
        if challenged.generation == Some(self.inner.saved.generation) {
            self.inner.refused = self.inner.saved.generation;
        }
        let grant = self.inner.saved.grant.as_ref();
        let earlier = grant.map_or(&self.inner.discarded_scopes, |grant| &grant.requested).clone();
        Judgement::Begin(Attempt { challenged: needed, earlier, ..Attempt::default() })
    }

    /// Decides about a request that needs more scopes.
    fn judged_scope(&mut self, operation: &str, needed: Option<Scopes>, now: Instant) -> Judgement {
        let failed = |needed: &Option<Scopes>| {
            let scopes = needed.as_ref().map(alloc::string::ToString::to_string);
            let failure = AuthorizationFailure::ScopeUnavailable(scopes.unwrap_or_default());
            Judgement::Release(Verdict::Fail(failure))
        };
        let Some(grant) = &self.inner.saved.grant else { return failed(&needed) };
        let has_all = needed.as_ref().is_some_and(|needed| grant.granted.covers(needed));
        if !self.inner.config.step_up || has_all {
            return failed(&needed);
        }
        let requested = grant.requested.clone();
        if self.activity != Activity::Idle {
            return Judgement::Wait;
        }
        if let Some(failure) = self.inner.pacing.pause(now) {
            return Judgement::Release(Verdict::Fail(failure.clone()));
        }
        if !self.inner.pacing.counts_step_up(operation, self.inner.config.most_step_ups) {
            return failed(&needed);
        }
        let is_union =
            self.inner.revision.is_none_or(|revision| Feature::AddedScopes.is_in(revision));
        let earlier = if is_union || needed.is_none() { requested } else { Scopes::none() };
        Judgement::Begin(Attempt {
            challenged: needed,
            earlier,
            is_step_up: true,
            ..Attempt::default()
        })
    }
}

/// The decision about a challenge.
enum Judgement {
    Release(Verdict),
    Wait,
    Begin(Attempt),
}
