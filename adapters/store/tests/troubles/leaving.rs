//! Nodes that leave in trouble.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_sansio_store::{
    Change, MemoryStore, Store, StoreError, StoreFuture, Stored, Write, Written,
};
use serde_json::json;

use crate::kit::{self, Cluster, SlowStore, call, open, request, send, text};
use crate::sessions;

/// A node that leaves serves its open requests to the end, and those of other nodes meanwhile, however long that takes.
#[tokio::test(start_paused = true)]
async fn a_node_that_leaves_is_not_replaced_before() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.start("a").await, cluster.start("b").await);
    let (busy, idle) = (open(&a, &a).await, open(&a, &a).await);
    let later = {
        let (b, busy) = (b.clone(), busy.clone());
        let body = call(1, "later", &json!({"time": 14_500}));
        tokio::spawn(async move { send(&b, &busy, &body).await })
    };
    tokio::time::sleep(Duration::from_secs(1)).await;
    let leaving = tokio::spawn({
        let a = a.clone();
        async move { a.leave(Duration::from_secs(60)).await }
    });
    tokio::time::sleep(Duration::from_secs(12)).await;
    // The idle session is at the other node at once.
    assert_eq!(send(&b, &idle, &call(2, "echo", &json!({}))).await.0, 200);
    assert_eq!(sessions(&[&a, &b]), [1, 1]);
    assert_eq!(send(&b, &busy, &call(2, "echo", &json!({}))).await.0, 200);
    let (status, message) = later.await.unwrap();
    assert_eq!((status, text(&message)), (200, "later"));
    leaving.await.unwrap().unwrap();
    assert_eq!(send(&b, &busy, &call(3, "echo", &json!({}))).await.0, 200);
    assert_eq!(sessions(&[&a, &b]), [0, 2]);
}

/// What a node that leaves could not store is taken over when it gives no sign of life. The other sessions are handed over.
#[tokio::test(start_paused = true)]
async fn a_node_that_leaves_without_its_store() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.start("a").await, cluster.start("b").await);
    let session = open(&a, &a).await;
    cluster.store.set_failing(true);
    let left = a.leave(Duration::ZERO).await;
    assert_eq!(left, Err(StoreError::new("it is set to fail")));
    cluster.store.set_failing(false);
    cluster.network.remove("a").unwrap();
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(send(&b, &session, &call(1, "echo", &json!({}))).await.0, 200);
}

/// A write fails while a node leaves. The session is at the next node as soon as a request finds that out, long before the
/// node has left.
#[tokio::test(start_paused = true)]
async fn a_write_fails_while_a_node_leaves() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.start("a").await, cluster.start("b").await);
    let (idle, busy) = (open(&a, &a).await, open(&a, &a).await);
    let later = tokio::spawn({
        let a = a.clone();
        async move { send(&a, &busy, &call(1, "later", &json!({"time": 14_000}))).await.0 }
    });
    tokio::time::sleep(Duration::from_millis(10)).await;
    cluster.store.set_failing(true);
    let leaving = tokio::spawn({
        let a = a.clone();
        async move { a.leave(Duration::from_secs(60)).await }
    });
    tokio::time::sleep(Duration::from_millis(10)).await;
    cluster.store.set_failing(false);
    assert_eq!(send(&b, &idle, &call(1, "echo", &json!({}))).await.0, 200);
    assert_eq!(b.endpoint().sessions(), 1);
    assert_eq!(later.await.unwrap(), 200);
    assert_eq!(leaving.await.unwrap(), Err(StoreError::new("it is set to fail")));
}

/// The response to a request is a stream that its client reads slowly. A node that leaves waits for it.
#[tokio::test(start_paused = true)]
async fn a_node_that_leaves_sends_what_it_has() {
    let cluster = Cluster::new();
    let a = cluster.start("a").await;
    let session = open(&a, &a).await;
    let mut body = call(1, "progress", &json!({"time": 100}));
    body["params"]["_meta"] = json!({"progressToken": 1});
    let mut response = a.handle(request(Some(&session), &body)).await;
    kit::event(&mut response).await;
    let leaving = tokio::spawn({
        let a = a.clone();
        async move { a.leave(Duration::from_secs(60)).await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!leaving.is_finished());
    let (_, result) = kit::event(&mut response).await;
    assert_eq!(text(&result), "done");
    drop(response);
    leaving.await.unwrap().unwrap();
}

/// A session is busy until the end of the grace period. That is no error, and a request that comes after it has `Retry-After`.
#[tokio::test(start_paused = true)]
async fn a_node_leaves_with_a_busy_session() {
    let cluster = Cluster::new();
    let slow = SlowStore(cluster.store.clone(), Duration::from_millis(700));
    let a = cluster.start_on(Arc::new(slow), "a").await;
    let b = cluster.start("b").await;
    let (session, idle) = (open(&a, &a).await, open(&a, &a).await);
    let later = tokio::spawn({
        let (a, session) = (a.clone(), session.clone());
        async move { send(&a, &session, &call(1, "later", &json!({"time": 14_000}))).await.0 }
    });
    tokio::time::sleep(Duration::from_millis(10)).await;
    let leaving = tokio::spawn({
        let a = a.clone();
        async move { a.leave(Duration::from_millis(500)).await }
    });
    tokio::time::sleep(Duration::from_millis(600)).await;
    let late = request(Some(&session), &call(2, "echo", &json!({})));
    let late = a.handle(late).await;
    assert_eq!(
        (late.status().as_u16(), &late.headers()["retry-after"].to_str().unwrap()),
        (503, &"1")
    );
    assert_eq!(leaving.await.unwrap(), Ok(()));
    assert_eq!(later.await.unwrap(), 503);
    for session in [session, idle] {
        assert_eq!(send(&b, &session, &call(3, "echo", &json!({}))).await.0, 200);
    }
    assert_eq!(sessions(&[&a, &b]), [0, 2]);
}

/// A node that is dropped gives no more signs of life.
#[tokio::test(start_paused = true)]
async fn a_node_is_dropped() {
    let cluster = Cluster::new();
    let b = cluster.start("b").await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let a = cluster.start("a").await;
    let session = open(&a, &a).await;
    cluster.network.cut("a").unwrap();
    drop(a);
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(send(&b, &session, &call(1, "echo", &json!({}))).await.0, 200);
}

/// The store failed when a client ended its session. A node that leaves removes the record.
#[tokio::test(start_paused = true)]
async fn a_node_leaves_after_a_removal_that_failed() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.start("a").await, cluster.start("b").await);
    let session = open(&a, &a).await;
    cluster.store.set_failing(true);
    assert_eq!(kit::end(&a, &session).await, 503);
    cluster.store.set_failing(false);
    a.leave(Duration::ZERO).await.unwrap();
    cluster.network.remove("a").unwrap();
    assert_eq!(send(&b, &session, &call(1, "echo", &json!({}))).await.0, 404);
}

/// A node leaves during the write of a sign of life, which the store does after the removal. The sign does not stay.
#[tokio::test(start_paused = true)]
async fn a_node_leaves_during_a_sign_of_life() {
    /// A store that puts signs of life late, and records what was done under their keys last.
    struct Late(MemoryStore, Arc<Mutex<Option<Change>>>);

    impl Store for Late {
        fn read<'s>(&'s self, key: &'s str) -> StoreFuture<'s, Option<Stored>> {
            self.0.read(key)
        }

        fn write<'s>(&'s self, writes: &'s [Write]) -> StoreFuture<'s, Vec<Written>> {
            Box::pin(async move {
                let sign = writes.iter().find(|write| write.key.starts_with("node/"));
                if let Some(Write { change: change @ Change::Put { .. }, .. }) = sign {
                    tokio::time::sleep(Duration::from_secs(3)).await;
                    *self.1.lock().unwrap() = Some(change.clone());
                } else if let Some(Write { change, .. }) = sign {
                    *self.1.lock().unwrap() = Some(change.clone());
                }
                self.0.write(writes).await
            })
        }
    }
    let cluster = Cluster::new();
    let latest = Arc::new(Mutex::new(None));
    let late = Late(cluster.store.clone(), Arc::clone(&latest));
    let a = cluster.start_on(Arc::new(late), "a").await;
    // The second sign of life begins after a second.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    a.leave(Duration::ZERO).await.unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(*latest.lock().unwrap(), Some(Change::Remove));
}
