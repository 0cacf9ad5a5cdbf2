//! Worker tasks that run the jobs of handlers one after the other, so that a handler that does not wait needs no
//! task of its own.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::asynchronous::{Handler, Spawn, contained};
use crate::machine::Machine;
use crate::run::Job;
use crate::sync::{Mutex, MutexGuard};

/// The number of jobs that a worker runs before it yields to other tasks of the runtime.
const MOST_IN_A_ROW: u32 = 16;

/// Worker tasks of a runtime that share the jobs of one handler.
///
/// On a runtime with several threads, the code that pushes a job calls a worker for it. A worker that another
/// worker calls might have to wait for the thread of that worker. On a runtime with one thread nothing runs in
/// parallel: a worker takes a job, calls another worker only if more jobs wait, and runs its own job. So a few
/// workers run all jobs that do not wait. One idle worker is kept.
pub(crate) struct Workers<M: Machine, H, S> {
    pub(crate) handler: H,
    spawn: S,
    /// Whether the runtime has several threads.
    is_parallel: bool,
    state: Mutex<State<M>>,
}

/// Invariant: while jobs wait, a called worker has yet to look for jobs; on several threads, at least as many called
/// workers as jobs.
struct State<M: Machine> {
    jobs: VecDeque<Job<M>>,
    /// The number of called workers that have yet to look for jobs. It never exceeds the largest number of jobs that
    /// have waited at once: a busy worker takes jobs, too, and each job that follows would otherwise add one more
    /// worker to the queue of the runtime.
    called: usize,
    /// The number and the waker of the idle worker.
    idle: Option<(u64, Waker)>,
    /// The number of the latest worker.
    latest: u64,
    is_over: bool,
}

impl<M: Machine, H: Handler<M>, S: Spawn> Workers<M, H, S> {
    pub(crate) fn new(handler: H, spawn: S) -> Arc<Self> {
        let jobs = VecDeque::new();
        let state = State { jobs, called: 0, idle: None, latest: 0, is_over: false };
        let is_parallel = spawn.is_parallel();
        Arc::new(Self { handler, spawn, is_parallel, state: Mutex::new(state) })
    }

    /// Queues a job. The job is dropped if the runtime has ended.
    pub(crate) fn push(self: &Arc<Self>, job: Job<M>) {
        let mut state = self.lock();
        state.jobs.push_back(job);
        self.call(state);
    }

    /// Calls a worker: wakes the idle one or spawns another.
    fn call(self: &Arc<Self>, mut state: MutexGuard<'_, State<M>>) {
        let needed = if self.is_parallel { state.jobs.len() } else { state.jobs.len().min(1) };
        if needed <= state.called {
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
        // Without a runtime, `spawn` may panic, which drops the worker and with it the jobs. The panic must not
        // reach the caller, who may only have dropped an exchange.
        _ = catch_unwind(AssertUnwindSafe(|| self.spawn.spawn(worker.run())));
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
                Job::Serve(exchange) => {
                    // The slot is taken until the handler returns, even if the handler gives the exchange away.
                    let place = exchange.place();
                    let serving = async {
                        // Within the containment: a subscriber can panic, too.
                        let scope = exchange.scope();
                        scope.around(async { workers.handler.serve(exchange).await }).await;
                    };
                    contained(serving).await;
                    drop(place);
                }
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
            if self.workers.is_parallel {
                drop(state);
            } else {
                self.workers.call(state);
            }
            drop(old);
            return Poll::Ready(Some(job));
        }
        if state.is_over || state.idle.is_some() {
            return Poll::Ready(None);
        }
        state.idle = Some((self.number, context.waker().clone()));
        self.worker_state = WorkerState::Idle;
        self.in_a_row = 0;
        drop(state);
        drop(old);
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

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use mcp_sansio::model::{CallToolResult, ListChanged};
    use mcp_sansio::{ClientRequest, Inbox, RespondError, Server, ServerConfig};

    use super::*;
    use crate::asynchronous::{Spawner, Work};
    use crate::{Clock, ConnectionOptions, Exchange, Wire};

    /// A server whose worker tasks are polled by hand.
    struct Served {
        wire: Arc<Wire<Server>>,
        inbox: Inbox,
        spawned: Arc<Mutex<Vec<Option<Work>>>>,
        begun: Arc<AtomicUsize>,
        next_id: u32,
    }

    /// Collects tasks, of a runtime with several threads or with one.
    struct ByHand(Arc<Mutex<Vec<Option<Work>>>>, bool);

    impl Spawn for ByHand {
        fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
            self.0.lock().unwrap().push(Some(Box::pin(work)));
        }

        fn is_parallel(&self) -> bool {
            self.1
        }
    }

    impl Served {
        /// A server on one thread.
        fn new() -> Self {
            Self::on(false)
        }

        /// A server whose tool `wait` responds when it is cancelled, whose tool `panic` panics, and whose other
        /// tools respond at once.
        fn on(is_parallel: bool) -> Self {
            let mut config = ServerConfig::new("server", "1");
            config.capabilities.tools = Some(ListChanged::default());
            let inbox = Inbox::new(&config.connection.limits);
            let begun = Arc::new(AtomicUsize::new(0));
            let counter = Arc::clone(&begun);
            let handler = move |exchange: Exchange| {
                let counter = Arc::clone(&counter);
                async move {
                    counter.fetch_add(1, Ordering::Relaxed);
                    match &exchange.request().kind {
                        ClientRequest::CallTool(tool) if tool.name == "wait" => {
                            exchange.cancelled().await
                        }
                        ClientRequest::CallTool(tool) if tool.name == "panic" => panic!("as asked"),
                        _ => {}
                    }
                    exchange.respond(&CallToolResult::text("done")).or(Ok::<(), RespondError>(()))
                }
            };
            let spawned = Arc::new(Mutex::new(Vec::new()));
            let runner = Spawner::new(handler, ByHand(Arc::clone(&spawned), is_parallel));
            let wire = Wire::server(config, &ConnectionOptions::new(), Clock::new(), runner);
            Self { wire, inbox, spawned, begun, next_id: 0 }
        }

        fn send(&mut self, message: &str) {
            let line = message.to_string() + "\n";
            assert_eq!(self.inbox.feed(line.as_bytes()), line.len());
            let context = Context::from_waker(Waker::noop());
            assert!(self.wire.poll_take(&mut self.inbox, &context).is_ready());
        }

        fn call(&mut self, tool: &str) {
            let id = self.next_id;
            self.next_id += 1;
            self.send(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
            ));
        }

        fn cancel(&mut self, id: u32) {
            self.send(&format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
            ));
        }

        /// Polls a task once.
        fn poll(&self, task: usize) {
            let Some(mut work) = self.spawned.lock().unwrap()[task].take() else { return };
            if work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
                self.spawned.lock().unwrap()[task] = Some(work);
            }
        }

        /// Polls all tasks, including those spawned in the meantime.
        fn poll_all(&self) {
            let mut task = 0;
            while task < self.tasks() {
                self.poll(task);
                task += 1;
            }
        }

        fn tasks(&self) -> usize {
            self.spawned.lock().unwrap().len()
        }

        /// The number of tasks that have not ended.
        fn living(&self) -> usize {
            self.spawned.lock().unwrap().iter().flatten().count()
        }

        fn begun(&self) -> usize {
            self.begun.load(Ordering::Relaxed)
        }

        /// The ids of the responses since the last call, and whether each is an error.
        fn answered(&self) -> Vec<(u32, bool)> {
            let mut state = self.wire.lock();
            let text = String::from_utf8(state.out.unsent().to_vec()).unwrap();
            state.out.sent(text.len());
            let answer = |line: &str| {
                let id = line.strip_prefix(r#"{"jsonrpc":"2.0","id":"#).unwrap();
                (id.split(',').next().unwrap().parse().unwrap(), line.contains("\"error\""))
            };
            text.lines().map(answer).collect()
        }
    }

    #[test]
    fn handlers_that_do_not_wait_share_a_task() {
        let mut served = Served::new();
        (0..10).for_each(|_| served.call("quick"));
        assert_eq!(served.tasks(), 1, "one is called for all of them");
        served.poll(0);
        let ids: Vec<_> = (0..10).map(|id| (id, false)).collect();
        assert_eq!(served.answered(), ids);
        // A second worker was called to help, and is not needed.
        served.poll_all();
        assert_eq!((served.tasks(), served.living()), (2, 1));
        // The remaining worker is called again.
        served.call("quick");
        served.poll_all();
        assert_eq!((served.answered(), served.tasks()), (vec![(10, false)], 2));
    }

    /// On several threads no job waits for a worker that another worker has to call, as that one may occupy its
    /// thread. A faster worker takes jobs that others were called for.
    #[test]
    fn on_several_threads_no_job_waits_for_a_busy_worker() {
        let mut served = Served::on(true);
        (0..3).for_each(|_| served.call("wait"));
        (0..2).for_each(|_| served.call("quick"));
        assert_eq!(served.tasks(), 5);
        served.poll(3);
        assert_eq!((served.begun(), served.answered()), (1, Vec::new()));
        [4, 2, 1].into_iter().for_each(|task| served.poll(task));
        assert_eq!((served.begun(), served.answered()), (5, vec![(3, false), (4, false)]));
        served.poll(0);
        assert_eq!(served.living(), 4, "one of those without work is kept");
        served.call("quick");
        assert_eq!(served.tasks(), 5, "it is called again");
        served.poll_all();
        assert_eq!(served.answered(), [(5, false)]);
        (0..3).for_each(|id| served.cancel(id));
        served.poll_all();
        assert_eq!(served.living(), 1);
    }

    /// A worker that takes further jobs leaves those called for these jobs in the queue of the runtime. Their number is
    /// bounded however many requests follow.
    #[test]
    fn few_workers_are_called_for_many_jobs_in_a_row() {
        let mut served = Served::on(true);
        (0..1_000).for_each(|_| served.call("quick"));
        let most = served.tasks();
        assert!(most <= 64, "as many as handlers may run: {most}");
        let mut task = 0;
        while task < served.tasks() {
            served.poll(task);
            // A worker that has yielded is polled again.
            served.poll(task);
            task += 1;
            let living = served.living();
            assert!(living <= most + task, "{living} tasks");
            assert!(served.tasks() <= most + 2 * task, "{} tasks", served.tasks());
        }
        served.poll_all();
        assert_eq!((served.begun(), served.answered().len()), (1_000, 1_000));
    }

    /// The worker yields, so that other tasks get the thread.
    #[test]
    fn a_worker_yields_after_a_bounded_number_of_jobs() {
        let mut served = Served::new();
        (0..64).for_each(|_| served.call("quick"));
        served.poll(0);
        assert_eq!(served.answered().len(), MOST_IN_A_ROW as usize);
        served.poll(0);
        assert_eq!(served.answered().len(), MOST_IN_A_ROW as usize);
    }

    #[test]
    fn handlers_that_wait_run_at_the_same_time() {
        let mut served = Served::new();
        (0..10).for_each(|_| served.call("wait"));
        served.call("quick");
        served.poll_all();
        assert_eq!((served.begun(), served.answered()), (11, vec![(10, false)]));
        (0..10).for_each(|id| served.cancel(id));
        served.poll_all();
        assert_eq!(served.living(), 1);
    }

    #[test]
    fn a_panic_ends_no_other_handler() {
        let mut served = Served::new();
        for tool in ["quick", "panic", "quick"] {
            served.call(tool);
        }
        served.poll_all();
        assert_eq!(served.answered(), [(0, false), (1, true), (2, false)]);
    }

    /// Before a called worker looks for jobs, another worker may take the job and become idle.
    #[test]
    fn a_task_that_was_called_for_nothing_leaves_another_one_idle() {
        let mut served = Served::new();
        served.call("wait");
        served.call("quick");
        served.poll(0);
        served.poll(1);
        assert_eq!((served.answered(), served.living()), (vec![(1, false)], 2));
        // The second worker is idle, and is called. The first one is faster.
        served.call("quick");
        served.cancel(0);
        served.poll(0);
        assert_eq!(served.answered(), [(2, false)]);
        served.poll(1);
        assert_eq!(served.living(), 1);
        served.call("quick");
        served.poll(0);
        assert_eq!((served.answered(), served.tasks()), (vec![(3, false)], 2));
    }

    /// Requests get a response even if the runtime ends, before or after a worker has looked for jobs.
    #[test]
    fn a_request_without_a_worker_is_refused() {
        let mut served = Served::new();
        (0..3).for_each(|_| served.call("quick"));
        let ended = std::mem::take(&mut *served.spawned.lock().unwrap());
        drop(ended);
        assert_eq!(served.answered(), [(0, true), (1, true), (2, true)]);
        served.call("quick");
        served.poll_all();
        assert_eq!(served.answered(), [(3, false)]);
        // The worker is idle, is called, and ends before it has looked for jobs.
        served.call("quick");
        let ended = std::mem::take(&mut *served.spawned.lock().unwrap());
        drop(ended);
        assert_eq!(served.answered(), [(4, true)]);
    }

    #[test]
    fn the_last_task_ends_with_the_connection() {
        let mut served = Served::new();
        served.call("quick");
        served.poll_all();
        assert_eq!(served.living(), 1);
        served.wire.abandon();
        served.poll_all();
        assert_eq!(served.living(), 0);
    }
}
