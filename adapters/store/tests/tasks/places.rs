//! Requests about a task at another node than the one that works on it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::kit::worker::{Client, Workers, sleep};
use crate::kit::{self, SlowStore};

#[tokio::test(start_paused = true)]
async fn any_node_tells_the_status() {
    let workers = Workers::new();
    let (a, b) = (workers.start("a").await, workers.start("b").await);
    let client = Client::modern();
    let task = client.begin(&a, json!({"time": 1_000})).await;
    assert_eq!(client.get(&b, &task).await["status"], "working");
    sleep(2_000).await;
    let seen = client.get(&b, &task).await;
    assert_eq!(seen["status"], "completed");
    assert_eq!(seen["result"]["content"][0]["text"], "worked");
    // A task that does not exist.
    let unknown = client.get(&b, "0123").await;
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
}

#[tokio::test(start_paused = true)]
async fn a_task_is_cancelled_from_another_node() {
    let workers = Workers::new();
    let (a, b) = (workers.start("a").await, workers.start("b").await);
    let client = Client::modern();
    let task = client.begin(&a, json!({"time": 60_000})).await;
    let (status, message) = client.cancel(&b, &task).await;
    assert_eq!((status, message["error"].is_null()), (200, true), "{message}");
    assert_eq!(client.get(&a, &task).await["status"], "cancelled");
    sleep(1).await;
    assert_eq!(workers.journal(), ["begun work", "stopped work"]);
}

/// The node that works on the task cannot be reached, or has finished it before the cancellation arrives.
#[tokio::test(start_paused = true)]
async fn a_cancellation_that_comes_too_late() {
    let workers = Workers::new();
    let (a, b) = (workers.start("a").await, workers.start("b").await);
    let (one, other) = (Client::open(&a, Some(1)).await, Client::open(&b, Some(1)).await);
    let task = one.begin(&a, json!({"time": 1_000})).await;
    // `b` reads the record of the task before `a` writes the result.
    workers.cluster.network.remove("a");
    let (status, _) = other.cancel(&b, &task).await;
    assert_eq!(status, 503);
    workers.cluster.network.connect("a", a.clone());
    assert_eq!(other.get(&b, &task).await["status"], "working");
    sleep(2_000).await;
    let (status, message) = other.cancel(&b, &task).await;
    assert_eq!((status, &message["error"]["code"]), (200, &json!(-32602)), "{message}");
    assert_eq!(one.get(&a, &task).await["status"], "completed");
}

#[tokio::test(start_paused = true)]
async fn input_comes_from_another_node() {
    let workers = Workers::new();
    let (a, b) = (workers.start("a").await, workers.start("b").await);
    let client = Client::modern();
    let task = client.begin(&a, json!({"asks": true})).await;
    sleep(1).await;
    let seen = client.get(&b, &task).await;
    assert_eq!(seen["status"], "input_required");
    assert_eq!(seen["inputRequests"]["name"]["method"], "elicitation/create", "{seen}");
    let input = json!({"name": {"action": "accept", "content": {"name": "Ada"}}});
    let params = json!({"taskId": task, "inputResponses": input});
    let (status, message) = client.ask(&b, "tasks/update", params).await;
    assert_eq!((status, message["error"].is_null()), (200, true), "{message}");
    sleep(1).await;
    let seen = client.get(&b, &task).await;
    assert_eq!(seen["status"], "completed", "{seen}");
    let text = seen["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("Ada"), "{text}");
}

/// A subscription at one node to a task of another.
#[tokio::test(start_paused = true)]
async fn a_subscription_follows_a_task_of_another_node() {
    let workers = Workers::new();
    let (a, b) = (workers.start("a").await, workers.start("b").await);
    let client = Client::modern();
    let task = client.begin(&a, json!({"time": 5_000})).await;
    let params = json!({"notifications": {"taskIds": [task]}});
    let mut stream = client.send(&b, "subscriptions/listen", params).await;
    let mut statuses = Vec::new();
    while statuses.last().is_none_or(|status| status != "completed") {
        let message = kit::message(&mut stream).await;
        if message["params"]["taskId"] == *task {
            statuses.push(message["params"]["status"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(statuses, ["working", "completed"]);
}

/// In a session a client waits for the result, at another node than the one that works.
#[tokio::test(start_paused = true)]
async fn a_result_is_awaited_at_another_node() {
    let workers = Workers::new();
    let (a, b) = (workers.start("a").await, workers.start("b").await);
    let (one, other) = (Client::open(&a, Some(1)).await, Client::open(&b, Some(1)).await);
    let task = one.begin(&a, json!({"time": 5_000})).await;
    let (status, message) = other.ask(&b, "tasks/result", json!({"taskId": task})).await;
    assert_eq!(status, 200);
    assert_eq!(kit::text(&message), "worked");
}

/// A client of no node gets the task of another client only by its id, and that of a user not at all.
#[tokio::test(start_paused = true)]
async fn users_reach_their_own_tasks() {
    let workers = Workers::new();
    let (a, b) = (workers.start("a").await, workers.start("b").await);
    let user = |user| Client { user: Some(user), session: None };
    let task = user(1).begin(&a, json!({"time": 60_000})).await;
    assert_eq!(user(1).get(&b, &task).await["status"], "working");
    for other in
        [user(2), Client::modern(), Client::open(&b, None).await, Client::open(&b, Some(2)).await]
    {
        assert_eq!(other.get(&b, &task).await["error"]["code"], -32602, "{other:?}");
        other.cancel(&b, &task).await;
    }
    assert_eq!(user(1).get(&a, &task).await["status"], "working");
}

/// Look-ups of tasks that do not exist, and copies without a user, leave nothing.
#[tokio::test(start_paused = true)]
async fn copies_are_dropped() {
    let workers = Workers::new();
    let (a, b) = (workers.start("a").await, workers.start("b").await);
    let client = Client::modern();
    let task = client.begin(&a, json!({"time": 3_000_000})).await;
    let count = |node: &mcp_sansio_store::Node| {
        node.endpoint().tasks().unwrap().inspect(|tasks, _| tasks.len())
    };
    for id in 0..100 {
        client.get(&b, &format!("{id}")).await;
    }
    assert_eq!(count(&b), 0);
    client.get(&b, &task).await;
    assert_eq!(count(&b), 1);
    sleep(59_000).await;
    assert_eq!(count(&b), 1);
    sleep(3_000).await;
    assert_eq!(count(&b), 0);
    assert_eq!(client.get(&b, &task).await["status"], "working");
}

/// Two nodes have changes for each other at the same time. Neither waits for the other.
#[tokio::test(start_paused = true)]
async fn nodes_change_tasks_of_each_other() {
    let workers = Workers::new();
    let slow = || SlowStore(workers.cluster.store.clone(), Duration::from_millis(50));
    let a = workers.start_on(Arc::new(slow()), "a").await;
    let b = workers.start_on(Arc::new(slow()), "b").await;
    let client = Client::modern();
    let mut tasks = Vec::new();
    for node in [&a, &b, &a, &b] {
        tasks.push(client.begin(node, json!({"time": 60_000})).await);
    }
    let began = Instant::now();
    let cancelled = tokio::join!(
        client.cancel(&b, &tasks[0]),
        client.cancel(&a, &tasks[1]),
        client.cancel(&b, &tasks[2]),
        client.cancel(&a, &tasks[3]),
    );
    let statuses = [cancelled.0.0, cancelled.1.0, cancelled.2.0, cancelled.3.0];
    assert_eq!(statuses, [200; 4]);
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

/// A node that cannot be reached delays only the changes of its own tasks.
#[tokio::test(start_paused = true)]
async fn a_node_that_hangs_delays_no_other_task() {
    let workers = Workers::new();
    let (a, b) = (workers.start("a").await, workers.start("b").await);
    let c = workers.start("c").await;
    let client = Client::modern();
    let at_a = client.begin(&a, json!({"time": 60_000})).await;
    let at_c = client.begin(&c, json!({"time": 60_000})).await;
    let own = client.begin(&b, json!({"time": 60_000})).await;
    workers.cluster.network.hang("a");
    let hanging = {
        let (client, b) = (client.clone(), b.clone());
        tokio::spawn(async move { client.cancel(&b, &at_a).await.0 })
    };
    sleep(1).await;
    let began = Instant::now();
    assert_eq!(client.cancel(&b, &at_c).await.0, 200);
    assert_eq!(client.cancel(&b, &own).await.0, 200);
    assert!(began.elapsed() < Duration::from_millis(100), "{:?}", began.elapsed());
    assert_eq!(hanging.await.unwrap(), 503);
}

/// The input of a task that its node did not get is not acknowledged, and asked for again.
#[tokio::test(start_paused = true)]
async fn input_that_does_not_arrive() {
    let workers = Workers::new();
    let (a, b) = (workers.start("a").await, workers.start("b").await);
    let (one, other) = (Client::open(&a, Some(1)).await, Client::open(&b, Some(1)).await);
    let task = one.begin(&a, json!({"asks": true})).await;
    sleep(1).await;
    let mut waiting = other.send(&b, "tasks/result", json!({"taskId": task})).await;
    let (last_event, question) = kit::event(&mut waiting).await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let content = json!({"name": "Ada", "method": "by hand"});
    let answer = |question: &Value| {
        other.legacy(&json!({"jsonrpc": "2.0", "id": question["id"],
            "result": {"action": "accept", "content": content}}))
    };
    workers.cluster.network.remove("a");
    assert_eq!(b.handle(answer(&question)).await.status(), 503);
    workers.cluster.network.connect("a", a.clone());
    // The stream has ended, so that it does not show what did not happen. The client resumes it.
    let mut waiting = other.listen(&b, &last_event).await;
    let question = kit::event(&mut waiting).await.1;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    assert_eq!(b.handle(answer(&question)).await.status(), 202);
    let mut message = kit::event(&mut waiting).await.1;
    while message["id"] != 7 {
        message = kit::event(&mut waiting).await.1;
    }
    assert!(kit::text(&message).contains("Ada"), "{message}");
}

/// A change that does not arrive is not shown: the stream ends, and the client opens it again.
#[tokio::test(start_paused = true)]
async fn a_subscription_does_not_show_a_failed_cancellation() {
    let workers = Workers::new();
    let (a, b) = (workers.start("a").await, workers.start("b").await);
    let client = Client::modern();
    let task = client.begin(&a, json!({"time": 5_000})).await;
    let params = json!({"notifications": {"taskIds": [task]}});
    let mut stream = client.send(&b, "subscriptions/listen", params.clone()).await;
    let mut statuses = Vec::new();
    workers.cluster.network.remove("a");
    assert_eq!(client.cancel(&b, &task).await.0, 503);
    workers.cluster.network.connect("a", a.clone());
    assert_eq!(client.get(&b, &task).await["status"], "working");
    while statuses.last().is_none_or(|status| status != "completed") {
        match kit::try_message(&mut stream).await {
            Some(message) => {
                statuses.push(message["params"]["status"].as_str().unwrap_or("").to_owned());
            }
            None => stream = client.send(&b, "subscriptions/listen", params.clone()).await,
        }
    }
    assert!(!statuses.iter().any(|status| status == "cancelled"), "{statuses:?}");
}

/// A client cannot claim that it is a node with a copy of a task.
#[tokio::test(start_paused = true)]
async fn clients_have_no_copies() {
    let workers = Workers::new();
    let (a, b) = (workers.start("a").await, workers.start("b").await);
    let task = Client { user: Some(1), session: None }.begin(&a, json!({"time": 60_000})).await;
    let tasks = a.endpoint().tasks().unwrap();
    let record = tasks.inspect(|tasks, _| tasks.save(tasks.find(&task).unwrap()));
    let mut copy = serde_json::to_value(record).unwrap();
    copy["status"] = "cancelled".into();
    let attacker = Client::open(&a, Some(2)).await;
    for node in [&a, &b] {
        let mut request = attacker.legacy(&copy);
        request.headers_mut().insert("mcp-node-task", "1".parse().unwrap());
        assert_eq!(node.handle(request).await.status(), 400);
    }
    assert_eq!(workers.journal(), ["begun work"]);
    assert_eq!(Client { user: Some(1), session: None }.get(&b, &task).await["status"], "working");
}

/// A task that has expired is unknown at every node, also if its node has not noticed that.
#[tokio::test(start_paused = true)]
async fn an_expired_task_is_unknown() {
    let mut workers = Workers::new();
    workers.config.ttl = Some(Duration::from_secs(30));
    let (a, b) = (workers.start("a").await, workers.start("b").await);
    let client = Client::modern();
    let task = client.begin(&a, json!({})).await;
    assert_eq!(client.get(&b, &task).await["status"], "completed");
    sleep(30_001).await;
    for node in [&b, &a] {
        assert_eq!(client.get(node, &task).await["error"]["code"], -32602);
    }
}

/// Copies that nothing waits for make room for other copies.
#[tokio::test(start_paused = true)]
async fn copies_make_room() {
    let mut workers = Workers::new();
    let a = workers.start("a").await;
    workers.config.tasks = 2;
    let b = workers.start("b").await;
    let client = Client::modern();
    for _ in 0..5 {
        let task = client.begin(&a, json!({"time": 60_000})).await;
        assert_eq!(client.get(&b, &task).await["status"], "working");
        sleep(1_001).await;
    }
}
