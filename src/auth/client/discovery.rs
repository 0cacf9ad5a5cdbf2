//! Discovery of the authorization server of an MCP server
//! ([discovery](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/authorization-server-discovery)).

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;

use super::activity::{Activity, Attempt, Found, Refresh, Resource};
use super::config::{Fallback, Flow};
use super::effect::FetchPurpose;
use super::failure::{AuthorizationFailure, IssuerPlace, NotAllowed};
use super::identifying::identify;
use super::inner::{Inner, Step};
use super::response::FetchedResponse;
use crate::auth::messages::resource_metadata::{self, ResourceMetadata};
use crate::auth::messages::server_metadata::{self, ServerMetadata, Unusable};
use crate::auth::messages::token_request::JWT_BEARER;
use crate::auth::web_url::WebUrl;
use crate::dialect::features::Feature;
use crate::time::Instant;

/// Begins with the URL that the challenge names, otherwise with the well-known URLs. A named URL that must not be
/// fetched is ignored.
pub(super) fn find_resource(
    inner: &mut Inner,
    mut attempt: Attempt,
    named: Option<&str>,
    now: Instant,
) -> Step {
    attempt.names_metadata = named.is_some();
    let place = FetchPurpose::ResourceMetadata.place();
    let named = named.and_then(|named| WebUrl::parse(named).ok());
    let named = named.filter(|url| inner.check(place, url).is_ok());
    let places = match named {
        Some(url) => VecDeque::from([url.as_str().into()]),
        None => resource_metadata::well_known(&inner.config.server).into(),
    };
    next_resource_place(inner, attempt, places, now)
}

fn next_resource_place(
    inner: &mut Inner,
    attempt: Attempt,
    mut places: VecDeque<String>,
    now: Instant,
) -> Step {
    let Some(place) = places.pop_front() else { return fall_back(inner, attempt, now) };
    ask_at(inner, FetchPurpose::ResourceMetadata, &place)?;
    Ok(Activity::FindingResource { attempt, places })
}

/// Parses the protected resource metadata. If the response contains none, the next URL is tried; without a challenge
/// also if it contains those of another resource.
pub(super) fn resource_fetched(
    inner: &mut Inner,
    attempt: Attempt,
    places: VecDeque<String>,
    response: FetchedResponse<'_>,
    now: Instant,
) -> Step {
    let document = response.is_success().then(|| ResourceMetadata::read(response.body));
    let Some(document) = document.flatten() else {
        return next_resource_place(inner, attempt, places, now);
    };
    let is_of_server = document.resource.contains(&inner.config.server);
    if !is_of_server && attempt.is_unchallenged {
        // The server may name its own metadata in a challenge.
        return next_resource_place(inner, attempt, places, now);
    }
    if !is_of_server {
        let named = String::from(document.resource.as_str());
        return Err(AuthorizationFailure::ResourceMismatch(named));
    }
    if !document.takes_header {
        return Err(AuthorizationFailure::NoHeaderTokens);
    }
    let issuer = chosen(inner, &document).ok_or(AuthorizationFailure::NoAuthorizationServer)?;
    let name = Some(String::from(document.resource.as_str()));
    let scopes = document.scopes;
    find_server(inner, attempt, Resource { name, scopes, issuer, is_fallback: false })
}

/// Returns the first issuer at which a client id exists, otherwise the first issuer.
fn chosen(inner: &Inner, document: &ResourceMetadata) -> Option<String> {
    let has_client = |issuer: &&String| {
        let is_configured =
            inner.config.clients.iter().any(|client| client.issuer.as_ref() == Some(issuer));
        is_configured || inner.saved.clients.iter().any(|client| client.issuer == **issuer)
    };
    let issuers = &document.authorization_servers;
    issuers.iter().find(has_client).or_else(|| issuers.first()).cloned()
}

/// Handles missing protected resource metadata: the server may be of 2025-03-26.
///
/// Without a challenge, the missing metadata prove nothing. The waiting requests are then sent without a token, so that
/// the server challenges them.
fn fall_back(inner: &mut Inner, attempt: Attempt, now: Instant) -> Step {
    if attempt.is_unchallenged {
        inner.await_challenge(now);
        return Ok(Activity::Idle);
    }
    let has_metadata = |revision| Feature::ResourceMetadata.is_in(revision);
    let is_newer = inner.revision.is_some_and(has_metadata);
    let may = match inner.config.fallback {
        Fallback::UnlessNewer => !is_newer && !attempt.names_metadata,
        Fallback::Always => true,
        Fallback::Never => false,
    };
    if !may || inner.config.flow != Flow::AuthorizationCode {
        return Err(AuthorizationFailure::NoResourceMetadata);
    }
    let server = &inner.config.server;
    let name = inner.config.resource_always.then(|| server.canonical());
    // The server does not know how the user has spelled its URL.
    let issuer = server.canonical_origin();
    let places = VecDeque::from([server_metadata::of_server_itself(server)]);
    let resource = Resource { name, scopes: None, issuer, is_fallback: true };
    next_server_place(inner, attempt, resource, places)
}

fn find_server(inner: &mut Inner, attempt: Attempt, resource: Resource) -> Step {
    let issuer = WebUrl::parse(&resource.issuer).map_err(|error| {
        let place = FetchPurpose::ServerMetadata.place();
        AuthorizationFailure::NotAllowed { place, reason: NotAllowed::Url(error) }
    })?;
    let places = server_metadata::well_known(&issuer).into();
    next_server_place(inner, attempt, resource, places)
}

fn next_server_place(
    inner: &mut Inner,
    attempt: Attempt,
    resource: Resource,
    mut places: VecDeque<String>,
) -> Step {
    let Some(place) = places.pop_front() else {
        return Err(AuthorizationFailure::NoServerMetadata { issuer: resource.issuer });
    };
    ask_at(inner, FetchPurpose::ServerMetadata, &place)?;
    Ok(Activity::FindingServer { attempt, resource, places })
}

/// Parses the metadata of the authorization server. An unusable document ends the search; the other URLs are not
/// tried for a more suitable one.
pub(super) fn server_fetched(
    inner: &mut Inner,
    attempt: Attempt,
    resource: Resource,
    places: VecDeque<String>,
    response: FetchedResponse<'_>,
    now: Instant,
) -> Step {
    let issuer = &resource.issuer;
    let read = match response.is_success() {
        true => ServerMetadata::read(response.body, issuer),
        false => Ok(None),
    };
    let server = match read {
        Ok(Some(server)) => server,
        Ok(None) if resource.is_fallback => without_document(inner)?,
        Ok(None) => return next_server_place(inner, attempt, resource, places),
        Err(Unusable::Issuer) => {
            let place = IssuerPlace::Metadata;
            let expected = resource.issuer;
            return Err(AuthorizationFailure::IssuerMismatch { place, expected });
        }
        Err(Unusable::Member(member)) => return Err(unusable(issuer, member)),
    };
    check_server(inner, &server, resource.is_fallback)?;
    found(inner, Found { attempt, resource, server }, now)
}

fn without_document(inner: &Inner) -> Result<ServerMetadata, AuthorizationFailure> {
    let missing = AuthorizationFailure::NoResourceMetadata;
    ServerMetadata::without_document(&inner.config.server).ok_or(missing)
}

/// Checks that the server supports the flow, at usable URLs.
fn check_server(
    inner: &Inner,
    server: &ServerMetadata,
    is_fallback: bool,
) -> Result<(), AuthorizationFailure> {
    for (member, url) in server.fetched() {
        inner.check(member, url)?;
    }
    let grant = match &inner.config.flow {
        Flow::AuthorizationCode => {
            let endpoint = server.authorization_endpoint.as_ref();
            let endpoint =
                endpoint.ok_or_else(|| unusable(&server.issuer, "authorization_endpoint"))?;
            if !endpoint.is_https() && !endpoint.is_loopback() {
                return Err(unusable(&server.issuer, "authorization_endpoint"));
            }
            // A page on this computer may belong to another program.
            if endpoint.is_loopback() {
                inner.check("authorization_endpoint", endpoint)?;
            }
            if !server.has_code_response() {
                return Err(unusable(&server.issuer, "response_types_supported"));
            }
            // Metadata of 2025-03-26 need not declare PKCE.
            if !server.has_pkce && !is_fallback {
                return Err(AuthorizationFailure::NoPkce);
            }
            "authorization_code"
        }
        Flow::ClientCredentials => "client_credentials",
        Flow::Enterprise(_) => {
            let profiles = &server.grant_profiles;
            if profiles.iter().any(|it| it == ID_JAG_PROFILE) {
                return Ok(());
            }
            if !profiles.is_empty() {
                return Err(AuthorizationFailure::Unsupported(ID_JAG_PROFILE));
            }
            JWT_BEARER
        }
    };
    if !server.has_grant(grant) {
        return Err(unusable(&server.issuer, "grant_types_supported"));
    }
    Ok(())
}

/// Continues with the discovered servers. A token is refreshed if another one of its kind can serve. A token of another
/// issuer, or for another resource, is discarded. If the server only counts as its own authorization server, a token of
/// another issuer stays until a login replaces it.
pub(super) fn found(inner: &mut Inner, found: Found, now: Instant) -> Step {
    let is_step_up = found.attempt.is_step_up;
    match &inner.saved.grant {
        // Missing metadata do not prove that the issuer of the tokens is no longer that of the server.
        Some(grant) if grant.issuer != found.server.issuer && found.resource.is_fallback => {}
        Some(grant) if grant.issuer != found.server.issuer => {
            inner.saved.grant = None;
            inner.save();
        }
        // A failed step-up leaves the earlier tokens in use.
        Some(grant) if grant.resource != found.resource.name && !is_step_up => {
            inner.saved.grant = None;
            inner.save();
        }
        Some(grant) if found.is_served_by_refresh(grant) && !is_step_up => {
            return Ok(inner.claim(Refresh { found: Some(Box::new(found)) }));
        }
        Some(grant)
            if is_step_up
                && found.attempt.challenged.is_none()
                && grant.requested.covers(&inner.wanted_scopes(&found)) =>
        {
            return Err(AuthorizationFailure::ScopeUnavailable(String::new()));
        }
        _ => {}
    }
    identify(inner, Box::new(found), now)
}

fn ask_at(
    inner: &mut Inner,
    purpose: FetchPurpose,
    place: &str,
) -> Result<(), AuthorizationFailure> {
    let url = WebUrl::parse(place).map_err(|error| {
        let reason = NotAllowed::Url(error);
        AuthorizationFailure::NotAllowed { place: purpose.place(), reason }
    })?;
    inner.ask_for(purpose, &url)
}

fn unusable(issuer: &str, member: &'static str) -> AuthorizationFailure {
    AuthorizationFailure::UnusableMetadata { issuer: issuer.into(), member }
}

/// The grant profile of enterprise-managed authorization.
const ID_JAG_PROFILE: &str = "urn:ietf:params:oauth:grant-profile:id-jag";
