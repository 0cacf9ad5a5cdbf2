//! Discovery of the authorization server.

use mcp_sansio::auth::{
    AuthorizationFailure, AuthorizerConfig, ConfiguredClient, Fallback, FetchError, FetchPurpose,
    FetchedResponse, IssuerPlace, Permit, Verdict,
};
use serde_json::{Value, json};

use crate::kit::{
    ISSUER, Lab, PRM_PLACE, SERVER, config, resource_metadata, server_metadata, tokens,
};

/// Returns the URLs that the client tries for the metadata of the resource, if each responds with 404.
fn resource_places(server: &str, challenge: &str) -> Vec<String> {
    let mut config = AuthorizerConfig::new(server).unwrap();
    config.fallback = Fallback::Never;
    let mut lab = Lab::new(config);
    lab.refused(401, challenge);
    let mut places = Vec::new();
    while lab.authorizer.waiting() > 0 {
        places.push(lab.serve(404, &json!({})).url);
    }
    assert_eq!(lab.failure(), AuthorizationFailure::NoResourceMetadata);
    places
}

/// Proves A-CHAL-04, A-CHAL-14, A-PRM-06, A-PRM-08, A-PRM-09, A-PRM-10.
#[test]
fn the_place_with_the_path_is_asked_first_and_then_the_root() {
    let root = "https://mcp.example/.well-known/oauth-protected-resource";
    assert_eq!(resource_places("https://mcp.example/a/mcp", ""), [&format!("{root}/a/mcp"), root]);
    assert_eq!(resource_places("https://mcp.example/", ""), [root]);
    assert_eq!(resource_places("https://mcp.example", "Bearer"), [root]);
}

/// Proves A-CHAL-11, A-CHAL-13, A-CHAL-19, A-PRM-07.
#[test]
fn a_place_that_the_challenge_names_is_the_only_one_if_it_can_be_asked() {
    let named =
        |url: &str| resource_places(SERVER, &format!(r#"Basic, bearer Resource_Metadata="{url}""#));
    assert_eq!(named("https://mcp.example/meta"), ["https://mcp.example/meta"]);
    assert_eq!(named("https://other.example/meta"), ["https://other.example/meta"]);
    let usual = [PRM_PLACE, "https://mcp.example/.well-known/oauth-protected-resource"];
    for url in
        ["//evil", "/x", "javascript:alert(1)", "http://mcp.example/meta", "https://10.0.0.1/meta"]
    {
        assert_eq!(named(url), usual, "{url}");
    }
    assert_eq!(resource_places(SERVER, "Negotiate"), usual);
}

/// Proves A-DISC-25, A-DISC-26, A-USE-02, A-SEC-06.
#[test]
fn discovery_carries_the_version_and_no_credentials() {
    let mut lab = Lab::new(config());
    lab.refused(401, "Bearer");
    let fetch = lab.fetch();
    assert_eq!((fetch.method, &*fetch.url), ("GET", PRM_PLACE));
    assert_eq!(fetch.protocol_version, Some("2026-07-28"));
    assert_eq!((fetch.authorization.clone(), fetch.body.expose()), (None, ""));
    assert_eq!(fetch.most_bytes, 64 << 10);
    // The authorizer checks the limit even if the host reads more.
    let long = format!("{{\"x\":\"{}\"}}", "x".repeat(64 << 10));
    lab.answer_text(&fetch, 200, &long);
    let place = "the metadata of the server";
    assert_eq!(lab.failure(), AuthorizationFailure::TooLarge { place });
    lab.refused(401, "Bearer");
    let fetch = lab.fetch();
    lab.fail(&fetch, FetchError::TooLarge);
    assert_eq!(lab.failure(), AuthorizationFailure::TooLarge { place });
}

/// Proves A-PRM-10, A-TOK-12 for documents: a server that is temporarily unavailable is not one without metadata.
#[test]
fn unavailable_metadata_is_a_transient_failure() {
    for (status, after, seconds) in
        [(503, Some("7"), 7), (503, Some("86400"), 3_600), (429, None, 0), (500, None, 0)]
    {
        let mut lab = Lab::new(config());
        lab.refused(401, "Bearer");
        let fetch = lab.fetch();
        let response = FetchedResponse::new(status, b"").retry_after(after);
        lab.authorizer.fetched(fetch.job, response, lab.now);
        let retry_after = after.map(|_| std::time::Duration::from_secs(seconds));
        let place = "the metadata of the server";
        let failure = AuthorizationFailure::Transient { place, status: Some(status), retry_after };
        assert_eq!(lab.failure(), failure);
        // The client sends no request to the server before `Retry-After` has passed.
        lab.refused(401, "Bearer");
        if after.is_some() {
            assert_eq!(lab.failure(), failure);
            lab.wait(seconds);
            lab.refused(401, "Bearer");
        }
        assert_eq!(lab.fetch().purpose, FetchPurpose::ResourceMetadata);
    }
    let mut lab = Lab::new(config());
    lab.refused(401, "Bearer");
    let fetch = lab.fetch();
    lab.fail(&fetch, FetchError::NotSent);
    let place = "the metadata of the server";
    let failure = AuthorizationFailure::Transient { place, status: None, retry_after: None };
    assert_eq!(lab.failure(), failure);
}

/// Runs a discovery with this metadata document of the resource. Returns the failure, or the URL of the next request.
fn with_resource(document: &Value) -> Result<String, AuthorizationFailure> {
    let mut lab = Lab::new(config());
    lab.refused(401, "Bearer");
    lab.serve(200, document);
    if lab.authorizer.waiting() == 0 {
        return Err(lab.failure());
    }
    Ok(lab.fetch().url)
}

/// Proves A-PRM-11, A-PRM-12, A-PRM-17, A-PRM-18, A-DISC-13.
#[test]
fn metadata_of_the_resource_are_checked_before_anything_is_done_with_them() {
    let root = "https://mcp.example/.well-known/oauth-protected-resource".to_owned();
    let server = "https://as.example/.well-known/oauth-authorization-server".to_owned();
    let with = |members: Value| {
        let mut document = resource_metadata();
        for (name, value) in members.as_object().unwrap() {
            document[name] = value.clone();
        }
        with_resource(&document)
    };
    // These documents are invalid, so the next URL is tried.
    assert_eq!(with_resource(&json!([])), Ok(root.clone()));
    assert_eq!(with_resource(&json!("x")), Ok(root.clone()));
    assert_eq!(with_resource(&json!({ "authorization_servers": [ISSUER] })), Ok(root.clone()));
    assert_eq!(with(json!({ "authorization_servers": ISSUER })), Ok(root.clone()));
    assert_eq!(with(json!({ "resource": 1 })), Ok(root.clone()));
    assert_eq!(with(json!({ "resource": "/mcp" })), Ok(root));
    // The document describes another resource.
    for other in ["https://evil.example/mcp", "https://mcp.example/mcp2", "http://mcp.example/mcp"]
    {
        let failure = AuthorizationFailure::ResourceMismatch(other.into());
        assert_eq!(with(json!({ "resource": other })), Err(failure));
    }
    for parent in ["https://mcp.example", "https://mcp.example/", "https://MCP.example:443/mcp?x"] {
        assert_eq!(with(json!({ "resource": parent })), Ok(server.clone()), "{parent}");
    }
    let none = json!({ "authorization_servers": [] });
    assert_eq!(with(none), Err(AuthorizationFailure::NoAuthorizationServer));
    let in_body = json!({ "bearer_methods_supported": ["body"] });
    assert_eq!(with(in_body), Err(AuthorizationFailure::NoHeaderTokens));
    let in_header = json!({ "bearer_methods_supported": ["body", "header"] });
    assert_eq!(with(in_header), Ok(server.clone()));
    let signed = json!({ "signed_metadata": "a.b.c", "unknown": { "x": [null] } });
    assert_eq!(with(signed), Ok(server));
}

/// Proves A-PRM-13.
#[test]
fn the_issuer_that_knows_the_client_is_chosen() {
    let two =
        json!({ "resource": SERVER, "authorization_servers": [ISSUER, "https://two.example"] });
    let second = "https://two.example/.well-known/oauth-authorization-server";
    let mut config = config();
    config.clients.push(ConfiguredClient::new("c2").issuer("https://two.example"));
    let mut lab = Lab::new(config);
    lab.refused(401, "Bearer");
    lab.serve(200, &two);
    assert_eq!(lab.fetch().url, second);
    // The same if the client is registered there.
    let mut lab = Lab::new(crate::kit::config());
    lab.refused(401, "Bearer");
    let one = json!({ "resource": SERVER, "authorization_servers": ["https://two.example"] });
    let mut server = server_metadata();
    server["issuer"] = json!("https://two.example");
    lab.discover(&one, &server);
    lab.prepared();
    lab.serve(201, &json!({ "client_id": "c1" }));
    lab.opened();
    lab.authorizer.abandoned(lab.now);
    assert_eq!(lab.failure(), AuthorizationFailure::Abandoned);
    lab.refused(401, "Bearer");
    lab.serve(200, &two);
    assert_eq!(lab.fetch().url, second);
}

/// Returns the URLs that the client tries for the metadata of an issuer.
fn server_places(issuer: &str) -> Vec<String> {
    let mut lab = Lab::new(config());
    lab.refused(401, "Bearer");
    lab.serve(200, &json!({ "resource": SERVER, "authorization_servers": [issuer] }));
    let mut places = Vec::new();
    while lab.authorizer.waiting() > 0 {
        places.push(lab.serve(404, &json!({})).url);
    }
    let failure = AuthorizationFailure::NoServerMetadata { issuer: issuer.into() };
    assert_eq!(lab.failure(), failure);
    places
}

/// Proves A-DISC-01, A-DISC-02, A-DISC-03, A-DISC-04, A-DISC-05, A-DISC-06, A-DISC-28, A-GEN-04.
#[test]
fn an_issuer_is_asked_at_each_place_in_order() {
    let with_path = [
        "https://as.example/.well-known/oauth-authorization-server/t/1",
        "https://as.example/.well-known/openid-configuration/t/1",
        "https://as.example/t/1/.well-known/openid-configuration",
    ];
    assert_eq!(server_places("https://as.example/t/1"), with_path);
    assert_eq!(server_places("https://as.example/t/1/"), with_path);
    let without = [
        "https://as.example/.well-known/oauth-authorization-server",
        "https://as.example/.well-known/openid-configuration",
    ];
    assert_eq!(server_places("https://as.example"), without);
    assert_eq!(server_places("https://as.example/"), without);
}

/// Runs a login with this metadata document of the authorization server.
fn with_server(document: &Value) -> Result<(), AuthorizationFailure> {
    let mut lab = Lab::new(config());
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), document);
    if lab.authorizer.waiting() == 0 {
        return Err(lab.failure());
    }
    lab.prepare();
    Ok(())
}

fn changed(member: &str, value: Value) -> Value {
    let mut document = server_metadata();
    document[member] = value;
    document
}

/// Proves A-DISC-07, A-DISC-08, A-DISC-09, A-SEC-07.
#[test]
fn a_document_of_another_issuer_is_refused_and_nothing_else_is_asked() {
    let place = IssuerPlace::Metadata;
    let mismatch = AuthorizationFailure::IssuerMismatch { place, expected: ISSUER.into() };
    for issuer in [
        "https://as.example/",
        "https://AS.example",
        "https://as.example:443",
        "https://evil.example",
    ] {
        assert_eq!(
            with_server(&changed("issuer", json!(issuer))),
            Err(mismatch.clone()),
            "{issuer}"
        );
    }
    let missing = |member| AuthorizationFailure::UnusableMetadata { issuer: ISSUER.into(), member };
    assert_eq!(with_server(&changed("issuer", Value::Null)), Err(missing("issuer")));
    assert_eq!(with_server(&server_metadata()), Ok(()));
}

/// Proves A-DISC-10, A-DISC-11, A-DISC-12, A-AUTHZ-03, A-AUTHZ-20, A-SEC-01.
#[test]
fn unusable_server_metadata_is_refused_naming_the_member() {
    let unusable =
        |member| Err(AuthorizationFailure::UnusableMetadata { issuer: ISSUER.into(), member });
    let with = |member, value| with_server(&changed(member, value));
    assert_eq!(with("token_endpoint", Value::Null), unusable("token_endpoint"));
    assert_eq!(with("authorization_endpoint", Value::Null), unusable("authorization_endpoint"));
    let script = json!("javascript:alert(1)");
    assert_eq!(with("authorization_endpoint", script), unusable("authorization_endpoint"));
    let plain = json!("http://as.example/authorize");
    assert_eq!(with("authorization_endpoint", plain), unusable("authorization_endpoint"));
    let fragment = json!("https://as.example/token#x");
    assert_eq!(with("token_endpoint", fragment), unusable("token_endpoint"));
    for (member, url) in [
        ("token_endpoint", "http://as.example/token"),
        ("registration_endpoint", "https://169.254.169.254/register"),
        ("authorization_endpoint", "http://127.0.0.1:8080/admin?delete=all"),
        ("authorization_endpoint", "https://localhost/authorize"),
    ] {
        let failure = with(member, json!(url)).unwrap_err();
        assert_eq!(
            failure.to_string(),
            format!("{member} must not be fetched: the policy does not allow it")
        );
    }
    assert_eq!(
        with("response_types_supported", json!(["token"])),
        unusable("response_types_supported")
    );
    assert_eq!(with("response_types_supported", json!(["token", "code"])), Ok(()));
    let implicit = json!(["implicit"]);
    assert_eq!(with("grant_types_supported", implicit), unusable("grant_types_supported"));
    assert_eq!(with("grant_types_supported", json!(["authorization_code"])), Ok(()));
    assert_eq!(with("scopes_supported", json!("x")), unusable("scopes_supported"));
    for methods in [Value::Null, json!([]), json!(["plain"])] {
        let outcome = with("code_challenge_methods_supported", methods);
        assert_eq!(outcome, Err(AuthorizationFailure::NoPkce));
    }
}

/// Proves A-AUTHZ-20: a page on this computer is opened if the policy allows it, or for a server on this computer.
#[test]
fn an_authorization_endpoint_on_this_machine_needs_the_policy() {
    let document = changed("authorization_endpoint", json!("http://127.0.0.1:8080/authorize"));
    for server in [SERVER, "http://localhost:3000/mcp"] {
        let mut config = AuthorizerConfig::new(server).unwrap();
        config.policy.loopback = true;
        config.registration = self::config().registration;
        let mut lab = Lab::new(config);
        lab.refused(401, "Bearer");
        lab.discover(&json!({ "resource": server, "authorization_servers": [ISSUER] }), &document);
        lab.prepare();
    }
}

/// Proves A-DISC-27: the host follows no redirect, and a redirect is no document.
#[test]
fn a_redirect_is_no_document() {
    let mut lab = Lab::new(config());
    lab.refused(401, "Bearer");
    lab.serve(302, &resource_metadata());
    let second = lab.serve(200, &resource_metadata());
    assert_eq!(second.url, "https://mcp.example/.well-known/oauth-protected-resource");
    lab.serve(301, &server_metadata());
    assert_eq!(lab.fetch().url, "https://as.example/.well-known/openid-configuration");
}

/// An HTML page from a server that responds to every path is no document either.
#[test]
fn a_page_is_no_document() {
    let mut lab = Lab::new(config());
    lab.refused(401, "Bearer");
    let fetch = lab.fetch();
    lab.answer_text(&fetch, 200, "<!doctype html>");
    lab.serve(200, &resource_metadata());
    let fetch = lab.fetch();
    lab.answer_text(&fetch, 200, "<!doctype html>");
    lab.serve(200, &server_metadata());
    lab.prepare();
}

/// Proves A-PRM-15, A-REG-16, A-USE-03.
#[test]
fn a_change_of_the_issuer_is_noticed_and_nothing_of_the_old_one_goes_to_the_new_one() {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    assert_eq!(lab.field().as_deref(), Some("Bearer t1"));
    lab.refused(401, "Bearer");
    lab.serve(
        200,
        &json!({ "resource": SERVER, "authorization_servers": ["https://two.example"] }),
    );
    let mut second = server_metadata();
    for member in ["issuer", "authorization_endpoint", "token_endpoint", "registration_endpoint"] {
        let url = second[member].as_str().unwrap().replace("as.example", "two.example");
        second[member] = json!(url);
    }
    lab.serve(200, &second);
    assert_eq!(lab.field(), None, "the old token is good for nothing");
    assert_eq!(lab.prepared(), None, "there is no registration with the new issuer");
    let registration = lab.serve(201, &json!({ "client_id": "c2" }));
    assert_eq!(registration.url, "https://two.example/register");
    let opened = lab.opened();
    assert_eq!(opened.get("client_id"), "c2");
    let fetch = lab.agree(&opened);
    assert_eq!(fetch.url, "https://two.example/token");
    let sent = format!(
        "{registration:?} {} {} {:?}",
        registration.body.expose(),
        fetch.body.expose(),
        opened
    );
    for old in ["c1", "t1", "r1"] {
        assert!(
            !sent.contains(&format!("={old}")) && !sent.contains(&format!("\"{old}\"")),
            "{sent}"
        );
    }
    lab.answer(&fetch, 200, &json!({ "access_token": "t2", "token_type": "Bearer" }));
    assert_eq!(lab.released().pop().map(|(_, verdict)| verdict), Some(Verdict::Send));
    assert_eq!(lab.field().as_deref(), Some("Bearer t2"));
    assert!(matches!(
        lab.authorizer.permit(lab.clone().key(), SERVER, lab.now),
        Permit::Send(Some(_))
    ));
}
