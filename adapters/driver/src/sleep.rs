//! Waiting for a time to pass, on whatever runtime this is.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// Waits, as one runtime or another does.
pub trait Sleep: Send + Sync + 'static {
    /// Waits for so long.
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;

    /// Whether it blocks the thread that polls it.
    fn blocks(&self) -> bool {
        false
    }
}
