//! Clients that act on their own behalf, or for an organisation.

use std::time::Duration;

use mcp_sansio::auth::{
    AuthorizationFailure, AuthorizerConfig, ConfiguredClient, Effect, FetchError, FetchPurpose,
    Flow, IdentityProvider, Secret, Stage, UrlError, Verdict,
};
use serde_json::{Value, json};

use crate::kit::{ISSUER, Lab, SERVER, config, field, pairs, resource_metadata, server_metadata};

fn server(methods: Value) -> Value {
    let mut server = server_metadata();
    server["token_endpoint_auth_methods_supported"] = methods;
    server["grant_types_supported"] = json!(["client_credentials"]);
    server["code_challenge_methods_supported"] = Value::Null;
    server["authorization_endpoint"] = Value::Null;
    server
}

fn for_itself(client: ConfiguredClient) -> AuthorizerConfig {
    let mut config = config();
    config.flow = Flow::ClientCredentials;
    config.clients.push(client);
    config
}

/// Proves A-EXT-02, A-EXT-04, A-EXT-01: the extension is used only if it is configured.
#[test]
fn a_client_with_a_secret_acts_for_itself() {
    let mut lab = Lab::new(for_itself(ConfiguredClient::new("c").secret("s")));
    let key = lab.refused(401, r#"Bearer scope="a""#);
    lab.discover(&resource_metadata(), &server(json!(["client_secret_basic"])));
    let fetch = lab.fetch();
    let expected = [("grant_type", "client_credentials"), ("resource", SERVER), ("scope", "a")];
    assert_eq!(pairs(&fetch), expected.map(|(name, value)| (name.into(), value.into())));
    assert_eq!(fetch.authorization.as_ref().map(Secret::expose), Some("Basic Yzpz"));
    let tokens = json!({
        "access_token": "t", "token_type": "Bearer", "expires_in": 60, "refresh_token": "not for it",
    });
    lab.answer(&fetch, 200, &tokens);
    assert_eq!(lab.released(), [(key, Verdict::Send)]);
    lab.authorizer.accepted(Some(1), None);
    assert_eq!(lab.authorizer.poll_timeout(), None);
    lab.wait(60);
    lab.refused(401, r#"Bearer scope="a""#);
    lab.discover(&resource_metadata(), &server(json!(["client_secret_basic"])));
    assert_eq!(field(&lab.fetch(), "grant_type").as_deref(), Some("client_credentials"));
    assert_eq!(config().flow, Flow::AuthorizationCode);
}

/// Decodes the parts of a signed text.
fn decoded(input: &str) -> Vec<Value> {
    let decode = |part: &str| {
        let symbols = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let bits = part.bytes().map(|byte| symbols.iter().position(|it| *it == byte).unwrap());
        let bits: String = bits.map(|value| format!("{value:06b}")).collect();
        let bytes = bits.as_bytes().chunks_exact(8);
        let bytes = bytes.map(|bits| u8::from_str_radix(str::from_utf8(bits).unwrap(), 2).unwrap());
        serde_json::from_slice(&bytes.collect::<Vec<_>>()).unwrap()
    };
    input.split('.').map(decode).collect()
}

/// Proves A-TOK-06, A-EXT-02, A-EXT-03.
#[test]
fn a_client_with_a_key_signs() {
    let client = ConfiguredClient::new("c").key("ES256", Some("k1".into()));
    let mut lab = Lab::new(for_itself(client.clone()));
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server(json!(["private_key_jwt"])));
    let Some(Effect::Sign(signing)) = lab.effect() else { panic!("nothing to sign") };
    assert_eq!((&*signing.client_id, &*signing.algorithm), ("c", "ES256"));
    let [header, claims] = &decoded(&signing.input)[..] else { panic!("two parts") };
    assert_eq!(header, &json!({ "alg": "ES256", "typ": "JWT", "kid": "k1" }));
    assert_eq!(
        (&claims["iss"], &claims["sub"], &claims["aud"]),
        (&json!("c"), &json!("c"), &json!(ISSUER))
    );
    assert_eq!((&claims["iat"], &claims["exp"]), (&json!(1_800_000_000), &json!(1_800_000_300)));
    let first = claims["jti"].as_str().unwrap().to_owned();
    lab.authorizer.signed(signing.job, &[251, 255], lab.now);
    let fetch = lab.fetch();
    let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    assert_eq!(field(&fetch, "client_assertion_type").as_deref(), Some(kind));
    assert_eq!(field(&fetch, "client_assertion"), Some(format!("{}.-_8", signing.input)));
    assert_eq!(fetch.authorization, None);
    lab.answer(&fetch, 503, &json!({}));
    lab.failure();
    // The wall clock has been set back.
    lab.authorizer.set_clock_lead(Duration::from_secs(3600));
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server(json!(["private_key_jwt"])));
    let Some(Effect::Sign(signing)) = lab.effect() else { panic!("nothing to sign") };
    let claims = decoded(&signing.input).remove(1);
    assert_ne!(claims["jti"], first, "each has its own");
    assert_eq!((&claims["iat"], &claims["exp"]), (&json!(1_799_996_400), &json!(1_799_996_700)));
    lab.authorizer.job_failed(signing.job, lab.now);
    assert_eq!(lab.failure(), AuthorizationFailure::Host("sign"));

    let refused = |server: Value, client: ConfiguredClient| {
        let mut lab = Lab::new(for_itself(client));
        lab.refused(401, "Bearer");
        lab.discover(&resource_metadata(), &server);
        lab.failure()
    };
    let way = AuthorizationFailure::Unsupported("the way to authenticate");
    assert_eq!(refused(server(json!(["client_secret_basic"])), client.clone()), way);
    let mut other = server(json!(["private_key_jwt"]));
    other["token_endpoint_auth_signing_alg_values_supported"] = json!(["RS256"]);
    let algorithm = AuthorizationFailure::Unsupported("the algorithm of the key");
    assert_eq!(refused(other, client), algorithm);
    let public = refused(server(json!(["none"])), ConfiguredClient::new("c"));
    assert!(matches!(public, AuthorizationFailure::Unsupported(_)));
    let mut code = server(json!(["client_secret_basic"]));
    code["grant_types_supported"] = json!(["authorization_code"]);
    let member = "grant_types_supported";
    let unusable = AuthorizationFailure::UnusableMetadata { issuer: ISSUER.into(), member };
    assert_eq!(refused(code, ConfiguredClient::new("c").secret("s")), unusable);
}

/// Proves A-EXT-02: a client that acts on its own behalf is not registered.
#[test]
fn a_client_that_acts_for_itself_is_not_registered() {
    let mut config = config();
    config.flow = Flow::ClientCredentials;
    let mut lab = Lab::new(config);
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server(json!(["client_secret_basic"])));
    assert_eq!(lab.failure(), AuthorizationFailure::NoRegistration { issuer: ISSUER.into() });
}

const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

fn enterprise() -> Lab {
    let mut config = config();
    let provider = IdentityProvider::new("https://idp.corp.example/token", "idp-client").unwrap();
    config.flow = Flow::Enterprise(provider);
    config.clients.push(ConfiguredClient::new("c").secret("s"));
    Lab::new(config)
}

/// Proves A-EXT-05, A-EXT-06, A-EXT-08.
#[test]
fn an_organisation_agrees_for_its_user() {
    let mut lab = enterprise();
    let key = lab.refused(401, r#"Bearer scope="a""#);
    lab.discover(&resource_metadata(), &server_metadata());
    let Some(Effect::NeedAssertion { job }) = lab.effect() else {
        panic!("no assertion is wanted")
    };
    lab.authorizer.assertion_given(job, &Secret::new("id-token"), ID_TOKEN, lab.now);
    let fetch = lab.fetch();
    assert_eq!(
        (fetch.purpose, &*fetch.url),
        (FetchPurpose::Assertion, "https://idp.corp.example/token")
    );
    let expected = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("requested_token_type", ID_JAG),
        ("audience", ISSUER),
        ("subject_token", "id-token"),
        ("subject_token_type", ID_TOKEN),
        ("resource", SERVER),
        ("scope", "a"),
        ("client_id", "idp-client"),
    ];
    assert_eq!(pairs(&fetch), expected.map(|(name, value)| (name.into(), value.into())));
    let jag = json!({ "issued_token_type": ID_JAG, "access_token": "jag", "token_type": "N_A" });
    lab.answer(&fetch, 200, &jag);
    let fetch = lab.fetch();
    assert_eq!(fetch.url, "https://as.example/token");
    let grant = "urn:ietf:params:oauth:grant-type:jwt-bearer";
    assert_eq!(field(&fetch, "grant_type").as_deref(), Some(grant));
    assert_eq!(field(&fetch, "assertion").as_deref(), Some("jag"));
    assert_eq!(fetch.authorization.as_ref().map(Secret::expose), Some("Basic Yzpz"));
    lab.answer(&fetch, 200, &json!({ "access_token": "t", "token_type": "Bearer" }));
    assert_eq!(lab.released(), [(key, Verdict::Send)]);
    let saved = lab.saved.clone().expect("it is saved");
    assert!(!saved.to_text().expose().contains("jag"), "assertions are not kept");
}

/// The application has configured the identity provider itself, so it may be in a private network.
#[test]
fn a_private_identity_provider_is_asked() {
    let mut config = config();
    let provider = IdentityProvider::new("https://10.0.0.5/token", "idp-client").unwrap();
    config.flow = Flow::Enterprise(provider);
    config.clients.push(ConfiguredClient::new("c").secret("s"));
    let mut lab = Lab::new(config);
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server_metadata());
    let Some(Effect::NeedAssertion { job }) = lab.effect() else {
        panic!("no assertion is wanted")
    };
    lab.authorizer.assertion_given(job, &Secret::new("id-token"), ID_TOKEN, lab.now);
    let fetch = lab.fetch();
    assert_eq!(fetch.url, "https://10.0.0.5/token");
    // A failure names the server that has caused it.
    lab.fail(&fetch, FetchError::TooLarge);
    let place = "the identity provider";
    assert_eq!(lab.failure(), AuthorizationFailure::TooLarge { place });
}

/// Proves A-EXT-05: the issued token must have the requested type.
#[test]
fn another_token_than_the_assertion_is_refused() {
    let mut lab = enterprise();
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server_metadata());
    let Some(Effect::NeedAssertion { job }) = lab.effect() else {
        panic!("no assertion is wanted")
    };
    lab.authorizer.assertion_given(job, &Secret::new("id-token"), ID_TOKEN, lab.now);
    lab.serve(200, &json!({ "issued_token_type": ID_TOKEN, "access_token": "x" }));
    assert_eq!(lab.failure(), AuthorizationFailure::InvalidToken("issued_token_type"));
}

/// Proves A-EXT-07: if the metadata list profiles, the list shows the support.
#[test]
fn a_server_that_has_other_profiles_does_not_support_it() {
    let with_grants = |profiles: Value, grants: Value| {
        let mut server = server_metadata();
        server["authorization_grant_profiles_supported"] = profiles;
        server["grant_types_supported"] = grants;
        let mut lab = enterprise();
        lab.refused(401, "Bearer");
        lab.discover(&resource_metadata(), &server);
        lab
    };
    let with = |profiles: Value| with_grants(profiles, Value::Null);
    let ours = "urn:ietf:params:oauth:grant-profile:id-jag";
    assert_eq!(with(json!([ours])).authorizer.stage(), Stage::AwaitingAssertion);
    assert_eq!(with(Value::Null).authorizer.stage(), Stage::AwaitingAssertion);
    assert_eq!(with(json!(["other"])).failure(), AuthorizationFailure::Unsupported(ours));
    // Without profiles, the list of grants shows the support.
    let (code, jwt) = ("authorization_code", "urn:ietf:params:oauth:grant-type:jwt-bearer");
    let supporting = with_grants(Value::Null, json!([code, jwt]));
    assert_eq!(supporting.authorizer.stage(), Stage::AwaitingAssertion);
    let (issuer, member) = (ISSUER.into(), "grant_types_supported");
    let failure = AuthorizationFailure::UnusableMetadata { issuer, member };
    assert_eq!(with_grants(Value::Null, json!([code])).failure(), failure);
    assert_eq!(
        with_grants(json!([ours]), json!([code])).authorizer.stage(),
        Stage::AwaitingAssertion
    );
}

/// Proves A-DISC-11: the request to an identity provider contains credentials.
#[test]
fn an_identity_provider_has_a_confidential_token_endpoint() {
    let created = |url| IdentityProvider::new(url, "idp-client").map(|provider| provider.client_id);
    for url in ["https://idp.example/token", "http://127.0.0.1:1/token", "http://[::1]/token"] {
        assert_eq!(created(url), Ok("idp-client".into()), "{url}");
    }
    for url in ["http://idp.example/token", "http://10.0.0.1/token", "ftp://idp.example/token"] {
        assert_eq!(created(url), Err(UrlError::Scheme), "{url}");
    }
}
