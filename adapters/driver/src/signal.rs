//! Says that something has come about, once.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::block::{block_on, block_until};
use crate::wakers::{Place, Wakers};

/// Notified once, by somebody else.
#[derive(Default)]
pub(crate) struct Signal {
    is_raised: AtomicBool,
    waiting: Mutex<Wakers>,
}

/// Something that has a signal in it, so that the two take one allocation.
pub(crate) trait Signalled: Send + Sync {
    fn signal(&self) -> &Signal;
}

impl Signal {
    pub(crate) fn is_raised(&self) -> bool {
        self.is_raised.load(Ordering::Acquire)
    }

    /// Waits until it is raised, at most so long. Says whether it is.
    pub(crate) fn wait(&self, patience: Duration) -> bool {
        block_until(Instant::now().checked_add(patience), self.notified()).is_some()
    }

    pub(crate) const fn notified(&self) -> Notified<'_> {
        Notified { signal: self, place: Place::NONE }
    }

    pub(crate) fn raise(&self) {
        let mut waiting = self.waiting();
        self.is_raised.store(true, Ordering::Release);
        let woken = waiting.take();
        drop(waiting);
        woken.for_each(Waker::wake);
    }

    fn waiting(&self) -> MutexGuard<'_, Wakers> {
        // Wakers are changed as a whole or not at all.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until the signal is raised: `await` it, or [`wait`](Self::wait) for it. A signal can be awaited any number of
/// times, and dropping this is harmless.
#[must_use = "it waits for nothing unless it is awaited"]
pub struct Notified<'s> {
    signal: &'s Signal,
    place: Place,
}

impl Notified<'_> {
    /// Waits on this thread.
    pub fn wait(self) {
        block_on(self);
    }
}

impl Future for Notified<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self { signal, place } = &mut *self;
        let mut waiting = signal.waiting();
        // It is raised under the lock, so nobody registers in vain.
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
