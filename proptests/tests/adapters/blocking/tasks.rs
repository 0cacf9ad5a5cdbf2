//! Tasks that outlive connections.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write, pipe};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use mcp_sansio::model::{
    BooleanSchema, CallToolResult, ElicitParams, ElicitResult, InputRequired, ListChanged,
    ObjectSchema, PrimitiveSchema, TaskSupport, TasksCapability,
};
use mcp_sansio::progress::Progress;
use mcp_sansio::request::TaskMode;
use mcp_sansio::task::{TaskError, TasksConfig};
use mcp_sansio::{
    Client, ClientConfig, ClientRequest, ErrorCode, Principal, Server, ServerConfig, ServerRequest,
};
use mcp_sansio_std::{
    ConnectionOptions, Exchange, Handler, SharedTasks, TaskHandle, TaskInputs, connect_with,
    new_task, serve_with,
};
use serde_json::{Value, json};

/// A timeout longer than any operation of these tests takes, even on a busy computer: a test that reaches it has
/// failed.
const A_LONG_TIME: Duration = Duration::from_secs(120);

/// A handler with tools for each kind of work.
#[derive(Clone)]
struct Tools {
    /// Receives lines about the progress of the work.
    log: Arc<Mutex<Sender<String>>>,
    /// Receives the handles of the tasks that were created.
    handles: Arc<Mutex<Sender<TaskHandle>>>,
}

impl Handler<Server> for Tools {
    fn serve(&self, exchange: &Exchange<Server>) {
        let ClientRequest::CallTool(call) = &exchange.request().kind else {
            return exchange.reject(ErrorCode::METHOD_NOT_FOUND, "tools only").unwrap();
        };
        let name = call.name.to_str().into_owned();
        if name == "inline" {
            return exchange.respond(&CallToolResult::text("inline")).unwrap();
        }
        if exchange.task_mode(&TaskSupport::Required).unwrap() != Some(TaskMode::Task) {
            return;
        }
        let mut new = new_task().unwrap();
        if name.starts_with("brief") {
            new = new.ttl(Some(Duration::from_millis(50)));
        }
        let task = exchange.begin_task(new).unwrap();
        assert!(exchange.is_cancelled(), "the request has been answered");
        self.work(&name, task);
    }
}

impl Tools {
    fn log(&self, line: &str) {
        _ = self.log.lock().unwrap().send(line.into());
    }

    fn work(&self, name: &str, task: TaskHandle) {
        match name {
            "wait" | "brief" => {
                let cancelled = task.wait_cancelled(A_LONG_TIME);
                let late = task.complete(&CallToolResult::text("late"));
                self.log(&format!("cancelled {cancelled}, then {late:?}"));
            }
            "ask" => {
                let reported = task.require_input(&question()).and_then(TaskInputs::wait);
                self.log(&format!("{reported:?}"));
                if let Ok(answers) = reported {
                    let answer = answers.get("confirm").map(|answer| answer.to_string());
                    let text = answer.unwrap_or_default();
                    task.complete(&CallToolResult::text(text)).unwrap();
                }
            }
            "panic" => panic!("as asked"),
            "forget" => {}
            _ => self.handles.lock().unwrap().send(task).unwrap(),
        }
    }
}

fn question() -> InputRequired<'static> {
    let field = PrimitiveSchema::Boolean(BooleanSchema::default());
    let schema = ObjectSchema::new([("confirm".into(), field)].into_iter().collect());
    InputRequired::new().elicit("confirm", ElicitParams::form("Really?", schema))
}

fn server_config() -> ServerConfig {
    let mut config = ServerConfig::new("server", "1");
    config.capabilities.tools = Some(ListChanged::default());
    config.capabilities = config.capabilities.with_tasks();
    config.capabilities.tasks = Some(TasksCapability::of_tools().listed());
    config
}

/// A server, from which any number of connections can be opened.
struct Host {
    tasks: SharedTasks,
    tools: Tools,
    log: Receiver<String>,
    handles: Receiver<TaskHandle>,
}

impl Host {
    fn new() -> Self {
        Self::with(TasksConfig::default())
    }

    fn with(mut config: TasksConfig) -> Self {
        config.notify = false;
        let (log_sender, log) = channel();
        let (handle_sender, handles) = channel();
        let tools = Tools {
            log: Arc::new(Mutex::new(log_sender)),
            handles: Arc::new(Mutex::new(handle_sender)),
        };
        Self { tasks: SharedTasks::new(config), tools, log, handles }
    }

    /// Returns the next line of the handler's log.
    fn next_handler_log_line(&self) -> String {
        self.log.recv_timeout(A_LONG_TIME).unwrap()
    }

    /// Returns the handle of the next task.
    fn handle(&self) -> TaskHandle {
        self.handles.recv_timeout(A_LONG_TIME).unwrap()
    }

    /// Connects a client that has not sent a message yet.
    fn connect_as(&self, tasks: SharedTasks) -> Peer {
        let config = server_config();
        let (from_client, to_server) = pipe().unwrap();
        let (from_server, to_client) = pipe().unwrap();
        let tools = self.tools.clone();
        thread::spawn(move || {
            serve_with(
                config,
                &ConnectionOptions::new().tasks(tasks),
                from_client,
                to_client,
                tools,
            )
        });
        Peer::new(from_server, to_server)
    }

    /// Connects a client with an outbox of this size on the server.
    fn connect_with_room(&self, bytes: usize) -> (PipeReader, PipeWriter) {
        let mut config = server_config();
        config.connection.limits.outbox_bytes = bytes;
        let (from_client, to_server) = pipe().unwrap();
        let (from_server, to_client) = pipe().unwrap();
        let (tools, tasks) = (self.tools.clone(), self.tasks.clone());
        thread::spawn(move || {
            serve_with(
                config,
                &ConnectionOptions::new().tasks(tasks),
                from_client,
                to_client,
                tools,
            )
        });
        (from_server, to_server)
    }

    fn connect(&self) -> Peer {
        self.connect_as(self.tasks.clone())
    }

    /// Connects a client and initializes a session.
    fn session(&self) -> Peer {
        let mut peer = self.connect();
        peer.initialize();
        peer
    }
}

/// A client or server that reads and writes raw messages.
struct Peer {
    lines: Receiver<Value>,
    writer: PipeWriter,
    is_in_session: bool,
    next_id: u32,
    /// Messages that were received while another message was awaited.
    aside: Vec<Value>,
}

impl Peer {
    fn new(reader: PipeReader, writer: PipeWriter) -> Self {
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(reader).lines() {
                let line = line.unwrap();
                if sender.send(serde_json::from_str(&line).unwrap()).is_err() {
                    return;
                }
            }
        });
        Self { lines, writer, is_in_session: false, next_id: 1, aside: Vec::new() }
    }

    fn initialize(&mut self) {
        let capabilities = json!({"elicitation": {}});
        let info = json!({"name": "c", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": info});
        self.is_in_session = true;
        let result = self.ask("initialize", params);
        assert!(result["result"]["capabilities"]["tasks"]["list"].is_object(), "{result}");
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.writer, "{message}").unwrap();
    }

    /// Sends a request and returns its id.
    fn request(&mut self, method: &str, mut params: Value) -> Value {
        let id = json!(self.next_id);
        self.next_id += 1;
        if !self.is_in_session {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {
                    "elicitation": {"form": {}},
                    "extensions": {"io.modelcontextprotocol/tasks": {}},
                },
            });
        }
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn next(&self) -> Value {
        self.lines.recv_timeout(A_LONG_TIME).unwrap()
    }

    /// Returns the next message with this method.
    fn next_of(&mut self, method: &str) -> Value {
        self.next_that(|message| message["method"] == method)
    }

    /// Returns the response to a request.
    fn answer(&mut self, id: &Value) -> Value {
        self.next_that(|message| message["id"] == *id && message["method"].is_null())
    }

    fn next_that(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.aside.iter().position(&is_it) {
            return self.aside.remove(at);
        }
        loop {
            let message = self.next();
            if is_it(&message) {
                return message;
            }
            self.aside.push(message);
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(&id)
    }

    /// Calls a tool that becomes a task, and returns the task id.
    fn begin(&mut self, tool: &str) -> Value {
        self.begin_with(json!({"name": tool}))
    }

    fn begin_with(&mut self, mut params: Value) -> Value {
        if self.is_in_session {
            params["task"] = json!({});
            return self.ask("tools/call", params)["result"]["task"]["taskId"].clone();
        }
        let created = self.ask("tools/call", params);
        assert_eq!(created["result"]["resultType"], "task", "{created}");
        created["result"]["taskId"].clone()
    }

    fn get(&mut self, task: &Value) -> Value {
        self.ask("tasks/get", json!({"taskId": task}))["result"].clone()
    }

    fn result(&mut self, task: &Value) -> Value {
        self.request("tasks/result", json!({"taskId": task}))
    }
}

#[test]
fn a_task_is_begun_looked_at_and_completed() {
    let host = Host::new();
    for mut peer in [host.session(), host.connect()] {
        let task = peer.begin("work");
        let work = host.handle();
        assert_eq!(peer.get(&task)["status"], "working");
        work.set_message("half way").unwrap();
        assert_eq!(peer.get(&task)["statusMessage"], "half way");
        assert!(!work.is_cancelled());
        work.complete(&CallToolResult::text("done")).unwrap();
        assert_eq!(peer.get(&task)["status"], "completed");
        assert!(work.is_cancelled(), "there is nothing more to do");
        assert!(matches!(work.set_message("more"), Err(TaskError::Final(_))));
        drop(work);
        let shown = peer.get(&task);
        assert_eq!(shown["status"], "completed", "nothing happens to it afterwards");
        let is_stateless = !peer.is_in_session;
        assert_eq!(shown["result"]["content"][0]["text"] == "done", is_stateless);
    }
}

#[test]
fn each_tasks_result_request_waits_for_completion() {
    let host = Host::new();
    let mut peer = host.session();
    let task = peer.begin("work");
    let (first, second) = (peer.result(&task), peer.result(&task));
    // Later requests get their responses earlier.
    assert_eq!(peer.get(&task)["status"], "working");
    host.handle().complete(&CallToolResult::text("done")).unwrap();
    for waiter in [first, second] {
        let answer = peer.answer(&waiter);
        assert_eq!(answer["result"]["content"][0]["text"], "done");
        let related = &answer["result"]["_meta"]["io.modelcontextprotocol/related-task"];
        assert_eq!(related["taskId"], task);
    }
}

#[test]
fn cancelling_a_task_stops_the_work() {
    let host = Host::new();
    for mut peer in [host.session(), host.connect()] {
        let task = peer.begin("wait");
        let cancelled = peer.ask("tasks/cancel", json!({"taskId": task}));
        assert!(cancelled["result"].is_object(), "{cancelled}");
        assert_eq!(host.next_handler_log_line(), "cancelled true, then Err(Final(Cancelled))");
        assert_eq!(peer.get(&task)["status"], "cancelled");
    }
}

#[test]
fn a_task_asks_in_a_session() {
    let host = Host::new();
    let mut peer = host.session();
    let task = peer.begin("ask");
    let asked = peer.next_of("elicitation/create");
    let related = &asked["params"]["_meta"]["io.modelcontextprotocol/related-task"];
    assert_eq!(related["taskId"], task);
    assert_eq!(peer.get(&task)["status"], "input_required");
    let reported = json!({"action": "accept", "content": {"confirm": true}});
    peer.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": reported}));
    assert!(host.next_handler_log_line().starts_with("Ok("));
    let waiter = peer.result(&task);
    let text = peer.answer(&waiter)["result"]["content"][0]["text"].clone();
    assert_eq!(serde_json::from_str::<Value>(text.as_str().unwrap()).unwrap(), reported);
}

#[test]
fn a_task_asks_without_a_session() {
    let host = Host::new();
    let mut peer = host.connect();
    let task = peer.begin("ask");
    let shown = loop {
        let shown = peer.get(&task);
        if shown["status"] == "input_required" {
            break shown;
        }
    };
    assert_eq!(shown["inputRequests"]["confirm"]["method"], "elicitation/create");
    let reported = json!({"action": "accept", "content": {"confirm": true}});
    let update = json!({"taskId": task, "inputResponses": {"confirm": reported}});
    assert!(peer.ask("tasks/update", update)["result"].is_object());
    host.next_handler_log_line();
    let shown = loop {
        let shown = peer.get(&task);
        if shown["status"] != "working" {
            break shown;
        }
    };
    assert_eq!(shown["status"], "completed");
}

#[test]
fn a_task_that_is_cancelled_while_it_asks_goes_no_further() {
    let host = Host::new();
    let mut peer = host.session();
    let task = peer.begin("ask");
    let asked = peer.next_of("elicitation/create");
    peer.ask("tasks/cancel", json!({"taskId": task}));
    assert_eq!(host.next_handler_log_line(), "Err(Final(Cancelled))");
    let withdrawn = peer.next_of("notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], asked["id"]);
}

#[test]
fn work_that_panics_or_is_forgotten_fails_the_task() {
    let host = Host::new();
    let mut peer = host.session();
    for tool in ["panic", "forget"] {
        let task = peer.begin(tool);
        let waiter = peer.result(&task);
        let error = peer.answer(&waiter)["error"].clone();
        assert_eq!(error["code"], -32603);
        assert_eq!(error["message"], "the work has ended without a result");
    }
    let inline = peer.ask("tools/call", json!({"name": "inline"}));
    assert_eq!(inline["result"]["content"][0]["text"], "inline");
}

#[test]
fn a_task_outlives_the_connection_it_was_begun_on() {
    let host = Host::new();
    let mut peer = host.session();
    let task = peer.begin("work");
    let work = host.handle();
    drop(peer);
    let (mut waiting, mut stateless) = (host.session(), host.connect());
    let waiter = waiting.result(&task);
    assert_eq!(waiting.get(&task)["status"], "working");
    work.progress(Progress::new(1_u8)).unwrap();
    work.complete(&CallToolResult::text("done")).unwrap();
    assert_eq!(waiting.answer(&waiter)["result"]["content"][0]["text"], "done");
    assert_eq!(stateless.get(&task)["result"]["content"][0]["text"], "done");
}

/// A request of a task on a connection that has ended is sent again on the connection that requests the result.
#[test]
fn a_question_moves_to_the_connection_that_waits() {
    let host = Host::new();
    let mut peer = host.session();
    let task = peer.begin("ask");
    peer.next_of("elicitation/create");
    drop(peer);
    let mut peer = host.session();
    let waiter = peer.result(&task);
    let asked = peer.next_of("elicitation/create");
    let reported = json!({"action": "decline"});
    peer.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": reported}));
    let text = peer.answer(&waiter)["result"]["content"][0]["text"].clone();
    assert_eq!(text, reported.to_string());
}

/// A cancellation on one connection ends the wait for the result on another one.
#[test]
fn a_cancellation_ends_result_waits_on_other_connections() {
    let host = Host::new();
    let (mut one, mut other) = (host.session(), host.session());
    let task = one.begin("work");
    let work = host.handle();
    let waiter = one.result(&task);
    one.get(&task);
    other.ask("tasks/cancel", json!({"taskId": task}));
    assert_eq!(one.answer(&waiter)["error"]["code"], -32603);
    drop(work);
    // Both connections cancel the tasks of each other at the same time.
    let tasks: Vec<_> = (0..50).map(|_| (one.begin("wait"), other.begin("wait"))).collect();
    let waiters: Vec<_> =
        tasks.iter().map(|(ones, others)| (one.result(ones), other.result(others))).collect();
    for (ones, others) in &tasks {
        one.request("tasks/cancel", json!({"taskId": others}));
        other.request("tasks/cancel", json!({"taskId": ones}));
    }
    for (ones, others) in waiters {
        assert_eq!(one.answer(&ones)["error"]["code"], -32603);
        assert_eq!(other.answer(&others)["error"]["code"], -32603);
    }
}

#[test]
fn a_task_whose_time_is_over_is_forgotten_and_its_work_stops() {
    let host = Host::new();
    let mut peer = host.session();
    let task = peer.begin("brief");
    let waiter = peer.result(&task);
    assert_eq!(peer.answer(&waiter)["error"]["code"], -32602);
    assert_eq!(host.next_handler_log_line(), "cancelled true, then Err(Unknown)");
    // The same holds if the work does not wait on the task,
    let task = peer.begin("brief work");
    let waiter = peer.result(&task);
    assert_eq!(peer.answer(&waiter)["error"]["code"], -32602);
    assert!(host.handle().is_cancelled());
    // and if no connection is open.
    let mut peer = host.session();
    peer.begin("brief");
    drop(peer);
    assert_eq!(host.next_handler_log_line(), "cancelled true, then Err(Unknown)");
}

/// At most 64 handlers run at a time; handlers whose requests have become tasks do not count.
#[test]
fn handlers_that_work_on_tasks_keep_no_others_waiting() {
    let host = Host::new();
    let mut peer = host.session();
    let tasks: Vec<_> = (0..100).map(|_| peer.begin("wait")).collect();
    let inline = peer.ask("tools/call", json!({"name": "inline"}));
    assert_eq!(inline["result"]["content"][0]["text"], "inline");
    for task in tasks {
        peer.ask("tasks/cancel", json!({"taskId": task}));
    }
    for _ in 0..100 {
        assert_eq!(host.next_handler_log_line(), "cancelled true, then Err(Final(Cancelled))");
    }
}

#[test]
fn each_principal_sees_only_its_own_tasks() {
    let host = Host::new();
    let mut one = host.session();
    let mut other = host.connect_as(host.tasks.on_behalf_of(Principal::new(7)));
    other.initialize();
    let task = one.begin("work");
    assert_eq!(other.ask("tasks/get", json!({"taskId": task}))["error"]["code"], -32602);
    let listed = |peer: &mut Peer| peer.ask("tasks/list", json!({}))["result"]["tasks"].clone();
    assert_eq!(listed(&mut other), json!([]));
    assert_eq!(listed(&mut one)[0]["taskId"], task);
}

#[test]
fn progress_of_a_task_goes_where_it_was_asked_for() {
    let host = Host::new();
    let mut peer = host.session();
    let task = peer.begin_with(json!({"name": "work", "_meta": {"progressToken": "p"}}));
    host.handle().progress(Progress::new(1_u8).total(2_u8)).unwrap();
    let progress = peer.next_of("notifications/progress");
    assert_eq!(progress["params"]["progressToken"], "p");
    let related = &progress["params"]["_meta"]["io.modelcontextprotocol/related-task"];
    assert_eq!(related["taskId"], task);
}

#[test]
fn a_subscription_receives_task_notifications() {
    let host = Host::new();
    let mut peer = host.connect();
    let task = peer.begin("work");
    peer.request("subscriptions/listen", json!({"notifications": {"taskIds": [task, "no"]}}));
    let acknowledged = peer.next_of("notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["notifications"]["taskIds"], json!([task]));
    assert_eq!(peer.next_of("notifications/tasks")["params"]["status"], "working");
    host.handle().complete(&CallToolResult::text("done")).unwrap();
    assert_eq!(peer.next_of("notifications/tasks")["params"]["status"], "completed");
}

/// If the application cancels a task through `SharedTasks`, the work and the waiting requests are notified.
#[test]
fn the_program_can_look_at_the_tasks_and_end_them() {
    let host = Host::new();
    let mut peer = host.session();
    let task = peer.begin("wait");
    let waiter = peer.result(&task);
    peer.get(&task);
    host.tasks.with(|tasks, now| {
        let key = tasks.find(task.as_str().unwrap()).unwrap();
        tasks.cancel(key, now).unwrap();
    });
    assert_eq!(host.next_handler_log_line(), "cancelled true, then Err(Final(Cancelled))");
    assert_eq!(peer.answer(&waiter)["error"]["code"], -32603);
}

/// A client can respond to a request of the server with a task.
#[test]
fn a_client_has_tasks_too() {
    let mut config = ClientConfig::new("c", "1");
    config.revisions = mcp_sansio::RevisionSet::LEGACY;
    config.capabilities.elicitation = Some(Default::default());
    config.capabilities.tasks = Some(TasksCapability::of_questions());
    let tasks = SharedTasks::default();
    let (from_server, to_client) = pipe().unwrap();
    let (from_client, to_server) = pipe().unwrap();
    let opened = thread::spawn(move || {
        let answer = |exchange: &Exchange<Client>| {
            assert!(matches!(exchange.request().kind, ServerRequest::Elicit { .. }));
            let task = exchange.begin_task(new_task().unwrap()).unwrap();
            task.complete(&ElicitResult::cancel()).unwrap();
            Ok(())
        };
        connect_with(config, &ConnectionOptions::new().tasks(tasks), from_server, to_server, answer)
            .unwrap()
    });
    let mut server = Peer::new(from_client, to_client);
    server.is_in_session = true;
    let asked = server.next_of("initialize");
    let info = json!({"name": "s", "version": "1"});
    let result = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info});
    server.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}));
    server.next_of("notifications/initialized");
    let connection = opened.join().unwrap();
    let schema = json!({"type": "object", "properties": {}});
    let params = json!({"message": "?", "requestedSchema": schema, "task": {}});
    let created = server.ask("elicitation/create", params);
    let task = created["result"]["task"]["taskId"].clone();
    let waiter = server.result(&task);
    assert_eq!(server.answer(&waiter)["result"]["action"], "cancel");
    drop(connection);
}

/// Requests about tasks get responses although the peer reads late.
#[test]
fn answers_about_tasks_wait_for_room() {
    let host = Host::new();
    let (from_server, to_server) = host.connect_with_room(2_000);
    let mut asking = Peer::new(pipe().unwrap().0, to_server);
    let mut first = host.connect();
    let task = first.begin("work");
    host.handle().complete(&CallToolResult::text("x".repeat(1_000))).unwrap();
    // More responses than the pipe and the outbox hold together.
    let ids: Vec<_> =
        (0..200).map(|_| asking.request("tasks/get", json!({"taskId": task}))).collect();
    let mut peer = Peer::new(from_server, asking.writer);
    for id in ids {
        assert!(!peer.answer(&id)["result"].is_null());
    }
}

/// A result that can never fit into the outbox is replaced by an error, and blocks no other response.
#[test]
fn a_result_that_is_too_large_is_refused() {
    let host = Host::new();
    let (reader, writer) = host.connect_with_room(2_000);
    let mut peer = Peer::new(reader, writer);
    peer.initialize();
    let tasks = [(); 2].map(|()| (peer.begin("work"), host.handle()));
    let waiters = tasks.each_ref().map(|(task, _)| peer.result(task));
    peer.get(&tasks[1].0);
    let [(_, large), (_, small)] = tasks;
    large.complete(&CallToolResult::text("x".repeat(5_000))).unwrap();
    small.complete(&CallToolResult::text("done")).unwrap();
    assert_eq!(peer.answer(&waiters[0])["error"]["code"], -32603);
    assert_eq!(peer.answer(&waiters[1])["result"]["content"][0]["text"], "done");
}

#[test]
fn there_is_no_task_where_there_are_none() {
    let (from_client, to_server) = pipe().unwrap();
    let (from_server, to_client) = pipe().unwrap();
    thread::spawn(move || {
        let mut config = ServerConfig::new("server", "1");
        config.capabilities.tools = Some(ListChanged::default());
        let begin = |exchange: &Exchange<Server>| match exchange.begin_task(new_task().unwrap()) {
            Err(error) => exchange.respond(&CallToolResult::error(error.to_string())),
            Ok(_) => Ok(()),
        };
        mcp_sansio_std::serve(config, from_client, to_client, begin)
    });
    let mut peer = Peer::new(from_server, to_server);
    let answer = peer.ask("tools/call", json!({"name": "any"}));
    assert_eq!(answer["result"]["isError"], true);
}

/// Any connection that shares a task notices the end of its time to live. This includes a connection without a
/// deadline of its own when the task was created. The future `cancelled` resolves, too.
#[test]
fn connections_look_at_the_time_for_each_other() {
    let host = Host::new();
    let mut idle = host.session();
    let mut brief = host.session();
    brief.begin("brief work");
    let task = host.handle();
    drop(brief);
    let (sender, noticed) = channel();
    thread::spawn(move || {
        // Awaits like a task of an async runtime, without checking the time itself.
        mcp_sansio_std::Waiting::new(task.cancelled()).wait();
        sender.send(()).unwrap();
    });
    noticed.recv_timeout(A_LONG_TIME).unwrap();
    assert!(idle.ask("ping", json!({}))["result"].is_object());
}
