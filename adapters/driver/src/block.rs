//! Waiting for a future on a thread that has nothing else to do.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

/// The thread that waits.
struct Parked {
    thread: Thread,
    /// A thread can have its parking token taken by somebody else who parks on it.
    is_woken: AtomicBool,
}

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// This thread, waiting to be woken.
pub(crate) struct Parker {
    parked: Arc<Parked>,
    waker: Waker,
}

impl Parker {
    pub(crate) fn new() -> Self {
        let parked =
            Arc::new(Parked { thread: thread::current(), is_woken: AtomicBool::new(false) });
        let waker = Waker::from(Arc::clone(&parked));
        Self { parked, waker }
    }

    pub(crate) fn context(&self) -> Context<'_> {
        Context::from_waker(&self.waker)
    }

    /// Waits until somebody has woken it, at most until the deadline. Says whether somebody has.
    pub(crate) fn park(&self, deadline: Option<Instant>) -> bool {
        while !self.parked.is_woken.swap(false, Ordering::Acquire) {
            match deadline {
                None => thread::park(),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return false;
                    }
                    thread::park_timeout(left);
                }
            }
        }
        true
    }
}

/// Waits for a future.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let (parker, mut future) = (Parker::new(), pin!(future));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut parker.context()) {
            return output;
        }
        parker.park(None);
    }
}

/// Waits for a future, at most until a deadline. Without one, however long it takes.
pub(crate) fn block_until<F: Future>(deadline: Option<Instant>, future: F) -> Option<F::Output> {
    let (parker, mut future) = (Parker::new(), pin!(future));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut parker.context()) {
            return Some(output);
        }
        if !parker.park(deadline) {
            return None;
        }
    }
}
