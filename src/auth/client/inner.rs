//! `Inner`: the state that all steps of an authorization share.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::access_token::AccessToken;
use super::activity::{Activity, Found, Purpose, Refresh, Request};
use super::client_id::{Client, ClientAuthentication, ClientSource, SigningKey};
use super::config::AuthorizerConfig;
use super::effect::{Effect, JobId, RequestKey, Signing, Verdict};
use super::failure::AuthorizationFailure;
use super::pacing::{Pacing, REFRESH_AGAIN_AFTER};
use super::saved::{Grant, Saved};
use crate::auth::Scopes;
use crate::auth::messages::client_assertion;
use crate::time::Instant;
use crate::version::Revision;

/// The maximum number of registered clients in a saved state, each of another issuer.
const MOST_REGISTRATIONS: usize = 16;

/// The outcome of a step: the next activity or the failure of the authorization.
pub(super) type Step = Result<Activity, AuthorizationFailure>;

/// The state of an authorizer except its stage: the configuration, the saved state, the status of its tokens, the
/// waiting requests, and the pending effects.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Inner {
    pub(super) config: Arc<AuthorizerConfig>,
    pub(super) saved: Saved,
    /// How far the times of the application are ahead of the wall clock.
    pub(super) clock_lead: Duration,
    /// The id of the latest job of the application.
    pub(super) job: JobId,
    pub(super) effects: VecDeque<Effect>,
    /// The requests to the MCP server that wait for a token.
    pub(super) waiting: Vec<Waiting>,
    /// The generation of the latest token that the MCP server accepted.
    pub(super) accepted: u64,
    /// The generation of the latest token that was issued to this authorizer, not read from the storage.
    pub(super) issued: u64,
    /// The generation of the latest token that the MCP server refused.
    pub(super) refused: u64,
    /// The revision of the MCP server, if it is known.
    pub(super) revision: Option<Revision>,
    pub(super) holds_storage: bool,
    pub(super) pacing: Pacing,
    /// The scopes that were requested with tokens that a refused refresh has discarded. They are requested again if the
    /// server names no others.
    pub(super) discarded_scopes: Scopes,
}

/// A request to the MCP server that waits for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Waiting {
    pub(super) request: RequestKey,
    /// Whether the current token lacks scopes for the request.
    pub(super) needs_scopes: bool,
    /// Whether the request fails instead of waiting for a login.
    pub(super) forgoes_login: bool,
}

impl Inner {
    /// Creates a state without a token.
    pub(super) fn new(config: Arc<AuthorizerConfig>) -> Self {
        Self {
            config,
            saved: Saved::default(),
            clock_lead: Duration::ZERO,
            job: JobId(0),
            effects: VecDeque::new(),
            waiting: Vec::new(),
            accepted: 0,
            issued: 0,
            refused: 0,
            revision: None,
            holds_storage: false,
            pacing: Pacing::default(),
            discarded_scopes: Scopes::none(),
        }
    }

    /// Returns the token, if it is valid now.
    pub(super) fn token(&self, now: Instant) -> Option<AccessToken<'_>> {
        let grant = self.saved.grant.as_ref().filter(|grant| !grant.is_expired(now))?;
        let generation = self.saved.generation;
        (generation != self.refused)
            .then_some(AccessToken { token: &grant.access_token, generation })
    }

    /// Lets requests without a valid token go out without one for a while, instead of refreshing it.
    pub(super) fn await_challenge(&mut self, now: Instant) {
        self.pacing.unrefreshed = Some((self.saved.generation, now + REFRESH_AGAIN_AFTER));
    }

    /// Whether requests do not refresh the current tokens now.
    pub(super) fn awaits_challenge(&self, now: Instant) -> bool {
        let is_current = |(generation, until)| generation == self.saved.generation && now < until;
        self.pacing.unrefreshed.is_some_and(is_current)
    }

    pub(super) fn release(&mut self, request: RequestKey, verdict: Verdict) {
        self.effects.push_back(Effect::Release { request, verdict });
    }

    /// Checks that a request still waits for a login. Otherwise the user would be asked for nothing.
    pub(super) fn check_login_is_awaited(&self) -> Result<(), AuthorizationFailure> {
        let is_awaited = self.waiting.iter().any(|waiting| !waiting.forgoes_login);
        if is_awaited { Ok(()) } else { Err(AuthorizationFailure::Abandoned) }
    }

    /// Withdraws the pending effects of an authorization that ends: their results would be ignored, and the user would
    /// be asked for nothing. What is to be stored, unlocked and released stays.
    pub(super) fn withdraw_effects(&mut self) {
        self.effects.retain(|effect| {
            matches!(effect, Effect::Save(_) | Effect::Unclaim | Effect::Release { .. })
        });
    }

    /// Unlocks the storage, if it is locked.
    pub(super) fn let_go(&mut self) {
        if core::mem::take(&mut self.holds_storage) {
            self.effects.push_back(Effect::Unclaim);
        }
    }

    pub(super) const fn next_job(&mut self) -> JobId {
        self.job.0 += 1;
        self.job
    }

    /// Keeps the tokens, and emits the effect to save them before any other effect.
    pub(super) fn keep(&mut self, grant: Grant) {
        self.saved.generation += 1;
        self.issued = self.saved.generation;
        self.saved.grant = Some(grant);
        self.discarded_scopes = Scopes::none();
        self.pacing.refresh_again_at = Instant::EPOCH;
        self.pacing.rest = None;
        self.save();
    }

    /// Discards the refresh token, because the server refuses the tokens that it brings. The next authorization is a
    /// login. The refused access token keeps the scopes to request.
    pub(super) fn drop_refresh_token(&mut self) {
        let token = self.saved.grant.as_mut().and_then(|grant| grant.refresh_token.take());
        if token.is_some() {
            self.saved.generation += 1;
            self.refused = self.saved.generation;
            self.save();
        }
    }

    pub(super) fn save(&mut self) {
        self.effects.push_back(Effect::Save(self.saved.clone()));
    }

    /// Adopts a stored state, unless it is older than the current one. Returns whether it differs. Tokens of another
    /// resource are discarded: an application may pass the state that it has stored for another server.
    pub(super) fn adopt(&mut self, mut saved: Saved) -> bool {
        saved.grant = saved.grant.filter(|grant| grant.is_for(&self.config.server));
        let is_newer = saved.generation >= self.saved.generation && saved != self.saved;
        if is_newer {
            self.saved = saved;
            self.discarded_scopes = Scopes::none();
            self.pacing.refresh_again_at = Instant::EPOCH;
        }
        is_newer
    }

    /// Keeps a client id, replacing only the one of the same issuer. A server can name ever more issuers, so the number
    /// of registrations is limited: the oldest one without tokens is dropped.
    pub(super) fn remember(&mut self, client: Client) {
        let clients = &mut self.saved.clients;
        clients.retain(|known| known.issuer != client.issuer);
        let is_registered = |known: &Client| known.source == ClientSource::Registered;
        let grant = self.saved.grant.as_ref();
        while is_registered(&client)
            && MOST_REGISTRATIONS <= clients.iter().filter(|known| is_registered(known)).count()
        {
            let is_spare = |known: &Client| {
                is_registered(known) && grant.is_none_or(|grant| grant.issuer != known.issuer)
            };
            let Some(oldest) = clients.iter().position(is_spare) else { break };
            clients.remove(oldest);
        }
        clients.push(client);
        self.save();
    }

    pub(super) fn drop_client(&mut self, client: &Client) {
        self.saved.clients.retain(|known| known != client);
        self.save();
    }

    /// Whether the user, and not the configuration, named this client id. It may be mistyped.
    pub(super) fn is_named_by_user(&self, client: &Client) -> bool {
        let is_known = self.config.clients.iter().any(|it| it.client_id == client.client_id);
        // The authorization server knows the client that has tokens.
        let grant = self.saved.grant.as_ref();
        let is_proven = grant.is_some_and(|grant| grant.client.client_id == client.client_id);
        client.source == ClientSource::Configured && !is_known && !is_proven
    }

    /// Returns the purpose of a token request: the authentication method and the scopes.
    pub(super) fn purpose(
        &self,
        found: Box<Found>,
        client: Client,
    ) -> Result<Box<Purpose>, AuthorizationFailure> {
        let methods = found.server.authentication_methods.as_deref();
        let method = client.authentication(methods);
        let method = method.ok_or(AuthorizationFailure::Unsupported("the way to authenticate"))?;
        if method == ClientAuthentication::PrivateKeyJwt {
            let algorithms = found.server.signing_algorithms.as_ref();
            let wanted = client.key.as_ref().map(|key| &key.algorithm);
            if algorithms.is_some_and(|known| wanted.is_none_or(|wanted| !known.contains(wanted))) {
                return Err(AuthorizationFailure::Unsupported("the algorithm of the key"));
            }
        }
        let scopes = self.wanted_scopes(&found);
        Ok(Box::new(Purpose { found: *found, client, method, scopes }))
    }

    /// Returns the scopes to request
    /// ([scope selection](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#scope-selection-strategy)).
    pub(super) fn wanted_scopes(&self, found: &Found) -> Scopes {
        const OFFLINE: &str = crate::auth::scopes::OFFLINE_ACCESS;
        let Found { attempt, resource, server } = found;
        let named = attempt.challenged.as_ref().or(resource.scopes.as_ref());
        let named = named.cloned().unwrap_or_default();
        let first = if attempt.is_step_up || named.is_empty() {
            attempt.earlier.union(&named)
        } else {
            named
        };
        let has_offline = server.scopes.iter().any(|scope| scope == OFFLINE);
        let all = first.union(&self.config.scopes);
        let all: Scopes = all.iter().filter(|scope| has_offline || *scope != OFFLINE).collect();
        if has_offline && self.config.offline_access {
            return all.union(&Scopes::parse(OFFLINE));
        }
        all
    }

    /// Locks the storage. Only one process may use a refresh token: a rotated refresh token is valid once.
    pub(super) fn claim(&mut self, refresh: Refresh) -> Activity {
        let job = self.next_job();
        self.effects.push_back(Effect::Claim { job });
        Activity::Claiming(refresh)
    }

    /// Requests the signature of a client assertion.
    pub(super) fn sign(
        &mut self,
        client: &Client,
        audience: &str,
        request: Request,
        now: Instant,
    ) -> Activity {
        let job = self.next_job();
        let none = SigningKey { algorithm: "none".into(), key_id: None };
        let key = client.key.clone().unwrap_or(none);
        let input = client_assertion::signing_input(
            &key.algorithm,
            key.key_id.as_deref(),
            &client.client_id,
            audience,
            now - self.clock_lead,
            job.0,
        );
        let SigningKey { algorithm, key_id } = key;
        let client_id = client.client_id.clone();
        let signing = Signing { job, client_id, algorithm, key_id, input: input.clone() };
        self.effects.push_back(Effect::Sign(signing));
        Activity::Signing { request, input }
    }
}
