//! Requesting a token
//! ([RFC 6749, section 3.2](https://www.rfc-editor.org/rfc/rfc6749#section-3.2)).

use alloc::boxed::Box;

use super::activity::{Activity, Proof, Purpose, Request};
use super::authorizer::Authorizer;
use super::client_id::{Client, ClientAuthentication, ClientSource, SigningKey};
use super::config::Flow;
use super::effect::{Effect, FetchPurpose, JobId, Signing};
use super::failure::{AuthorizationFailure, OAuthErrorCode};
use super::fetching::{FORM, FetchedResponse};
use super::saved::Grant;
use crate::auth::Secret;
use crate::auth::messages::client_assertion;
use crate::auth::messages::token_request::{Authentication, TokenGrant, TokenRequest};
use crate::auth::messages::token_response::{self, Tokens};
use crate::time::Instant;

type Step = Result<Activity, AuthorizationFailure>;

/// # The request
impl Authorizer {
    /// Requests a token, after a signature if the client authenticates by one.
    pub(super) fn request_token(
        &mut self,
        purpose: Box<Purpose>,
        proof: Proof,
        now: Instant,
    ) -> Step {
        if purpose.method != ClientAuthentication::PrivateKeyJwt {
            return self.send_token_request(purpose, proof, None);
        }
        let issuer = purpose.found.server.issuer.clone();
        let client = purpose.client.clone();
        Ok(self.sign(&client, &issuer, Request::Token { purpose, proof }, now))
    }

    fn send_token_request(
        &mut self,
        purpose: Box<Purpose>,
        proof: Proof,
        assertion: Option<&Secret>,
    ) -> Step {
        let Purpose { found, client, method, scopes } = &*purpose;
        let grant = match &proof {
            Proof::Code { code, redirect_uri, verifier } => {
                TokenGrant::Code { code, redirect_uri, verifier }
            }
            Proof::Client => TokenGrant::ClientCredentials,
            Proof::Assertion(assertion) => TokenGrant::Assertion { assertion },
        };
        // The user has agreed to the scopes already.
        let is_code = matches!(proof, Proof::Code { .. });
        let request = TokenRequest {
            grant,
            resource: found.resource.name.as_deref(),
            scopes: (!is_code).then_some(scopes),
            client: authentication(client, *method, assertion),
        };
        let (body, authorization) = request.write();
        let endpoint = found.server.token_endpoint.clone();
        self.send_to(FetchPurpose::Token, &endpoint, FORM, body, authorization)?;
        Ok(Activity::RequestingToken { purpose, proof })
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

    /// The host has signed ([`Effect::Sign`]).
    pub fn signed(&mut self, job: JobId, signature: &[u8], now: Instant) {
        let outcome = match self.answered(job) {
            None => return,
            Some(Activity::Signing { request, input }) => {
                let assertion = client_assertion::assertion(&input, signature);
                match request {
                    Request::Token { purpose, proof } => {
                        self.send_token_request(purpose, proof, Some(&assertion))
                    }
                    Request::Refresh(refresh) => self.send_refresh(refresh, Some(&assertion)),
                }
            }
            Some(other) => Ok(other),
        };
        self.proceed(outcome, now);
    }
}

pub(super) fn authentication<'a>(
    client: &'a Client,
    method: ClientAuthentication,
    assertion: Option<&'a Secret>,
) -> Authentication<'a> {
    let secret = client.secret.as_ref();
    Authentication { client_id: &client.client_id, secret, method, assertion }
}

/// # The answer
impl Authorizer {
    pub(super) fn token_fetched(
        &mut self,
        purpose: Box<Purpose>,
        proof: &Proof,
        response: FetchedResponse<'_>,
        now: Instant,
    ) -> Step {
        if !response.is_success() {
            return self.token_refused(purpose, proof, response, now);
        }
        let tokens = Tokens::read(response.body).map_err(AuthorizationFailure::InvalidToken)?;
        let Purpose { found, client, method, scopes } = *purpose;
        let granted = tokens.scopes.unwrap_or_else(|| scopes.clone());
        // A client that acts for itself, or for an organisation, asks again instead.
        let keeps_refresh = matches!(proof, Proof::Code { .. });
        self.keep(Grant {
            issuer: found.server.issuer,
            resource: found.resource.name,
            token_endpoint: found.server.token_endpoint.as_str().into(),
            client,
            method,
            access_token: tokens.access_token,
            refresh_token: tokens.refresh_token.filter(|_| keeps_refresh),
            issued_at: now,
            expires_at: tokens.lifetime.map(|lifetime| now + lifetime),
            requested: scopes,
            granted,
        });
        Ok(Activity::Idle)
    }

    /// A server that has forgotten a client which it registered itself may register it again, once.
    fn token_refused(
        &mut self,
        purpose: Box<Purpose>,
        proof: &Proof,
        response: FetchedResponse<'_>,
        now: Instant,
    ) -> Step {
        let failure = refusal(response, FetchPurpose::Token);
        let has_forgotten = is_client_unknown(&failure)
            && purpose.client.source == ClientSource::Registered
            && matches!(proof, Proof::Code { .. });
        if !has_forgotten || purpose.found.attempt.has_registered_anew {
            return Err(failure);
        }
        self.drop_client(&purpose.client);
        let mut found = Box::new(purpose.found);
        found.attempt.has_registered_anew = true;
        self.identify(found, now)
    }

    pub(super) fn drop_client(&mut self, client: &Client) {
        self.saved.clients.retain(|known| known != client);
        self.save();
    }
}

/// What a response says that is not a success.
pub(super) fn refusal(
    response: FetchedResponse<'_>,
    purpose: FetchPurpose,
) -> AuthorizationFailure {
    let (place, status) = (purpose.place(), response.status);
    match token_response::error(response.body) {
        Some(error) if matches!(status, 400..=499) => AuthorizationFailure::TokenRefused(error),
        _ => AuthorizationFailure::UnexpectedStatus { place, status },
    }
}

/// Whether a refusal means that the authorization server does not know the client.
pub(super) fn is_client_unknown(failure: &AuthorizationFailure) -> bool {
    let AuthorizationFailure::TokenRefused(error) = failure else { return false };
    matches!(error.code, OAuthErrorCode::InvalidClient | OAuthErrorCode::UnauthorizedClient)
}

/// # Enterprise-managed authorization
impl Authorizer {
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
                self.exchange(purpose, subject, subject_type)
            }
            Some(other) => Ok(other),
        };
        self.proceed(outcome, now);
    }

    fn exchange(&mut self, purpose: Box<Purpose>, subject: &Secret, subject_type: &str) -> Step {
        let Flow::Enterprise(provider) = &self.config.flow else { return Ok(Activity::Idle) };
        let method = match provider.secret {
            Some(_) => ClientAuthentication::SecretPost,
            None => ClientAuthentication::None,
        };
        let found = &purpose.found;
        let request = TokenRequest {
            grant: TokenGrant::Exchange { subject, subject_type, audience: &found.server.issuer },
            resource: found.resource.name.as_deref(),
            scopes: Some(&purpose.scopes),
            client: Authentication {
                client_id: &provider.client_id,
                secret: provider.secret.as_ref(),
                method,
                assertion: None,
            },
        };
        let (body, authorization) = request.write();
        let endpoint = provider.token_endpoint.clone();
        self.send_to(FetchPurpose::Assertion, &endpoint, FORM, body, authorization)?;
        Ok(Activity::ExchangingAssertion(purpose))
    }

    pub(super) fn exchanged(
        &mut self,
        purpose: Box<Purpose>,
        response: FetchedResponse<'_>,
        now: Instant,
    ) -> Step {
        if !response.is_success() {
            return Err(refusal(response, FetchPurpose::Assertion));
        }
        let assertion = token_response::identity_assertion(response.body);
        let assertion = assertion.map_err(AuthorizationFailure::InvalidToken)?;
        self.request_token(purpose, Proof::Assertion(assertion), now)
    }
}
