//! The endpoint as a resource server.

use std::io;
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use mcp_sansio::auth::resource_server::{Operation, ProtectedResource};
use mcp_sansio::auth::{Scopes, WebUrl};
use mcp_sansio_http::{JwtVerifier, Protection, Transport, plain};
use serde_json::Value;

/// The maximum length of a document of an authorization server in bytes.
const DOCUMENT_BYTES: usize = 64 << 10;

/// The timeout of a request to an authorization server.
const WITHIN: Duration = Duration::from_secs(10);

/// Requires a token of this issuer for this URL: with the scope `mcp:use`, and `mcp:tools` to call a tool.
pub(crate) fn protection(url: &str, issuer: &str) -> io::Result<Protection> {
    let resource = ProtectedResource::new(url, issuer).map_err(io::Error::other)?;
    let resource = resource
        .scopes(Scopes::parse("mcp:use"))
        .supported_scopes(Scopes::parse("mcp:tools"))
        .name("Everything");
    let issuer = issuer.to_owned();
    let verifier = JwtVerifier::fetching(move || keys(issuer.clone()));
    Ok(Protection::new(resource, verifier).scopes_for(scopes_for))
}

fn scopes_for(operation: &Operation<'_>) -> Scopes {
    if operation.method == "tools/call" { Scopes::parse("mcp:tools") } else { Scopes::none() }
}

/// Fetches the keys of an issuer from the URL in its metadata.
async fn keys(issuer: String) -> io::Result<String> {
    let url = WebUrl::parse(&issuer).map_err(io::Error::other)?;
    let (origin, path) = (url.origin_text(), url.path().trim_end_matches('/'));
    let places = [
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{origin}/.well-known/openid-configuration{path}"),
        format!("{origin}{path}/.well-known/openid-configuration"),
    ];
    for place in places {
        let Ok(text) = get(&place).await else { continue };
        let metadata: Value = serde_json::from_str(&text)?;
        let member = |name| metadata.get(name).and_then(Value::as_str);
        if member("issuer") == Some(&*issuer)
            && let Some(place) = member("jwks_uri")
        {
            return get(place).await;
        }
    }
    Err(io::Error::other("the authorization server has no metadata with `jwks_uri`"))
}

async fn get(url: &str) -> io::Result<String> {
    let request = hyper::Request::get(url).body(Default::default()).map_err(io::Error::other)?;
    let exchange = async {
        let response = plain().send(request).await.map_err(io::Error::other)?;
        if !response.status().is_success() {
            return Err(io::Error::other(format!("{url}: status {}", response.status())));
        }
        let body = Limited::new(response.into_body(), DOCUMENT_BYTES).collect().await;
        let body = body.map_err(io::Error::other)?.to_bytes();
        String::from_utf8(body.to_vec()).map_err(io::Error::other)
    };
    tokio::time::timeout(WITHIN, exchange).await?
}
