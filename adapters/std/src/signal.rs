//! Says to a handler that its answer is not wanted any more.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Raised once, by somebody else.
#[derive(Default)]
pub(crate) struct Signal {
    raised: AtomicBool,
    lock: Mutex<()>,
    change: Condvar,
}

impl Signal {
    pub(crate) fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Acquire)
    }

    /// Waits until it is raised, at most so long. Says whether it is.
    pub(crate) fn wait(&self, patience: Duration) -> bool {
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.change.wait_timeout_while(guard, patience, |()| !self.is_raised());
        drop(waited);
        self.is_raised()
    }

    pub(crate) fn raise(&self) {
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.raised.store(true, Ordering::Release);
        drop(guard);
        self.change.notify_all();
    }
}
