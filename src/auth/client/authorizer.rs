//! The machine: its interface, its one way from stage to stage, and its time.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::access_token::AccessToken;
use super::activity::Activity;
use super::config::AuthorizerConfig;
use super::effect::{Effect, JobId, RequestKey, Verdict};
use super::failure::AuthorizationFailure;
use super::inner::Inner;
use super::login;
use super::saved::Saved;
use super::stage::Stage;
use crate::auth::Scopes;
use crate::auth::web_url::WebUrl;
use crate::time::Instant;
use crate::version::Revision;

/// Gets access tokens for one MCP server and keeps them, without IO.
///
/// The host asks for a [`permit`](Self::permit) before each request to the MCP server, and hands challenges over
/// ([`challenged`](Self::challenged)). It carries out every [`Effect`] in order, and reports the result. Every request
/// that waits is released exactly once, by [`Effect::Release`].
///
/// Promises: every authorization ends, after a bounded number of requests to servers; there is one at a time, and one
/// refresh at a time; tokens are saved before they are used; nothing secret is in `Debug`; the same inputs give the same
/// effects. Times count from the Unix epoch.
///
/// ```
/// use std::sync::Arc;
/// use mcp_sansio::Instant;
/// use mcp_sansio::auth::{
///     Authorizer, AuthorizerConfig, Challenged, Challenges, Effect, Permit, RequestKey,
/// };
///
/// let config = AuthorizerConfig::new("https://mcp.example.com/mcp")?;
/// let mut authorizer = Authorizer::new(Arc::new(config));
/// let now = Instant::from_millis(1_800_000_000_000);
///
/// // The first request goes out without a token, and the server wants one.
/// assert_eq!(authorizer.permit(RequestKey(1), "https://mcp.example.com/mcp", now), Permit::Send(None));
/// let challenges = Challenges::parse("Bearer");
/// authorizer.challenged(RequestKey(1), Challenged::new(401, &challenges), now);
///
/// let Some(Effect::Fetch(fetch)) = authorizer.poll_effect() else { panic!("a request") };
/// assert_eq!(fetch.url, "https://mcp.example.com/.well-known/oauth-protected-resource/mcp");
/// # Ok::<(), mcp_sansio::auth::UrlError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Authorizer {
    pub(super) inner: Inner,
    pub(super) activity: Activity,
    /// When the stage is over although nothing has come.
    pub(super) deadline: Option<Instant>,
    /// How often more scopes were asked for, for each operation.
    pub(super) step_ups: Vec<(String, u8)>,
}

/// What the host does with a request to the MCP server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "either it is sent or it waits")]
pub enum Permit<'a> {
    /// Send it, with this token if there is one.
    Send(Option<AccessToken<'a>>),
    /// Wait for [`Effect::Release`].
    Wait,
}

/// # Starting
impl Authorizer {
    /// Without a token.
    pub fn new(config: Arc<AuthorizerConfig>) -> Self {
        Self {
            inner: Inner::new(config),
            activity: Activity::Idle,
            deadline: None,
            step_ups: Vec::new(),
        }
    }

    /// Takes over what is in the storage: at the start, or when another process has stored something. What is older than
    /// what is known is ignored.
    ///
    /// A refresh that is under way ends if it is of other tokens. The requests that wait for it are released, to be sent
    /// with the tokens that have been restored.
    pub fn restore(&mut self, saved: Saved) {
        let has_other_tokens = !self.inner.saved.has_tokens_of(&saved);
        if self.inner.adopt(saved) && has_other_tokens && self.activity.is_refresh() {
            // The signature and the response that are still to come belong to the earlier tokens.
            self.end(&Verdict::Send);
        }
    }

    /// Forgets the tokens, but not the registrations. What is to be stored comes as [`Effect::Save`].
    pub fn log_out(&mut self) {
        if self.inner.saved.grant.take().is_some() {
            // A storage that was read before this has the tokens still: it is older now.
            self.inner.saved.generation += 1;
            self.inner.save();
        }
    }

    /// How it is configured.
    pub fn config(&self) -> &AuthorizerConfig {
        &self.inner.config
    }

    /// What is to be stored, as the last [`Effect::Save`] had it.
    pub const fn saved(&self) -> &Saved {
        &self.inner.saved
    }

    /// Which part of an authorization is under way.
    pub const fn stage(&self) -> Stage {
        self.activity.stage()
    }

    /// How many requests wait.
    pub const fn waiting(&self) -> usize {
        self.inner.waiting.len()
    }

    /// The scopes that were granted, `None` if there is no token.
    pub fn granted(&self) -> Option<&Scopes> {
        self.inner.saved.scopes()
    }
}

/// # Requests to the MCP server
impl Authorizer {
    /// Asks how a request to this URL is sent. The token is given for the origin of the MCP server only.
    pub fn permit(&mut self, request: RequestKey, url: &str, now: Instant) -> Permit<'_> {
        let is_for_server = WebUrl::parse(url.split('#').next().unwrap_or_default())
            .is_ok_and(|url| url.is_same_origin(&self.inner.config.server));
        if !is_for_server {
            return Permit::Send(None);
        }
        let has_token = self.inner.token(now).is_some();
        if !has_token && self.activity != Activity::Idle {
            self.wait(request);
            return Permit::Wait;
        }
        let is_refreshable =
            self.inner.saved.grant.as_ref().is_some_and(|grant| grant.refresh_token.is_some());
        if !has_token && is_refreshable {
            self.wait(request);
            self.begin_refresh(now);
            return Permit::Wait;
        }
        Permit::Send(self.inner.token(now))
    }

    /// The MCP server has accepted a request with the token of this generation, and speaks this revision, as far as that is
    /// known. A 5xx response does not count: the server may not have checked the token.
    pub fn accepted(&mut self, generation: Option<u64>, revision: Option<Revision>) {
        self.inner.accepted = self.inner.accepted.max(generation.unwrap_or(0));
        self.inner.revision = revision.or(self.inner.revision);
    }

    /// A request that waits is no longer wanted. It is not released any more.
    pub fn forget(&mut self, request: RequestKey) {
        self.inner.waiting.retain(|waiting| *waiting != request);
        self.inner.effects.retain(|effect| match effect {
            Effect::Release { request: released, .. } => *released != request,
            _ => true,
        });
    }

    /// Lets a request wait, or releases it if there are too many.
    pub(super) fn wait(&mut self, request: RequestKey) {
        if self.inner.waiting.len() < self.inner.config.most_waiting {
            self.inner.waiting.push(request);
        } else {
            self.inner.release(request, Verdict::Fail(AuthorizationFailure::TooManyWaiting));
        }
    }
}

/// # Effects and time
impl Authorizer {
    /// The next thing to do. Ask until there is nothing, after each input.
    #[must_use = "an effect that is dropped is never carried out"]
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.inner.effects.pop_front()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) although nothing has happened.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.activity != Activity::Idle {
            return self.deadline;
        }
        let grant = self.inner.saved.grant.as_ref()?;
        let due =
            grant.refresh_at(self.inner.config.refresh_before)?.max(self.inner.refresh_again_at);
        // After the end of the token the next request refreshes it.
        (!grant.is_expired(due)).then_some(due)
    }

    /// Does what time has brought about. Being early or late is harmless.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.poll_timeout().is_none_or(|due| now < due) {
            return;
        }
        if self.activity == Activity::Idle {
            if self.inner.token(now).is_some() {
                self.begin_refresh(now);
            } else {
                // The next request does it.
                self.inner.refresh_again_at = Instant::EPOCH + Duration::MAX;
            }
            return;
        }
        let activity = core::mem::replace(&mut self.activity, Activity::Idle);
        let outcome = self.timed_out(activity, now);
        self.proceed(outcome, now);
    }

    fn timed_out(
        &mut self,
        activity: Activity,
        now: Instant,
    ) -> Result<Activity, AuthorizationFailure> {
        let purpose = match &activity {
            Activity::NamingClient(_) | Activity::AwaitingUser { .. } => {
                return Err(login::not_finished(&mut self.inner, &activity));
            }
            Activity::Claiming(_) => return Err(AuthorizationFailure::Host("lock the storage")),
            Activity::Signing { .. } => return Err(AuthorizationFailure::Host("sign")),
            Activity::PreparingLogin { .. } => {
                return Err(AuthorizationFailure::Host("make ready for a login"));
            }
            Activity::AwaitingAssertion(_) => {
                return Err(AuthorizationFailure::Host("give an assertion"));
            }
            Activity::Idle => return Ok(Activity::Idle),
            activity => activity.fetch_purpose(),
        };
        self.not_answered(activity, purpose, None, None, now)
    }
}

/// # From stage to stage
impl Authorizer {
    /// Takes the stage that a step has led to.
    pub(super) fn proceed(
        &mut self,
        outcome: Result<Activity, AuthorizationFailure>,
        now: Instant,
    ) {
        let activity = match outcome {
            Ok(Activity::Idle) => return self.end(&Verdict::Send),
            Ok(activity) => activity,
            Err(failure) => return self.end(&Verdict::Fail(failure)),
        };
        let stage = activity.stage();
        let within = match stage {
            Stage::NamingClient | Stage::AwaitingUser => self.inner.config.user_timeout,
            _ => self.inner.config.fetch_timeout,
        };
        self.deadline = Some(now + within);
        if !matches!(stage, Stage::Refreshing | Stage::Signing) {
            self.inner.let_go();
        }
        self.activity = activity;
    }

    /// Ends an authorization, and releases every request that waits for it: this is the only way out.
    fn end(&mut self, verdict: &Verdict) {
        self.activity = Activity::Idle;
        self.deadline = None;
        self.inner.let_go();
        for request in core::mem::take(&mut self.inner.waiting) {
            self.inner.release(request, verdict.clone());
        }
    }

    /// Takes a step out of the stage that waits for this job. `None` if the job is another one.
    pub(super) fn answered(&mut self, job: JobId) -> Option<Activity> {
        let is_it = job == self.inner.job && self.activity != Activity::Idle;
        is_it.then(|| core::mem::replace(&mut self.activity, Activity::Idle))
    }
}
