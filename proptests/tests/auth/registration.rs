//! Obtaining a client id.

use mcp_sansio::auth::{
    AuthorizationFailure, AuthorizerConfig, ClientMetadata, ConfiguredClient, Effect, FetchError,
    FetchPurpose, Flow, IssuerPlace, LoginMaterial, OAuthErrorCode, Redirected, SigningKey, Stage,
    Verdict,
};
use serde_json::{Value, json};

use crate::kit::{
    ISSUER, Lab, REDIRECT, SERVER, config, field, resource_metadata, server_metadata, tokens,
};

const DOCUMENT: &str = "https://client.example/client.json";

/// Proves A-REG-01, A-REG-02, A-REG-03, A-REG-04, A-REG-10.
#[test]
fn the_first_way_to_a_client_id_is_taken() {
    let mut all = config();
    all.clients.push(ConfiguredClient::new("beforehand"));
    all.metadata_document(DOCUMENT).unwrap();
    all.can_name_client = true;
    let mut server = server_metadata();
    server["client_id_metadata_document_supported"] = json!(true);
    let discovered = |config: &AuthorizerConfig, server: &Value| {
        let mut lab = Lab::new(config.clone());
        lab.refused(401, "Bearer");
        lab.discover(&resource_metadata(), server);
        lab
    };
    let opened = |config: &AuthorizerConfig| {
        let mut lab = discovered(config, &server);
        lab.prepared();
        lab.opened().get("client_id").to_owned()
    };
    assert_eq!(opened(&all), "beforehand");
    all.clients.clear();
    assert_eq!(opened(&all), DOCUMENT);
    for value in [Value::Null, json!(false), json!("true")] {
        let mut server = server.clone();
        server["client_id_metadata_document_supported"] = value;
        let mut lab = discovered(&all, &server);
        lab.prepared();
        assert_eq!(lab.fetch().purpose, FetchPurpose::Registration);
    }
    server["client_id_metadata_document_supported"] = Value::Null;
    server["registration_endpoint"] = Value::Null;
    let mut lab = discovered(&all, &server);
    let Some(Effect::NeedClient { job, issuer }) = lab.effect() else { panic!("nobody is asked") };
    assert_eq!(issuer, ISSUER);
    lab.authorizer.client_named(job, ConfiguredClient::new("typed in"), lab.now);
    lab.prepared();
    assert_eq!(lab.opened().get("client_id"), "typed in");
    all.can_name_client = false;
    let failure = AuthorizationFailure::NoRegistration { issuer: ISSUER.into() };
    assert_eq!(discovered(&all, &server).failure(), failure);
    all.registration = None;
    assert_eq!(discovered(&all, &server_metadata()).failure(), failure);
}

/// Proves A-REG-09, A-REG-11, A-REG-12.
#[test]
fn a_registration_request_contains_the_client_metadata() {
    let body = |client: ClientMetadata| {
        let mut config = config();
        config.registration = Some(client);
        let mut lab = Lab::new(config);
        lab.refused(401, r#"Bearer scope="a b""#);
        lab.discover(&resource_metadata(), &server_metadata());
        lab.prepared();
        let fetch = lab.fetch();
        assert_eq!((fetch.method, &*fetch.url), ("POST", "https://as.example/register"));
        assert_eq!(fetch.content_type, Some("application/json"));
        fetch.body.expose().to_owned()
    };
    assert_eq!(
        body(ClientMetadata::native("Example")),
        concat!(
            r#"{"client_name":"Example","redirect_uris":["http://127.0.0.1:4000/callback"],"#,
            r#""grant_types":["authorization_code","refresh_token"],"response_types":["code"],"#,
            r#""token_endpoint_auth_method":"none","application_type":"native","scope":"a b"}"#
        )
    );
    assert!(body(ClientMetadata::web("Example")).contains(r#""application_type":"web""#));
}

/// Proves A-REG-13, A-REG-14.
#[test]
fn a_refused_registration_reports_its_error_code() {
    let answered = |status: u16, body: Value| {
        let mut lab = Lab::new(config());
        lab.refused(401, "Bearer");
        lab.discover(&resource_metadata(), &server_metadata());
        lab.prepared();
        lab.serve(status, &body);
        lab
    };
    let error = json!({ "error": "invalid_redirect_uri", "error_description": "<b>no</b>" });
    let AuthorizationFailure::RegistrationRefused(error) = answered(400, error).failure() else {
        panic!("it is not told");
    };
    assert_eq!(error.code, OAuthErrorCode::InvalidRedirectUri);
    assert_eq!(error.description.as_deref(), Some("<b>no</b>"));
    let failure = answered(403, json!({})).failure();
    let place = "the registration endpoint";
    assert_eq!(failure, AuthorizationFailure::UnexpectedStatus { place, status: 403 });
    for body in [json!({}), json!({ "client_id": "" }), json!({ "client_id": 1 }), json!([])] {
        let failure = answered(201, body).failure();
        assert!(matches!(failure, AuthorizationFailure::RegistrationRefused(_)), "{failure}");
    }
    let other = json!({ "client_id": "c", "redirect_uris": ["https://evil.example"] });
    let failure = answered(201, other).failure();
    assert_eq!(failure.to_string(), "the registration was refused: invalid_redirect_uri");
    for status in [200, 201] {
        let mut lab = answered(status, json!({ "client_id": "c", "client_secret_expires_at": 0 }));
        assert_eq!(lab.opened().get("client_id"), "c");
    }
}

/// Proves A-REG-14: a client whose secret has expired is registered again.
#[test]
fn a_client_whose_secret_has_run_out_is_registered_again() {
    let mut lab = Lab::new(config());
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server_metadata());
    lab.prepared();
    let expires = lab.now.since_epoch().as_secs() + 100;
    let client =
        json!({ "client_id": "c1", "client_secret": "s", "client_secret_expires_at": expires });
    lab.serve(201, &client);
    lab.opened();
    lab.authorizer.abandoned(lab.now);
    assert_eq!(lab.failure(), AuthorizationFailure::Abandoned);
    let again = |lab: &mut Lab| {
        lab.refused(401, "Bearer");
        lab.discover(&resource_metadata(), &server_metadata());
        lab.prepared()
    };
    assert_eq!(again(&mut lab).as_deref(), Some(REDIRECT), "it is known");
    lab.opened();
    lab.authorizer.abandoned(lab.now);
    lab.failure();
    lab.wait(100);
    assert_eq!(again(&mut lab), None, "it has run out");
    assert_eq!(lab.fetch().purpose, FetchPurpose::Registration);
}

/// Proves A-REG-14: the time is exact, and zero means that the secret does not expire.
#[test]
fn a_registered_secret_expires_at_its_time() {
    for (expires_after, elapsed, is_known) in
        [(Some(100), 99, true), (Some(100), 100, false), (None, 1_000_000, true)]
    {
        let mut lab = Lab::new(config());
        lab.refused(401, "Bearer");
        lab.discover(&resource_metadata(), &server_metadata());
        lab.prepared();
        let expires =
            expires_after.map_or(0, |seconds: u64| lab.now.since_epoch().as_secs() + seconds);
        let client =
            json!({ "client_id": "c1", "client_secret": "s", "client_secret_expires_at": expires });
        lab.serve(201, &client);
        lab.opened();
        lab.authorizer.abandoned(lab.now);
        lab.failure();
        lab.wait(elapsed);
        lab.refused(401, "Bearer");
        lab.discover(&resource_metadata(), &server_metadata());
        assert_eq!(lab.prepared().is_some(), is_known, "{expires_after:?} {elapsed}");
    }
}

/// A client that is identified by its document has nothing to save.
#[test]
fn the_url_of_a_document_is_not_saved() {
    let mut config = config();
    // The shortest path of a document.
    config.metadata_document("https://client.example/c").unwrap();
    let mut server = server_metadata();
    server["client_id_metadata_document_supported"] = json!(true);
    let mut lab = Lab::new(config);
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server);
    lab.prepared();
    assert_eq!(lab.opened().get("client_id"), "https://client.example/c");
    assert_eq!(lab.saved, None);
}

/// A failure names the server that has caused it.
#[test]
fn a_registration_response_that_is_too_long_is_refused() {
    let mut lab = Lab::new(config());
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server_metadata());
    lab.prepared();
    let fetch = lab.fetch();
    lab.fail(&fetch, FetchError::TooLarge);
    let place = "the registration endpoint";
    assert_eq!(lab.failure(), AuthorizationFailure::TooLarge { place });
}

/// Proves A-REG-08, A-REG-15.
#[test]
fn token_requests_use_the_registered_auth_method() {
    let mut lab = Lab::new(config());
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server_metadata());
    lab.prepared();
    let changed = json!({
        "client_id": "c1", "client_secret": "s", "token_endpoint_auth_method": "client_secret_post",
    });
    lab.serve(201, &changed);
    let opened = lab.opened();
    let fetch = lab.agree(&opened);
    assert_eq!(field(&fetch, "client_secret").as_deref(), Some("s"));
    assert_eq!(fetch.authorization, None);

    let mut config = config();
    config.metadata_document(DOCUMENT).unwrap();
    let mut server = server_metadata();
    server["client_id_metadata_document_supported"] = json!(true);
    let mut lab = Lab::new(config);
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server);
    lab.prepared();
    let opened = lab.opened();
    let fetch = lab.agree(&opened);
    assert_eq!(field(&fetch, "client_id").as_deref(), Some(DOCUMENT));
    assert_eq!((field(&fetch, "client_secret"), fetch.authorization), (None, None));
}

/// Proves A-AUTHZ-22, A-REG-14: an authorization server that has forgotten a client redirects no user back. The login
/// after an unfinished one registers again, unless the registration was as new as that login.
#[test]
fn a_registration_that_no_user_comes_back_from_is_not_used_again() {
    let mut lab = Lab::new(config());
    let _opened = lab.until_browser("Bearer");
    lab.authorizer.abandoned(lab.now);
    lab.released();
    // The registration was new, so the next login uses it.
    for gives_up in [true, false] {
        let key = lab.refused(401, "Bearer");
        lab.discover(&resource_metadata(), &server_metadata());
        lab.prepared();
        let _opened = lab.opened();
        match gives_up {
            true => lab.authorizer.abandoned(lab.now),
            false => lab.wait(601),
        }
        let failed = Verdict::Fail(AuthorizationFailure::Abandoned);
        assert_eq!(lab.released(), [(key, failed)]);
        // The registration was no longer new.
        lab.refused(401, "Bearer");
        lab.discover(&resource_metadata(), &server_metadata());
        lab.prepared();
        assert_eq!(
            lab.serve(201, &json!({ "client_id": "c2" })).purpose,
            FetchPurpose::Registration
        );
        lab.opened();
        lab.authorizer.abandoned(lab.now);
        lab.released();
    }
}

/// Proves A-REG-14: the authorization server keeps the client of a login that the user has given up, so its id is kept
/// as well. A later request continues the login.
#[test]
fn a_registration_that_is_abandoned_is_kept() {
    for continues in [false, true] {
        let mut lab = Lab::new(config());
        let key = lab.refused(401, "Bearer");
        lab.discover(&resource_metadata(), &server_metadata());
        lab.prepared();
        let fetch = lab.fetch();
        lab.authorizer.abandoned(lab.now);
        let failed = Verdict::Fail(AuthorizationFailure::Abandoned);
        assert_eq!(lab.released(), [(key, failed)]);
        assert_eq!(lab.authorizer.stage(), Stage::Registering);
        if continues {
            lab.refused(401, "Bearer");
        }
        lab.answer(&fetch, 201, &json!({ "client_id": "c1" }));
        if !continues {
            assert_eq!((lab.effect(), lab.authorizer.stage()), (None, Stage::Idle));
            lab.refused(401, "Bearer");
            lab.discover(&resource_metadata(), &server_metadata());
            assert_eq!(lab.prepared().as_deref(), Some(REDIRECT));
        }
        assert_eq!(lab.opened().get("client_id"), "c1");
    }
}

/// Proves A-REG-08: a client that is identified by its metadata document can sign.
#[test]
fn a_client_with_a_metadata_document_can_sign() {
    let mut config = config();
    config.metadata_document(DOCUMENT).unwrap();
    config.document_key = Some(SigningKey::new("ES256", Some("k1".into())));
    let mut server = server_metadata();
    server["client_id_metadata_document_supported"] = json!(true);
    server["token_endpoint_auth_methods_supported"] = json!(["none", "private_key_jwt"]);
    let mut lab = Lab::new(config);
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server);
    lab.prepared();
    let opened = lab.opened();
    assert_eq!(opened.get("client_id"), DOCUMENT);
    let back = format!("code=abc&state={}", opened.get("state"));
    assert_eq!(lab.back(&back), Redirected::Accepted);
    let Some(Effect::Sign(signing)) = lab.effect() else { panic!("nothing is signed") };
    assert_eq!(signing.algorithm, "ES256");
    lab.authorizer.signed(signing.job, b"signature", lab.now);
    let fetch = lab.fetch();
    assert_eq!(field(&fetch, "client_id").as_deref(), Some(DOCUMENT));
    assert!(field(&fetch, "client_assertion").is_some());
}

/// Proves A-REG-17.
#[test]
fn a_configured_client_of_another_issuer_is_an_error() {
    let mismatch = AuthorizationFailure::IssuerMismatch {
        place: IssuerPlace::Client,
        expected: ISSUER.into(),
    };
    let mut config = config();
    config.clients.push(ConfiguredClient::new("c").issuer("https://old.example"));
    let mut lab = Lab::new(config.clone());
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server_metadata());
    assert_eq!(lab.failure(), mismatch);

    // A client id without an issuer belongs to the first issuer that it is used with.
    config.clients = vec![ConfiguredClient::new("c")];
    let mut lab = Lab::new(config);
    lab.log_in(&tokens());
    lab.refused(401, "Bearer");
    let two = "https://two.example";
    lab.serve(200, &json!({ "resource": SERVER, "authorization_servers": [two] }));
    let mut second = server_metadata();
    second["issuer"] = json!(two);
    lab.serve(200, &second);
    let expected = two.into();
    let failure = AuthorizationFailure::IssuerMismatch { place: IssuerPlace::Client, expected };
    assert_eq!(lab.failure(), failure);
}

/// Proves A-REG-18.
#[test]
fn a_metadata_document_identifies_the_client_to_every_issuer() {
    let mut config = config();
    config.metadata_document(DOCUMENT).unwrap();
    let mut lab = Lab::new(config);
    for issuer in [ISSUER, "https://two.example"] {
        lab.refused(401, "Bearer");
        lab.serve(200, &json!({ "resource": SERVER, "authorization_servers": [issuer] }));
        let mut server = server_metadata();
        server["issuer"] = json!(issuer);
        server["client_id_metadata_document_supported"] = json!(true);
        lab.serve(200, &server);
        lab.prepared();
        let opened = lab.opened();
        assert_eq!(opened.get("client_id"), DOCUMENT);
        let fetch = lab.agree(&opened);
        lab.answer(&fetch, 200, &tokens());
        lab.released();
        let generation = lab.generation();
        lab.authorizer.accepted(generation, None);
    }
}

/// Proves A-REG-19.
#[test]
fn a_client_that_the_server_has_forgotten_is_registered_again_once() {
    for code in ["invalid_client", "unauthorized_client"] {
        let mut lab = Lab::new(config());
        let opened = lab.until_browser("Bearer");
        let fetch = lab.agree(&opened);
        lab.answer(&fetch, 401, &json!({ "error": code }));
        assert_eq!(lab.prepared(), None);
        let registration = lab.serve(201, &json!({ "client_id": "c2" }));
        assert_eq!(registration.purpose, FetchPurpose::Registration);
        let opened = lab.opened();
        assert_eq!(opened.get("client_id"), "c2");
        let fetch = lab.agree(&opened);
        lab.answer(&fetch, 401, &json!({ "error": code }));
        let AuthorizationFailure::TokenRefused(error) = lab.failure() else { panic!("it goes on") };
        assert_eq!(error.code.as_str(), code);
    }
}

/// Proves A-REG-20, A-CHAL-17.
#[test]
fn the_client_is_registered_once_although_several_requests_wait() {
    let mut lab = Lab::new(config());
    let mut keys = vec![lab.refused(401, "Bearer")];
    lab.discover(&resource_metadata(), &server_metadata());
    keys.extend((0..4).map(|_| lab.refused_with(401, "Bearer", "", None)));
    lab.prepared();
    lab.serve(201, &json!({ "client_id": "c1" }));
    let opened = lab.opened();
    let fetch = lab.agree(&opened);
    lab.answer(&fetch, 200, &tokens());
    let expected: Vec<_> = keys.into_iter().map(|key| (key, Verdict::Send)).collect();
    assert_eq!(lab.released(), expected);
    // A request that was sent before there was a token is sent again with it.
    let late = lab.refused_with(401, "Bearer", "", None);
    assert_eq!(lab.released(), [(late, Verdict::Send)]);
}

/// Proves A-AUTHZ-18, A-SEC-02.
#[test]
fn a_redirect_uri_is_loopback_or_https_and_as_it_was_registered() {
    let prepared = |uri: &str| {
        let mut lab = Lab::new(config());
        lab.refused(401, "Bearer");
        lab.discover(&resource_metadata(), &server_metadata());
        let (job, _) = lab.prepare();
        lab.authorizer.login_prepared(job, &LoginMaterial::new([1; 64], uri), lab.now);
        lab
    };
    for uri in ["http://example.com/cb", "myapp://cb", "/cb", "http://10.0.0.1/cb"] {
        assert!(matches!(prepared(uri).failure(), AuthorizationFailure::Host(_)), "{uri}");
    }
    for uri in ["https://example.com/cb", "http://localhost:1/cb", "http://[::1]:1/cb"] {
        let mut lab = prepared(uri);
        assert!(lab.fetch().body.expose().contains(&format!(r#""redirect_uris":["{uri}"]"#)));
    }
    // A registered client uses its registered URI; only the port of a loopback address may differ.
    let reused = |first: &str, second: &str| {
        let mut lab = prepared(first);
        lab.serve(201, &json!({ "client_id": "c1" }));
        assert_eq!(lab.opened().get("redirect_uri"), first);
        lab.authorizer.abandoned(lab.now);
        lab.failure();
        lab.refused(401, "Bearer");
        lab.discover(&resource_metadata(), &server_metadata());
        let (job, registered) = lab.prepare();
        assert_eq!(registered.as_deref(), Some(first));
        lab.authorizer.login_prepared(job, &LoginMaterial::new([2; 64], second), lab.now);
        lab.authorizer.stage() == Stage::AwaitingUser
    };
    assert!(reused("http://127.0.0.1:1/cb", "http://127.0.0.1:2/cb"));
    assert!(!reused("http://127.0.0.1:1/cb", "http://127.0.0.1:1/other"));
    assert!(!reused("http://localhost:1/cb", "http://localhost:2/cb"));
    assert!(reused("https://example.com/cb", "https://example.com/cb"));
    assert!(!reused("https://example.com/cb", "https://example.com:444/cb"));
}

/// Proves A-REG-01: a client id that the user has mistyped is asked for again, one of the configuration is not.
#[test]
fn a_mistyped_client_id_is_asked_for_again() {
    let mut config = AuthorizerConfig::new(SERVER).unwrap();
    config.can_name_client = true;
    let named = || {
        let mut lab = Lab::new(config.clone());
        lab.refused(401, "Bearer");
        lab.discover(&resource_metadata(), &server_metadata());
        let Some(Effect::NeedClient { job, .. }) = lab.effect() else { panic!("not asked") };
        let client = ConfiguredClient::new("mistyped").secret("s");
        lab.authorizer.client_named(job, client, lab.now);
        lab
    };
    let is_asked_again = |mut lab: Lab| {
        assert_eq!(lab.released().len(), 1);
        lab.refused(401, "Bearer");
        lab.discover(&resource_metadata(), &server_metadata());
        lab.authorizer.stage() == Stage::NamingClient
    };
    let ends = |lab: &mut Lab, code: Option<&str>| {
        lab.prepared();
        let opened = lab.opened();
        match code {
            // The authorization server shows an error to the user, who closes the window.
            None => lab.authorizer.abandoned(lab.now),
            Some(code) => {
                let fetch = lab.agree(&opened);
                lab.answer(&fetch, 401, &json!({ "error": code }));
            }
        }
    };
    for (code, expected) in
        [(None, true), (Some("invalid_client"), true), (Some("invalid_grant"), false)]
    {
        let mut lab = named();
        ends(&mut lab, code);
        assert_eq!(is_asked_again(lab), expected, "{code:?}");

        let mut config = config.clone();
        config.clients.push(ConfiguredClient::new("mistyped").secret("s"));
        let mut lab = Lab::new(config);
        lab.refused(401, "Bearer");
        lab.discover(&resource_metadata(), &server_metadata());
        ends(&mut lab, code);
        assert!(lab.authorizer.saved().to_text().expose().contains("mistyped"));
        assert!(!is_asked_again(lab), "{code:?}");
    }

    // A client that acts for itself is asked for again, too.
    config.flow = Flow::ClientCredentials;
    let mut lab = Lab::new(config.clone());
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server_metadata());
    let Some(Effect::NeedClient { job, .. }) = lab.effect() else { panic!("not asked") };
    lab.authorizer.client_named(job, ConfiguredClient::new("mistyped").secret("s"), lab.now);
    lab.serve(401, &json!({ "error": "invalid_client" }));
    assert!(is_asked_again(lab));
}
