//! Servers and clients in this process, and a gateway between them. The time of tokio is paused.

#![allow(dead_code, reason = "no test uses everything")]

mod over_http;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_sansio::call::TaskOptions;
use mcp_sansio::capability::CapabilitySet;
use mcp_sansio::error::{ErrorObject, NotAllowed};
use mcp_sansio::event::{SubscriptionEnd, SubscriptionNews};
use mcp_sansio::json::Raw;
use mcp_sansio::model::{
    CallToolParams, CallToolResult, ElicitParams, ElicitationCapability, EmptyCapability,
    InputRequired, ListChanged, ListResourcesResult, ListToolsResult, LoggingLevel, Map,
    ObjectSchema, PrimitiveSchema, ReadResourceResult, Resource, ResourceContents,
    ResourcesCapability, StringSchema, TaskSupport, Tool, ToolExecution, method,
};
use mcp_sansio::progress::Progress;
use mcp_sansio::request::TaskMode;
use mcp_sansio::subscription::Log;
use mcp_sansio::task::{Tasks, TasksConfig};
use mcp_sansio::{
    CallOptions, Client, ClientConfig, ClientEvent, ClientRequest, ErrorCode, Principal,
    RespondError, Revision, RevisionSet, Server, ServerConfig, ServerEvent, ServerRequest,
};
use mcp_sansio_gateway::config::{GatewayConfig, UpstreamConfig, UpstreamTransport};
use mcp_sansio_gateway::{Connect, ConnectFuture, Gateway, UpstreamHandler};
use mcp_sansio_tokio::{
    CallFailure, Connection, ConnectionOptions, Exchange, Handle, Handler, OpenError, SharedTasks,
    TaskHandle, clock, connect_with, new_task, serve_with,
};
use serde_json::{Value, json};
use tokio::task::AbortHandle;

/// A server behind the gateway.
#[derive(Clone)]
pub(crate) struct Fake(Arc<Inner>);

struct Inner {
    name: &'static str,
    revisions: RevisionSet,
    is_up: AtomicBool,
    attempts: AtomicUsize,
    serving: Mutex<Vec<AbortHandle>>,
    handles: Mutex<Vec<Handle<Server>>>,
    tools: Mutex<Vec<&'static str>>,
    journal: Mutex<Vec<String>>,
    tasks: SharedTasks,
    list_delay: Mutex<Duration>,
    is_silent: AtomicBool,
    snapshots: AtomicBool,
    list_fails: AtomicBool,
    lists: AtomicUsize,
    listen: Mutex<Listen>,
    most_listens: Mutex<Option<u32>>,
    ends_listens: AtomicBool,
    completes: AtomicBool,
    marks: AtomicBool,
}

/// How a server responds to a subscription.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Listen {
    /// It grants the subscription at once.
    #[default]
    Granted,
    /// It does not have the method.
    NoMethod,
    /// It refuses the subscription.
    Refused,
    /// It never acknowledges the subscription.
    Unacknowledged,
}

pub(crate) const TOOLS: [&str; 10] =
    ["whoami", "echo", "slow", "hang", "ask", "ask_loose", "fail", "progress", "task", "task_ask"];

impl Fake {
    pub(crate) fn new(name: &'static str, revision: Revision) -> Self {
        Self::with_revisions(name, RevisionSet::only(revision))
    }

    fn with_revisions(name: &'static str, revisions: RevisionSet) -> Self {
        Self(Arc::new(Inner {
            name,
            revisions,
            is_up: AtomicBool::new(true),
            attempts: AtomicUsize::new(0),
            serving: Mutex::default(),
            handles: Mutex::default(),
            tools: Mutex::new(TOOLS.into()),
            journal: Mutex::default(),
            tasks: SharedTasks::with_clock(TasksConfig::default(), clock()),
            list_delay: Mutex::default(),
            is_silent: AtomicBool::new(false),
            snapshots: AtomicBool::new(false),
            list_fails: AtomicBool::new(false),
            lists: AtomicUsize::new(0),
            listen: Mutex::default(),
            most_listens: Mutex::default(),
            ends_listens: AtomicBool::new(false),
            completes: AtomicBool::new(false),
            marks: AtomicBool::new(false),
        }))
    }

    /// A server of both eras.
    pub(crate) fn of_both_eras(name: &'static str) -> Self {
        Self::with_revisions(name, RevisionSet::ALL)
    }

    pub(crate) fn legacy(name: &'static str) -> Self {
        Self::new(name, Revision::V2025_11_25)
    }

    pub(crate) fn modern(name: &'static str) -> Self {
        Self::new(name, Revision::V2026_07_28)
    }

    /// Announces no changes, on connections that are opened from now on.
    pub(crate) fn silent(self) -> Self {
        self.0.is_silent.store(true, Ordering::SeqCst);
        self
    }

    /// Completes arguments, on connections that are opened from now on.
    pub(crate) fn completing(self) -> Self {
        self.0.completes.store(true, Ordering::SeqCst);
        self
    }

    /// Has clients repeat an argument of its tools in a header field.
    pub(crate) fn marking(self) -> Self {
        self.0.marks.store(true, Ordering::SeqCst);
        self
    }

    pub(crate) fn config(&self) -> UpstreamConfig {
        UpstreamConfig::new(self.0.name, UpstreamTransport::Custom(Arc::new(self.clone())))
    }

    /// Ends all connections, as a killed process does, and refuses new ones while it is down.
    pub(crate) fn crash(&self, stays_down: bool) {
        self.0.is_up.store(!stays_down, Ordering::SeqCst);
        self.0.handles.lock().unwrap().clear();
        self.0.serving.lock().unwrap().drain(..).for_each(|serving| serving.abort());
    }

    /// As [`crash`](Self::crash), for the oldest connection.
    pub(crate) fn crash_first(&self) {
        self.0.is_up.store(false, Ordering::SeqCst);
        self.0.handles.lock().unwrap().remove(0);
        self.0.serving.lock().unwrap().remove(0).abort();
    }

    pub(crate) fn come_up(&self) {
        self.0.is_up.store(true, Ordering::SeqCst);
    }

    pub(crate) fn attempts(&self) -> usize {
        self.0.attempts.load(Ordering::SeqCst)
    }

    /// Changes the tools without an announcement.
    pub(crate) fn set_tools_quietly(&self, tools: &[&'static str]) {
        *self.0.tools.lock().unwrap() = tools.into();
    }

    pub(crate) fn set_tools(&self, tools: &[&'static str]) {
        self.set_tools_quietly(tools);
        for handle in self.0.handles.lock().unwrap().iter() {
            _ = handle.list_changed(mcp_sansio::subscription::ChangedList::Tools);
        }
    }

    pub(crate) fn set_list_delay(&self, delay: Duration) {
        *self.0.list_delay.lock().unwrap() = delay;
    }

    /// Lists are those of the time of the request, as those of a server with pages or a slow network.
    pub(crate) fn set_snapshots(&self) {
        self.0.snapshots.store(true, Ordering::SeqCst);
    }

    /// Sets how subscriptions of later connections are responded to.
    pub(crate) fn set_listen(&self, listen: Listen) {
        *self.0.listen.lock().unwrap() = listen;
    }

    /// Sets how many subscriptions later connections can have.
    pub(crate) fn set_most_listens(&self, most: u32) {
        *self.0.most_listens.lock().unwrap() = Some(most);
    }

    /// Sets whether granted subscriptions are ended at once.
    pub(crate) fn set_ends_listens(&self, ends: bool) {
        self.0.ends_listens.store(ends, Ordering::SeqCst);
    }

    /// Returns how often the tools were listed.
    pub(crate) fn lists(&self) -> usize {
        self.0.lists.load(Ordering::SeqCst)
    }

    pub(crate) fn set_list_fails(&self, fails: bool) {
        self.0.list_fails.store(fails, Ordering::SeqCst);
    }

    pub(crate) fn update_resource(&self) {
        let uri = self.uri();
        for handle in self.0.handles.lock().unwrap().iter() {
            _ = handle.resource_updated(&uri);
        }
    }

    pub(crate) fn uri(&self) -> String {
        format!("fake://{}/a", self.0.name)
    }

    pub(crate) fn journal(&self) -> Vec<String> {
        self.0.journal.lock().unwrap().clone()
    }

    pub(crate) fn note(&self, text: impl Into<String>) {
        self.0.journal.lock().unwrap().push(text.into());
    }

    /// Returns the number of open connections.
    pub(crate) fn connections(&self) -> usize {
        let mut serving = self.0.serving.lock().unwrap();
        serving.retain(|serving| !serving.is_finished());
        serving.len()
    }

    pub(crate) fn server_config(&self) -> ServerConfig {
        let mut config = ServerConfig::new(self.0.name, "1");
        config.revisions = self.0.revisions;
        config.capabilities.tools = Some(ListChanged::default());
        let mut resources = ResourcesCapability::default();
        if !self.0.is_silent.load(Ordering::SeqCst) {
            config.capabilities.tools = Some(ListChanged::notified());
            resources.subscribe = Some(true);
            resources.list_changed = Some(true);
        }
        config.capabilities.resources = Some(resources);
        let asks = *self.0.listen.lock().unwrap() != Listen::Granted;
        if asks {
            config.listening = mcp_sansio::config::Listening::Asked;
        }
        if let Some(most) = *self.0.most_listens.lock().unwrap() {
            config.connection.limits.listens = most;
        }
        config.capabilities.logging = Some(EmptyCapability::default());
        if self.0.completes.load(Ordering::SeqCst) {
            config.capabilities.completions = Some(EmptyCapability::default());
        }
        // The adapter would serve subscriptions to tasks.
        if !asks {
            config.capabilities = config.capabilities.with_tasks();
        }
        config
    }

    async fn open(
        &self,
        config: ClientConfig,
        handler: UpstreamHandler,
    ) -> Result<Connection, OpenError> {
        self.0.attempts.fetch_add(1, Ordering::SeqCst);
        if !self.0.is_up.load(Ordering::SeqCst) {
            return Err(OpenError::Streams(io::ErrorKind::ConnectionRefused.into()));
        }
        let (ours, theirs) = tokio::io::duplex(64 << 10);
        let (reader, writer) = tokio::io::split(theirs);
        let (server, handler_of_server) = (self.server_config(), self.clone());
        let mut options = ConnectionOptions::new();
        if *self.0.listen.lock().unwrap() == Listen::Granted {
            options = options.tasks(self.0.tasks.clone());
        }
        let serving = tokio::spawn(async move {
            _ = serve_with(server, &options, reader, writer, handler_of_server).await;
        });
        self.0.serving.lock().unwrap().push(serving.abort_handle());
        let (reader, writer) = tokio::io::split(ours);
        connect_with(config, &ConnectionOptions::new().handlers(1000), reader, writer, handler)
            .await
    }

    async fn list_tools(&self, exchange: &Exchange) -> Result<(), RespondError> {
        self.0.lists.fetch_add(1, Ordering::SeqCst);
        let delay = *self.0.list_delay.lock().unwrap();
        let before = self.0.tools.lock().unwrap().clone();
        tokio::time::sleep(delay).await;
        let after = self.0.tools.lock().unwrap().clone();
        if self.0.list_fails.load(Ordering::SeqCst) {
            return exchange.reject(ErrorCode::INTERNAL_ERROR, "the list is not there yet");
        }
        let names = if self.0.snapshots.load(Ordering::SeqCst) { before } else { after };
        let schema = match self.0.marks.load(Ordering::SeqCst) {
            true => {
                r#"{"type":"object","properties":{"label":{"type":"string","x-mcp-header":"Label"}}}"#
            }
            false => r#"{"type":"object"}"#,
        };
        let tools = names.into_iter().map(|name| {
            let mut tool = Tool::new(name, Raw::new(schema).unwrap());
            if name.starts_with("task") {
                let mut execution = ToolExecution::default();
                execution.task_support = Some(TaskSupport::Required);
                tool.execution = Some(execution);
            }
            tool
        });
        exchange.respond(&ListToolsResult::new(tools.collect::<Vec<_>>()))
    }

    async fn refuse_listen(&self, exchange: &Exchange) -> Result<(), RespondError> {
        let listen = *self.0.listen.lock().unwrap();
        match listen {
            Listen::NoMethod => exchange.reject(ErrorCode::METHOD_NOT_FOUND, "method not found"),
            Listen::Refused => exchange.reject(ErrorCode::INTERNAL_ERROR, "too many subscriptions"),
            Listen::Granted | Listen::Unacknowledged => {
                exchange.cancelled().await;
                Ok(())
            }
        }
    }

    #[allow(clippy::too_many_lines, reason = "each tool is an arm of few lines")]
    async fn call(
        &self,
        exchange: &Exchange,
        name: &str,
        arguments: Value,
    ) -> Result<(), RespondError> {
        let label = arguments.get("label").and_then(Value::as_str).unwrap_or_default().to_owned();
        let ms = Duration::from_millis(arguments.get("ms").and_then(Value::as_u64).unwrap_or(0));
        let own = self.0.name;
        match name {
            "whoami" => exchange.respond(&CallToolResult::text(own)),
            "echo" => exchange.respond(&CallToolResult::text(arguments.to_string())),
            "slow" => {
                self.note(format!("begun {label}"));
                tokio::time::sleep(ms).await;
                exchange.respond(&CallToolResult::text(format!("{own} {label}")))
            }
            "hang" => {
                self.note(format!("begun {label}"));
                exchange.cancelled().await;
                self.note(format!("cancelled {label}"));
                Ok(())
            }
            "ask" => match exchange.request().input("who") {
                Some(answer) => {
                    let answer: Value = answer.parse().unwrap();
                    let name = answer.pointer("/content/name").cloned().unwrap_or(Value::Null);
                    exchange.respond(&CallToolResult::text(format!("{own} {label} {name}")))
                }
                None => {
                    let mut required = InputRequired::new().elicit("who", form(&label));
                    required.state = Some(format!("state of {label}").into());
                    match exchange.require_input(&required) {
                        Err(RespondError::NotAllowed(NotAllowed::Capability(missing))) => {
                            exchange.reject_missing(CapabilitySet::NONE.with(missing))
                        }
                        required => required,
                    }
                }
            },
            // The request does not say which call it is for.
            "ask_loose" => {
                tokio::time::sleep(ms).await;
                let options = CallOptions::new();
                let call =
                    exchange.handle().call_method("elicitation/create", &form(&label), options);
                match call.await {
                    Ok(answer) => {
                        let answer: Value = answer.raw().parse().unwrap();
                        let name = answer.pointer("/content/name").cloned().unwrap_or(Value::Null);
                        exchange.respond(&CallToolResult::text(format!("{own} {label} {name}")))
                    }
                    Err(failure) => exchange.respond(&CallToolResult::error(failure.to_string())),
                }
            }
            "ask_both" => {
                let options = CallOptions::new();
                let roots = exchange.handle().call_method("roots/list", &(), options);
                let name =
                    exchange.handle().call_method("elicitation/create", &form(&label), options);
                let (roots, name) = tokio::join!(roots, name);
                let [roots, name] = [roots, name].map(|answer| match answer {
                    Ok(answer) => answer.raw().as_json().to_owned(),
                    Err(failure) => failure.to_string(),
                });
                exchange.respond(&CallToolResult::text(format!("{roots}; {name}")))
            }
            "fail" => exchange.reject(ErrorCode::new(-7), "it does not work"),
            "log" => {
                tokio::time::sleep(ms).await;
                let times = arguments.get("times").and_then(Value::as_u64).unwrap_or(1);
                for _ in 0..times {
                    for level in [LoggingLevel::Debug, LoggingLevel::Error] {
                        _ = exchange.log(&Log::new(level, &label));
                    }
                }
                exchange.respond(&CallToolResult::text("done"))
            }
            "progress" => {
                for step in 1..=3 {
                    _ = exchange.progress(Progress::new(step).total(3).message("going"));
                }
                exchange.respond(&CallToolResult::text("done"))
            }
            "task" | "task_ask" => {
                if exchange.task_mode(&TaskSupport::Required)? != Some(TaskMode::Task) {
                    return Ok(());
                }
                let new = new_task().unwrap().poll_interval(Duration::from_millis(200));
                let task = exchange.begin_task(new).unwrap();
                self.note(format!("begun {label}"));
                let (fake, handle) = (self.clone(), exchange.handle().clone());
                let asks = name == "task_ask";
                let code = arguments.get("code").and_then(Value::as_i64).map(ErrorCode::new);
                let logs = arguments.get("logs").is_some();
                let asks_briefly = arguments.get("briefly").is_some();
                tokio::spawn(async move {
                    if logs {
                        fake.log(&handle, &task, &label);
                    }
                    if asks_briefly {
                        let options = CallOptions::new();
                        let asked =
                            handle.call_method("elicitation/create", &form(&label), options);
                        // A call that is dropped is cancelled.
                        _ = tokio::time::timeout(ms, asked).await;
                    }
                    match code {
                        Some(code) => {
                            _ = task.fail_with(code, "it does not work", &json!({"label": label}));
                        }
                        None => fake.work(task, &label, ms, asks).await,
                    }
                });
                Ok(())
            }
            _ => exchange.reject(ErrorCode::INVALID_PARAMS, "unknown tool"),
        }
    }

    /// Sends a log message that names its task.
    fn log(&self, handle: &Handle<Server>, task: &TaskHandle, label: &str) {
        let id = |tasks: &mut Tasks, _| tasks.get(task.key()).unwrap().id().to_owned();
        let id = self.0.tasks.inspect(id);
        handle.log(&Log::new(LoggingLevel::Debug, label).of_task(&id)).unwrap();
    }

    async fn work(&self, task: TaskHandle, label: &str, ms: Duration, asks: bool) {
        let own = self.0.name;
        let work = async {
            tokio::time::sleep(ms).await;
            if asks {
                let required = InputRequired::new().elicit("who", form(label));
                let answers = task.require_input(&required).unwrap().await?;
                let answers: Value = answers.parse().unwrap();
                return Ok(format!(
                    "{own} {label} {}",
                    answers.pointer("/who/content/name").unwrap_or(&Value::Null)
                ));
            }
            Ok::<_, mcp_sansio::task::TaskError>(format!("{own} {label}"))
        };
        tokio::select! {
            done = work => match done {
                Ok(text) => _ = task.complete(&CallToolResult::text(text)),
                Err(_) => self.note(format!("ended {label}")),
            },
            () = task.cancelled() => {
                self.note(format!("cancelled {label}"));
                _ = task.cancel();
            }
        }
    }
}

fn form(label: &str) -> ElicitParams<'static> {
    let mut properties = Map::default();
    properties.insert("name", PrimitiveSchema::String(StringSchema::default()));
    ElicitParams::form(format!("who is {label}?"), ObjectSchema::new(properties))
}

impl Connect for Fake {
    fn connect(&self, config: ClientConfig, handler: UpstreamHandler) -> ConnectFuture<'_> {
        Box::pin(self.open(config, handler))
    }
}

impl Handler<Server> for Fake {
    async fn serve(&self, exchange: Exchange) {
        let served = match &exchange.request().kind {
            ClientRequest::ListTools(_) => self.list_tools(&exchange).await,
            ClientRequest::ListResources(_) => {
                let resource = Resource::new(self.uri(), "a");
                exchange.respond(&ListResourcesResult::new([resource]))
            }
            ClientRequest::ReadResource { uri } if *uri == *self.uri() => {
                let contents = ResourceContents::text(self.uri(), self.0.name);
                exchange.respond(&ReadResourceResult::new([contents]))
            }
            // It is in no list, and needs input.
            ClientRequest::ReadResource { uri } if *uri == *format!("ask://{}", self.0.name) => {
                match exchange.request().input("who") {
                    Some(answer) => {
                        let answer: Value = answer.parse().unwrap();
                        let contents = ResourceContents::text(uri.to_string(), answer.to_string());
                        exchange.respond(&ReadResourceResult::new([contents]))
                    }
                    None => exchange.require_input(&InputRequired::new().elicit("who", form("it"))),
                }
            }
            ClientRequest::ReadResource { uri } => {
                let (code, message) = (ErrorCode::RESOURCE_NOT_FOUND, "there is no such resource");
                let data = json!({"uri": uri.to_str()});
                exchange.reject_with(&ErrorObject::with(code, message, &data).unwrap())
            }
            ClientRequest::Subscribe { .. } | ClientRequest::Unsubscribe { .. } => {
                exchange.respond(&())
            }
            ClientRequest::CallTool(call) => {
                let arguments = call.parse::<Value>().unwrap_or(Value::Null);
                let name = call.name.to_str().into_owned();
                self.call(&exchange, &name, arguments).await
            }
            ClientRequest::Complete(complete) => {
                let mut value = self.0.name.to_owned();
                if complete.value == *"ask" {
                    let (handle, options) = (exchange.handle(), CallOptions::new());
                    let asked = handle.call_method("elicitation/create", &form("it"), options);
                    value = asked.await.unwrap_err().to_string();
                }
                let completed = json!({"completion": {"values": [value]}});
                exchange.respond(&mcp_sansio_tokio::Json(completed))
            }
            ClientRequest::Listen(_) => self.refuse_listen(&exchange).await,
            ClientRequest::SetLevel(level) => {
                self.note(format!("level {}", level.name()));
                exchange.respond(&())
            }
            _ => exchange.reject(ErrorCode::METHOD_NOT_FOUND, "method not found"),
        };
        _ = served;
    }

    async fn event(&self, handle: &Handle<Server>, event: ServerEvent<'static>) {
        if let ServerEvent::Subscribed(subscribed) = event
            && self.0.ends_listens.load(Ordering::SeqCst)
        {
            self.note("ended a subscription");
            let error = ErrorObject::new(ErrorCode::INTERNAL_ERROR, "not today");
            handle.end_subscription(subscribed.id, &error).unwrap();
        }
    }

    fn begin(&self, handle: &Handle<Server>) {
        self.0.handles.lock().unwrap().push(handle.clone());
    }
}

/// Starts a gateway, and waits until its servers are connected.
pub(crate) async fn start(fakes: &[&Fake]) -> Gateway {
    start_with(fakes.iter().map(|fake| fake.config()).collect()).await
}

pub(crate) async fn start_with(upstreams: Vec<UpstreamConfig>) -> Gateway {
    let gateway = Gateway::start(GatewayConfig::new("gateway", upstreams)).unwrap();
    gateway.connected(Duration::from_secs(60)).await;
    gateway
}

/// A client of the gateway.
pub(crate) struct Peer {
    pub(crate) connection: Connection,
    pub(crate) seen: Arc<Seen>,
}

/// What a client has seen and answers.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) events: Mutex<Vec<String>>,
    pub(crate) questions: Mutex<Vec<String>>,
    /// The params of log messages.
    pub(crate) logs: Mutex<Vec<String>>,
    /// The errors that have ended subscriptions.
    pub(crate) failed_subscriptions: Mutex<Vec<String>>,
    pub(crate) name: Mutex<String>,
    /// How long a question takes.
    pub(crate) patience: Mutex<Duration>,
}

#[derive(Clone)]
struct Answers(Arc<Seen>);

impl Handler<Client> for Answers {
    async fn serve(&self, exchange: Exchange<Client>) {
        let served = match &exchange.request().kind {
            ServerRequest::Elicit(_) => {
                let message = exchange.request().params.as_ref().unwrap().get("message").unwrap();
                let message: String = message.parse().unwrap();
                self.0.questions.lock().unwrap().push(message);
                let patience = *self.0.patience.lock().unwrap();
                tokio::time::sleep(patience).await;
                let name = self.0.name.lock().unwrap().clone();
                let answer = json!({"action": "accept", "content": {"name": name}});
                exchange.respond(&mcp_sansio_tokio::Json(answer))
            }
            _ => exchange.reject(ErrorCode::METHOD_NOT_FOUND, "method not found"),
        };
        _ = served;
    }

    async fn event(&self, _: &Handle<Client>, event: ClientEvent<'static>) {
        if let ClientEvent::Notification(log) = &event
            && log.is::<method::Log>()
        {
            let params = log.params.as_ref().unwrap().as_json().to_owned();
            self.0.logs.lock().unwrap().push(params);
        }
        let ClientEvent::Subscription(update) = event else { return };
        match update.news {
            SubscriptionNews::Changed(change) => {
                let params = change.params.as_ref();
                let uri = params.and_then(|params| params.get("uri")?.parse::<String>().ok());
                let text = format!("{} {}", change.method, uri.unwrap_or_default());
                self.0.events.lock().unwrap().push(text.trim_end().to_owned());
            }
            SubscriptionNews::Ended(SubscriptionEnd::Failed(error)) => {
                self.0.failed_subscriptions.lock().unwrap().push(error.message.to_string());
            }
            _ => {}
        }
    }
}

/// Returns the configuration and the handler of a client.
pub(crate) fn client(
    seen: &Arc<Seen>,
    name: &str,
    revision: Revision,
) -> (ClientConfig, impl Handler<Client> + use<>) {
    let mut config = ClientConfig::new(name, "1");
    config.revisions = RevisionSet::only(revision);
    config.capabilities.elicitation = Some(ElicitationCapability::both());
    config.capabilities = config.capabilities.with_tasks();
    (config, Answers(Arc::clone(seen)))
}

impl Peer {
    pub(crate) async fn open(gateway: &Gateway, revision: Revision, name: &str) -> Self {
        Self::open_as(gateway, revision, name, Principal::default()).await
    }

    /// As [`open`](Self::open), for an authenticated client.
    pub(crate) async fn open_as(
        gateway: &Gateway,
        revision: Revision,
        name: &str,
        principal: Principal,
    ) -> Self {
        Self::open_with(gateway, revision, name, principal, |_| {}).await
    }

    async fn open_with(
        gateway: &Gateway,
        revision: Revision,
        name: &str,
        principal: Principal,
        change: impl FnOnce(&mut ClientConfig),
    ) -> Self {
        let seen = Arc::new(Seen::default());
        *seen.name.lock().unwrap() = name.to_owned();
        let (mut config, answers) = client(&seen, name, revision);
        change(&mut config);
        let (ours, theirs) = tokio::io::duplex(64 << 10);
        let (reader, writer) = tokio::io::split(theirs);
        let options = gateway.connection_options();
        let tasks = options.shared_tasks().unwrap().on_behalf_of(principal);
        let options = options.tasks(tasks);
        let (server, options, handler) = (gateway.server_config(), options, gateway.clone());
        tokio::spawn(async move { serve_with(server, &options, reader, writer, handler).await });
        let (reader, writer) = tokio::io::split(ours);
        let options = ConnectionOptions::new();
        let connection = connect_with(config, &options, reader, writer, answers).await.unwrap();
        Self { connection, seen }
    }

    pub(crate) async fn legacy(gateway: &Gateway, name: &str) -> Self {
        Self::open(gateway, Revision::V2025_11_25, name).await
    }

    pub(crate) async fn modern(gateway: &Gateway, name: &str) -> Self {
        Self::open(gateway, Revision::V2026_07_28, name).await
    }

    /// As [`open`](Self::open), for a client that cannot be asked for input.
    pub(crate) async fn unasked(gateway: &Gateway, revision: Revision, name: &str) -> Self {
        let change = |config: &mut ClientConfig| config.capabilities.elicitation = None;
        Self::open_with(gateway, revision, name, Principal::default(), change).await
    }

    pub(crate) fn handle(&self) -> &Handle {
        self.connection.handle()
    }

    /// Calls a tool, and returns its text.
    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Result<String, CallFailure> {
        self.call_with(name, arguments, CallOptions::new()).await
    }

    /// As [`call`](Self::call), as a task.
    pub(crate) async fn call_as_task(
        &self,
        name: &str,
        arguments: Value,
    ) -> Result<String, CallFailure> {
        self.call_with(name, arguments, CallOptions::new().task(TaskOptions::new())).await
    }

    pub(crate) async fn call_with(
        &self,
        name: &str,
        arguments: Value,
        options: CallOptions,
    ) -> Result<String, CallFailure> {
        let arguments = Raw::from_serialize(&arguments).unwrap();
        let mut params = CallToolParams::new(name.to_owned());
        params.arguments = Some(arguments);
        let reply = self.handle().call_method("tools/call", &params, options).await?;
        let result: CallToolResult<'_> = reply.parse_as().unwrap();
        Ok(result.texts().collect())
    }

    /// Returns the names of all tools.
    pub(crate) async fn tools(&self) -> Vec<String> {
        let tools = self.handle().list_all_tools().await.unwrap();
        tools.iter().map(|tool| tool.name.to_string()).collect()
    }

    pub(crate) async fn read(&self, uri: &str) -> Result<String, CallFailure> {
        let result = self.handle().read_resource(uri).await?;
        Ok(serde_json::to_string(&result).unwrap())
    }

    pub(crate) fn events(&self) -> Vec<String> {
        self.seen.events.lock().unwrap().clone()
    }

    /// Returns the params of the log messages since the last call.
    pub(crate) fn take_logs(&self) -> Vec<String> {
        std::mem::take(&mut *self.seen.logs.lock().unwrap())
    }

    pub(crate) fn questions(&self) -> Vec<String> {
        self.seen.questions.lock().unwrap().clone()
    }
}

/// Lets everything happen that happens at once.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(200)).await;
}
