//! [`Backoff`]: the pauses between attempts to reach a server.

use std::time::Duration;

use tokio::time::Instant;

/// The pause after the first failure.
const FIRST: Duration = Duration::from_millis(500);

/// How long a success has to last. A server that accepts something and ends it at once has not served it.
const STABLE: Duration = Duration::from_secs(10);

/// The longest pause, before the random part.
const LONGEST: Duration = Duration::from_secs(30);

/// Pauses that double, with a random part of a quarter, so that many gateways do not come back at the same moment.
pub(super) struct Backoff {
    next: Duration,
}

impl Backoff {
    pub(super) const fn new() -> Self {
        Self { next: FIRST }
    }

    /// Begins again with the shortest pause, if a success has lasted for some time. Returns whether it has.
    pub(super) fn reset_after(&mut self, since: Instant) -> bool {
        let is_stable = STABLE <= since.elapsed();
        if is_stable {
            self.next = FIRST;
        }
        is_stable
    }

    pub(super) fn next(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(LONGEST);
        // Without random numbers, the pause is only less random.
        let [random] = mcp_sansio_tokio::random_bytes::<1>().unwrap_or_default();
        pause + pause / 4 * u32::from(random) / 256
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_double_up_to_a_limit() {
        let mut backoff = Backoff::new();
        for expected in [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000] {
            let expected = Duration::from_millis(expected);
            let pause = backoff.next();
            assert!(expected <= pause && pause <= expected * 5 / 4, "{pause:?}");
        }
        let since = Instant::now();
        assert!(!backoff.reset_after(since));
        assert!(30_000 <= backoff.next().as_millis());
        tokio::time::sleep(STABLE).await;
        assert!(backoff.reset_after(since));
        assert!(backoff.next() < FIRST * 2);
    }
}
