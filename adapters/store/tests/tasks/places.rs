//! Requests about a task at another node than the one that works on it.

use serde_json::json;

use crate::kit;
use crate::kit::worker::{Client, Workers, sleep};

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
        let (_, message) = kit::message(&mut stream).await;
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

/// Look-ups of tasks that do not exist, and copies that nobody uses any more, leave nothing.
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
