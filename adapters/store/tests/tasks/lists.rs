//! Lists of tasks, of all nodes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_sansio_store::{MemoryStore, Store, StoreFuture, Stored, Write, Written};
use serde_json::json;

use crate::kit::SlowStore;
use crate::kit::worker::{Client, Workers, sleep};

#[tokio::test(start_paused = true)]
async fn a_user_lists_the_tasks_of_all_nodes() {
    let workers = Workers::new();
    let (a, b) = (workers.start("a").await, workers.start("b").await);
    let (one, two) = (Client::open(&a, Some(1)).await, Client::open(&b, Some(1)).await);
    let other = Client::open(&b, Some(2)).await;
    let mut tasks = Vec::new();
    for (client, node) in [(&one, &a), (&two, &b), (&one, &a)] {
        tasks.push(client.begin(node, json!({"time": 60_000})).await);
        sleep(10).await;
    }
    assert_eq!(one.list(&a).await, tasks);
    assert_eq!(two.list(&b).await, tasks);
    assert_eq!(other.list(&b).await, [""; 0]);
}

/// Nodes add tasks to the list of a user at the same time.
#[tokio::test(start_paused = true)]
async fn tasks_that_begin_at_the_same_time_are_listed() {
    let workers = Workers::new();
    let slow = || SlowStore(workers.cluster.store.clone(), Duration::from_millis(50));
    let a = workers.start_on(Arc::new(slow()), "a").await;
    let b = workers.start_on(Arc::new(slow()), "b").await;
    let (one, two) = (Client::open(&a, Some(1)).await, Client::open(&b, Some(1)).await);
    let arguments = || json!({"time": 60_000});
    let (first, second, third) = tokio::join!(
        one.begin(&a, arguments()),
        two.begin(&b, arguments()),
        one.begin(&a, arguments())
    );
    let mut expected = [first, second, third];
    expected.sort();
    for (client, node) in [(&one, &a), (&two, &b)] {
        let mut listed = client.list(node).await;
        listed.sort();
        assert_eq!(listed, expected);
    }
}

/// A page of a list continues at another node.
#[tokio::test(start_paused = true)]
async fn pages_of_several_nodes() {
    let mut workers = Workers::new();
    workers.config.page_items = 2;
    let (a, b) = (workers.start("a").await, workers.start("b").await);
    let (one, two) = (Client::open(&a, Some(1)).await, Client::open(&b, Some(1)).await);
    let mut tasks = Vec::new();
    for at in 0..5 {
        let (client, node) = if at % 2 == 0 { (&one, &a) } else { (&two, &b) };
        tasks.push(client.begin(node, json!({"time": 60_000})).await);
        sleep(1).await;
    }
    let (mut seen, mut cursor) = (Vec::new(), None);
    for (client, node) in [(&one, &a), (&two, &b), (&one, &a)] {
        let params = cursor.map_or_else(|| json!({}), |cursor: String| json!({"cursor": cursor}));
        let (_, message) = client.ask(node, "tasks/list", params).await;
        let page = message["result"]["tasks"].as_array().unwrap_or_else(|| panic!("{message}"));
        seen.extend(page.iter().map(|task| task["taskId"].as_str().unwrap().to_owned()));
        cursor = message["result"]["nextCursor"].as_str().map(str::to_owned);
    }
    assert_eq!(seen, tasks);
    assert_eq!(cursor, None);
}

/// A list has the tasks of a session that was taken over.
#[tokio::test(start_paused = true)]
async fn the_tasks_of_a_session_move_with_it() {
    let workers = Workers::new();
    let (a, b) = (workers.start("a").await, workers.start("b").await);
    let client = Client::open(&a, None).await;
    let finished = client.begin(&a, json!({})).await;
    sleep(10).await;
    let going_on = client.begin(&a, json!({"time": 60_000})).await;
    workers.kill("a");
    drop(a);
    sleep(7_000).await;
    assert_eq!(client.list(&b).await, [finished.clone(), going_on.clone()]);
    let (_, message) = client.ask(&b, "tasks/result", json!({"taskId": finished})).await;
    assert_eq!(crate::kit::text(&message), "worked");
    let (_, message) = client.ask(&b, "tasks/result", json!({"taskId": going_on})).await;
    assert_eq!(message["error"]["message"], "the process that worked on the task has ended");
}

/// Tasks that have expired are not listed.
#[tokio::test(start_paused = true)]
async fn lists_forget_what_has_expired() {
    let workers = Workers::new();
    let (a, b) = (workers.start("a").await, workers.start("b").await);
    let client = Client::open(&a, Some(1)).await;
    client.begin(&a, json!({})).await;
    // A task of a session asks for ten minutes.
    sleep(600_001).await;
    let new = client.begin(&a, json!({})).await;
    assert_eq!(Client::open(&b, Some(1)).await.list(&b).await, [&*new]);
    // The record of the list does not grow, either.
    let list = workers.cluster.store.read("tasks-of/principal-0000000000000001").await;
    let list = String::from_utf8(list.unwrap().unwrap().value).unwrap();
    assert_eq!((list.matches("\"id\"").count(), list.contains(&new)), (1, true), "{list}");
}

/// A slow store that counts the keys that were read, and the writes of lists.
#[derive(Default)]
struct Counting {
    store: MemoryStore,
    read: Mutex<Vec<String>>,
    list_writes: AtomicUsize,
}

impl Store for Counting {
    fn read<'s>(&'s self, key: &'s str) -> StoreFuture<'s, Option<Stored>> {
        self.read.lock().unwrap().push(key.to_owned());
        self.store.read(key)
    }

    fn write<'s>(&'s self, writes: &'s [Write]) -> StoreFuture<'s, Vec<Written>> {
        let lists = writes.iter().filter(|write| write.key.starts_with("tasks-of/")).count();
        self.list_writes.fetch_add(lists, Ordering::Relaxed);
        Box::pin(async move {
            sleep(50).await;
            self.store.write(writes).await
        })
    }
}

impl Counting {
    fn new(workers: &Workers) -> Arc<Self> {
        Arc::new(Self { store: workers.cluster.store.clone(), ..Self::default() })
    }
}

/// The tasks that a user begins at once are listed with few writes: the first alone, and those that have begun meanwhile in
/// batches of 64.
#[tokio::test(start_paused = true)]
async fn tasks_that_begin_at_once_are_listed_together() {
    let workers = Workers::new();
    let store = Counting::new(&workers);
    let a = workers.start_on(store.clone(), "a").await;
    let client = Client { user: Some(1), session: None };
    let began = tokio::time::Instant::now();
    let tasks: Vec<_> = (0..100)
        .map(|_| {
            let (client, a) = (client.clone(), a.clone());
            tokio::spawn(async move { client.begin(&a, json!({"time": 60_000})).await })
        })
        .collect();
    let mut begun = Vec::new();
    for task in tasks {
        begun.push(task.await.unwrap());
    }
    assert!(store.list_writes.load(Ordering::Relaxed) <= 3, "{:?}", store.list_writes);
    // Each batch is two writes of 50 ms: the lists, then the tasks.
    assert!(began.elapsed() <= Duration::from_millis(300), "{:?}", began.elapsed());
    let mut listed = Client::open(&a, Some(1)).await.list(&a).await;
    listed.sort();
    begun.sort();
    assert_eq!(listed, begun);
}

/// A list does not look for tasks that have expired, however many there are.
#[tokio::test(start_paused = true)]
async fn expired_tasks_are_not_looked_for() {
    let mut workers = Workers::new();
    workers.config.ttl = Some(Duration::from_secs(30));
    let (a, store) = (workers.start("a").await, Counting::new(&workers));
    let b = workers.start_on(store.clone(), "b").await;
    let user = Client { user: Some(1), session: None };
    for _ in 0..5 {
        user.begin(&a, json!({})).await;
    }
    let client = Client::open(&b, Some(1)).await;
    assert_eq!(client.list(&b).await.len(), 5);
    sleep(30_001).await;
    store.read.lock().unwrap().clear();
    assert_eq!(client.list(&b).await, [""; 0]);
    let read = store.read.lock().unwrap().clone();
    assert!(read.iter().any(|key| key.starts_with("tasks-of/")), "{read:?}");
    assert!(!read.iter().any(|key| key.starts_with("task/")), "{read:?}");
}
