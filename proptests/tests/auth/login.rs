//! The authorization request and its response.

use std::time::Duration;

use mcp_sansio::auth::{
    AuthorizationFailure, ConfiguredClient, Effect, Flow, IssuerPlace, OAuthErrorCode, Permit,
    Redirected, RequestKey, Stage, Verdict,
};
use mcp_sansio_proptests::authorization_server::base64url;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::kit::{
    ISSUER, Lab, Opened, REDIRECT, SERVER, config, field, pairs, resource_metadata,
    server_metadata, tokens,
};

/// Returns the authorization request for these documents and this challenge.
fn opened(challenge: &str, resource: &Value, server: &Value) -> Opened {
    opened_by(Lab::new(config()), challenge, resource, server)
}

fn opened_by(mut lab: Lab, challenge: &str, resource: &Value, server: &Value) -> Opened {
    lab.refused(401, challenge);
    lab.discover(resource, server);
    lab.prepared();
    if lab.authorizer.stage() == Stage::Registering {
        lab.serve(201, &json!({ "client_id": "c1" }));
    }
    lab.opened()
}

/// Proves A-AUTHZ-01, A-AUTHZ-02, A-AUTHZ-05, A-AUTHZ-06, A-AUTHZ-08, A-AUTHZ-09, A-AUTHZ-19.
#[test]
fn the_request_has_everything_once() {
    let mut server = server_metadata();
    server["authorization_endpoint"] = json!("https://as.example/authorize?tenant=1");
    let opened = opened(r#"Bearer scope="read""#, &resource_metadata(), &server);
    assert_eq!(opened.endpoint, "https://as.example/authorize");
    let names: Vec<&str> = opened.params.iter().map(|(name, _)| name.as_str()).collect();
    let all = [
        "tenant",
        "response_type",
        "client_id",
        "redirect_uri",
        "state",
        "code_challenge",
        "code_challenge_method",
        "resource",
        "scope",
    ];
    assert_eq!(names, all);
    assert_eq!(opened.get("response_type"), "code");
    assert_eq!(opened.get("client_id"), "c1");
    assert_eq!(opened.get("redirect_uri"), REDIRECT);
    assert_eq!(opened.get("code_challenge_method"), "S256");
    assert_eq!(opened.get("resource"), SERVER);
    assert_eq!(opened.get("scope"), "read");
    assert_eq!(opened.get("state").len(), 43);
    assert_eq!(opened.get("code_challenge").len(), 43);
}

/// Proves A-AUTHZ-05, A-TOK-01, A-TOK-02.
#[test]
fn each_login_has_a_verifier_and_a_state_of_its_own() {
    let mut lab = Lab::new(config());
    let first = lab.until_browser("Bearer");
    lab.authorizer.abandoned(lab.now);
    lab.failure();
    let second = lab.until_browser("Bearer");
    for name in ["state", "code_challenge"] {
        assert_ne!(first.get(name), second.get(name));
    }
    let fetch = lab.agree(&second);
    let sent = pairs(&fetch);
    let names: Vec<&str> = sent.iter().map(|(name, _)| name.as_str()).collect();
    let all = ["grant_type", "code", "redirect_uri", "code_verifier", "resource", "client_id"];
    assert_eq!(names, all);
    let verifier = &sent[3].1;
    assert_eq!(verifier, "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI");
    assert_eq!(sent[0].1, "authorization_code");
    assert_eq!(sent[1].1, "the-code");
    assert_eq!(sent[2].1, REDIRECT);
    assert_eq!(sent[4].1, second.get("resource"));
}

/// Proves A-AUTHZ-09, A-AUTHZ-11.
#[test]
fn the_resource_is_named_as_its_metadata_name_it() {
    for (resource, expected) in [
        (SERVER, SERVER),
        ("https://MCP.example/mcp", "https://MCP.example/mcp"),
        ("https://mcp.example", "https://mcp.example"),
    ] {
        let mut document = resource_metadata();
        document["resource"] = json!(resource);
        assert_eq!(opened("Bearer", &document, &server_metadata()).get("resource"), expected);
    }
}

/// Proves A-AUTHZ-13, A-AUTHZ-14, A-AUTHZ-15.
#[test]
fn scopes_are_those_of_the_challenge_or_of_the_resource_or_none() {
    let mut server = server_metadata();
    server["scopes_supported"] = json!(["of-the-server"]);
    let mut resource = resource_metadata();
    assert_eq!(opened("Bearer", &resource, &server).find("scope"), None);
    resource["scopes_supported"] = json!(["read", "write"]);
    assert_eq!(opened("Bearer", &resource, &server).get("scope"), "read write");
    let named = r#"Bearer scope="other read""#;
    assert_eq!(opened(named, &resource, &server).get("scope"), "other read");
    let mut config = config();
    config.scopes = mcp_sansio::auth::Scopes::parse("mine");
    let opened = opened_by(Lab::new(config), "Bearer", &resource, &server);
    assert_eq!(opened.get("scope"), "read write mine");
}

/// Proves A-AUTHZ-16, A-AUTHZ-17.
#[test]
fn offline_access_is_requested_where_the_server_has_it() {
    let scope = |has: bool, wants: bool, consent: bool| {
        let mut config = config();
        (config.offline_access, config.asks_for_consent) = (wants, consent);
        let mut server = server_metadata();
        server["scopes_supported"] = if has { json!(["offline_access"]) } else { json!(["x"]) };
        let challenge = r#"Bearer scope="read""#;
        let opened = opened_by(Lab::new(config), challenge, &resource_metadata(), &server);
        (opened.get("scope").to_owned(), opened.find("prompt").map(String::from))
    };
    assert_eq!(scope(true, true, false), ("read offline_access".into(), None));
    assert_eq!(scope(true, true, true).1.as_deref(), Some("consent"));
    assert_eq!(scope(false, true, true), ("read".into(), None));
    assert_eq!(scope(true, false, false), ("read".into(), None));
    // The `scopes_supported` of a resource does not change that.
    let mut resource = resource_metadata();
    resource["scopes_supported"] = json!(["read", "offline_access"]);
    assert_eq!(opened("Bearer", &resource, &server_metadata()).get("scope"), "read");
}

/// Proves A-AUTHZ-06, A-AUTHZ-07, A-RESP-12.
#[test]
fn an_answer_to_another_login_changes_nothing() {
    let mut lab = Lab::new(config());
    let opened = lab.until_browser("Bearer");
    let before = lab.authorizer.clone();
    let state = opened.get("state");
    let other = Lab::new(config()).until_browser("Bearer");
    assert_eq!(other.get("state"), state, "the same entropy");
    let table = [
        "code=x".to_owned(),
        format!("code=x&state={}", &state[1..]),
        format!("code=x&state={state}x"),
        "code=x&state=".to_owned(),
        format!("code=x&state={state}&state=other"),
        String::new(),
    ];
    for query in table {
        assert_eq!(lab.back(&query), Redirected::Unknown, "{query}");
        assert_eq!(lab.authorizer, before, "{query}");
    }
    lab.agree(&opened);
    assert_eq!(lab.back(&format!("code=again&state={state}")), Redirected::Unknown);
    assert_eq!(lab.effect(), None);
}

/// Proves A-AUTHZ-21: the validated issuer, the verifier and the state of a login are known when the browser returns.
#[test]
fn a_login_is_finished_with_its_own_issuer_verifier_and_state() {
    let mut lab = Lab::new(config());
    let opened = lab.until_browser("Bearer");
    let before = lab.authorizer.clone();
    let state = opened.get("state");
    assert_eq!(lab.back(&format!("code=the-code&state=x{state}")), Redirected::Unknown);
    assert_eq!(lab.authorizer, before);

    let mut other = lab.clone();
    let response = format!("code=the-code&state={state}&iss=https://two.example");
    assert_eq!(other.back(&response), Redirected::Failed);
    let (place, expected) = (IssuerPlace::Response, ISSUER.to_owned());
    assert_eq!(other.failure(), AuthorizationFailure::IssuerMismatch { place, expected });

    let response = format!("code=the-code&state={state}&iss={ISSUER}");
    assert_eq!(lab.back(&response), Redirected::Accepted);
    let fetch = lab.fetch();
    assert_eq!(fetch.url, "https://as.example/token");
    let verifier = field(&fetch, "code_verifier").expect("it is sent");
    let challenge = base64url(&Sha256::digest(verifier));
    assert_eq!(opened.get("code_challenge"), challenge);
}

/// Proves A-AUTHZ-22.
#[test]
fn a_user_has_a_bounded_time() {
    let mut lab = Lab::new(config());
    lab.until_browser("Bearer");
    let deadline = lab.authorizer.poll_timeout().expect("there is a bound");
    assert_eq!((deadline - lab.now).as_secs(), 600);
    lab.wait(599);
    assert_eq!(lab.authorizer.stage(), Stage::AwaitingUser);
    lab.wait(1);
    assert_eq!(lab.failure(), AuthorizationFailure::Abandoned);
    let mut lab = Lab::new(config());
    lab.until_browser("Bearer");
    lab.authorizer.abandoned(lab.now);
    assert_eq!(lab.failure(), AuthorizationFailure::Abandoned);
    // The same time applies to a user who is asked for a client id.
    let mut config = config();
    (config.registration, config.can_name_client) = (None, true);
    let mut lab = Lab::new(config);
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server_metadata());
    assert!(matches!(lab.effect(), Some(Effect::NeedClient { .. })));
    let deadline = lab.authorizer.poll_timeout().expect("there is a bound");
    assert_eq!((deadline - lab.now).as_secs(), 600);
}

/// A request that is not worth a login waits for a refresh, and for a login of another request.
#[test]
fn a_request_can_do_without_a_login() {
    let failed = |key| [(key, Verdict::Fail(AuthorizationFailure::Abandoned))];
    let forgoing = |lab: &mut Lab| {
        let key = lab.refused(401, "Bearer");
        lab.authorizer.forgo_login(key);
        key
    };
    // Without a refresh token, nothing is fetched.
    let mut lab = Lab::new(config());
    let key = forgoing(&mut lab);
    assert_eq!((lab.released(), lab.authorizer.stage()), (failed(key).into(), Stage::Idle));

    let mut lab = Lab::new(config());
    lab.refused(401, "Bearer");
    let key = forgoing(&mut lab);
    lab.discover(&resource_metadata(), &server_metadata());
    lab.prepared();
    lab.serve(201, &json!({ "client_id": "c1" }));
    let opened = lab.opened();
    let fetch = lab.agree(&opened);
    lab.answer(&fetch, 200, &tokens());
    assert_eq!(lab.released().pop(), Some((key, Verdict::Send)));
    lab.authorizer.accepted(Some(1), None);

    for is_refused in [false, true] {
        let mut lab = lab.clone();
        let key = forgoing(&mut lab);
        lab.discover(&resource_metadata(), &server_metadata());
        lab.claim(lab.saved.clone());
        if is_refused {
            lab.serve(400, &json!({ "error": "invalid_grant" }));
            assert_eq!(lab.released(), failed(key));
        } else {
            lab.serve(200, &tokens());
            assert_eq!(lab.released(), [(key, Verdict::Send)]);
        }
        assert_eq!(lab.authorizer.stage(), Stage::Idle);
    }
    // The token has expired before the request.
    lab.now = lab.now + Duration::from_secs(3600);
    let key = lab.key();
    assert_eq!(lab.authorizer.permit(key, SERVER, lab.now), Permit::Wait);
    lab.authorizer.forgo_login(key);
    lab.claim(lab.saved.clone());
    lab.serve(400, &json!({ "error": "invalid_grant" }));
    assert_eq!(lab.effect(), Some(Effect::Unclaim));
    lab.discover(&resource_metadata(), &server_metadata());
    assert_eq!(lab.released(), failed(key));

    // A client of its own needs no user.
    let mut config = config();
    config.flow = Flow::ClientCredentials;
    config.clients.push(ConfiguredClient::new("c").secret("s"));
    let mut lab = Lab::new(config);
    let key = forgoing(&mut lab);
    let mut server = server_metadata();
    server["grant_types_supported"] = json!(["client_credentials"]);
    lab.discover(&resource_metadata(), &server);
    lab.serve(200, &json!({ "access_token": "t", "token_type": "Bearer" }));
    assert_eq!(lab.released(), [(key, Verdict::Send)]);
}

/// A browser would be opened for nothing if no request waited for the login any more. The registration is kept.
#[test]
fn a_login_that_no_request_waits_for_opens_no_browser() {
    let given_up_at = |stage: Stage| {
        let mut lab = Lab::new(config());
        let key = lab.refused(401, "Bearer");
        let mut expected = stage;
        while lab.authorizer.stage() != Stage::Idle {
            if lab.authorizer.stage() == expected {
                lab.authorizer.forget(key);
                // Any later stage ends at once.
                expected = Stage::Idle;
            }
            match lab.authorizer.stage() {
                Stage::FindingResource => _ = lab.serve(200, &resource_metadata()),
                Stage::FindingServer => _ = lab.serve(200, &server_metadata()),
                Stage::PreparingLogin => _ = lab.prepared(),
                Stage::Registering => _ = lab.serve(201, &json!({ "client_id": "c1" })),
                other => panic!("{other:?} after {stage:?}"),
            }
        }
        lab
    };
    for stage in
        [Stage::FindingResource, Stage::FindingServer, Stage::PreparingLogin, Stage::Registering]
    {
        let mut lab = given_up_at(stage);
        assert_eq!(lab.effect(), None, "{stage:?}");
        let is_registered = stage == Stage::Registering;
        assert_eq!(lab.saved.is_some(), is_registered, "{stage:?}");
        lab.refused(401, "Bearer");
        lab.discover(&resource_metadata(), &server_metadata());
        assert_eq!(lab.prepared().is_some(), is_registered);
    }
    // A browser that is open already stays open.
    let mut lab = Lab::new(config());
    lab.until_browser("Bearer");
    lab.authorizer.forget(RequestKey(1));
    assert_eq!((lab.effect(), lab.authorizer.stage()), (None, Stage::AwaitingUser));
}

/// A repeated result of the step before gives the user no more time.
#[test]
fn a_late_result_changes_no_login() {
    let mut lab = Lab::new(config());
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server_metadata());
    lab.prepared();
    let registration = lab.serve(201, &json!({ "client_id": "c1" }));
    lab.opened();
    let before = lab.authorizer.clone();
    lab.wait(300);
    lab.answer(&registration, 201, &json!({ "client_id": "c1" }));
    assert_eq!(lab.authorizer, before);
}

/// Runs a login with these response parameters; without a failure the code is sent.
fn answered(advertised: Value, query: &str) -> Result<(), AuthorizationFailure> {
    let mut server = server_metadata();
    server["authorization_response_iss_parameter_supported"] = advertised;
    let mut lab = Lab::new(config());
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server);
    lab.prepared();
    lab.serve(201, &json!({ "client_id": "c1" }));
    let opened = lab.opened();
    let query = format!("{query}&state={}", opened.get("state"));
    match lab.back(&query) {
        Redirected::Accepted => {
            assert_eq!(lab.fetch().url, "https://as.example/token");
            Ok(())
        }
        redirected => {
            assert_eq!(redirected, Redirected::Failed);
            // No request is sent: `failure` would reject it.
            Err(lab.failure())
        }
    }
}

/// Proves A-RESP-01, A-RESP-02, A-RESP-03, A-RESP-04, A-RESP-05, A-RESP-06, A-RESP-11, A-RESP-13.
#[test]
fn an_answer_has_to_be_of_the_issuer() {
    let (place, expected) = (IssuerPlace::Response, ISSUER.to_owned());
    let mismatch = Err(AuthorizationFailure::IssuerMismatch { place, expected });
    let (yes, no) = (json!(true), Value::Null);
    let right = "code=x&iss=https%3A%2F%2Fas.example";
    assert_eq!(answered(yes.clone(), right), Ok(()));
    assert_eq!(answered(no.clone(), right), Ok(()));
    assert_eq!(answered(yes.clone(), "code=x"), mismatch);
    assert_eq!(answered(no.clone(), "code=x"), Ok(()));
    for wrong in [
        "https://as.example/",
        "https://AS.example",
        "HTTPS://as.example",
        "https://as.example:443",
        "https%253A%252F%252Fas.example",
        "https://evil.example",
        "",
    ] {
        assert_eq!(answered(yes.clone(), &format!("code=x&iss={wrong}")), mismatch, "{wrong}");
        assert_eq!(answered(no.clone(), &format!("code=x&iss={wrong}")), mismatch, "{wrong}");
    }
}

/// Proves A-RESP-07, A-RESP-08.
#[test]
fn an_error_counts_only_if_it_is_of_the_issuer() {
    let denied = |query: &str| match answered(json!(true), query) {
        Err(AuthorizationFailure::Denied(error)) => Some((error.code, error.description)),
        _ => None,
    };
    let issuer = "iss=https%3A%2F%2Fas.example";
    assert_eq!(
        denied(&format!("error=access_denied&error_description=a+b&{issuer}")),
        Some((OAuthErrorCode::AccessDenied, Some("a b".into())))
    );
    assert_eq!(
        denied(&format!("error=invalid_scope&{issuer}")),
        Some((OAuthErrorCode::InvalidScope, None))
    );
    let evil = answered(json!(true), "error=access_denied&error_description=evil&iss=https://evil");
    let failure = evil.unwrap_err();
    assert!(matches!(failure, AuthorizationFailure::IssuerMismatch { .. }));
    assert!(!format!("{failure} {failure:?}").contains("denied"), "{failure}");
}

/// Proves A-RESP-09, A-RESP-10.
#[test]
fn an_answer_that_is_none_is_refused() {
    for query in ["code=a&code=b", "code=a&iss=x&iss=y", "error=a&error=b", "", "code=", "x=y"] {
        assert_eq!(
            answered(Value::Null, query),
            Err(AuthorizationFailure::InvalidResponse),
            "{query}"
        );
    }
}

/// Proves A-AUTHZ-20, A-SEC-03: the URL is data for the host, and `Debug` shows nothing of its query.
#[test]
fn the_url_for_the_browser_is_not_shown() {
    let mut config = config();
    config.clients.push(ConfiguredClient::new("c1"));
    let mut lab = Lab::new(config);
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server_metadata());
    lab.prepared();
    let Some(Effect::OpenUrl(url)) = lab.effect() else { panic!("no browser") };
    assert!(url.as_str().starts_with("https://as.example/authorize?"));
    assert_eq!(format!("{url:?}"), r#"BrowserUrl("https://as.example/authorize")"#);
}
