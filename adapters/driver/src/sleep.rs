//! [`Sleep`]: a timer that is independent of the runtime.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// A timer of a runtime.
pub trait Sleep: Send + Sync + 'static {
    /// Returns a future that is ready after `time`.
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;

    /// Whether the future blocks the thread that polls it.
    fn blocks(&self) -> bool {
        false
    }
}
