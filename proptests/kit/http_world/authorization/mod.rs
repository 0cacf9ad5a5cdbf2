//! The authorization of the clients at the server. This file has the checks of the server, with a table of all issued
//! tokens as their model; `login.rs` has the logins of the clients.

mod login;

use std::time::Duration;

use mcp_sansio::auth::resource_server::{
    AccessError, Claims, Operation, ProtectedResource, TokenError, bearer_token, check_scopes,
};
use mcp_sansio::auth::{Fetch, Scopes};
use mcp_sansio::http::{Reply, RequestHead, RequestSource};
use mcp_sansio::{Instant, Principal};
use serde_json::Value;

use super::HttpWorld;
use super::setup::Features;
use crate::authorization_server::{
    AuthorizationServer, Claims as IssuedClaims, Client, Options, Request, Response, Signer,
};

pub(super) use login::Login;

/// The URL of the MCP server, if it needs tokens.
pub(super) const SERVER: &str = "https://mcp.example/mcp";
const ISSUER: &str = "https://as.example";
/// The scope that every request needs, and the one that calls of tools need.
const SCOPES: [&str; 2] = ["mcp", "tools"];

/// The authorization server, and the MCP server as its resource.
pub(super) struct Authorization {
    server: AuthorizationServer,
    resource: ProtectedResource,
    issued: Vec<IssuedToken>,
    /// The other tokens, which only the authorization server receives.
    refresh_tokens: Vec<String>,
}

/// A token that was issued to an account.
struct IssuedToken {
    text: String,
    account: String,
    expires_at: Instant,
    scopes: Scopes,
    is_revoked: bool,
}

/// The configuration of the authorization.
#[derive(Clone, Copy, Debug)]
pub(super) struct AuthorizationSetup {
    /// The lifetime of access tokens in seconds.
    pub(super) seconds: u64,
    pub(super) issues_refresh_tokens: bool,
    /// Whether calls of tools need a scope that the first login does not ask for.
    pub(super) has_tool_scope: bool,
}

/// Returns the account of the clients with the same identity.
pub(super) fn account(identity: u64) -> String {
    format!("account-{identity}")
}

/// Returns the principal of the clients of an account.
pub(super) fn principal_of(account: &str) -> Principal {
    let mut claims = Claims::new(ISSUER, "user");
    claims.client = Some(account.to_owned());
    claims.principal()
}

impl Authorization {
    pub(super) fn new(features: Features, setup: AuthorizationSetup) -> Option<Self> {
        if !features.authorization {
            return None;
        }
        let mut options = Options::new(ISSUER);
        options.clients = (0..3).map(|identity| Client::new(account(identity), None)).collect();
        options.registers = false;
        options.scopes = SCOPES.map(str::to_owned).to_vec();
        options.access_token_seconds = setup.seconds;
        options.issues_refresh_tokens = setup.issues_refresh_tokens;
        let resource = ProtectedResource::new(SERVER, ISSUER).unwrap();
        let resource = resource.scopes(Scopes::parse(SCOPES[0])).leeway(Duration::ZERO);
        let resource = if setup.has_tool_scope {
            resource.supported_scopes(Scopes::parse(SCOPES[1]))
        } else {
            resource
        };
        Some(Self {
            server: AuthorizationServer::new(options, Signer::worthless(), [7; 32]),
            resource,
            issued: Vec::new(),
            refresh_tokens: Vec::new(),
        })
    }

    /// Responds to a request of a client to the authorization server, or for the metadata of the MCP server.
    fn fetch(&mut self, fetch: &Fetch, account: &str, now: Instant) -> (u16, Vec<u8>) {
        if fetch.url == self.resource.metadata_url() {
            return (200, self.resource.metadata());
        }
        let Some(target) = fetch.url.strip_prefix(ISSUER) else { return (404, Vec::new()) };
        let mut request = match fetch.content_type {
            Some(media_type) => Request::post(target, media_type, fetch.body.expose()),
            None => Request::get(target),
        };
        let field = fetch.authorization.as_ref().map(|field| field.expose().to_owned());
        request = request.authorization(field);
        let response = self.server.handle(&request, seconds(now));
        self.note_tokens(&response, account, now);
        (response.status, response.body)
    }

    /// Records the tokens in a response.
    fn note_tokens(&mut self, response: &Response, account: &str, now: Instant) {
        let Ok(body) = serde_json::from_slice::<Value>(&response.body) else { return };
        let Some(text) = body["access_token"].as_str() else { return };
        let lifetime = Duration::from_secs(body["expires_in"].as_u64().unwrap_or_default());
        self.issued.push(IssuedToken {
            text: text.to_owned(),
            account: account.to_owned(),
            // The server counts whole seconds.
            expires_at: Instant::from_millis(seconds(now) * 1_000) + lifetime,
            scopes: Scopes::parse(body["scope"].as_str().unwrap_or_default()),
            is_revoked: false,
        });
        self.refresh_tokens.extend(body["refresh_token"].as_str().map(str::to_owned));
    }

    /// Lets the user log in with this URL. Returns the query of the redirect.
    fn browse(&mut self, url: &str, now: Instant) -> Option<String> {
        let target = url.strip_prefix(ISSUER)?;
        let response = self.server.handle(&Request::get(target), seconds(now));
        let (_, query) = response.find("location")?.split_once('?')?;
        Some(format!("?{query}"))
    }

    /// Checks the token of a request as an MCP server does. Returns the claims.
    fn check(
        &self,
        head: &RequestHead<'_>,
        body: &[u8],
        now: Instant,
    ) -> Result<Claims, AccessError> {
        let token = bearer_token(head.headers)?;
        // The expiry is checked by the resource, as after the verification of a signature.
        let claims = self.server.introspect(token, 0).map(claims_of);
        let claims = claims.ok_or(AccessError::InvalidToken(TokenError::Invalid))?;
        self.resource.check(&claims, now)?;
        let implies = |granted: &str, needed: &str| granted == needed;
        check_scopes(&claims.scopes, &self.needed(body), implies)?;
        Ok(claims)
    }

    /// Returns the scopes that the operations in a body need.
    fn needed(&self, body: &[u8]) -> Scopes {
        let operations = Operation::all_in(body, &mcp_sansio::Limits::default());
        let calls_tool = operations.iter().any(|one| one.method == "tools/call");
        let supports = String::from_utf8_lossy(&self.resource.metadata()).contains(SCOPES[1]);
        let needed = if calls_tool && supports { &SCOPES[..] } else { &SCOPES[..1] };
        Scopes::parse(&needed.join(" "))
    }

    /// Compares an accepted token with the table of issued ones.
    fn check_accepted(
        &self,
        head: &RequestHead<'_>,
        body: &[u8],
        account: &str,
        now: Instant,
    ) -> Result<(), String> {
        let token = bearer_token(head.headers).map_err(|error| error.to_string())?;
        let Some(issued) = self.issued.iter().find(|issued| issued.text == token) else {
            return Err("token: it was not issued".into());
        };
        let needed = self.needed(body);
        if issued.account != account {
            return Err(format!("token: {account} has the token of {}", issued.account));
        }
        if issued.is_revoked || issued.expires_at <= now {
            let IssuedToken { is_revoked, expires_at, .. } = issued;
            return Err(format!("token: revoked {is_revoked}, expired {expires_at:?} at {now:?}"));
        }
        if !issued.scopes.covers(&needed) {
            return Err(format!("token: {} where {needed} is needed", issued.scopes));
        }
        Ok(())
    }

    /// Returns whether a text contains a token.
    pub(super) fn is_leaked(&self, text: &str) -> bool {
        let tokens = self.issued.iter().map(|issued| &issued.text);
        tokens.chain(&self.refresh_tokens).any(|token| text.contains(token.as_str()))
    }

    /// Revokes every access token.
    pub(super) fn revoke(&mut self) {
        self.server.revoke_access_tokens();
        self.issued.iter_mut().for_each(|issued| issued.is_revoked = true);
    }
}

impl HttpWorld {
    /// Checks the token of a request. Returns the source of the request, or the response that refuses it.
    pub(super) fn authorize(
        &self,
        client: usize,
        head: &RequestHead<'_>,
        body: &[u8],
    ) -> Result<Result<RequestSource, Reply>, String> {
        let own = &self.clients[client];
        let Some((authorization, login)) = self.authorization.as_ref().zip(own.login.as_ref())
        else {
            return Ok(Ok(RequestSource::from(own.principal)));
        };
        match authorization.check(head, body, self.now) {
            Ok(claims) => {
                authorization.check_accepted(head, body, login.account(), self.now)?;
                Ok(Ok(RequestSource::from(claims.principal())))
            }
            Err(error) => Ok(Err(authorization.resource.reply(&error))),
        }
    }

    /// Checks that the `Debug` texts of all machines contain no token.
    pub(super) fn check_debug(&mut self) {
        if self.authorization.is_none() {
            return;
        }
        let machines = self.clients.iter().map(|client| {
            let login = client.login.as_ref().map(Login::authorizer);
            format!("{:?}{:?}{login:?}", client.machine, client.transport)
        });
        let shown = format!("{:?}{}", self.http, machines.collect::<String>());
        self.check_shown(&shown);
    }

    /// Records that a text contains a token.
    pub(super) fn check_shown(&mut self, shown: &str) {
        let is_leaked = |authorization: &Authorization| authorization.is_leaked(shown);
        if self.authorization.as_ref().is_some_and(is_leaked) {
            self.leaked = Some(format!("token: it is shown in {shown}"));
        }
    }
}

fn claims_of(issued: &IssuedClaims) -> Claims {
    let mut claims = Claims::new(&*issued.iss, &*issued.sub);
    claims.client = Some(issued.client_id.clone());
    claims.audience = vec![issued.aud.clone()];
    claims.expires_at = Some(Instant::from_millis(issued.exp * 1_000));
    claims.scopes = Scopes::parse(&issued.scope);
    claims
}

fn seconds(now: Instant) -> u64 {
    now.since_epoch().as_secs()
}
