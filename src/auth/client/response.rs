//! `FetchedResponse`: a response of an authorization server.

use core::time::Duration;

/// A response of an authorization server.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct FetchedResponse<'r> {
    /// The HTTP status.
    pub status: u16,
    /// The value of `Retry-After`, if the response has this field.
    pub retry_after: Option<&'r str>,
    /// The body.
    pub body: &'r [u8],
}

impl<'r> FetchedResponse<'r> {
    /// Creates a response with this status and this body.
    pub const fn new(status: u16, body: &'r [u8]) -> Self {
        Self { status, retry_after: None, body }
    }

    /// Sets the value of `Retry-After`, if the response has this field.
    #[must_use]
    pub const fn retry_after(mut self, value: Option<&'r str>) -> Self {
        self.retry_after = value;
        self
    }

    pub(super) const fn is_success(&self) -> bool {
        matches!(self.status, 200..=299)
    }

    /// Whether the status is temporary, so a later attempt may succeed.
    pub(super) const fn is_transient(&self) -> bool {
        matches!(self.status, 408 | 425 | 429 | 500..=599)
    }

    /// Returns the delay that the server requests, if `Retry-After` is in seconds. A date is ignored, because it
    /// cannot be computed without a calendar.
    pub(super) fn pause(&self) -> Option<Duration> {
        let seconds: u64 = self.retry_after?.trim().parse().ok()?;
        Some(Duration::from_secs(seconds).min(LONGEST_PAUSE))
    }
}

/// Omits the body.
impl core::fmt::Debug for FetchedResponse<'_> {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("FetchedResponse")
            .field("status", &self.status)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// The upper limit on the delay that a server can request.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);
