//! Those who wait for something.

use std::task::{Context, Waker};

/// Wakers of tasks and threads, each once.
#[derive(Default)]
pub(crate) struct Wakers {
    wakers: Vec<Waker>,
}

impl Wakers {
    pub(crate) const fn new() -> Self {
        Self { wakers: Vec::new() }
    }

    /// Whoever polls with this context is to be woken.
    pub(crate) fn register(&mut self, context: &Context<'_>) {
        if !self.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
            self.wakers.push(context.waker().clone());
        }
    }

    /// Takes out all of them, to be woken where no lock is held.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Waker> {
        self.wakers.drain(..)
    }

    pub(crate) fn wake_all(&mut self) {
        for waker in std::mem::take(&mut self.wakers) {
            waker.wake();
        }
    }
}
