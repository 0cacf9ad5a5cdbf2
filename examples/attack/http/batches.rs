//! Many requests in flight in one session.

use serde_json::json;

use crate::Failure;
use crate::collisions;
use crate::http::Target;
use crate::http::calls::waiting;
use crate::http::client::{Client, of_session};
use crate::http::crowd::{Count, Probe, Siege, crowd};
use crate::messages;

/// Batches whose answers wait for one slow call each.
pub(super) async fn open_batches(target: Target) -> Result<Siege, Failure> {
    let probe = session(&target).await?;
    let batches: usize = 15;
    let attacker = |number: usize| {
        let (target, probe) = (target.clone(), probe.clone());
        async move {
            // The first attacker uses the session that the pings come in afterwards.
            let own = if number == 0 { probe } else { session(&target).await? };
            let (mut count, mut kept) = (Count::default(), Vec::new());
            for batch in 0..batches {
                let client = Client::connect(&target).await?;
                let body = messages::open_batch(batch, 255);
                let (one, task) = waiting(client, &of_session(&own), body.into()).await?;
                count.add(one == Count::of(true));
                kept.push(task);
            }
            Ok((count, kept))
        }
    };
    let mut siege = crowd(20, target.until, attacker).await;
    siege.probe = Some(Probe::new(probe));
    Ok(siege)
}

/// Calls in flight whose ids collide, and pings with such ids.
pub(super) async fn colliding_ids(target: Target) -> Result<Siege, Failure> {
    const IN_FLIGHT: usize = 300;
    let mut ids = collisions::colliding_ids(2 * IN_FLIGHT);
    let probes = ids.split_off(ids.len() / 2);
    let session = session(&target).await?;
    let attacker = |number: usize| {
        let (target, session) = (target.clone(), session.clone());
        let id = ids.get(number).cloned().unwrap_or_default();
        async move {
            let client = Client::connect(&target).await?;
            let body = messages::call(&id, "slow", &json!({"ms": 600_000}));
            waiting(client, &of_session(&session), body.into()).await
        }
    };
    let mut siege = crowd(ids.len(), target.until, attacker).await;
    siege.probe = Some(Probe { session, ids: probes });
    Ok(siege)
}

/// A session of a revision that has batches.
async fn session(target: &Target) -> Result<String, Failure> {
    let mut client = Client::connect(target).await?;
    let session = client.open_session("2025-03-26").await?;
    session.ok_or_else(|| "the server has refused a session".into())
}
