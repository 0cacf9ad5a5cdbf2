//! `Inner`: what every step of an authorization works on.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::access_token::AccessToken;
use super::activity::{Activity, Found, Purpose, Refresh, Request};
use super::client_id::{Client, ClientAuthentication, SigningKey};
use super::config::AuthorizerConfig;
use super::effect::{Effect, JobId, RequestKey, Signing, Verdict};
use super::failure::AuthorizationFailure;
use super::saved::{Grant, Saved};
use crate::auth::Scopes;
use crate::auth::messages::client_assertion;
use crate::time::Instant;
use crate::version::Revision;

/// The outcome of a step: the next activity, or why the authorization fails.
pub(super) type Step = Result<Activity, AuthorizationFailure>;

/// Everything of an authorizer but the stage it is at: the configuration, what is saved, what is known of the tokens, the
/// requests that wait for one, and the effects that the host has to carry out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Inner {
    pub(super) config: Arc<AuthorizerConfig>,
    pub(super) saved: Saved,
    /// What the host was asked to do last.
    pub(super) job: JobId,
    pub(super) effects: VecDeque<Effect>,
    /// The requests to the MCP server that wait for a token.
    pub(super) waiting: Vec<RequestKey>,
    /// The MCP server has taken the token of this generation.
    pub(super) accepted: u64,
    /// The token of this generation was issued here, and not read from the storage.
    pub(super) issued: u64,
    /// The MCP server has refused the token of this generation, which was good before.
    pub(super) refused: u64,
    /// The revision that the MCP server has spoken.
    pub(super) revision: Option<Revision>,
    pub(super) holds_storage: bool,
    /// Until when a server wants to be left alone, and the failure that said so.
    pub(super) rest: Option<(Instant, AuthorizationFailure)>,
    /// When the next refresh ahead of time may be tried.
    pub(super) refresh_again_at: Instant,
}

impl Inner {
    /// Without a token.
    pub(super) fn new(config: Arc<AuthorizerConfig>) -> Self {
        Self {
            config,
            saved: Saved::default(),
            job: JobId(0),
            effects: VecDeque::new(),
            waiting: Vec::new(),
            accepted: 0,
            issued: 0,
            refused: 0,
            revision: None,
            holds_storage: false,
            rest: None,
            refresh_again_at: Instant::EPOCH,
        }
    }

    /// The token that can be used now.
    pub(super) fn token(&self, now: Instant) -> Option<AccessToken<'_>> {
        let grant = self.saved.grant.as_ref().filter(|grant| !grant.is_expired(now))?;
        let generation = self.saved.generation;
        (generation != self.refused)
            .then_some(AccessToken { token: &grant.access_token, generation })
    }

    pub(super) fn release(&mut self, request: RequestKey, verdict: Verdict) {
        self.effects.push_back(Effect::Release { request, verdict });
    }

    /// Lets go of the storage, if it is held.
    pub(super) fn let_go(&mut self) {
        if core::mem::take(&mut self.holds_storage) {
            self.effects.push_back(Effect::Unclaim);
        }
    }

    pub(super) const fn next_job(&mut self) -> JobId {
        self.job.0 += 1;
        self.job
    }

    /// Keeps tokens, and has them stored before anything else is done.
    pub(super) fn keep(&mut self, grant: Grant) {
        self.saved.generation += 1;
        self.issued = self.saved.generation;
        self.saved.grant = Some(grant);
        self.refresh_again_at = Instant::EPOCH;
        self.rest = None;
        if !mutant!("tokens_are_not_saved") {
            self.save();
        }
    }

    pub(super) fn save(&mut self) {
        self.effects.push_back(Effect::Save(self.saved.clone()));
    }

    /// Takes over what was stored if it is not older than what is known. Says whether there was anything new.
    pub(super) fn adopt(&mut self, saved: Saved) -> bool {
        let is_newer = saved.generation >= self.saved.generation && saved != self.saved;
        if is_newer {
            self.saved = saved;
            self.refresh_again_at = Instant::EPOCH;
        }
        is_newer
    }

    /// Keeps a client id beside those of other issuers.
    pub(super) fn remember(&mut self, client: Client) {
        self.saved.clients.retain(|known| known.issuer != client.issuer);
        self.saved.clients.push(client);
        self.save();
    }

    pub(super) fn drop_client(&mut self, client: &Client) {
        self.saved.clients.retain(|known| known != client);
        self.save();
    }

    /// What a token is requested for.
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

    /// The scopes to request
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

    /// Only one process may use a refresh token: those that rotate are good for once.
    pub(super) fn claim(&mut self, refresh: Refresh) -> Activity {
        let job = self.next_job();
        self.effects.push_back(Effect::Claim { job });
        Activity::Claiming(refresh)
    }

    /// Has an assertion signed that shows who the client is.
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
            now,
            job.0,
        );
        let SigningKey { algorithm, key_id } = key;
        let client_id = client.client_id.clone();
        let signing = Signing { job, client_id, algorithm, key_id, input: input.clone() };
        self.effects.push_back(Effect::Sign(signing));
        Activity::Signing { request, input }
    }
}
