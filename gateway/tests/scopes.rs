//! Access tokens, whose scopes decide which servers a client may use.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod kit;

use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use kit::*;
use mcp_sansio::Revision;
use mcp_sansio::auth::Scopes;
use mcp_sansio::model::SubscriptionFilter;
use mcp_sansio_gateway::Gateway;
use mcp_sansio_gateway::config::UpstreamConfig;
use mcp_sansio_gateway::serve::{AuthorizationConfig, ServeConfig, endpoint};
use mcp_sansio_http::Endpoint;
use serde_json::json;

const RESOURCE: &str = "https://gateway.example/mcp";
const ISSUER: &str = "https://as.example";
const REFUSAL: &str = "the server asks for authorization (HTTP status 403): Bearer error=\"insufficient_scope\", \
    resource_metadata=\"https://gateway.example/.well-known/oauth-protected-resource/mcp\", scope=\"staff\"";
const BOTH: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

/// Returns the key of the issuer.
fn key() -> EncodingKey {
    // A private key of Ed25519 is 32 random bytes, here behind the head of its format, PKCS #8.
    let mut der = b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20".to_vec();
    der.extend([7; 32]);
    EncodingKey::from_ed_der(&der)
}

/// Returns the endpoint of a gateway, as the program serves it with access control.
fn protected(gateway: &Gateway) -> Endpoint {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("keys.json");
    let keys = vec![Jwk::from_encoding_key(&key(), Algorithm::EdDSA).unwrap()];
    std::fs::write(&file, serde_json::to_string(&JwkSet { keys }).unwrap()).unwrap();
    let mut config = ServeConfig::new();
    config.authorization = Some(AuthorizationConfig::new(RESOURCE, ISSUER, file));
    endpoint(gateway, &config).unwrap()
}

/// Connects a client whose access token has these scopes.
async fn open(endpoint: &Endpoint, revision: Revision, user: &str, scopes: &str) -> Peer {
    let claims = json!({
        "iss": ISSUER, "aud": RESOURCE, "sub": user, "scope": scopes, "exp": 4_000_000_000_u64,
    });
    let token = jsonwebtoken::encode(&Header::new(Algorithm::EdDSA), &claims, &key()).unwrap();
    let field = ("authorization", &*format!("Bearer {token}"));
    Peer::over_http(endpoint, revision, field, user).await
}

/// Returns the configuration of a server that needs a scope.
fn with_scope(fake: &Fake) -> UpstreamConfig {
    let mut config = fake.config();
    config.scopes = Scopes::parse("staff");
    config
}

/// The endpoint refuses a request that names a server by its prefix, or a resource that the server lists.
#[tokio::test(start_paused = true)]
async fn a_server_is_only_for_clients_with_its_scopes() {
    for revision in BOTH {
        let (open_to_all, guarded) = (Fake::legacy("all"), Fake::modern("few"));
        let gateway = start_with(vec![open_to_all.config(), with_scope(&guarded)]).await;
        let endpoint = protected(&gateway);
        let guest = open(&endpoint, revision, "guest", "other").await;
        let staff = open(&endpoint, revision, "staff", "other staff").await;
        assert_eq!(staff.tools().await.len(), 2 * TOOLS.len());
        let tools = guest.tools().await;
        assert!(tools.iter().all(|tool| tool.starts_with("all__")) && tools.len() == TOOLS.len());
        let resources = guest.handle().list_all_resources().await.unwrap();
        let uris: Vec<_> = resources.iter().map(|resource| resource.uri.to_string()).collect();
        assert_eq!(uris, [open_to_all.uri()]);
        assert_eq!(staff.handle().list_all_resources().await.unwrap().len(), 2);

        assert_eq!(staff.call("few__whoami", json!({})).await.unwrap(), "few");
        assert!(staff.read(&guarded.uri()).await.unwrap().contains("few"));
        assert_eq!(guest.call("all__whoami", json!({})).await.unwrap(), "all");
        let failure = guest.call("few__whoami", json!({})).await.unwrap_err().to_string();
        assert_eq!(failure, REFUSAL);
        let failure = guest.read(&guarded.uri()).await.unwrap_err().to_string();
        assert_eq!(failure, REFUSAL);
        assert_eq!(guest.call("all__whoami", json!({})).await.unwrap(), "all");
    }
}

/// Several servers have the resource or the tool, and a client has that of the first one that it may use.
#[tokio::test(start_paused = true)]
async fn what_several_servers_have_is_for_all_their_clients() {
    for revision in BOTH {
        for is_first in [true, false] {
            let (guarded, all) = (Fake::modern("x").marking(), Fake::modern("x"));
            let [mut few, mut many] = [with_scope(&guarded), all.config()];
            (few.name, many.name) = ("few".into(), "many".into());
            (few.names.prefix, many.names.prefix) = ("f_______".into(), "m__".into());
            let mut servers = vec![few, many];
            if !is_first {
                servers.reverse();
            }
            let gateway = start_with(servers.clone()).await;
            let endpoint = protected(&gateway);
            let guest = open(&endpoint, revision, "guest", "other").await;
            let staff = open(&endpoint, revision, "staff", "staff").await;
            // The lists of a server are read for the clients that may use it.
            staff.handle().list_all_resources().await.unwrap();
            let uris = guest.handle().list_all_resources().await.unwrap();
            assert_eq!(uris.iter().map(|one| one.uri.to_string()).collect::<Vec<_>>(), [all.uri()]);
            assert!(guest.read(&all.uri()).await.unwrap().contains(&all.uri()));

            // The tool of the first server has an argument that its clients repeat in a header field.
            servers.iter_mut().for_each(|server| server.names.prefix = String::new());
            gateway.reload(servers).await.unwrap();
            for client in [&staff, &guest] {
                client.tools().await;
                let text = client.call("echo", json!({"label": "x"})).await.unwrap();
                assert_eq!(text, r#"{"label":"x"}"#);
            }
        }
    }
}

/// The endpoint cannot tell whose tool this is. The gateway can.
#[tokio::test(start_paused = true)]
async fn a_server_without_a_prefix_is_only_for_clients_with_its_scopes() {
    for revision in BOTH {
        let guarded = Fake::modern("few");
        let mut config = with_scope(&guarded);
        config.names.prefix = String::new();
        let gateway = start_with(vec![config]).await;
        let endpoint = protected(&gateway);
        let guest = open(&endpoint, revision, "guest", "").await;
        let staff = open(&endpoint, revision, "staff", "staff").await;
        let failure = guest.call("whoami", json!({})).await.unwrap_err().to_string();
        assert!(failure.contains("no server here has this name"), "{failure}");
        // The resource is in no list.
        let failure = guest.read("ask://few").await.unwrap_err().to_string();
        assert!(failure.contains("no server here has this resource"), "{failure}");
        assert_eq!(staff.call("whoami", json!({})).await.unwrap(), "few");
        assert!(staff.read("ask://few").await.unwrap().contains("staff"));
        assert_eq!(guest.tools().await, Vec::<String>::new());
        assert_eq!(guarded.journal(), Vec::<String>::new());
    }
}

/// Also not after a reload, which subscribes again.
#[tokio::test(start_paused = true)]
async fn changes_are_announced_only_to_clients_with_the_scopes_of_the_server() {
    for revision in BOTH {
        let guarded = Fake::modern("few");
        let gateway = start_with(vec![with_scope(&guarded)]).await;
        let endpoint = protected(&gateway);
        let guest = open(&endpoint, revision, "guest", "").await;
        let staff = open(&endpoint, revision, "staff", "staff").await;
        let filter = SubscriptionFilter::new().with_resource(guarded.uri());
        for client in [&guest, &staff] {
            client.handle().subscribe(&filter).unwrap();
        }
        settle().await;
        let changed = format!("notifications/resources/updated {}", guarded.uri());
        guarded.update_resource();
        settle().await;
        assert_eq!((guest.events(), staff.events()), (vec![], vec![changed.clone()]));

        let mut config = with_scope(&guarded);
        config.most_calls = 5;
        gateway.reload(vec![config]).await.unwrap();
        settle().await;
        for client in [&guest, &staff] {
            client.seen.events.lock().unwrap().clear();
        }
        guarded.update_resource();
        settle().await;
        assert_eq!((guest.events(), staff.events()), (vec![], vec![changed]));
    }
}
