//! Access tokens for the client of the conformance suite. No user sits at a browser, so the client follows the
//! redirect itself.

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper::header::LOCATION;
use mcp_sansio::auth::{
    AuthorizerConfig, BrowserUrl, ClientMetadata, ConfiguredClient, Flow, IdentityProvider, Secret,
    Signing,
};
use mcp_sansio_http::{Authorization, AuthorizationHost, HostFuture, Transport, plain};
use p256::ecdsa::signature::Signer;
use p256::ecdsa::{Signature, SigningKey};
use p256::pkcs8::DecodePrivateKey;
use serde_json::Value;

use crate::Failure;

/// The client ID metadata document that the suite expects, which is never fetched.
const METADATA_DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
const REDIRECT_URI: &str = "http://localhost:3000/callback";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";

/// The user, the owner of the signing key, and the client of the identity provider.
struct Host {
    key: Option<SigningKey>,
    id_token: Option<String>,
}

impl AuthorizationHost for Host {
    fn open_url<'a>(
        &'a self,
        url: &'a BrowserUrl,
        authorization: &'a Authorization,
    ) -> HostFuture<'a, ()> {
        Box::pin(async {
            match visit(url.as_str()).await {
                Ok(location) => drop(authorization.redirected(&location)),
                Err(error) => {
                    eprintln!("conformance_client: {error}");
                    authorization.abandon();
                }
            }
        })
    }

    fn redirect_uri(&self) -> Option<String> {
        Some(REDIRECT_URI.into())
    }

    fn sign<'a>(&'a self, signing: &'a Signing) -> HostFuture<'a, Option<Vec<u8>>> {
        Box::pin(async {
            let signature: Signature = self.key.as_ref()?.sign(signing.input.as_bytes());
            Some(signature.to_bytes().to_vec())
        })
    }

    fn assertion(&self) -> HostFuture<'_, Option<(Secret, String)>> {
        let token =
            self.id_token.as_ref().map(|token| (Secret::new(token.as_str()), ID_TOKEN.into()));
        Box::pin(async { token })
    }
}

/// Requests a page as a browser would, and returns the target of the redirect.
async fn visit(url: &str) -> Result<String, Failure> {
    let request = Request::get(url).body(Full::new(Bytes::new()))?;
    let response = plain().send(request).await?;
    let location = response.headers().get(LOCATION).ok_or("there is no redirect")?;
    Ok(location.to_str()?.into())
}

/// Creates the authorization for a scenario.
pub(crate) fn authorization(
    url: &str,
    scenario: &str,
    context: &Value,
) -> Result<Authorization, Failure> {
    let text = |name: &str| context.get(name).and_then(Value::as_str).map(String::from);
    let mut config = AuthorizerConfig::new(url)?;
    config.registration = Some(ClientMetadata::native("conformance-client"));
    config.metadata_document(METADATA_DOCUMENT)?;
    config.offline_access = true;
    if let Some(client_id) = text("client_id") {
        let mut client = ConfiguredClient::new(client_id);
        client.secret = text("client_secret").map(Secret::new);
        if context.get("private_key_pem").is_some() {
            client = client.key(text("signing_algorithm").unwrap_or_else(|| "ES256".into()), None);
        }
        config.clients.push(client);
    }
    if scenario.starts_with("auth/client-credentials") {
        config.flow = Flow::ClientCredentials;
    }
    if let Some(endpoint) = text("idp_token_endpoint") {
        let client_id = text("idp_client_id").unwrap_or_default();
        config.flow = Flow::Enterprise(IdentityProvider::new(&endpoint, client_id)?);
    }
    let key = text("private_key_pem").map(|pem| SigningKey::from_pkcs8_pem(&pem)).transpose()?;
    Ok(Authorization::new(config, Host { key, id_token: text("idp_id_token") }))
}
