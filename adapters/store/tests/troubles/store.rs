//! Stores in trouble.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_sansio_store::{
    JoinError, MemoryStore, Node, Store, StoreError, StoreFuture, Stored, Write, Written,
};
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::kit::{
    self, Cluster, PanickingStore, SlowStore, call, end, endpoint, listen, open, request, send,
};
use crate::{sessions, subscribe};

/// A store reports that a write has failed, and has done it. The session goes on, and so does its event stream.
#[tokio::test(start_paused = true)]
async fn a_write_that_failed_was_done() {
    struct Unsure(MemoryStore, Arc<Mutex<bool>>);

    impl Store for Unsure {
        fn read<'s>(&'s self, key: &'s str) -> StoreFuture<'s, Option<Stored>> {
            self.0.read(key)
        }

        fn write<'s>(&'s self, writes: &'s [Write]) -> StoreFuture<'s, Vec<Written>> {
            let fails = *self.1.lock().unwrap();
            Box::pin(async move {
                let written = self.0.write(writes).await;
                if fails { Err(StoreError::new("too late")) } else { written }
            })
        }
    }
    let cluster = Cluster::new();
    let fails = Arc::new(Mutex::new(false));
    let unsure = Unsure(cluster.store.clone(), Arc::clone(&fails));
    let a = cluster.start_on(Arc::new(unsure), "a").await;
    let session = open(&a, &a).await;
    let mut stream = listen(&a, &session, None).await;
    *fails.lock().unwrap() = true;
    assert_eq!(send(&a, &session, &subscribe(1, "test://one")).await.0, 503);
    *fails.lock().unwrap() = false;
    assert_eq!(send(&a, &session, &subscribe(2, "test://two")).await.0, 200);
    send(&a, &session, &call(3, "touch", &json!({"uri": "test://two"}))).await;
    assert_eq!(kit::event(&mut stream).await.1["params"]["uri"], "test://two");
}

/// A node gives signs of life while it renews the records of many waiting sessions in a slow store.
#[tokio::test(start_paused = true)]
async fn a_node_renews_many_sessions() {
    let mut cluster = Cluster::new();
    cluster.options.session_lifetime = Duration::from_secs(3 * 3600);
    let slow = SlowStore(cluster.store.clone(), Duration::from_secs(3));
    let a = cluster.start_on(Arc::new(slow), "a").await;
    let b = cluster.start("b").await;
    let opened: Vec<_> = (0..300)
        .map(|_| {
            let a = a.clone();
            tokio::spawn(async move {
                let session = open(&a, &a).await;
                let stream = listen(&a, &session, None).await;
                assert_eq!(stream.status(), 200);
                (session, stream)
            })
        })
        .collect();
    let mut waiting = Vec::new();
    for opened in opened {
        waiting.push(opened.await.unwrap());
    }
    let end = Instant::now() + Duration::from_secs(3000);
    while Instant::now() < end {
        let body = call(1, "echo", &json!({}));
        assert_eq!(send(&b, &waiting[7].0, &body).await.0, 200);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(sessions(&[&a, &b]), [300, 0]);
}

/// Nothing is kept of a session that was looked for: not after an error, not if the client has gone.
#[tokio::test(start_paused = true)]
async fn nothing_is_kept_of_unknown_sessions() {
    let cluster = Cluster::new();
    let a = cluster.start("a").await;
    let known = open(&a, &a).await;
    let body = call(1, "echo", &json!({}));
    for number in 0..100_u32 {
        let unknown = format!("{number:032x}");
        assert_eq!(send(&a, &unknown, &body).await.0, 404);
        cluster.store.set_failing(true);
        assert_eq!(send(&a, &unknown, &body).await.0, 503);
        cluster.store.set_failing(false);
    }
    assert_eq!(a.known_sessions(), 1);

    /// A store that does not answer.
    struct Silent;

    impl Store for Silent {
        fn read<'s>(&'s self, _: &'s str) -> StoreFuture<'s, Option<Stored>> {
            Box::pin(async {
                tokio::time::sleep(Duration::from_secs(5)).await;
                Err(StoreError::new("silence"))
            })
        }

        fn write<'s>(&'s self, writes: &'s [Write]) -> StoreFuture<'s, Vec<Written>> {
            Box::pin(async { Ok(vec![Written::Done; writes.len()]) })
        }
    }
    let b = cluster.start_on(Arc::new(Silent), "b").await;
    for number in 0..100_u32 {
        let unknown = format!("{number:032x}");
        let sent = timeout(Duration::from_millis(10), send(&b, &unknown, &body)).await;
        assert!(sent.is_err());
    }
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(b.known_sessions(), 0);
    // Many that are looked for at once keep no client from opening a session.
    for number in 0..10_500_u32 {
        let (b, body, unknown) = (b.clone(), body.clone(), format!("{number:032x}"));
        tokio::spawn(async move { send(&b, &unknown, &body).await });
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(b.known_sessions(), 10_500);
    assert_eq!(b.handle(request(None, &kit::initialize())).await.status(), 200);
    assert_eq!(end(&a, &known).await, 200);
    assert_eq!(a.known_sessions(), 0);
}

/// A session that its client has ended does not come back, also if the store fails at that moment.
#[tokio::test(start_paused = true)]
async fn a_session_is_ended_without_the_store() {
    for is_tried_again in [true, false] {
        let cluster = Cluster::new();
        let (a, b) = (cluster.start("a").await, cluster.start("b").await);
        let session = open(&a, &a).await;
        cluster.store.set_failing(true);
        assert_eq!(end(&a, &session).await, 503);
        cluster.store.set_failing(false);
        if is_tried_again {
            assert_eq!(end(&b, &session).await, 404);
        } else {
            tokio::time::sleep(Duration::from_secs(61)).await;
        }
        cluster.kill("a");
        drop(a);
        assert_eq!(send(&b, &session, &call(1, "echo", &json!({}))).await.0, 404);
    }
}

/// A store that failed for longer than the silence of a node has no signs of life. A node that finds none waits until it has given
/// its own for as long, so the healthy nodes keep their sessions.
#[tokio::test(start_paused = true)]
async fn the_store_comes_back() {
    let mut cluster = Cluster::new();
    let b = cluster.start("b").await;
    // This node renews its sign of life later than the other looks for it.
    cluster.options.beat = Duration::from_millis(4_000);
    let a = cluster.start("a").await;
    let session = open(&a, &b).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    cluster.store.set_failing(true);
    tokio::time::sleep(Duration::from_secs(8)).await;
    cluster.store.set_failing(false);
    for _ in 0..100 {
        assert_eq!(send(&b, &session, &call(1, "echo", &json!({}))).await.0, 200);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(sessions(&[&a, &b]), [1, 0]);
}

/// The writes of a store hang for a time, and its reads go on. The sign of life of a healthy node ends before that of the
/// other one, by chance.
#[tokio::test(start_paused = true)]
async fn the_writes_of_a_store_hang() {
    struct Hanging(MemoryStore, Instant);

    impl Store for Hanging {
        fn read<'s>(&'s self, key: &'s str) -> StoreFuture<'s, Option<Stored>> {
            self.0.read(key)
        }

        fn write<'s>(&'s self, writes: &'s [Write]) -> StoreFuture<'s, Vec<Written>> {
            Box::pin(async move {
                if self.1 <= Instant::now() {
                    tokio::time::sleep_until(self.1 + Duration::from_millis(4_700)).await;
                }
                self.0.write(writes).await
            })
        }
    }
    let cluster = Cluster::new();
    let from = Instant::now() + Duration::from_millis(20_950);
    let hanging = || Arc::new(Hanging(cluster.store.clone(), from));
    let a = cluster.start_on(hanging(), "a").await;
    tokio::time::sleep(Duration::from_millis(900)).await;
    let b = cluster.start_on(hanging(), "b").await;
    let session = open(&a, &a).await;
    // The sign of this node has ended, and that of the other one has not. No request has seen it a moment ago.
    tokio::time::sleep_until(from + Duration::from_millis(4_350)).await;
    for _ in 0..200 {
        assert_eq!(send(&b, &session, &call(1, "echo", &json!({}))).await.0, 200);
        assert_eq!(sessions(&[&a, &b]), [1, 0]);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// A flood of sessions that are not used leaves nothing behind.
#[tokio::test(start_paused = true)]
async fn a_flood_of_sessions() {
    let mut cluster = Cluster::new();
    cluster.most_sessions = 100;
    let a = cluster.start("a").await;
    let mut refused = 0;
    for _ in 0..25_000 {
        let response = a.handle(request(None, &kit::initialize())).await;
        refused += u32::from(response.status() == 503);
        assert!(a.known_sessions() <= 10_101);
        // A session that was refused is none of the endpoint.
        assert!(response.status() == 200 || a.endpoint().sessions() < 100);
    }
    assert!(0 < refused);
    tokio::time::sleep(Duration::from_secs(125)).await;
    assert_eq!(a.known_sessions(), 0);
    assert_eq!(open(&a, &a).await.len(), 32);
}

/// An address that no node could reach is refused at once.
#[tokio::test(start_paused = true)]
async fn the_address_of_a_node_is_checked() {
    for wrong in ["", "10.0.0.7:x", "http://10.0.0.7", "a b", "[::1", "me@a:1"] {
        let joined = Node::join(endpoint(9), Arc::new(MemoryStore::new()), wrong).await;
        assert_eq!(joined.unwrap_err(), JoinError::Address(wrong.to_owned()));
    }
    let failing = MemoryStore::new();
    failing.set_failing(true);
    let joined = Node::join(endpoint(9), Arc::new(failing), "10.0.0.7:1").await.unwrap_err();
    assert_eq!(joined.to_string(), "the store failed: it is set to fail");
}

/// A lifetime that no store can count.
#[tokio::test(start_paused = true)]
async fn a_lifetime_without_end() {
    let mut cluster = Cluster::new();
    cluster.options.session_lifetime = Duration::MAX;
    let a = cluster.start("a").await;
    let session = open(&a, &a).await;
    assert_eq!(send(&a, &session, &call(1, "echo", &json!({}))).await.0, 200);
}

/// A record whose lifetime is shorter than the time between two sweeps of other sessions is renewed as well.
#[tokio::test(start_paused = true)]
async fn a_short_lifetime() {
    let mut cluster = Cluster::new();
    cluster.options.session_lifetime = Duration::from_secs(30);
    let (a, b) = (cluster.start("a").await, cluster.start("b").await);
    let session = open(&a, &a).await;
    tokio::time::sleep(Duration::from_secs(50)).await;
    cluster.kill("a");
    drop(a);
    assert_eq!(send(&b, &session, &call(1, "echo", &json!({}))).await.0, 200);
}

/// A store that panics loses the writes of that moment, and no later ones.
#[tokio::test(start_paused = true)]
async fn a_store_that_panics() {
    let cluster = Cluster::new();
    let panics = Arc::new(AtomicBool::new(false));
    let panicking = PanickingStore(cluster.store.clone(), Arc::clone(&panics));
    let a = cluster.start_on(Arc::new(panicking), "a").await;
    let session = open(&a, &a).await;
    panics.store(true, Ordering::SeqCst);
    assert_eq!(send(&a, &session, &subscribe(1, "test://one")).await.0, 503);
    panics.store(false, Ordering::SeqCst);
    assert_eq!(send(&a, &session, &subscribe(2, "test://one")).await.0, 200);
}

/// A node gives signs of life after its store has panicked, and after the function that gets errors has.
#[tokio::test(start_paused = true)]
async fn a_panic_does_not_end_the_signs_of_life() {
    for in_store in [true, false] {
        let mut cluster = Cluster::new();
        cluster.options.on_error = Arc::new(|_| panic!("standard error is closed"));
        let panics = Arc::new(AtomicBool::new(false));
        let panicking = PanickingStore(cluster.store.clone(), Arc::clone(&panics));
        let (a, b) = (cluster.start_on(Arc::new(panicking), "a").await, cluster.start("b").await);
        let session = open(&a, &a).await;
        assert_eq!(send(&a, &session, &call(1, "echo", &json!({}))).await.0, 200);
        panics.store(in_store, Ordering::SeqCst);
        cluster.store.set_failing(!in_store);
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        panics.store(false, Ordering::SeqCst);
        cluster.store.set_failing(false);
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!(send(&b, &session, &call(2, "echo", &json!({}))).await.0, 200);
        assert_eq!(sessions(&[&a, &b]), [1, 0], "in store: {in_store}");
    }
}

/// A session ends if it is not used within a minute. If storing it takes longer, its client must not believe in it.
#[tokio::test(start_paused = true)]
async fn storing_a_new_session_takes_too_long() {
    let cluster = Cluster::new();
    let slow = SlowStore(cluster.store.clone(), Duration::from_secs(61));
    let a = cluster.start_on(Arc::new(slow), "a").await;
    assert_eq!(a.handle(request(None, &kit::initialize())).await.status(), 503);
}
