//! Many requests in flight.

use serde_json::json;

use crate::Failure;
use crate::collisions;
use crate::messages;
use crate::stdio::After;
use crate::stdio::pipe::Pipe;

/// Sends batches whose responses wait for one slow call each. Later pings must be as cheap as the first.
pub(super) async fn open_batches(pipe: &mut Pipe) -> Result<After, Failure> {
    pipe.initialize("2025-03-26").await?;
    for number in 0..1000 {
        pipe.send(messages::open_batch(number, 255)).await?;
        if number % 50 == 0 {
            pipe.ping().await?;
        }
    }
    pipe.ping().await?;
    Ok(After::ALIVE)
}

/// Makes calls whose ids collide, and then sends pings with such ids.
pub(super) async fn colliding_ids(pipe: &mut Pipe) -> Result<After, Failure> {
    pipe.initialize("2025-11-25").await?;
    let mut ids = collisions::colliding_ids(1_100);
    let probes = ids.split_off(ids.len().saturating_sub(100));
    for id in &ids {
        pipe.send(messages::call(id, "slow", &json!({"ms": 600_000}))).await?;
    }
    pipe.ping().await?;
    Ok(After::Alive { ids: probes })
}
