//! Blocking waits for a future on the current thread.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::thread::{self, Thread};

/// The waker state of a blocked thread.
struct Parked {
    thread: Thread,
    /// Whether the thread has been woken. The parking token alone is not enough: other code on the same thread can
    /// consume it.
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

/// The current thread and a waker that unparks it.
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

    /// Blocks until the waker is called, at most until the deadline. Returns whether the waker was called.
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

/// Blocks the current thread until the future is ready.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let (parker, mut future) = (Parker::new(), pin!(future));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut parker.context()) {
            return output;
        }
        parker.park(None);
    }
}

/// Blocks the current thread until the future is ready, at most until the deadline. Without a deadline it waits
/// without a limit. Returns `None` if the deadline passes first.
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
