//! Tasks of nodes that end: killed, cut off, or stopped.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_sansio_store::{
    Change, MemoryStore, Store, StoreError, StoreFuture, Stored, Write, Written,
};
use serde_json::json;

use crate::kit::SlowStore;
use crate::kit::worker::{Client, Workers, sleep};

#[tokio::test(start_paused = true)]
async fn a_task_of_a_killed_node_fails() {
    let workers = Workers::new();
    let (a, b) = (workers.start("a").await, workers.start("b").await);
    let c = workers.start("c").await;
    let client = Client::modern();
    let task = client.begin(&a, json!({"time": 600_000, "checkpoint": true})).await;
    workers.kill("a");
    drop(a);
    // Its signs of life are still believed in.
    assert_eq!(client.get(&b, &task).await["status"], "working");
    sleep(7_000).await;
    let seen = client.get(&b, &task).await;
    assert_eq!(seen["status"], "failed");
    assert_eq!(seen["error"]["message"], "the process that worked on the task has ended");
    assert_eq!(client.get(&c, &task).await["status"], "failed");
}

#[tokio::test(start_paused = true)]
async fn the_result_of_a_killed_node_stays() {
    let workers = Workers::new();
    let (a, b) = (workers.start("a").await, workers.start("b").await);
    let client = Client::modern();
    let task = client.begin(&a, json!({"time": 10})).await;
    sleep(100).await;
    workers.kill("a");
    drop(a);
    sleep(7_000).await;
    assert_eq!(client.get(&b, &task).await["result"]["content"][0]["text"], "worked");
}

#[tokio::test(start_paused = true)]
async fn another_node_continues_the_work() {
    let workers = Workers::resuming();
    let (a, b) = (workers.start("a").await, workers.start("b").await);
    let client = Client::modern();
    let task = client.begin(&a, json!({"time": 60_000, "checkpoint": true})).await;
    workers.kill("a");
    drop(a);
    sleep(7_000).await;
    assert_eq!(client.get(&b, &task).await["status"], "working");
    assert_eq!(client.get(&b, &task).await["status"], "working");
    sleep(61_000).await;
    let seen = client.get(&b, &task).await;
    assert_eq!(seen["result"]["content"][0]["text"], "worked");
    let resumed = workers.journal().iter().filter(|line| *line == "resumed work").count();
    assert_eq!(resumed, 1);
}

/// Of several nodes that want to continue the work at the same time, one does.
#[tokio::test(start_paused = true)]
async fn one_node_continues_the_work() {
    let workers = Workers::resuming();
    let a = workers.start("a").await;
    let slow = || SlowStore(workers.cluster.store.clone(), Duration::from_millis(50));
    let b = workers.start_on(Arc::new(slow()), "b").await;
    let c = workers.start_on(Arc::new(slow()), "c").await;
    let client = Client::modern();
    let task = client.begin(&a, json!({"time": 60_000, "checkpoint": true})).await;
    workers.kill("a");
    drop(a);
    sleep(7_000).await;
    let (at_b, again, at_c) =
        tokio::join!(client.get(&b, &task), client.get(&b, &task), client.get(&c, &task));
    for seen in [at_b, again, at_c] {
        assert_eq!(seen["status"], "working");
    }
    assert_eq!(workers.journal(), ["begun work", "resumed work"]);
}

/// A subscription, or a request that waits, is reason enough to continue the work.
#[tokio::test(start_paused = true)]
async fn a_subscription_notices_the_end_of_a_node() {
    let workers = Workers::new();
    let (a, b) = (workers.start("a").await, workers.start("b").await);
    let client = Client::modern();
    let task = client.begin(&a, json!({"time": 600_000})).await;
    let params = json!({"notifications": {"taskIds": [task]}});
    let mut stream = client.send(&b, "subscriptions/listen", params).await;
    workers.kill("a");
    drop(a);
    loop {
        let message = crate::kit::message(&mut stream).await;
        if message["params"]["status"] == "failed" {
            break;
        }
    }
}

/// A node is believed dead and is not: its work is not wanted any more, and it tells nothing about the task.
#[tokio::test(start_paused = true)]
async fn a_superseded_node_gives_its_tasks_up() {
    let workers = Workers::resuming();
    let (flaky, b) = (Arc::new(Flaky::new(&workers)), workers.start("b").await);
    let a = workers.start_on(flaky.clone(), "a").await;
    let client = Client::modern();
    let task = client.begin(&a, json!({"time": 20_000, "checkpoint": true, "label": "x"})).await;
    // `a` does not reach the store: its signs of life are missing.
    flaky.set(true);
    sleep(8_000).await;
    assert_eq!(client.get(&b, &task).await["status"], "working");
    assert_eq!(workers.journal(), ["begun x", "resumed x"]);
    assert_eq!(client.ask(&a, "tasks/get", json!({"taskId": task})).await.0, 503);
    flaky.set(false);
    assert_eq!(client.get(&a, &task).await["status"], "working");
    sleep(1).await;
    assert_eq!(workers.journal(), ["begun x", "resumed x", "stopped x"]);
    sleep(30_000).await;
    assert_eq!(client.get(&a, &task).await["status"], "completed");
    assert_eq!(workers.journal(), ["begun x", "resumed x", "stopped x", "done x"]);
}

/// A superseded node notices it without a request as well.
#[tokio::test(start_paused = true)]
async fn a_superseded_node_notices_it_by_itself() {
    let workers = Workers::resuming();
    let (flaky, b) = (Arc::new(Flaky::new(&workers)), workers.start("b").await);
    let a = workers.start_on(flaky.clone(), "a").await;
    let client = Client::modern();
    let task = client.begin(&a, json!({"time": 600_000, "checkpoint": true})).await;
    flaky.set(true);
    sleep(8_000).await;
    assert_eq!(client.cancel(&b, &task).await.0, 200);
    flaky.set(false);
    sleep(21_000).await;
    assert_eq!(workers.journal(), ["begun work", "resumed work", "stopped work", "stopped work"]);
}

/// Subscribers of a superseded node get the end that the other node has stored.
#[tokio::test(start_paused = true)]
async fn a_superseded_node_shows_no_end_of_its_own() {
    let workers = Workers::new();
    let (flaky, b) = (Arc::new(Flaky::new(&workers)), workers.start("b").await);
    let a = workers.start_on(flaky.clone(), "a").await;
    let client = Client::modern();
    let task = client.begin(&a, json!({"time": 9_000})).await;
    let params = json!({"notifications": {"taskIds": [task]}});
    let mut stream = client.send(&a, "subscriptions/listen", params.clone()).await;
    flaky.set(true);
    sleep(8_000).await;
    assert_eq!(client.get(&b, &task).await["status"], "failed");
    sleep(500).await;
    flaky.set(false);
    // The work is done now, and its result is not stored.
    sleep(3_000).await;
    assert_eq!(workers.journal(), ["begun work", "done work"]);
    let mut statuses = Vec::new();
    // The stream may end: its client opens it again.
    while let Some(message) = crate::kit::try_message(&mut stream).await {
        statuses.push(message["params"]["status"].as_str().unwrap_or_default().to_owned());
        if statuses.last().unwrap() == "failed" {
            break;
        }
    }
    assert!(!statuses.iter().any(|status| status == "completed"), "{statuses:?}");
    let mut stream = client.send(&a, "subscriptions/listen", params).await;
    while crate::kit::message(&mut stream).await["params"]["status"] != "failed" {}
}

/// The result of a superseded node is not that of the task.
#[tokio::test(start_paused = true)]
async fn a_superseded_node_ends_its_task_in_vain() {
    let workers = Workers::new();
    let (flaky, b) = (Arc::new(Flaky::new(&workers)), workers.start("b").await);
    let a = workers.start_on(flaky.clone(), "a").await;
    let client = Client::modern();
    let task = client.begin(&a, json!({"time": 9_000})).await;
    flaky.set(true);
    sleep(8_000).await;
    assert_eq!(client.get(&b, &task).await["status"], "failed");
    sleep(2_000).await;
    assert_eq!(workers.journal(), ["begun work", "done work"]);
    assert_eq!(client.ask(&a, "tasks/get", json!({"taskId": task})).await.0, 503);
    flaky.set(false);
    sleep(2_000).await;
    assert_eq!(client.get(&a, &task).await["status"], "failed");
}

/// A change is being sent to a node that has ended: this node takes the task over, and stores the change itself.
#[tokio::test(start_paused = true)]
async fn a_change_for_a_node_that_has_ended() {
    let workers = Workers::resuming();
    let (a, b) = (workers.start("a").await, workers.start("b").await);
    let client = Client::modern();
    let task = client.begin(&a, json!({"time": 60_000, "checkpoint": true})).await;
    assert_eq!(client.get(&b, &task).await["status"], "working");
    workers.cluster.network.hang("a");
    drop((a, workers.cluster.network.remove("a")));
    // Its signs of life are believed in for some seconds.
    sleep(3_000).await;
    let cancelling = {
        let (client, b, task) = (client.clone(), b.clone(), task.clone());
        tokio::spawn(async move { client.cancel(&b, &task).await.0 })
    };
    sleep(4_000).await;
    // Another request about the task lets the node take it over.
    let seen = client.get(&b, &task).await["status"].clone();
    let status = cancelling.await.unwrap();
    let c = workers.start("c").await;
    let stored = client.get(&c, &task).await["status"].clone();
    assert_eq!((status, &seen, &stored), (200, &json!("cancelled"), &json!("cancelled")));
    // There is nothing to continue.
    assert_eq!(workers.journal(), ["begun work"]);
}

/// A cancellation that the node of the task could not store is not acknowledged.
#[tokio::test(start_paused = true)]
async fn a_cancellation_that_is_not_stored() {
    let workers = Workers::new();
    let (flaky, b) = (Arc::new(Flaky::new(&workers)), workers.start("b").await);
    let a = workers.start_on(flaky.clone(), "a").await;
    let client = Client::modern();
    let task = client.begin(&a, json!({"time": 60_000})).await;
    flaky.set(true);
    assert_eq!(client.cancel(&b, &task).await.0, 503);
    flaky.set(false);
    assert_eq!(client.cancel(&b, &task).await.0, 200);
    assert_eq!(client.get(&b, &task).await["status"], "cancelled");
}

/// A response shows a task only when its record is written.
#[tokio::test(start_paused = true)]
async fn a_task_is_shown_only_when_it_is_stored() {
    let workers = Workers::new();
    let flaky = Arc::new(Flaky::new(&workers));
    let a = workers.start_on(flaky.clone(), "a").await;
    let client = Client::modern();
    flaky.set(true);
    let params = json!({"name": "work", "arguments": {"time": 1}});
    assert_eq!(client.ask(&a, "tools/call", params).await.0, 503);
    flaky.set(false);
    let task = client.begin(&a, json!({"time": 100})).await;
    flaky.set(true);
    sleep(1_000).await;
    assert_eq!(client.ask(&a, "tasks/get", json!({"taskId": task})).await.0, 503);
    // A request that has nothing to do with tasks.
    let echo = json!({"name": "echo", "arguments": {}});
    assert_eq!(client.ask(&a, "tools/call", echo).await.0, 200);
    // A response with the names of very many other tasks does not wait for this one, unless it names it, too.
    let naming = |last: &str| {
        let others = (0..100_000).map(|id| json!({"taskId": format!("{id}")}));
        let tasks: Vec<_> = others.chain([json!({"taskId": last})]).collect();
        json!({"name": "data", "arguments": {"tasks": tasks}})
    };
    assert_eq!(client.ask(&a, "tools/call", naming("other")).await.0, 200);
    assert_eq!(client.ask(&a, "tools/call", naming(&task)).await.0, 503);
    flaky.set(false);
    assert_eq!(client.ask(&a, "tools/call", naming(&task)).await.0, 200);
    assert_eq!(client.get(&a, &task).await["status"], "completed");
}

/// A node that leaves waits for its tasks, and leaves their results to the others.
#[tokio::test(start_paused = true)]
async fn a_node_that_leaves_waits_for_its_tasks() {
    let workers = Workers::new();
    let (a, b) = (workers.start("a").await, workers.start("b").await);
    let client = Client::modern();
    let short = client.begin(&a, json!({"time": 3_000})).await;
    let long = client.begin(&a, json!({"time": 60_000})).await;
    a.leave(Duration::from_secs(10)).await.unwrap();
    workers.kill("a");
    drop(a);
    let seen = client.get(&b, &short).await;
    assert_eq!(seen["result"]["content"][0]["text"], "worked");
    assert_eq!(client.get(&b, &long).await["status"], "failed");
}

/// A node that leaves does not deny a task that a client waits for.
#[tokio::test(start_paused = true)]
async fn a_client_waits_at_a_node_that_leaves() {
    let workers = Workers::resuming();
    let (a, b) = (workers.start("a").await, workers.start("b").await);
    let client = Client::open(&a, Some(1)).await;
    let task = client.begin(&a, json!({"time": 60_000, "checkpoint": true})).await;
    let waiting = {
        let (client, a, task) = (client.clone(), a.clone(), task.clone());
        tokio::spawn(async move {
            let response = client.send(&a, "tasks/result", json!({"taskId": task})).await;
            let status = response.status();
            let body = http_body_util::BodyExt::collect(response.into_body()).await;
            let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            (status, String::from_utf8(body.to_vec()).unwrap())
        })
    };
    // By now the response is an event stream.
    sleep(20_000).await;
    a.leave(Duration::from_secs(2)).await.unwrap();
    workers.kill("a");
    drop(a);
    let (_, body) = waiting.await.unwrap();
    assert!(!body.contains("no such task"), "{body}");
    assert_eq!(client.get(&b, &task).await["status"], "working");
}

/// A task that the store does not take does not concern the others.
#[tokio::test(start_paused = true)]
async fn a_task_that_cannot_be_stored() {
    struct Picky(MemoryStore);

    impl Store for Picky {
        fn read<'s>(&'s self, key: &'s str) -> StoreFuture<'s, Option<Stored>> {
            self.0.read(key)
        }

        fn write<'s>(&'s self, writes: &'s [Write]) -> StoreFuture<'s, Vec<Written>> {
            Box::pin(async move {
                let is_bad = |write: &Write| match &write.change {
                    Change::Put { value, .. } => {
                        String::from_utf8(value.clone()).unwrap().contains("poison")
                    }
                    Change::Remove => false,
                };
                if writes.iter().any(is_bad) {
                    return Err(StoreError::new("too large"));
                }
                self.0.write(writes).await
            })
        }
    }
    let workers = Workers::new();
    let a = workers.start_on(Arc::new(Picky(workers.cluster.store.clone())), "a").await;
    let client = Client::modern();
    let good = client.begin(&a, json!({"time": 60_000})).await;
    let poison = json!({"name": "work",
        "arguments": {"checkpoint": true, "label": "poison", "time": 60_000}});
    assert_eq!(client.ask(&a, "tools/call", poison).await.0, 503);
    for _ in 0..10 {
        let other = client.begin(&a, json!({"time": 60_000})).await;
        assert_eq!(client.get(&a, &other).await["status"], "working");
        assert_eq!(client.cancel(&a, &other).await.0, 200);
        sleep(700).await;
    }
    assert_eq!(client.get(&a, &good).await["status"], "working");
}

/// A store that does not say what it has done is one that has failed.
#[tokio::test(start_paused = true)]
async fn a_store_with_too_few_results() {
    struct Silent(MemoryStore);

    impl Store for Silent {
        fn read<'s>(&'s self, key: &'s str) -> StoreFuture<'s, Option<Stored>> {
            self.0.read(key)
        }

        fn write<'s>(&'s self, writes: &'s [Write]) -> StoreFuture<'s, Vec<Written>> {
            Box::pin(async move {
                let mut written = self.0.write(writes).await?;
                let is_task = writes.iter().any(|write| write.key.starts_with("task/"));
                if is_task {
                    written.clear();
                }
                Ok(written)
            })
        }
    }
    let workers = Workers::new();
    let a = workers.start_on(Arc::new(Silent(workers.cluster.store.clone())), "a").await;
    let client = Client::modern();
    let params = json!({"name": "work", "arguments": {"time": 60_000}});
    assert_eq!(client.ask(&a, "tools/call", params).await.0, 503);
}

/// Work that another node can continue does not delay a node that leaves.
#[tokio::test(start_paused = true)]
async fn a_node_that_leaves_hands_its_work_over() {
    let workers = Workers::resuming();
    let (a, b) = (workers.start("a").await, workers.start("b").await);
    let client = Client::open(&a, Some(1)).await;
    let task = client.begin(&a, json!({"time": 30_000, "checkpoint": true})).await;
    let began = tokio::time::Instant::now();
    a.leave(Duration::from_secs(100)).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    workers.kill("a");
    assert_eq!(client.get(&b, &task).await["status"], "working");
    sleep(31_000).await;
    assert_eq!(client.get(&b, &task).await["status"], "completed");
    assert_eq!(workers.journal(), ["begun work", "stopped work", "resumed work", "done work"]);
}

/// A store that one node does not reach at times.
struct Flaky {
    store: MemoryStore,
    fails: Mutex<bool>,
}

impl Flaky {
    fn new(workers: &Workers) -> Self {
        Self { store: workers.cluster.store.clone(), fails: Mutex::new(false) }
    }

    fn set(&self, fails: bool) {
        *self.fails.lock().unwrap() = fails;
    }

    fn check(&self) -> Result<(), StoreError> {
        if *self.fails.lock().unwrap() { Err(StoreError::new("not reached")) } else { Ok(()) }
    }
}

impl Store for Flaky {
    fn read<'s>(&'s self, key: &'s str) -> StoreFuture<'s, Option<Stored>> {
        Box::pin(async move {
            self.check()?;
            self.store.read(key).await
        })
    }

    fn write<'s>(&'s self, writes: &'s [Write]) -> StoreFuture<'s, Vec<Written>> {
        Box::pin(async move {
            self.check()?;
            self.store.write(writes).await
        })
    }
}
