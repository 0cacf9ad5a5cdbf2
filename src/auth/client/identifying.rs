//! Selection of a client id
//! ([client registration](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration)).

use alloc::boxed::Box;

use super::activity::{Activity, Found, Proof};
use super::client_id::{Client, ClientAuthentication, ClientSource, ConfiguredClient};
use super::config::Flow;
use super::effect::Effect;
use super::failure::{AuthorizationFailure, IssuerPlace};
use super::inner::{Inner, Step};
use super::login::prepare_login;
use super::token::request_token;
use crate::auth::messages::server_metadata::ServerMetadata;
use crate::auth::web_url::WebUrl;
use crate::time::Instant;

/// Uses the first available source of a client id: the configuration, a metadata document, an earlier registration,
/// a new registration, the user.
pub(super) fn identify(inner: &mut Inner, found: Box<Found>, now: Instant) -> Step {
    if inner.config.flow == Flow::AuthorizationCode {
        inner.check_login_is_awaited()?;
    }
    // Step-ups have a limit of their own.
    if inner.config.flow == Flow::AuthorizationCode && !found.attempt.is_step_up {
        inner.pacing.check_repeated_login(now)?;
    }
    // A registered client whose secret has expired is useless.
    inner
        .saved
        .clients
        .retain(|client| client.source != ClientSource::Registered || !client.is_expired(now));
    let server = &found.server;
    if let Some(client) = configured(inner, &server.issuer)? {
        return identified(inner, found, client, now);
    }
    if let Some(client) = documented(inner, server) {
        return identified(inner, found, client, now);
    }
    let of_issuer = |client: &&Client| client.issuer == server.issuer;
    if let Some(client) = inner.saved.clients.iter().find(of_issuer).cloned() {
        return identified(inner, found, client, now);
    }
    let may_register = inner.config.flow == Flow::AuthorizationCode
        && inner.config.registration.is_some()
        && server.registration_endpoint.is_some();
    if may_register {
        // A registration contains the redirect URI, so the login is prepared first.
        return Ok(prepare_login(inner, found, None));
    }
    if inner.config.can_name_client {
        inner.check_login_is_awaited()?;
        let (job, issuer) = (inner.next_job(), server.issuer.clone());
        inner.effects.push_back(Effect::NeedClient { job, issuer });
        return Ok(Activity::NamingClient(found));
    }
    Err(AuthorizationFailure::NoRegistration { issuer: server.issuer.clone() })
}

/// Returns the configured client id for this issuer. Fails if client ids are configured but none is for this issuer:
/// the application or its user must know.
fn configured(inner: &Inner, issuer: &str) -> Result<Option<Client>, AuthorizationFailure> {
    let clients = &inner.config.clients;
    // A client id without an issuer is bound to the first issuer that it was used with.
    let owner = |configured: &ConfiguredClient| {
        let known = inner.saved.clients.iter().find(|client| {
            client.source == ClientSource::Configured && client.client_id == configured.client_id
        });
        configured.issuer.clone().or_else(|| known.map(|client| client.issuer.clone()))
    };
    let mut of_issuer = clients.iter().filter(|client| owner(client).as_deref() == Some(issuer));
    let mut of_none = clients.iter().filter(|client| owner(client).is_none());
    match of_issuer.next().or_else(|| of_none.next()) {
        Some(client) => Ok(Some(Client::of(client, issuer))),
        None if clients.is_empty() => Ok(None),
        None => {
            let place = IssuerPlace::Client;
            Err(AuthorizationFailure::IssuerMismatch { place, expected: issuer.into() })
        }
    }
}

/// Returns the client of the metadata document, if the authorization server supports such documents.
fn documented(inner: &Inner, server: &ServerMetadata) -> Option<Client> {
    let url =
        inner.config.metadata_document.as_ref().filter(|_| server.takes_metadata_documents)?;
    Some(of_document(inner, url, &server.issuer))
}

fn of_document(inner: &Inner, url: &WebUrl, issuer: &str) -> Client {
    let mut client = Client::of(&ConfiguredClient::new(url.as_str()), issuer);
    client.method = Some(inner.config.document_authentication());
    client.key = inner.config.document_key.clone();
    client.source = ClientSource::Document;
    client
}

/// Returns a stored client with its current credentials, if the configuration has them.
pub(super) fn renewed(inner: &Inner, client: &Client) -> Option<Client> {
    let issuer = &client.issuer;
    match client.source {
        ClientSource::Registered => None,
        ClientSource::Document => {
            let url = inner.config.metadata_document.as_ref();
            let url = url.filter(|url| url.as_str() == client.client_id)?;
            Some(of_document(inner, url, issuer))
        }
        // A configuration without credentials does not show that the client has become public.
        ClientSource::Configured => {
            let is_it = |configured: &&ConfiguredClient| {
                configured.client_id == client.client_id
                    && configured.issuer.as_ref().is_none_or(|known| known == issuer)
                    && (configured.secret.is_some() || configured.key.is_some())
            };
            let configured = inner.config.clients.iter().find(is_it)?;
            Some(Client::of(configured, issuer))
        }
    }
}

/// Continues with a client id, by the configured flow.
pub(super) fn identified(
    inner: &mut Inner,
    found: Box<Found>,
    client: Client,
    now: Instant,
) -> Step {
    let is_new =
        client.source == ClientSource::Configured && !inner.saved.clients.contains(&client);
    if is_new {
        inner.remember(client.clone());
    }
    if inner.config.flow == Flow::AuthorizationCode {
        return Ok(prepare_login(inner, found, Some(client)));
    }
    let purpose = inner.purpose(found, client)?;
    match inner.config.flow {
        Flow::Enterprise(_) => {
            let job = inner.next_job();
            inner.effects.push_back(Effect::NeedAssertion { job });
            Ok(Activity::AwaitingAssertion(purpose))
        }
        _ if purpose.method == ClientAuthentication::None => {
            Err(AuthorizationFailure::Unsupported("client_credentials without a secret or a key"))
        }
        _ => request_token(inner, purpose, Proof::Client, now),
    }
}
