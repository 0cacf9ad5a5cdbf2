//! Documents, saved states and results that the authorizer cannot use.

use mcp_sansio::auth::{
    AuthorizationFailure, AuthorizerConfig, Challenges, ConfiguredClient, Effect, FetchError,
    FetchPurpose, FetchedResponse, Flow, IdentityProvider, LoginMaterial, Saved, Secret, Stage,
};
use serde_json::{Value, json};

use crate::kit::{
    ISSUER, Lab, REDIRECT, SERVER, config, resource_metadata, server_metadata, tokens,
};

const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// Runs to the token request, and ends it with this response.
fn token_failure(body: &str) -> AuthorizationFailure {
    let mut lab = Lab::new(config());
    let opened = lab.until_browser("Bearer");
    let fetch = lab.agree(&opened);
    lab.answer_text(&fetch, 200, body);
    lab.failure()
}

/// A member that occurs twice has no certain value, so the whole document is refused.
#[test]
fn a_document_with_a_repeated_member_is_refused() {
    let twice = r#"{"access_token":"a","token_type":"Bearer","access_token":"b"}"#;
    assert_eq!(token_failure(twice), AuthorizationFailure::InvalidToken("access_token"));
    let twice = r#"{"access_token":"a","token_type":"Bearer","x":1,"x":1}"#;
    assert_eq!(token_failure(twice), AuthorizationFailure::InvalidToken("access_token"));

    let mut lab = Lab::new(config());
    lab.refused(401, "Bearer");
    let fetch = lab.fetch();
    let document = resource_metadata().to_string();
    lab.answer_text(
        &fetch,
        200,
        &document.replacen('{', &format!(r#"{{"resource":"{SERVER}","#), 1),
    );
    let next = lab.fetch();
    assert_eq!(next.purpose, FetchPurpose::ResourceMetadata);
    assert_eq!(next.url, "https://mcp.example/.well-known/oauth-protected-resource");
}

/// A body may have the length that the configuration allows.
#[test]
fn a_document_that_is_too_long_is_refused() {
    let document = resource_metadata().to_string();
    for most_bytes in [document.len(), document.len() - 1] {
        let mut config = config();
        config.most_bytes = most_bytes;
        let mut lab = Lab::new(config);
        lab.refused(401, "Bearer");
        let fetch = lab.fetch();
        lab.answer_text(&fetch, 200, &document);
        if most_bytes == document.len() {
            assert_eq!(lab.fetch().purpose, FetchPurpose::ServerMetadata);
        } else {
            let place = "the metadata of the server";
            assert_eq!(lab.failure(), AuthorizationFailure::TooLarge { place });
        }
    }
}

/// An error of OAuth comes with the status of an error.
#[test]
fn an_error_with_another_status_is_unexpected() {
    let mut lab = Lab::new(config());
    let opened = lab.until_browser("Bearer");
    let fetch = lab.agree(&opened);
    lab.answer(&fetch, 302, &json!({ "error": "invalid_grant" }));
    let place = "the token endpoint";
    assert_eq!(lab.failure(), AuthorizationFailure::UnexpectedStatus { place, status: 302 });
}

/// The metadata of the resource name an authorization server by a text that is no URL.
#[test]
fn an_issuer_that_is_no_url_is_refused() {
    for issuer in ["as.example", "", "https://", "https://as.example:99999"] {
        let mut lab = Lab::new(config());
        lab.refused(401, "Bearer");
        lab.serve(200, &json!({ "resource": SERVER, "authorization_servers": [issuer] }));
        let failure = lab.failure();
        let AuthorizationFailure::NotAllowed { place, .. } = &failure else {
            panic!("{issuer}: {failure}");
        };
        assert_eq!(*place, "the metadata of the authorization server", "{issuer}");
        let reason = failure.to_string();
        assert!(
            reason.starts_with("the metadata of the authorization server must not be fetched: ")
        );
    }
}

/// A registration response whose members have other types is refused with the name of the member.
#[test]
fn a_registration_with_members_of_other_types_is_refused() {
    for (member, value) in [
        ("client_id", json!(7)),
        ("client_secret", json!(7)),
        ("token_endpoint_auth_method", json!(["none"])),
        ("token_endpoint_auth_method", json!("tls_client_auth")),
        ("redirect_uris", json!(REDIRECT)),
        ("redirect_uris", json!([REDIRECT, 7])),
    ] {
        let mut lab = Lab::new(config());
        lab.refused(401, "Bearer");
        lab.discover(&resource_metadata(), &server_metadata());
        lab.prepared();
        let mut body = json!({ "client_id": "c" });
        body[member] = value;
        lab.serve(201, &body);
        let AuthorizationFailure::RegistrationRefused(error) = lab.failure() else {
            panic!("{body} is taken");
        };
        let description = format!("{member} in the answer cannot be used");
        assert_eq!(error.description, Some(description), "{body}");
        assert_eq!(
            error.to_string(),
            format!(r#"invalid_client_metadata ("{member} in the answer cannot be used")"#)
        );
    }
}

/// A server that registers clients has to support one of the ways to authenticate that need no key.
#[test]
fn a_registration_needs_a_way_to_authenticate() {
    let mut server = server_metadata();
    server["token_endpoint_auth_methods_supported"] = json!(["tls_client_auth"]);
    let mut lab = Lab::new(config());
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server);
    lab.prepared();
    let failure = AuthorizationFailure::Unsupported("the way to authenticate");
    assert_eq!(lab.failure(), failure);
}

/// Saves a registration, and logs in with this configuration and this server by another redirect URI.
fn log_in_elsewhere(config: AuthorizerConfig, server: &Value) -> Lab {
    let mut before = Lab::new(crate::kit::config());
    before.log_in(&json!({ "access_token": "t", "token_type": "Bearer" }));
    let mut lab = Lab::new(config);
    lab.authorizer.restore(before.saved.unwrap());
    let generation = lab.generation();
    lab.refused_with(401, "Bearer", "", generation);
    lab.discover(&resource_metadata(), server);
    let (job, registered) = lab.prepare();
    assert_eq!(registered.as_deref(), Some(REDIRECT));
    let material = LoginMaterial::new([7; 64], "https://other.example/callback");
    lab.authorizer.login_prepared(job, &material, lab.now);
    lab
}

/// A registered client whose redirect URI no longer fits is registered again, which is not always possible.
#[test]
fn a_client_that_cannot_be_registered_again_is_refused() {
    let mut lab = log_in_elsewhere(config(), &server_metadata());
    assert_eq!(lab.fetch().purpose, FetchPurpose::Registration);
    let refused = AuthorizationFailure::NoRegistration { issuer: ISSUER.into() };
    let mut without = config();
    without.registration = None;
    assert_eq!(log_in_elsewhere(without, &server_metadata()).failure(), refused);
    let mut server = server_metadata();
    server["registration_endpoint"] = Value::Null;
    assert_eq!(log_in_elsewhere(config(), &server).failure(), refused);
}

/// The token endpoint of a saved grant is checked before the refresh token is sent to it. The metadata name another one.
#[test]
fn a_saved_token_endpoint_that_is_no_url_is_not_used() {
    let mut before = Lab::new(config());
    before.log_in(&tokens());
    let text = before.saved.unwrap().to_text().expose().to_owned();
    for (endpoint, is_used) in [("https://as.example/token", true), ("as.example/token", false)] {
        let altered = text.replace("https://as.example/token", endpoint);
        let mut lab = Lab::new(config());
        lab.authorizer.restore(Saved::from_text(&altered).unwrap());
        lab.wait(3600);
        let key = lab.key();
        lab.authorizer.permit(key, SERVER, lab.now);
        lab.claim(None);
        if !is_used {
            assert_eq!(lab.effect(), Some(Effect::Unclaim));
            lab.discover(&resource_metadata(), &server_metadata());
            lab.claim(None);
        }
        let fetch = lab.fetch();
        assert_eq!(fetch.purpose, FetchPurpose::Refresh);
        assert_eq!(fetch.url, "https://as.example/token");
    }
}

/// The response to a token exchange contains the assertion as `access_token`.
#[test]
fn a_token_exchange_without_an_assertion_is_refused() {
    for body in [
        json!({ "issued_token_type": ID_JAG }),
        json!({ "issued_token_type": ID_JAG, "access_token": 7 }),
        json!([ID_JAG]),
    ] {
        let mut config = config();
        let provider = IdentityProvider::new("https://idp.corp.example/token", "i").unwrap();
        config.flow = Flow::Enterprise(provider);
        config.clients.push(ConfiguredClient::new("c").secret("s"));
        let mut lab = Lab::new(config);
        lab.refused(401, "Bearer");
        lab.discover(&resource_metadata(), &server_metadata());
        let Some(Effect::NeedAssertion { job }) = lab.effect() else { panic!("no assertion") };
        lab.authorizer.assertion_given(job, &Secret::new("id-token"), ID_TOKEN, lab.now);
        lab.serve(200, &body);
        assert_eq!(lab.failure(), AuthorizationFailure::InvalidToken("access_token"), "{body}");
    }
}

/// A result of another kind than the current job waits for changes nothing: the job still takes its own result.
#[test]
fn a_result_of_another_kind_changes_nothing() {
    let mut lab = Lab::new(config());
    let key = lab.refused(401, "Bearer");
    let fetch = lab.fetch();
    let job = fetch.job;
    let material = LoginMaterial::new([7; 64], REDIRECT);
    lab.authorizer.login_prepared(job, &material, lab.now);
    lab.authorizer.client_named(job, ConfiguredClient::new("c"), lab.now);
    lab.authorizer.assertion_given(job, &Secret::new("a"), ID_TOKEN, lab.now);
    lab.authorizer.signed(job, b"signature", lab.now);
    lab.authorizer.claimed(job, None, lab.now);
    lab.authorizer.job_failed(job, lab.now);
    assert_eq!(lab.authorizer.stage(), Stage::FindingResource);
    assert_eq!(lab.effect(), None);
    lab.answer(&fetch, 200, &resource_metadata());
    lab.serve(200, &server_metadata());
    let (job, _) = lab.prepare();
    lab.authorizer.fetched(job, FetchedResponse::new(200, b"{}"), lab.now);
    assert_eq!(lab.effect(), None);
    lab.authorizer.login_prepared(job, &material, lab.now);
    assert_eq!(lab.fetch().purpose, FetchPurpose::Registration);
    lab.authorizer.forget(key);
}

/// The host could not lock its storage, so the token is not refreshed.
#[test]
fn a_storage_that_cannot_be_locked_is_reported() {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    lab.wait(3600);
    let key = lab.key();
    lab.authorizer.permit(key, SERVER, lab.now);
    let Some(Effect::Claim { job }) = lab.effect() else { panic!("no claim") };
    lab.authorizer.job_failed(job, lab.now);
    assert_eq!(lab.failure(), AuthorizationFailure::Host("lock the storage"));
}

/// A forgotten request is not released, although its release waits to be polled.
#[test]
fn a_forgotten_request_is_not_released() {
    let mut lab = Lab::new(config());
    let first = lab.refused(401, "Bearer");
    let second = lab.refused(401, "Bearer");
    let fetch = lab.fetch();
    lab.fail(&fetch, FetchError::TooLarge);
    lab.authorizer.forget(first);
    let released: Vec<_> = lab.released().into_iter().map(|(request, _)| request).collect();
    assert_eq!(released, [second]);
}

/// The secret of a registered client is stored, and used after a restart.
#[test]
fn a_registered_secret_survives_a_restart() {
    let mut lab = Lab::new(config());
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server_metadata());
    lab.prepared();
    let body = json!({ "client_id": "c", "client_secret": "s", "token_endpoint_auth_method": "client_secret_basic" });
    lab.serve(201, &body);
    let opened = lab.opened();
    let fetch = lab.agree(&opened);
    assert_eq!(fetch.authorization.as_ref().map(Secret::expose), Some("Basic Yzpz"));
    lab.answer(&fetch, 200, &tokens());
    while lab.effect().is_some() {}
    let saved = lab.saved.unwrap();
    let text = saved.to_text().expose().to_owned();
    let mut lab = Lab::new(config());
    lab.authorizer.restore(Saved::from_text(&text).unwrap());
    assert_eq!(Saved::from_text(&text), Ok(saved));
    lab.wait(3600);
    let key = lab.key();
    lab.authorizer.permit(key, SERVER, lab.now);
    lab.claim(None);
    let fetch = lab.fetch();
    assert_eq!(fetch.authorization.as_ref().map(Secret::expose), Some("Basic Yzpz"));
}

/// Promise 10: `Debug` shows no secret of a login and no body of a response.
#[test]
fn debug_shows_no_secret() {
    let material = LoginMaterial::new([0x5e; 64], REDIRECT);
    let shown = format!("{material:?}");
    assert_eq!(shown, format!(r#"LoginMaterial {{ redirect_uri: "{REDIRECT}", .. }}"#));
    let response = format!("{:?}", FetchedResponse::new(200, b"s3cr3t"));
    assert!(response.contains("200") && !response.contains("s3cr3t"), "{response}");
    let challenges = Challenges::parse(r#"Bearer error="invalid_token", error_description="old""#);
    assert_eq!(challenges.bearer().unwrap().error_description(), Some("old"));
    assert_eq!((&challenges).into_iter().count(), 1);
}
