//! Several requestors over HTTP with their tasks, compared with a small model of the ownership.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::config::Listening;
use mcp_sansio::http::{
    Accepted, HttpExchange, HttpServer, HttpServerConfig, RequestHead, RequestSource, ResponsePart,
};
use mcp_sansio::model::CallToolResult;
use mcp_sansio::task::{NewTask, Tasks, TasksConfig};
use mcp_sansio::testing::Choices;
use mcp_sansio::{ClientRequest, ErrorCode, Frames, Instant, Principal, ServerEvent};
use serde_json::{Value, json};

use crate::config;

/// The maximum number of tasks of an owner.
const MOST: usize = 3;

/// An id that no task ever has.
const MISSING: &str = "task-missing";

/// A sender of requests.
struct Client {
    source: RequestSource,
    session: Option<String>,
    /// The owner of the client's tasks. Clients with the same owner reach the same tasks.
    owner: &'static str,
    /// The account of the client. Clients with the same account share a limit.
    account: &'static str,
}

/// The expected state of a task.
struct Expected {
    owner: &'static str,
    account: &'static str,
    is_of_session: bool,
    is_over: bool,
}

struct Run {
    http: HttpServer,
    tasks: Tasks,
    now: Instant,
    clients: Vec<Client>,
    expected: BTreeMap<String, Expected>,
    sessions: u8,
}

/// Lets several clients operate on tasks, and compares their responses with their permissions.
///
/// # Panics
///
/// Panics if a client reaches a foreign task, cannot reach its own, or can distinguish a foreign task from a missing
/// one.
pub fn check_owners(choices: &mut Choices, steps: usize) {
    let mut run = Run::new();
    for _ in 0..steps {
        if choices.is_exhausted() {
            break;
        }
        run.step(choices);
        run.now = run.now + Duration::from_millis(choices.below(100));
    }
}

impl Run {
    fn new() -> Self {
        let mut server = config::server_of_both_eras();
        server.capabilities = server.capabilities.with_tasks();
        server.capabilities.tasks = server.capabilities.tasks.map(|tasks| tasks.listed());
        server.listening = Listening::Asked;
        let mut of_tasks = TasksConfig::default();
        of_tasks.tasks_of_owner = MOST as u32;
        let http = HttpServer::new(Arc::new(HttpServerConfig::default()), Arc::new(server));
        let mut run = Self {
            http,
            tasks: Tasks::new(of_tasks),
            now: Instant::from_millis(1_000_000),
            clients: Vec::new(),
            expected: BTreeMap::new(),
            sessions: 0,
        };
        let known = |number| RequestSource::from(Principal::new(number));
        let from = |last| RequestSource::default().address([192, 0, 2, last]);
        for (source, is_session, owner, account) in [
            (known(1), true, "ann", "ann"),
            (known(1), true, "ann", "ann"),
            (known(1).address([192, 0, 2, 9]), false, "ann", "ann"),
            (known(2), true, "bob", "bob"),
            (known(2), false, "bob", "bob"),
            (from(1), true, "one", "one"),
            (from(1), true, "other", "other"),
            (from(1), false, "anybody", "from 1"),
            (from(2), false, "anybody", "from 2"),
        ] {
            let session = is_session.then(|| run.open(source));
            run.clients.push(Client { source, session, owner, account });
        }
        run
    }

    fn step(&mut self, choices: &mut Choices) {
        let which = choices.below(self.clients.len() as u64) as usize;
        match choices.below(8) {
            0 | 1 => self.begin(which),
            2 => self.complete(choices),
            3 => self.list(which),
            kind => {
                let tasks: Vec<&String> = self.expected.keys().collect();
                let Some(task) = choices.pick(&tasks).cloned() else { return };
                self.try_one(which, kind - 4, &task);
            }
        }
    }

    /// Opens a session and returns its id.
    fn open(&mut self, source: RequestSource) -> String {
        let info = json!({"name": "c", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let exchange = self.post(source, &[], &body).expect("an exchange");
        let (session, _) = self.read(exchange);
        let session = session.expect("the id of a session");
        let body = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let exchange = self.post(source, &[("Mcp-Session-Id", &session)], &body).unwrap();
        self.read(exchange);
        session
    }

    fn begin(&mut self, which: usize) {
        let task = format!("task-{:04}", self.expected.len());
        let Client { owner, account, .. } = self.clients[which];
        let is_of_session = self.clients[which].session.is_some();
        let mut params = json!({"name": "tool", "arguments": {"id": task}});
        if is_of_session {
            params["task"] = json!({});
        }
        let answer = self.ask(which, "tools/call", params, "tool");
        let begun = self.expected.values().filter(|one| one.account == account).count();
        assert_eq!(answer.contains(&task), begun < MOST, "{owner} has {begun}: {answer}");
        if begun < MOST {
            let expected = Expected { owner, account, is_of_session, is_over: false };
            self.expected.insert(task, expected);
        }
    }

    fn complete(&mut self, choices: &mut Choices) {
        let going: Vec<&String> =
            self.expected.iter().filter(|(_, one)| !one.is_over).map(|(id, _)| id).collect();
        let Some(task) = choices.pick(&going).cloned() else { return };
        let key = self.tasks.find(&task).expect("a task");
        self.tasks.complete(key, &CallToolResult::text("done"), self.now).unwrap();
        self.expected.get_mut(&task).unwrap().is_over = true;
    }

    /// Checks that a session lists exactly the tasks that it can reach.
    fn list(&mut self, which: usize) {
        let Client { owner, session: Some(_), .. } = &self.clients[which] else { return };
        let own = self.expected.iter().filter(|(_, one)| one.owner == *owner);
        let own: Vec<String> = own.map(|(id, _)| id.clone()).collect();
        let answer = self.ask(which, "tasks/list", json!({}), "");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let listed = answer["result"]["tasks"].as_array().expect("a list");
        let listed: Vec<&str> = listed.iter().filter_map(|task| task["taskId"].as_str()).collect();
        assert_eq!(listed, own);
    }

    /// Sends a client's request about a task that is its own or a foreign one.
    fn try_one(&mut self, which: usize, kind: u64, task: &str) {
        let is_session = self.clients[which].session.is_some();
        let Expected { owner, is_over, is_of_session, .. } = self.expected[task];
        let is_own = self.clients[which].owner == owner;
        let (method, params): (_, &dyn Fn(&str) -> Value) = match kind {
            0 => ("tasks/get", &|id| json!({"taskId": id})),
            1 => ("tasks/cancel", &|id| json!({"taskId": id})),
            2 if is_session => ("tasks/result", &|id| json!({"taskId": id})),
            2 => ("tasks/update", &|id| json!({"taskId": id, "inputResponses": {}})),
            _ if is_session => return,
            _ => ("subscriptions/listen", &|id| json!({"notifications": {"taskIds": [id]}})),
        };
        if is_own && method == "tasks/result" && !is_over {
            return; // the response would wait for the end of the task
        }
        let response = self.ask(which, method, params(task), task);
        let of_missing = self.ask(which, method, params(MISSING), MISSING);
        if is_own {
            assert_ne!(response, of_missing, "{method}");
            if method == "tasks/cancel" {
                self.expected.get_mut(task).unwrap().is_over = true;
            }
            let shows_id = method == "tasks/get" || method == "subscriptions/listen";
            assert!(!shows_id || response.contains(task), "{is_of_session} {method}: {response}");
        } else {
            assert_eq!(
                response, of_missing,
                "{} asks for a task of {owner}",
                self.clients[which].owner
            );
        }
    }

    /// Sends and serves a request of a client, and returns the immediate response.
    fn ask(&mut self, which: usize, method: &str, mut params: Value, name: &str) -> String {
        let Client { source, session, .. } = &self.clients[which];
        let (source, session) = (*source, session.clone());
        let mut fields: Vec<(&str, &str)> = Vec::new();
        match &session {
            Some(session) => fields.push(("Mcp-Session-Id", session)),
            None => {
                let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
                params["_meta"] = json!({
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": capabilities,
                });
                fields.extend([("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)]);
                if method != "subscriptions/listen" {
                    fields.push(("Mcp-Name", name));
                }
            }
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let exchange = self.post(source, &fields, &body).expect("an exchange");
        let (_, text) = self.read(exchange);
        self.http.disconnected(exchange, self.now);
        while self.http.handle_timeout(self.now).is_some() {}
        text
    }

    /// Passes a POST request to the server and serves its messages.
    fn post(
        &mut self,
        source: RequestSource,
        more: &[(&str, &str)],
        body: &Value,
    ) -> Option<HttpExchange> {
        let mut fields: Vec<(&str, &[u8])> = vec![
            ("Host", b"localhost"),
            ("Content-Type", b"application/json"),
            ("Accept", b"application/json, text/event-stream"),
        ];
        fields.extend(more.iter().map(|(name, value)| (*name, value.as_bytes())));
        let head = RequestHead::new("POST", &*fields);
        assert_eq!(self.http.admit(&head), Ok(Accepted::Post));
        self.sessions += u8::from(body["method"] == "initialize");
        let (random, text, now) = ([self.sessions; 16], body.to_string(), self.now);
        let posted = self.http.post(head.headers, text.as_bytes(), source, random, now, &|_| None);
        let exchange = posted.unwrap()?;
        let limits = self.http.limits().clone();
        for frame in Frames::of(text.as_bytes(), &limits) {
            let event = self.http.receive(exchange, frame, now);
            self.serve(exchange, event.as_ref());
        }
        Some(exchange)
    }

    fn serve(&mut self, exchange: HttpExchange, event: Option<&ServerEvent<'_>>) {
        let (tasks, now) = (&mut self.tasks, self.now);
        let served = self.http.with(exchange.connection(), now, |server, out| match event {
            Some(ServerEvent::Subscribed(subscribed)) => {
                server.tasks(tasks).grant(subscribed.id, None, now, out).unwrap();
            }
            Some(ServerEvent::Request(request)) => match &request.kind {
                ClientRequest::Task(call) => {
                    _ = server.tasks(tasks).serve(request.id, call, now, out).unwrap();
                }
                ClientRequest::Listen(_) => {
                    server.tasks(tasks).grant(request.id, None, now, out).unwrap();
                }
                ClientRequest::CallTool(call) => {
                    let id = call.arguments.as_ref().and_then(|arguments| arguments.get("id"));
                    let id = id.and_then(|id| id.into_str()).unwrap().to_str().into_owned();
                    let begun = server.tasks(tasks).begin(request.id, NewTask::new(id), now, out);
                    if begun.is_err() {
                        let code = ErrorCode::INTERNAL_ERROR;
                        server.reject(request.id, code, "too many", out).unwrap();
                    }
                }
                other => panic!("{other:?}"),
            },
            _ => {}
        });
        assert!(served.is_some(), "the connection has gone");
    }

    /// Returns the id of a session that the response opens, and the available body.
    fn read(&mut self, exchange: HttpExchange) -> (Option<String>, String) {
        let (mut session, mut body) = (None, Vec::new());
        loop {
            match self.http.next(exchange, self.now, &mut body) {
                ResponsePart::Head(head) => session = head.session.map(|id| id.to_string()),
                ResponsePart::Body => {}
                _ => return (session, String::from_utf8(body).unwrap()),
            }
        }
    }
}
