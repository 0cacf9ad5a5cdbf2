//! Calls that make the server hold much memory for long.

use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until};

use crate::Failure;
use crate::messages;
use crate::stdio::After;
use crate::stdio::pipe::Pipe;

/// The time that a server may accept no bytes before its input counts as full.
const FULL: Duration = Duration::from_millis(500);

/// Subscribes to many resources with long URIs.
pub(super) async fn listens(pipe: &mut Pipe) -> Result<After, Failure> {
    for number in 0..120 {
        pipe.send(messages::listen(&format!("listen-{number}"), 1000, 3_900)).await?;
        pipe.ping().await?;
    }
    hold(pipe).await
}

/// Calls `echo` with large texts, and reads nothing for a while.
pub(super) async fn unread(pipe: &mut Pipe) -> Result<After, Failure> {
    pipe.initialize("2025-11-25").await?;
    let text = messages::text(3 << 20);
    pipe.pause(true);
    for number in 0..120 {
        let call = messages::call(&format!("unread-{number}"), "echo", &json!({"text": text}));
        pipe.sent += 1;
        if !pipe.write_until(Instant::now() + FULL, Bytes::from(call + "\n")).await? {
            break;
        }
    }
    sleep_until(pipe.until).await;
    pipe.pause(false);
    drain(pipe).await
}

/// Makes calls that take ten minutes, with large arguments.
pub(super) async fn slow_calls(pipe: &mut Pipe) -> Result<After, Failure> {
    pipe.initialize("2025-11-25").await?;
    let ballast = messages::text(15 << 20);
    for number in 0..79 {
        let arguments = json!({"ms": 600_000, "ballast": ballast});
        pipe.send(messages::call(&format!("slow-{number}"), "slow", &arguments)).await?;
        pipe.ping().await?;
    }
    hold(pipe).await
}

/// Makes calls that ask the user a long question, which the user never answers.
pub(super) async fn questions(pipe: &mut Pipe) -> Result<After, Failure> {
    pipe.initialize("2025-11-25").await?;
    let message = messages::text(3 << 20);
    for number in 0..120 {
        let arguments = json!({"message": message});
        let id = format!("question-{number}");
        pipe.send(messages::call(&id, "test_elicitation", &arguments)).await?;
        pipe.ping().await?;
    }
    hold(pipe).await
}

/// Creates tasks with large results that are never requested.
pub(super) async fn tasks(pipe: &mut Pipe) -> Result<After, Failure> {
    pipe.initialize("2025-11-25").await?;
    let label = messages::text(3 << 20);
    for number in 0..300 {
        let arguments = json!({"seconds": 0, "label": label});
        let id = format!("task-{number}");
        pipe.send(messages::call_as_task(&id, "slow_compute", &arguments)).await?;
        pipe.ping().await?;
    }
    hold(pipe).await
}

/// Requests lists of tasks until the output is full. Then it sends large requests about tasks, and cancels each of
/// them.
pub(super) async fn cancelled_updates(pipe: &mut Pipe) -> Result<After, Failure> {
    pipe.initialize("2025-11-25").await?;
    for number in 0..100 {
        let arguments = json!({"seconds": 0, "label": "listed"});
        let id = format!("task-{number}");
        pipe.send(messages::call_as_task(&id, "slow_compute", &arguments)).await?;
        pipe.ping().await?;
    }
    pipe.pause(true);
    let lists = (0..2_000).map(|number| {
        messages::request(&format!("list-{number}").into(), "tasks/list", &json!({}))
    });
    let updates = (0..60).flat_map(|number| {
        let id = format!("update-{number}");
        [messages::task_update(&id, 15 << 20), messages::cancelled(&id)]
    });
    for request in lists.chain(updates) {
        pipe.sent += 1;
        if !pipe.write_until(Instant::now() + FULL, Bytes::from(request + "\n")).await? {
            break;
        }
    }
    sleep_until(pipe.until).await;
    pipe.pause(false);
    drain(pipe).await
}

/// Holds the acquired resources, with regular pings.
async fn hold(pipe: &mut Pipe) -> Result<After, Failure> {
    while pipe.goes_on() {
        sleep_until((Instant::now() + Duration::from_millis(50)).min(pipe.until)).await;
        pipe.ping().await?;
    }
    Ok(After::ALIVE)
}

/// Reads the delayed output until the server responds to a ping, whose wait does not count, or closes its output.
async fn drain(pipe: &mut Pipe) -> Result<After, Failure> {
    loop {
        let lines = pipe.lines();
        // A server whose output is not read may give up.
        if pipe.pings(1, &[]).await.is_err() {
            return Ok(After::Ends);
        }
        sleep(FULL / 2).await;
        // The response to the ping was the only line.
        if pipe.lines() == lines + 1 {
            return Ok(After::ALIVE);
        }
    }
}
