//! Worker tasks that run the jobs of handlers one after the other, so that a handler that does not wait needs no
//! task of its own.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::asynchronous::{Handler, Spawn, Work, contained, drop_contained};
use crate::exchange::Exchange;
use crate::machine::Machine;
use crate::run::Job;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, MutexGuard};

/// The number of jobs that a worker runs before it yields to other tasks of the runtime.
pub(crate) const MOST_IN_A_ROW: u32 = 16;

/// The number of the inline worker.
const INLINE: u64 = 0;

/// Worker tasks of a runtime that share the jobs of one handler.
///
/// On a runtime with several threads, the code that pushes a job calls a worker for it. A worker that another
/// worker calls might have to wait for the thread of that worker. On a runtime with one thread nothing runs in
/// parallel: a worker takes a job, calls another worker only if more jobs wait, and runs its own job. So a few
/// workers run all jobs that do not wait. One idle worker is kept: the [inline one](InlineWorker), if it is idle.
pub(crate) struct Workers<M: Machine, H, S> {
    pub(crate) handler: H,
    spawn: S,
    /// Whether the runtime has several threads.
    is_parallel: bool,
    /// Whether the task of the inline worker is running and has not polled the worker yet, so nothing has to wake it. It
    /// is set without the lock, and cleared under the lock.
    is_polled: AtomicBool,
    state: Mutex<State<M>>,
}

/// Invariant: while jobs wait, a called worker has yet to look for jobs, or the running task of the idle inline worker is
/// going to poll it; on several threads, at least as many called workers as jobs.
struct State<M: Machine> {
    jobs: VecDeque<Job<M>>,
    /// The number of called workers that have yet to look for jobs. It never exceeds the largest number of jobs that
    /// have waited at once: a busy worker takes jobs, too, and each job that follows would otherwise add one more
    /// worker to the queue of the runtime.
    called: usize,
    /// The number and the waker of the idle worker.
    idle: Option<(u64, Waker)>,
    /// The number of the latest spawned worker.
    latest: u64,
    has_inline: bool,
    is_over: bool,
}

impl<M: Machine, H: Handler<M>, S: Spawn> Workers<M, H, S> {
    pub(crate) fn new(handler: H, spawn: S) -> Arc<Self> {
        let jobs = VecDeque::new();
        let state =
            State { jobs, called: 0, idle: None, latest: 0, has_inline: false, is_over: false };
        let is_parallel = spawn.is_parallel();
        let is_polled = AtomicBool::new(false);
        Arc::new(Self { handler, spawn, is_parallel, is_polled, state: Mutex::new(state) })
    }

    /// Queues a job, and calls a worker for it. The job is dropped if the runtime has ended.
    pub(crate) fn push(self: &Arc<Self>, job: Job<M>) {
        if self.queue(job) {
            self.call_for_jobs();
        }
    }

    /// Queues a job. Returns whether a worker has to be called for it.
    pub(crate) fn queue(&self, job: Job<M>) -> bool {
        let mut state = self.lock();
        state.jobs.push_back(job);
        state.called < self.needed(&state)
    }

    /// Calls as many workers as the queued jobs need.
    pub(crate) fn call_for_jobs(self: &Arc<Self>) {
        loop {
            let state = self.lock();
            if self.needed(&state) <= state.called {
                return;
            }
            self.call(state);
        }
    }

    /// The number of workers that have to be called for the queued jobs.
    fn needed(&self, state: &State<M>) -> usize {
        if self.is_parallel {
            state.jobs.len()
        } else if state.idle.as_ref().is_some_and(|(number, _)| *number == INLINE)
            && self.is_polled.load(Ordering::Relaxed)
        {
            0
        } else {
            state.jobs.len().min(1)
        }
    }

    /// Calls a worker: wakes the idle one or spawns another.
    fn call(self: &Arc<Self>, mut state: MutexGuard<'_, State<M>>) {
        if self.needed(&state) <= state.called {
            return;
        }
        state.called += 1;
        if let Some((_, waker)) = state.idle.take() {
            drop(state);
            return waker.wake();
        }
        state.latest += 1;
        let (number, worker_state) = (state.latest, WorkerState::Called);
        drop(state);
        let worker = Worker { workers: Arc::clone(self), number, worker_state, in_a_row: 0 };
        self.spawn(worker.run());
    }

    /// Runs the handler of a request.
    async fn serve(&self, exchange: Exchange<M>) {
        if exchange.is_cancelled() {
            // The input has cancelled the request in the meantime.
            return drop_contained(exchange);
        }
        // The slot is taken until the handler returns, even if the handler gives the exchange away.
        let place = exchange.place();
        let serving = async {
            // Within the containment: a subscriber can panic, too.
            let scope = exchange.scope();
            scope.around(async { self.handler.serve(exchange).await }).await;
        };
        contained(serving).await;
        drop_contained(place);
    }

    /// Whether a handler may run in the calling task: tasks do not run in parallel, and the handler finds its runtime.
    pub(crate) fn is_inline(&self) -> bool {
        !self.is_parallel && self.spawn.is_current()
    }

    /// Runs the handler of a request in the calling task until it waits. Then it continues in a task of its own.
    pub(crate) fn serve_inline(self: &Arc<Self>, exchange: Exchange<M>, context: &mut Context<'_>) {
        let workers = Arc::clone(self);
        let mut work = Box::pin(async move { workers.serve(exchange).await });
        if work.as_mut().poll(context).is_pending() {
            self.spawn(work);
        }
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        // Without a runtime, `spawn` may panic, which drops the worker and with it the jobs. The panic must not
        // reach the caller, who may only have dropped an exchange.
        _ = catch_unwind(AssertUnwindSafe(|| self.spawn.spawn(work)));
    }

    /// Returns the inline worker, once. `None` if tasks run in parallel: a job could wait for the task of the connection
    /// then.
    pub(crate) fn inline(self: &Arc<Self>) -> Option<InlineWorker> {
        let mut state = self.lock();
        if self.is_parallel || state.has_inline {
            return None;
        }
        state.has_inline = true;
        state.called += 1;
        drop(state);
        let (workers, worker_state) = (Arc::clone(self), WorkerState::Called);
        let worker = Worker { workers, number: INLINE, worker_state, in_a_row: 0 };
        Some(InlineWorker { work: Some(Box::pin(worker.run())), workers: Arc::<Self>::clone(self) })
    }
}

/// A worker that is polled by the task that reads and writes a connection: see
/// [`Spawner::inline_worker`](crate::asynchronous::Spawner::inline_worker).
///
/// A handler that does not wait costs no switch between tasks. While its handler waits, other workers run further
/// requests. If it is dropped, it continues in a task of its own.
pub struct InlineWorker {
    /// `None` after its end.
    work: Option<Work>,
    workers: Arc<dyn InlineHost>,
}

impl InlineWorker {
    /// Notes that the task is running and is going to poll the worker.
    pub(crate) fn begin_poll(&self) {
        self.workers.begin_poll();
    }

    pub(crate) fn poll(&mut self, context: &mut Context<'_>) {
        if let Some(work) = &mut self.work
            && work.as_mut().poll(context).is_ready()
        {
            self.work = None;
        }
    }
}

impl Drop for InlineWorker {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            self.workers.adopt(work);
        }
    }
}

impl fmt::Debug for InlineWorker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("InlineWorker").finish_non_exhaustive()
    }
}

/// The workers of an inline worker.
trait InlineHost: Send + Sync {
    /// Notes that the task of the inline worker is running.
    fn begin_poll(&self);

    /// Spawns the inline worker as a task, because nothing polls it any more.
    fn adopt(&self, work: Work);
}

impl<M: Machine, H: Handler<M>, S: Spawn> InlineHost for Workers<M, H, S> {
    fn begin_poll(&self) {
        self.is_polled.store(true, Ordering::Relaxed);
    }

    fn adopt(&self, work: Work) {
        self.spawn(work);
    }
}

impl<M: Machine, H, S> Workers<M, H, S> {
    /// Ends the queue: no more jobs follow, and the idle worker ends.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.is_over = true;
        let idle = state.idle.take();
        // The worker counts as called from here on.
        state.called += usize::from(idle.is_some());
        drop(state);
        idle.into_iter().for_each(|(_, waker)| waker.wake());
    }

    fn lock(&self) -> MutexGuard<'_, State<M>> {
        // No code of the application runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One worker task.
struct Worker<M: Machine, H, S> {
    workers: Arc<Workers<M, H, S>>,
    number: u64,
    worker_state: WorkerState,
    in_a_row: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WorkerState {
    /// Called, and has not looked for jobs yet.
    Called,
    Working,
    /// Waits to be called.
    Idle,
}

impl<M: Machine, H: Handler<M>, S: Spawn> Worker<M, H, S> {
    async fn run(mut self) {
        let workers = Arc::clone(&self.workers);
        while let Some(job) = poll_fn(|context| self.poll_next(context)).await {
            match job {
                Job::Serve(exchange) => workers.serve(exchange).await,
                Job::Deliver(mut delivery) => {
                    let handle = delivery.handle().clone();
                    let delivery_loop = async {
                        for event in &mut delivery {
                            workers.handler.event(&handle, event).await;
                        }
                    };
                    contained(delivery_loop).await;
                }
            }
        }
    }

    /// Returns the next job; `None` if this worker is no longer needed.
    fn poll_next(&mut self, context: &Context<'_>) -> Poll<Option<Job<M>>> {
        if self.in_a_row == MOST_IN_A_ROW {
            self.in_a_row = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let mut state = self.workers.lock();
        let (was_called, old) = self.rise(&mut state);
        if was_called {
            state.called -= 1;
        }
        self.worker_state = WorkerState::Working;
        if let Some(job) = state.jobs.pop_front() {
            self.in_a_row += 1;
            if self.workers.is_parallel || state.jobs.is_empty() {
                drop(state);
            } else {
                self.workers.call(state);
            }
            drop(old);
            return Poll::Ready(Some(job));
        }
        if state.is_over || state.idle.is_some() && self.number != INLINE {
            return Poll::Ready(None);
        }
        if self.number == INLINE {
            self.workers.is_polled.store(false, Ordering::Relaxed);
        }
        let waker = context.waker();
        let (waker, old) = match old {
            Some(known) if known.will_wake(waker) => (known, None),
            old => (waker.clone(), old),
        };
        let displaced = state.idle.replace((self.number, waker));
        self.worker_state = WorkerState::Idle;
        self.in_a_row = 0;
        // A displaced worker counts as called. It finds no job and ends.
        state.called += usize::from(displaced.is_some());
        drop(state);
        drop(old);
        displaced.into_iter().for_each(|(_, waker)| waker.wake());
        Poll::Pending
    }
}

impl<M: Machine, H, S> Worker<M, H, S> {
    /// Returns whether the worker has been called; if it is still idle, also takes its waker out.
    fn rise(&self, state: &mut State<M>) -> (bool, Option<Waker>) {
        match self.worker_state {
            WorkerState::Called => (true, None),
            WorkerState::Working => (false, None),
            WorkerState::Idle => {
                // In the meantime another worker may have become idle.
                let own = state.idle.take_if(|(number, _)| *number == self.number);
                (own.is_none(), own.map(|(_, waker)| waker))
            }
        }
    }
}

impl<M: Machine, H, S> Drop for Worker<M, H, S> {
    fn drop(&mut self) {
        let mut state = self.workers.lock();
        let (was_called, old) = self.rise(&mut state);
        if !was_called {
            drop(state);
            return drop(old);
        }
        // The runtime has ended, so no worker is left to run the jobs.
        state.called -= 1;
        let jobs = std::mem::take(&mut state.jobs);
        drop(state);
        drop(jobs);
    }
}
