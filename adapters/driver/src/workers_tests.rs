//! Tests of the workers, whose tasks are polled by hand.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

use mcp_sansio::model::{CallToolResult, ListChanged};
use mcp_sansio::{ClientRequest, Inbox, RespondError, Server, ServerConfig};

use crate::asynchronous::{Spawn, Spawner, Work};
use crate::workers::{InlineWorker, MOST_IN_A_ROW};
use crate::{Clock, ConnectionOptions, Exchange, Wire};

struct PanicsOnDrop;

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        panic!("as asked");
    }
}

/// A server whose worker tasks are polled by hand.
struct Served {
    wire: Arc<Wire<Server>>,
    inbox: Inbox,
    spawned: Arc<Mutex<Vec<Option<Work>>>>,
    begun: Arc<AtomicUsize>,
    /// The number of handlers that have returned.
    returned: Arc<AtomicUsize>,
    next_id: u32,
    /// The inline worker, if the server has one, and the waker of its task.
    inline: Option<InlineWorker>,
    wakes: Arc<Wakes>,
}

fn call_of(id: u32, tool: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    )
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

    /// A server on one thread, with an inline worker.
    fn inline() -> Self {
        let mut served = Self::make(false, true);
        assert_eq!(served.turn(), 0);
        served
    }

    fn on(is_parallel: bool) -> Self {
        Self::make(is_parallel, false)
    }

    /// A server whose tool `wait` responds when it is cancelled, whose tool `panic` panics, whose tool
    /// `extend` adds a value that panics when it is dropped, and whose other tools respond at once.
    fn make(is_parallel: bool, is_inline: bool) -> Self {
        let mut config = ServerConfig::new("server", "1");
        config.capabilities.tools = Some(ListChanged::default());
        let inbox = Inbox::new(&config.connection.limits);
        let begun = Arc::new(AtomicUsize::new(0));
        let returned = Arc::new(AtomicUsize::new(0));
        let counters = (Arc::clone(&begun), Arc::clone(&returned));
        let handler = move |exchange: Exchange| {
            let (begun, returned) = counters.clone();
            async move {
                begun.fetch_add(1, Ordering::Relaxed);
                match &exchange.request().kind {
                    ClientRequest::CallTool(tool) if tool.name == "wait" => {
                        exchange.cancelled().await
                    }
                    ClientRequest::CallTool(tool) if tool.name == "panic" => panic!("as asked"),
                    ClientRequest::CallTool(tool) if tool.name == "extend" => {
                        exchange.insert_extension(PanicsOnDrop);
                    }
                    _ => {}
                }
                _ = exchange.respond(&CallToolResult::text("done"));
                returned.fetch_add(1, Ordering::Relaxed);
                Ok::<(), RespondError>(())
            }
        };
        let spawned = Arc::new(Mutex::new(Vec::new()));
        let runner = Spawner::new(handler, ByHand(Arc::clone(&spawned), is_parallel));
        let inline = if is_inline { runner.inline_worker() } else { None };
        assert!(!is_inline || runner.inline_worker().is_none(), "there is one");
        let wire = Wire::server(config, &ConnectionOptions::new(), Clock::new(), runner);
        Self { wire, inbox, spawned, begun, returned, next_id: 0, inline, wakes: Arc::default() }
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
        self.send(&call_of(id, tool));
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

/// The values of a request are dropped after its handler has returned, in the task that reads and writes.
#[test]
fn a_value_that_panics_when_it_is_dropped_ends_no_worker() {
    for mut served in [Served::new(), Served::inline()] {
        for tool in ["quick", "extend", "quick"] {
            served.call(tool);
        }
        if served.inline.is_some() {
            served.turn();
        }
        served.poll_all();
        assert_eq!(served.answered(), [(0, false), (1, false), (2, false)]);
    }
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

/// Counts how often it wakes.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Served {
    /// Polls the inline worker as its task does, after `input`. Returns how often the task was woken since the last turn.
    fn turn_with(&mut self, input: impl FnOnce(&mut Self)) -> usize {
        self.inline.as_ref().unwrap().begin_poll();
        input(self);
        let waker = Waker::from(Arc::clone(&self.wakes));
        self.inline.as_mut().unwrap().poll(&mut Context::from_waker(&waker));
        self.wakes.0.swap(0, Ordering::Relaxed)
    }

    fn turn(&mut self) -> usize {
        self.turn_with(|_| {})
    }
}

/// Input that the task of the inline worker has read does not wake that task. Other input does.
#[test]
fn an_inline_worker_is_woken_by_others_only() {
    let mut served = Served::inline();
    for id in 0..3 {
        assert_eq!(served.turn_with(|served| served.call("quick")), 0);
        assert_eq!(served.answered(), [(id, false)]);
    }
    served.call("quick");
    assert_eq!(served.answered(), []);
    assert_eq!((served.turn(), served.answered()), (1, vec![(3, false)]));
    assert_eq!((served.turn(), served.tasks()), (0, 0));
}

/// While the handler of the inline worker waits, tasks run further requests. Afterwards the inline worker is the idle one.
#[test]
fn requests_do_not_wait_for_an_inline_worker() {
    let mut served = Served::inline();
    served.turn_with(|served| served.call("wait"));
    served.turn_with(|served| served.call("quick"));
    assert_eq!((served.begun(), served.answered(), served.tasks()), (1, vec![], 1));
    served.poll_all();
    assert_eq!((served.answered(), served.living()), (vec![(1, false)], 1));
    served.turn_with(|served| served.cancel(0));
    assert_eq!(served.returned.load(Ordering::Relaxed), 2);
    served.poll_all();
    assert_eq!(served.living(), 0, "the other worker ends");
    assert_eq!(served.turn_with(|served| served.call("quick")), 0);
    assert_eq!((served.answered(), served.tasks()), (vec![(2, false)], 1));
}

/// A handler is not dropped with the task of the connection: it learns that its response is no longer wanted.
#[test]
fn a_handler_outlives_the_task_of_its_inline_worker() {
    let mut served = Served::inline();
    served.turn_with(|served| served.call("wait"));
    served.wire.abandon();
    served.inline = None;
    // The other one delivers the event of the end.
    assert_eq!((served.tasks(), served.returned.load(Ordering::Relaxed)), (2, 0));
    served.poll_all();
    assert_eq!((served.living(), served.returned.load(Ordering::Relaxed)), (0, 1));
    // So does the worker, if it is idle.
    let mut served = Served::inline();
    served.inline = None;
    served.call("quick");
    served.poll_all();
    assert_eq!((served.answered(), served.living()), (vec![(0, false)], 1));
}

/// A request that the same input cancels has no handler.
#[test]
fn a_request_that_is_cancelled_at_once_is_not_served() {
    for mut served in [Served::new(), Served::on(true), Served::inline()] {
        let both = |served: &mut Served| {
            served.call("quick");
            served.cancel(0);
        };
        if served.inline.is_some() {
            _ = served.turn_with(both)
        } else {
            both(&mut served)
        }
        served.poll_all();
        assert_eq!((served.begun(), served.answered()), (0, vec![]));
    }
}

/// Drops all tasks once the runtime has ended, and keeps them before.
struct Ending(Arc<Mutex<Vec<Work>>>, Arc<AtomicBool>);

impl Spawn for Ending {
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        if !self.1.load(Ordering::Relaxed) {
            self.0.lock().unwrap().push(Box::pin(work));
        }
    }
}

/// The runtime ends while many requests wait for a handler. Each is refused, and the stack does not grow with their number.
#[test]
fn many_requests_are_refused_when_the_runtime_ends() {
    const MANY: u32 = 5_000;
    let refuse = || {
        let mut config = ServerConfig::new("server", "1");
        config.capabilities.tools = Some(ListChanged::default());
        config.connection.limits.inbound_requests = u32::MAX;
        let mut inbox = Inbox::new(&config.connection.limits);
        let (works, has_ended) = (Arc::default(), Arc::default());
        let spawn = Ending(Arc::clone(&works), Arc::clone(&has_ended));
        let handler = |_: Exchange| async { Ok::<(), RespondError>(()) };
        let options = ConnectionOptions::new().handlers(1);
        let runner = Spawner::new(handler, spawn);
        let wire = Wire::server(config, &options, Clock::new(), runner);
        for id in 0..MANY {
            let line = call_of(id, "quick") + "\n";
            assert_eq!(inbox.feed(line.as_bytes()), line.len());
            assert!(wire.poll_take(&mut inbox, &Context::from_waker(Waker::noop())).is_ready());
        }
        has_ended.store(true, Ordering::Relaxed);
        let ended = std::mem::take(&mut *works.lock().unwrap());
        drop(ended);
        let state = wire.lock();
        let lines = state.out.unsent().split(|byte| *byte == b'\n');
        assert_eq!(lines.filter(|line| !line.is_empty()).count(), MANY as usize);
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(refuse);
    thread.unwrap().join().unwrap();
}
