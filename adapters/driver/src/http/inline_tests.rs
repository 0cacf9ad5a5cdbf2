//! Tests of handlers that run in the task of their HTTP request.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use mcp_sansio::http::{
    HttpServerConfig, RequestSource, RequestValidator, ResponseId, SessionId, Streams,
};
use mcp_sansio::json::ScannedFrame;
use mcp_sansio::model::{CallToolResult, InputRequest, InputRequired, ListChanged};
use mcp_sansio::{ClientRequest, ConnectionNumber, Phase, RespondError, Server, ServerConfig};

use super::{AcceptedPost, KeptTotal, PostEntry};
use crate::asynchronous::{Spawn, Spawner, Work};
use crate::extensions::Attachment;
use crate::{Clock, ConnectionOptions, Exchange, Run, Wire};

/// A runtime whose tasks are polled by hand.
#[derive(Clone, Default)]
struct Runtime {
    spawned: Arc<Mutex<Vec<Work>>>,
    is_parallel: bool,
    /// Whether the test runs on another thread than the runtime.
    is_elsewhere: Arc<AtomicBool>,
}

impl Spawn for Runtime {
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.spawned.lock().unwrap().push(Box::pin(work));
    }

    fn is_parallel(&self) -> bool {
        self.is_parallel
    }

    fn is_current(&self) -> bool {
        !self.is_elsewhere.load(Ordering::Relaxed)
    }
}

/// The permit of a request. The owners of the value are counted.
struct Permit(#[allow(dead_code, reason = "it is counted")] Arc<()>);

impl Attachment for Permit {}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A server over HTTP for one modern client.
struct Served {
    wire: Arc<Wire<Server>>,
    runner: Arc<dyn Run<Server>>,
    runtime: Runtime,
    given_away: Arc<Mutex<Option<Exchange>>>,
    /// The number of handlers that have begun.
    begun: Arc<AtomicUsize>,
    task: Arc<Woken>,
    permits: Arc<()>,
}

impl Served {
    /// A server whose tool `wait` waits until it is cancelled, whose tool `panic` panics, and whose tool `give` gives its
    /// exchange away. Other tools respond.
    fn on(runtime: Runtime) -> Self {
        Self::with(runtime, |validator| validator.modern(ConnectionNumber::new(1)))
    }

    /// The same in a session of 2025-06-18 with a client that has roots.
    fn in_session() -> Self {
        let id = SessionId::from_random([7; 16]);
        let served = Self::with(Runtime::default(), |validator| {
            validator.session(ConnectionNumber::new(1), id)
        });
        for message in [
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        ] {
            assert!(served.post(message).request.is_none());
        }
        served
    }

    fn with(
        runtime: Runtime,
        machine: impl FnOnce(&RequestValidator) -> (Server, Streams),
    ) -> Self {
        let mut config = ServerConfig::new("server", "1");
        config.capabilities.tools = Some(ListChanged::default());
        let validator =
            RequestValidator::new(Arc::new(HttpServerConfig::default()), Arc::new(config));
        let given_away = Arc::new(Mutex::new(None));
        let begun = Arc::new(AtomicUsize::new(0));
        let shared = (Arc::clone(&given_away), Arc::clone(&begun));
        let handler = move |exchange: Exchange| {
            let (recipient, begun) = shared.clone();
            async move {
                begun.fetch_add(1, Ordering::Relaxed);
                let ClientRequest::CallTool(call) = &exchange.request().kind else { return Ok(()) };
                match &*call.name.to_str() {
                    "wait" => exchange.cancelled().await,
                    "panic" => panic!("as asked"),
                    "give" => *recipient.lock().unwrap() = Some(exchange.clone()),
                    _ => exchange.respond(&CallToolResult::text("done"))?,
                }
                Ok::<(), RespondError>(())
            }
        };
        let runner: Arc<dyn Run<Server>> = Arc::new(Spawner::new(handler, runtime.clone()));
        let wire = Wire::behind_http(
            machine(&validator),
            Arc::new(validator.limits().clone()),
            &ConnectionOptions::new(),
            Clock::new(),
            Arc::clone(&runner),
            Arc::new(KeptTotal::new(usize::MAX)),
        );
        let (task, permits) = Default::default();
        Self { wire, runner, runtime, given_away, begun, task, permits }
    }

    fn post(&self, body: &str) -> AcceptedPost {
        let mut admission = || Ok(Arc::new(Permit(Arc::clone(&self.permits))) as crate::Permit);
        let (scanned, source) = (&mut ScannedFrame::new(), RequestSource::default());
        let accepted =
            self.wire.post(body.as_bytes(), scanned, source, PostEntry::Always, &mut admission);
        accepted.unwrap()
    }

    fn serve(&self, exchange: Exchange) {
        self.runner.serve(exchange, &mut Context::from_waker(&Waker::from(Arc::clone(&self.task))));
    }

    /// Posts a request, and runs its handler.
    fn call(&self, id: u32, tool: &str) -> ResponseId {
        let AcceptedPost { response, request } = self.post(&call_of(id, tool));
        self.serve(request.unwrap());
        response
    }

    /// The body of a response, if it is complete.
    fn body(&self, response: ResponseId) -> Option<String> {
        let (waker, mut body) = (Waker::from(Arc::clone(&self.task)), Vec::new());
        match self.wire.poll_head(response, &Context::from_waker(&waker), &mut body) {
            Poll::Ready(head) => {
                assert_eq!(head.unwrap().status, 200);
                Some(String::from_utf8(body).unwrap())
            }
            Poll::Pending => None,
        }
    }

    /// Polls the spawned tasks once, and returns how many there were.
    fn turn(&self) -> usize {
        let tasks = std::mem::take(&mut *self.runtime.spawned.lock().unwrap());
        let count = tasks.len();
        for mut task in tasks {
            let context = &mut Context::from_waker(Waker::noop());
            if task.as_mut().poll(context).is_pending() {
                self.runtime.spawned.lock().unwrap().push(task);
            }
        }
        count
    }
}

fn call_of(id: u32, tool: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    )
}

#[test]
fn a_handler_that_does_not_wait_needs_no_task() {
    let served = Served::on(Runtime::default());
    for _ in 0..3 {
        let response = served.call(1, "quick");
        assert!(served.body(response).unwrap().contains("done"));
        assert_eq!(served.turn(), 0);
        assert!(!served.task.0.load(Ordering::Relaxed), "nothing was woken");
    }
}

#[test]
fn a_handler_that_waits_continues_in_a_task_of_its_own() {
    let served = Served::on(Runtime::default());
    let response = served.call(1, "wait");
    assert_eq!(served.body(response), None);
    assert_eq!(served.turn(), 1);
    // Another request gets its response meanwhile.
    let other = served.call(2, "quick");
    assert!(served.body(other).is_some());
    served.wire.response_dropped(response);
    assert_eq!((served.turn(), served.turn()), (1, 0), "the handler has returned");
}

#[test]
fn a_handler_that_panics_is_answered_with_an_error() {
    let served = Served::on(Runtime::default());
    let response = served.call(1, "panic");
    assert!(served.body(response).unwrap().contains(r#""code":-32603"#));
    assert_eq!(served.turn(), 0);
}

/// The response wakes the task of the HTTP request, which has looked for it before.
#[test]
fn an_exchange_can_be_given_away() {
    let served = Served::on(Runtime::default());
    let response = served.call(1, "give");
    assert_eq!(served.body(response), None);
    let exchange = served.given_away.lock().unwrap().take().unwrap();
    assert!(!served.task.0.load(Ordering::Relaxed));
    exchange.respond(&CallToolResult::text("later")).unwrap();
    assert!(served.task.0.load(Ordering::Relaxed));
    assert!(served.body(response).unwrap().contains("later"));
}

/// A request that waits for client input keeps its permit until it ends, also if a clone of its exchange responds.
#[test]
fn a_response_to_a_request_that_waits_for_input_frees_its_permit() {
    let served = Served::in_session();
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"give"}}"#;
    served.serve(served.post(call).request.unwrap());
    let exchange = served.given_away.lock().unwrap().take().unwrap();
    let clone = exchange.clone();
    let roots = InputRequired::new().request("roots", InputRequest::ListRoots);
    exchange.require_input(&roots).unwrap();
    drop(exchange);
    assert_eq!(Arc::strong_count(&served.permits), 2);
    clone.respond(&CallToolResult::text("without")).unwrap();
    drop(clone);
    assert_eq!(Arc::strong_count(&served.permits), 1);
}

/// The client has disconnected before the handler began, which ends the connection of a modern request.
#[test]
fn a_request_that_is_dropped_leaves_nothing() {
    let served = Served::on(Runtime::default());
    let AcceptedPost { response, request } = served.post(&call_of(1, "quick"));
    served.wire.response_dropped(response);
    let request = request.unwrap();
    assert!(request.is_cancelled());
    served.serve(request);
    assert_eq!((served.wire.phase(), served.turn()), (Phase::Closed, 0));
    assert_eq!(served.begun.load(Ordering::Relaxed), 0, "the handler has not run");
}

/// On several threads, and on a thread of another runtime, handlers run as tasks.
#[test]
fn other_threads_get_a_task() {
    let served = Served::on(Runtime { is_parallel: true, ..Runtime::default() });
    let AcceptedPost { response, request } = served.post(&call_of(1, "quick"));
    assert!(request.is_none());
    assert_eq!((served.body(response), served.turn()), (None, 1));
    assert!(served.task.0.load(Ordering::Relaxed));
    assert!(served.body(response).is_some());

    let served = Served::on(Runtime::default());
    let AcceptedPost { response, request } = served.post(&call_of(1, "quick"));
    served.runtime.is_elsewhere.store(true, Ordering::Relaxed);
    served.serve(request.unwrap());
    assert_eq!((served.body(response), served.turn()), (None, 1));
    assert!(served.body(response).is_some());
}

/// A waker that notes, when it is dropped, whether the connection was locked.
struct Noting(Arc<Wire<Server>>, Arc<Mutex<Vec<bool>>>);

impl Wake for Noting {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Noting {
    fn drop(&mut self) {
        self.1.lock().unwrap().push(self.0.state.try_lock().is_err());
    }
}

/// The code that drops a waker may lock the connection itself.
#[test]
fn wakers_are_dropped_without_the_lock() {
    let served = Served::on(Runtime::default());
    let dropped = Arc::<Mutex<Vec<bool>>>::default();
    let poll = |response| {
        let waker = Waker::from(Arc::new(Noting(Arc::clone(&served.wire), Arc::clone(&dropped))));
        let head = served.wire.poll_head(response, &Context::from_waker(&waker), &mut Vec::new());
        assert!(head.is_pending());
    };
    let responses = [1, 2].map(|id| {
        let response = served.call(id, "wait");
        poll(response);
        assert!(dropped.lock().unwrap().is_empty());
        // Another waker replaces the first one.
        poll(response);
        assert_eq!(std::mem::take(&mut *dropped.lock().unwrap()), [false]);
        response
    });
    for response in responses {
        served.wire.response_dropped(response);
    }
    assert_eq!(*dropped.lock().unwrap(), [false, false]);
}
