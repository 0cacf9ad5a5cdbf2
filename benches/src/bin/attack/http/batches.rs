//! Many requests in flight in one session.

use serde_json::json;

use crate::Failure;
use crate::collisions;
use crate::http::Target;
use crate::http::calls::waiting;
use crate::http::client::{Client, of_session};
use crate::http::crowd::{Probe, Siege, Tally, crowd};
use crate::messages;

/// Sends batches whose responses wait for one slow call each.
pub(super) async fn open_batches(target: Target) -> Result<Siege, Failure> {
    const SESSIONS: usize = 20;
    const BATCHES: usize = 15;
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        sessions.push(session(&target).await?);
    }
    let attacker = |number: usize, tally: Tally| {
        let (target, sessions) = (target.clone(), sessions.clone());
        async move {
            let session = sessions.get(number % SESSIONS).cloned().unwrap_or_default();
            let client = Client::connect(&target).await?;
            let body = messages::open_batch(number, 255);
            waiting(client, &of_session(&session), body.into(), &tally).await
        }
    };
    let mut siege = crowd(SESSIONS * BATCHES, target.until, attacker).await;
    siege.probe = sessions.pop().map(Probe::new);
    Ok(siege)
}

/// Makes calls whose ids collide, and sends pings with such ids.
pub(super) async fn colliding_ids(target: Target) -> Result<Siege, Failure> {
    const IN_FLIGHT: usize = 300;
    let mut ids = collisions::colliding_ids(2 * IN_FLIGHT);
    let probes = ids.split_off(ids.len() / 2);
    let session = session(&target).await?;
    let attacker = |number: usize, tally: Tally| {
        let (target, session) = (target.clone(), session.clone());
        let id = ids.get(number).cloned().unwrap_or_default();
        async move {
            let client = Client::connect(&target).await?;
            let body = messages::call(&id, "slow", &json!({"ms": 600_000}));
            waiting(client, &of_session(&session), body.into(), &tally).await
        }
    };
    let mut siege = crowd(ids.len(), target.until, attacker).await;
    siege.probe = Some(Probe { session, ids: probes });
    Ok(siege)
}

/// Opens a session of a revision with batches.
async fn session(target: &Target) -> Result<String, Failure> {
    Client::connect(target).await?.open_session("2025-03-26").await
}
