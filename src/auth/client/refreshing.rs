//! Refreshing a token ([RFC 6749, section 6](https://www.rfc-editor.org/rfc/rfc6749#section-6)).

use super::activity::{Activity, Attempt, Refresh, Request};
use super::client_id::{ClientAuthentication, ClientSource};
use super::discovery::find_resource;
use super::effect::FetchPurpose;
use super::failure::{AuthorizationFailure, OAuthErrorCode};
use super::fetching::FORM;
use super::identifying::identify;
use super::inner::{Inner, Step};
use super::response::FetchedResponse;
use super::saved::Saved;
use super::token::{authentication, is_client_unknown, refusal};
use crate::auth::Secret;
use crate::auth::messages::token_request::{TokenGrant, TokenRequest};
use crate::auth::messages::token_response::Tokens;
use crate::auth::web_url::WebUrl;
use crate::time::Instant;

/// Refreshes the token, unless another process has meanwhile stored a newer one that is not due for refresh.
pub(super) fn refresh(
    inner: &mut Inner,
    refresh: Refresh,
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
    let grant = inner.saved.grant.as_ref().filter(|grant| grant.refresh_token.is_some());
    let Some(grant) = grant else { return begin_anew(inner, refresh, now) };
    if grant.method == ClientAuthentication::PrivateKeyJwt {
        let (client, issuer) = (grant.client.clone(), grant.issuer.clone());
        return Ok(inner.sign(&client, &issuer, Request::Refresh(refresh), now));
    }
    send_refresh(inner, refresh, None)
}

pub(super) fn send_refresh(
    inner: &mut Inner,
    refresh: Refresh,
    assertion: Option<&Secret>,
) -> Step {
    let Some(grant) = &inner.saved.grant else { return Ok(Activity::Idle) };
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
        return refresh_refused(inner, refresh, response, now);
    }
    let tokens = Tokens::read(response.body).map_err(AuthorizationFailure::InvalidToken)?;
    let Some(mut grant) = inner.saved.grant.clone() else { return Ok(Activity::Idle) };
    grant.access_token = tokens.access_token;
    // A refresh token that the response does not replace stays valid.
    grant.refresh_token = tokens.refresh_token.or(grant.refresh_token);
    grant.granted = tokens.scopes.unwrap_or(grant.granted);
    grant.issued_at = now;
    grant.expires_at = tokens.lifetime.map(|lifetime| now + lifetime);
    inner.keep(grant);
    Ok(Activity::Idle)
}

fn refresh_refused(
    inner: &mut Inner,
    refresh: Refresh,
    response: FetchedResponse<'_>,
    now: Instant,
) -> Step {
    let failure = refusal(response, FetchPurpose::Refresh);
    let is_over = matches!(
        &failure,
        AuthorizationFailure::TokenRefused(error) if error.code == OAuthErrorCode::InvalidGrant
    );
    let client = inner.saved.grant.as_ref().map(|grant| grant.client.clone());
    let is_forgotten = is_client_unknown(&failure)
        && client.as_ref().is_some_and(|client| client.source == ClientSource::Registered);
    if !is_over && !is_forgotten {
        return Err(failure);
    }
    if let Some(client) = client.filter(|_| is_forgotten) {
        inner.drop_client(&client);
    }
    begin_anew(inner, refresh, now)
}

/// Discards the refresh token and begins a new authorization if one is needed. An unexpired access token is kept.
fn begin_anew(inner: &mut Inner, mut refresh: Refresh, now: Instant) -> Step {
    let has_token = inner.token(now).is_some();
    let earlier = inner.saved.grant.as_ref().map(|grant| grant.requested.clone());
    match &mut inner.saved.grant {
        Some(grant) if has_token => grant.refresh_token = None,
        grant => *grant = None,
    }
    inner.save();
    // A new authorization may wait for the user, so the storage is unlocked.
    inner.let_go();
    match refresh.found.take() {
        Some(found) => identify(inner, found, now),
        None if has_token || inner.waiting.is_empty() => Ok(Activity::Idle),
        None => {
            let attempt = Attempt { earlier: earlier.unwrap_or_default(), ..Attempt::default() };
            find_resource(inner, attempt, None)
        }
    }
}
