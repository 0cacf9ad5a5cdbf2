//! Client registration ([RFC 7591](https://www.rfc-editor.org/rfc/rfc7591),
//! [client ID metadata documents](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration#client-id-metadata-documents)).

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use serde::Serialize;

use super::object::{Object, WrongType};
use crate::auth::client::config::ClientMetadata;
use crate::auth::{ClientAuthentication, Scopes, Secret};
use crate::time::Instant;

/// The members of a registration request and of a client ID metadata document.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<&'a str>,
    client_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_uri: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logo_uri: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jwks_uri: Option<&'a str>,
    redirect_uris: &'a [&'a str],
    grant_types: [&'static str; 2],
    response_types: [&'static str; 1],
    token_endpoint_auth_method: &'a str,
    application_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
}

/// Returns the body of a registration request.
pub(in crate::auth) fn request(
    client: &ClientMetadata,
    redirect_uri: &str,
    method: ClientAuthentication,
    scopes: &Scopes,
) -> String {
    let scope = (!scopes.is_empty()).then(|| scopes.to_string());
    document(client, None, &[redirect_uri], method, scope)
}

/// Returns the text of a client ID metadata document.
pub(in crate::auth) fn metadata_document(
    client: &ClientMetadata,
    url: &str,
    redirect_uris: &[&str],
) -> String {
    let method = match client.jwks_uri {
        Some(_) => ClientAuthentication::PrivateKeyJwt,
        None => ClientAuthentication::None,
    };
    document(client, Some(url), redirect_uris, method, None)
}

fn document(
    client: &ClientMetadata,
    client_id: Option<&str>,
    redirect_uris: &[&str],
    method: ClientAuthentication,
    scope: Option<String>,
) -> String {
    let document = Document {
        client_id,
        client_name: &client.name,
        client_uri: client.uri.as_deref(),
        logo_uri: client.logo_uri.as_deref(),
        jwks_uri: client.jwks_uri.as_deref(),
        redirect_uris,
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: method.name(),
        application_type: client.application_type.name(),
        scope,
    };
    // A document of strings always serializes.
    serde_json::to_string(&document).unwrap_or_default()
}

/// The client as the server registered it. The server may have changed the requested metadata.
pub(in crate::auth) struct Registered {
    pub(in crate::auth) client_id: String,
    pub(in crate::auth) secret: Option<Secret>,
    pub(in crate::auth) secret_expires_at: Option<Instant>,
    /// `None` if the response omits it.
    pub(in crate::auth) method: Option<ClientAuthentication>,
    /// `None` if the response omits them.
    pub(in crate::auth) redirect_uris: Option<Vec<String>>,
}

impl Registered {
    /// Parses the response. Fails with the name of the member that is missing or invalid.
    pub(in crate::auth) fn read(body: &[u8]) -> Result<Self, &'static str> {
        let object = Object::read(body).ok_or("client_id")?;
        let member = |WrongType(member)| member;
        let expires = object.seconds("client_secret_expires_at").filter(|seconds| *seconds > 0);
        let method = object.text("token_endpoint_auth_method").map_err(member)?;
        let method = method
            .map(|name| ClientAuthentication::named(name).ok_or("token_endpoint_auth_method"));
        let client_id = object.text("client_id").map_err(member)?;
        Ok(Self {
            client_id: client_id.filter(|id| !id.is_empty()).ok_or("client_id")?.into(),
            secret: object.text("client_secret").map_err(member)?.map(Secret::new),
            secret_expires_at: expires.map(|at| Instant::EPOCH + Duration::from_secs(at)),
            method: method.transpose()?,
            redirect_uris: object.texts("redirect_uris").map_err(member)?,
        })
    }
}
