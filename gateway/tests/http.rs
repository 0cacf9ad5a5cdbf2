//! The gateway over HTTP: clients with sessions and without, principals, limits, subscriptions.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod kit;

use std::net::IpAddr;
use std::time::Duration;

use kit::*;
use mcp_sansio::http::RequestSource;
use mcp_sansio::model::SubscriptionFilter;
use mcp_sansio::{CallOptions, Principal, Revision};
use mcp_sansio_gateway::Gateway;
use mcp_sansio_gateway::config::Sharing;
use mcp_sansio_http::{Endpoint, EndpointOptions};
use mcp_sansio_tokio::{Json, PendingCall};
use serde_json::json;

/// Returns the endpoint of a gateway, whose clients send their numbers, or only their addresses, in the header field `x-user`.
fn endpoint(gateway: &Gateway) -> Endpoint {
    let mut options = EndpointOptions::new();
    options.connection = gateway.connection_options();
    let options = options.identify(|head| {
        let user = head.headers.get("x-user").unwrap().to_str().unwrap();
        Ok(match user.parse::<IpAddr>() {
            Ok(address) => RequestSource::default().address(address),
            Err(_) => Principal::new(user.parse().unwrap()).into(),
        })
    });
    Endpoint::with(gateway.server_config(), options, gateway.clone())
}

/// Connects a client to an endpoint, as this user or from this address.
async fn open(endpoint: &Endpoint, revision: Revision, user: impl ToString, name: &str) -> Peer {
    Peer::over_http(endpoint, revision, ("x-user", &user.to_string()), name).await
}

/// A session that several clients share does not tell which of them a request is for. It is refused, and not shown to
/// another client.
#[tokio::test(start_paused = true)]
async fn input_is_never_asked_of_another_client() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let old = Fake::legacy("old");
        let gateway = start(&[&old]).await;
        let endpoint = endpoint(&gateway);
        let ann = open(&endpoint, revision, 1, "ann").await;
        let bob = open(&endpoint, revision, 2, "bob").await;
        let (one, other) = tokio::join!(
            ann.call("old__ask_loose", json!({"label": "a", "ms": 100})),
            bob.call("old__slow", json!({"label": "b", "ms": 500})),
        );
        assert!(one.unwrap().contains("the gateway does not know the client"));
        assert_eq!(other.unwrap(), "old b");
        assert_eq!((ann.questions().len(), bob.questions().len()), (0, 0));
        // Alone, each gets its own.
        assert_eq!(
            bob.call("old__ask_loose", json!({"label": "c"})).await.unwrap(),
            "old c \"bob\""
        );
        assert_eq!(ann.call("old__ask", json!({"label": "d"})).await.unwrap(), "old d \"ann\"");
    }
}

/// With sessions of their own, clients do not disturb each other.
#[tokio::test(start_paused = true)]
async fn clients_can_have_sessions_of_their_own() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let old = Fake::legacy("old");
        let mut config = old.config();
        config.sharing = Sharing::PerClient { most: 2, idle: Duration::from_secs(60) };
        let gateway = start_with(vec![config]).await;
        let endpoint = endpoint(&gateway);
        let ann = open(&endpoint, revision, 1, "ann").await;
        let bob = open(&endpoint, revision, 2, "bob").await;
        let (one, other) = tokio::join!(
            ann.call("old__ask_loose", json!({"label": "a", "ms": 100})),
            bob.call("old__ask_loose", json!({"label": "b", "ms": 100})),
        );
        assert_eq!(
            (one.unwrap(), other.unwrap()),
            ("old a \"ann\"".into(), "old b \"bob\"".into())
        );
        assert_eq!(gateway.status().upstreams[0].client_sessions, 2);
        assert_eq!(old.connections(), 3);
        // There is room for two, until one of them has not been used for a minute.
        let eve = open(&endpoint, revision, 3, "eve").await;
        let failure = eve.call("old__whoami", json!({})).await.unwrap_err();
        assert!(failure.to_string().contains("too many clients have sessions there"), "{failure}");
        tokio::time::sleep(Duration::from_secs(61)).await;
        assert_eq!(eve.call("old__whoami", json!({})).await.unwrap(), "old");
        assert_eq!(gateway.status().upstreams[0].client_sessions, 1);
        settle().await;
        assert_eq!(old.connections(), 2);
    }
}

/// A request state is worth nothing to another client.
#[tokio::test(start_paused = true)]
async fn a_request_state_belongs_to_its_client() {
    let (old, new) = (Fake::legacy("old"), Fake::modern("new"));
    let gateway = start(&[&old, &new]).await;
    let endpoint = endpoint(&gateway);
    let ann = open(&endpoint, Revision::V2026_07_28, 1, "ann").await;
    let bob = open(&endpoint, Revision::V2026_07_28, 2, "bob").await;
    let options = CallOptions::new().input_by_hand();
    for name in ["old__ask", "new__ask"] {
        let params = json!({"name": name, "arguments": {"label": "x"}});
        let call = ann.handle().call_method("tools/call", &Json(params), options);
        let failure = call.await.unwrap_err();
        let mcp_sansio_tokio::CallFailure::InputRequired(required) = failure else {
            panic!("{failure}")
        };
        let state: String = required.get("requestState").unwrap().parse().unwrap();
        let key = required.get("inputRequests").unwrap().members().next().unwrap().0.to_string();
        let answer = json!({key: {"action": "accept", "content": {"name": "ann"}}});
        let params = json!({"name": name, "arguments": {"label": "x"}, "requestState": state, "inputResponses": answer});
        let params = Json(params);
        let stolen = bob.handle().call_method("tools/call", &params, options).await.unwrap_err();
        assert!(stolen.to_string().contains("is not one of this request"), "{name}: {stolen}");
        let reply = ann.handle().call_method("tools/call", &params, options).await.unwrap();
        assert!(reply.raw().as_json().contains(r#"x \"ann\""#), "{name}: {reply:?}");
    }
}

fn slow_call(client: &Peer, number: usize) -> PendingCall {
    let arguments = json!({"label": number.to_string(), "ms": 1_000});
    let params = Json(json!({"name": "one__slow", "arguments": arguments}));
    client.handle().call_method("tools/call", &params, CallOptions::new())
}

/// A client with many calls gets no more than its part of the places.
#[tokio::test(start_paused = true)]
async fn a_client_with_many_calls_delays_no_other() {
    let one = Fake::modern("one");
    let mut config = one.config();
    (config.most_calls, config.most_calls_of_client) = (4, 2);
    let gateway = start_with(vec![config]).await;
    let endpoint = endpoint(&gateway);
    let ann = open(&endpoint, Revision::V2026_07_28, 1, "ann").await;
    let bob = open(&endpoint, Revision::V2026_07_28, 2, "bob").await;
    let calls: Vec<_> = (0..20).map(|number| slow_call(&ann, number)).collect();
    settle().await;
    let before = tokio::time::Instant::now();
    assert_eq!(bob.call("one__slow", json!({"label": "bob", "ms": 100})).await.unwrap(), "one bob");
    assert!(before.elapsed() < Duration::from_millis(200));
    for call in calls {
        call.await.unwrap();
    }
}

/// Clients that are not authenticated count by network, however many sessions they open. A client with few calls gets the next
/// free place.
#[tokio::test(start_paused = true)]
async fn a_network_with_many_sessions_delays_no_other() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let one = Fake::modern("one");
        let mut config = one.config();
        (config.most_calls, config.most_calls_of_client) = (4, 2);
        let gateway = start_with(vec![config]).await;
        let endpoint = endpoint(&gateway);
        let mut crowd = Vec::new();
        for network in 0..10 {
            let address = format!("2001:db8::{}:{network:x}", network % 2);
            crowd.push(open(&endpoint, revision, address, "crowd").await);
        }
        let calls = |peer: &Peer| (0..4).map(|number| slow_call(peer, number)).collect::<Vec<_>>();
        let first: Vec<_> = crowd.iter().flat_map(calls).collect();
        settle().await;
        assert_eq!(gateway.status().upstreams[0].calls, 2);
        let bob = open(&endpoint, revision, "192.0.2.1", "bob").await;
        let second = calls(&bob);
        settle().await;
        assert_eq!(gateway.status().upstreams[0].calls, 4);
        // Two others have all the places now.
        let eve = open(&endpoint, revision, "192.0.2.2", "eve").await;
        let before = tokio::time::Instant::now();
        assert_eq!(
            eve.call("one__slow", json!({"label": "eve", "ms": 100})).await.unwrap(),
            "one eve"
        );
        assert!(before.elapsed() < Duration::from_millis(1_200), "{:?}", before.elapsed());
        for call in first.into_iter().chain(second) {
            call.await.unwrap();
        }
    }
}

/// Subscriptions over HTTP leave nothing behind, and a reload does not multiply their notifications.
#[tokio::test(start_paused = true)]
async fn subscriptions_survive_a_reload_and_end() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let (one, two) = (Fake::modern("one"), Fake::legacy("two"));
        let kept = one.config();
        let gateway = start_with(vec![kept.clone(), two.config()]).await;
        let endpoint = endpoint(&gateway);
        let ann = open(&endpoint, revision, 1, "ann").await;
        ann.handle().list_all_resources().await.unwrap();
        let filter = SubscriptionFilter::new().with_resource(one.uri());
        let subscription = ann.handle().subscribe(&filter).unwrap();
        settle().await;
        for most in 1..4 {
            let mut changed = two.config();
            changed.most_calls = most;
            gateway.reload(vec![kept.clone(), changed]).await.unwrap();
        }
        settle().await;
        ann.seen.events.lock().unwrap().clear();
        one.update_resource();
        settle().await;
        assert_eq!(ann.events(), [format!("notifications/resources/updated {}", one.uri())]);
        assert_eq!(gateway.status().subscribers, 1);
        ann.handle().unsubscribe(subscription).unwrap();
        settle().await;
        assert_eq!(gateway.status().subscribers, 0, "{revision:?}");
        ann.seen.events.lock().unwrap().clear();
        one.update_resource();
        settle().await;
        assert_eq!(ann.events(), Vec::<String>::new());
    }
}

/// Sessions of single clients that are not used make room for those of others.
#[tokio::test(start_paused = true)]
async fn unused_sessions_of_clients_make_room() {
    let server = Fake::legacy("one");
    let mut config = server.config();
    config.sharing = Sharing::PerClient { most: 2, idle: Duration::from_secs(600) };
    let gateway = start_with(vec![config]).await;
    let endpoint = endpoint(&gateway);
    let ann = open(&endpoint, Revision::V2025_11_25, 1, "ann").await;
    let bob = open(&endpoint, Revision::V2025_11_25, 2, "bob").await;
    let eve = open(&endpoint, Revision::V2025_11_25, 3, "eve").await;
    for client in [&ann, &bob] {
        client.call("one__whoami", json!({})).await.unwrap();
    }
    let failure = eve.call("one__whoami", json!({})).await.unwrap_err().to_string();
    assert!(failure.contains("too many clients have sessions there"), "{failure}");
    tokio::time::sleep(Duration::from_secs(11)).await;
    // The session of Ann is older, but in use.
    let (slow, served) =
        tokio::join!(ann.call("one__slow", json!({"label": "a", "ms": 20_000})), async {
            tokio::time::sleep(Duration::from_secs(10)).await;
            eve.call("one__whoami", json!({})).await
        });
    assert_eq!((slow.unwrap().as_str(), served.unwrap().as_str()), ("one a", "one"));
    assert_eq!(gateway.status().upstreams[0].client_sessions, 2);
}

/// Each watched resource may take a stream of the server. One client gets a half of them, however many it asks for.
#[tokio::test(start_paused = true)]
async fn one_client_does_not_watch_all_resources() {
    let server = Fake::legacy("one");
    let gateway = start(&[&server]).await;
    let endpoint = endpoint(&gateway);
    let eve = open(&endpoint, Revision::V2025_11_25, 1, "eve").await;
    let ann = open(&endpoint, Revision::V2025_11_25, 2, "ann").await;
    let bob = open(&endpoint, Revision::V2026_07_28, 3, "bob").await;
    let subscribe = |client: &Peer, uri: String| {
        let params = Json(json!({ "uri": uri }));
        client.handle().call_method("resources/subscribe", &params, CallOptions::new())
    };
    for n in 0..256 {
        subscribe(&eve, format!("x://{n}")).await.unwrap();
    }
    let failure = subscribe(&eve, "x://256".into()).await.unwrap_err().to_string();
    assert!(failure.contains("too many resources of the server are watched"), "{failure}");
    subscribe(&ann, "x://ann".into()).await.unwrap();
    let filter = SubscriptionFilter::new().with_resource(server.uri());
    bob.handle().subscribe(&filter).unwrap();
    settle().await;
    server.update_resource();
    settle().await;
    assert_eq!(bob.events(), [format!("notifications/resources/updated {}", server.uri())]);
    // A resource that another client watches takes no more of the server.
    subscribe(&eve, server.uri()).await.unwrap();
    let params = Json(json!({"uri": "x://0"}));
    let ended = eve.handle().call_method("resources/unsubscribe", &params, CallOptions::new());
    ended.await.unwrap();
    subscribe(&eve, "x://256".into()).await.unwrap();
}
