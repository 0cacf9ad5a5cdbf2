//! Requests to authorization servers, and their responses.

use alloc::string::String;
use core::time::Duration;

use super::activity::Activity;
use super::authorizer::Authorizer;
use super::effect::{Effect, Fetch, FetchError, FetchPurpose, JobId};
use super::failure::{AuthorizationFailure, NotAllowed};
use crate::auth::Secret;
use crate::auth::web_url::WebUrl;
use crate::time::Instant;
use crate::version::Revision;

/// A response of an authorization server.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct FetchedResponse<'r> {
    /// The status of HTTP.
    pub status: u16,
    /// The value of `Retry-After`, if there is one.
    pub retry_after: Option<&'r str>,
    /// The body.
    pub body: &'r [u8],
}

impl<'r> FetchedResponse<'r> {
    /// With this status and this body.
    pub const fn new(status: u16, body: &'r [u8]) -> Self {
        Self { status, retry_after: None, body }
    }

    /// With the value of `Retry-After`, if there is one.
    #[must_use]
    pub const fn retry_after(mut self, value: Option<&'r str>) -> Self {
        self.retry_after = value;
        self
    }

    pub(super) const fn is_success(&self) -> bool {
        matches!(self.status, 200..=299)
    }

    /// Whether it may be different later.
    const fn is_transient(&self) -> bool {
        matches!(self.status, 408 | 425 | 429 | 500..=599)
    }

    /// How long the server asks to be left alone, if it says so in seconds. A date cannot be told without a calendar.
    fn pause(&self) -> Option<Duration> {
        let seconds: u64 = self.retry_after?.trim().parse().ok()?;
        Some(Duration::from_secs(seconds).min(LONGEST_PAUSE))
    }
}

/// Without the body.
impl core::fmt::Debug for FetchedResponse<'_> {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("FetchedResponse")
            .field("status", &self.status)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// A server cannot ask to be left alone for longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// How long after a refresh ahead of time that went wrong the next is tried.
pub(super) const REFRESH_AGAIN_AFTER: Duration = Duration::from_secs(30);

/// # Responses of servers
impl Authorizer {
    /// A response has come to [`Effect::Fetch`].
    pub fn fetched(&mut self, job: JobId, response: FetchedResponse<'_>, now: Instant) {
        let Some(activity) = self.answered(job) else { return };
        let purpose = activity.fetch_purpose();
        let outcome = if response.body.len() > self.config.most_bytes {
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

    fn taken(
        &mut self,
        activity: Activity,
        response: FetchedResponse<'_>,
        now: Instant,
    ) -> Result<Activity, AuthorizationFailure> {
        match activity {
            Activity::FindingResource { attempt, places } => {
                self.resource_fetched(attempt, places, response)
            }
            Activity::FindingServer { attempt, resource, places } => {
                self.server_fetched(attempt, resource, places, response, now)
            }
            Activity::Registering { found, login } => self.registered(found, login, response),
            Activity::ExchangingAssertion(purpose) => self.exchanged(purpose, response, now),
            Activity::RequestingToken { purpose, proof } => {
                self.token_fetched(purpose, &proof, response, now)
            }
            Activity::Refreshing(refresh) => self.refreshed(refresh, response, now),
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
    ) -> Result<Activity, AuthorizationFailure> {
        let is_ahead =
            matches!(&activity, Activity::Refreshing(refresh) if refresh.found.is_none());
        if is_ahead {
            self.refresh_again_at = now + retry_after.unwrap_or(REFRESH_AGAIN_AFTER);
            if self.token(now).is_some() {
                return Ok(Activity::Idle);
            }
        }
        let place = purpose.place();
        let failure = AuthorizationFailure::Transient { place, status, retry_after };
        if let Some(pause) = retry_after {
            self.rest = Some((now + pause, failure.clone()));
        }
        Err(failure)
    }

    /// Asks for a document at a place that a server has named, or that follows from what it has named.
    pub(super) fn ask_for(
        &mut self,
        purpose: FetchPurpose,
        url: &WebUrl,
    ) -> Result<(), AuthorizationFailure> {
        let spoken = self.revision.unwrap_or(Revision::LATEST_STATELESS).name();
        self.fetch(purpose, url, |fetch| fetch.protocol_version = Some(spoken))
    }

    /// Sends something to an endpoint.
    pub(super) fn send_to(
        &mut self,
        purpose: FetchPurpose,
        url: &WebUrl,
        content_type: &'static str,
        body: Secret,
        authorization: Option<Secret>,
    ) -> Result<(), AuthorizationFailure> {
        self.fetch(purpose, url, |fetch| {
            fetch.method = "POST";
            fetch.content_type = Some(content_type);
            fetch.body = body;
            fetch.authorization = authorization;
        })
    }

    fn fetch(
        &mut self,
        purpose: FetchPurpose,
        url: &WebUrl,
        complete: impl FnOnce(&mut Fetch),
    ) -> Result<(), AuthorizationFailure> {
        self.check(purpose.place(), url)?;
        let mut fetch = Fetch {
            job: self.next_job(),
            purpose,
            method: "GET",
            url: String::from(url.as_str()),
            content_type: None,
            authorization: None,
            protocol_version: None,
            body: Secret::default(),
            most_bytes: self.config.most_bytes,
            within: self.config.fetch_timeout,
        };
        complete(&mut fetch);
        self.effects.push_back(Effect::Fetch(fetch));
        Ok(())
    }

    /// Whether a URL may be fetched.
    pub(super) fn check(
        &self,
        place: &'static str,
        url: &WebUrl,
    ) -> Result<(), AuthorizationFailure> {
        // The host has named this one itself.
        let is_configured = match &self.config.flow {
            super::config::Flow::Enterprise(provider) => provider.token_endpoint == *url,
            _ => false,
        };
        let is_allowed = is_configured || self.config.policy.allows(url, &self.config.server);
        if is_allowed || mutant!("every_url_is_fetched") {
            return Ok(());
        }
        Err(AuthorizationFailure::NotAllowed { place, reason: NotAllowed::Policy })
    }
}

pub(super) const FORM: &str = "application/x-www-form-urlencoded";
pub(super) const JSON: &str = "application/json";
