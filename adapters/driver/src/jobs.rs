//! The queue of jobs for handlers, and their dispatch to the runner.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::machine::Machine;
use crate::run::{Job, Run};
use crate::sync::MutexGuard;
use crate::wire::{State, Wire};

/// Jobs that wait for the runner.
pub(crate) struct Jobs<M: Machine> {
    /// The runner, until no job is left. It owns the handler, which may own a handle of the connection.
    runner: Option<Arc<dyn Run<M>>>,
    /// The jobs for a runner without a queue.
    waiting: VecDeque<Job<M>>,
    /// Whether the runner has to be called for the jobs in its queue.
    needs_call: bool,
    /// Whether a thread is dispatching jobs or calling the runner.
    is_dispatched: bool,
}

impl<M: Machine> Jobs<M> {
    pub(crate) fn new(runner: Arc<dyn Run<M>>) -> Self {
        Self {
            runner: Some(runner),
            waiting: VecDeque::new(),
            needs_call: false,
            is_dispatched: false,
        }
    }

    /// Whether the runner runs handlers in the calling task.
    #[cfg(feature = "http")]
    pub(crate) fn is_inline(&self) -> bool {
        self.runner.as_ref().is_some_and(|runner| runner.is_inline())
    }

    pub(crate) fn push(&mut self, job: Job<M>) {
        let queued = match &self.runner {
            Some(runner) => runner.queue(job),
            None => Err(job),
        };
        match queued {
            Ok(needs_call) => self.needs_call |= needs_call,
            Err(job) => self.waiting.push_back(job),
        }
    }

    /// Claims the dispatch. Returns whether the caller has to dispatch the jobs.
    pub(crate) fn begin(&mut self) -> bool {
        let begins = !self.is_dispatched && (self.needs_call || !self.waiting.is_empty());
        self.is_dispatched |= begins;
        begins
    }
}

impl<M: Machine> State<M> {
    /// Returns the runner if the connection has ended and no job is left. The caller drops it without the lock.
    #[must_use]
    pub(crate) fn retired(&mut self) -> Option<Arc<dyn Run<M>>> {
        let has_jobs = self.jobs.is_dispatched
            || !self.jobs.waiting.is_empty()
            // The next delivery takes the events that this one leaves.
            || self.events.is_delivering();
        if has_jobs || !self.has_ended() { None } else { self.jobs.runner.take() }
    }
}

impl<M: Machine> Wire<M> {
    /// Passes all jobs to the runner, and calls it for those in its queue. A job that cannot run, or that the input has
    /// cancelled in the meantime, is dropped, which can push another job. This is a loop rather than a recursion, so the
    /// stack does not grow with the number of jobs.
    pub(crate) fn dispatch(&self) {
        let mut dispatching = Dispatching { wire: self, is_over: false };
        loop {
            let mut state = self.lock();
            let needs_call = std::mem::take(&mut state.jobs.needs_call);
            let job = state.jobs.waiting.pop_front();
            if !needs_call && job.is_none() {
                dispatching.is_over = true;
                return end_dispatch(state);
            }
            let runner = state.jobs.runner.clone();
            drop(state);
            if needs_call && let Some(runner) = &runner {
                runner.call();
            }
            match (runner, job) {
                (Some(runner), Some(job)) if !job.is_cancelled() => runner.run(job),
                (_, job) => drop(job),
            }
        }
    }
}

/// Marks the jobs as dispatched until it is dropped, also if the runner panics.
struct Dispatching<'w, M: Machine> {
    wire: &'w Wire<M>,
    is_over: bool,
}

impl<M: Machine> Drop for Dispatching<'_, M> {
    fn drop(&mut self) {
        if !self.is_over {
            end_dispatch(self.wire.lock());
        }
    }
}

/// Gives up the dispatch: the next push claims it again.
fn end_dispatch<M: Machine>(mut state: MutexGuard<'_, State<M>>) {
    state.jobs.is_dispatched = false;
    let retired = state.retired();
    drop(state);
    drop(retired);
}
