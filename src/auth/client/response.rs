//! `FetchedResponse`: a response of an authorization server.

use core::time::Duration;

/// A response of an authorization server.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct FetchedResponse<'r> {
    /// The status of HTTP.
    pub status: u16,
    /// The value of `Retry-After`, if there is one.
    pub retry_after: Option<&'r str>,
    /// The body.
    pub body: &'r [u8],
}

impl<'r> FetchedResponse<'r> {
    /// With this status and this body.
    pub const fn new(status: u16, body: &'r [u8]) -> Self {
        Self { status, retry_after: None, body }
    }

    /// With the value of `Retry-After`, if there is one.
    #[must_use]
    pub const fn retry_after(mut self, value: Option<&'r str>) -> Self {
        self.retry_after = value;
        self
    }

    pub(super) const fn is_success(&self) -> bool {
        matches!(self.status, 200..=299)
    }

    /// Whether it may be different later.
    pub(super) const fn is_transient(&self) -> bool {
        matches!(self.status, 408 | 425 | 429 | 500..=599)
    }

    /// How long the server asks to be left alone, if it says so in seconds. A date cannot be computed without a calendar.
    pub(super) fn pause(&self) -> Option<Duration> {
        let seconds: u64 = self.retry_after?.trim().parse().ok()?;
        Some(Duration::from_secs(seconds).min(LONGEST_PAUSE))
    }
}

/// Without the body.
impl core::fmt::Debug for FetchedResponse<'_> {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("FetchedResponse")
            .field("status", &self.status)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// A server cannot ask to be left alone for longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);
