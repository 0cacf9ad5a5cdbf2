//! [`Resumption`], from where and when an event stream that has broken off goes on.

use alloc::string::String;
use core::time::Duration;

use super::config::HttpClientConfig;

/// How long the id of an event may be for it to be sent back.
const LONGEST_ID: usize = 1024;

/// How many streams in a row may bring nothing before a shorter delay of the server no longer counts.
const PATIENCE: u32 = 8;

/// The state of an event stream across its responses. The id of an event is kept only if a header field can hold it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Resumption {
    /// The id of the last event, by which the server can go on where the stream broke off.
    last_event: Option<String>,
    /// The delay that the server has asked for.
    retry: Option<Duration>,
    /// How often in a row the stream was asked for without a response.
    attempts: u32,
    /// How many streams in a row have brought no message.
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

    /// Notes the id of an event; an empty one takes the last one back.
    pub(super) fn note_id(&mut self, id: &str) {
        let is_sayable =
            id.len() <= LONGEST_ID && id.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if is_sayable {
            self.last_event = (!id.is_empty()).then(|| String::from(id));
        }
    }

    /// Notes the `retry` field of an event.
    pub(super) fn note_retry(&mut self, retry: Option<Duration>) {
        self.retry = retry.or(self.retry);
    }

    /// Notes that a response is an event stream.
    pub(super) const fn note_stream(&mut self) {
        self.attempts = 0;
    }

    /// Notes that the stream has brought a message.
    pub(super) const fn note_message(&mut self) {
        self.empty_streams = 0;
    }

    /// Whether the stream can be asked for again.
    pub(super) const fn has_attempts(&self, config: &HttpClientConfig) -> bool {
        self.attempts < config.attempts
    }

    /// Counts another attempt, and returns the delay before it; `None` if there were too many.
    pub(super) fn next_delay(&mut self, config: &HttpClientConfig) -> Option<Duration> {
        if !self.has_attempts(config) {
            return None;
        }
        let usual = delay(config.first_delay, config.most_delay, self.attempts);
        // A server that asks for no delay, and has nothing to say each time, is not asked in a busy loop.
        let is_empty = PATIENCE < self.empty_streams;
        let least = if is_empty { config.first_delay } else { Duration::ZERO };
        self.empty_streams += 1;
        self.attempts += 1;
        Some(self.retry.map_or(usual, |retry| retry.max(least)))
    }
}

/// Half as long again each time.
fn delay(first: Duration, most: Duration, attempts: u32) -> Duration {
    (0..attempts).fold(first, |delay, _| (delay + delay / 2).min(most)).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_in_vain_take_longer_and_end() {
        let config = HttpClientConfig::new("https://a.example");
        let mut resumption = Resumption::new();
        let mut delays = alloc::vec::Vec::new();
        while let Some(delay) = resumption.next_delay(&config) {
            delays.push(delay.as_millis());
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
            assert_eq!(resumption.next_delay(&config), Some(Duration::ZERO));
            resumption.note_stream();
        }
        assert_eq!(resumption.next_delay(&config), Some(config.first_delay));
        resumption.note_stream();
        resumption.note_message();
        assert_eq!(resumption.next_delay(&config), Some(Duration::ZERO));
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
