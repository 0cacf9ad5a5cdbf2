//! Subscriptions to resources that a server refuses, or that the gateway has no room for.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod kit;

use std::time::Duration;

use kit::*;
use mcp_sansio::CallOptions;
use mcp_sansio::model::SubscriptionFilter;
use mcp_sansio_tokio::Json;
use serde_json::json;
use tokio::time::sleep;

/// A modern subscription is acknowledged at once, so the gateway repeats the request if the server refuses it at first.
#[tokio::test(start_paused = true)]
async fn a_refused_subscription_of_a_modern_client_is_tried_again() {
    let server = Fake::modern("one");
    // One for the lists, and one for a resource.
    server.set_most_listens(2);
    let gateway = start(&[&server]).await;
    settle().await;
    let client = Peer::modern(&gateway, "c").await;
    let subscribe = |uri: &str| {
        client.handle().subscribe(&SubscriptionFilter::new().with_resource(uri)).unwrap()
    };
    let first = subscribe("x://first");
    settle().await;
    subscribe(&server.uri());
    sleep(Duration::from_secs(30)).await;
    assert_eq!(client.events(), [""; 0]);
    client.handle().unsubscribe(first).unwrap();
    sleep(Duration::from_secs(90)).await;
    // Changes until now were missed.
    let updated = format!("notifications/resources/updated {}", server.uri());
    assert_eq!(client.events(), [&*updated]);
    server.update_resource();
    settle().await;
    assert_eq!(client.events(), [&*updated, &*updated]);
}

/// A session receives the refusal, also while the gateway tries the subscription again for a modern client.
#[tokio::test(start_paused = true)]
async fn a_refused_subscription_of_a_session_is_refused() {
    for is_tried_again in [false, true] {
        let server = Fake::modern("one");
        server.set_most_listens(1);
        let gateway = start(&[&server]).await;
        settle().await;
        let modern = Peer::modern(&gateway, "m").await;
        let filter = SubscriptionFilter::new().with_resource(server.uri());
        if is_tried_again {
            modern.handle().subscribe(&filter).unwrap();
            settle().await;
        }
        let client = Peer::legacy(&gateway, "c").await;
        let params = Json(json!({"uri": server.uri()}));
        let options = CallOptions::new();
        let refused = client.handle().call_method("resources/subscribe", &params, options).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("no server here announces changes of this resource"), "{refused}");
        assert_eq!(gateway.status().subscribers, usize::from(is_tried_again));
    }
}

/// The subscription of a client that watches too many resources ends with an error.
#[tokio::test(start_paused = true)]
async fn a_subscription_without_room_fails() {
    let server = Fake::legacy("one");
    let gateway = start(&[&server]).await;
    let client = Peer::modern(&gateway, "c").await;
    // One client gets a half of 512.
    for hundred in 0..3 {
        let uris = (0..100).map(|one| format!("x://{hundred}/{one}"));
        let filter = uris.fold(SubscriptionFilter::new(), |filter, uri| filter.with_resource(uri));
        client.handle().subscribe(&filter).unwrap();
        settle().await;
        let ended = client.seen.failed_subscriptions.lock().unwrap().clone();
        let expected = ["too many resources of the server are watched"];
        assert_eq!(ended, expected[..usize::from(hundred == 2)]);
    }
    // What it had watched before that is watched no longer.
    let filter = SubscriptionFilter::new().with_resource(server.uri());
    client.handle().subscribe(&filter).unwrap();
    settle().await;
    server.update_resource();
    settle().await;
    assert_eq!(client.events(), [format!("notifications/resources/updated {}", server.uri())]);
}

/// A subscription that ends as soon as it was granted is repeated, with pauses that grow.
#[tokio::test(start_paused = true)]
async fn a_subscription_that_ends_at_once_is_repeated_with_pauses() {
    let server = Fake::modern("one");
    server.set_ends_listens(true);
    let gateway = start(&[&server]).await;
    let client = Peer::modern(&gateway, "c").await;
    client.handle().subscribe(&SubscriptionFilter::new().with_resource(server.uri())).unwrap();
    sleep(Duration::from_secs(300)).await;
    // Pauses of 0.5, 1, 2, 4, 8, 16 and then at least 30 seconds: for the lists, and for the resource.
    let ended = server.journal().len();
    assert!((10..=32).contains(&ended), "{ended}");
    // Each time changes were missed.
    let events = client.events().len();
    assert!((2..=16).contains(&events), "{events}");
    server.set_ends_listens(false);
    sleep(Duration::from_secs(60)).await;
    let before = client.events().len();
    server.update_resource();
    settle().await;
    assert_eq!(client.events().len(), before + 1);
}

/// The refusal of a connection that was lost says nothing about the next one.
#[tokio::test(start_paused = true)]
async fn a_refusal_ends_with_its_connection() {
    let server = Fake::modern("one");
    server.set_most_listens(1);
    let gateway = start(&[&server]).await;
    settle().await;
    let modern = Peer::modern(&gateway, "m").await;
    let filter = SubscriptionFilter::new().with_resource(server.uri());
    modern.handle().subscribe(&filter).unwrap();
    // Refused a few times, so the next attempt is later than the connection.
    sleep(Duration::from_secs(20)).await;
    server.set_most_listens(10);
    server.crash(true);
    settle().await;
    let client = Peer::legacy(&gateway, "c").await;
    let params = Json(json!({"uri": server.uri()}));
    let options = CallOptions::new();
    let subscribed = client.handle().call_method("resources/subscribe", &params, options);
    let back = async {
        settle().await;
        server.come_up();
    };
    let (subscribed, ()) = tokio::join!(subscribed, back);
    subscribed.unwrap();
    sleep(Duration::from_secs(60)).await;
    let before = modern.events().len();
    server.update_resource();
    settle().await;
    assert_eq!(modern.events().len(), before + 1);
}
