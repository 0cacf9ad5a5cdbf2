//! Getting a client id
//! ([client registration](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration)).

use alloc::boxed::Box;

use super::activity::{Activity, Found, LoginParts, Proof, Purpose};
use super::authorizer::Authorizer;
use super::client_id::{Client, ClientAuthentication, ClientSource, ConfiguredClient};
use super::config::Flow;
use super::effect::{Effect, FetchPurpose, JobId};
use super::failure::{AuthorizationFailure, IssuerPlace};
use super::fetching::{FetchedResponse, JSON};
use crate::auth::messages::registration::{self, Registered};
use crate::auth::messages::server_metadata::ServerMetadata;
use crate::auth::messages::token_response;
use crate::auth::{OAuthError, Scopes, Secret};
use crate::time::Instant;

type Step = Result<Activity, AuthorizationFailure>;

/// # Which client id
impl Authorizer {
    /// Takes the first way there is: a client id from the configuration, a metadata document, an earlier registration, a
    /// new one, the user.
    pub(super) fn identify(&mut self, found: Box<Found>, now: Instant) -> Step {
        let server = &found.server;
        if let Some(client) = self.configured(&server.issuer)? {
            return self.identified(found, client, now);
        }
        if let Some(client) = self.documented(server) {
            return self.identified(found, client, now);
        }
        let of_issuer = |client: &&Client| client.issuer == server.issuer;
        if let Some(client) = self.saved.clients.iter().find(of_issuer).cloned() {
            return self.identified(found, client, now);
        }
        let may_register = self.config.flow == Flow::AuthorizationCode
            && self.config.registration.is_some()
            && server.registration_endpoint.is_some();
        if may_register {
            // The redirect URI is part of a registration, so it comes first.
            return Ok(self.prepare_login(found, None));
        }
        if self.config.can_name_client {
            let (job, issuer) = (self.next_job(), server.issuer.clone());
            self.effects.push_back(Effect::NeedClient { job, issuer });
            return Ok(Activity::NamingClient(found));
        }
        Err(AuthorizationFailure::NoRegistration { issuer: server.issuer.clone() })
    }

    /// A client id of the configuration that is for this issuer. Where there are some and none is, that is an error: the
    /// application, or its user, has to know.
    fn configured(&self, issuer: &str) -> Result<Option<Client>, AuthorizationFailure> {
        let clients = &self.config.clients;
        // A client id without an issuer belongs to the first one that it was used with.
        let owner = |configured: &ConfiguredClient| {
            let known = self.saved.clients.iter().find(|client| {
                client.source == ClientSource::Configured
                    && client.client_id == configured.client_id
            });
            configured.issuer.clone().or_else(|| known.map(|client| client.issuer.clone()))
        };
        let mut of_issuer =
            clients.iter().filter(|client| owner(client).as_deref() == Some(issuer));
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

    /// The client as its metadata document has it, if the authorization server reads such documents.
    fn documented(&self, server: &ServerMetadata) -> Option<Client> {
        let url =
            self.config.metadata_document.as_ref().filter(|_| server.takes_metadata_documents)?;
        let mut client = Client::of(&ConfiguredClient::new(url.as_str()), &server.issuer);
        client.method = Some(self.config.document_authentication());
        client.key = self.config.document_key.clone();
        client.source = ClientSource::Document;
        Some(client)
    }

    /// The user has named a client id ([`Effect::NeedClient`]).
    pub fn client_named(&mut self, job: JobId, client: ConfiguredClient, now: Instant) {
        let outcome = match self.answered(job) {
            None => return,
            Some(Activity::NamingClient(found)) => {
                let client = Client::of(&client, &found.server.issuer);
                self.remember(client.clone());
                self.identified(found, client, now)
            }
            Some(other) => Ok(other),
        };
        self.proceed(outcome, now);
    }

    /// Keeps a client id beside those of other issuers.
    fn remember(&mut self, client: Client) {
        self.saved.clients.retain(|known| known.issuer != client.issuer);
        self.saved.clients.push(client);
        self.save();
    }

    /// There is a client id: what comes next depends on how tokens are got.
    fn identified(&mut self, found: Box<Found>, client: Client, now: Instant) -> Step {
        let is_new =
            client.source == ClientSource::Configured && !self.saved.clients.contains(&client);
        if is_new {
            self.remember(client.clone());
        }
        if self.config.flow == Flow::AuthorizationCode {
            return Ok(self.prepare_login(found, Some(client)));
        }
        let purpose = self.purpose(found, client)?;
        match self.config.flow {
            Flow::Enterprise(_) => {
                let job = self.next_job();
                self.effects.push_back(Effect::NeedAssertion { job });
                Ok(Activity::AwaitingAssertion(purpose))
            }
            _ if purpose.method == ClientAuthentication::None => Err(
                AuthorizationFailure::Unsupported("client_credentials without a secret or a key"),
            ),
            _ => self.request_token(purpose, Proof::Client, now),
        }
    }

    /// What a token is requested for.
    pub(super) fn purpose(
        &self,
        found: Box<Found>,
        client: Client,
    ) -> Result<Box<Purpose>, AuthorizationFailure> {
        let methods = found.server.authentication_methods.as_deref();
        let method = client.authentication(methods);
        let method = method.ok_or(AuthorizationFailure::Unsupported("the way to authenticate"))?;
        if method == ClientAuthentication::PrivateKeyJwt {
            let algorithms = found.server.signing_algorithms.as_ref();
            let wanted = client.key.as_ref().map(|key| &key.algorithm);
            if algorithms.is_some_and(|known| wanted.is_none_or(|wanted| !known.contains(wanted))) {
                return Err(AuthorizationFailure::Unsupported("the algorithm of the key"));
            }
        }
        let scopes = self.wanted_scopes(&found);
        Ok(Box::new(Purpose { found: *found, client, method, scopes }))
    }

    /// The scopes to request
    /// ([scope selection](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#scope-selection-strategy)).
    pub(super) fn wanted_scopes(&self, found: &Found) -> Scopes {
        const OFFLINE: &str = crate::auth::scopes::OFFLINE_ACCESS;
        let Found { attempt, resource, server } = found;
        let named = attempt.challenged.as_ref().or(resource.scopes.as_ref());
        let named = named.cloned().unwrap_or_default();
        let first = if attempt.is_step_up || named.is_empty() {
            attempt.earlier.union(&named)
        } else {
            named
        };
        let has_offline = server.scopes.iter().any(|scope| scope == OFFLINE);
        let all = first.union(&self.config.scopes);
        let all: Scopes = all.iter().filter(|scope| has_offline || *scope != OFFLINE).collect();
        if has_offline && self.config.offline_access {
            return all.union(&Scopes::parse(OFFLINE));
        }
        all
    }
}

/// # Dynamic registration
impl Authorizer {
    pub(super) fn register(&mut self, found: Box<Found>, login: LoginParts) -> Step {
        let issuer = || found.server.issuer.clone();
        let missing = || AuthorizationFailure::NoRegistration { issuer: issuer() };
        let client = self.config.registration.clone().ok_or_else(missing)?;
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
        let scopes = self.wanted_scopes(&found);
        let body = registration::request(&client, &login.redirect_uri, method, &scopes);
        self.send_to(FetchPurpose::Registration, &endpoint, JSON, Secret::new(body), None)?;
        Ok(Activity::Registering { found, login })
    }

    /// What the server has changed counts.
    pub(super) fn registered(
        &mut self,
        mut found: Box<Found>,
        login: LoginParts,
        response: FetchedResponse<'_>,
    ) -> Step {
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
        self.remember(client.clone());
        found.attempt.registered_now = true;
        self.open_login(found, client, login)
    }
}
