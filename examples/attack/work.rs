//! How the work for one message is measured.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::Failure;
use crate::victim::Victim;

/// How much processor time the messages of a round take at least, and how long a round takes at most.
const ENOUGH: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_millis(600);

/// Of so many rounds the cheapest counts: what else the machine does makes others dearer, and none cheaper.
const ROUNDS: usize = 3;

/// How long a server may be busy with what it was sent, before it counts as busy for ever.
const QUIET: Duration = Duration::from_secs(10);

/// How often to look whether it is.
const STEP: Duration = Duration::from_millis(100);

/// The processor time in seconds for one of the messages that are sent by `some`, which gives how many it were.
///
/// What the victim does by the clock, or for others, does not count. `None` where nobody can tell.
///
/// # Errors
///
/// That the messages are not answered, or that the victim does not come to rest.
pub(crate) async fn per_message(
    victim: &Victim,
    mut some: impl AsyncFnMut() -> Result<u32, Failure>,
) -> Result<Option<f64>, Failure> {
    let Some(idle) = idle(victim).await? else { return Ok(None) };
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        let (began, before) = (Instant::now(), victim.processor_time());
        let mut messages = 0;
        loop {
            messages += some().await?;
            let Some((before, now)) = before.zip(victim.processor_time()) else { return Ok(None) };
            let spent = now.saturating_sub(before);
            if ENOUGH < spent || LONGEST < began.elapsed() {
                let own = spent.as_secs_f64() - idle * began.elapsed().as_secs_f64();
                least = least.min(own.max(0.0) / f64::from(messages));
                break;
            }
        }
    }
    Ok(Some(least))
}

/// Waits until a victim is idle, but for what it does by the clock: gives how much processor time that takes per second.
async fn idle(victim: &Victim) -> Result<Option<f64>, Failure> {
    let (began, mut was_quiet) = (Instant::now(), false);
    while began.elapsed() < QUIET {
        let (step, before) = (Instant::now(), victim.processor_time());
        sleep(STEP).await;
        let Some((before, after)) = before.zip(victim.processor_time()) else { return Ok(None) };
        let share = after.saturating_sub(before).as_secs_f64() / step.elapsed().as_secs_f64();
        // Twice in a row: a victim that does not get a processor looks idle, too.
        if share < 0.25 && was_quiet {
            return Ok(Some(share));
        }
        was_quiet = share < 0.25;
    }
    Err(format!("the process is still busy {} s after the attack", QUIET.as_secs()).into())
}
