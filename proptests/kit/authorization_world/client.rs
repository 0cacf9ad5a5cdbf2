//! The client processes: their operations, and the responses of the world.

use std::collections::BTreeSet;
use std::sync::Arc;

use mcp_sansio::auth::{
    Authorizer, AuthorizerConfig, Challenged, Challenges, ClientMetadata, ConfiguredClient, Effect,
    Fetch, FetchError, FetchPurpose, FetchedResponse, Flow, IdentityProvider, JobId, LoginMaterial,
    Permit, Redirected, RequestKey, Secret, Stage, Verdict,
};
use mcp_sansio::{Instant, Revision};

use super::World;
use super::documents::SERVER;

/// A process with a client.
pub(super) struct Process {
    kind: u64,
    pub(super) authorizer: Authorizer,
    /// The requests that wait for a permit.
    pub(super) waiting: BTreeSet<RequestKey>,
    /// The requests to servers without a response.
    fetches: Vec<Fetch>,
    jobs: Vec<Job>,
    /// The state of the current login.
    state: Option<String>,
    /// The newest generation that is certainly in the storage.
    pub(super) stored: u64,
    /// The number of requests of the current authorization.
    pub(super) asked: u32,
}

/// A pending request to the host.
#[derive(Clone)]
enum Job {
    Prepare(JobId),
    Name(JobId),
    Assert(JobId),
    Sign(JobId),
    Claim(JobId),
}

impl Process {
    pub(super) fn new(kind: u64) -> Self {
        let mut config = AuthorizerConfig::new(SERVER).unwrap();
        config.registration = Some(ClientMetadata::native("world"));
        config.most_waiting = 8;
        match kind {
            0 => config.clients.push(ConfiguredClient::new("known").key("ES256", None)),
            1 => {
                config.flow = Flow::ClientCredentials;
                config.clients.push(ConfiguredClient::new("known").secret("SECRET-of-client"));
            }
            2 => {
                let endpoint = "https://idp.example/token";
                config.flow = Flow::Enterprise(IdentityProvider::new(endpoint, "idp").unwrap());
                config.clients.push(ConfiguredClient::new("known").key("ES256", None));
            }
            3 => {
                config.registration = None;
                config.can_name_client = true;
            }
            4 => {
                config.flow = Flow::ClientCredentials;
                config.clients.push(ConfiguredClient::new("known").key("ES256", None));
            }
            5 => {
                let endpoint = "https://idp.example/token";
                config.flow = Flow::Enterprise(IdentityProvider::new(endpoint, "idp").unwrap());
                config.registration = None;
                config.can_name_client = true;
            }
            6 => {
                config.flow = Flow::ClientCredentials;
                config.registration = None;
                config.can_name_client = true;
            }
            7..=9 => config.can_name_client = true,
            _ => {}
        }
        Self {
            kind,
            authorizer: Authorizer::new(Arc::new(config)),
            waiting: BTreeSet::new(),
            fetches: Vec::new(),
            jobs: Vec::new(),
            state: None,
            stored: 0,
            asked: 0,
        }
    }
}

impl World<'_> {
    /// Performs an operation on a machine and carries out its effects. A copy of the machine must reach the same
    /// state.
    pub(super) fn act<T>(&mut self, at: usize, act: impl Fn(&mut Authorizer, Instant) -> T) -> T {
        let before = self.processes[at].authorizer.stage();
        let mut copy = self.processes[at].authorizer.clone();
        let outcome = act(&mut self.processes[at].authorizer, self.now);
        act(&mut copy, self.now);
        assert_eq!(copy, self.processes[at].authorizer, "the same input has another effect");
        let after = self.processes[at].authorizer.stage();
        if before != after {
            assert!(before.next().contains(&after), "{before:?} leads to {after:?}");
        }
        self.moves.insert((before, after));
        while let Some(effect) = self.processes[at].authorizer.poll_effect() {
            self.carry_out(at, effect);
        }
        self.check(at);
        outcome
    }

    fn carry_out(&mut self, at: usize, effect: Effect) {
        self.check_effect(at, &effect);
        let process = &mut self.processes[at];
        match effect {
            Effect::Fetch(fetch) => {
                process.asked += 1;
                process.fetches.push(fetch);
            }
            Effect::PrepareLogin { job, .. } => process.jobs.push(Job::Prepare(job)),
            Effect::OpenUrl(url) => {
                self.logins.opened(url.as_str());
                let state = url.as_str().split("state=").nth(1).unwrap_or_default();
                let state = state.split('&').next().unwrap_or_default().to_owned();
                self.secrets.hide(&state);
                process.state = Some(state);
            }
            Effect::NeedClient { job, .. } => process.jobs.push(Job::Name(job)),
            Effect::NeedAssertion { job } => process.jobs.push(Job::Assert(job)),
            Effect::Sign(signing) => process.jobs.push(Job::Sign(signing.job)),
            Effect::Claim { job } => process.jobs.push(Job::Claim(job)),
            Effect::Save(saved) => {
                // A save happens even while another process holds the lock: a host also writes a storage that it
                // cannot lock.
                let stored = self.storage.take().filter(|stored| stored.is_newer_than(&saved));
                let stored = stored.unwrap_or(saved);
                process.stored = stored.generation();
                self.storage = Some(stored);
            }
            Effect::Unclaim => {
                assert!(self.is_holder(at), "it gives back what it does not hold");
                self.holder = None;
            }
            Effect::Release { request, verdict } => {
                assert!(process.waiting.remove(&request), "{request:?} does not wait");
                if verdict == Verdict::Send {
                    let generation = process.authorizer.saved().generation();
                    assert!(generation <= process.stored, "it is used before it is saved");
                }
            }
            other => panic!("unknown: {other:?}"),
        }
    }

    /// Asks for a permit to send a request to the MCP server.
    pub(super) fn ask(&mut self, at: usize) {
        let key = RequestKey(self.number());
        self.processes[at].waiting.insert(key);
        let mut other = self.processes[at].authorizer.clone();
        let permit = other.permit(key, "https://mcp.example.evil/mcp", self.now);
        assert_eq!(permit, Permit::Send(None), "the token goes to another origin");
        let sent = self.act(at, |authorizer, now| match authorizer.permit(key, SERVER, now) {
            Permit::Send(token) => Some(token.map(|token| token.field().expose().to_owned())),
            Permit::Wait => None,
        });
        if let Some(field) = sent {
            if let Some(field) = field {
                self.secrets.check_field(&field, self.now);
            }
            self.processes[at].waiting.remove(&key);
            if self.choices.one_in(2) {
                let revision = self.choices.pick(&[None, Some(Revision::V2026_07_28)]).flatten();
                let generation = Some(self.processes[at].authorizer.saved().generation());
                self.act(at, |authorizer, _| authorizer.accepted(generation, revision));
            }
        } else if self.choices.one_in(4) && self.processes[at].waiting.remove(&key) {
            self.act(at, |authorizer, _| authorizer.forget(key));
        }
    }

    /// The MCP server refuses a request.
    pub(super) fn refuse(&mut self, at: usize) {
        let key = RequestKey(self.number());
        self.processes[at].waiting.insert(key);
        let texts = [
            "",
            "Bearer",
            "Negotiate",
            r#"Bearer scope="a b", resource_metadata="https://mcp.example/meta""#,
            r#"Bearer resource_metadata="https://169.254.169.254/""#,
            r#"Bearer error="insufficient_scope", scope="c""#,
            r#"Bearer error="insufficient_scope""#,
        ];
        let text = self.choices.pick(&texts).unwrap();
        let status = if text.contains("insufficient") { 403 } else { 401 };
        let generation = self.processes[at].authorizer.saved().generation();
        let generation = self.choices.pick(&[None, Some(generation), Some(0)]).flatten();
        let challenges = Challenges::parse(text);
        let challenged =
            Challenged::new(status, &challenges).generation(generation).operation(text);
        self.act(at, |authorizer, now| authorizer.challenged(key, challenged, now));
    }

    /// A server or the host responds.
    pub(super) fn serve(&mut self, at: usize) {
        if let Some(job) = self.processes[at].jobs.pop() {
            return self.do_job(at, job);
        }
        let Some(fetch) = self.processes[at].fetches.pop() else { return };
        let (status, body) = self.response(&fetch);
        let retry_after = self.choices.one_in(2).then_some("10");
        self.act(at, |authorizer, now| {
            let response = FetchedResponse::new(status, body.as_bytes()).retry_after(retry_after);
            authorizer.fetched(fetch.job, response, now);
        });
        if fetch.purpose == FetchPurpose::Refresh {
            let saved = self.processes[at].authorizer.saved().to_text();
            self.secrets.refreshed(&fetch, &body, saved.expose());
        }
        if self.choices.one_in(8) {
            // A duplicate response.
            self.act(at, |authorizer, now| {
                authorizer.fetched(fetch.job, FetchedResponse::new(200, b"{}"), now);
            });
        }
    }

    fn do_job(&mut self, at: usize, job: Job) {
        let number = self.number();
        if let Job::Claim(job) = job {
            if self.holder.is_some() {
                return self.processes[at].jobs.insert(0, Job::Claim(job));
            }
            let stored = self.storage.clone();
            self.holder = Some((at, stored.clone()));
            let newest = stored.as_ref().map_or(0, |stored| stored.generation());
            self.processes[at].stored = self.processes[at].stored.max(newest);
            return self.act(at, |authorizer, now| authorizer.claimed(job, stored.clone(), now));
        }
        let is_willing = !self.choices.one_in(8);
        let named = ConfiguredClient::new("named");
        let named = if self.choices.one_in(2) {
            named.secret("SECRET-named")
        } else {
            named.key("ES256", None)
        };
        self.act(at, |authorizer, now| match job {
            Job::Prepare(job) if is_willing => {
                let mut entropy = [7; 64];
                entropy[32..].fill(8);
                entropy[..8].copy_from_slice(&number.to_be_bytes());
                entropy[32..40].copy_from_slice(&number.to_be_bytes());
                let material = LoginMaterial::new(entropy, "http://127.0.0.1:9/callback");
                authorizer.login_prepared(job, &material, now);
            }
            Job::Name(job) if is_willing => {
                authorizer.client_named(job, named.clone(), now);
            }
            Job::Assert(job) if is_willing => {
                authorizer.assertion_given(job, &Secret::new("SECRET-assertion"), "kind", now);
            }
            Job::Sign(job) if is_willing => authorizer.signed(job, b"signature", now),
            Job::Prepare(job)
            | Job::Name(job)
            | Job::Assert(job)
            | Job::Sign(job)
            | Job::Claim(job) => {
                authorizer.job_failed(job, now);
            }
        });
    }

    /// The browser returns, or an impostor does.
    pub(super) fn come_back(&mut self, at: usize) {
        let Some(state) = self.processes[at].state.clone() else { return };
        let code = format!("SECRET-code-{}", self.number());
        let rest = [
            format!("code={code}"),
            format!("code={code}&iss=https%3A%2F%2Fas.example"),
            format!("code={code}&iss=https%3A%2F%2Fevil.example"),
            format!("code={code}&code=other"),
            "error=access_denied".to_owned(),
            String::new(),
        ];
        let mostly_right = [0, 0, 0, 1, 1, 2, 3, 4, 5];
        let rest = &rest[self.choices.pick(&mostly_right).unwrap()];
        let state = if self.choices.one_in(6) { "guessed".to_owned() } else { state };
        let query = format!("?{rest}&state={state}");
        let redirected = self.act(at, |authorizer, now| authorizer.redirected(&query, now));
        let is_evil = query.contains("evil");
        assert!(!is_evil || redirected != Redirected::Accepted, "another issuer is believed");
        let is_ambiguous = query.contains("code=other");
        assert!(!is_ambiguous || redirected != Redirected::Accepted, "one of two codes is used");
        let is_guess = state == "guessed";
        assert!(!is_guess || redirected == Redirected::Unknown, "another login is answered");
    }

    /// A request to a server fails.
    pub(super) fn fail(&mut self, at: usize) {
        let Some(fetch) = self.processes[at].fetches.pop() else { return };
        let all =
            [FetchError::NotSent, FetchError::Broken, FetchError::TooLarge, FetchError::NotAllowed];
        let error = self.choices.pick(&all).unwrap();
        self.act(at, |authorizer, now| authorizer.fetch_failed(fetch.job, error, now));
    }

    pub(super) fn give_up(&mut self, at: usize) {
        if self.choices.one_in(4) {
            self.act(at, |authorizer, _| authorizer.log_out());
        } else {
            self.act(at, |authorizer, now| authorizer.abandoned(now));
        }
    }

    /// The process dies, and a new one starts from the storage.
    pub(super) fn restart(&mut self, at: usize) {
        if !self.choices.one_in(4) {
            return;
        }
        if self.is_holder(at) {
            // The operating system releases the lock.
            self.holder = None;
        }
        self.processes[at] = Process::new(self.processes[at].kind);
        self.look_into_storage(at);
    }

    /// Restores the state that another process has stored.
    pub(super) fn look_into_storage(&mut self, at: usize) {
        let Some(stored) = self.storage.clone() else { return };
        self.processes[at].stored = self.processes[at].stored.max(stored.generation());
        self.act(at, |authorizer, _| authorizer.restore(stored.clone()));
    }

    pub(super) fn is_holder(&self, at: usize) -> bool {
        self.holder.as_ref().is_some_and(|(holder, _)| *holder == at)
    }

    /// Whether an authorization is in progress.
    pub(super) fn is_busy(&self, at: usize) -> bool {
        self.processes[at].authorizer.stage() != Stage::Idle
    }
}
