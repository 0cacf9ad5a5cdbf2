//! Something that takes its time, for code that awaits and for code that blocks.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::block::block_on;

/// Something that takes its time: `await` it, or [`wait`](Self::wait) for it.
#[must_use = "it does nothing unless it is awaited"]
pub struct Waiting<'w, T> {
    future: Pin<Box<dyn Future<Output = T> + Send + 'w>>,
}

impl<'w, T> Waiting<'w, T> {
    /// Something that takes as long as this future.
    pub fn new(future: impl Future<Output = T> + Send + 'w) -> Self {
        Self { future: Box::pin(future) }
    }

    /// Waits on this thread. What is of an asynchronous runtime has to be driven by others meanwhile.
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
