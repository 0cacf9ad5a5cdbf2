//! Lists that change, are slow, or cannot be read: in the end every client has the newest list, or was notified of it.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod kit;

use std::time::Duration;

use kit::*;
use mcp_sansio::model::SubscriptionFilter;
use mcp_sansio::{CallOptions, ErrorCode};
use mcp_sansio_gateway::Gateway;
use mcp_sansio_gateway::config::GatewayConfig;
use mcp_sansio_tokio::{CallFailure, Json};
use serde_json::json;
use tokio::time::sleep;

const CHANGED: &str = "notifications/tools/list_changed";

/// Returns a client that has subscribed to the changes of all lists.
async fn subscribed(gateway: &Gateway) -> Peer {
    let client = Peer::modern(gateway, "c").await;
    let filter = SubscriptionFilter::new().with_tools().with_resources().with_prompts();
    client.handle().subscribe(&filter).unwrap();
    settle().await;
    client
}

/// Ends the connections of a server, which has these tools when it is connected again.
async fn restart_with(server: &Fake, tools: &[&'static str]) {
    server.crash(true);
    settle().await;
    server.set_tools(tools);
    server.come_up();
}

/// Returns the number of tools in a list that is read once. A client of this project would read a list again that has
/// changed meanwhile.
async fn count_tools(client: &Peer) -> usize {
    let params = Json(json!({}));
    let list = client.handle().call_method("tools/list", &params, CallOptions::new()).await;
    list.unwrap().raw().as_json().matches("inputSchema").count()
}

/// A connection may have other lists than the one before. Clients are notified if it has, once.
#[tokio::test(start_paused = true)]
async fn changed_lists_of_a_new_connection_are_announced_once() {
    let announcing = [Fake::legacy("one"), Fake::modern("one")];
    let silent = [Fake::legacy("one").silent(), Fake::modern("one").silent()];
    for server in announcing.into_iter().chain(silent) {
        let gateway = start(&[&server]).await;
        let client = subscribed(&gateway).await;
        let mut expected = Vec::new();
        for tools in [&["whoami"][..], &["whoami"], &["whoami", "echo"], &TOOLS] {
            let before = client.tools().await;
            restart_with(&server, tools).await;
            // Long enough for a modern server to grant the subscription to its lists.
            sleep(Duration::from_secs(60)).await;
            if before.len() != tools.len() {
                expected.push(CHANGED);
            }
            assert_eq!(client.events(), expected);
            // A client that does not ask for its list again is not notified of other connections.
            server.crash(false);
            sleep(Duration::from_secs(60)).await;
            assert_eq!(client.events(), expected);
        }
    }
}

/// The gateway reads lists for its own use as well, to find the server of a call. A client that has received none is not
/// notified of their changes.
#[tokio::test(start_paused = true)]
async fn lists_that_no_client_has_received_are_not_announced() {
    for server in [Fake::legacy("one"), Fake::modern("one")] {
        let gateway = start(&[&server]).await;
        let client = subscribed(&gateway).await;
        for tools in [&TOOLS[..1], &TOOLS[..2], &TOOLS[..3]] {
            assert_eq!(client.call("one__whoami", json!({})).await.unwrap(), "one");
            client.read(&server.uri()).await.unwrap();
            restart_with(&server, tools).await;
            sleep(Duration::from_secs(60)).await;
        }
        assert_eq!(client.events(), Vec::<String>::new());
    }
}

/// A reading that fails is tried again. Clients that have a list without the items, or with older ones, are notified then.
#[tokio::test(start_paused = true)]
async fn a_list_that_cannot_be_read_is_read_again() {
    let server = Fake::modern("one");
    server.set_list_fails(true);
    let gateway = start(&[&server]).await;
    let client = subscribed(&gateway).await;
    assert_eq!(count_tools(&client).await, 0);
    server.set_list_fails(false);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(client.events(), [CHANGED]);
    assert_eq!(count_tools(&client).await, TOOLS.len());
    // The lists of the next connection cannot be read at first.
    server.set_list_fails(true);
    restart_with(&server, &["whoami"]).await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(count_tools(&client).await, TOOLS.len());
    server.set_list_fails(false);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(client.events(), [CHANGED; 2]);
    assert_eq!(count_tools(&client).await, 1);
}

/// There is one repetition at a time, with pauses, however many clients ask.
#[tokio::test(start_paused = true)]
async fn a_failing_list_is_not_read_too_often() {
    let server = Fake::modern("one");
    server.set_list_fails(true);
    let gateway = start(&[&server]).await;
    let client = subscribed(&gateway).await;
    for _ in 0..50 {
        assert_eq!(count_tools(&client).await, 0);
    }
    let before = server.lists();
    sleep(Duration::from_secs(600)).await;
    let repeated = server.lists() - before;
    assert!((15..=40).contains(&repeated), "{repeated}");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_takes_longer_than_the_gateway_waits_is_read_again() {
    let server = Fake::modern("one");
    server.set_list_delay(Duration::from_secs(70));
    let gateway = start(&[&server]).await;
    let client = subscribed(&gateway).await;
    assert_eq!(count_tools(&client).await, 0);
    server.set_list_delay(Duration::ZERO);
    sleep(Duration::from_secs(120)).await;
    assert_eq!(client.events(), [CHANGED]);
}

/// A connection that ends while its lists are read leaves that to the next one.
#[tokio::test(start_paused = true)]
async fn connections_that_end_early_announce_nothing() {
    let server = Fake::modern("one");
    let gateway = start(&[&server]).await;
    let client = subscribed(&gateway).await;
    count_tools(&client).await;
    server.set_list_delay(Duration::from_secs(3_600));
    for _ in 0..4 {
        server.crash(false);
        sleep(Duration::from_secs(20)).await;
    }
    server.set_list_delay(Duration::ZERO);
    server.crash(false);
    sleep(Duration::from_secs(120)).await;
    assert_eq!(client.events(), Vec::<String>::new());
}

/// A server changes its list twice while the gateway reads it. A client that follows the second notification gets the
/// newest list, or is notified again.
#[tokio::test(start_paused = true)]
async fn a_list_asked_for_after_a_change_is_the_new_one() {
    for server in [Fake::legacy("one"), Fake::modern("one")] {
        server.set_snapshots();
        let gateway = start(&[&server]).await;
        let client = subscribed(&gateway).await;
        server.set_list_delay(Duration::from_secs(3));
        let change = async {
            sleep(Duration::from_secs(1)).await;
            server.set_list_delay(Duration::ZERO);
            server.set_tools(&["whoami"]);
            settle().await;
            // The reading begins again, and the list changes again.
            server.set_list_delay(Duration::from_secs(3));
            sleep(Duration::from_millis(2_500)).await;
            server.set_list_delay(Duration::ZERO);
            server.set_tools(&["whoami", "echo"]);
            settle().await;
            assert_eq!(client.events(), [CHANGED; 2]);
            count_tools(&client).await
        };
        let (_, count) = tokio::join!(count_tools(&client), change);
        sleep(Duration::from_secs(120)).await;
        assert!(count == 2 || client.events().len() == 3, "{count} {:?}", client.events());
    }
}

/// A server announces no changes. The gateway sees a change when another client asks.
#[tokio::test(start_paused = true)]
async fn a_change_that_the_gateway_finds_is_announced() {
    let server = Fake::legacy("one").silent();
    let gateway = start(&[&server]).await;
    let (client, other) = (subscribed(&gateway).await, Peer::legacy(&gateway, "o").await);
    assert_eq!(count_tools(&client).await, TOOLS.len());
    server.set_tools(&["whoami"]);
    sleep(Duration::from_secs(61)).await;
    assert_eq!(count_tools(&other).await, 1);
    settle().await;
    assert_eq!(client.events(), [CHANGED]);
}

/// The gateway checks the lists of a new connection also if the server refuses the subscription to their changes, or does
/// not acknowledge it.
#[tokio::test(start_paused = true)]
async fn lists_are_checked_without_a_subscription() {
    for listening in [Listen::NoMethod, Listen::Refused, Listen::Unacknowledged] {
        let server = Fake::modern("one");
        server.set_listen(listening);
        server.crash(true);
        let gateway = start(&[&server]).await;
        let client = subscribed(&gateway).await;
        assert_eq!(count_tools(&client).await, 0);
        server.come_up();
        sleep(Duration::from_secs(10)).await;
        assert_eq!(client.events(), [CHANGED], "{listening:?}");
        assert_eq!(count_tools(&client).await, TOOLS.len());
        restart_with(&server, &["whoami"]).await;
        sleep(Duration::from_secs(10)).await;
        assert_eq!(client.events(), [CHANGED; 2], "{listening:?}");
    }
}

/// The change is not announced, because the server has not granted the subscription.
#[tokio::test(start_paused = true)]
async fn a_change_while_the_first_client_waits_is_found() {
    let server = Fake::modern("one");
    server.set_snapshots();
    server.set_tools(&["whoami"]);
    server.set_list_delay(Duration::from_secs(3));
    server.set_listen(Listen::Unacknowledged);
    let gateway = Gateway::start(GatewayConfig::new("gateway", vec![server.config()])).unwrap();
    let client = Peer::modern(&gateway, "c").await;
    client.handle().subscribe(&SubscriptionFilter::new().with_tools()).unwrap();
    let (count, ()) = tokio::join!(count_tools(&client), async {
        sleep(Duration::from_secs(1)).await;
        server.set_tools_quietly(&["whoami", "echo"]);
    });
    sleep(Duration::from_secs(60)).await;
    assert!(count == 2 || client.events() == [CHANGED], "{count} {:?}", client.events());
}

/// A list that is as empty as before has not changed.
#[tokio::test(start_paused = true)]
async fn lists_that_stay_empty_are_not_announced() {
    let server = Fake::legacy("one");
    server.crash(true);
    let gateway = start(&[&server]).await;
    let client = subscribed(&gateway).await;
    count_tools(&client).await;
    client.handle().list_all_prompts().await.unwrap();
    server.come_up();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(client.events(), [CHANGED]);
}

/// Calls of a session wait for a list that is never read, to learn which tools are tasks. They do so once.
#[tokio::test(start_paused = true)]
async fn a_hanging_list_delays_only_the_first_call() {
    let server = Fake::legacy("one");
    server.set_list_delay(Duration::from_secs(100_000));
    let gateway = start(&[&server]).await;
    let client = Peer::legacy(&gateway, "a").await;
    for seconds in [10, 0, 0] {
        let before = tokio::time::Instant::now();
        assert_eq!(client.call("one__whoami", json!({})).await.unwrap(), "one");
        assert_eq!(before.elapsed().as_secs(), seconds);
    }
}

/// A server without a prefix is asked for its list first, because it may have the name.
#[tokio::test(start_paused = true)]
async fn a_list_that_is_not_read_again_delays_only_the_first_call_of_others() {
    let (one, two) = (Fake::modern("one"), Fake::modern("two"));
    one.set_tools_quietly(&["whoami"]);
    let (mut first, mut second) = (one.config(), two.config());
    first.names.prefix = String::new();
    second.names.prefix = String::new();
    let gateway = start_with(vec![first, second]).await;
    let client = Peer::modern(&gateway, "c").await;
    client.tools().await;
    one.set_list_delay(Duration::from_secs(100_000));
    one.set_tools(&["whoami", "fail"]);
    settle().await;
    for seconds in [5, 0, 0] {
        let before = tokio::time::Instant::now();
        assert_eq!(client.call("echo", json!({})).await.unwrap(), "{}");
        assert_eq!(before.elapsed().as_secs(), seconds);
    }
}

/// A cursor is a position in the list of its first page. If the list has changed, the client begins again, and misses
/// nothing. A cursor of tools is none of resources.
///
/// Proves M-PAGE-03, L-PAGE-09.
#[tokio::test(start_paused = true)]
async fn a_cursor_is_of_one_list() {
    let (one, two) = (Fake::modern("one"), Fake::legacy("two"));
    let mut config = GatewayConfig::new("gateway", vec![one.config(), two.config()]);
    config.page_size = 4;
    let gateway = Gateway::start(config).unwrap();
    gateway.connected(Duration::from_secs(60)).await;
    for client in [Peer::modern(&gateway, "m").await, Peer::legacy(&gateway, "l").await] {
        let ask = async |list: &str, cursor: &str| {
            let params = match cursor {
                "" => Json(json!({})),
                cursor => Json(json!({ "cursor": cursor })),
            };
            let asked = client.handle().call_method(list, &params, CallOptions::new()).await;
            asked.map(|page| page.raw().parse::<serde_json::Value>().unwrap())
        };
        let cursor_of = |page: &serde_json::Value| page["nextCursor"].as_str().unwrap().to_owned();
        let first = cursor_of(&ask("tools/list", "").await.unwrap());
        let second = ask("tools/list", &first).await.unwrap();
        assert_eq!(second["tools"][0]["name"], format!("one__{}", TOOLS[4]));
        let is_refused = |asked: Result<_, CallFailure>| match asked {
            Err(CallFailure::PeerError(error)) => error.code == ErrorCode::INVALID_PARAMS,
            _ => false,
        };
        assert!(is_refused(ask("resources/list", &first).await));
        one.set_tools(&TOOLS[1..]);
        settle().await;
        assert!(is_refused(ask("tools/list", &cursor_of(&second)).await));
        // The same list as before is the same one.
        one.set_tools(&TOOLS);
        settle().await;
        let again = ask("tools/list", &cursor_of(&second)).await.unwrap();
        assert_eq!(again["tools"][0]["name"], format!("one__{}", TOOLS[8]));
    }
}
