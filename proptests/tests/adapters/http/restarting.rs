//! Servers that restart while their clients keep their sessions.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::BodyExt;
use mcp_sansio::error::RestoreSessionError;
use mcp_sansio::http::{SavedHttpSession, SessionId};
use mcp_sansio::task::TaskRecord;
use mcp_sansio::{Server, ServerConfig};
use mcp_sansio_http::{
    ConnectionOptions, Endpoint, EndpointOptions, Exchange, Handle, Handler, SharedTasks,
};
use serde_json::{Value, json};

use super::kit::{A_LONG_TIME, Served, server_config, soon};
use super::raw::{Raw, legacy, listen, modern, post, request, request_to, text_of};

fn options() -> EndpointOptions {
    let mut options = EndpointOptions::new();
    options.keep_sessions = true;
    options
}

async fn serve(grace: Duration) -> Served {
    Served::with(server_config(), options(), grace).await
}

/// Waits for the end of a stopped server, and starts the next one with its sessions.
async fn next_of(served: Served) -> Served {
    soon(served.task).await.unwrap().unwrap();
    let saved = serde_json::to_string(&served.endpoint.suspend_sessions()).unwrap();
    let saved: Vec<SavedHttpSession> = serde_json::from_str(&saved).unwrap();
    let next = serve(A_LONG_TIME).await;
    for session in &saved {
        next.endpoint.restore_session(session).unwrap();
    }
    next
}

/// Returns the data of the next event that has any.
async fn message(raw: &mut Raw) -> Value {
    loop {
        let chunk = raw.chunk().await;
        let data = chunk.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
        if !data.is_empty() {
            return serde_json::from_str(data).unwrap();
        }
    }
}

/// Returns the id of an event.
fn event_id(event: &str) -> String {
    event.lines().next().unwrap().strip_prefix("id: ").unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_continues_in_the_next_process() {
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut served = serve(A_LONG_TIME).await;
        let mut idle = Raw::connect(served.address).await;
        let session = idle.initialize(revision).await;
        let mut events = Raw::connect(served.address).await;
        events.send(listen(&session, "")).await;
        assert!(events.head().await.contains("text/event-stream"));
        let mut open = Raw::connect(served.address).await;
        open.send(legacy(&session, 1, "gate", "open")).await;
        assert_eq!(served.log.next().await, "at the gate open");
        served.stop();
        assert!(idle.is_over().await);
        let late = request(&served, legacy(&session, 2, "note", "late"));
        assert_eq!(served.endpoint.handle(late).await.status(), 503);
        let late = request(&served, listen(&session, ""));
        assert_eq!(served.endpoint.handle(late).await.status(), 503);
        // The open request gets its response.
        served.script.gate.add_permits(1);
        assert_eq!(text_of(&open.answer().await.json()), "through open");
        // The event stream ends, so that the client opens it again.
        while !events.chunk().await.is_empty() {}

        let next = next_of(served).await;
        assert_eq!(next.endpoint.sessions(), 1);
        let mut raw = Raw::connect(next.address).await;
        raw.send(legacy(&session, 3, "echo", "again")).await;
        assert_eq!(text_of(&raw.answer().await.json()), "again", "{revision}");
        let mut events = Raw::connect(next.address).await;
        events.send(listen(&session, "")).await;
        assert!(events.head().await.contains("text/event-stream"));
        raw.send(legacy(&session, 4, "change", "")).await;
        assert_eq!(message(&mut events).await["method"], "notifications/tools/list_changed");
    }
}

/// A response that was complete but not received, and an error for a request that had no response.
#[tokio::test]
async fn streams_are_resumed_in_the_next_process() {
    let mut served = serve(Duration::ZERO).await;
    let session = Raw::connect(served.address).await.initialize("2025-11-25").await;
    let mut done = Raw::connect(served.address).await;
    done.send(legacy(&session, 1, "later", "")).await;
    done.head().await;
    let first = done.chunk().await;
    assert_eq!(served.log.next().await, "closed true");
    served.script.gate.add_permits(1);
    let mut open = Raw::connect(served.address).await;
    open.send(legacy(&session, 2, "later", "")).await;
    open.head().await;
    let second = open.chunk().await;
    assert_eq!(served.log.next().await, "closed true");
    let answered = async {
        while served.endpoint.open_requests() != 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    soon(answered).await;
    served.stop();
    let next = next_of(served).await;
    let mut raw = Raw::connect(next.address).await;
    raw.send(listen(&session, &format!("Last-Event-ID: {}\r\n", event_id(&first)))).await;
    raw.head().await;
    assert_eq!(text_of(&message(&mut raw).await), "later");
    let mut raw = Raw::connect(next.address).await;
    raw.send(listen(&session, &format!("Last-Event-ID: {}\r\n", event_id(&second)))).await;
    raw.head().await;
    let error = json!({"code": -32603, "message": "the connection is shutting down"});
    assert_eq!(message(&mut raw).await, json!({"jsonrpc": "2.0", "id": 2, "error": error}));
    assert_eq!(raw.chunk().await, "", "the stream is complete");
}

/// A request whose response is to be resumed has no HTTP connection, and is finished nevertheless.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_without_a_response_has_its_grace_period() {
    let mut served = serve(A_LONG_TIME).await;
    let session = Raw::connect(served.address).await.initialize("2025-11-25").await;
    let mut raw = Raw::connect(served.address).await;
    raw.send(legacy(&session, 1, "later", "")).await;
    raw.head().await;
    let id = event_id(&raw.chunk().await);
    assert_eq!(raw.chunk().await, "", "the client has to come back");
    assert_eq!(served.log.next().await, "closed true");
    served.stop();
    assert!(raw.is_over().await);
    assert!(!served.task.is_finished());
    served.script.gate.add_permits(1);
    let next = next_of(served).await;
    let mut raw = Raw::connect(next.address).await;
    raw.send(listen(&session, &format!("Last-Event-ID: {id}\r\n"))).await;
    raw.head().await;
    assert_eq!(text_of(&message(&mut raw).await), "later");
}

/// A client must not believe that its session has ended.
#[tokio::test]
async fn a_suspended_session_is_unavailable_and_not_unknown() {
    let mut served = serve(Duration::ZERO).await;
    let session = Raw::connect(served.address).await.initialize("2025-11-25").await;
    let url = served.url();
    served.stop();
    soon(served.task).await.unwrap().unwrap();
    assert_eq!(served.endpoint.suspend_sessions().len(), 1);
    assert_eq!((served.endpoint.sessions(), served.endpoint.suspend_sessions().len()), (0, 0));
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let in_session = format!("Mcp-Session-Id: {session}\r\n");
    for text in [post(&in_session, ping), listen(&session, "")] {
        let request = request_to(&url, text);
        assert_eq!(served.endpoint.handle(request).await.status(), 503);
    }
}

#[tokio::test]
async fn saving_changes_nothing() {
    let served = serve(Duration::ZERO).await;
    let mut raw = Raw::connect(served.address).await;
    let session = raw.initialize("2025-11-25").await;
    let saved = served.endpoint.save_sessions();
    assert_eq!(saved.len(), 1);
    assert_eq!(saved[0].id().unwrap().to_string(), session);
    raw.send(legacy(&session, 1, "echo", "still here")).await;
    assert_eq!(text_of(&raw.answer().await.json()), "still here");
    // The session exists, so it cannot be restored beside itself.
    assert_eq!(served.endpoint.restore_session(&saved[0]), Err(RestoreSessionError::Present));
    raw.send(legacy(&session, 2, "echo", "and here")).await;
    assert_eq!(text_of(&raw.answer().await.json()), "and here");
}

/// A host that hands a session over waits for its open requests, and not for its event stream.
#[tokio::test]
async fn open_requests_of_a_session_are_known() {
    let mut served = serve(A_LONG_TIME).await;
    let session = Raw::connect(served.address).await.initialize("2025-11-25").await;
    let id = SessionId::parse(&session).unwrap();
    let mut events = Raw::connect(served.address).await;
    events.send(listen(&session, "")).await;
    events.head().await;
    assert!(!served.endpoint.has_open_requests(id));
    let mut open = Raw::connect(served.address).await;
    open.send(legacy(&session, 1, "gate", "open")).await;
    assert_eq!(served.log.next().await, "at the gate open");
    assert!(served.endpoint.has_open_requests(id));
    served.script.gate.add_permits(1);
    open.answer().await;
    assert!(!served.endpoint.has_open_requests(id));
    served.endpoint.suspend_session(id).unwrap();
    assert!(!served.endpoint.has_open_requests(id));
}

/// Without the option, sessions end at a shutdown, as modern requests always do.
#[tokio::test]
async fn sessions_end_unless_they_are_kept() {
    let mut served = Served::with(server_config(), EndpointOptions::new(), Duration::ZERO).await;
    Raw::connect(served.address).await.initialize("2025-11-25").await;
    served.stop();
    soon(served.task).await.unwrap().unwrap();
    assert!(served.endpoint.suspend_sessions().is_empty());

    let mut served = serve(Duration::ZERO).await;
    let mut raw = Raw::connect(served.address).await;
    raw.send(modern(1, "wait", "1")).await;
    assert_eq!(served.log.next().await, "waiting 1");
    served.stop();
    assert_eq!(served.log.next().await, "cancelled 1");
    soon(served.task).await.unwrap().unwrap();
    assert!(served.endpoint.suspend_sessions().is_empty());
}

/// The handler of a request learns that its process ends.
#[tokio::test]
async fn handlers_are_cancelled_when_their_session_is_suspended() {
    let mut served = serve(Duration::ZERO).await;
    let session = Raw::connect(served.address).await.initialize("2025-06-18").await;
    let mut raw = Raw::connect(served.address).await;
    raw.send(legacy(&session, 1, "wait", "1")).await;
    assert_eq!(served.log.next().await, "waiting 1");
    served.stop();
    soon(served.task).await.unwrap().unwrap();
    assert_eq!(served.endpoint.suspend_sessions().len(), 1);
    assert_eq!(served.log.next().await, "cancelled 1");
}

/// The client answers the question of a process that is gone, and its request has an error.
#[tokio::test]
async fn a_request_that_waits_for_input_ends_with_an_error() {
    let mut served = serve(Duration::ZERO).await;
    let session = Raw::connect(served.address).await.initialize("2025-11-25").await;
    let mut raw = Raw::connect(served.address).await;
    raw.send(legacy(&session, 1, "need", "")).await;
    raw.head().await;
    let first = raw.chunk().await;
    assert_eq!(message(&mut raw).await["method"], "elicitation/create");
    served.stop();
    let next = next_of(served).await;
    let id = event_id(&first);
    let mut raw = Raw::connect(next.address).await;
    raw.send(listen(&session, &format!("Last-Event-ID: {id}\r\n"))).await;
    raw.head().await;
    assert_eq!(message(&mut raw).await["method"], "elicitation/create", "it is sent again");
    assert_eq!(message(&mut raw).await["error"]["code"], -32603);
}

/// A request whose response is open while its session is suspended.
#[tokio::test]
async fn an_open_response_does_not_say_that_the_session_has_ended() {
    let mut served = serve(A_LONG_TIME).await;
    let session = Raw::connect(served.address).await.initialize("2025-06-18").await;
    let mut raw = Raw::connect(served.address).await;
    raw.send(legacy(&session, 1, "gate", "open")).await;
    assert_eq!(served.log.next().await, "at the gate open");
    served.endpoint.shut_down(A_LONG_TIME);
    assert_eq!(served.endpoint.suspend_sessions().len(), 1);
    assert_eq!(raw.answer().await.status(), "503");
}

/// The requests of a batch are refused one by one.
#[tokio::test]
async fn a_batch_is_not_served_during_the_shutdown() {
    let mut served = serve(A_LONG_TIME).await;
    let session = Raw::connect(served.address).await.initialize("2025-03-26").await;
    served.endpoint.shut_down(A_LONG_TIME);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "note", "arguments": {"text": "x"}}});
    let body = json!([call, {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}]);
    let mut raw = Raw::connect(served.address).await;
    raw.send(post(&format!("Mcp-Session-Id: {session}\r\n"), &body.to_string())).await;
    let answer = raw.answer().await.json();
    assert_eq!(answer[0]["error"], json!({"code": -32603, "message": "the server restarts"}));
    assert_eq!(served.log.next().await, "violation: unknown progress token");
    assert!(served.log.is_silent());
}

/// A configuration with tasks.
fn with_tasks(tasks: &SharedTasks) -> (ServerConfig, EndpointOptions) {
    let mut options = options();
    options.connection = ConnectionOptions::new().tasks(tasks.clone());
    let mut config = server_config();
    config.capabilities = config.capabilities.with_tasks();
    (config, options)
}

/// A session without a principal, and its task. Their process has ended.
struct Outlived {
    session: String,
    saved: SavedHttpSession,
    task: String,
    record: TaskRecord,
}

async fn outlived() -> Outlived {
    let tasks = SharedTasks::default();
    let (config, options) = with_tasks(&tasks);
    let mut served = Served::with(config, options, Duration::ZERO).await;
    let mut raw = Raw::connect(served.address).await;
    let session = raw.initialize("2025-11-25").await;
    let call =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"task","task":{}}}"#;
    raw.send(post(&format!("Mcp-Session-Id: {session}\r\n"), call)).await;
    let answer = raw.answer().await.json();
    let task = answer["result"]["task"]["taskId"].as_str().unwrap().to_owned();
    served.stop();
    soon(served.task).await.unwrap().unwrap();
    let [saved] = served.endpoint.suspend_sessions().try_into().unwrap();
    let records: Vec<_> = tasks.with(|tasks, _| tasks.save_all().collect());
    let [record] = records.try_into().unwrap();
    Outlived { session, saved, task, record }
}

impl Outlived {
    /// A request for the task.
    fn get(&self) -> String {
        let params = json!({"taskId": self.task});
        let get = json!({"jsonrpc": "2.0", "id": 2, "method": "tasks/get", "params": params});
        post(&format!("Mcp-Session-Id: {}\r\n", self.session), &get.to_string())
    }
}

/// Tasks of a session without a principal can be saved after the session, and are reached again.
#[tokio::test]
async fn tasks_of_a_session_outlive_its_process() {
    let outlived = outlived().await;
    let tasks = SharedTasks::default();
    let (config, options) = with_tasks(&tasks);
    let next = Served::with(config, options, Duration::ZERO).await;
    tasks.with(|tasks, _| tasks.restore(outlived.record.clone())).unwrap();
    next.endpoint.restore_session(&outlived.saved).unwrap();
    let mut raw = Raw::connect(next.address).await;
    raw.send(outlived.get()).await;
    assert_eq!(raw.answer().await.json()["result"]["taskId"], *outlived.task);
}

/// A handler that restores a session once more while its connection begins, as a request at another thread may do.
#[derive(Clone, Default)]
struct RestoresAgain(Arc<Mutex<Option<(Endpoint, SavedHttpSession)>>>);

impl Handler<Server> for RestoresAgain {
    async fn serve(&self, exchange: Exchange) {
        panic!("a request for the handler: {:?}", exchange.request().method);
    }

    fn begin(&self, _: &Handle<Server>) {
        let again = self.0.lock().unwrap().take();
        if let Some((endpoint, saved)) = again {
            endpoint.restore_session(&saved).unwrap();
        }
    }
}

/// Of two attempts to restore a session at the same time one fails. It leaves the tasks of the session alone.
#[tokio::test]
async fn a_failed_restore_keeps_the_tasks_of_the_session() {
    let outlived = outlived().await;
    let tasks = SharedTasks::default();
    let (config, options) = with_tasks(&tasks);
    let handler = RestoresAgain::default();
    let endpoint = Endpoint::with(config, options, handler.clone());
    tasks.with(|tasks, _| tasks.restore(outlived.record.clone())).unwrap();
    *handler.0.lock().unwrap() = Some((endpoint.clone(), outlived.saved.clone()));
    let restored = endpoint.restore_session(&outlived.saved);
    assert_eq!(restored, Err(RestoreSessionError::Present));
    assert_eq!((endpoint.sessions(), tasks.with(|tasks, _| tasks.len())), (1, 1));
    let response = endpoint.handle(request_to("http://localhost/mcp", outlived.get())).await;
    assert_eq!(response.status(), 200);
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let answer: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(answer["result"]["taskId"], *outlived.task);
}
