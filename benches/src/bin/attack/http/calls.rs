//! Calls that make the server hold much memory for long.

use std::time::Duration;

use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::Failure;
use crate::held::AbortOnDrop;
use crate::http::Target;
use crate::http::client::{Client, of_modern_call, of_modern_request, of_session};
use crate::http::crowd::{Siege, Tally, crowd};
use crate::messages;

/// The largest text that fits into a body with the rest of the message.
const LARGE: usize = 3_900_000;

/// A server that has not refused a request after this time serves it.
const SOON: Duration = Duration::from_millis(400);

/// Subscribes to many resources with long URIs.
pub(super) async fn listens(target: Target) -> Result<Siege, Failure> {
    let body = bytes::Bytes::from(messages::listen("listen", 1000, LARGE / 1000));
    let attacker = |_, tally: Tally| {
        let (target, body) = (target.clone(), body.clone());
        async move {
            let mut client = Client::connect(&target).await?;
            let fields = of_modern_request("subscriptions/listen");
            let response = client.send(&fields, body).await?;
            tally.add(response.status().is_success());
            Ok((client, response))
        }
    };
    Ok(crowd(120, target.until, attacker).await)
}

/// Makes calls that take ten minutes, with large arguments.
pub(super) async fn slow_calls(target: Target) -> Result<Siege, Failure> {
    let arguments = json!({"ms": 600_000, "ballast": messages::text(LARGE)});
    let body = bytes::Bytes::from(messages::modern_call("slow", "slow", &arguments));
    let attacker = |_, tally: Tally| {
        let (target, body) = (target.clone(), body.clone());
        async move {
            let client = Client::connect(&target).await?;
            waiting(client, &of_modern_call("slow"), body, &tally).await
        }
    };
    Ok(crowd(79, target.until, attacker).await)
}

/// Makes calls that ask the user a long question, which the user never answers.
pub(super) async fn questions(target: Target) -> Result<Siege, Failure> {
    let arguments = json!({"message": messages::text(3 << 20)});
    let body = bytes::Bytes::from(messages::call("question", "test_elicitation", &arguments));
    let attacker = |_, tally: Tally| {
        let (target, body) = (target.clone(), body.clone());
        async move {
            let mut client = Client::connect_narrow(&target).await?;
            let session = client.open_session("2025-11-25").await?;
            let response = client.send(&of_session(&session), body).await?;
            tally.add(response.status().is_success());
            Ok((client, response))
        }
    };
    Ok(crowd(120, target.until, attacker).await)
}

/// Creates tasks with large results that are never requested.
pub(super) async fn tasks(target: Target) -> Result<Siege, Failure> {
    const SESSIONS: usize = 30;
    const TASKS: usize = 10;
    let arguments = json!({"seconds": 0, "label": messages::text(3 << 20)});
    let body = bytes::Bytes::from(messages::call_as_task("task", "slow_compute", &arguments));
    let attacker = |_, tally: Tally| {
        let (target, body) = (target.clone(), body.clone());
        async move {
            let mut client = Client::connect(&target).await?;
            let session = client.open_session("2025-11-25").await?;
            for _ in 0..TASKS {
                let answer = client.ask(&of_session(&session), body.clone()).await?;
                tally.add(answer.is_served());
            }
            Ok(client)
        }
    };
    Ok(crowd(SESSIONS, target.until, attacker).await)
}

/// Sends a request that stays open: no response for a while counts as served.
pub(super) async fn waiting(
    mut client: Client,
    fields: &[(&str, &str)],
    body: bytes::Bytes,
    tally: &Tally,
) -> Result<AbortOnDrop, Failure> {
    let owned = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
    let fields: Vec<(String, String)> = fields.iter().map(owned).collect();
    let (status_sender, status) = oneshot::channel();
    let task = AbortOnDrop(tokio::spawn(async move {
        let fields: Vec<_> = fields.iter().map(|(name, value)| (&**name, &**value)).collect();
        let response = client.send(&fields, body).await;
        _ = status_sender
            .send(response.as_ref().is_ok_and(|response| response.status().is_success()));
        std::future::pending::<()>().await;
        drop((client, response));
    }));
    let is_served = timeout(SOON, status).await.map_or(Ok(true), |status| status)?;
    tally.add(is_served);
    Ok(task)
}
