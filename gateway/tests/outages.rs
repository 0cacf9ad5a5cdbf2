//! Servers that end, hang, are overloaded, are replaced: no call is lost that could be served.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod kit;

use std::sync::Arc;
use std::time::Duration;

use kit::*;
use mcp_sansio::model::LoggingLevel;
use mcp_sansio::{ClientConfig, Revision};
use mcp_sansio_gateway::config::{Sharing, UpstreamConfig, UpstreamTransport};
use mcp_sansio_gateway::{Connect, ConnectFuture, UpstreamHandler, UpstreamState};
use mcp_sansio_http::{Endpoint, EndpointOptions};
use serde_json::json;

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_fails_its_own_calls_and_is_connected_again() {
    let (one, two) = (Fake::legacy("one"), Fake::modern("two"));
    let gateway = start(&[&one, &two]).await;
    let client = Peer::modern(&gateway, "c").await;
    assert_eq!(client.tools().await.len(), 2 * TOOLS.len());
    tokio::time::sleep(Duration::from_secs(60)).await;
    let (lost, kept, ()) = tokio::join!(
        client.call("one__slow", json!({"label": "a", "ms": 5_000})),
        client.call("two__slow", json!({"label": "b", "ms": 5_000})),
        async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            one.crash(false);
        }
    );
    let failure = lost.unwrap_err().to_string();
    assert!(failure.contains("the server one: the connection ended first"), "{failure}");
    assert_eq!(kept.unwrap(), "two b");
    assert_eq!(client.call("one__whoami", json!({})).await.unwrap(), "one");
    assert_eq!(one.attempts(), 2);
    assert_eq!(gateway.status().upstreams[0].connected, 2);
}

/// While a server is down, its tools stay in the lists, and calls fail at once, with the reason.
#[tokio::test(start_paused = true)]
async fn a_server_that_is_down_is_tried_again_with_growing_pauses() {
    let one = Fake::legacy("one");
    let gateway = start(&[&one]).await;
    let client = Peer::modern(&gateway, "c").await;
    client.tools().await;
    one.crash(true);
    settle().await;
    let failure = client.call("one__whoami", json!({})).await.unwrap_err().to_string();
    assert!(
        failure.contains("the server one: it is not connected; the next attempt is in 1 s"),
        "{failure}"
    );
    assert_eq!(gateway.status().upstreams[0].state, UpstreamState::Failed);
    assert!(!gateway.status().is_ready());
    assert_eq!(client.tools().await.len(), TOOLS.len());
    tokio::time::sleep(Duration::from_secs(600)).await;
    let attempts = one.attempts();
    assert!((18..=28).contains(&attempts), "{attempts}");
    one.come_up();
    tokio::time::sleep(Duration::from_secs(40)).await;
    assert_eq!(client.call("one__whoami", json!({})).await.unwrap(), "one");
    assert!(gateway.status().is_ready());
}

/// A reload replaces one server, removes one, keeps one and adds one, while calls are in progress at all of them.
#[tokio::test(start_paused = true)]
async fn a_reload_loses_no_call() {
    let [kept, changed, removed, added] = ["kept", "changed", "removed", "added"].map(Fake::modern);
    let transport = kept.config();
    let gateway = start_with(vec![transport.clone(), changed.config(), removed.config()]).await;
    let client = Peer::legacy(&gateway, "c").await;
    let slow = |name: &str| {
        let (name, arguments) = (format!("{name}__slow"), json!({"label": "x", "ms": 30_000}));
        let client = &client;
        async move { client.call(&name, arguments).await.unwrap() }
    };
    let reload = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let mut other = changed.config();
        other.most_calls = 5;
        let reloaded = gateway.reload(vec![transport, other, added.config()]).await.unwrap();
        assert_eq!(reloaded.kept, ["kept"]);
        assert_eq!(reloaded.started, ["changed", "added"]);
        assert_eq!(reloaded.stopped, ["changed", "removed"]);
        assert_eq!(client.call("added__whoami", json!({})).await.unwrap(), "added");
        assert_eq!(client.call("changed__whoami", json!({})).await.unwrap(), "changed");
        let failure = client.call("removed__whoami", json!({})).await.unwrap_err();
        assert!(failure.to_string().contains("no server here has this name"), "{failure}");
        // The old connections wait for their calls.
        assert_eq!([&kept, &changed, &removed, &added].map(Fake::connections), [1, 2, 1, 1]);
    };
    let (one, two, three, ()) =
        tokio::join!(slow("kept"), slow("changed"), slow("removed"), reload);
    assert_eq!([one, two, three], ["kept x", "changed x", "removed x"]);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!([&kept, &changed, &removed, &added].map(Fake::connections), [1, 1, 0, 1]);
}

/// A call in progress at a removed server does not keep that longer than the gateway.
#[tokio::test(start_paused = true)]
async fn a_closed_gateway_has_no_servers_that_a_reload_has_removed() {
    let (kept, removed) = (Fake::modern("kept"), Fake::legacy("removed"));
    let config = kept.config();
    let gateway = start_with(vec![config.clone(), removed.config()]).await;
    let client = Peer::legacy(&gateway, "c").await;
    let params = mcp_sansio_tokio::Json(json!({"name": "removed__hang"}));
    let options = mcp_sansio::CallOptions::new();
    let call = client.handle().call_method("tools/call", &params, options);
    settle().await;
    gateway.reload(vec![config]).await.unwrap();
    settle().await;
    assert_eq!((kept.connections(), removed.connections()), (1, 1));
    let before = tokio::time::Instant::now();
    gateway.close(Duration::from_secs(5), Duration::from_secs(60)).await;
    assert_eq!(before.elapsed().as_secs(), 5);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!((kept.connections(), removed.connections()), (0, 0));
    let failure = call.await.unwrap_err().to_string();
    assert!(failure.contains("the server removed: the connection ended"), "{failure}");
}

/// A server that never opens a connection.
struct Hanging;

impl Connect for Hanging {
    fn connect(&self, _: ClientConfig, _: UpstreamHandler) -> ConnectFuture<'_> {
        Box::pin(std::future::pending())
    }
}

/// The new servers of a reload are not in use yet, but connected, while another one is waited for.
#[tokio::test(start_paused = true)]
async fn a_level_that_is_set_during_a_reload_reaches_the_new_servers() {
    let [kept, added] = ["kept", "added"].map(Fake::legacy);
    let hanging = UpstreamTransport::Custom(Arc::new(Hanging));
    let config = kept.config();
    let gateway = start_with(vec![config.clone()]).await;
    let client = Peer::legacy(&gateway, "c").await;
    let servers = vec![config, added.config(), UpstreamConfig::new("hanging", hanging)];
    let (reloaded, ()) = tokio::join!(gateway.reload(servers), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        client.handle().set_log_level(LoggingLevel::Debug).await.unwrap();
    });
    assert_eq!(reloaded.unwrap().started, ["added", "hanging"]);
    settle().await;
    assert_eq!(
        (kept.journal(), added.journal()),
        (vec!["level debug".into()], vec!["level debug".into()])
    );
    gateway.close(Duration::ZERO, Duration::ZERO).await;
}

/// Calls beyond the limits wait, and a client at its own limit delays no other.
#[tokio::test(start_paused = true)]
async fn limits_delay_and_refuse_nothing() {
    let one = Fake::modern("one");
    let mut config = one.config();
    config.most_calls = 4;
    config.most_calls_of_client = 4;
    let gateway = start_with(vec![config]).await;
    let client = Peer::modern(&gateway, "c").await;
    let before = tokio::time::Instant::now();
    let calls = (0..20).map(|number| {
        let params =
            json!({"name": "one__slow", "arguments": {"label": number.to_string(), "ms": 1_000}});
        let options = mcp_sansio::CallOptions::new();
        client.handle().call_method("tools/call", &mcp_sansio_tokio::Json(params), options)
    });
    // All of them are made before the first is awaited.
    let calls: Vec<_> = calls.collect();
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!(before.elapsed().as_secs(), 5);
    assert_eq!(one.journal().len(), 20);
}

/// Nothing is left when the gateway is dropped.
#[tokio::test(start_paused = true)]
async fn a_dropped_gateway_ends_its_connections() {
    let (one, two) = (Fake::legacy("one"), Fake::modern("two"));
    let gateway = start(&[&one, &two]).await;
    let client = Peer::modern(&gateway, "c").await;
    client.tools().await;
    client.connection.close(Duration::ZERO).await.unwrap();
    drop(gateway);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!((one.connections(), two.connections()), (0, 0));
}

/// A call waits for its place, and a reload hides its tool meanwhile.
#[tokio::test(start_paused = true)]
async fn a_waiting_call_keeps_to_the_rules_of_a_reload() {
    for denied in ["echo", "whoami"] {
        let server = Fake::modern("one");
        let mut config = server.config();
        config.most_calls = 1;
        let gateway = start_with(vec![config.clone()]).await;
        let (ann, bob) = (Peer::modern(&gateway, "a").await, Peer::modern(&gateway, "b").await);
        let (slow, waiting, ()) = tokio::join!(
            ann.call("one__slow", json!({"label": "a", "ms": 5_000})),
            async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                bob.call("one__echo", json!({"label": "b"})).await
            },
            async {
                tokio::time::sleep(Duration::from_secs(2)).await;
                config.names.deny = vec![denied.into()];
                gateway.reload(vec![config.clone()]).await.unwrap();
            }
        );
        assert_eq!(slow.unwrap(), "one a");
        if denied == "echo" {
            let failure = waiting.unwrap_err().to_string();
            assert!(failure.contains("it has been removed from the gateway"), "{failure}");
        } else {
            assert_eq!(waiting.unwrap(), r#"{"label":"b"}"#);
        }
    }
}

/// Of servers without a prefix, the first one has the names that several of them have.
#[tokio::test(start_paused = true)]
async fn another_order_of_servers_is_announced() {
    let (one, two) = (Fake::modern("one"), Fake::modern("two"));
    let (mut first, mut second) = (one.config(), two.config());
    first.names.prefix = String::new();
    second.names.prefix = String::new();
    let gateway = start_with(vec![first.clone(), second.clone()]).await;
    let client = Peer::modern(&gateway, "c").await;
    let filter = mcp_sansio::model::SubscriptionFilter::new().with_tools();
    client.handle().subscribe(&filter).unwrap();
    client.tools().await;
    assert_eq!(client.call("whoami", json!({})).await.unwrap(), "one");
    gateway.reload(vec![first.clone(), second.clone()]).await.unwrap();
    settle().await;
    assert_eq!(client.events(), Vec::<String>::new());
    gateway.reload(vec![second, first]).await.unwrap();
    settle().await;
    assert_eq!(client.events(), ["notifications/tools/list_changed"]);
    assert_eq!(client.call("whoami", json!({})).await.unwrap(), "two");
}

/// The session of all clients has ended, and cannot be opened again for now. That of a client goes on.
#[tokio::test(start_paused = true)]
async fn a_session_of_a_client_outlives_that_of_all_clients() {
    let one = Fake::legacy("one");
    let mut config = one.config();
    config.sharing = Sharing::PerClient { most: 2, idle: Duration::from_secs(600) };
    let gateway = start_with(vec![config]).await;
    let mut options = EndpointOptions::new();
    options.connection = gateway.connection_options();
    let endpoint = Endpoint::with(gateway.server_config(), options, gateway.clone());
    let open = |name| Peer::over_http(&endpoint, Revision::V2025_11_25, ("x-any", "1"), name);
    let (client, other) = (open("c").await, open("o").await);
    assert_eq!(client.call("one__whoami", json!({})).await.unwrap(), "one");
    one.crash_first();
    settle().await;
    assert_eq!(client.call("one__whoami", json!({})).await.unwrap(), "one");
    // There is no session for another client.
    let failure = other.call("one__whoami", json!({})).await.unwrap_err().to_string();
    assert!(failure.contains("the server one: it is not connected"), "{failure}");
    assert_eq!(gateway.status().upstreams[0].state, UpstreamState::Failed);
}
