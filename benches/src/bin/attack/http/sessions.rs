//! Very many sessions, and the memory that they keep.

use std::time::Duration;

use http_body_util::BodyExt;
use serde_json::json;
use tokio::time::Instant;

use crate::Failure;
use crate::http::Target;
use crate::http::client::{Client, of_session};
use crate::http::crowd::{Siege, Tally, crowd};
use crate::messages;

/// Makes the server send a long request on event streams that break off before it is read.
pub(super) async fn kept_events(target: Target) -> Result<Siege, Failure> {
    let arguments = json!({"message": messages::text(3 << 20)});
    let body = bytes::Bytes::from(messages::call("kept", "test_elicitation", &arguments));
    let attacker = |_, tally: Tally| {
        let (target, body) = (target.clone(), body.clone());
        async move {
            let mut client = Client::connect(&target).await?;
            let session = client.open_session("2025-11-25").await?;
            for number in 0..8 {
                let mut broken = Client::connect_narrow(&target).await?;
                let body = String::from_utf8_lossy(&body).replacen("kept", &number.to_string(), 1);
                let response = broken.send(&of_session(&session), body).await?;
                tally.add(response.status().is_success());
            }
            Ok(client)
        }
    };
    Ok(crowd(40, target.until, attacker).await)
}

/// Reads a long request of the server in each of many sessions, and leaves them open. The server stores the request in
/// case the client resumes the stream.
pub(super) async fn stored_events(target: Target) -> Result<Siege, Failure> {
    const SESSIONS: u64 = 900;
    let until = target.until.max(Instant::now() + LONGEST);
    let arguments = json!({"message": messages::text(900 << 10)});
    let body = bytes::Bytes::from(messages::call("stored", "test_elicitation", &arguments));
    let attacker = |_, tally: Tally| {
        let (target, body) = (target.clone(), body.clone());
        async move {
            let mut clients = Vec::new();
            while tally.all() < SESSIONS && Instant::now() < until {
                let mut client = Client::connect(&target).await?;
                let session = client.open_session("2025-11-25").await?;
                let mut asked = Client::connect(&target).await?;
                let response = asked.send(&of_session(&session), body.clone()).await?;
                tally.add(response.status().is_success());
                let mut events = response.into_body();
                // The first event only brings an id.
                for _ in 0..2 {
                    events.frame().await.transpose()?;
                }
                let declined = r#"{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}"#;
                client.ask(&of_session(&session), declined).await?;
                events.collect().await?;
                clients.push(client);
            }
            Ok(clients)
        }
    };
    Ok(crowd(20, target.until, attacker).await)
}

/// The time that the many sessions may take, even if the attack is shorter.
const LONGEST: Duration = Duration::from_secs(5);

/// Opens sessions on a few connections, 10,000 in total or as many as the time allows.
pub(super) async fn flood(target: Target) -> Result<Siege, Failure> {
    const CONNECTIONS: usize = 20;
    const SESSIONS: u64 = 10_000;
    let until = target.until.max(Instant::now() + LONGEST);
    let attacker = |_, tally: Tally| {
        let target = target.clone();
        async move {
            let mut client = Client::connect(&target).await?;
            while tally.all() < SESSIONS && Instant::now() < until {
                let answer = client.ask(&[], messages::initialize("2025-11-25")).await?;
                tally.add(answer.is_served());
            }
            Ok(client)
        }
    };
    Ok(crowd(CONNECTIONS, target.until, attacker).await)
}
