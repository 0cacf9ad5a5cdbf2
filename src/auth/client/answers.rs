//! The answers of the host and of the servers. Each takes the authorizer from one stage to the next.

use core::time::Duration;

use super::activity::{Activity, Refresh, Request};
use super::authorizer::Authorizer;
use super::client_id::{Client, ConfiguredClient};
use super::effect::{Effect, FetchError, FetchPurpose, JobId};
use super::failure::{AuthorizationFailure, NotAllowed};
use super::inner::Step;
use super::login::{LoginMaterial, Redirected};
use super::response::FetchedResponse;
use super::saved::Saved;
use super::token::Fetched;
use super::{discovery, identifying, login, refreshing, registering, token};
use crate::auth::Secret;
use crate::auth::messages::authorization_response::AuthorizationResponse;
use crate::auth::messages::client_assertion;
use crate::time::Instant;

/// How long after a refresh ahead of time that went wrong the next is tried.
pub(super) const REFRESH_AGAIN_AFTER: Duration = Duration::from_secs(30);

/// # Responses of servers
impl Authorizer {
    /// A response has come to [`Effect::Fetch`].
    pub fn fetched(&mut self, job: JobId, response: FetchedResponse<'_>, now: Instant) {
        let Some(activity) = self.answered(job) else { return };
        let purpose = activity.fetch_purpose();
        let outcome = if response.body.len() > self.inner.config.most_bytes {
            Err(AuthorizationFailure::TooLarge { place: purpose.place() })
        } else if response.is_transient() {
            self.not_answered(activity, purpose, Some(response.status), response.pause(), now)
        } else {
            self.taken(activity, response, now)
        };
        self.proceed(outcome, now);
    }

    /// There is no response to [`Effect::Fetch`].
    pub fn fetch_failed(&mut self, job: JobId, error: FetchError, now: Instant) {
        let Some(activity) = self.answered(job) else { return };
        let purpose = activity.fetch_purpose();
        let place = purpose.place();
        let outcome = match error {
            FetchError::TooLarge => Err(AuthorizationFailure::TooLarge { place }),
            FetchError::NotAllowed => {
                Err(AuthorizationFailure::NotAllowed { place, reason: NotAllowed::Policy })
            }
            FetchError::NotSent | FetchError::Broken => {
                self.not_answered(activity, purpose, None, None, now)
            }
        };
        self.proceed(outcome, now);
    }

    fn taken(&mut self, activity: Activity, response: FetchedResponse<'_>, now: Instant) -> Step {
        match activity {
            Activity::FindingResource { attempt, places } => {
                discovery::resource_fetched(&mut self.inner, attempt, places, response)
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
                    Fetched::Kept => Ok(Activity::Idle),
                    Fetched::Again(found) => identifying::identify(&mut self.inner, found, now),
                }
            }
            Activity::Refreshing(refresh) => {
                refreshing::refreshed(&mut self.inner, refresh, response, now)
            }
            // The host has answered something else than it was asked.
            other => Ok(other),
        }
    }

    /// A server is out of order or out of reach. Nothing is forgotten.
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
        if is_ahead {
            self.inner.refresh_again_at = now + retry_after.unwrap_or(REFRESH_AGAIN_AFTER);
            if self.inner.token(now).is_some() {
                return Ok(Activity::Idle);
            }
        }
        let place = purpose.place();
        let failure = AuthorizationFailure::Transient { place, status, retry_after };
        if let Some(pause) = retry_after {
            self.inner.rest = Some((now + pause, failure.clone()));
        }
        Err(failure)
    }
}

/// # Answers of the host, and of its user
impl Authorizer {
    /// The user has named a client id ([`Effect::NeedClient`]).
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

    /// The host is ready for a login ([`Effect::PrepareLogin`]).
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

    /// The browser has come back with this URL, or with this query. What belongs to another login, or comes a second time,
    /// changes nothing.
    pub fn redirected(&mut self, url: &str, now: Instant) -> Redirected {
        let Activity::AwaitingUser { login, .. } = &self.activity else {
            return Redirected::Unknown;
        };
        let response = AuthorizationResponse::read(url);
        // In constant time: secrets are compared so.
        if response.state.as_ref() != Some(&login.state) {
            return Redirected::Unknown;
        }
        let activity = core::mem::replace(&mut self.activity, Activity::Idle);
        let outcome = login::agreed(&mut self.inner, activity, response, now);
        let redirected = if outcome.is_ok() { Redirected::Accepted } else { Redirected::Failed };
        self.proceed(outcome, now);
        redirected
    }

    /// The user has given up, or the host for them: also while it asks for a client id.
    pub fn abandoned(&mut self, now: Instant) {
        let is_asking =
            matches!(self.activity, Activity::AwaitingUser { .. } | Activity::NamingClient(_));
        if is_asking {
            let activity = core::mem::replace(&mut self.activity, Activity::Idle);
            let failure = login::not_finished(&mut self.inner, &activity);
            self.proceed(Err(failure), now);
        }
    }

    /// The host has an assertion of the identity provider for its user ([`Effect::NeedAssertion`]): `subject_type` says
    /// which kind, `urn:ietf:params:oauth:token-type:id_token` for example. The assertion is not kept.
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

    /// The host has signed ([`Effect::Sign`]).
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

    /// The host has taken hold of the storage, in which this is stored ([`Effect::Claim`]). A host with a storage of its
    /// own gives `None`.
    pub fn claimed(&mut self, job: JobId, stored: Option<Saved>, now: Instant) {
        let Some(activity) = self.answered(job) else {
            // It took so long that the authorization has ended.
            return self.inner.effects.push_back(Effect::Unclaim);
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

    /// The host cannot do what it was asked for: prepare a login, sign, give an assertion, claim the storage.
    pub fn job_failed(&mut self, job: JobId, now: Instant) {
        let failure = match self.answered(job) {
            None => return,
            Some(Activity::PreparingLogin { .. }) => "make ready for a login",
            Some(Activity::Signing { .. }) => "sign",
            Some(Activity::AwaitingAssertion(_)) => "give an assertion",
            Some(Activity::Claiming(_)) => "lock the storage",
            Some(Activity::NamingClient(_)) => "name a client",
            Some(other) => return self.proceed(Ok(other), now),
        };
        self.proceed(Err(AuthorizationFailure::Host(failure)), now);
    }

    /// Begins a refresh without a challenge. It ends at once while a server wants to be left alone.
    pub(super) fn begin_refresh(&mut self, now: Instant) {
        let outcome = match &self.inner.rest {
            Some((until, failure)) if now < *until => Err(failure.clone()),
            _ => Ok(self.inner.claim(Refresh { found: None })),
        };
        // Until it has gone well.
        self.inner.refresh_again_at = now + REFRESH_AGAIN_AFTER;
        self.proceed(outcome, now);
    }
}
