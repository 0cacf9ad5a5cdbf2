//! Tests of tasks that connections share.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mcp_sansio::json::Raw;
use mcp_sansio::model::{InputRequired, ListChanged};
use mcp_sansio::task::{NewTask, TaskSharing, Tasks, TasksConfig};
use mcp_sansio::{Inbox, Limits, Server, ServerConfig};

use super::SharedTasks;
use crate::deliver_tests::{ByHand, Wakes, pass, set_by_hand};
use crate::{Clock, ConnectionOptions, TaskHandle, Timing, Wire};

/// A connection with shared tasks.
struct Connection {
    wire: Arc<Wire<Server>>,
    begun: ByHand,
    /// The wakes of the task that handles timeouts.
    wakes: Arc<Wakes>,
}

impl Connection {
    fn new(tasks: &SharedTasks) -> Self {
        Self::with_limits(tasks, &Limits::default())
    }

    fn with_limits(tasks: &SharedTasks, limits: &Limits) -> Self {
        let mut config = ServerConfig::new("server", "1");
        config.capabilities.tools = Some(ListChanged::default());
        config.capabilities = config.capabilities.with_tasks();
        config.connection.limits = limits.clone();
        let (begun, options) = (ByHand::default(), ConnectionOptions::new().tasks(tasks.clone()));
        let wire = Wire::server(config, &options, tasks.clock(), begun.clone());
        Self { wire, begun, wakes: Arc::default() }
    }

    /// Handles the timeouts that are due. Returns whether there is a deadline.
    fn keep_time(&self) -> bool {
        let waker = Waker::from(Arc::clone(&self.wakes));
        let timing = self.wire.poll_time(&Context::from_waker(&waker));
        matches!(timing, Timing::Until(Some(_)))
    }

    fn wakes(&self) -> usize {
        self.wakes.0.swap(0, Ordering::Relaxed)
    }

    /// Receives a request with these params.
    fn receive(&self, method: &str, params: &str) {
        self.receive_as(method, method, params);
    }

    /// Receives a request with this id and these params.
    fn receive_as(&self, id: &str, method: &str, params: &str) {
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#;
        self.receive_line(&format!(
            r#"{{"jsonrpc":"2.0","id":"{id}","method":"{method}","params":{{{params},{meta}}}}}"#
        ));
    }

    fn receive_line(&self, message: &str) {
        let line = message.to_string() + "\n";
        let mut inbox = Inbox::new(&Limits::default());
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            rest = rest.split_at(inbox.feed(rest)).1;
        }
        let context = Context::from_waker(Waker::noop());
        assert!(self.wire.poll_take(&mut inbox, &context).is_ready());
    }

    /// Begins a task that expires after a number of milliseconds. Returns the handle of its work.
    fn begin_task(&self, id: &str, milliseconds: u64) -> TaskHandle {
        self.receive("tools/call", r#""name":"t""#);
        let exchange = self.begun.0.lock().unwrap().pop().flatten().unwrap();
        let new = NewTask::new(id).ttl(Some(Duration::from_millis(milliseconds)));
        exchange.begin_task(new).unwrap()
    }
}

/// An expiry wakes one connection, however many share the tasks. If it ends, another one takes over.
#[test]
fn one_connection_watches_the_expiry_of_tasks() {
    let tasks = SharedTasks::with_clock(TasksConfig::default(), Clock::with(set_by_hand));
    let connections: Vec<_> = (0..20).map(|_| Connection::new(&tasks)).collect();
    let watching = || connections.iter().filter(|one| one.keep_time()).count();
    let woken = || connections.iter().map(Connection::wakes).sum::<usize>();
    assert_eq!((watching(), woken()), (0, 0));
    let [first, .., last] = &connections[..] else { panic!("there are some") };
    let _late = last.begin_task("late", 1_000);
    // The timer of this connection is rescheduled in any case.
    assert_eq!((woken(), watching()), (1, 1));
    assert!(last.keep_time());
    let _early = first.begin_task("early", 500);
    assert_eq!((woken(), watching()), (1, 1));
    assert!(first.keep_time());
    // A change from outside of the connections wakes the one that watches.
    let early = |tasks: &mut Tasks, _| tasks.find("early").unwrap();
    let early = tasks.with(early);
    tasks.with(|tasks, _| tasks.set_ttl(early, Some(Duration::from_millis(100))).unwrap());
    assert_eq!((woken(), first.keep_time()), (1, true));
    // Another one takes over, once.
    first.wire.abandon();
    assert_eq!(watching(), 1);
    assert!(woken() <= 2);
    pass(100);
    let watcher = connections.iter().find(|one| one.keep_time()).unwrap();
    assert_eq!(tasks.with(|tasks, _| tasks.find("early")), None);
    assert!(watcher.keep_time(), "for the other task");
}

/// Work that was given to another process leaves nothing behind in this one.
#[test]
fn revoked_work_is_forgotten() {
    let tasks = SharedTasks::with_clock(TasksConfig::default(), Clock::with(set_by_hand));
    let handle = Connection::new(&tasks).begin_task("moved", 1_000);
    let key = tasks.with(|tasks, _| tasks.find("moved")).unwrap();
    let mut context = Context::from_waker(Waker::noop());
    {
        let mut unwanted = pin!(handle.cancelled());
        assert!(unwanted.as_mut().poll(&mut context).is_pending());
        tasks.revoke(key);
        assert!(unwanted.as_mut().poll(&mut context).is_ready());
    }
    let shared = tasks.lock();
    assert!(shared.waiting.is_empty() && shared.handles.is_empty());
}

/// A future of work that was revoked does not take the waker of its successor with it.
#[test]
fn work_that_is_resumed_has_wakers_of_its_own() {
    let tasks = SharedTasks::with_clock(TasksConfig::default(), Clock::with(set_by_hand));
    let connection = Connection::new(&tasks);
    let revoked = connection.begin_task("moved", 1_000);
    let key = tasks.with(|tasks, _| tasks.find("moved")).unwrap();
    let wakes = Arc::<Wakes>::default();
    let waker = Waker::from(Arc::clone(&wakes));
    let mut context = Context::from_waker(&waker);
    let mut first = Box::pin(revoked.cancelled());
    assert!(first.as_mut().poll(&mut context).is_pending());
    tasks.revoke(key);
    let resumed = tasks.resume(key).unwrap();
    let mut second = pin!(resumed.cancelled());
    assert!(second.as_mut().poll(&mut context).is_pending());
    drop(first);
    wakes.0.store(0, Ordering::Relaxed);
    assert!(tasks.remove(key));
    assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
}

/// If the timeouts of the connection that watches are not handled, the next operation makes another one watch.
#[test]
fn a_watcher_without_timeouts_is_replaced() {
    let tasks = SharedTasks::with_clock(TasksConfig::default(), Clock::with(set_by_hand));
    let [stuck, other] = [(); 2].map(|()| Connection::new(&tasks));
    assert!(!stuck.keep_time() && !other.keep_time());
    let _late = other.begin_task("late", 100_000);
    // It takes over, and is not polled any more.
    let _early = stuck.begin_task("early", 1_000);
    assert!(!other.keep_time());
    pass(1_999);
    tasks.expire();
    assert!(!other.keep_time());
    let _next = stuck.begin_task("next", 10);
    pass(1_010);
    other.wakes();
    tasks.expire();
    assert_eq!((other.wakes(), other.keep_time()), (1, true));
    // A connection that was dropped does not watch either.
    stuck.keep_time();
    let _soon = stuck.begin_task("soon", 5);
    assert_eq!((stuck.keep_time(), other.keep_time()), (true, false));
    drop(stuck);
    assert!(other.keep_time());
}

/// More input can be required whether or not the earlier input has been answered by then. No response is lost.
#[test]
fn a_response_before_more_input_is_required_is_not_lost() {
    let tasks = SharedTasks::with_clock(TasksConfig::default(), Clock::with(set_by_hand));
    let connection = Connection::new(&tasks);
    let task = connection.begin_task("asking", 100_000);
    let roots = |key: &'static str| InputRequired::new().roots(key);
    let answer = |key: &str| {
        let responses = format!(r#""inputResponses":{{"{key}":{{"roots":[]}}}}"#);
        connection.receive("tasks/update", &format!(r#""taskId":"asking",{responses}"#));
    };
    let raw = |text: &'static str| Raw::new(text).unwrap();
    let mut context = Context::from_waker(Waker::noop());
    let first = task.require_input(&roots("a")).unwrap();
    // The work learns of this response only together with the other ones.
    answer("a");
    let (earlier, second) = task.require_more_input(&roots("b")).unwrap();
    drop(first);
    assert_eq!(earlier, Some(raw(r#"{"a":{"roots":[]}}"#)));
    let (earlier, mut both) = task.require_more_input(&roots("c")).unwrap();
    drop(second);
    assert_eq!(earlier, None);
    answer("b");
    assert!(pin!(&mut both).poll(&mut context).is_pending());
    assert!(task.require_more_input(&roots("b")).is_err(), "each key is used once");
    answer("c");
    let given = pin!(&mut both).poll(&mut context);
    assert_eq!(given, Poll::Ready(Ok(raw(r#"{"b":{"roots":[]},"c":{"roots":[]}}"#))));
}

/// A client that reads nothing, and cancels its requests about tasks, leaves none of them behind.
#[test]
fn cancelled_requests_about_tasks_are_not_kept() {
    let tasks = SharedTasks::with_clock(TasksConfig::default(), Clock::with(set_by_hand));
    let mut limits = Limits::default();
    limits.outbox_bytes = 10_000;
    let connection = Connection::with_limits(&tasks, &limits);
    let _task = connection.begin_task("t", 100_000);
    let waiting = || connection.wire.lock().host_requests.len();
    let mut number = 0;
    while waiting() == 0 {
        number += 1;
        connection.receive_as(&number.to_string(), "tasks/get", r#""taskId":"t""#);
    }
    let cancel = |id: &str| {
        connection.receive_line(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":"{id}"}}}}"#
        ));
    };
    let ballast = "x".repeat(10_000);
    let update = format!(r#""taskId":"t","inputResponses":{{"a":{{"text":"{ballast}"}}}}"#);
    for _ in 0..20 {
        connection.receive_as("update", "tasks/update", &update);
        assert_eq!(waiting(), 2);
        cancel("update");
        assert_eq!(waiting(), 1);
    }
    assert_eq!(connection.wire.lock().machine.in_flight().counts().inbound, 1);
    // The first one can be cancelled as well, and the next one takes its turn.
    connection.receive_as("next", "tasks/get", r#""taskId":"t""#);
    cancel(&number.to_string());
    assert_eq!(waiting(), 1);
    let unsent = connection.wire.lock().out.unsent_bytes();
    connection.wire.act(|state| state.out.sent(unsent / 2));
    assert_eq!(waiting(), 0);
    assert_eq!(connection.wire.lock().machine.in_flight().counts().inbound, 0);
}

/// A subscription that the client has cancelled does not wait for its task any more.
#[test]
fn a_cancelled_request_does_not_wait_for_its_task() {
    let tasks = SharedTasks::with_clock(TasksConfig::default(), Clock::with(set_by_hand));
    let connection = Connection::new(&tasks);
    let _task = connection.begin_task("t", 100_000);
    let is_awaited = || {
        tasks.inspect(|tasks, _| {
            let key = tasks.find("t").unwrap();
            TaskSharing::of(tasks).is_awaited(key)
        })
    };
    assert!(!is_awaited());
    connection.receive_as("l", "subscriptions/listen", r#""notifications":{"taskIds":["t"]}"#);
    assert!(is_awaited());
    connection.receive_line(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"l"}}"#,
    );
    assert!(!is_awaited());
}
