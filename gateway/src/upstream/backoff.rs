//! [`Backoff`]: the pauses between attempts to reach a server.

use std::time::Duration;

/// The pause after the first failure.
const FIRST: Duration = Duration::from_millis(500);

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

    /// Begins again with the shortest pause, after a success.
    pub(super) const fn reset(&mut self) {
        self.next = FIRST;
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

    #[test]
    fn pauses_double_up_to_a_limit() {
        let mut backoff = Backoff::new();
        for expected in [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000] {
            let expected = Duration::from_millis(expected);
            let pause = backoff.next();
            assert!(expected <= pause && pause <= expected * 5 / 4, "{pause:?}");
        }
        backoff.reset();
        assert!(backoff.next() < FIRST * 2);
    }
}
