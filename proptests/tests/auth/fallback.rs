//! Servers of 2025-03-26, which are their own authorization servers.

use mcp_sansio::Revision;
use mcp_sansio::auth::{
    AuthorizationFailure, AuthorizerConfig, Fallback, FetchPurpose, IssuerPlace,
};
use serde_json::{Value, json};

use crate::kit::{Lab, SERVER, config};

/// Returns a client that has found no metadata of the resource, up to the next request.
fn without_resource(mut lab: Lab) -> Lab {
    lab.refused(401, "Bearer");
    lab.serve(404, &json!({}));
    lab.serve(404, &json!({}));
    lab
}

/// Proves A-DISC-20, A-DISC-21, A-DISC-22, A-GEN-05, A-AUTHZ-12.
#[test]
fn a_server_of_2025_03_26_is_its_own_authorization_server() {
    let mut lab = without_resource(Lab::new(config()));
    let mut own = json!({
        "issuer": "https://mcp.example",
        "authorization_endpoint": "https://login.example/oauth/authorize",
        "token_endpoint": "https://login.example/oauth/token",
        "registration_endpoint": "https://login.example/oauth/register",
    });
    let fetch = lab.serve(200, &own);
    assert_eq!(fetch.url, "https://mcp.example/.well-known/oauth-authorization-server");
    lab.prepared();
    assert_eq!(
        lab.serve(201, &json!({ "client_id": "c" })).url,
        "https://login.example/oauth/register"
    );
    let opened = lab.opened();
    assert_eq!(opened.endpoint, "https://login.example/oauth/authorize");
    assert_eq!(opened.get("resource"), SERVER);

    let mut config = config();
    config.resource_always = false;
    let mut lab = without_resource(Lab::new(config));
    lab.serve(200, &own);
    lab.prepared();
    lab.serve(201, &json!({ "client_id": "c" }));
    assert_eq!(lab.opened().find("resource"), None);

    own["issuer"] = json!("https://evil.example");
    let mut lab = without_resource(Lab::new(self::config()));
    lab.serve(200, &own);
    let expected = "https://mcp.example".into();
    let place = IssuerPlace::Metadata;
    assert_eq!(lab.failure(), AuthorizationFailure::IssuerMismatch { place, expected });
}

/// Proves A-DISC-20, A-DISC-22, A-AUTHZ-10: the issuer is the origin, however the user has spelled the URL.
#[test]
fn the_issuer_of_a_server_of_2025_03_26_does_not_depend_on_the_spelling() {
    for has_document in [true, false] {
        let mut config = AuthorizerConfig::new("HTTPS://MCP.Example:443/mcp").unwrap();
        config.registration = self::config().registration;
        let mut lab = without_resource(Lab::new(config));
        let own = json!({
            "issuer": "https://mcp.example",
            "authorization_endpoint": "https://mcp.example/authorize",
            "token_endpoint": "https://mcp.example/token",
            "registration_endpoint": "https://mcp.example/register",
        });
        lab.serve(if has_document { 200 } else { 404 }, &own);
        lab.prepared();
        lab.serve(201, &json!({ "client_id": "c" }));
        assert_eq!(lab.opened().get("client_id"), "c");
        let text = lab.saved.as_ref().unwrap().to_text();
        let stored: Value = serde_json::from_str(text.expose()).unwrap();
        assert_eq!(stored["clients"][0]["issuer"], "https://mcp.example");
    }
}

/// Proves A-DISC-23, A-AUTHZ-04.
#[test]
fn a_server_of_2025_03_26_without_metadata_has_the_usual_endpoints() {
    let mut lab = without_resource(Lab::new(config()));
    lab.serve(404, &json!({}));
    lab.prepared();
    assert_eq!(lab.serve(201, &json!({ "client_id": "c" })).url, "https://mcp.example/register");
    let opened = lab.opened();
    assert_eq!(opened.endpoint, "https://mcp.example/authorize");
    assert_eq!(opened.get("code_challenge_method"), "S256");
    assert_eq!(lab.agree(&opened).url, "https://mcp.example/token");
}

/// Proves A-DISC-24.
#[test]
fn a_server_that_has_spoken_a_later_revision_is_not_its_own_authorization_server() {
    for (revision, fallback, falls_back) in [
        (None, Fallback::UnlessNewer, true),
        (Some(Revision::V2025_03_26), Fallback::UnlessNewer, true),
        (Some(Revision::V2025_06_18), Fallback::UnlessNewer, false),
        (Some(Revision::V2026_07_28), Fallback::UnlessNewer, false),
        (Some(Revision::V2026_07_28), Fallback::Always, true),
        (None, Fallback::Never, false),
    ] {
        let mut config = config();
        config.fallback = fallback;
        let mut lab = Lab::new(config);
        lab.authorizer.accepted(None, revision);
        let mut lab = without_resource(lab);
        if falls_back {
            assert_eq!(lab.fetch().purpose, FetchPurpose::ServerMetadata, "{revision:?}");
        } else {
            assert_eq!(lab.failure(), AuthorizationFailure::NoResourceMetadata, "{revision:?}");
        }
    }
}

/// Proves A-DISC-24, A-PRM-10: only servers of later revisions name metadata, also if there is none at the place.
#[test]
fn a_server_that_names_its_metadata_is_not_its_own_authorization_server() {
    for (named, places) in [("https://mcp.example/meta", 1), ("/not/absolute", 2)] {
        for (fallback, falls_back) in [(Fallback::UnlessNewer, false), (Fallback::Always, true)] {
            let mut config = config();
            config.fallback = fallback;
            let mut lab = Lab::new(config);
            lab.refused(401, &format!(r#"Bearer resource_metadata="{named}""#));
            for _ in 0..places {
                lab.serve(403, &json!({}));
            }
            if falls_back {
                assert_eq!(lab.fetch().purpose, FetchPurpose::ServerMetadata, "{named}");
            } else {
                assert_eq!(lab.failure(), AuthorizationFailure::NoResourceMetadata, "{named}");
            }
        }
    }
}
