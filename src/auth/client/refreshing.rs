//! Refreshing a token
//! ([RFC 6749, section 6](https://www.rfc-editor.org/rfc/rfc6749#section-6)).

use super::activity::{Activity, Attempt, Refresh, Request};
use super::authorizer::Authorizer;
use super::client_id::{ClientAuthentication, ClientSource};
use super::effect::{Effect, FetchPurpose, JobId};
use super::failure::{AuthorizationFailure, OAuthErrorCode};
use super::fetching::{FORM, FetchedResponse, REFRESH_AGAIN_AFTER};
use super::saved::Saved;
use super::token::{authentication, is_client_unknown, refusal};
use crate::auth::Secret;
use crate::auth::messages::token_request::{TokenGrant, TokenRequest};
use crate::auth::messages::token_response::Tokens;
use crate::auth::web_url::WebUrl;
use crate::time::Instant;

type Step = Result<Activity, AuthorizationFailure>;

/// # Taking hold of the storage
impl Authorizer {
    /// Begins a refresh without a challenge. It ends at once while a server wants to be left alone.
    pub(super) fn begin_refresh(&mut self, now: Instant) {
        let outcome = match &self.rest {
            Some((until, failure)) if now < *until => Err(failure.clone()),
            _ => Ok(self.claim(Refresh { found: None })),
        };
        // Until it has gone well.
        self.refresh_again_at = now + REFRESH_AGAIN_AFTER;
        self.proceed(outcome, now);
    }

    /// Only one process may use a refresh token: those that rotate are good for once.
    pub(super) fn claim(&mut self, refresh: Refresh) -> Activity {
        let job = self.next_job();
        self.effects.push_back(Effect::Claim { job });
        Activity::Claiming(refresh)
    }

    /// The host has taken hold of the storage, in which this is stored ([`Effect::Claim`]). A host with a storage of its
    /// own gives `None`.
    pub fn claimed(&mut self, job: JobId, stored: Option<Saved>, now: Instant) {
        let Some(activity) = self.answered(job) else {
            // It took so long that nobody waits for it.
            return self.effects.push_back(Effect::Unclaim);
        };
        let outcome = match activity {
            Activity::Claiming(refresh) => {
                self.holds_storage = true;
                self.refresh(refresh, stored, now)
            }
            other => Ok(other),
        };
        self.proceed(outcome, now);
    }

    /// What another process has stored meanwhile is taken instead.
    fn refresh(&mut self, refresh: Refresh, stored: Option<Saved>, now: Instant) -> Step {
        let stored = stored.filter(|_| !mutant!("what_others_have_stored_is_overlooked"));
        let has_newer = stored.is_some_and(|stored| self.adopt(stored));
        let is_due = self.saved.grant.as_ref().is_some_and(|grant| {
            let before = self.config.refresh_before;
            grant.refresh_at(before).is_some_and(|due| due <= now)
        });
        if has_newer && self.token(now).is_some() && !is_due {
            return Ok(Activity::Idle);
        }
        let grant = self.saved.grant.as_ref().filter(|grant| grant.refresh_token.is_some());
        let Some(grant) = grant else { return self.begin_anew(refresh, now) };
        if grant.method == ClientAuthentication::PrivateKeyJwt {
            let (client, issuer) = (grant.client.clone(), grant.issuer.clone());
            return Ok(self.sign(&client, &issuer, Request::Refresh(refresh), now));
        }
        self.send_refresh(refresh, None)
    }
}

/// # The request and its answer
impl Authorizer {
    pub(super) fn send_refresh(&mut self, refresh: Refresh, assertion: Option<&Secret>) -> Step {
        let Some(grant) = &self.saved.grant else { return Ok(Activity::Idle) };
        let Some(token) = &grant.refresh_token else { return Ok(Activity::Idle) };
        let request = TokenRequest {
            grant: TokenGrant::Refresh { token },
            resource: grant.resource.as_deref(),
            scopes: None,
            client: authentication(&grant.client, grant.method, assertion),
        };
        let (body, authorization) = request.write();
        let unusable = AuthorizationFailure::UnusableMetadata {
            issuer: grant.issuer.clone(),
            member: "token_endpoint",
        };
        let endpoint = WebUrl::parse(&grant.token_endpoint).map_err(|_| unusable)?;
        self.send_to(FetchPurpose::Refresh, &endpoint, FORM, body, authorization)?;
        Ok(Activity::Refreshing(refresh))
    }

    pub(super) fn refreshed(
        &mut self,
        refresh: Refresh,
        response: FetchedResponse<'_>,
        now: Instant,
    ) -> Step {
        if !response.is_success() {
            return self.refresh_refused(refresh, response, now);
        }
        let tokens = Tokens::read(response.body).map_err(AuthorizationFailure::InvalidToken)?;
        let Some(mut grant) = self.saved.grant.clone() else { return Ok(Activity::Idle) };
        grant.access_token = tokens.access_token;
        // One that is not replaced stays good.
        grant.refresh_token = tokens.refresh_token.or(grant.refresh_token);
        grant.granted = tokens.scopes.unwrap_or(grant.granted);
        grant.issued_at = now;
        grant.expires_at = tokens.lifetime.map(|lifetime| now + lifetime);
        self.keep(grant);
        Ok(Activity::Idle)
    }

    fn refresh_refused(
        &mut self,
        refresh: Refresh,
        response: FetchedResponse<'_>,
        now: Instant,
    ) -> Step {
        let failure = refusal(response, FetchPurpose::Refresh);
        let is_over = matches!(
            &failure,
            AuthorizationFailure::TokenRefused(error) if error.code == OAuthErrorCode::InvalidGrant
        );
        let client = self.saved.grant.as_ref().map(|grant| grant.client.clone());
        let is_forgotten = is_client_unknown(&failure)
            && client.as_ref().is_some_and(|client| client.source == ClientSource::Registered);
        if !is_over && !is_forgotten {
            return Err(failure);
        }
        if let Some(client) = client.filter(|_| is_forgotten) {
            self.drop_client(&client);
        }
        self.begin_anew(refresh, now)
    }

    /// The refresh token is of no use. The access token is, up to its end.
    fn begin_anew(&mut self, mut refresh: Refresh, now: Instant) -> Step {
        let has_token = self.token(now).is_some();
        let earlier = self.saved.grant.as_ref().map(|grant| grant.requested.clone());
        match &mut self.saved.grant {
            Some(grant) if has_token => grant.refresh_token = None,
            grant => *grant = None,
        }
        self.save();
        // A user may take long.
        self.let_go();
        match refresh.found.take() {
            Some(found) => self.identify(found, now),
            None if has_token || self.waiting.is_empty() => Ok(Activity::Idle),
            None => {
                let attempt =
                    Attempt { earlier: earlier.unwrap_or_default(), ..Attempt::default() };
                self.find_resource(attempt, None)
            }
        }
    }
}
