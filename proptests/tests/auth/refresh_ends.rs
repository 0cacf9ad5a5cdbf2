//! Refreshes that bring no new tokens, and tokens that expire without one.

use std::time::Duration;

use mcp_sansio::auth::{
    AuthorizationFailure, AuthorizerConfig, ConfiguredClient, Effect, FetchError, FetchPurpose,
    Permit, Saved, SigningKey, Stage, Verdict,
};
use serde_json::json;

use crate::kit::{Lab, SERVER, config, field, resource_metadata, server_metadata, tokens};

/// Returns a client so many seconds after its login.
fn logged_in_before(seconds: u64) -> Lab {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    lab.wait(seconds);
    lab
}

/// A token that is still good is not refreshed again at once.
#[test]
fn a_refresh_that_could_not_begin_is_tried_again_later() {
    let mut lab = logged_in_before(3540);
    let Some(Effect::Claim { job }) = lab.effect() else { panic!("no refresh") };
    lab.authorizer.job_failed(job, lab.now);
    assert_eq!(lab.released(), []);
    assert_eq!(lab.authorizer.poll_timeout(), Some(lab.now + Duration::from_secs(30)));
}

/// Proves A-REF-09: a refused refresh of a valid token is not repeated at once, although the storage has other times
/// than the client: whole seconds.
#[test]
fn a_refused_refresh_is_tried_again_later() {
    let mut lab = Lab::new(configured(ConfiguredClient::new("known").secret("secret")));
    lab.now = lab.now + Duration::from_millis(500);
    lab.log_in(&tokens());
    lab.wait(3540);
    let text = lab.saved.as_ref().unwrap().to_text();
    lab.claim(Some(Saved::from_text(text.expose()).unwrap()));
    lab.serve(401, &json!({ "error": "invalid_client" }));
    assert_eq!((lab.released(), lab.field().as_deref()), (Vec::new(), Some("Bearer t1")));
    assert_eq!(lab.authorizer.poll_timeout(), Some(lab.now + Duration::from_secs(30)));
}

/// The next request refreshes an expired token, so there is no deadline.
#[test]
fn an_expired_token_has_no_deadline() {
    let mut lab = logged_in_before(3600);
    assert_eq!((lab.authorizer.poll_timeout(), lab.effect()), (None, None));
}

/// Without a refresh token, an expired access token is of no use.
#[test]
fn a_refused_refresh_of_an_expired_token_leaves_no_tokens() {
    let mut lab = logged_in_before(3600);
    let key = lab.key();
    assert_eq!(lab.authorizer.permit(key, SERVER, lab.now), Permit::Wait);
    lab.claim(None);
    lab.serve(400, &json!({ "error": "invalid_grant" }));
    assert_eq!(lab.authorizer.granted(), None);
    assert_eq!(lab.effect(), Some(Effect::Unclaim));
    assert_eq!(lab.saved.as_ref().and_then(|saved| saved.scopes()), None);
    assert_eq!(lab.authorizer.stage(), Stage::FindingResource);
}

/// Returns a configuration with this client and no other source of a client id.
fn configured(client: ConfiguredClient) -> AuthorizerConfig {
    let mut config = AuthorizerConfig::new(SERVER).unwrap();
    config.clients.push(client);
    config
}

/// Returns a client with this configuration and the tokens of an earlier process, after they have expired. A request
/// waits for the refresh.
pub(crate) fn restarted(config: AuthorizerConfig, saved: &Saved) -> Lab {
    let mut lab = Lab::new(config);
    lab.authorizer.restore(saved.clone());
    lab.wait(7200);
    let key = lab.key();
    assert_eq!(lab.authorizer.permit(key, SERVER, lab.now), Permit::Wait);
    lab.claim(Some(saved.clone()));
    lab
}

/// Proves A-REF-01: the configuration has the current credentials of a client, the stored tokens have those of the
/// login. Without credentials in the configuration the stored ones remain.
#[test]
fn a_refresh_uses_the_credentials_that_are_configured_now() {
    let client = || ConfiguredClient::new("known");
    let mut lab = Lab::new(configured(client().secret("old")));
    lab.log_in(&tokens());
    let saved = lab.saved.unwrap();
    // `known:new` and `known:old` in base64.
    let (new, old) = ("Basic a25vd246bmV3", "Basic a25vd246b2xk");
    for (current, expected) in [
        (client().secret("new"), new),
        (client(), old),
        (ConfiguredClient::new("other").secret("new"), old),
        (client().secret("new").issuer("https://other.example"), old),
    ] {
        let mut lab = restarted(configured(current.clone()), &saved);
        let fetch = lab.serve(200, &tokens());
        let field = fetch.authorization.map(|field| field.expose().to_owned());
        assert_eq!(field.as_deref(), Some(expected), "{current:?}");
        assert_eq!(lab.released().len(), 1);
        let is_new = lab.saved.unwrap().to_text().expose().contains(r#""secret":"new""#);
        // The next process need not know the new secret.
        assert_eq!(is_new, expected == new, "{current:?}");
    }

    // A client that has replaced its secret by a key authenticates in another way.
    let mut lab = restarted(configured(client().key("ES256", None)), &saved);
    let Some(Effect::Sign(signing)) = lab.effect() else { panic!("nothing to sign") };
    lab.authorizer.signed(signing.job, b"signature", lab.now);
    let fetch = lab.fetch();
    assert_eq!((fetch.purpose, fetch.authorization.is_some()), (FetchPurpose::Refresh, false));
    assert!(field(&fetch, "client_assertion").is_some());
}

/// Proves A-REF-01 for a client that is identified by its metadata document.
#[test]
fn a_refresh_is_signed_with_the_key_that_is_configured_now() {
    let with_key = |key_id: &str| {
        let mut config = AuthorizerConfig::new(SERVER).unwrap();
        config.metadata_document("https://client.example/client.json").unwrap();
        config.document_key = Some(SigningKey::new("ES256", Some(key_id.into())));
        config
    };
    let mut lab = Lab::new(with_key("old"));
    let mut server = server_metadata();
    server["client_id_metadata_document_supported"] = json!(true);
    server["token_endpoint_auth_methods_supported"] = json!(["private_key_jwt"]);
    lab.log_in_signed(&server);

    let mut lab = restarted(with_key("new"), &lab.saved.unwrap());
    let Some(Effect::Sign(signing)) = lab.effect() else { panic!("nothing to sign") };
    assert_eq!(signing.key_id.as_deref(), Some("new"));
}

/// Proves A-REF-02, A-SEC-07: the endpoint of fresh metadata replaces the stored one, but only for tokens of the same
/// issuer.
#[test]
fn a_refresh_goes_to_the_token_endpoint_of_fresh_metadata() {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    let saved = lab.saved.clone().unwrap();
    let mut server = server_metadata();
    server["token_endpoint"] = json!("https://as.example/moved");
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server);

    // Meanwhile another process has stored tokens of another issuer, which are due as well.
    let text = saved.to_text().expose().replace("as.example", "two.example");
    let text = text.replace(r#""generation":1"#, r#""generation":2"#);
    let mut other = lab.clone();
    other.now = other.now + Duration::from_secs(3600);
    other.claim(Some(Saved::from_text(&text).unwrap()));
    assert_eq!(other.fetch().url, "https://two.example/token");

    lab.claim(Some(saved));
    let fetch = lab.serve(200, &tokens());
    assert_eq!((fetch.purpose, &*fetch.url), (FetchPurpose::Refresh, "https://as.example/moved"));
    assert_eq!(lab.released().len(), 1);
    assert!(lab.saved.unwrap().to_text().expose().contains("https://as.example/moved"));
}

/// Proves A-REF-09, A-REG-19: a refusal that would repeat itself ends with a new login, whatever its reason.
#[test]
fn a_refused_refresh_of_an_expired_token_leads_to_a_login() {
    let client = || configured(ConfiguredClient::new("known").secret("secret"));
    let mut lab = Lab::new(client());
    lab.log_in(&tokens());
    let saved = lab.saved.unwrap();
    let error = |code: &str| json!({ "error": code }).to_string();
    for (status, body) in [
        (401, error("invalid_client")),
        (400, error("unauthorized_client")),
        (400, error("invalid_target")),
        (400, error("invalid_scope")),
        (400, error("made_up")),
        (302, String::new()),
        (404, "<html>".into()),
        (404, "x".repeat(70_000)),
        (410, String::new()),
        (200, "{}".into()),
    ] {
        let mut lab = restarted(client(), &saved);
        let fetch = lab.fetch();
        lab.answer_text(&fetch, status, &body);
        assert_eq!(lab.effect(), Some(Effect::Unclaim), "{status} {body}");
        if body.starts_with(r#"{"error""#) {
            assert_eq!(lab.saved.as_ref().unwrap().scopes(), None, "{status} {body}");
            lab.discover(&resource_metadata(), &server_metadata());
        } else {
            // No authorization server has refused the token: its endpoint may have moved.
            assert_eq!(lab.authorizer.saved(), &saved, "{status} {body}");
            lab.discover(&resource_metadata(), &server_metadata());
            lab.claim(Some(saved.clone()));
            let fetch = lab.fetch();
            lab.answer_text(&fetch, status, &body);
            assert_eq!(lab.effect(), Some(Effect::Unclaim), "{status} {body}");
            assert_eq!(lab.saved.as_ref().unwrap().scopes(), None, "{status} {body}");
        }
        lab.prepared();
        assert_eq!(lab.opened().get("client_id"), "known");
    }
    let mut lab = restarted(client(), &saved);
    let fetch = lab.fetch();
    lab.fail(&fetch, FetchError::TooLarge);
    assert_eq!(lab.effect(), Some(Effect::Unclaim));
    assert_eq!(lab.authorizer.stage(), Stage::FindingResource);

    // A refusal that may not repeat itself loses nothing.
    for code in ["temporarily_unavailable", "server_error"] {
        let mut lab = restarted(client(), &saved);
        lab.serve(400, &json!({ "error": code }));
        assert!(matches!(lab.failure(), AuthorizationFailure::TokenRefused(_)));
        assert_eq!(lab.authorizer.saved(), &saved);
    }
}

/// A login that no request waits for would open a browser for nothing.
#[test]
fn a_refused_refresh_that_nothing_waits_for_opens_no_browser() {
    let mut lab = logged_in_before(0);
    let key = lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server_metadata());
    lab.claim(lab.saved.clone());
    let fetch = lab.fetch();
    lab.authorizer.forget(key);
    lab.answer(&fetch, 400, &json!({ "error": "invalid_grant" }));
    assert_eq!((lab.effect(), lab.effect()), (Some(Effect::Unclaim), None));
    assert_eq!(lab.authorizer.stage(), Stage::Idle);
    assert_eq!(lab.saved.as_ref().unwrap().scopes(), None);
}

/// Proves A-REF-09: a token that another process has refreshed in the meantime serves, although its own refresh is
/// refused.
#[test]
fn a_refused_refresh_of_a_valid_token_releases_requests_to_use_it() {
    let mut lab = Lab::new(configured(ConfiguredClient::new("known").secret("secret")));
    lab.log_in(&tokens());
    let stored = lab.saved.clone().unwrap().to_text().expose().replace("t1", "t2");
    let stored = Saved::from_text(&stored.replace(r#""generation":1"#, r#""generation":2"#));
    let key = lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server_metadata());
    // The tokens of the other process are due for a refresh, too.
    lab.now = lab.now + Duration::from_secs(3550);
    lab.claim(Some(stored.unwrap()));
    lab.serve(401, &json!({ "error": "invalid_client" }));
    assert_eq!(lab.released(), [(key, Verdict::Send)]);
    assert_eq!(lab.field().as_deref(), Some("Bearer t2"));
}

/// Proves A-REG-01, A-REG-19: the user names a client id if the server has forgotten the client and accepts no more
/// registrations.
#[test]
fn a_forgotten_client_that_cannot_be_registered_is_asked_for() {
    let mut config = config();
    config.can_name_client = true;
    let mut server = server_metadata();
    server.as_object_mut().unwrap().remove("registration_endpoint");
    let forgotten = json!({ "error": "invalid_client" });

    let mut lab = Lab::new(config.clone());
    lab.log_in(&tokens());
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server);
    lab.claim(lab.saved.clone());
    lab.serve(401, &forgotten);
    assert_eq!(lab.authorizer.stage(), Stage::NamingClient);

    let mut lab = Lab::new(config);
    lab.until_browser("Bearer");
    lab.authorizer.abandoned(lab.now);
    assert_eq!(lab.failure(), AuthorizationFailure::Abandoned);
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server);
    lab.prepared();
    let opened = lab.opened();
    let fetch = lab.agree(&opened);
    lab.answer(&fetch, 401, &forgotten);
    assert_eq!(lab.authorizer.stage(), Stage::NamingClient);
}

/// Proves A-REG-14: a login after a refused refresh does not use a client whose secret has expired.
#[test]
fn a_login_after_a_refused_refresh_registers_an_expired_client_again() {
    for (expires_after, is_known) in [(Some(3600), false), (Some(3601), true), (None, true)] {
        let mut lab = Lab::new(config());
        lab.refused(401, "Bearer");
        lab.discover(&resource_metadata(), &server_metadata());
        lab.prepared();
        let expires_at = expires_after.map_or(0, |after| lab.now.since_epoch().as_secs() + after);
        lab.serve(
            201,
            &json!({ "client_id": "c1", "client_secret": "s", "client_secret_expires_at": expires_at }),
        );
        let opened = lab.opened();
        let fetch = lab.agree(&opened);
        lab.answer(&fetch, 200, &tokens());
        assert_eq!(lab.released().len(), 1);
        lab.authorizer.accepted(Some(1), None);
        lab.now = lab.now + Duration::from_secs(3600);
        lab.refused_with(401, "Bearer", "", Some(1));
        lab.discover(&resource_metadata(), &server_metadata());
        lab.claim(lab.saved.clone());
        lab.serve(400, &json!({ "error": "invalid_grant" }));
        assert_eq!(lab.effect(), Some(Effect::Unclaim));
        assert_eq!(lab.prepared().is_some(), is_known, "{expires_after:?}");
    }
}

/// Proves A-AUTHZ-09, A-TOK-02: a refreshed token would be for the earlier resource, which the server has renamed.
#[test]
fn a_token_for_another_resource_is_not_refreshed() {
    let mut lab = logged_in_before(0);
    lab.refused(401, "Bearer");
    let mut renamed = resource_metadata();
    renamed["resource"] = json!("https://mcp.example");
    lab.discover(&renamed, &server_metadata());
    lab.prepared();
    assert_eq!(lab.saved.as_ref().unwrap().scopes(), None);
    let opened = lab.opened();
    assert_eq!(opened.get("resource"), "https://mcp.example");
    let fetch = lab.agree(&opened);
    assert_eq!(field(&fetch, "resource").as_deref(), Some("https://mcp.example"));

    // A step-up that fails leaves the earlier token in use.
    let mut lab = logged_in_before(0);
    lab.refused(403, r#"Bearer error="insufficient_scope", scope="more""#);
    lab.discover(&renamed, &server_metadata());
    lab.prepared();
    assert_eq!(lab.opened().get("resource"), "https://mcp.example");
    lab.authorizer.abandoned(lab.now);
    assert_eq!(lab.failure(), AuthorizationFailure::Abandoned);
    assert_eq!(lab.field().as_deref(), Some("Bearer t1"));
}

/// Proves A-AUTHZ-14, A-REF-10: a refresh brings no further scopes, so scopes that were never requested need a login.
#[test]
fn a_token_without_the_challenged_scopes_is_not_refreshed() {
    let challenged_with = |scopes: &str| {
        let mut lab = Lab::new(config());
        let opened = lab.until_browser(r#"Bearer scope="read write""#);
        let fetch = lab.agree(&opened);
        let mut fewer = tokens();
        fewer["scope"] = json!("read");
        lab.answer(&fetch, 200, &fewer);
        assert_eq!(lab.released().len(), 1);
        lab.authorizer.accepted(Some(1), None);
        lab.refused(401, &format!(r#"Bearer scope="{scopes}""#));
        lab.discover(&resource_metadata(), &server_metadata());
        lab
    };
    for scopes in ["delete", "read delete"] {
        let mut lab = challenged_with(scopes);
        lab.prepared();
        assert_eq!(lab.opened().get("scope"), scopes);
    }
    // The server has accepted a token without `write`, and a refresh token proves `offline_access`.
    for scopes in ["read", "read write", "read offline_access"] {
        let mut lab = challenged_with(scopes);
        lab.claim(lab.saved.clone());
        assert_eq!(lab.fetch().purpose, FetchPurpose::Refresh, "{scopes}");
    }
}

/// Proves A-AUTHZ-09, A-AUTHZ-14: the tokens that are read under the lock are compared with the challenge as well.
#[test]
fn stored_tokens_that_cannot_serve_the_challenge_are_not_refreshed() {
    let mut lab = Lab::new(config());
    let opened = lab.until_browser(r#"Bearer scope="read""#);
    let fetch = lab.agree(&opened);
    lab.answer(&fetch, 200, &tokens());
    assert_eq!(lab.released().len(), 1);
    lab.authorizer.accepted(Some(1), None);
    let text = lab.saved.as_ref().unwrap().to_text();
    lab.refused(401, r#"Bearer scope="read""#);
    lab.discover(&resource_metadata(), &server_metadata());
    lab.now = lab.now + Duration::from_secs(7200);
    for (from, to, is_kept) in [
        (r#""resource":"https://mcp.example/mcp""#, r#""resource":"https://mcp.example""#, false),
        (r#"["read"]"#, r#"["other"]"#, true),
    ] {
        let stored = text.expose().replace(from, to);
        let stored = stored.replace(r#""generation":1"#, r#""generation":2"#);
        let mut lab = lab.clone();
        lab.claim(Some(Saved::from_text(&stored).unwrap()));
        assert_eq!(lab.effect(), Some(Effect::Unclaim), "{from}");
        lab.prepared();
        let opened = lab.opened();
        assert_eq!((opened.get("resource"), opened.get("scope")), (SERVER, "read"));
        assert_eq!(lab.authorizer.granted().is_some(), is_kept, "{from}");
    }
}

/// A claim that waits for the storage would wait for ever if the lock of an earlier claim were released after it.
#[test]
fn a_late_lock_is_released_before_the_next_claim() {
    let mut lab = logged_in_before(3540);
    let Some(Effect::Claim { job }) = lab.effect() else { panic!("no refresh") };
    lab.wait(30);
    assert_eq!(lab.authorizer.stage(), Stage::Idle);
    lab.now = lab.now + Duration::from_secs(30);
    let key = lab.key();
    assert_eq!(lab.authorizer.permit(key, SERVER, lab.now), Permit::Wait);
    lab.authorizer.claimed(job, None, lab.now);
    assert_eq!(lab.effect(), Some(Effect::Unclaim));
    lab.claim(None);
    assert_eq!(lab.fetch().purpose, FetchPurpose::Refresh);
}
