//! Results from the application and responses of servers. Each one moves the authorizer from one stage to the next.

use core::time::Duration;

use super::activity::{Activity, Proof, Refresh, Request};
use super::authorizer::Authorizer;
use super::client_id::{Client, ConfiguredClient};
use super::effect::{Effect, FetchError, FetchPurpose, JobId, Verdict};
use super::failure::{AuthorizationFailure, LOCK_STORAGE, NotAllowed};
use super::inner::Step;
use super::login::{LoginMaterial, Redirected};
use super::pacing::REFRESH_AGAIN_AFTER;
use super::response::FetchedResponse;
use super::saved::Saved;
use super::token::Fetched;
use super::{discovery, identifying, login, refreshing, registering, token};
use crate::auth::Secret;
use crate::auth::messages::authorization_response::AuthorizationResponse;
use crate::auth::messages::client_assertion;
use crate::time::Instant;

/// # Responses of servers
impl Authorizer {
    /// Handles the response to [`Effect::Fetch`].
    pub fn fetched(&mut self, job: JobId, response: FetchedResponse<'_>, now: Instant) {
        let Some(activity) = self.answered(job) else { return };
        let purpose = activity.fetch_purpose();
        let outcome = if response.body.len() > self.inner.config.most_bytes {
            self.too_large(activity, now)
        } else if response.is_transient() {
            self.not_answered(activity, purpose, Some(response.status), response.pause(), now)
        } else {
            self.taken(activity, response, now)
        };
        self.proceed(outcome, now);
    }

    /// Handles an [`Effect::Fetch`] that got no response.
    pub fn fetch_failed(&mut self, job: JobId, error: FetchError, now: Instant) {
        let Some(activity) = self.answered(job) else { return };
        let purpose = activity.fetch_purpose();
        let place = purpose.place();
        let outcome = match error {
            FetchError::TooLarge => self.too_large(activity, now),
            FetchError::NotAllowed => {
                let reason = NotAllowed::Policy;
                self.not_allowed(activity, AuthorizationFailure::NotAllowed { place, reason }, now)
            }
            FetchError::NotSent | FetchError::Broken => {
                self.not_answered(activity, purpose, None, None, now)
            }
        };
        self.proceed(outcome, now);
    }

    /// Handles a host name that leads to forbidden addresses.
    fn not_allowed(
        &mut self,
        activity: Activity,
        failure: AuthorizationFailure,
        now: Instant,
    ) -> Step {
        match activity {
            // The stored endpoint may be out of date.
            Activity::Refreshing(refresh) if refresh.found.is_none() => {
                refreshing::refused(&mut self.inner, refresh, failure, now)
            }
            _ => Err(failure),
        }
    }

    fn too_large(&mut self, activity: Activity, now: Instant) -> Step {
        let failure = AuthorizationFailure::TooLarge { place: activity.fetch_purpose().place() };
        match activity {
            Activity::Refreshing(refresh) => {
                refreshing::refused(&mut self.inner, refresh, failure, now)
            }
            _ => Err(failure),
        }
    }

    fn taken(&mut self, activity: Activity, response: FetchedResponse<'_>, now: Instant) -> Step {
        match activity {
            Activity::FindingResource { attempt, places } => {
                discovery::resource_fetched(&mut self.inner, attempt, places, response, now)
            }
            Activity::FindingServer { attempt, resource, places } => {
                discovery::server_fetched(&mut self.inner, attempt, resource, places, response, now)
            }
            Activity::Registering { found, login } => {
                let inner = &mut self.inner;
                let registered = registering::registered(inner, found, login, response);
                registered.and_then(|(found, client, login)| {
                    login::open_login(inner, found, client, login)
                })
            }
            Activity::ExchangingAssertion(purpose) => {
                token::exchanged(&mut self.inner, purpose, response, now)
            }
            Activity::RequestingToken { purpose, proof } => {
                match token::token_fetched(&mut self.inner, purpose, &proof, response, now)? {
                    Fetched::Kept => {
                        if self.step_up.is_none() {
                            // The new token need not have the scopes of earlier step-ups.
                            self.inner.pacing.step_ups.clear();
                        }
                        Ok(Activity::Idle)
                    }
                    Fetched::Again(found) => identifying::identify(&mut self.inner, found, now),
                }
            }
            Activity::Refreshing(refresh) => {
                refreshing::refreshed(&mut self.inner, refresh, response, now)
            }
            // The application reported a result that this stage does not wait for.
            other => Ok(other),
        }
    }

    /// Handles a server that fails temporarily or is unreachable. Tokens and registrations are kept.
    pub(super) fn not_answered(
        &mut self,
        activity: Activity,
        purpose: FetchPurpose,
        status: Option<u16>,
        retry_after: Option<Duration>,
        now: Instant,
    ) -> Step {
        let is_ahead =
            matches!(&activity, Activity::Refreshing(refresh) if refresh.found.is_none());
        let place = purpose.place();
        let failure = AuthorizationFailure::Transient { place, status, retry_after };
        let has_code =
            matches!(&activity, Activity::RequestingToken { proof: Proof::Code { .. }, .. });
        let failure = if has_code { failure.of_code() } else { failure };
        if let Some(pause) = retry_after {
            self.inner.pacing.rest = Some((now + pause, failure.clone()));
        }
        if is_ahead {
            let pause = retry_after.unwrap_or_default().max(REFRESH_AGAIN_AFTER);
            self.inner.pacing.refresh_again_at = now + pause;
            if self.inner.token(now).is_some() {
                return Ok(Activity::Idle);
            }
            // A server that is gone for good would fail every request, and the MCP server, which may use another one
            // by now, would not be asked.
            if status.is_none() {
                return refreshing::find_endpoint(&mut self.inner, now);
            }
        }
        Err(failure)
    }
}

/// # Results from the application and its user
impl Authorizer {
    /// Handles the client id named by the user ([`Effect::NeedClient`]).
    pub fn client_named(&mut self, job: JobId, client: ConfiguredClient, now: Instant) {
        let outcome = match self.answered(job) {
            None => return,
            Some(Activity::NamingClient(found)) => {
                let client = Client::of(&client, &found.server.issuer);
                self.inner.remember(client.clone());
                identifying::identified(&mut self.inner, found, client, now)
            }
            Some(other) => Ok(other),
        };
        self.proceed(outcome, now);
    }

    /// Handles the material for a login ([`Effect::PrepareLogin`]).
    pub fn login_prepared(&mut self, job: JobId, material: &LoginMaterial, now: Instant) {
        let outcome = match self.answered(job) {
            None => return,
            Some(Activity::PreparingLogin { found, client }) => {
                login::prepared(&mut self.inner, found, client, material)
            }
            Some(other) => Ok(other),
        };
        self.proceed(outcome, now);
    }

    /// Handles the redirect of the browser, given its URL or only its query. A redirect of another login, or a
    /// repeated one, changes nothing.
    pub fn redirected(&mut self, url: &str, now: Instant) -> Redirected {
        let Activity::AwaitingUser { login, .. } = &self.activity else {
            return Redirected::Unknown;
        };
        let response = AuthorizationResponse::read(url);
        // `Secret` compares in constant time.
        if response.state.as_ref() != Some(&login.state) {
            return Redirected::Unknown;
        }
        let activity = core::mem::replace(&mut self.activity, Activity::Idle);
        let outcome = login::agreed(&mut self.inner, activity, response, now);
        let redirected = if outcome.is_ok() { Redirected::Accepted } else { Redirected::Failed };
        self.proceed(outcome, now);
        redirected
    }

    /// Ends a login because the user, or the application on the user's behalf, gave up. The login ends at each of its
    /// stages, also before the user is asked.
    ///
    /// A refresh continues, and so does a request for tokens: the authorization server does not send them again. A
    /// registration continues as well, so that its client id is kept. Its login begins only if a later request waits
    /// for it.
    pub fn abandoned(&mut self, now: Instant) {
        if matches!(self.activity, Activity::Registering { .. }) {
            return self.release_waiting(&Verdict::Fail(AuthorizationFailure::Abandoned));
        }
        let continues = self.activity.is_refresh()
            || matches!(self.activity, Activity::Idle | Activity::RequestingToken { .. });
        if !continues {
            let activity = core::mem::replace(&mut self.activity, Activity::Idle);
            let failure = login::not_finished(&mut self.inner, &activity);
            self.proceed(Err(failure), now);
        }
    }

    /// Handles the assertion of the identity provider for its user ([`Effect::NeedAssertion`]). `subject_type` is
    /// its token type, such as `urn:ietf:params:oauth:token-type:id_token`. The assertion is not kept.
    pub fn assertion_given(
        &mut self,
        job: JobId,
        subject: &Secret,
        subject_type: &str,
        now: Instant,
    ) {
        let outcome = match self.answered(job) {
            None => return,
            Some(Activity::AwaitingAssertion(purpose)) => {
                token::exchange(&mut self.inner, purpose, subject, subject_type)
            }
            Some(other) => Ok(other),
        };
        self.proceed(outcome, now);
    }

    /// Handles the signature ([`Effect::Sign`]).
    pub fn signed(&mut self, job: JobId, signature: &[u8], now: Instant) {
        let outcome = match self.answered(job) {
            None => return,
            Some(Activity::Signing { request, input }) => {
                let assertion = client_assertion::assertion(&input, signature);
                match request {
                    Request::Token { purpose, proof } => {
                        token::send_token_request(&mut self.inner, purpose, proof, Some(&assertion))
                    }
                    Request::Refresh(refresh) => {
                        refreshing::send_refresh(&mut self.inner, refresh, Some(&assertion))
                    }
                }
            }
            Some(other) => Ok(other),
        };
        self.proceed(outcome, now);
    }

    /// Handles the lock on the storage, with the stored state ([`Effect::Claim`]). An application with an unshared
    /// storage passes `None`.
    pub fn claimed(&mut self, job: JobId, stored: Option<Saved>, now: Instant) {
        let Some(activity) = self.answered(job) else {
            // The lock arrived after the end of the authorization. A newer claim may wait for it.
            return self.inner.effects.push_front(Effect::Unclaim);
        };
        let outcome = match activity {
            Activity::Claiming(refresh) => {
                self.inner.holds_storage = true;
                refreshing::refresh(&mut self.inner, refresh, stored, now)
            }
            other => Ok(other),
        };
        self.proceed(outcome, now);
    }

    /// Handles the failure of the application to prepare a login, sign, provide an assertion, name a client, or lock
    /// the storage.
    pub fn job_failed(&mut self, job: JobId, now: Instant) {
        let failure = match self.answered(job) {
            None => return,
            Some(Activity::PreparingLogin { .. }) => "make ready for a login",
            Some(Activity::Signing { .. }) => "sign",
            Some(Activity::AwaitingAssertion(_)) => "give an assertion",
            Some(Activity::Claiming(_)) => LOCK_STORAGE,
            Some(Activity::NamingClient(_)) => "name a client",
            Some(other) => return self.proceed(Ok(other), now),
        };
        self.proceed(Err(AuthorizationFailure::Host(failure)), now);
    }

    /// Begins a refresh without a challenge. The refresh fails at once during a pause.
    pub(super) fn begin_refresh(&mut self, now: Instant) {
        let outcome = match self.inner.pacing.pause(now) {
            Some(failure) => Err(failure.clone()),
            None => Ok(self.inner.claim(Refresh { found: None })),
        };
        // Reset once the refresh succeeds.
        self.inner.pacing.refresh_again_at = now + REFRESH_AGAIN_AFTER;
        self.proceed(outcome, now);
    }
}
