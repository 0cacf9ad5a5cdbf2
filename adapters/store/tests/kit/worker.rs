//! Nodes with a tool that becomes a task, and requests about tasks in both eras.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Request, Response};
use mcp_sansio::http::Reply;
use mcp_sansio::model::{
    CallToolResult, ElicitParams, EmptyCapability, InputRequired, Map, ObjectSchema,
    PrimitiveSchema, StringSchema, TaskSupport,
};
use mcp_sansio::request::TaskMode;
use mcp_sansio::task::{TaskError, TasksConfig};
use mcp_sansio::{ClientRequest, Principal, RespondError};
use mcp_sansio_http::{
    Clock, ConnectionOptions, Endpoint, Exchange, SharedTasks, TaskHandle, new_task,
};
use mcp_sansio_store::{Node, NodeBody, ResumeTask, Store};
use serde_json::{Value, json};

use super::{self as kit, Cluster};

/// What the work of all nodes has done: `begun`, `resumed`, `done` or `stopped`, with the label of the work.
pub(crate) type Journal = Arc<Mutex<Vec<String>>>;

/// Nodes with tasks.
pub(crate) struct Workers {
    pub(crate) cluster: Cluster,
    pub(crate) journal: Journal,
    pub(crate) config: TasksConfig,
    /// One for all nodes: it follows the paused time from here on.
    clock: Clock,
}

impl Workers {
    pub(crate) fn new() -> Self {
        let (cluster, journal) = (Cluster::new(), Journal::default());
        let (config, clock) = (TasksConfig::default(), mcp_sansio_tokio::runtime::clock());
        Self { cluster, journal, config, clock }
    }

    /// As [`new`](Self::new), with nodes that continue the work of nodes that have ended.
    pub(crate) fn resuming() -> Self {
        let mut workers = Self::new();
        workers.cluster.options.resume_task = Some(resume(&workers.journal));
        workers
    }

    pub(crate) async fn start(&self, address: &str) -> Node {
        self.start_on(Arc::new(self.cluster.store.clone()), address).await
    }

    pub(crate) async fn start_on(&self, store: Arc<dyn Store>, address: &str) -> Node {
        self.cluster.start_with(self.endpoint(), store, address).await
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        endpoint(self.config.clone(), self.clock.clone(), &self.journal)
    }

    pub(crate) fn kill(&self, address: &str) {
        self.cluster.kill(address);
    }

    pub(crate) fn journal(&self) -> Vec<String> {
        self.journal.lock().unwrap().clone()
    }
}

/// An endpoint with the tool `work`. Users are in the header field `x-user`.
pub(crate) fn endpoint(tasks: TasksConfig, clock: Clock, journal: &Journal) -> Endpoint {
    let (mut config, options) = kit::configuration();
    config.capabilities = config.capabilities.with_tasks();
    config.capabilities.tasks.as_mut().unwrap().list = Some(EmptyCapability::default());
    let mut options = options.identify(|head| match head.headers.get("x-user") {
        Some(user) => {
            let user = user.to_str().ok().and_then(|user| user.parse().ok());
            user.map(Principal::new).ok_or_else(|| Reply::unauthorized("Bearer"))
        }
        None => Ok(Principal::default()),
    });
    options.connection = ConnectionOptions::new().tasks(SharedTasks::with_clock(tasks, clock));
    let journal = Arc::clone(journal);
    Endpoint::with(config, options, move |exchange| serve(exchange, Arc::clone(&journal)))
}

/// Continues the work of the tool from its checkpoint, which has its arguments.
pub(crate) fn resume(journal: &Journal) -> ResumeTask {
    let journal = Arc::clone(journal);
    Arc::new(move |task, checkpoint| {
        let arguments: Value = serde_json::from_str(&checkpoint).unwrap();
        note(&journal, "resumed", &arguments);
        tokio::spawn(work(task, arguments, Arc::clone(&journal)));
    })
}

fn note(journal: &Journal, what: &str, arguments: &Value) {
    let label = arguments["label"].as_str().unwrap_or("work");
    journal.lock().unwrap().push(format!("{what} {label}"));
}

/// The tool `work`: it takes `time` milliseconds, asks for a name if `asks`, and can be continued if `checkpoint`.
async fn serve(exchange: Exchange, journal: Journal) -> Result<(), RespondError> {
    let ClientRequest::CallTool(call) = &exchange.request().kind else {
        return kit::serve(exchange).await;
    };
    if &*call.name.to_str() != "work" {
        return kit::serve(exchange).await;
    }
    let arguments = call.arguments.as_ref().map_or("{}", |arguments| arguments.as_json());
    let arguments: Value = serde_json::from_str(arguments).unwrap();
    if exchange.task_mode(&TaskSupport::Required)? != Some(TaskMode::Task) {
        return Ok(());
    }
    let mut new = new_task().unwrap();
    if arguments["checkpoint"] == true {
        new = new.checkpoint(arguments.to_string());
    }
    let Ok(task) = exchange.begin_task(new) else {
        return exchange.reject(mcp_sansio::ErrorCode::INTERNAL_ERROR, "no task");
    };
    note(&journal, "begun", &arguments);
    work(task, arguments, journal).await;
    Ok(())
}

async fn work(task: TaskHandle, arguments: Value, journal: Journal) {
    let done = do_work(&task, &arguments).await;
    let what = if done.is_ok() { "done" } else { "stopped" };
    note(&journal, what, &arguments);
}

async fn do_work(task: &TaskHandle, arguments: &Value) -> Result<(), TaskError> {
    let time = Duration::from_millis(arguments["time"].as_u64().unwrap_or(0));
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        () = task.cancelled() => return Err(TaskError::Unknown),
    }
    if arguments["asks"] != true {
        return task.complete(&CallToolResult::text("worked"));
    }
    let name = PrimitiveSchema::String(StringSchema::default());
    let form = ObjectSchema::new(Map::from([("name".into(), name)]));
    let question = ElicitParams::form("Your name?", form);
    let inputs = match task.require_input(&InputRequired::new().elicit("name", question)) {
        Ok(inputs) => inputs.await?,
        // Another node has asked before this work was continued.
        Err(TaskError::BadInput) => task.inputs().await?,
        Err(error) => return Err(error),
    };
    task.complete(&CallToolResult::text(inputs.as_json().to_owned()))
}

/// A client: a user or none, and a session or none, in which case its requests are modern.
#[derive(Clone, Debug, Default)]
pub(crate) struct Client {
    pub(crate) user: Option<u64>,
    pub(crate) session: Option<String>,
}

impl Client {
    pub(crate) fn modern() -> Self {
        Self::default()
    }

    /// Opens a session at a node.
    pub(crate) async fn open(node: &Node, user: Option<u64>) -> Self {
        let client = Self { user, session: None };
        let mut initialize = kit::initialize();
        initialize["params"]["capabilities"] = json!({"elicitation": {}});
        let mut request = kit::request(None, &initialize);
        client.identify(&mut request);
        let response = node.handle(request).await;
        assert_eq!(response.status(), 200);
        let session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        let client = Self { user, session: Some(session) };
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let response = node.handle(client.legacy(&initialized)).await;
        assert_eq!(response.status(), 202);
        client
    }

    fn identify(&self, request: &mut Request<Full<Bytes>>) {
        if let Some(user) = self.user {
            request.headers_mut().insert("x-user", user.into());
        }
    }

    pub(crate) fn legacy(&self, body: &Value) -> Request<Full<Bytes>> {
        let mut request = kit::request(self.session.as_deref(), body);
        self.identify(&mut request);
        request
    }

    pub(crate) fn request(&self, method: &str, mut params: Value) -> Request<Full<Bytes>> {
        if self.session.is_some() {
            if method == "tools/call" {
                params["task"] = json!({"ttl": 600_000});
            }
            return self
                .legacy(&json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}));
        }
        let name =
            params["taskId"].as_str().or_else(|| params["name"].as_str()).unwrap_or("").to_owned();
        let capabilities =
            json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        });
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let mut builder = Request::post("/mcp")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", method);
        if !name.is_empty() {
            builder = builder.header("mcp-name", name);
        }
        let mut request = builder.body(Full::new(Bytes::from(body.to_string()))).unwrap();
        self.identify(&mut request);
        request
    }

    /// Resumes an event stream of the session after an event.
    pub(crate) async fn listen(&self, node: &Node, last_event: &str) -> Response<NodeBody> {
        let session = self.session.as_deref().unwrap();
        let mut request = kit::listen_request(session, Some(last_event));
        self.identify(&mut request);
        node.handle(request).await
    }

    /// Sends a request, and returns the response.
    pub(crate) async fn send(
        &self,
        node: &Node,
        method: &str,
        params: Value,
    ) -> Response<NodeBody> {
        node.handle(self.request(method, params)).await
    }

    /// Sends a request, and returns the status and the message of the response.
    pub(crate) async fn ask(&self, node: &Node, method: &str, params: Value) -> (u16, Value) {
        let mut response = self.send(node, method, params).await;
        let content = response.headers().get("content-type");
        if content.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
            let message = loop {
                let (_, message) = kit::event(&mut response).await;
                if message["id"] == 7 {
                    break message;
                }
            };
            return (200, message);
        }
        kit::whole(response).await
    }

    /// Begins a task, and returns its id.
    pub(crate) async fn begin(&self, node: &Node, arguments: Value) -> String {
        let params = json!({"name": "work", "arguments": arguments});
        let (status, begun) = self.ask(node, "tools/call", params).await;
        assert_eq!(status, 200, "{begun}");
        let result = &begun["result"];
        let id = result["taskId"].as_str().or_else(|| result["task"]["taskId"].as_str());
        id.unwrap_or_else(|| panic!("{begun}")).to_owned()
    }

    pub(crate) async fn get(&self, node: &Node, task: &str) -> Value {
        let (status, message) = self.ask(node, "tasks/get", json!({"taskId": task})).await;
        assert_eq!(status, 200, "{message}");
        if message["result"].is_null() { message } else { message["result"].clone() }
    }

    pub(crate) async fn cancel(&self, node: &Node, task: &str) -> (u16, Value) {
        self.ask(node, "tasks/cancel", json!({"taskId": task})).await
    }

    /// The ids of the listed tasks.
    pub(crate) async fn list(&self, node: &Node) -> Vec<String> {
        let (status, message) = self.ask(node, "tasks/list", json!({})).await;
        assert_eq!(status, 200, "{message}");
        let tasks = message["result"]["tasks"].as_array().unwrap_or_else(|| panic!("{message}"));
        tasks.iter().map(|task| task["taskId"].as_str().unwrap().to_owned()).collect()
    }
}

pub(crate) async fn sleep(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}
