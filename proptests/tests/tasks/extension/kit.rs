//! Messages of the extension, and a server that hosts tasks.

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::config::Listening;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{
    ElicitParams, InputRequired, ListChanged, Map, ObjectSchema, PrimitiveSchema,
    ResourcesCapability, StringSchema,
};
use mcp_sansio::task::{NewTask, TaskKey, TaskNews, Tasks, TasksConfig};
use mcp_sansio::{
    ClientRequest, ConnectionNumber, ErrorCode, Frame, Framing, IncomingId, Limits, Outbox,
    Principal, Received, Request, Revision, Server, ServerConfig, ServerEvent,
};
use mcp_sansio_proptests::ServerSide;

/// The `_meta` of a result that identifies the server.
pub(crate) const SERVER: &str =
    r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"server","version":"1"}}"#;

/// The capabilities of a client with the extension.
pub(crate) const KNOWING: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

/// The capabilities of a client with the extension and every kind of input.
pub(crate) const ABLE: &str = r#"{"roots":{},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

/// The times of a task that began with the tests and has not changed since.
pub(crate) const TIMES: &str =
    r#""createdAt":"1970-01-01T00:16:40.000Z","lastUpdatedAt":"1970-01-01T00:16:40.000Z""#;

/// The default `ttlMs` and `pollIntervalMs` of a task.
pub(crate) const PACE: &str = r#""ttlMs":3600000,"pollIntervalMs":1000"#;

/// The result of a completed tool call.
pub(crate) const DONE: &str = r#""content":[{"type":"text","text":"done"}]"#;

/// An input request to the user, as it occurs in a task.
pub(crate) const QUESTION: &str = r#"{"method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}"#;

/// An answer to that request.
pub(crate) const ANSWER: &str = r#"{"action":"accept","content":{"name":"Ann"}}"#;

/// A modern request with these capabilities and these members of its params.
pub(crate) fn of_client(id: &str, method: &str, capabilities: &str, members: &str) -> String {
    let comma = if members.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{capabilities}}}{comma}{members}}}}}"#
    )
}

/// The same, of a client with the extension.
pub(crate) fn knowing(id: &str, method: &str, members: &str) -> String {
    of_client(id, method, KNOWING, members)
}

/// A legacy request.
pub(crate) fn of_session(id: &str, method: &str, members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{members}}}}}"#)
}

/// A `tasks/get` request.
pub(crate) fn get(id: &str, task: &str) -> String {
    knowing(id, "tasks/get", &format!(r#""taskId":"{task}""#))
}

/// A `tasks/cancel` request.
pub(crate) fn cancel(id: &str, task: &str) -> String {
    knowing(id, "tasks/cancel", &format!(r#""taskId":"{task}""#))
}

/// A `tasks/update` request: members with an answer under each key.
pub(crate) fn update(id: &str, task: &str, answers: &str) -> String {
    let members = format!(r#""taskId":"{task}","inputResponses":{{{answers}}}"#);
    knowing(id, "tasks/update", &members)
}

/// A `subscriptions/listen` request for tasks, a list of their ids.
pub(crate) fn listen(id: &str, tasks: &str) -> String {
    listen_to(id, &format!(r#""taskIds":[{tasks}]"#))
}

/// A `subscriptions/listen` request with this filter.
pub(crate) fn listen_to(id: &str, filter: &str) -> String {
    knowing(id, "subscriptions/listen", &format!(r#""notifications":{{{filter}}}"#))
}

/// The acknowledgement of a subscription.
pub(crate) fn acknowledged(id: &str, filter: &str) -> String {
    let members = format!(r#""notifications":{{{filter}}}"#);
    tagged(id, "notifications/subscriptions/acknowledged", &members)
}

/// The notification of a subscription about a task.
pub(crate) fn task_notification(id: &str, task: &str) -> String {
    tagged(id, "notifications/tasks", task)
}

/// A notification of a subscription, with these members before its tag.
pub(crate) fn tagged(id: &str, method: &str, members: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"{method}","params":{{{members},"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
    )
}

/// The end of a subscription by the server.
pub(crate) fn ended(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","_meta":{{"io.modelcontextprotocol/subscriptionId":{id},"io.modelcontextprotocol/serverInfo":{{"name":"server","version":"1"}}}}}}}}"#
    )
}

/// A result of this kind, in wire form.
pub(crate) fn result(id: &str, kind: &str, members: &str) -> String {
    let comma = if members.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"{kind}"{comma}{members},{SERVER}}}}}"#
    )
}

/// A complete result, in wire form.
pub(crate) fn complete(id: &str, members: &str) -> String {
    result(id, "complete", members)
}

/// A legacy result, in wire form.
pub(crate) fn plain(id: &str, members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{members}}}}}"#)
}

/// An error, in wire form.
pub(crate) fn error(id: &str, code: i64, message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#)
}

/// The error for an unknown task or a task of another requestor.
pub(crate) fn unknown(id: &str) -> String {
    error(id, -32602, "no such task")
}

/// The error for a request without the declaration of the extension.
pub(crate) fn undeclared(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32021,"message":"Missing required client capability","data":{{"requiredCapabilities":{{"extensions":{{"io.modelcontextprotocol/tasks":{{}}}}}}}}}}}}"#
    )
}

/// The error for a method that does not exist or is not available.
pub(crate) fn unavailable(id: &str) -> String {
    error(id, -32601, "method not available in this session")
}

/// The members of a new task.
pub(crate) fn fresh(task: &str, status: &str) -> String {
    format!(r#""taskId":"{task}","status":"{status}",{TIMES},{PACE}"#)
}

/// The same with one more member.
pub(crate) fn detailed(task: &str, status: &str, more: &str) -> String {
    format!("{},{more}", fresh(task, status))
}

/// The acknowledged filter with these tasks, a list of their ids.
pub(crate) fn granted(list: &str) -> String {
    format!(r#""taskIds":[{list}]"#)
}

/// The members of a completed task.
pub(crate) fn ended_well(task: &str) -> String {
    let outcome = format!(r#""result":{{"resultType":"complete",{DONE}}}"#);
    detailed(task, "completed", &outcome)
}

/// A form with one field.
pub(crate) fn form() -> ElicitParams<'static> {
    let mut fields = Map::default();
    fields.insert("name", PrimitiveSchema::String(StringSchema::default()));
    let mut schema = ObjectSchema::new(fields);
    schema.required = Some(["name".into()].to_vec());
    ElicitParams::form("who?", schema)
}

/// A form under each of these keys.
pub(crate) fn questions(keys: &[&'static str]) -> InputRequired<'static> {
    keys.iter().fold(InputRequired::new(), |asked, key| asked.elicit(*key, form()))
}

/// A tool result.
pub(crate) fn done() -> Raw<'static> {
    Raw::new(r#"{"content":[{"type":"text","text":"done"}]}"#).unwrap()
}

/// A server configuration with every capability, including tasks, whose application decides on subscriptions.
pub(crate) fn config() -> ServerConfig {
    let mut config = mcp_sansio_proptests::config::server_of_both_eras();
    config.capabilities = config.capabilities.with_tasks();
    config.capabilities.tools = Some(ListChanged::notified());
    config.capabilities.resources = Some(ResourcesCapability::notified());
    config.listening = Listening::Asked;
    config
}

/// A connection with this number.
pub(crate) fn connection(number: u32, config: ServerConfig) -> ServerSide {
    let mut side = ServerSide::with(config.clone());
    side.server = Server::with_connection_number(Arc::new(config), ConnectionNumber::new(number));
    side
}

/// The same, with a session whose client supports every kind of input.
pub(crate) fn in_session(number: u32, config: ServerConfig) -> ServerSide {
    let mut side = connection(number, config);
    open_session(&mut side, "");
    side
}

/// Opens a session of 2025-11-25 on the connection, with more client capabilities.
pub(crate) fn open_session(side: &mut ServerSide, more: &str) {
    let initialize = of_session(
        r#""init""#,
        "initialize",
        &format!(
            r#""protocolVersion":"2025-11-25","capabilities":{{"elicitation":{{}},"sampling":{{}},"roots":{{}}{more}}},"clientInfo":{{"name":"c","version":"1"}}"#
        ),
    );
    assert!(matches!(side.receive(&initialize), Some(ServerEvent::Opened(_))));
    let ready = side.receive(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(ready, Some(ServerEvent::Ready));
    assert_eq!(side.server.revision(), Some(Revision::V2025_11_25));
    assert_eq!(side.sent().len(), 1);
}

/// Receives a frame of this principal, and returns the request for the application.
#[track_caller]
pub(crate) fn request_of(side: &mut ServerSide, frame: &str, owner: u64) -> Request<'static> {
    let received = Received::from(side.now).principal(Principal::new(owner));
    let event = side.server.receive(Frame::from(frame.as_bytes()), received, &mut side.out);
    match event.map(ServerEvent::into_owned) {
        Some(ServerEvent::Request(request)) => request,
        other => panic!("not a request for the application: {other:?}"),
    }
}

/// Serves a request about a task.
#[track_caller]
pub(crate) fn serve_of(
    side: &mut ServerSide,
    tasks: &mut Tasks,
    frame: &str,
    owner: u64,
) -> Option<TaskNews> {
    let request = request_of(side, frame, owner);
    let ClientRequest::Task(call) = &request.kind else { panic!("not about a task: {request:?}") };
    side.server.tasks(tasks).serve(request.id, call, side.now, &mut side.out).unwrap()
}

/// The same for the default principal.
#[track_caller]
pub(crate) fn serve(side: &mut ServerSide, tasks: &mut Tasks, frame: &str) -> Option<TaskNews> {
    serve_of(side, tasks, frame, 0)
}

/// A server on its first connection, and its tasks.
#[derive(Clone)]
pub(crate) struct Host {
    pub(crate) side: ServerSide,
    pub(crate) tasks: Tasks,
}

impl Host {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    /// A host with another configuration of tasks.
    pub(crate) fn with(change: impl FnOnce(&mut TasksConfig)) -> Self {
        let mut of_tasks = TasksConfig::default();
        change(&mut of_tasks);
        Self { side: connection(0, config()), tasks: Tasks::new(of_tasks) }
    }

    /// A host with another configuration of the server.
    pub(crate) fn configured(change: impl FnOnce(&mut ServerConfig)) -> Self {
        let mut of_server = config();
        change(&mut of_server);
        Self { side: connection(0, of_server), tasks: Tasks::default() }
    }

    /// The request that a frame delivers to the application.
    #[track_caller]
    pub(crate) fn request(&mut self, frame: &str) -> Request<'static> {
        request_of(&mut self.side, frame, 0)
    }

    /// A tool call of a client that supports every kind of input.
    #[track_caller]
    pub(crate) fn called(&mut self, id: &str) -> IncomingId {
        self.request(&of_client(id, "tools/call", ABLE, r#""name":"t""#)).id
    }

    /// Begins a task for a request.
    #[track_caller]
    pub(crate) fn begin_for(&mut self, request: IncomingId, new: NewTask) -> TaskKey {
        let Self { side, tasks } = self;
        side.server.tasks(tasks).begin(request, new, side.now, &mut side.out).unwrap()
    }

    /// Begins and announces a task with this id.
    #[track_caller]
    pub(crate) fn begin(&mut self, task: &str) -> TaskKey {
        let request = self.called(r#""begin""#);
        let key = self.begin_for(request, NewTask::new(task));
        let begun = result(r#""begin""#, "task", &fresh(task, "working"));
        if self.side.now == mcp_sansio::Instant::from_millis(1_000_000) {
            assert_eq!(self.sent(), [begun]);
        } else {
            assert_eq!(self.sent().len(), 1);
        }
        key
    }

    /// Serves a request about a task.
    #[track_caller]
    pub(crate) fn serve(&mut self, frame: &str) -> Option<TaskNews> {
        serve(&mut self.side, &mut self.tasks, frame)
    }

    /// Asserts that a request about a task has no effect on the work and gets exactly this response.
    #[track_caller]
    pub(crate) fn answers(&mut self, frame: &str, expected: &str) {
        assert_eq!(self.serve(frame), None, "{frame}");
        assert_eq!(self.sent(), [expected], "{frame}");
    }

    /// The same, followed by exactly this notification.
    #[track_caller]
    pub(crate) fn answers_then(&mut self, frame: &str, expected: &str, news: &str) {
        assert_eq!(self.serve(frame), None, "{frame}");
        assert_eq!(self.sent(), [expected, news], "{frame}");
    }

    /// Asserts that the machine refuses a frame with exactly this response.
    #[track_caller]
    pub(crate) fn refuses(&mut self, frame: &str, expected: &str) {
        let event = self.side.receive(frame);
        assert!(matches!(event, Some(ServerEvent::Violation(_))), "{event:?} {frame}");
        assert_eq!(self.sent(), [expected], "{frame}");
    }

    /// Requires input of the user under these keys.
    #[track_caller]
    pub(crate) fn asks(&mut self, key: TaskKey, keys: &[&'static str]) {
        self.tasks.require_input(key, &questions(keys), self.side.now).unwrap();
    }

    /// Completes the work.
    #[track_caller]
    pub(crate) fn completes(&mut self, key: TaskKey) {
        self.tasks.complete(key, &done(), self.side.now).unwrap();
    }

    /// Fails the work.
    #[track_caller]
    pub(crate) fn fails(&mut self, key: TaskKey) {
        self.tasks.fail(key, ErrorCode::INTERNAL_ERROR, "broken", self.side.now).unwrap();
    }

    /// Settles the tasks.
    pub(crate) fn settle(&mut self) {
        let Self { side, tasks } = self;
        side.server.tasks(tasks).settle(side.now, &mut side.out);
    }

    /// Opens a subscription to tasks, a list of their ids.
    #[track_caller]
    pub(crate) fn subscribe(&mut self, id: &str, list: &str) -> IncomingId {
        let request = self.request(&listen(id, list)).id;
        self.grant(request);
        request
    }

    #[track_caller]
    pub(crate) fn grant(&mut self, request: IncomingId) {
        let Self { side, tasks } = self;
        side.server.tasks(tasks).grant(request, None, side.now, &mut side.out).unwrap();
    }

    /// Replaces the outbox with a small one that an unread message fills. Returns the previous outbox.
    pub(crate) fn fill(&mut self) -> Outbox {
        let mut limits = Limits::default();
        limits.outbox_bytes = 100;
        let roomy = std::mem::replace(&mut self.side.out, Outbox::new(Framing::Messages, &limits));
        let request = self.called(r#""fill""#);
        self.side
            .server
            .reject(request, ErrorCode::INTERNAL_ERROR, "no", &mut self.side.out)
            .unwrap();
        roomy
    }

    pub(crate) fn sent(&mut self) -> Vec<String> {
        self.side.sent()
    }

    /// Advances the time, without a timeout of the tasks.
    pub(crate) fn wait(&mut self, milliseconds: u64) {
        self.side.now = self.side.now + Duration::from_millis(milliseconds);
    }
}
