//! Tasks that expire while streams wait for them.

use std::time::Duration;

use serde_json::json;

use crate::kit;
use crate::kit::worker::{Client, Workers, sleep};

/// A subscription to two tasks goes on when one of them expires, at the node of the tasks and at another one.
#[tokio::test(start_paused = true)]
async fn a_subscription_outlives_one_of_its_tasks() {
    for is_elsewhere in [false, true] {
        let workers = Workers::new();
        let (a, b) = (workers.start("a").await, workers.start("b").await);
        let client = Client { user: Some(1), session: None };
        // Tasks of a session ask for ten minutes, and the others get an hour.
        let short = Client::open(&a, Some(1)).await.begin(&a, json!({"time": 3_000_000})).await;
        let long = client.begin(&a, json!({"time": 900_000})).await;
        let params = json!({"notifications": {"taskIds": [short, long]}});
        let node = if is_elsewhere { &b } else { &a };
        let mut stream = client.send(node, "subscriptions/listen", params).await;
        let mut seen = Vec::new();
        while seen.last().is_none_or(|(_, status)| status != "completed") {
            let params = kit::message(&mut stream).await["params"].take();
            if let Some(task) = params["taskId"].as_str() {
                seen.push((task == short, params["status"].as_str().unwrap().to_owned()));
            }
        }
        // The ids are random, and decide the order of the first two.
        seen.sort_unstable();
        let seen: Vec<_> = seen.iter().map(|(short, status)| (*short, &**status)).collect();
        assert_eq!(seen, [(false, "completed"), (false, "working"), (true, "working")]);
        assert_eq!(client.get(node, &short).await["error"]["code"], -32602);
    }
}

/// A subscription to two tasks goes on when the application removes one of them.
#[tokio::test(start_paused = true)]
async fn a_subscription_outlives_the_removal_of_a_task() {
    for is_elsewhere in [false, true] {
        let workers = Workers::new();
        let (a, b) = (workers.start("a").await, workers.start("b").await);
        let client = Client { user: Some(1), session: None };
        let removed = client.begin(&a, json!({"time": 900_000})).await;
        let kept = client.begin(&a, json!({"time": 60_000})).await;
        let params = json!({"notifications": {"taskIds": [removed, kept]}});
        let node = if is_elsewhere { &b } else { &a };
        let mut stream = client.send(node, "subscriptions/listen", params).await;
        let mut seen = Vec::new();
        while seen.last().is_none_or(|status| status != "completed") {
            let params = kit::message(&mut stream).await["params"].take();
            if let Some(status) = params["status"].as_str() {
                seen.push(status.to_owned());
            }
            if seen.len() == 2 {
                let tasks = a.endpoint().tasks().unwrap();
                let key = tasks.inspect(|tasks, _| tasks.find(&removed)).unwrap();
                tasks.remove(key);
            }
        }
        assert_eq!(seen, ["working", "working", "completed"]);
        assert_eq!(client.get(node, &removed).await["error"]["code"], -32602);
    }
}

/// A client that waits for the result of a task gets an error when the task expires.
#[tokio::test(start_paused = true)]
async fn a_task_expires_while_its_result_is_awaited() {
    let workers = Workers::new();
    let (a, b) = (workers.start("a").await, workers.start("b").await);
    for node in [&a, &b] {
        let client = Client::open(node, Some(1)).await;
        let task = client.begin(&a, json!({"time": 3_000_000})).await;
        let began = tokio::time::Instant::now();
        let (status, message) = client.ask(node, "tasks/result", json!({"taskId": task})).await;
        assert_eq!((status, &message["error"]["code"]), (200, &json!(-32602)), "{message}");
        assert!(Duration::from_secs(599) < began.elapsed(), "{:?}", began.elapsed());
        sleep(1_000).await;
    }
}
