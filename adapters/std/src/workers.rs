//! Threads that run handlers: as many as there is work, up to a bound.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use mcp_sansio::InboundId;

/// Jobs and the threads that run them. A thread ends when there is nothing to do.
pub(crate) struct Workers {
    name: &'static str,
    most_threads: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    threads: usize,
}

/// Something to run, and the request that it is for.
pub(crate) struct Job {
    pub(crate) request: Option<InboundId>,
    pub(crate) run: Box<dyn FnOnce() + Send>,
}

impl Workers {
    /// No threads yet, and at most so many. With one thread, jobs run in order.
    pub(crate) fn new(name: &'static str, most_threads: usize) -> Arc<Self> {
        Arc::new(Self { name, most_threads: most_threads.max(1), state: Mutex::default() })
    }

    /// How many jobs wait for a thread.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().queue.len()
    }

    /// Runs a job as soon as a thread is free. Gives it back if the system has no thread at all.
    ///
    /// Jobs are never dropped here: dropping one answers its request, for which the caller must not
    /// hold the machine.
    #[must_use = "a job that is dropped answers its request"]
    pub(crate) fn submit(self: &Arc<Self>, job: Job) -> Option<Job> {
        let mut state = self.lock();
        state.queue.push_back(job);
        if state.threads == self.most_threads {
            return None;
        }
        state.threads += 1;
        drop(state);
        let workers = Arc::clone(self);
        let spawned = thread::Builder::new().name(self.name.into()).spawn(move || workers.work());
        if spawned.is_ok() {
            return None;
        }
        let mut state = self.lock();
        state.threads -= 1;
        // Others will get to it if there are others.
        if state.threads == 0 { state.queue.pop_back() } else { None }
    }

    /// Takes out the job of a request that no thread has begun.
    #[must_use = "a job that is dropped answers its request"]
    pub(crate) fn remove(&self, request: InboundId) -> Option<Job> {
        let mut state = self.lock();
        let waiting = state.queue.iter().position(|job| job.request == Some(request));
        waiting.and_then(|index| state.queue.remove(index))
    }

    fn work(&self) {
        loop {
            let mut state = self.lock();
            let Some(job) = state.queue.pop_front() else {
                state.threads -= 1;
                return;
            };
            drop(state);
            // A handler that panics has dropped its exchange, which has been answered by that. The
            // panic has been reported by the panic hook.
            _ = catch_unwind(AssertUnwindSafe(job.run));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No job runs under the lock, so a panic cannot leave the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
