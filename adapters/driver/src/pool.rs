//! Threads for work that may block.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How long a job may run before it counts as blocked, so that a job that waits behind it gets a thread of its own.
///
/// Longer than most handlers take, which are then run one after the other by one thread: to wake another thread costs
/// more than they do.
const PATIENCE: Duration = Duration::from_micros(500);

/// How long a thread without a job is kept.
const KEPT: Duration = Duration::from_secs(10);

/// Threads that run jobs. There are as many threads as jobs that block at the same time, and one or two more: whoever
/// pushes jobs bounds them.
///
/// A job starts at once if no other job runs, or if all that run have been running for a while. Otherwise it waits for
/// the thread of one of them, but not longer than a job may run without counting as blocked. Dropped, its threads end
/// when nothing is left to run.
pub struct Pool<J> {
    shared: Arc<Shared<J>>,
}

struct Shared<J> {
    name: &'static str,
    run: Box<dyn Fn(J) + Send + Sync>,
    state: Mutex<State<J>>,
    /// Wakes a thread that is parked.
    parked: Condvar,
    /// Wakes the thread that watches.
    watcher: Condvar,
}

/// Invariant: while jobs wait, a thread that has been woken for that has not looked yet, or one watches, or every job
/// that runs has been begun by a thread that takes the next one.
struct State<J> {
    waiting: VecDeque<J>,
    /// How many threads there are, how many of these are parked, and how many of the parked ones have been woken.
    threads: usize,
    parked: usize,
    woken: usize,
    /// How many jobs run, and how many of these count as blocked.
    running: usize,
    blocked: usize,
    /// How many jobs have begun, which is the number of the latest one, and the number of the latest that was blocked.
    begun: u64,
    latest_blocked: u64,
    /// How many of the threads that have been woken are to take a job, whatever else runs.
    called: usize,
    watch: Watch,
    is_over: bool,
}

/// Whether somebody sees to it that jobs do not wait behind others that block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Watch {
    Nobody,
    /// A thread has been woken for it.
    Called,
    Watching,
}

impl<J: Send + 'static> Pool<J> {
    /// No threads yet. Those that come have this name and do this with each job. A job that panics is dropped, and its
    /// thread goes on.
    pub fn new(name: &'static str, run: impl Fn(J) + Send + Sync + 'static) -> Self {
        let state = State {
            waiting: VecDeque::new(),
            threads: 0,
            parked: 0,
            woken: 0,
            running: 0,
            blocked: 0,
            begun: 0,
            latest_blocked: 0,
            called: 0,
            watch: Watch::Nobody,
            is_over: false,
        };
        let shared = Shared {
            name,
            run: Box::new(run),
            state: Mutex::new(state),
            parked: Condvar::new(),
            watcher: Condvar::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Has a job run. Without any thread, because the system has none, all jobs that wait are dropped.
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
    /// The number of a job that begins.
    const fn begin(&mut self) -> u64 {
        self.begun += 1;
        self.begun
    }
}

impl<J> Drop for Pool<J> {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.parked.notify_all();
    }
}

impl<J> Shared<J> {
    fn lock(&self) -> MutexGuard<'_, State<J>> {
        // No job runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<J: Send + 'static> Shared<J> {
    /// Sees to it that one more thread looks for work.
    fn wake(self: &Arc<Self>, mut state: MutexGuard<'_, State<J>>) {
        if state.woken < state.parked {
            state.woken += 1;
            drop(state);
            return self.parked.notify_one();
        }
        state.threads += 1;
        drop(state);
        let shared = Arc::clone(self);
        let spawned = thread::Builder::new().name(self.name.into()).spawn(move || shared.work());
        if spawned.is_err() {
            let mut state = self.lock();
            state.threads -= 1;
            // The next job tries again.
            (state.called, state.watch) = (0, Watch::Nobody);
            let is_lost = state.threads == 0;
            let lost = if is_lost { std::mem::take(&mut state.waiting) } else { VecDeque::new() };
            drop(state);
            drop(lost);
        }
    }

    /// Has a thread watch if jobs wait, and none does.
    fn call_watch<'s>(
        self: &'s Arc<Self>,
        mut state: MutexGuard<'s, State<J>>,
    ) -> MutexGuard<'s, State<J>> {
        if state.waiting.is_empty() || state.watch != Watch::Nobody {
            return state;
        }
        state.watch = Watch::Called;
        self.wake(state);
        self.lock()
    }

    /// What a thread does.
    fn work(self: &Arc<Self>) {
        let mut state = self.lock();
        loop {
            if state.waiting.is_empty() {
                (state.called, state.watch) = (0, Watch::Nobody);
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
                let (woken, is_over) = self.park(state);
                state = woken;
                if is_over {
                    break;
                }
            }
        }
        state.threads -= 1;
    }

    /// Waits to be woken. Says whether that has not happened for long.
    fn park<'s>(&'s self, mut state: MutexGuard<'s, State<J>>) -> (MutexGuard<'s, State<J>>, bool) {
        state.parked += 1;
        let waited = self.parked.wait_timeout(state, KEPT);
        let (mut state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        state.parked -= 1;
        // A thread that wakes by itself at this moment does what the one that was woken would have done.
        let is_over = timeout.timed_out() && state.woken == 0;
        state.woken = state.woken.saturating_sub(1);
        (state, is_over)
    }

    /// Runs a job, and then others as long as there are any.
    fn run_jobs<'s>(
        self: &'s Arc<Self>,
        mut state: MutexGuard<'s, State<J>>,
        mut job: J,
    ) -> MutexGuard<'s, State<J>> {
        // Both at once: a thread that watches meanwhile counts this job as blocked, and has to know its number.
        state.running += 1;
        let mut number = state.begin();
        state = self.call_watch(state);
        loop {
            drop(state);
            // The panic hook has reported a panic.
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

    /// Waits until the jobs that run have had their time. If none has ended meanwhile, and others wait for that, they
    /// are blocked: as many threads more are to take a job.
    fn watch<'s>(
        self: &'s Arc<Self>,
        mut state: MutexGuard<'s, State<J>>,
    ) -> MutexGuard<'s, State<J>> {
        state.watch = Watch::Watching;
        let begun = state.begun;
        let waited = self.watcher.wait_timeout(state, PATIENCE);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.waiting.is_empty() {
            return state;
        }
        if begun != state.begun {
            state.watch = Watch::Called;
            return state;
        }
        state.watch = Watch::Nobody;
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
    use std::thread::ThreadId;

    use super::*;

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

    /// What takes no time is done by few threads, in order as far as one can see.
    #[test]
    fn jobs_that_do_not_block_share_threads() {
        let (sender, done) = channel::<ThreadId>();
        let pool = Pool::new("test", move |_: u32| sender.send(thread::current().id()).unwrap());
        (0..10_000).for_each(|job| pool.push(job));
        (0..10_000).for_each(|_| _ = done.recv().unwrap());
        // On a machine that is very busy a job can look as if it blocked.
        assert!(pool.shared.lock().threads < 100, "{pool:?}");
    }

    /// A job that comes while others are blocked is not held up by them, and one that panics harms nobody.
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
        // Its threads end, and give back what runs the jobs: the sender with it.
        drop(pool);
        assert!(done.recv().is_err());
    }
}
