//! [`Waiting`]: a boxed future for both asynchronous and blocking code.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::block::block_on;

/// A boxed future: `await` it, or block with [`wait`](Self::wait).
#[must_use = "a future does nothing unless it is awaited"]
pub struct Waiting<'w, T> {
    future: Pin<Box<dyn Future<Output = T> + Send + 'w>>,
}

impl<'w, T> Waiting<'w, T> {
    /// Boxes a future.
    pub fn new(future: impl Future<Output = T> + Send + 'w) -> Self {
        Self { future: Box::pin(future) }
    }

    /// Blocks the current thread until the future is ready. If the future depends on an asynchronous runtime, other
    /// threads have to drive that runtime in the meantime.
    pub fn wait(self) -> T {
        block_on(self.future)
    }
}

impl<T> Future for Waiting<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        self.future.as_mut().poll(context)
    }
}

impl<T> fmt::Debug for Waiting<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Waiting").finish_non_exhaustive()
    }
}
