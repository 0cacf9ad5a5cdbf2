//! The logins of the clients.

use std::collections::VecDeque;
use std::sync::Arc;

use mcp_sansio::Instant;
use mcp_sansio::auth::{
    Authorizer, AuthorizerConfig, Challenged, Challenges, ConfiguredClient, Effect, Fetch,
    FetchError, JobId, LoginMaterial, Permit, RequestKey, Saved, Stage, Verdict,
};
use mcp_sansio::http::Headers;

use super::SERVER;
use crate::http_world::HttpWorld;
use crate::http_world::carrying::Carried;

/// The maximum number of attempts of a request: without a token, with a token, and twice with more scopes.
const MOST_ATTEMPTS: u32 = 4;

/// The login of a client, which keeps its tokens.
pub(in crate::http_world) struct Login {
    authorizer: Authorizer,
    account: String,
    jobs: VecDeque<Job>,
    stored: Option<Saved>,
    numbers: u64,
}

/// A pending request of the authorizer to its host.
enum Job {
    Fetch(Fetch),
    Prepare(JobId),
    Browse(String),
    Claim(JobId),
}

impl Login {
    pub(in crate::http_world) fn new(account: &str) -> Self {
        let mut config = AuthorizerConfig::new(SERVER).unwrap();
        config.clients.push(ConfiguredClient::new(account));
        Self {
            authorizer: Authorizer::new(Arc::new(config)),
            account: account.to_owned(),
            jobs: VecDeque::new(),
            stored: None,
            numbers: 0,
        }
    }

    pub(super) fn account(&self) -> &str {
        &self.account
    }

    pub(super) const fn authorizer(&self) -> &Authorizer {
        &self.authorizer
    }

    /// Forgets a request that waits for a token.
    pub(in crate::http_world) fn forget(&mut self, key: RequestKey) {
        self.authorizer.forget(key);
    }

    fn key(&mut self) -> RequestKey {
        self.numbers += 1;
        RequestKey(self.numbers)
    }

    /// Whether nothing waits for the login.
    pub(in crate::http_world) fn is_idle(&self) -> bool {
        self.authorizer.stage() == Stage::Idle && self.authorizer.waiting() == 0
    }
}

impl HttpWorld {
    /// Asks for the token of a request, which waits for it if there is none.
    pub(in crate::http_world) fn permit(&mut self, at: usize) -> Result<(), String> {
        let client = self.carried[at].client;
        let now = self.now;
        let Some(login) = &mut self.clients[client].login else { return Ok(()) };
        let key = login.key();
        match login.authorizer.permit(key, SERVER, now) {
            Permit::Send(token) => {
                let token = token.map(|token| (token.field(), token.generation()));
                self.clients[client].token.clone_from(&token);
                self.carried[at].token = token;
                self.carried[at].waiting = None;
            }
            Permit::Wait => self.carried[at].waiting = Some(key),
        }
        self.carry_out(client)
    }

    /// Handles the head of a response, if it is about authorization: the request waits for another token.
    pub(in crate::http_world) fn challenge(
        &mut self,
        at: usize,
        status: u16,
        fields: &[(String, String)],
    ) -> Result<bool, String> {
        let now = self.now;
        let carried = &mut self.carried[at];
        let client = carried.client;
        let Some(login) = &mut self.clients[client].login else { return Ok(false) };
        let fields: Vec<(&str, &[u8])> =
            fields.iter().map(|(name, value)| (&**name, value.as_bytes())).collect();
        let challenges = Challenges::of(Headers::from(&*fields));
        let generation = carried.token.as_ref().map(|(_, generation)| *generation);
        let is_refused = status == 401 || (status == 403 && challenges.bearer().is_some());
        let Some(request) = carried.refused.take().filter(|_| is_refused) else {
            let generation = generation.filter(|_| status < 500);
            login.authorizer.accepted(generation, None);
            return Ok(false);
        };
        let operation = if request.body.windows(12).any(|it| it == b"\"tools/call\"") {
            "tools/call"
        } else {
            ""
        };
        let key = login.key();
        carried.try_again(request, key);
        let challenged =
            Challenged::new(status, &challenges).generation(generation).operation(operation);
        login.authorizer.challenged(key, challenged, now);
        self.carry_out(client)?;
        Ok(true)
    }

    /// Carries out the effects of the authorizer of a client.
    fn carry_out(&mut self, client: usize) -> Result<(), String> {
        loop {
            let Some(login) = &mut self.clients[client].login else { return Ok(()) };
            let Some(effect) = login.authorizer.poll_effect() else { return Ok(()) };
            match effect {
                Effect::Fetch(ref fetch) => login.jobs.push_back(Job::Fetch(fetch.clone())),
                Effect::PrepareLogin { job, .. } => login.jobs.push_back(Job::Prepare(job)),
                Effect::OpenUrl(ref url) => {
                    login.jobs.push_back(Job::Browse(url.as_str().to_owned()));
                }
                Effect::Claim { job } => login.jobs.push_back(Job::Claim(job)),
                Effect::Save(ref saved) => login.stored = Some(saved.clone()),
                _ => {}
            }
            self.note_value(format_args!("login: {effect:?}"), &effect);
            if let Effect::Release { request, verdict } = effect {
                self.release(client, request, &verdict)?;
            }
        }
    }

    /// Sends a request that has waited, or fails it.
    fn release(&mut self, client: usize, key: RequestKey, verdict: &Verdict) -> Result<(), String> {
        let is_it = |one: &Carried| one.client == client && one.waiting == Some(key);
        let Some(at) = self.carried.iter().position(is_it) else {
            return Err(format!("login: {key:?} is released and does not wait"));
        };
        let carried = &mut self.carried[at];
        carried.waiting = None;
        if *verdict == Verdict::Send && carried.attempts < MOST_ATTEMPTS {
            return self.permit(at);
        }
        let Some(number) = carried.number else { return self.drop_carried(at) };
        self.note_stream_end(at);
        self.carried.remove(at);
        let failed = self.clients[client].transport.failed(number, None, self.now);
        failed.map_or(Ok(()), |arrived| self.arrived((client, number), arrived))
    }

    /// The host of a client does a job for its login. `which` decides whether it fails.
    pub(in crate::http_world) fn log_in(
        &mut self,
        client: usize,
        which: u64,
    ) -> Result<(), String> {
        let now = self.now;
        let fails = which % 16 == 1 && self.features.failing_logins;
        let Some(authorization) = &mut self.authorization else { return Ok(()) };
        let Some(login) = &mut self.clients[client].login else { return Ok(()) };
        let Some(job) = login.jobs.pop_front() else { return Ok(()) };
        let authorizer = &mut login.authorizer;
        match job {
            Job::Fetch(fetch) if fails => {
                authorizer.fetch_failed(fetch.job, FetchError::Broken, now);
            }
            Job::Browse(_) if fails => authorizer.abandoned(now),
            Job::Fetch(fetch) => {
                let (status, body) = authorization.fetch(&fetch, &login.account, now);
                let response = mcp_sansio::auth::FetchedResponse::new(status, &body);
                authorizer.fetched(fetch.job, response, now);
            }
            Job::Prepare(job) => {
                let material = LoginMaterial::new(
                    entropy(client, login.numbers, now),
                    "http://127.0.0.1:9/callback",
                );
                login.numbers += 1;
                authorizer.login_prepared(job, &material, now);
            }
            Job::Browse(url) => match authorization.browse(&url, now) {
                Some(query) => _ = authorizer.redirected(&query, now),
                None => authorizer.abandoned(now),
            },
            Job::Claim(job) => authorizer.claimed(job, login.stored.clone(), now),
        }
        self.note(format_args!("login of {client}"));
        self.carry_out(client)
    }

    /// Finishes the logins of all clients.
    pub(in crate::http_world) fn log_all_in(&mut self) -> Result<(), String> {
        for client in 0..self.clients.len() {
            while self.clients[client].login.as_ref().is_some_and(|login| !login.jobs.is_empty()) {
                self.log_in(client, 0)?;
            }
        }
        Ok(())
    }

    /// Handles the due timeouts of the logins.
    pub(in crate::http_world) fn elapse_logins(&mut self) -> Result<(), String> {
        for client in 0..self.clients.len() {
            let Some(login) = &mut self.clients[client].login else { return Ok(()) };
            login.authorizer.handle_timeout(self.now);
            self.carry_out(client)?;
        }
        Ok(())
    }
}

/// Returns bytes that differ from login to login.
fn entropy(client: usize, number: u64, now: Instant) -> [u8; 64] {
    let mut entropy = [7; 64];
    entropy[32..].fill(8);
    for half in [0, 32] {
        entropy[half..half + 8].copy_from_slice(&number.to_be_bytes());
        entropy[half + 8..half + 16].copy_from_slice(&(client as u64).to_be_bytes());
        entropy[half + 16..half + 24].copy_from_slice(&now.since_epoch().as_secs().to_be_bytes());
    }
    entropy
}
