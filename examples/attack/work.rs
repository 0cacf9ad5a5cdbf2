//! How the work for one message is measured.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::Failure;
use crate::victim::Victim;

/// How much processor time the messages of a round take at least, and how long a round takes at most.
const ENOUGH: Duration = Duration::from_millis(40);
const LONGEST: Duration = Duration::from_millis(600);

/// Of so many rounds the cheapest counts: what else the machine does makes others dearer, and none cheaper.
const ROUNDS: usize = 3;

/// A multiple of the work before that is measured again, so many times in all: it may be that of something else on the
/// machine. What is due to the attack stays.
const LARGE: f64 = 3.0;
const TRIES: usize = 8;

/// How long a server may be busy with what it was sent, before it counts as busy for ever.
const QUIET: Duration = Duration::from_secs(10);

/// How often to look whether it is.
const STEP: Duration = Duration::from_millis(100);

/// What a good client takes beside, or a single tick: too little to take off.
const NOTHING: f64 = 0.1;

/// How long to look what it does by the clock: times of processes are exact to 10 ms.
const LONG_STEP: Duration = Duration::from_millis(700);

/// How many times as much processor time `now` takes for a message as `before`, of which each measures one round. `None`
/// if the system does not report processor times.
///
/// What a message costs depends on what else the machine does, up to five times as much: caches are shared, and threads
/// that wake one another cost more where processors have to be woken, too. So both are measured in turns.
pub(crate) async fn times(
    mut before: impl AsyncFnMut() -> Result<Option<f64>, Failure>,
    mut now: impl AsyncFnMut() -> Result<Option<f64>, Failure>,
) -> Result<Option<f64>, Failure> {
    let (mut least_before, mut least_now) = (f64::INFINITY, f64::INFINITY);
    for round in 0..TRIES * ROUNDS {
        if round % ROUNDS == 0 && least_now / least_before < LARGE {
            break;
        }
        let Some((before, now)) = before().await?.zip(now().await?) else { return Ok(None) };
        (least_before, least_now) = (least_before.min(before), least_now.min(now));
    }
    Ok(Some(least_now / least_before))
}

/// The processor time in seconds for one of the messages that are sent by `some`, which gives how many they were. What
/// the victim does by the clock, or for others, does not count. `None` if the system does not report processor times.
///
/// # Errors
///
/// That the messages are not answered.
pub(crate) async fn round(
    victim: &Victim,
    idle: f64,
    mut some: impl AsyncFnMut() -> Result<u32, Failure>,
) -> Result<Option<f64>, Failure> {
    let (began, before) = (Instant::now(), victim.processor_time());
    let mut messages = 0;
    loop {
        messages += some().await?;
        let Some((before, now)) = before.zip(victim.processor_time()) else { return Ok(None) };
        let spent = now.saturating_sub(before);
        if ENOUGH < spent || LONGEST < began.elapsed() {
            let own = spent.as_secs_f64() - idle * began.elapsed().as_secs_f64();
            return Ok(Some(own.max(0.0) / f64::from(messages)));
        }
    }
}

/// Waits until a victim is idle, but for what it does by the clock: gives how much processor time that takes per second.
///
/// # Errors
///
/// That it does not come to rest.
pub(crate) async fn idle(victim: &Victim) -> Result<Option<f64>, Failure> {
    let (began, mut before) = (Instant::now(), 1.0);
    while began.elapsed() < QUIET {
        let Some(share) = share(victim, STEP).await else { return Ok(None) };
        // Twice in a row: a victim that does not get a processor looks idle, too.
        if share.max(before) <= NOTHING {
            return Ok(Some(0.0));
        }
        if share.max(before) < 0.25 {
            return Ok(self::share(victim, LONG_STEP).await);
        }
        before = share;
    }
    Err(format!("the process is still busy {} s after the attack", QUIET.as_secs()).into())
}

/// How much of a processor a victim takes during this time.
async fn share(victim: &Victim, time: Duration) -> Option<f64> {
    let (began, before) = (Instant::now(), victim.processor_time()?);
    sleep(time).await;
    let spent = victim.processor_time()?.saturating_sub(before);
    Some(spent.as_secs_f64() / began.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The multiple of rounds that take these times, of which the last goes on.
    fn times_of(before: &[f64], now: &[f64]) -> Option<f64> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let next = |times: &[f64], round: &mut usize| {
            let time = times.get(*round).or_else(|| times.last()).copied();
            *round += 1;
            Ok(time)
        };
        let (mut first, mut second) = (0, 0);
        let measured = times(async || next(before, &mut first), async || next(now, &mut second));
        runtime.block_on(measured).unwrap()
    }

    #[test]
    fn a_lasting_multiple_counts_and_a_passing_one_does_not() {
        assert_eq!(times_of(&[2.0], &[10.0]), Some(5.0));
        let mut slow_for_a_while = [10.0; 13];
        slow_for_a_while[12] = 3.0;
        assert_eq!(times_of(&[2.0], &slow_for_a_while), Some(1.5));
        // A first measurement that was cheap by chance counts.
        assert_eq!(times_of(&[1.0, 2.0], &[2.0]), Some(2.0));
        assert_eq!(times_of(&[], &[1.0]), None);
    }
}
