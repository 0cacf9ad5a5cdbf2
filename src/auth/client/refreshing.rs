//! Refreshing a token ([RFC 6749, section 6](https://www.rfc-editor.org/rfc/rfc6749#section-6)).

use super::activity::{Activity, Attempt, Found, Refresh, Request};
use super::client_id::{Client, ClientAuthentication, ClientSource};
use super::discovery::{self, find_resource};
use super::effect::FetchPurpose;
use super::failure::{AuthorizationFailure, OAuthErrorCode};
use super::fetching::FORM;
use super::identifying::{identify, renewed};
use super::inner::{Inner, Step};
use super::pacing::REFRESH_AGAIN_AFTER;
use super::response::FetchedResponse;
use super::saved::{Grant, Saved};
use super::token::{authentication, is_client_unknown, refusal};
use crate::auth::messages::token_request::{TokenGrant, TokenRequest};
use crate::auth::messages::token_response::Tokens;
use crate::auth::web_url::WebUrl;
use crate::auth::{Scopes, Secret};
use crate::time::Instant;

/// Refreshes the token, unless another process has meanwhile stored a newer one that is not due for refresh.
pub(super) fn refresh(
    inner: &mut Inner,
    mut refresh: Refresh,
    stored: Option<Saved>,
    now: Instant,
) -> Step {
    let has_newer = stored.is_some_and(|stored| inner.adopt(stored));
    let is_due = inner.saved.grant.as_ref().is_some_and(|grant| {
        let before = inner.config.refresh_before;
        grant.refresh_at(before).is_some_and(|due| due <= now)
    });
    if has_newer && inner.token(now).is_some() && !is_due {
        return Ok(Activity::Idle);
    }
    let Some(grant) = refreshable(inner, &refresh) else { return begin_anew(inner, refresh, now) };
    // The stored tokens may be others than those that the discovery was for.
    if let Some(found) = refresh.found.take_if(|found| !is_useful(&grant, found)) {
        inner.let_go();
        return discovery::found(inner, *found, now);
    }
    // The policy may be stricter than at the login, and the endpoint may have moved.
    if refresh.found.is_none()
        && let Err(failure) = endpoint(inner, &grant)
    {
        return refused(inner, refresh, failure, now);
    }
    if grant.method == ClientAuthentication::PrivateKeyJwt {
        return Ok(inner.sign(&grant.client, &grant.issuer, Request::Refresh(refresh), now));
    }
    send_refresh(inner, refresh, None)
}

/// Whether refreshed tokens can serve the challenge that caused the discovery. Tokens of another issuer than the
/// discovered one are not judged: they come from a later discovery.
fn is_useful(grant: &Grant, found: &Found) -> bool {
    found.server.issuer != grant.issuer || found.is_served_by_refresh(grant)
}

/// Returns the tokens to refresh, with the current credentials of their client, and with the token endpoint of the
/// discovered metadata. `None` if there is no refresh token.
///
/// The stored credentials and the stored endpoint are those of the login. The client may have another secret since
/// then, and the endpoint may have moved.
fn refreshable(inner: &Inner, refresh: &Refresh) -> Option<Grant> {
    let grant = inner.saved.grant.as_ref().filter(|grant| grant.refresh_token.is_some())?;
    let mut grant = grant.clone();
    let server = refresh.found.as_ref().map(|found| &found.server);
    // The tokens may have been restored after the discovery.
    let server = server.filter(|server| server.issuer == grant.issuer);
    if let Some(server) = server {
        grant.token_endpoint = server.token_endpoint.as_str().into();
    }
    let Some(client) = renewed(inner, &grant.client) else { return Some(grant) };
    let kinds = |client: &Client| (client.secret.is_some(), client.key.is_some());
    if kinds(&client) != kinds(&grant.client) {
        let methods = server.and_then(|server| server.authentication_methods.as_deref());
        grant.method = client.authentication(methods).unwrap_or(grant.method);
    }
    grant.client = client;
    Some(grant)
}

/// Returns the token endpoint, if it may be used.
fn endpoint(inner: &Inner, grant: &Grant) -> Result<WebUrl, AuthorizationFailure> {
    let unusable = AuthorizationFailure::UnusableMetadata {
        issuer: grant.issuer.clone(),
        member: "token_endpoint",
    };
    let endpoint = WebUrl::parse(&grant.token_endpoint).map_err(|_| unusable)?;
    inner.check(FetchPurpose::Refresh.place(), &endpoint)?;
    Ok(endpoint)
}

pub(super) fn send_refresh(
    inner: &mut Inner,
    refresh: Refresh,
    assertion: Option<&Secret>,
) -> Step {
    let Some(grant) = refreshable(inner, &refresh) else { return Ok(Activity::Idle) };
    let Some(token) = &grant.refresh_token else { return Ok(Activity::Idle) };
    let request = TokenRequest {
        grant: TokenGrant::Refresh { token },
        resource: grant.resource.as_deref(),
        scopes: None,
        client: authentication(&grant.client, grant.method, assertion),
    };
    let (body, authorization) = request.write();
    let endpoint = endpoint(inner, &grant)?;
    inner.send_to(FetchPurpose::Refresh, &endpoint, FORM, body, authorization)?;
    Ok(Activity::Refreshing(refresh))
}

pub(super) fn refreshed(
    inner: &mut Inner,
    refresh: Refresh,
    response: FetchedResponse<'_>,
    now: Instant,
) -> Step {
    if !response.is_success() {
        return refused(inner, refresh, refusal(response, FetchPurpose::Refresh), now);
    }
    let tokens = match Tokens::read(response.body) {
        Ok(tokens) => tokens,
        Err(member) => {
            return refused(inner, refresh, AuthorizationFailure::InvalidToken(member), now);
        }
    };
    let Some(mut grant) = refreshable(inner, &refresh) else { return Ok(Activity::Idle) };
    grant.access_token = tokens.access_token;
    // A refresh token that the response does not replace stays valid.
    grant.refresh_token = tokens.refresh_token.or(grant.refresh_token);
    grant.granted = tokens.scopes.unwrap_or(grant.granted);
    grant.issued_at = now;
    grant.expires_at = tokens.lifetime.map(|lifetime| now + lifetime);
    inner.keep(grant);
    Ok(Activity::Idle)
}

/// Handles a refusal, a response that is not a token response, or an endpoint that must not be used. A valid access
/// token remains in use, and its refresh token is tried again. Without a valid access token every request would repeat
/// the refusal, so a new authorization begins
/// ([RFC 6749, section 1.5](https://www.rfc-editor.org/rfc/rfc6749#section-1.5)).
pub(super) fn refused(
    inner: &mut Inner,
    refresh: Refresh,
    failure: AuthorizationFailure,
    now: Instant,
) -> Step {
    let code = match &failure {
        AuthorizationFailure::TokenRefused(error) => Some(&error.code),
        _ => None,
    };
    let is_over = code == Some(&OAuthErrorCode::InvalidGrant);
    let client = inner.saved.grant.as_ref().map(|grant| grant.client.clone());
    let is_forgotten = is_client_unknown(&failure)
        && client.as_ref().is_some_and(|client| client.source == ClientSource::Registered);
    if let Some(client) = client.filter(|_| is_forgotten) {
        inner.drop_client(&client);
    }
    if is_over || is_forgotten {
        return begin_anew(inner, refresh, now);
    }
    match inner.token(now) {
        Some(_) => {
            // The tokens that were read under the lock may have reset the time of the next attempt.
            inner.pacing.refresh_again_at = now + REFRESH_AGAIN_AFTER;
            Ok(Activity::Idle)
        }
        None if failure.is_temporary() => Err(failure),
        None if code.is_none() && refresh.found.is_none() => find_endpoint(inner, now),
        None => begin_anew(inner, refresh, now),
    }
}

/// Looks for the token endpoint if the stored one does not answer, or not as an authorization server, or must not be
/// used: it may have moved. The refresh token is kept for the endpoint that is found.
pub(super) fn find_endpoint(inner: &mut Inner, now: Instant) -> Step {
    let earlier = inner.saved.grant.as_ref().map(|grant| grant.requested.clone());
    inner.let_go();
    find_resource(inner, unchallenged(earlier), None, now)
}

/// Returns an attempt that no challenge began, for these scopes of an earlier request.
fn unchallenged(earlier: Option<Scopes>) -> Attempt {
    let earlier = earlier.unwrap_or_default();
    Attempt { earlier, is_unchallenged: true, ..Attempt::default() }
}

/// Discards the refresh token and begins a new authorization if a request waits for one. An unexpired access token is
/// kept.
fn begin_anew(inner: &mut Inner, mut refresh: Refresh, now: Instant) -> Step {
    let has_token = inner.token(now).is_some();
    let earlier = inner.saved.grant.as_ref().map(|grant| grant.requested.clone());
    match &mut inner.saved.grant {
        Some(grant) if has_token => grant.refresh_token = None,
        grant => {
            inner.discarded_scopes = earlier.clone().unwrap_or_default();
            *grant = None;
        }
    }
    inner.save();
    // A new authorization may wait for the user, so the storage is unlocked.
    inner.let_go();
    match refresh.found.take() {
        // A login that no request needs would open a browser for nothing.
        _ if inner.waiting.is_empty() => Ok(Activity::Idle),
        Some(found) => identify(inner, found, now),
        None if has_token => Ok(Activity::Idle),
        None => find_resource(inner, unchallenged(earlier), None, now),
    }
}
