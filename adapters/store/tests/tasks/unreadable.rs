//! Tasks whose records a node cannot read: the node of another release has written them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use mcp_sansio_store::{
    Change, MemoryStore, Store, StoreError, StoreFuture, Stored, Write, Written,
};
use serde_json::json;

use crate::kit;
use crate::kit::worker::{Client, Workers, sleep};

/// What happens to the writes of a node that takes a task over.
#[derive(Clone, Copy, PartialEq)]
enum Trouble {
    /// They are done, and an error is returned.
    Unsure,
    /// Another node has written the record in a new format.
    Overtaken,
}

struct Troubled(MemoryStore, Trouble);

/// Writes a record in a format that no node of this test can read.
async fn spoil(store: &MemoryStore, key: &str) {
    let change = Change::Put { value: b"{\"format\":2}".to_vec(), lifetime: None };
    let write = Write { key: key.to_owned(), expected: None, change };
    assert_eq!(store.write(&[write]).await.unwrap(), [Written::Done]);
}

impl Store for Troubled {
    fn read<'s>(&'s self, key: &'s str) -> StoreFuture<'s, Option<Stored>> {
        self.0.read(key)
    }

    fn write<'s>(&'s self, writes: &'s [Write]) -> StoreFuture<'s, Vec<Written>> {
        Box::pin(async move {
            let task = writes.iter().find(|write| write.key.starts_with("task/"));
            match (task, self.1) {
                (Some(_), Trouble::Unsure) => {
                    self.0.write(writes).await?;
                    Err(StoreError::new("too late"))
                }
                (Some(task), Trouble::Overtaken) => {
                    spoil(&self.0, &task.key).await;
                    self.0.write(writes).await
                }
                (None, _) => self.0.write(writes).await,
            }
        })
    }
}

/// A task that may have been taken over, and cannot be read any more, delays no other copy.
#[tokio::test(start_paused = true)]
async fn an_unreadable_task_delays_no_other() {
    let workers = Workers::new();
    let (a, c) = (workers.start("a").await, workers.start("c").await);
    let troubled = Troubled(workers.cluster.store.clone(), Trouble::Unsure);
    let b = workers.start_on(Arc::new(troubled), "b").await;
    let client = Client::modern();
    let lost = client.begin(&a, json!({"time": 600_000})).await;
    workers.kill("a");
    drop(a);
    sleep(7_000).await;
    assert_eq!(client.ask(&b, "tasks/get", json!({"taskId": lost})).await.0, 503);
    spoil(&workers.cluster.store, &format!("task/{lost}")).await;
    let other = client.begin(&c, json!({"time": 5_000})).await;
    let params = json!({"notifications": {"taskIds": [other]}});
    let mut stream = client.send(&b, "subscriptions/listen", params).await;
    let mut statuses = Vec::new();
    while statuses.last().is_none_or(|status| status != "completed") {
        let message = kit::message(&mut stream).await;
        if message["params"]["taskId"] == *other {
            statuses.push(message["params"]["status"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(statuses, ["working", "completed"]);
}

/// A task that another node has taken over is not looked for any more.
#[tokio::test(start_paused = true)]
async fn a_task_of_another_node_is_in_no_doubt() {
    let mut workers = Workers::new();
    let a = workers.start("a").await;
    let errors = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&errors);
    workers.cluster.options.on_error =
        Arc::new(move |_| _ = counted.fetch_add(1, Ordering::Relaxed));
    let troubled = Troubled(workers.cluster.store.clone(), Trouble::Overtaken);
    let b = workers.start_on(Arc::new(troubled), "b").await;
    let client = Client::modern();
    let task = client.begin(&a, json!({"time": 600_000})).await;
    workers.kill("a");
    drop(a);
    sleep(7_000).await;
    assert_eq!(client.ask(&b, "tasks/get", json!({"taskId": task})).await.0, 503);
    let before = errors.load(Ordering::Relaxed);
    assert!(0 < before);
    sleep(60_000).await;
    assert_eq!(errors.load(Ordering::Relaxed), before);
}

/// A store that takes a while to read one record.
struct Slow(MemoryStore, Arc<Mutex<String>>);

impl Store for Slow {
    fn read<'s>(&'s self, key: &'s str) -> StoreFuture<'s, Option<Stored>> {
        Box::pin(async move {
            if *key == *self.1.lock().unwrap() {
                sleep(500).await;
            }
            self.0.read(key).await
        })
    }

    fn write<'s>(&'s self, writes: &'s [Write]) -> StoreFuture<'s, Vec<Written>> {
        self.0.write(writes)
    }
}

/// A task of this node that cannot be written fails its own requests alone, and is tried again for as long as it exists.
#[tokio::test(start_paused = true)]
async fn a_task_that_cannot_be_written_fails_no_other_request() {
    let mut workers = Workers::new();
    let errors = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&errors);
    workers.cluster.options.on_error =
        Arc::new(move |_| _ = counted.fetch_add(1, Ordering::Relaxed));
    let slow = Arc::new(Mutex::new(String::new()));
    let store = Slow(workers.cluster.store.clone(), Arc::clone(&slow));
    let node = workers.start_on(Arc::new(store), "a").await;
    let client = Client::modern();
    let spoilt = client.begin(&node, json!({"time": 600_000})).await;
    let key = format!("task/{spoilt}");
    spoil(&workers.cluster.store, &key).await;
    slow.lock().unwrap().clone_from(&key);
    assert_eq!(client.ask(&node, "tasks/cancel", json!({"taskId": spoilt})).await.0, 503);
    for time in 0..40 {
        // A request that does not begin its task panics.
        client.begin(&node, json!({"time": 600_000 + time})).await;
        sleep(130).await;
    }
    // It is tried again about once in a second and a half.
    let tried = errors.load(Ordering::Relaxed);
    assert!((3..=8).contains(&tried), "{tried} errors");
    // The task is still there, and so is its error.
    assert_eq!(client.ask(&node, "tasks/cancel", json!({"taskId": spoilt})).await.0, 503);
}
