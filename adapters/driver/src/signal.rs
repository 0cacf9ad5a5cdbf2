//! A one-shot signal that tasks and threads can wait for.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::block::{block_on, block_until};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, MutexGuard};
use crate::wakers::{WakerSlot, Wakers};

/// A flag that is raised once, with the wakers of its waiters.
#[derive(Default)]
pub(crate) struct Signal {
    is_raised: AtomicBool,
    waiting: Mutex<Wakers>,
}

/// A value that contains a signal, so that both share one allocation.
pub(crate) trait Signalled: Send + Sync {
    fn signal(&self) -> &Signal;

    /// Stores the reason that the peer gives for a cancellation, before the signal is raised.
    fn note_reason(&self, reason: &str) {
        _ = reason;
    }
}

impl Signal {
    pub(crate) fn is_raised(&self) -> bool {
        self.is_raised.load(Ordering::Acquire)
    }

    /// Blocks until the signal is raised, at most for `patience`. Returns whether the signal is raised.
    pub(crate) fn wait(&self, patience: Duration) -> bool {
        block_until(Instant::now().checked_add(patience), self.notified()).is_some()
    }

    pub(crate) const fn notified(&self) -> Notified<'_> {
        Notified { signal: self, place: WakerSlot::NONE }
    }

    pub(crate) fn raise(&self) {
        let mut waiting = self.waiting();
        self.is_raised.store(true, Ordering::Release);
        let woken = waiting.take();
        drop(waiting);
        woken.for_each(Waker::wake);
    }

    fn waiting(&self) -> MutexGuard<'_, Wakers> {
        // A panic cannot leave the wakers half changed.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A future that is ready once the signal is raised. Use `await`, or [`wait`](Self::wait) to block. Any number of
/// futures can wait for one signal, and dropping one has no effect on the others.
#[must_use = "a future does nothing unless it is awaited"]
pub struct Notified<'s> {
    signal: &'s Signal,
    place: WakerSlot,
}

impl Notified<'_> {
    /// Blocks the current thread until the signal is raised.
    pub fn wait(self) {
        block_on(self);
    }
}

impl Future for Notified<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self { signal, place } = &mut *self;
        let mut waiting = signal.waiting();
        // The signal is raised under the same lock, so no registration can miss it.
        if signal.is_raised() {
            return Poll::Ready(());
        }
        let old = waiting.register(place, context);
        drop(waiting);
        drop(old);
        Poll::Pending
    }
}

impl Drop for Notified<'_> {
    fn drop(&mut self) {
        let left = self.signal.waiting().remove(&self.place);
        drop(left);
    }
}

impl fmt::Debug for Notified<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("Notified");
        debug.field("is_raised", &self.signal.is_raised()).finish_non_exhaustive()
    }
}
