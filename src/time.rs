//! Time as a value: the core has no clock, the caller passes in the current time.

use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::{Add, Sub};
use core::time::Duration;

/// A point in time, in nanoseconds since an epoch that the caller chooses.
///
/// The machine only compares instants and adds durations to them, so any epoch works as long as each machine uses one
/// monotonic clock. Three modules need the Unix epoch: [`task`](crate::task) sends times,
/// [`request_state`](crate::request_state) seals them, and `auth` compares them with those of tokens. The adapters
/// count from it. Arithmetic saturates: the latest instant, 584 years after the epoch, means "never".
///
/// ```
/// use core::time::Duration;
/// use mcp_sansio::Instant;
///
/// let start = Instant::from_millis(1_000);
/// let deadline = start + Duration::from_secs(5);
/// assert_eq!(deadline - start, Duration::from_secs(5));
/// assert_eq!(start - deadline, Duration::ZERO);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant {
    nanoseconds: u64,
}

impl Instant {
    /// The epoch itself. As a deadline it has always passed already.
    pub const EPOCH: Self = Self { nanoseconds: 0 };

    /// The latest instant. A deadline that saturates here never passes.
    pub(crate) const NEVER: Self = Self { nanoseconds: u64::MAX };

    /// Returns the instant this many nanoseconds after the epoch.
    pub const fn from_nanos(nanoseconds: u64) -> Self {
        Self { nanoseconds }
    }

    /// Returns the instant this many milliseconds after the epoch.
    pub const fn from_millis(milliseconds: u64) -> Self {
        Self { nanoseconds: milliseconds.saturating_mul(1_000_000) }
    }

    /// Returns the earlier of two times that may be absent.
    #[inline]
    pub(crate) fn earlier(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, None) => one,
            (None, other) => other,
        }
    }

    /// Returns the nanoseconds since the epoch.
    pub(crate) const fn as_nanos(self) -> u64 {
        self.nanoseconds
    }

    /// Returns the duration since the epoch.
    pub const fn since_epoch(self) -> Duration {
        Duration::from_nanos(self.nanoseconds)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Self { nanoseconds: self.nanoseconds.saturating_add(nanoseconds) }
    }
}

impl Sub for Instant {
    type Output = Duration;

    /// Returns the time from `earlier` to `self`, zero if `earlier` is the later one.
    fn sub(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.nanoseconds.saturating_sub(earlier.nanoseconds))
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    /// Returns the instant `duration` earlier, at the earliest the epoch.
    fn sub(self, duration: Duration) -> Self {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Self { nanoseconds: self.nanoseconds.saturating_sub(nanoseconds) }
    }
}

/// Converts to a timeline that counts from the Unix epoch; an earlier time becomes the epoch.
#[cfg(feature = "std")]
impl From<std::time::SystemTime> for Instant {
    fn from(time: std::time::SystemTime) -> Self {
        Self::EPOCH + time.duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
    }
}

impl Instant {
    /// The tag that is hashed in front of the nanoseconds.
    pub(crate) const HASH_TAG: u64 = u64::from_be_bytes(*b"mcp time");
}

/// Hashes a time in 128 bits and with a tag, so that a hasher can recognize it and hash it relative to another time.
impl Hash for Instant {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(u128::from(Self::HASH_TAG) << 64 | u128::from(self.nanoseconds));
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", self.since_epoch())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        let never = Instant::EPOCH + Duration::MAX;
        assert_eq!(never + Duration::from_secs(1), never);
        assert_eq!(Instant::EPOCH - never, Duration::ZERO);
        assert_eq!(Instant::EPOCH - Duration::MAX, Instant::EPOCH);
        assert_eq!(never - Duration::MAX, Instant::EPOCH);
        assert_eq!(Instant::from_millis(u64::MAX), never);
    }

    #[cfg(feature = "std")]
    #[test]
    fn system_time_counts_from_the_unix_epoch() {
        let second = Duration::from_secs(1);
        let unix = std::time::UNIX_EPOCH;
        assert_eq!(Instant::from(unix + second), Instant::EPOCH + second);
        assert_eq!(Instant::from(unix - second), Instant::EPOCH);
    }
}
