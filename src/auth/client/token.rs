//! Token requests ([RFC 6749, section 3.2](https://www.rfc-editor.org/rfc/rfc6749#section-3.2)).

use alloc::boxed::Box;

use super::activity::{Activity, Found, Proof, Purpose, Request};
use super::client_id::{Client, ClientAuthentication, ClientSource};
use super::config::Flow;
use super::effect::FetchPurpose;
use super::failure::{AuthorizationFailure, OAuthErrorCode};
use super::fetching::FORM;
use super::inner::{Inner, Step};
use super::response::FetchedResponse;
use super::saved::Grant;
use crate::auth::Secret;
use crate::auth::messages::token_request::{Authentication, TokenGrant, TokenRequest};
use crate::auth::messages::token_response::{self, Tokens};
use crate::time::Instant;

/// Requests a token, after a signature if the client authenticates by one.
pub(super) fn request_token(
    inner: &mut Inner,
    purpose: Box<Purpose>,
    proof: Proof,
    now: Instant,
) -> Step {
    if purpose.method != ClientAuthentication::PrivateKeyJwt {
        return send_token_request(inner, purpose, proof, None);
    }
    let issuer = purpose.found.server.issuer.clone();
    let client = purpose.client.clone();
    Ok(inner.sign(&client, &issuer, Request::Token { purpose, proof }, now))
}

pub(super) fn send_token_request(
    inner: &mut Inner,
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
    // The user has already consented to the scopes.
    let is_code = matches!(proof, Proof::Code { .. });
    let request = TokenRequest {
        grant,
        resource: found.resource.name.as_deref(),
        scopes: (!is_code).then_some(scopes),
        client: authentication(client, *method, assertion),
    };
    let (body, authorization) = request.write();
    let endpoint = found.server.token_endpoint.clone();
    inner.send_to(FetchPurpose::Token, &endpoint, FORM, body, authorization)?;
    Ok(Activity::RequestingToken { purpose, proof })
}

/// The outcome of a token response.
pub(super) enum Fetched {
    /// The token was kept.
    Kept,
    /// The server has forgotten the client, which must be identified again.
    Again(Box<Found>),
}

pub(super) fn token_fetched(
    inner: &mut Inner,
    purpose: Box<Purpose>,
    proof: &Proof,
    response: FetchedResponse<'_>,
    now: Instant,
) -> Result<Fetched, AuthorizationFailure> {
    if !response.is_success() {
        return token_refused(inner, purpose, proof, response).map(Fetched::Again);
    }
    let tokens = Tokens::read(response.body).map_err(AuthorizationFailure::InvalidToken)?;
    let Purpose { found, client, method, scopes } = *purpose;
    let granted = tokens.scopes.unwrap_or_else(|| scopes.clone());
    // The other grants request a new token instead.
    let keeps_refresh = matches!(proof, Proof::Code { .. });
    if keeps_refresh && !found.attempt.is_step_up {
        inner.pacing.note_login(now);
    }
    inner.keep(Grant {
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
    Ok(Fetched::Kept)
}

/// Handles an error response. If the server has forgotten a client that it registered itself, the client is
/// registered again, once. If it does not know the client that the user named, the next authorization asks again.
fn token_refused(
    inner: &mut Inner,
    purpose: Box<Purpose>,
    proof: &Proof,
    response: FetchedResponse<'_>,
) -> Result<Box<Found>, AuthorizationFailure> {
    let failure = refusal(response, FetchPurpose::Token);
    let is_unknown = is_client_unknown(&failure);
    if is_unknown && inner.is_named_by_user(&purpose.client) {
        inner.drop_client(&purpose.client);
    }
    let has_code = matches!(proof, Proof::Code { .. });
    let has_forgotten = is_unknown && purpose.client.source == ClientSource::Registered && has_code;
    if !has_forgotten || purpose.found.attempt.has_registered_anew {
        return Err(if has_code { failure.of_code() } else { failure });
    }
    inner.drop_client(&purpose.client);
    let mut found = Box::new(purpose.found);
    found.attempt.has_registered_anew = true;
    Ok(found)
}

pub(super) fn exchange(
    inner: &mut Inner,
    purpose: Box<Purpose>,
    subject: &Secret,
    subject_type: &str,
) -> Step {
    let Flow::Enterprise(provider) = &inner.config.flow else { return Ok(Activity::Idle) };
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
    inner.send_to(FetchPurpose::Assertion, &endpoint, FORM, body, authorization)?;
    Ok(Activity::ExchangingAssertion(purpose))
}

pub(super) fn exchanged(
    inner: &mut Inner,
    purpose: Box<Purpose>,
    response: FetchedResponse<'_>,
    now: Instant,
) -> Step {
    if !response.is_success() {
        return Err(refusal(response, FetchPurpose::Assertion));
    }
    let assertion = token_response::identity_assertion(response.body);
    let assertion = assertion.map_err(AuthorizationFailure::InvalidToken)?;
    request_token(inner, purpose, Proof::Assertion(assertion), now)
}

pub(super) fn authentication<'a>(
    client: &'a Client,
    method: ClientAuthentication,
    assertion: Option<&'a Secret>,
) -> Authentication<'a> {
    let secret = client.secret.as_ref();
    Authentication { client_id: &client.client_id, secret, method, assertion }
}

/// Returns the failure that an unsuccessful response describes.
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

/// Whether the failure implies that the authorization server does not know the client.
pub(super) fn is_client_unknown(failure: &AuthorizationFailure) -> bool {
    let AuthorizationFailure::TokenRefused(error) = failure else { return false };
    matches!(error.code, OAuthErrorCode::InvalidClient | OAuthErrorCode::UnauthorizedClient)
}
