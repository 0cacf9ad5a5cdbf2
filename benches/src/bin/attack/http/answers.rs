//! Clients that send requests, and do not read the responses.

use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use crate::Failure;
use crate::http::Target;
use crate::http::client::{Client, connect, connect_narrow, of_modern_call, raw_call};
use crate::http::crowd::{Siege, Tally, crowd};
use crate::messages;

/// The time that a server may accept no bytes before a connection counts as full.
const FULL: Duration = Duration::from_millis(300);

/// Calls `echo` with a large text, and reads only the head of the response.
pub(super) async fn unread(target: Target) -> Result<Siege, Failure> {
    let arguments = json!({"text": messages::text(3 << 20)});
    let body = bytes::Bytes::from(messages::modern_call("unread", "echo", &arguments));
    let attacker = |_, tally: Tally| {
        let (target, body) = (target.clone(), body.clone());
        async move {
            let mut client = Client::connect_narrow(&target).await?;
            let response = client.send(&of_modern_call("echo"), body).await?;
            tally.add(response.status().is_success());
            Ok((client, response))
        }
    };
    Ok(crowd(120, target.until, attacker).await)
}

/// Sends thousands of requests on each connection at once.
pub(super) async fn pipelining(target: Target) -> Result<Siege, Failure> {
    let request = raw_call(&target, "pipelined");
    let requests = bytes::Bytes::from(request.repeat(1_000));
    let attacker = |_, tally: Tally| {
        let (target, requests) = (target.clone(), requests.clone());
        async move {
            let mut stream = connect_narrow(&target).await?;
            let mut rest = &requests[..];
            // Until all of it is accepted, or the server stops accepting.
            while !rest.is_empty() {
                let Ok(written) = timeout(FULL, stream.write(rest)).await else { break };
                rest = rest.get(written?..).unwrap_or_default();
            }
            tally.add(true);
            Ok(stream)
        }
    };
    Ok(crowd(20, target.until, attacker).await)
}

/// Closes each connection for writing after a request, and reads nothing.
pub(super) async fn half_closed(target: Target) -> Result<Siege, Failure> {
    let request = bytes::Bytes::from(raw_call(&target, "half"));
    let attacker = |number: usize, tally: Tally| {
        let (target, request) = (target.clone(), request.clone());
        async move {
            let mut stream = connect(&target).await?;
            // Every other connection ends within its body.
            let length = if number.is_multiple_of(2) { request.len() } else { request.len() - 10 };
            stream.write_all(request.get(..length).unwrap_or_default()).await?;
            stream.shutdown().await?;
            tally.add(true);
            Ok(stream)
        }
    };
    Ok(crowd(500, target.until, attacker).await)
}
