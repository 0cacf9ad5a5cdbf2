//! Jobs for handlers, and who has them run.

use std::collections::VecDeque;
use std::sync::{Arc, MutexGuard};

use crate::machine::Machine;
use crate::run::{Job, Run};
use crate::wire::{State, Wire};

/// Jobs that wait to be run.
pub(crate) struct Jobs<M: Machine> {
    /// Who runs them, until there is nothing left to run: it has the handler, which may have a handle of the
    /// connection.
    runner: Option<Arc<dyn Run<M>>>,
    waiting: VecDeque<Job<M>>,
    /// Somebody has them run.
    is_dispatched: bool,
}

impl<M: Machine> Jobs<M> {
    pub(crate) fn new(runner: Arc<dyn Run<M>>) -> Self {
        Self { runner: Some(runner), waiting: VecDeque::new(), is_dispatched: false }
    }

    pub(crate) fn push(&mut self, job: Job<M>) {
        self.waiting.push_back(job);
    }

    /// Whether there are jobs that nobody has run. Whoever asks does.
    pub(crate) fn begin(&mut self) -> bool {
        let begins = !self.is_dispatched && !self.waiting.is_empty();
        self.is_dispatched |= begins;
        begins
    }
}

impl<M: Machine> State<M> {
    /// The runner, if everything is over and nothing is left to run. It is to be dropped without the lock.
    #[must_use]
    pub(crate) fn retired(&mut self) -> Option<Arc<dyn Run<M>>> {
        let has_jobs = self.jobs.is_dispatched || !self.jobs.waiting.is_empty();
        if has_jobs || !self.has_ended() { None } else { self.jobs.runner.take() }
    }
}

impl<M: Machine> Wire<M> {
    /// Has all jobs run. One that cannot be run is dropped, which can bring the next one: they are taken one
    /// after the other, so that no number of them takes more stack than one.
    pub(crate) fn dispatch(&self) {
        let mut dispatching = Dispatching { wire: self, is_over: false };
        loop {
            let mut state = self.lock();
            let Some(job) = state.jobs.waiting.pop_front() else {
                dispatching.is_over = true;
                return end_dispatch(state);
            };
            let runner = state.jobs.runner.clone();
            drop(state);
            match runner {
                Some(runner) => runner.run(job),
                None => drop(job),
            }
        }
    }
}

/// Jobs are being run, until this is dropped: also if whoever runs them panics.
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

/// From here on, somebody else runs what comes.
fn end_dispatch<M: Machine>(mut state: MutexGuard<'_, State<M>>) {
    state.jobs.is_dispatched = false;
    let retired = state.retired();
    drop(state);
    drop(retired);
}
