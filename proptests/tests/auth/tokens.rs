//! Requesting tokens and using them.

use std::time::Duration;

use mcp_sansio::auth::{
    AuthorizationFailure, AuthorizerConfig, ConfiguredClient, Effect, FetchError, NotAllowed,
    OAuthErrorCode, Permit, Saved, Stage, Verdict,
};
use serde_json::{Value, json};

use crate::kit::{ISSUER, Lab, SERVER, config, field, resource_metadata, server_metadata, tokens};

/// Returns the authentication of a token request, for a server with these methods and this registration response.
fn authenticated(
    methods: Value,
    registered: Value,
) -> (Option<String>, Option<String>, Option<String>) {
    let mut server = server_metadata();
    server["token_endpoint_auth_methods_supported"] = methods;
    let mut lab = Lab::new(config());
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server);
    lab.prepared();
    lab.serve(201, &registered);
    let opened = lab.opened();
    let fetch = lab.agree(&opened);
    let method = fetch.authorization.as_ref().map(|field| field.expose().to_owned());
    (method, field(&fetch, "client_id"), field(&fetch, "client_secret"))
}

/// Proves A-TOK-03, A-TOK-05.
#[test]
fn a_client_authenticates_as_it_was_registered_or_as_the_server_wants_it() {
    let basic = Some("Basic YzE6cw==".to_owned());
    let id = Some("c1".to_owned());
    let secret = Some("s".to_owned());
    let with = json!({ "client_id": "c1", "client_secret": "s" });
    let without = json!({ "client_id": "c1" });
    let mut post = with.clone();
    post["token_endpoint_auth_method"] = json!("client_secret_post");
    let all = json!(["client_secret_basic", "client_secret_post", "none"]);
    let only_basic = json!(["client_secret_basic"]);
    let post_first = json!(["private_key_jwt", "client_secret_post", "client_secret_basic"]);
    assert_eq!(authenticated(all.clone(), with.clone()), (basic.clone(), None, None));
    assert_eq!(authenticated(all.clone(), post.clone()), (None, id.clone(), secret.clone()));
    assert_eq!(authenticated(only_basic, post), (basic.clone(), None, None));
    assert_eq!(authenticated(post_first, with.clone()), (None, id.clone(), secret));
    assert_eq!(authenticated(all, without.clone()), (None, id.clone(), None));
    assert_eq!(authenticated(Value::Null, with.clone()), (basic, None, None));
    assert_eq!(authenticated(Value::Null, without), (None, id.clone(), None));
    assert_eq!(authenticated(json!(["none"]), with), (None, id, None));
}

/// Returns a client whose token request got this response.
fn answered(status: u16, body: &Value) -> Lab {
    let mut lab = Lab::new(config());
    let opened = lab.until_browser(r#"Bearer scope="a b""#);
    let fetch = lab.agree(&opened);
    assert_eq!(
        (fetch.method, fetch.content_type),
        ("POST", Some("application/x-www-form-urlencoded"))
    );
    lab.answer(&fetch, status, body);
    lab
}

/// Proves A-TOK-07, A-USE-06 for the whole flow: `messages` has the tables.
#[test]
fn a_token_of_another_type_is_refused() {
    let mac = json!({ "access_token": "t", "token_type": "mac" });
    assert_eq!(answered(200, &mac).failure(), AuthorizationFailure::InvalidToken("token_type"));
    let broken = json!({ "access_token": "t\n", "token_type": "Bearer" });
    assert_eq!(
        answered(200, &broken).failure(),
        AuthorizationFailure::InvalidToken("access_token")
    );
}

/// Proves A-TOK-08, A-TOK-10: a token without an expiry is used until it is refused.
#[test]
fn a_lifetime_that_is_not_known_is_neither_zero_nor_everything() {
    let mut lab = answered(200, &json!({ "access_token": "t", "token_type": "bearer" }));
    lab.released();
    lab.authorizer.accepted(Some(1), None);
    assert_eq!(lab.authorizer.poll_timeout(), None);
    lab.wait(1_000_000);
    assert_eq!(lab.field().as_deref(), Some("Bearer t"));
    lab.refused(401, "Bearer");
    assert_eq!(lab.authorizer.stage(), Stage::FindingResource);

    let mut lab =
        answered(200, &json!({ "access_token": "t", "token_type": "bearer", "expires_in": "60" }));
    lab.released();
    lab.wait(59);
    assert_eq!(lab.field().as_deref(), Some("Bearer t"));
    lab.wait(1);
    assert_eq!(lab.field(), None, "it has run out, and there is no refresh token");
    let key = lab.key();
    assert_eq!(lab.authorizer.permit(key, SERVER, lab.now), Permit::Send(None));
    lab.refused(401, "Bearer");
    assert_eq!(lab.authorizer.stage(), Stage::FindingResource);
}

/// Proves A-TOK-08, A-USE-08: a lifetime of zero is unknown. A token that expires before its first use is not replaced
/// at once by another one, for which the user would have to log in again.
#[test]
fn a_token_that_expires_at_once_does_not_begin_another_login() {
    let lasting = |seconds: u64| {
        let expires_in =
            json!({ "access_token": "t", "token_type": "Bearer", "expires_in": seconds });
        let mut lab = answered(200, &expires_in);
        assert_eq!(lab.released().len(), 1);
        lab
    };
    let mut lab = lasting(0);
    lab.wait(1_000_000);
    assert_eq!(lab.field().as_deref(), Some("Bearer t"));

    let mut lab = lasting(1);
    lab.wait(1);
    for _ in 0..2 {
        let key = lab.key();
        assert_eq!(lab.authorizer.permit(key, SERVER, lab.now), Permit::Send(None));
        lab.refused(401, "Bearer");
        assert_eq!(lab.failure(), AuthorizationFailure::FreshTokenRefused);
        lab.wait(30);
    }
    lab.refused(401, "Bearer");
    assert_eq!(lab.authorizer.stage(), Stage::FindingResource);

    // A token that was issued earlier may have expired unused.
    let mut lab = lasting(10);
    lab.wait(10);
    lab.refused(401, "Bearer");
    assert_eq!(lab.authorizer.stage(), Stage::FindingResource);
}

/// Proves A-TOK-09.
#[test]
fn the_scopes_that_were_granted_are_known() {
    let granted = |scope: Value| {
        let mut lab =
            answered(200, &json!({ "access_token": "t", "token_type": "Bearer", "scope": scope }));
        lab.released();
        lab.authorizer.granted().map(ToString::to_string)
    };
    assert_eq!(granted(Value::Null).as_deref(), Some("a b"));
    assert_eq!(granted(json!("a")).as_deref(), Some("a"));
}

/// Proves A-TOK-11, A-CHAL-18.
#[test]
fn a_refused_token_request_is_reported_with_its_code() {
    let codes = [
        ("invalid_request", OAuthErrorCode::InvalidRequest),
        ("invalid_grant", OAuthErrorCode::InvalidGrant),
        ("unsupported_grant_type", OAuthErrorCode::UnsupportedGrantType),
        ("invalid_scope", OAuthErrorCode::InvalidScope),
        ("invalid_target", OAuthErrorCode::InvalidTarget),
        ("access_denied", OAuthErrorCode::AccessDenied),
        ("server_error", OAuthErrorCode::ServerError),
        ("something_else", OAuthErrorCode::Other("something_else".into())),
    ];
    for (text, code) in codes {
        for status in [400, 401] {
            let body = json!({ "error": text, "error_description": "<a href=x>", "error_uri": "javascript:1" });
            let error = match answered(status, &body).failure() {
                AuthorizationFailure::TokenRefused(error) if text != "server_error" => error,
                // The code is used up.
                AuthorizationFailure::LoginLost(failure) if text == "server_error" => {
                    let AuthorizationFailure::TokenRefused(error) = *failure else {
                        panic!("{failure:?}")
                    };
                    error
                }
                other => panic!("{text}: {other:?}"),
            };
            assert_eq!(
                (error.code, error.description.as_deref()),
                (code.clone(), Some("<a href=x>"))
            );
        }
    }
    let place = "the token endpoint";
    let unexpected = AuthorizationFailure::UnexpectedStatus { place, status: 400 };
    assert_eq!(answered(400, &json!({})).failure(), unexpected);
}

/// Proves A-TOK-13, A-TOK-14, A-TOK-15.
#[test]
fn a_code_is_used_once() {
    let place = "the token endpoint";
    let mut lab = Lab::new(config());
    let opened = lab.until_browser("Bearer");
    let fetch = lab.agree(&opened);
    lab.fail(&fetch, FetchError::Broken);
    let transient = |status| AuthorizationFailure::Transient { place, status, retry_after: None };
    let lost = |failure| AuthorizationFailure::LoginLost(Box::new(failure));
    let failure = lab.failure();
    assert_eq!(failure, lost(transient(None)));
    assert!(!failure.is_temporary(), "another attempt needs another login");
    assert_eq!(answered(503, &json!({})).failure(), lost(transient(Some(503))));
    let again = lab.until_browser("Bearer");
    assert_ne!(again.get("state"), opened.get("state"), "it is another login");
    assert_eq!(
        answered(307, &tokens()).failure(),
        AuthorizationFailure::UnexpectedStatus { place, status: 307 }
    );
    let mut lab = Lab::new(config());
    let opened = lab.until_browser("Bearer");
    let fetch = lab.agree(&opened);
    lab.answer_text(&fetch, 200, &" ".repeat((64 << 10) + 1));
    assert_eq!(lab.failure(), AuthorizationFailure::TooLarge { place });
}

/// Proves A-USE-04: a server elsewhere with an `http` URL gets no token, neither a stored one nor a new one.
#[test]
fn a_token_is_not_sent_in_clear_text() {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    let saved = lab.saved.unwrap();
    for (server, is_sent) in [
        ("https://10.0.0.1/mcp", true),
        ("http://localhost:3000/mcp", true),
        ("http://mcp.example/mcp", false),
        ("http://10.0.0.1/mcp", false),
    ] {
        let mut lab = Lab::new(AuthorizerConfig::new(server).unwrap());
        let stored = saved.to_text().expose().replace(SERVER, server);
        lab.authorizer.restore(Saved::from_text(&stored).unwrap());
        for _ in 0..2 {
            let key = lab.key();
            let sent = matches!(
                lab.authorizer.permit(key, server, lab.now),
                Permit::Send(Some(token)) if token.generation() == 1
            );
            assert_eq!(sent, is_sent, "{server}");
            // Without a token as well as with an expired one, the request does not wait.
            if !is_sent {
                lab.now = lab.now + Duration::from_secs(7200);
            }
        }
        if !is_sent {
            for challenge in ["Bearer", r#"Bearer error="insufficient_scope", scope="more""#] {
                let status = if challenge == "Bearer" { 401 } else { 403 };
                lab.refused(status, challenge);
                let (place, reason) = ("a token for the server", NotAllowed::ClearText);
                assert_eq!(lab.failure(), AuthorizationFailure::NotAllowed { place, reason });
            }
        }
    }
}

/// Proves A-USE-02, A-USE-03, A-USE-04: the token is sent to the origin of the server and to no other.
#[test]
fn the_token_goes_to_its_server_only() {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    let key = lab.key();
    let mut is_sent =
        |url: &str| matches!(lab.authorizer.permit(key, url, lab.now), Permit::Send(Some(_)));
    assert!(is_sent(SERVER) && is_sent("https://mcp.example/messages?x=1"));
    for url in [
        "https://evil.example/mcp",
        "http://mcp.example/mcp",
        "https://mcp.example:8443/mcp",
        "https://mcp.example@evil.example/",
        "nonsense",
        ISSUER,
    ] {
        assert!(!is_sent(url), "{url}");
    }
}

/// Proves A-USE-03, A-USE-04: tokens that were stored for another server are neither sent nor refreshed. The
/// registrations are kept.
#[test]
fn tokens_of_another_server_are_discarded() {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    let saved = lab.saved.unwrap();
    for (server, is_sent) in [
        (SERVER, true),
        ("https://MCP.example:443/mcp/", true),
        ("https://mcp.example/mcp/below", true),
        ("https://mcp.example/mcp2", false),
        ("https://mcp.example", false),
        ("https://other.example/mcp", false),
        ("http://localhost:3000/mcp", false),
    ] {
        let restored = || {
            let mut config = AuthorizerConfig::new(server).unwrap();
            config.registration = crate::kit::config().registration;
            let mut lab = Lab::new(config);
            lab.authorizer.restore(saved.clone());
            lab
        };
        let mut lab = restored();
        let key = lab.key();
        let permit = lab.authorizer.permit(key, server, lab.now);
        assert_eq!(matches!(permit, Permit::Send(Some(_))), is_sent, "{server}");
        assert!(lab.authorizer.saved().to_text().expose().contains(r#""client_id":"c1""#));
        // The expired token is not refreshed either.
        let mut lab = restored();
        lab.now = lab.now + Duration::from_secs(7200);
        let key = lab.key();
        let permit = lab.authorizer.permit(key, server, lab.now);
        assert_eq!(permit, if is_sent { Permit::Wait } else { Permit::Send(None) }, "{server}");
        assert_eq!(lab.effect().is_some(), is_sent, "{server}");
    }
}

/// Proves A-USE-08, A-SEC-11: a refresh would bring another token that the server refuses, again and again. The refresh
/// token is discarded, so that the next authorization is a login.
#[test]
fn a_fresh_token_that_is_refused_ends_the_request() {
    for is_refreshed in [false, true] {
        let mut lab = Lab::new(config());
        let opened = lab.until_browser("Bearer");
        let fetch = lab.agree(&opened);
        lab.answer(&fetch, 200, &tokens());
        lab.released();
        if is_refreshed {
            lab.authorizer.accepted(Some(1), None);
            lab.refused(401, "Bearer");
            lab.discover(&resource_metadata(), &server_metadata());
            lab.claim(None);
            lab.serve(200, &tokens());
            assert_eq!(lab.released().len(), 1);
        }
        let earlier = lab.saved.clone().unwrap();
        let key = lab.refused(401, "Bearer");
        // The state without the refresh token is saved first.
        let Some(Effect::Save(saved)) = lab.authorizer.poll_effect() else { panic!("not saved") };
        assert_eq!(saved.generation(), earlier.generation() + 1);
        let text = saved.to_text();
        assert!(text.expose().contains(r#""refresh_token":null"#), "{}", text.expose());
        let failure = AuthorizationFailure::FreshTokenRefused;
        assert_eq!(lab.released(), [(key, Verdict::Fail(failure.clone()))]);
        // The state before is older, and the refused token is not sent again.
        lab.authorizer.restore(earlier);
        assert_eq!((lab.authorizer.saved(), lab.field()), (&saved, None));
        let key = lab.key();
        assert_eq!(lab.authorizer.permit(key, SERVER, lab.now), Permit::Send(None));
        // The next request does not open a browser at once, but a later one does.
        lab.refused(401, "Bearer");
        assert_eq!(lab.failure(), failure);
        lab.wait(60);
        lab.refused(401, "Bearer");
        lab.discover(&resource_metadata(), &server_metadata());
        lab.prepared();
        let opened = lab.opened();
        let fetch = lab.agree(&opened);
        lab.answer(&fetch, 200, &tokens());
        assert_eq!(lab.released().len(), 1);
        assert_eq!(lab.field().as_deref(), Some("Bearer t1"));
    }
}

/// Proves A-USE-08, A-SEC-11: a server that accepts a token once and then refuses it would open one browser after
/// another. One more login follows at once, because the server may have lost its tokens; the next one only after a
/// pause.
#[test]
fn logins_do_not_follow_one_another_without_a_pause() {
    for is_refreshable in [false, true] {
        let mut lab = Lab::new(config());
        let mut issued = tokens();
        if !is_refreshable {
            issued.as_object_mut().unwrap().remove("refresh_token");
        }
        let failure = AuthorizationFailure::FreshTokenRefused;
        lab.log_in(&issued);
        for round in 0..4 {
            lab.refused(401, "Bearer");
            lab.discover(&resource_metadata(), &server_metadata());
            if is_refreshable {
                lab.claim(lab.saved.clone());
                lab.serve(400, &json!({ "error": "invalid_grant" }));
                assert_eq!(lab.effect(), Some(Effect::Unclaim));
            }
            if round % 2 == 0 {
                lab.prepared();
                let opened = lab.opened();
                let fetch = lab.agree(&opened);
                lab.answer(&fetch, 200, &issued);
                assert_eq!(lab.released().len(), 1);
                let generation = lab.generation();
                lab.authorizer.accepted(generation, None);
                continue;
            }
            assert_eq!(lab.failure(), failure);
            lab.wait(59);
            lab.refused(401, "Bearer");
            assert_eq!(lab.failure(), failure);
            lab.wait(1);
            if round == 1 {
                lab.log_in(&issued);
            }
        }
        // The user who logs out and in again does not wait.
        lab.authorizer.log_out();
        lab.log_in(&issued);
    }
}

/// Proves A-USE-08: a refresh opens no browser, so it has no pause.
#[test]
fn a_refused_token_of_a_login_is_refreshed_at_once() {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    for _ in 0..3 {
        lab.refused(401, "Bearer");
        lab.discover(&resource_metadata(), &server_metadata());
        lab.claim(lab.saved.clone());
        lab.serve(200, &tokens());
        assert_eq!(lab.released().len(), 1);
        let generation = lab.generation();
        lab.authorizer.accepted(generation, None);
    }
}

/// Proves A-USE-08: a token that was accepted once is not fresh, whatever responses to other requests arrive later.
#[test]
fn a_token_that_was_accepted_is_not_fresh() {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    lab.authorizer.accepted(None, None);
    lab.authorizer.accepted(Some(0), None);
    lab.refused(401, "Bearer");
    assert_eq!(lab.authorizer.stage(), Stage::FindingResource);
}

/// A request that is forgotten is not released, even if its release was decided before.
#[test]
fn a_forgotten_request_is_not_released() {
    let mut lab = Lab::new(config());
    let key = lab.refused(401, "Bearer");
    let other = lab.refused_with(401, "Bearer", "", None);
    lab.discover(&resource_metadata(), &server_metadata());
    lab.prepared();
    lab.serve(201, &json!({ "client_id": "c1" }));
    lab.opened();
    lab.authorizer.abandoned(lab.now);
    lab.authorizer.forget(key);
    assert_eq!(lab.released(), [(other, Verdict::Fail(AuthorizationFailure::Abandoned))]);
}

/// Proves A-CHAL-15.
#[test]
fn a_forbidden_request_is_final() {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    for challenge in ["Bearer", r#"Bearer error="invalid_token""#, r#"Bearer scope="x""#] {
        lab.refused(403, challenge);
        assert_eq!(lab.failure(), AuthorizationFailure::Forbidden);
    }
    assert_eq!(lab.field().as_deref(), Some("Bearer t1"));
}

/// The number of waiting requests is limited.
#[test]
fn requests_that_wait_are_bounded() {
    let mut config = config();
    config.most_waiting = 2;
    config.clients.push(ConfiguredClient::new("c1"));
    let mut lab = Lab::new(config);
    let keys = [lab.refused(401, ""), lab.refused_with(401, "", "", None)];
    lab.discover(&resource_metadata(), &server_metadata());
    let late = lab.refused_with(401, "", "", None);
    lab.prepared();
    let failure = Verdict::Fail(AuthorizationFailure::TooManyWaiting);
    let Some(effect) = lab.effect() else { panic!("nothing") };
    let released = Effect::Release { request: late, verdict: failure };
    // The request fails before the browser opens.
    assert_eq!(effect, released);
    lab.opened();
    lab.authorizer.forget(keys[0]);
    lab.authorizer.abandoned(lab.now);
    let failure = Verdict::Fail(AuthorizationFailure::Abandoned);
    assert_eq!(lab.released(), [(keys[1], failure)], "who does not wait any more is not released");
}
