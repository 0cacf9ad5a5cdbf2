//! Dynamic client registration
//! ([client registration](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration)).

use alloc::boxed::Box;

use super::activity::{Activity, Found, LoginParts};
use super::client_id::{Client, ClientAuthentication, ClientSource};
use super::effect::FetchPurpose;
use super::failure::AuthorizationFailure;
use super::fetching::JSON;
use super::inner::{Inner, Step};
use super::response::FetchedResponse;
use crate::auth::messages::registration::{self, Registered};
use crate::auth::messages::token_response;
use crate::auth::{OAuthError, Secret};

pub(super) fn register(inner: &mut Inner, found: Box<Found>, login: LoginParts) -> Step {
    let issuer = || found.server.issuer.clone();
    let missing = || AuthorizationFailure::NoRegistration { issuer: issuer() };
    let client = inner.config.registration.clone().ok_or_else(missing)?;
    let endpoint = found.server.registration_endpoint.clone().ok_or_else(missing)?;
    let methods = found.server.authentication_methods.as_deref();
    let wanted = [
        ClientAuthentication::None,
        ClientAuthentication::SecretBasic,
        ClientAuthentication::SecretPost,
    ];
    let is_supported = |method: &ClientAuthentication| {
        methods.is_none_or(|known| known.iter().any(|name| name == method.name()))
    };
    let method = wanted.into_iter().find(is_supported);
    let method = method.ok_or(AuthorizationFailure::Unsupported("the way to authenticate"))?;
    let scopes = inner.wanted_scopes(&found);
    let body = registration::request(&client, &login.redirect_uri, method, &scopes);
    inner.send_to(FetchPurpose::Registration, &endpoint, JSON, Secret::new(body), None)?;
    Ok(Activity::Registering { found, login })
}

/// Handles the registration response and keeps the client for the login. The registered values take precedence over
/// the requested ones.
pub(super) fn registered(
    inner: &mut Inner,
    mut found: Box<Found>,
    login: LoginParts,
    response: FetchedResponse<'_>,
) -> Result<(Box<Found>, Client, LoginParts), AuthorizationFailure> {
    let status = response.status;
    let place = FetchPurpose::Registration.place();
    if !response.is_success() {
        let error = token_response::error(response.body);
        return Err(error.map_or(
            AuthorizationFailure::UnexpectedStatus { place, status },
            AuthorizationFailure::RegistrationRefused,
        ));
    }
    let registered = Registered::read(response.body).map_err(|member| {
        let description = Some(alloc::format!("{member} in the answer cannot be used"));
        AuthorizationFailure::RegistrationRefused(OAuthError::new(
            "invalid_client_metadata",
            description,
        ))
    })?;
    let uris = registered.redirect_uris.as_ref();
    if uris.is_some_and(|uris| !uris.contains(&login.redirect_uri)) {
        let error = OAuthError::new("invalid_redirect_uri", None);
        return Err(AuthorizationFailure::RegistrationRefused(error));
    }
    let client = Client {
        issuer: found.server.issuer.clone(),
        client_id: registered.client_id,
        secret: registered.secret,
        secret_expires_at: registered.secret_expires_at,
        key: None,
        method: registered.method,
        redirect_uri: Some(login.redirect_uri.clone()),
        source: ClientSource::Registered,
    };
    inner.remember(client.clone());
    found.attempt.registered_now = true;
    Ok((found, client, login))
}
