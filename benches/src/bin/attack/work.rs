//! Measures the work for one message.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::Failure;
use crate::victim::Victim;

/// The least processor time that the messages of a round take, and the longest duration of a round.
const ENOUGH: Duration = Duration::from_millis(40);
const LONGEST: Duration = Duration::from_millis(600);

/// The number of rounds, of which the cheapest counts: other load on the computer makes rounds more expensive, and
/// never cheaper.
const ROUNDS: usize = 3;

/// A multiple of the original work that is measured again, and the number of tries: other load on the computer may
/// cause it once. The effect of the attack stays.
const LARGE: f64 = 3.0;
const TRIES: usize = 8;

/// The time that a server may stay busy after an attack before that counts as a failure.
const QUIET: Duration = Duration::from_secs(10);

/// The interval at which to check that.
const STEP: Duration = Duration::from_millis(100);

/// The share of a processor that is too small to subtract: a good client, or a single tick.
const NOTHING: f64 = 0.1;

/// The duration of a measurement of periodic work: processor times are exact to 10 ms.
const LONG_STEP: Duration = Duration::from_millis(700);

/// Returns how many times as much processor time a message takes in `now` as in `before`; each measures one round.
/// `None` if the system does not report processor times, or if those of `before` are too short to measure.
///
/// The cost of a message depends on other load on the computer, by a factor of up to five: caches are shared, and
/// waking threads costs more when processors have to be woken, too. So both are measured in turns.
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
        // On a busy computer, a round may end before the first tick of the processor time.
        if 0.0 < before {
            least_before = least_before.min(before);
        }
        least_now = least_now.min(now);
    }
    Ok(least_before.is_finite().then_some(least_now / least_before))
}

/// Measures the processor time in seconds of one of the messages that `some` sends; `some` returns their number.
/// Periodic work of the victim, and work for other clients, does not count. `None` if the system does not report
/// processor times.
///
/// # Errors
///
/// If the messages get no response.
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

/// Waits until a victim is idle except for periodic work. Returns the processor time per second of that work.
///
/// # Errors
///
/// If the victim does not become idle.
pub(crate) async fn idle(victim: &Victim) -> Result<Option<f64>, Failure> {
    let (began, mut before) = (Instant::now(), 1.0);
    while began.elapsed() < QUIET {
        let Some(share) = share(victim, STEP).await else { return Ok(None) };
        // Twice in a row, because a victim without a processor looks idle, too.
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

/// Returns the share of a processor that a victim takes during `time`.
async fn share(victim: &Victim, time: Duration) -> Option<f64> {
    let (began, before) = (Instant::now(), victim.processor_time()?);
    sleep(time).await;
    let spent = victim.processor_time()?.saturating_sub(before);
    Some(spent.as_secs_f64() / began.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The multiple for rounds with these times, of which the last repeats.
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

    #[test]
    fn a_time_too_short_to_measure_does_not_count() {
        assert_eq!(times_of(&[0.0, 2.0], &[4.0]), Some(2.0));
        assert_eq!(times_of(&[0.0], &[4.0]), None);
    }
}
