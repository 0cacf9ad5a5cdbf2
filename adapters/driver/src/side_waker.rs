//! [`SideWaker`]: tells a task which of its futures was woken.

use std::fmt;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Wake, Waker};

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};

/// A waker for the futures that a task polls beside its main one, and whether it was called.
///
/// For adapters. The task of an HTTP connection runs for each request, but its timer and its signal to stop are seldom
/// ready. They get this waker instead of that of the task, and are polled only after it was called. It also wakes the
/// task.
pub struct SideWaker {
    waker: Waker,
    shared: Arc<Shared>,
    /// The waker of the task.
    task: Option<Waker>,
}

struct Shared {
    is_woken: AtomicBool,
    task: Mutex<Option<Waker>>,
}

impl Default for SideWaker {
    fn default() -> Self {
        Self::new()
    }
}

impl SideWaker {
    /// Creates a waker that counts as called, so that the futures are polled for the first time.
    pub fn new() -> Self {
        let is_woken = AtomicBool::new(true);
        let shared = Arc::new(Shared { is_woken, task: Mutex::new(None) });
        Self { waker: Waker::from(Arc::clone(&shared)), shared, task: None }
    }

    /// Returns whether the waker was called since the last look. A later call wakes the task of this context.
    pub fn take_woken(&mut self, context: &Context<'_>) -> bool {
        let waker = context.waker();
        if !self.task.as_ref().is_some_and(|task| task.will_wake(waker)) {
            self.task = Some(waker.clone());
            let old = self.shared.replace(Some(waker.clone()));
            drop(old);
        }
        // Most calls only read.
        self.shared.is_woken.load(Ordering::Relaxed)
            && self.shared.is_woken.swap(false, Ordering::AcqRel)
    }

    /// Returns the context for the futures.
    pub fn context(&self) -> Context<'_> {
        Context::from_waker(&self.waker)
    }
}

impl fmt::Debug for SideWaker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SideWaker").finish_non_exhaustive()
    }
}

impl Shared {
    fn replace(&self, task: Option<Waker>) -> Option<Waker> {
        let mut known = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut known, task)
    }
}

impl Wake for Shared {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // The flag is set before the waker of the task is read. So a task that replaces its waker either is woken or
        // finds the flag.
        self.is_woken.store(true, Ordering::Release);
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).clone();
        task.into_iter().for_each(Waker::wake);
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    #[test]
    fn the_futures_are_polled_once_for_each_wake() {
        let (first, second) = (Arc::new(Woken::default()), Arc::new(Woken::default()));
        let (one, other) = (Waker::from(Arc::clone(&first)), Waker::from(Arc::clone(&second)));
        let mut side_waker = SideWaker::new();
        assert!(side_waker.take_woken(&Context::from_waker(&one)), "the first poll");
        assert!(!side_waker.take_woken(&Context::from_waker(&one)));
        let inner = side_waker.context().waker().clone();
        inner.wake_by_ref();
        assert!(first.0.swap(false, Ordering::SeqCst), "the task is woken");
        assert!(side_waker.take_woken(&Context::from_waker(&one)));
        // The task moves to another executor.
        assert!(!side_waker.take_woken(&Context::from_waker(&other)));
        inner.wake();
        assert!(second.0.load(Ordering::SeqCst) && !first.0.load(Ordering::SeqCst));
        assert!(side_waker.take_woken(&Context::from_waker(&other)));
    }
}
