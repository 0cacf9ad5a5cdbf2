//! The metadata of a server (RFC 8414, OpenID Connect Discovery).

use serde_json::json;

use super::misbehaviour::{GARBAGE, HUGE};
use super::{AuthorizationServer, MetadataPlace, Misbehaviour, Response};

impl AuthorizationServer {
    pub(super) fn metadata(&self) -> Response {
        if self.is(Misbehaviour::GarbageMetadata) {
            return Response::text(200, GARBAGE);
        }
        let options = &self.options;
        let issuer = match self.is(Misbehaviour::OtherIssuer) {
            true => "https://other.example",
            false => &options.issuer,
        };
        let methods: Vec<&str> =
            options.authentication.iter().map(|method| method.name()).collect();
        let mut document = json!({
            "issuer": issuer,
            "authorization_endpoint": options.endpoint("authorize"),
            "token_endpoint": options.endpoint("token"),
            "jwks_uri": options.endpoint("jwks"),
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
            "token_endpoint_auth_methods_supported": methods,
            "authorization_response_iss_parameter_supported": true,
            "client_id_metadata_document_supported": options.takes_metadata_documents,
        });
        if !self.is(Misbehaviour::NoPkce) {
            document["code_challenge_methods_supported"] = json!(["S256"]);
        }
        if options.registers {
            document["registration_endpoint"] = options.endpoint("register").into();
        }
        if !options.scopes.is_empty() {
            document["scopes_supported"] = options.scopes.clone().into();
        }
        if options.metadata != MetadataPlace::OAuth {
            document["subject_types_supported"] = json!(["public"]);
            document["id_token_signing_alg_values_supported"] = json!(["ES256"]);
        }
        if self.is(Misbehaviour::HugeMetadata) {
            document["padding"] = "x".repeat(HUGE).into();
        }
        Response::json(200, &document)
    }
}
