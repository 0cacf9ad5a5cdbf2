//! [`Pool`]: threads for jobs that may block.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use crate::sync::{Condvar, Mutex, MutexGuard, thread, wait_timeout};

/// The running time after which a job counts as blocked, so that a job behind it gets another thread.
///
/// It is longer than most handlers take. Those run one after the other on one thread, because waking another thread
/// costs more than the handlers do.
const PATIENCE: Duration = Duration::from_micros(500);

/// How long an idle thread is kept.
const KEPT: Duration = Duration::from_secs(10);

/// A pool of threads that run jobs. It has as many threads as jobs that block at the same time, and one or two
/// more. The pool has no limit; the code that pushes jobs limits their number.
///
/// A job starts at once if no other job runs, or if all running jobs count as blocked. Otherwise it waits for the
/// thread of one of them, but no longer than a job may run without counting as blocked. A job wakes the thread that was
/// idle for the shortest time, so that threads from a busier time end after a while. After the pool is dropped, its
/// threads end once no job is left.
pub struct Pool<J> {
    shared: Arc<Shared<J>>,
}

struct Shared<J> {
    name: &'static str,
    run: Box<dyn Fn(J) + Send + Sync>,
    state: Mutex<State<J>>,
}

/// Invariant: while jobs wait, a thread woken for them has yet to look, or a thread watches, or every running job
/// was begun by a thread that takes the next one.
struct State<J> {
    waiting: VecDeque<J>,
    /// The number of threads.
    threads: usize,
    /// The parked threads that have not been woken, the latest last. Each waits on its own condition.
    parked: Vec<Arc<Condvar>>,
    /// The number of running jobs, and of those that count as blocked.
    running: usize,
    blocked: usize,
    /// The number of jobs begun, which is also the number of the latest one, and the number of the latest blocked
    /// job.
    begun: u64,
    latest_blocked: u64,
    /// The number of woken threads that have to take a job, regardless of the running jobs.
    called: usize,
    watch: Watch,
    is_over: bool,
}

/// The state of the watch over running jobs, which prevents jobs from waiting behind blocked ones.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Watch {
    Off,
    /// A thread has been woken to watch.
    Called,
    Watching,
}

impl<J: Send + 'static> Pool<J> {
    /// Creates a pool without threads. Its threads have this name and pass each job to `run`. A job that panics is
    /// dropped, and its thread continues.
    pub fn new(name: &'static str, run: impl Fn(J) + Send + Sync + 'static) -> Self {
        let state = State {
            waiting: VecDeque::new(),
            threads: 0,
            parked: Vec::new(),
            running: 0,
            blocked: 0,
            begun: 0,
            latest_blocked: 0,
            called: 0,
            watch: Watch::Off,
            is_over: false,
        };
        let shared = Shared { name, run: Box::new(run), state: Mutex::new(state) };
        Self { shared: Arc::new(shared) }
    }

    /// Queues a job. If the pool has no thread and the system refuses one, all waiting jobs are dropped.
    pub fn push(&self, job: J) {
        let mut state = self.shared.lock();
        state.waiting.push_back(job);
        if state.running + state.called == state.blocked {
            state.called += 1;
            self.shared.wake(state);
        } else {
            drop(self.shared.call_watch(state));
        }
    }
}

impl<J> State<J> {
    /// Returns the number of a new job.
    const fn begin(&mut self) -> u64 {
        self.begun += 1;
        self.begun
    }
}

impl<J> Drop for Pool<J> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_over = true;
        state.parked.drain(..).for_each(|parked| parked.notify_one());
    }
}

impl<J> Shared<J> {
    fn lock(&self) -> MutexGuard<'_, State<J>> {
        // No job runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<J: Send + 'static> Shared<J> {
    /// Wakes or spawns one more thread to look for work.
    fn wake(self: &Arc<Self>, mut state: MutexGuard<'_, State<J>>) {
        if let Some(parked) = state.parked.pop() {
            drop(state);
            return parked.notify_one();
        }
        state.threads += 1;
        drop(state);
        let shared = Arc::clone(self);
        let spawned = thread::Builder::new().name(self.name.into()).spawn(move || shared.work());
        if spawned.is_err() {
            let mut state = self.lock();
            state.threads -= 1;
            // The next push tries again.
            (state.called, state.watch) = (0, Watch::Off);
            let is_lost = state.threads == 0;
            let lost = if is_lost { std::mem::take(&mut state.waiting) } else { VecDeque::new() };
            drop(state);
            drop(lost);
        }
    }

    /// Wakes a thread to watch if jobs wait and no thread watches.
    fn call_watch<'s>(
        self: &'s Arc<Self>,
        mut state: MutexGuard<'s, State<J>>,
    ) -> MutexGuard<'s, State<J>> {
        if state.waiting.is_empty() || state.watch != Watch::Off {
            return state;
        }
        state.watch = Watch::Called;
        self.wake(state);
        self.lock()
    }

    /// The main loop of a thread.
    fn work(self: &Arc<Self>) {
        let condition = Arc::new(Condvar::new());
        let mut state = self.lock();
        loop {
            if state.waiting.is_empty() {
                (state.called, state.watch) = (0, Watch::Off);
                if state.is_over {
                    break;
                }
            }
            let is_needed = state.called != 0 || state.running == state.blocked;
            if is_needed && let Some(job) = state.waiting.pop_front() {
                state.called = state.called.saturating_sub(1);
                state = self.run_jobs(state, job);
            } else if state.watch == Watch::Called {
                state = self.watch(state);
            } else {
                let (woken, is_over) = self.park(&condition, state);
                state = woken;
                if is_over {
                    break;
                }
            }
        }
        state.threads -= 1;
    }

    /// Parks the thread until it is woken. Returns `true` if it was idle for [`KEPT`] and should end.
    fn park<'s>(
        &'s self,
        condition: &Arc<Condvar>,
        mut state: MutexGuard<'s, State<J>>,
    ) -> (MutexGuard<'s, State<J>>, bool) {
        state.parked.push(Arc::clone(condition));
        loop {
            let (after, is_late) = wait_timeout(condition, &self.state, state, KEPT);
            state = after;
            let Some(at) = state.parked.iter().position(|parked| Arc::ptr_eq(parked, condition))
            else {
                return (state, false);
            };
            if is_late {
                state.parked.remove(at);
                return (state, true);
            }
        }
    }

    /// Runs a job, and then waiting jobs until none is left.
    fn run_jobs<'s>(
        self: &'s Arc<Self>,
        mut state: MutexGuard<'s, State<J>>,
        mut job: J,
    ) -> MutexGuard<'s, State<J>> {
        // Both counters change together: a thread that watches in the meantime counts this job as blocked and needs
        // its number.
        state.running += 1;
        let mut number = state.begin();
        state = self.call_watch(state);
        loop {
            drop(state);
            // The panic hook has already reported the panic.
            _ = catch_unwind(AssertUnwindSafe(|| (self.run)(job)));
            state = self.lock();
            if number <= state.latest_blocked {
                state.blocked -= 1;
            }
            match state.waiting.pop_front() {
                Some(next) => job = next,
                None => break,
            }
            number = state.begin();
        }
        state.running -= 1;
        state
    }

    /// Waits until the running jobs have used up their time. If none has ended by then and others wait, the running
    /// jobs count as blocked, and as many more threads are called.
    fn watch<'s>(
        self: &'s Arc<Self>,
        mut state: MutexGuard<'s, State<J>>,
    ) -> MutexGuard<'s, State<J>> {
        state.watch = Watch::Watching;
        let begun = state.begun;
        drop(state);
        thread::sleep(PATIENCE);
        let mut state = self.lock();
        if state.waiting.is_empty() {
            return state;
        }
        if begun != state.begun {
            state.watch = Watch::Called;
            return state;
        }
        state.watch = Watch::Off;
        (state.blocked, state.latest_blocked) = (state.running, state.begun);
        state.called = state.running.clamp(1, state.waiting.len());
        for _ in 1..state.called {
            self.wake(state);
            state = self.lock();
        }
        state
    }
}

impl<J> fmt::Debug for Pool<J> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let threads = self.shared.lock().threads;
        formatter.debug_struct("Pool").field("threads", &threads).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::sync::{Arc, Barrier};

    use super::*;
    use crate::sync::thread::ThreadId;

    /// However many jobs wait for one another, each gets a thread.
    #[test]
    fn jobs_that_block_run_at_the_same_time() {
        let (sender, done) = channel();
        let barrier = Arc::new(Barrier::new(100));
        let pool = Pool::new("test", move |sender: Sender<()>| {
            barrier.wait();
            sender.send(()).unwrap();
        });
        for _ in 0..3 {
            (0..100).for_each(|_| pool.push(sender.clone()));
            (0..100).for_each(|_| done.recv().unwrap());
        }
        assert!(pool.shared.lock().threads < 210, "{pool:?}");
    }

    /// Quick jobs share a few threads, and start in order as far as that is observable.
    #[test]
    fn jobs_that_do_not_block_share_threads() {
        let (sender, done) = channel::<ThreadId>();
        let pool = Pool::new("test", move |_: u32| sender.send(thread::current().id()).unwrap());
        (0..10_000).for_each(|job| pool.push(job));
        (0..10_000).for_each(|_| _ = done.recv().unwrap());
        // On a very busy computer a quick job can count as blocked.
        assert!(pool.shared.lock().threads < 100, "{pool:?}");
    }

    /// Jobs that run one after the other run on one thread, and the others stay idle and end.
    #[test]
    fn the_thread_that_was_idle_for_the_shortest_time_is_woken() {
        let (sender, done) = channel::<ThreadId>();
        let barrier = Arc::new(Barrier::new(5));
        let pool = Pool::new("test", move |blocks: bool| {
            if blocks {
                barrier.wait();
            }
            sender.send(thread::current().id()).unwrap();
        });
        let run = |blocks: &[bool]| {
            blocks.iter().for_each(|blocks| pool.push(*blocks));
            let ids: Vec<_> = blocks.iter().map(|_| done.recv().unwrap()).collect();
            // Until all are idle.
            while {
                let state = pool.shared.lock();
                state.parked.len() < state.threads
            } {
                thread::yield_now();
            }
            ids
        };
        run(&[true; 5]);
        let first = run(&[false]);
        assert!((0..100).all(|_| run(&[false]) == first));
    }

    /// A job pushed while others are blocked does not wait for them, and a panicking job affects no other.
    #[test]
    fn others_go_on_beside_jobs_that_block_and_panic() {
        let (sender, done) = channel();
        let (release, held) = channel::<()>();
        let held = Mutex::new(held);
        let pool = Pool::new("test", move |job: u32| match job {
            0 => _ = held.lock().unwrap().recv(),
            1 => panic!("as asked"),
            _ => sender.send(job).unwrap(),
        });
        for job in 2..100 {
            pool.push(0);
            pool.push(1);
            pool.push(job);
            assert_eq!(done.recv().unwrap(), job);
        }
        drop(release);
        // The threads end and drop the closure that runs the jobs, and the sender with it.
        drop(pool);
        assert!(done.recv().is_err());
    }
}
