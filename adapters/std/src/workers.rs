//! Threads that run handlers: as many as there is work, up to a bound.

use std::collections::{HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use mcp_sansio::InboundId;

/// How many jobs may run beside those that count.
const MOST_LENT: usize = 1_024;

/// Jobs and the threads that run them. A thread ends when there is nothing to do.
pub(crate) struct Workers {
    name: &'static str,
    most_threads: usize,
    /// How many jobs may wait, and how many bytes of the peer they may hold together.
    most_jobs: usize,
    most_bytes: usize,
    state: Mutex<State>,
    /// The last thread has ended.
    idle: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    bytes: usize,
    threads: usize,
    /// Requests whose jobs run and count for nothing.
    lent: HashSet<InboundId>,
}

/// Something to run, and the request that it is for.
pub(crate) struct Job {
    pub(crate) request: Option<InboundId>,
    /// How many bytes of the peer it holds.
    pub(crate) bytes: usize,
    pub(crate) run: Box<dyn FnOnce() + Send>,
}

impl Workers {
    /// No threads yet, and at most so many. With one thread, jobs run in order.
    pub(crate) fn new(
        name: &'static str,
        most_threads: usize,
        most_jobs: usize,
        most_bytes: usize,
    ) -> Arc<Self> {
        let (state, idle) = (Mutex::default(), Condvar::new());
        Arc::new(Self {
            name,
            most_threads: most_threads.max(1),
            most_jobs,
            most_bytes,
            state,
            idle,
        })
    }

    /// Runs a job as soon as a thread is free. Gives it back if too much waits already, or if the
    /// system has no thread at all.
    ///
    /// Jobs are never dropped here: dropping one answers its request, for which the caller must not
    /// hold the machine.
    #[must_use = "a job that is dropped answers its request"]
    pub(crate) fn submit(self: &Arc<Self>, job: Job) -> Option<Job> {
        let state = self.lock();
        let waits = !state.queue.is_empty();
        let is_full = self.most_jobs <= state.queue.len()
            || self.most_bytes < state.bytes.saturating_add(job.bytes);
        if waits && is_full {
            return Some(job);
        }
        drop(state);
        self.submit_always(job)
    }

    /// The same, however much waits.
    #[must_use = "a job that is dropped answers its request"]
    pub(crate) fn submit_always(self: &Arc<Self>, job: Job) -> Option<Job> {
        let mut state = self.lock();
        state.push(job);
        self.add_thread(state)
    }

    /// The job of a request goes on, but need not be waited for: another one may run beside it, unless there
    /// are very many of these.
    pub(crate) fn lend(self: &Arc<Self>, request: InboundId) {
        let mut state = self.lock();
        if MOST_LENT <= state.lent.len() {
            return;
        }
        state.lent.insert(request);
        if !state.queue.is_empty() {
            // This thread is one of those that get to it.
            _ = self.add_thread(state);
        }
    }

    /// Starts a thread unless there are enough. Gives back the last job if there is none at all.
    fn add_thread(self: &Arc<Self>, mut state: MutexGuard<'_, State>) -> Option<Job> {
        if self.most_threads.saturating_add(state.lent.len()) <= state.threads {
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
        if state.threads == 0 { state.pop_back() } else { None }
    }

    /// Takes out the job of a request that no thread has begun.
    #[must_use = "a job that is dropped answers its request"]
    pub(crate) fn remove(&self, request: InboundId) -> Option<Job> {
        let mut state = self.lock();
        let waiting = state.queue.iter().position(|job| job.request == Some(request))?;
        let job = state.queue.remove(waiting)?;
        state.bytes -= job.bytes;
        Some(job)
    }

    /// Waits, at most so long, until nothing is waiting or running.
    pub(crate) fn wait_idle(&self, patience: Duration) {
        let state = self.lock();
        drop(self.idle.wait_timeout_while(state, patience, |state| 0 < state.threads));
    }

    fn work(&self) {
        let mut done = None;
        loop {
            let mut state = self.lock();
            if let Some(request) = done {
                state.lent.remove(&request);
            }
            let is_too_many = self.most_threads.saturating_add(state.lent.len()) < state.threads;
            let Some(job) = (!is_too_many).then(|| state.pop_front()).flatten() else {
                state.threads -= 1;
                if state.threads == 0 {
                    self.idle.notify_all();
                }
                return;
            };
            drop(state);
            done = job.request;
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

impl State {
    fn push(&mut self, job: Job) {
        self.bytes += job.bytes;
        self.queue.push_back(job);
    }

    fn pop_front(&mut self) -> Option<Job> {
        let job = self.queue.pop_front()?;
        self.bytes -= job.bytes;
        Some(job)
    }

    fn pop_back(&mut self) -> Option<Job> {
        let job = self.queue.pop_back()?;
        self.bytes -= job.bytes;
        Some(job)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use mcp_sansio::model::ListChanged;
    use mcp_sansio::{Framing, Inbox, Instant, Outbox, Server, ServerConfig, ServerEvent};

    use super::*;

    const A_LONG_TIME: Duration = Duration::from_secs(60);

    /// So many requests that are open at the same time.
    fn requests(many: usize) -> Vec<InboundId> {
        let mut config = ServerConfig::new("server", "1");
        config.capabilities.tools = Some(ListChanged::default());
        config.connection.limits.inbound_requests = u32::MAX;
        let limits = config.connection.limits.clone();
        let (mut inbox, mut out) = (Inbox::new(&limits), Outbox::new(Framing::Lines, &limits));
        let mut server = Server::new(Arc::new(config));
        let mut open = Vec::new();
        for id in 0..many {
            let request = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
            ) + "\n";
            assert_eq!(inbox.feed(request.as_bytes()), request.len());
            let frame = inbox.next().unwrap();
            match server.receive(frame, Instant::from_nanos(0), &mut out) {
                Some(ServerEvent::Request(request)) => open.push(request.id),
                other => panic!("{other:?}"),
            }
        }
        open
    }

    /// Any number of requests that have become tasks gets a bounded number of threads.
    #[test]
    fn lending_has_a_bound() {
        let workers = Workers::new("test", 1, 1, 1);
        for request in requests(MOST_LENT + 1) {
            workers.lend(request);
        }
        assert_eq!(workers.lock().lent.len(), MOST_LENT);
    }

    /// A job that is lent lets another one run beside it, and gives its thread back when it ends.
    #[test]
    fn what_is_lent_is_given_back() {
        let workers = Workers::new("test", 1, 2, 0);
        let request = requests(1).pop().unwrap();
        let (release, released) = std::sync::mpsc::channel();
        let own = Arc::clone(&workers);
        let lends = move || {
            own.lend(request);
            // The other job runs while this one waits for it.
            released.recv_timeout(A_LONG_TIME).unwrap();
        };
        let job = Job { request: Some(request), bytes: 0, run: Box::new(lends) };
        assert!(workers.submit(job).is_none());
        let other =
            Job { request: None, bytes: 0, run: Box::new(move || release.send(()).unwrap()) };
        assert!(workers.submit(other).is_none());
        workers.wait_idle(A_LONG_TIME);
        let state = workers.lock();
        assert_eq!((state.threads, state.lent.len(), state.queue.len()), (0, 0, 0));
    }
}
