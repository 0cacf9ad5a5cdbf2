//! `Authorizer`: the public interface, the transition between stages, and timeouts.

use alloc::string::String;
use alloc::sync::Arc;
use core::time::Duration;

use super::access_token::AccessToken;
use super::activity::Activity;
use super::config::{AuthorizerConfig, Flow};
use super::effect::{Effect, JobId, RequestKey, Verdict};
use super::failure::{AuthorizationFailure, LOCK_STORAGE};
use super::inner::{Inner, Waiting};
use super::login;
use super::pacing::REFRESH_AGAIN_AFTER;
use super::saved::Saved;
use super::stage::Stage;
use crate::auth::Scopes;
use crate::auth::web_url::WebUrl;
use crate::time::Instant;
use crate::version::Revision;

/// A state machine that obtains and keeps access tokens for one MCP server, without IO.
///
/// The application asks for a [`permit`](Self::permit) before each request to the MCP server, and passes in
/// challenges ([`challenged`](Self::challenged)). The application carries out every [`Effect`] in order, and reports
/// the result. Every waiting request is released exactly once, by [`Effect::Release`].
///
/// Guarantees: every authorization ends, after a bounded number of requests to servers. At most one authorization
/// and one refresh are in progress. Tokens are saved before they are used. `Debug` shows no secret. The same inputs
/// produce the same effects. Times count from the Unix epoch.
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
    /// The deadline of the stage.
    pub(super) deadline: Option<Instant>,
    /// The operation that needs more scopes, if the authorization in progress is for them.
    pub(super) step_up: Option<String>,
}

/// The decision about a request to the MCP server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "either it is sent or it waits")]
pub enum Permit<'a> {
    /// Send the request, with this token if there is one.
    Send(Option<AccessToken<'a>>),
    /// Wait for [`Effect::Release`].
    Wait,
}

/// # Starting
impl Authorizer {
    /// Creates an authorizer without a token.
    pub fn new(config: Arc<AuthorizerConfig>) -> Self {
        Self { inner: Inner::new(config), activity: Activity::Idle, deadline: None, step_up: None }
    }

    /// Restores the state from the storage: at the start, or after another process has stored a new state. A state
    /// older than the current one is ignored. Tokens for another MCP server are discarded.
    ///
    /// A refresh in progress ends if it belongs to other tokens. The requests that wait for it are released, to be
    /// sent with the restored tokens.
    pub fn restore(&mut self, saved: Saved) {
        let has_other_tokens = !self.inner.saved.has_tokens_of(&saved);
        if self.inner.adopt(saved) && has_other_tokens && self.activity.is_refresh() {
            // The pending signature or response belongs to the earlier tokens.
            self.end(&Verdict::Send);
        }
    }

    /// Discards the tokens but keeps the registrations. An [`Effect::Save`] with the new state follows.
    ///
    /// An authorization in progress ends as [abandoned](AuthorizationFailure::Abandoned): its tokens would undo the
    /// logout. A refresh continues, and its tokens are ignored.
    ///
    /// A newer state in a shared storage remains there. To discard its tokens as well, lock the storage, and
    /// [restore](Self::restore) its state before the logout.
    pub fn log_out(&mut self) {
        self.inner.saved.grant = None;
        // A state that was read earlier, or that is still to be read, may contain tokens. The new generation makes it
        // older.
        self.inner.saved.generation += 1;
        self.inner.discarded_scopes = Scopes::none();
        self.inner.save();
        self.inner.pacing.forget_user();
        if self.activity != Activity::Idle && !self.activity.is_refresh() {
            self.end(&Verdict::Fail(AuthorizationFailure::Abandoned));
        }
    }

    /// Sets how far the times that are passed to this authorizer are ahead of the wall clock. They never go back, and
    /// the wall clock does so if it is corrected. Client assertions contain the time of the wall clock, because an
    /// authorization server refuses those from the future.
    pub const fn set_clock_lead(&mut self, lead: Duration) {
        self.inner.clock_lead = lead;
    }

    /// Returns the configuration.
    pub fn config(&self) -> &AuthorizerConfig {
        &self.inner.config
    }

    /// Returns the state to store, as in the latest [`Effect::Save`].
    pub const fn saved(&self) -> &Saved {
        &self.inner.saved
    }

    /// Returns the current stage.
    pub const fn stage(&self) -> Stage {
        self.activity.stage()
    }

    /// Returns the number of waiting requests.
    pub const fn waiting(&self) -> usize {
        self.inner.waiting.len()
    }

    /// Returns the granted scopes, or `None` if there is no token.
    pub fn granted(&self) -> Option<&Scopes> {
        self.inner.saved.scopes()
    }
}

/// # Requests to the MCP server
impl Authorizer {
    /// Decides how to send a request to this URL. Only requests to the origin of the MCP server receive the token, and
    /// only by `https` or on this computer.
    pub fn permit(&mut self, request: RequestKey, url: &str, now: Instant) -> Permit<'_> {
        let is_for_server = WebUrl::parse(url.split('#').next().unwrap_or_default())
            .is_ok_and(|url| url.is_same_origin(&self.inner.config.server));
        if !is_for_server || !self.inner.config.is_confidential() {
            return Permit::Send(None);
        }
        let has_token = self.inner.token(now).is_some();
        if !has_token && self.activity != Activity::Idle {
            self.wait(request, false);
            return Permit::Wait;
        }
        let is_refreshable =
            self.inner.saved.grant.as_ref().is_some_and(|grant| grant.refresh_token.is_some());
        if !has_token && is_refreshable && !self.inner.awaits_challenge(now) {
            self.wait(request, false);
            self.begin_refresh(now);
            return Permit::Wait;
        }
        Permit::Send(self.inner.token(now))
    }

    /// Notes that the MCP server accepted a request with the token of this generation, and the revision of the
    /// server if it is known. A 5xx response does not count: the server may not have checked the token. A response that
    /// is passed to [`challenged`](Self::challenged) is not passed to this function.
    pub fn accepted(&mut self, generation: Option<u64>, revision: Option<Revision>) {
        self.inner.accepted = self.inner.accepted.max(generation.unwrap_or(0));
        self.inner.revision = revision.or(self.inner.revision);
    }

    /// Forgets a waiting request. The request is no longer released.
    pub fn forget(&mut self, request: RequestKey) {
        self.inner.waiting.retain(|waiting| waiting.request != request);
        self.inner.effects.retain(|effect| match effect {
            Effect::Release { request: released, .. } => *released != request,
            _ => true,
        });
    }

    /// Begins no login of the user for this request, which is not worth one: the request of a client that ends, or
    /// one that its user has not made. Call this directly after [`permit`](Self::permit) or
    /// [`challenged`](Self::challenged). The request still waits for a refresh.
    ///
    /// A login for other requests continues, and the request waits for it. Otherwise the request fails as
    /// [abandoned](AuthorizationFailure::Abandoned) before the user is asked and before a client is registered.
    pub fn forgo_login(&mut self, request: RequestKey) {
        let waiting = self.inner.waiting.iter_mut().find(|waiting| waiting.request == request);
        let Some(waiting) = waiting else { return };
        waiting.forgoes_login = true;
        let is_discovery = matches!(self.stage(), Stage::FindingResource | Stage::FindingServer);
        let grant = self.inner.saved.grant.as_ref();
        let may_refresh = grant.is_some_and(|grant| grant.refresh_token.is_some());
        let is_useless = is_discovery
            && self.inner.config.flow == Flow::AuthorizationCode
            && (!may_refresh || self.step_up.is_some());
        if is_useless && let Err(failure) = self.inner.check_login_is_awaited() {
            self.end(&Verdict::Fail(failure));
        }
    }

    /// Adds a request to the waiting ones, or fails it if the limit is reached.
    pub(super) fn wait(&mut self, request: RequestKey, needs_scopes: bool) {
        if self.inner.waiting.len() < self.inner.config.most_waiting {
            let waiting = Waiting { request, needs_scopes, forgoes_login: false };
            self.inner.waiting.push(waiting);
        } else {
            self.inner.release(request, Verdict::Fail(AuthorizationFailure::TooManyWaiting));
        }
    }
}

/// # Effects and time
impl Authorizer {
    /// Returns the next effect. Call this after each input until it returns `None`.
    #[must_use = "an effect that is dropped is never carried out"]
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.inner.effects.pop_front()
    }

    /// Returns the time at which to call [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.activity != Activity::Idle {
            return self.deadline;
        }
        let grant = self.inner.saved.grant.as_ref()?;
        // Tokens that expire at once cause no refreshes without requests.
        let earliest =
            self.inner.pacing.refresh_again_at.max(grant.issued_at + REFRESH_AGAIN_AFTER);
        let due = grant.refresh_at(self.inner.config.refresh_before)?.max(earliest);
        // After the expiry of the token, the next request refreshes it.
        (!grant.is_expired(due)).then_some(due)
    }

    /// Handles the timeouts that are due. Calling it early or late is harmless.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.poll_timeout().is_none_or(|due| now < due) {
            return;
        }
        if self.activity == Activity::Idle {
            if self.inner.token(now).is_some() {
                self.begin_refresh(now);
            } else {
                // The next request refreshes the token.
                self.inner.pacing.refresh_again_at = Instant::EPOCH + Duration::MAX;
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
            Activity::Claiming(_) => return Err(AuthorizationFailure::Host(LOCK_STORAGE)),
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

/// # Transitions
impl Authorizer {
    /// Enters the stage that a step returned.
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

    /// Ends an authorization and releases every waiting request. Every authorization ends here.
    fn end(&mut self, verdict: &Verdict) {
        self.activity = Activity::Idle;
        self.deadline = None;
        self.inner.withdraw_effects();
        self.inner.let_go();
        self.release_waiting(verdict);
        if let (Some(operation), Verdict::Fail(failure)) = (self.step_up.take(), verdict)
            && failure.is_temporary()
        {
            self.inner.pacing.uncount_step_up(&operation);
        }
    }

    /// Releases every waiting request.
    ///
    /// A failed step-up leaves the earlier tokens in use. Requests that need no more scopes continue with them, or
    /// refresh them.
    pub(super) fn release_waiting(&mut self, verdict: &Verdict) {
        for Waiting { request, needs_scopes, .. } in core::mem::take(&mut self.inner.waiting) {
            let is_for_it = needs_scopes || self.step_up.is_none();
            let verdict = if is_for_it { verdict.clone() } else { Verdict::Send };
            self.inner.release(request, verdict);
        }
    }

    /// Takes the activity out of the stage that waits for this job. Returns `None` if the job is not the current
    /// one.
    pub(super) fn answered(&mut self, job: JobId) -> Option<Activity> {
        let is_it = job == self.inner.job && self.activity != Activity::Idle;
        is_it.then(|| core::mem::replace(&mut self.activity, Activity::Idle))
    }
}
