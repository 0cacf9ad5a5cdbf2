//! The login of a user in a browser
//! ([flow](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#authorization-flow-steps)).

use alloc::boxed::Box;
use alloc::string::String;

use super::activity::{Activity, Found, LoginParts, Proof, Purpose};
use super::client_id::{Client, ClientSource};
use super::effect::{BrowserUrl, Effect};
use super::failure::{AuthorizationFailure, IssuerPlace, OAuthError};
use super::inner::{Inner, Step};
use super::registering::register;
use super::token::request_token;
use crate::auth::Secret;
use crate::auth::messages::authorization_request::{AuthorizationRequest, unguessable};
use crate::auth::messages::authorization_response::AuthorizationResponse;
use crate::auth::web_url::WebUrl;
use crate::time::Instant;

/// The values that the application provides for a login.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoginMaterial {
    /// 64 bytes from the system's random number generator, unguessable and new for each login.
    entropy: [u8; 64],
    /// The redirect URI.
    redirect_uri: String,
}

/// Omits the entropy.
impl core::fmt::Debug for LoginMaterial {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("LoginMaterial")
            .field("redirect_uri", &self.redirect_uri)
            .finish_non_exhaustive()
    }
}

impl LoginMaterial {
    /// Creates the material from entropy and the redirect URI: `https`, or `http` to a loopback address.
    pub fn new(entropy: [u8; 64], redirect_uri: impl Into<String>) -> Self {
        Self { entropy, redirect_uri: redirect_uri.into() }
    }
}

impl Drop for LoginMaterial {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.entropy);
    }
}

/// The result of a redirect, for the page that the application shows to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Redirected {
    /// The user has consented.
    Accepted,
    /// The login failed; [`Effect::Release`] contains the failure.
    Failed,
    /// The redirect belongs to no login in progress. Nothing has changed.
    Unknown,
}

/// Requests the material for a login from the application.
pub(super) fn prepare_login(
    inner: &mut Inner,
    found: Box<Found>,
    client: Option<Client>,
) -> Activity {
    let registered = client.as_ref().and_then(|client| client.redirect_uri.clone());
    let job = inner.next_job();
    inner.effects.push_back(Effect::PrepareLogin { job, registered });
    Activity::PreparingLogin { found, client }
}

pub(super) fn prepared(
    inner: &mut Inner,
    found: Box<Found>,
    client: Option<Client>,
    material: &LoginMaterial,
) -> Step {
    inner.check_login_is_awaited()?;
    let redirect = WebUrl::parse(&material.redirect_uri).ok();
    let is_usable = |url: &WebUrl| url.is_https() || url.is_loopback();
    let Some(redirect) = redirect.filter(is_usable) else {
        return Err(AuthorizationFailure::Host("name a redirect URI that is https or loopback"));
    };
    let [(verifier, state)] = [material.entropy.split_at(32)];
    let text = |half: &[u8]| half.try_into().map(unguessable).unwrap_or_default();
    let login = LoginParts {
        redirect_uri: material.redirect_uri.clone(),
        verifier: text(verifier),
        state: text(state),
    };
    match client {
        Some(client) if client.source != ClientSource::Registered => {
            open_login(inner, found, client, login)
        }
        Some(client) if is_registered(&client, &redirect) => {
            open_login(inner, found, client, login)
        }
        _ => register(inner, found, login),
    }
}

/// Opens the authorization endpoint for the user, if a request still waits for the login.
pub(super) fn open_login(
    inner: &mut Inner,
    found: Box<Found>,
    client: Client,
    login: LoginParts,
) -> Step {
    inner.check_login_is_awaited()?;
    let purpose = inner.purpose(found, client)?;
    let server = &purpose.found.server;
    let asks_for_consent = inner.config.asks_for_consent
        && purpose.scopes.contains(crate::auth::scopes::OFFLINE_ACCESS);
    let request = AuthorizationRequest {
        client_id: &purpose.client.client_id,
        redirect_uri: &login.redirect_uri,
        scopes: &purpose.scopes,
        state: &login.state,
        verifier: &login.verifier,
        resource: purpose.found.resource.name.as_deref(),
        asks_for_consent,
    };
    let missing = AuthorizationFailure::NoServerMetadata { issuer: server.issuer.clone() };
    let endpoint = server.authorization_endpoint.as_ref().ok_or(missing)?;
    let url = Secret::new(request.url(endpoint));
    inner.next_job();
    inner.effects.push_back(Effect::OpenUrl(BrowserUrl::new(url)));
    Ok(Activity::AwaitingUser { purpose, login })
}

pub(super) fn agreed(
    inner: &mut Inner,
    activity: Activity,
    response: AuthorizationResponse,
    now: Instant,
) -> Step {
    let Activity::AwaitingUser { purpose, login } = activity else { return Ok(activity) };
    if response.is_ambiguous {
        return Err(AuthorizationFailure::InvalidResponse);
    }
    let server = &purpose.found.server;
    // The issuer is checked before any other parameter, including errors.
    let is_of_issuer = match &response.issuer {
        Some(issuer) => *issuer == server.issuer,
        None => !server.sends_issuer,
    };
    if !is_of_issuer {
        let (place, expected) = (IssuerPlace::Response, server.issuer.clone());
        return Err(AuthorizationFailure::IssuerMismatch { place, expected });
    }
    if let Some(error) = response.error {
        return Err(AuthorizationFailure::Denied(OAuthError::new(&error, response.description)));
    }
    let code = response.code.filter(|code| !code.is_empty());
    let code = code.ok_or(AuthorizationFailure::InvalidResponse)?;
    let LoginParts { redirect_uri, verifier, .. } = login;
    request_token(inner, purpose, Proof::Code { code, redirect_uri, verifier }, now)
}

/// Ends a login without a redirect. An authorization server that does not know a client shows an error and does not
/// redirect. The next login therefore reuses neither an earlier registration nor a client id that the user named.
pub(super) fn not_finished(inner: &mut Inner, activity: &Activity) -> AuthorizationFailure {
    if let Activity::AwaitingUser { purpose, .. } = activity {
        let Purpose { client, found, .. } = &**purpose;
        let is_reused = client.source == ClientSource::Registered && !found.attempt.registered_now;
        if is_reused || inner.is_named_by_user(client) {
            inner.drop_client(client);
        }
    }
    AuthorizationFailure::Abandoned
}

/// Whether the client was registered with this redirect URI, ignoring the port of a loopback address
/// ([RFC 8252, section 7.3](https://www.rfc-editor.org/rfc/rfc8252#section-7.3)).
fn is_registered(client: &Client, redirect: &WebUrl) -> bool {
    let registered = client.redirect_uri.as_deref().and_then(|uri| WebUrl::parse(uri).ok());
    registered.is_some_and(|known| {
        let is_port_free = known.address().is_some() && known.is_loopback();
        let is_like = (known.is_https(), known.host(), known.path(), known.query())
            == (redirect.is_https(), redirect.host(), redirect.path(), redirect.query());
        known.as_str() == redirect.as_str() || (is_like && is_port_free)
    })
}
