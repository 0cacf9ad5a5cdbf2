//! [`Resumption`], the position and the delay for resuming an event stream.

use alloc::string::String;
use core::time::Duration;

use super::config::HttpClientConfig;

/// The maximum length of an event id that is sent back.
const LONGEST_ID: usize = 1024;

/// The number of streams in a row without a message after which a shorter delay of the server no longer counts.
const PATIENCE: u32 = 8;

/// The state of an event stream across its responses. An event id is kept only if a header field can carry it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Resumption {
    /// The id of the last event, from which the server can resume the stream.
    last_event: Option<String>,
    /// The delay that the server requested.
    retry: Option<Duration>,
    /// The number of requests in a row without an event stream in response.
    attempts: u32,
    /// The number of streams in a row without a message.
    empty_streams: u32,
}

impl Resumption {
    pub(super) const fn new() -> Self {
        Self { last_event: None, retry: None, attempts: 0, empty_streams: 0 }
    }

    pub(super) fn last_event(&self) -> Option<&str> {
        self.last_event.as_deref()
    }

    pub(super) const fn has_event(&self) -> bool {
        self.last_event.is_some()
    }

    /// Records the id of an event; an empty id clears the last one.
    pub(super) fn note_id(&mut self, id: &str) {
        let is_sayable =
            id.len() <= LONGEST_ID && id.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if is_sayable {
            self.last_event = (!id.is_empty()).then(|| String::from(id));
        }
    }

    /// Records the `retry` field of an event.
    pub(super) fn note_retry(&mut self, retry: Option<Duration>) {
        self.retry = retry.or(self.retry);
    }

    /// Records that a response is an event stream.
    pub(super) const fn note_stream(&mut self) {
        self.attempts = 0;
    }

    /// Records that the stream has delivered a message.
    pub(super) const fn note_message(&mut self) {
        self.empty_streams = 0;
    }

    /// Whether the stream may be requested again.
    pub(super) const fn has_attempts(&self, config: &HttpClientConfig) -> bool {
        self.attempts < config.attempts
    }

    /// Counts another attempt, and returns the delay before it.
    pub(super) fn next_delay(&mut self, config: &HttpClientConfig) -> Duration {
        let usual = delay(config.first_delay, config.most_delay, self.attempts);
        // The delay of the server is for its next stream. A shorter one does not hasten further attempts after a
        // failed one, and causes no busy loop with a server that sends no message.
        let least = match self.attempts {
            0 if PATIENCE < self.empty_streams => config.first_delay,
            0 => Duration::ZERO,
            _ => usual,
        };
        self.empty_streams = self.empty_streams.saturating_add(1);
        self.attempts = self.attempts.saturating_add(1);
        self.retry.map_or(usual, |retry| retry.max(least))
    }
}

/// Returns the delay, which grows by half with each attempt.
fn delay(first: Duration, most: Duration, attempts: u32) -> Duration {
    // Beyond that number every delay is the longest one.
    (0..attempts.min(64)).fold(first, |delay, _| (delay + delay / 2).min(most)).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reconnection_delays_grow_until_attempts_run_out() {
        let config = HttpClientConfig::new("https://a.example");
        let mut resumption = Resumption::new();
        let mut delays = alloc::vec::Vec::new();
        while resumption.has_attempts(&config) {
            delays.push(resumption.next_delay(&config).as_millis());
        }
        assert_eq!(delays, [1000, 1500, 2250, 3375, 5062]);
        resumption.note_stream();
        assert!(resumption.has_attempts(&config));
    }

    #[test]
    fn a_server_that_says_nothing_gets_no_busy_loop() {
        let config = HttpClientConfig::new("https://a.example");
        let mut resumption = Resumption::new();
        resumption.note_retry(Some(Duration::ZERO));
        for _ in 0..9 {
            assert_eq!(resumption.next_delay(&config), Duration::ZERO);
            resumption.note_stream();
        }
        assert_eq!(resumption.next_delay(&config), config.first_delay);
        resumption.note_stream();
        resumption.note_message();
        assert_eq!(resumption.next_delay(&config), Duration::ZERO);
    }

    #[test]
    fn delays_stay_at_the_longest_one() {
        let config = HttpClientConfig::new("https://a.example");
        let mut resumption = Resumption::new();
        resumption.attempts = u32::MAX;
        resumption.note_retry(Some(Duration::ZERO));
        assert_eq!(resumption.next_delay(&config), config.most_delay);
        assert_eq!(resumption.next_delay(&config), config.most_delay);
    }

    #[test]
    fn an_id_that_no_field_can_hold_changes_nothing() {
        let mut resumption = Resumption::new();
        resumption.note_id("7");
        resumption.note_id("a\u{e4}");
        resumption.note_id(&"x".repeat(LONGEST_ID + 1));
        assert_eq!(resumption.last_event(), Some("7"));
        resumption.note_id("");
        assert!(!resumption.has_event());
    }
}
