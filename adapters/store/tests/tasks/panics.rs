//! Stores and networks that panic.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use mcp_sansio_store::{Forwarded, Node, Peers};
use serde_json::json;
use tokio::time::timeout;

use crate::kit::worker::{Client, Workers, sleep};
use crate::kit::{Network, PanickingStore};

/// A task that ends while the store panics is stored later, although no request waits for that.
#[tokio::test(start_paused = true)]
async fn a_panic_of_the_store_does_not_end_the_storing_of_tasks() {
    let workers = Workers::new();
    let panics = Arc::new(AtomicBool::new(false));
    let panicking = PanickingStore(workers.cluster.store.clone(), Arc::clone(&panics));
    let (a, b) = (workers.start_on(Arc::new(panicking), "a").await, workers.start("b").await);
    let client = Client { user: Some(1), session: None };
    let task = client.begin(&a, json!({"time": 5_000})).await;
    sleep(4_000).await;
    panics.store(true, Ordering::SeqCst);
    sleep(2_000).await;
    panics.store(false, Ordering::SeqCst);
    sleep(3_000).await;
    assert_eq!(client.get(&b, &task).await["status"], "completed");
}

/// A network that panics at times.
struct PanickingPeers(Network, Arc<AtomicBool>);

impl Peers for PanickingPeers {
    fn forward<'p>(&'p self, address: &'p str, request: Request<Full<Bytes>>) -> Forwarded<'p> {
        assert!(!self.1.load(Ordering::SeqCst), "the network panics");
        self.0.forward(address, request)
    }
}

/// A cancellation at another node than that of the task fails if the network panics, and succeeds afterwards.
#[tokio::test(start_paused = true)]
async fn a_panic_of_the_network_fails_only_its_requests() {
    let workers = Workers::new();
    let a = workers.start("a").await;
    let panics = Arc::new(AtomicBool::new(false));
    let cluster = &workers.cluster;
    let peers = PanickingPeers(cluster.network.clone(), Arc::clone(&panics));
    let (store, options) = (Arc::new(cluster.store.clone()), cluster.options.clone());
    let b = Node::join_with(workers.endpoint(), store, "b", Arc::new(peers), options);
    let b = b.await.unwrap();
    cluster.network.connect("b", b.clone());
    let client = Client { user: Some(1), session: None };
    let task = client.begin(&a, json!({"time": 500_000})).await;
    let cancel = async || {
        let asked = client.ask(&b, "tasks/cancel", json!({"taskId": task}));
        timeout(Duration::from_secs(60), asked).await.map(|(status, _)| status)
    };
    panics.store(true, Ordering::SeqCst);
    assert_eq!(cancel().await, Ok(503));
    assert_eq!(client.get(&b, &task).await["status"], "working");
    panics.store(false, Ordering::SeqCst);
    assert_eq!(cancel().await, Ok(200));
    assert_eq!(client.get(&a, &task).await["status"], "cancelled");
}
