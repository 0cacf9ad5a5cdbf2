//! Sessions that other nodes have taken over, or cannot take over.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use mcp_sansio::{Revision, ServerConfig};
use mcp_sansio_http::Endpoint;
use mcp_sansio_store::{MemoryStore, Node, Store, StoreFuture, Stored, Write, Written};
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::kit::{
    self, Cluster, SlowStore, call, end, listen, listen_request, next_event, open, request, send,
};
use crate::{sessions, subscribe};

/// Returns a node with a slow store that has lost a session, without knowing it, to the second node.
async fn superseded() -> (Node, Node, String) {
    let cluster = Cluster::new();
    let slow = SlowStore(cluster.store.clone(), Duration::from_millis(10));
    let a = cluster.start_on(Arc::new(slow), "a").await;
    let b = cluster.start("b").await;
    let session = open(&a, &a).await;
    let level = json!({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": {"level": "info"}});
    assert_eq!(send(&a, &session, &level).await.0, 200);
    cluster.network.remove("a").unwrap();
    assert_eq!(send(&b, &session, &call(1, "echo", &json!({}))).await.0, 200);
    (a, b, session)
}

/// Another node has taken the session over, and two requests arrive at the earlier one at once. Neither change is stored, so
/// neither is acknowledged.
#[tokio::test(start_paused = true)]
async fn two_requests_at_once_at_a_superseded_node() {
    let (a, b, session) = superseded().await;
    // Both are ready to be stored at the same time.
    let (first, second) =
        (call(2, "note", &json!({"time": 5})), call(3, "note", &json!({"time": 5})));
    let both = tokio::join!(send(&a, &session, &first), send(&a, &session, &second));
    assert_eq!((both.0.0, both.1.0), (503, 503));
    assert_eq!(sessions(&[&a, &b]), [0, 1]);
}

/// A request was served before its session was taken over and came back. Its change is lost, so it is not acknowledged.
#[tokio::test(start_paused = true)]
async fn a_request_of_an_earlier_ownership() {
    let (a, b, session) = superseded().await;
    b.leave(Duration::ZERO).await.unwrap();
    // At 0 ms a note begins, which is ready at 6 ms. At 1 ms a change is written, until 11 ms, and is a conflict. At 4 ms a
    // stream is opened, which takes the session over when that is known. Then the note is to be stored.
    let spawn = |milliseconds, request| {
        let a = a.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(milliseconds)).await;
            a.handle(request).await.status().as_u16()
        })
    };
    let note = call(2, "note", &json!({"n": 1, "time": 6}));
    let note = spawn(0, request(Some(&session), &note));
    let change = spawn(1, request(Some(&session), &subscribe(3, "test://one")));
    let stream = spawn(4, listen_request(&session, None));
    let statuses = [note.await.unwrap(), change.await.unwrap(), stream.await.unwrap()];
    assert_eq!(statuses, [503, 503, 200]);
}

/// The stream of a request is lost with its node. Its number is not that of a later stream, so a client that resumes it does not
/// get the response to another request.
#[tokio::test(start_paused = true)]
async fn a_lost_stream_is_not_mistaken_for_another_one() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.start("a").await, cluster.start("b").await);
    let session = open(&a, &a).await;
    let progress = |id: u64| {
        let mut body = call(id, "progress", &json!({"time": 1_000}));
        body["params"]["_meta"] = json!({"progressToken": id});
        request(Some(&session), &body)
    };
    let mut lost = a.handle(progress(1)).await;
    let (event, _) = kit::event(&mut lost).await;
    cluster.kill("a");
    drop((lost, a));
    let mut next = b.handle(progress(2)).await;
    let (other, _) = kit::event(&mut next).await;
    assert_ne!(event.split_once('-').unwrap().0, other.split_once('-').unwrap().0);
    while next_event(&mut next).await.is_some() {}
    assert_eq!(listen(&b, &session, Some(&event)).await.status(), 400);
    assert_eq!(listen(&b, &session, Some(&other)).await.status(), 200);
}

/// A node without room leaves a session to one that has room.
#[tokio::test(start_paused = true)]
async fn a_node_without_room() {
    let mut cluster = Cluster::new();
    let (a, c) = (cluster.start("a").await, cluster.start("c").await);
    cluster.most_sessions = 0;
    let b = cluster.start("b").await;
    let session = open(&a, &a).await;
    cluster.kill("a");
    let body = call(1, "echo", &json!({}));
    assert_eq!(send(&b, &session, &body).await.0, 503);
    assert_eq!(send(&c, &session, &body).await.0, 200);
    assert_eq!(send(&b, &session, &body).await.0, 200);
    assert_eq!(sessions(&[&b, &c]), [0, 1]);
}

/// A session of a revision that a node does not know does not exist there, and is served by the others.
#[tokio::test(start_paused = true)]
async fn a_node_of_another_release() {
    let cluster = Cluster::new();
    let (a, c) = (cluster.start("a").await, cluster.start("c").await);
    let (mut config, options): (ServerConfig, _) = kit::configuration();
    config.revisions = config.revisions.without(Revision::V2025_11_25);
    let older = Endpoint::with(config, options, kit::serve);
    let b = cluster.start_with(older, Arc::new(cluster.store.clone()), "b").await;
    let session = open(&a, &a).await;
    cluster.kill("a");
    let body = call(1, "echo", &json!({}));
    assert_eq!(
        send(&b, &session, &body).await.0,
        400,
        "the field `MCP-Protocol-Version` is checked first"
    );
    assert_eq!(end(&b, &session).await, 400);
    assert_eq!(sessions(&[&b, &c]), [0, 0]);
    assert_eq!(send(&c, &session, &body).await.0, 200);
}

/// A session in a later format than a node knows is served by its own node, and does not exist if that has ended.
#[tokio::test(start_paused = true)]
async fn a_session_in_a_later_format() {
    struct Later(MemoryStore);

    impl Store for Later {
        fn read<'s>(&'s self, key: &'s str) -> StoreFuture<'s, Option<Stored>> {
            Box::pin(async move {
                let mut stored = self.0.read(key).await?;
                if let Some(stored) = stored.as_mut().filter(|_| key.starts_with("session/")) {
                    let text = String::from_utf8(stored.value.clone()).unwrap();
                    let later = text.replace(r#""version":1"#, r#""version":2"#);
                    assert_ne!(later, text);
                    stored.value = later.into();
                }
                Ok(stored)
            })
        }

        fn write<'s>(&'s self, writes: &'s [Write]) -> StoreFuture<'s, Vec<Written>> {
            self.0.write(writes)
        }
    }
    let cluster = Cluster::new();
    let (a, c) = (cluster.start("a").await, cluster.start("c").await);
    let b = cluster.start_on(Arc::new(Later(cluster.store.clone())), "b").await;
    let session = open(&a, &a).await;
    let body = call(1, "echo", &json!({}));
    assert_eq!(send(&b, &session, &body).await.0, 200);
    cluster.kill("a");
    assert_eq!(send(&b, &session, &body).await.0, 404);
    assert_eq!(sessions(&[&b, &c]), [0, 0]);
    assert_eq!(send(&c, &session, &body).await.0, 200);
}

/// A node that hangs for a time loses its sessions. Its event streams end soon after, although no message is sent on them, so
/// that their clients look for the session.
#[tokio::test(start_paused = true)]
async fn a_stream_of_a_superseded_node_ends() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.start("a").await, cluster.start("b").await);
    let session = open(&a, &a).await;
    let mut stream = listen(&a, &session, None).await;
    // Everything that the stream has is sent and stored; then there are only comments.
    timeout(Duration::from_secs(1), async { while next_event(&mut stream).await.is_some() {} })
        .await
        .unwrap_err();
    cluster.network.remove("a").unwrap();
    assert_eq!(send(&b, &session, &call(1, "echo", &json!({}))).await.0, 200);
    let began = Instant::now();
    while stream.body_mut().frame().await.is_some_and(|frame| frame.is_ok()) {}
    assert!(began.elapsed() <= Duration::from_secs(31), "{:?}", began.elapsed());
    assert_eq!(sessions(&[&a, &b]), [0, 1]);
}

/// A change that a superseded node does not see as one is not acknowledged by it.
#[tokio::test(start_paused = true)]
async fn a_repeated_change_at_a_superseded_node() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.start("a").await, cluster.start("b").await);
    let session = open(&a, &a).await;
    assert_eq!(send(&a, &session, &subscribe(1, "test://one")).await.0, 200);
    cluster.network.remove("a").unwrap();
    let unsubscribe = json!({"jsonrpc": "2.0", "id": 2, "method": "resources/unsubscribe", "params": {"uri": "test://one"}});
    assert_eq!(send(&b, &session, &unsubscribe).await.0, 200);
    assert_eq!(send(&a, &session, &subscribe(3, "test://one")).await.0, 503);
    assert_eq!(send(&a, &session, &subscribe(4, "test://one")).await.0, 200);
    let mut stream = listen(&b, &session, None).await;
    send(&b, &session, &call(5, "touch", &json!({}))).await;
    assert_eq!(kit::event(&mut stream).await.1["params"]["uri"], "test://one");
}

/// A node that has lost a session does not end it for the node that serves it.
#[tokio::test(start_paused = true)]
async fn a_session_is_ended_at_a_superseded_node() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.start("a").await, cluster.start("b").await);
    let session = open(&a, &a).await;
    cluster.network.remove("a").unwrap();
    assert_eq!(send(&b, &session, &call(1, "echo", &json!({}))).await.0, 200);
    assert_eq!(end(&a, &session).await, 503);
    assert_eq!(send(&b, &session, &call(2, "echo", &json!({}))).await.0, 200);
    assert_eq!(end(&a, &session).await, 200);
    assert_eq!(send(&b, &session, &call(3, "echo", &json!({}))).await.0, 404);
    assert_eq!((a.known_sessions(), b.known_sessions()), (0, 0));
}

/// A client goes while its session is being taken over. The session is served all the same.
#[tokio::test(start_paused = true)]
async fn a_client_goes_during_a_takeover() {
    let cluster = Cluster::new();
    let a = cluster.start("a").await;
    let slow = SlowStore(cluster.store.clone(), Duration::from_secs(1));
    let b = cluster.start_on(Arc::new(slow), "b").await;
    let session = open(&a, &a).await;
    cluster.kill("a");
    let body = call(1, "echo", &json!({}));
    let sent = timeout(Duration::from_millis(500), send(&b, &session, &body)).await;
    assert!(sent.is_err());
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(send(&b, &session, &body).await.0, 200);
    assert_eq!(b.endpoint().sessions(), 1);
}
