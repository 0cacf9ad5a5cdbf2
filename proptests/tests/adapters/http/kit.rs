//! Shared helpers of the HTTP tests.

use std::future::{Future, pending};
use std::net::{Ipv4Addr, SocketAddr};
#[cfg(unix)]
use std::path::Path;
#[cfg(unix)]
use std::process::Command;
use std::sync::Arc;
#[cfg(unix)]
use std::sync::mpsc;
use std::time::Duration;
#[cfg(unix)]
use std::{fs, thread};

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{
    CallToolResult, ElicitParams, InputRequired, ListChanged, ListToolsResult, ObjectSchema,
    TaskSupport, Tool,
};
use mcp_sansio::progress::Progress;
use mcp_sansio::subscription::ChangedList;
use mcp_sansio::{ClientRequest, ErrorCode, RespondError, Server, ServerConfig, ServerEvent};
use mcp_sansio_http::{
    ConnectionGroup, Endpoint, EndpointOptions, Exchange, Handle, Handler, HttpRequest, new_task,
    serve,
};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A timeout longer than any operation of these tests takes, even on a busy computer: a test that reaches it has
/// failed.
pub(crate) const A_LONG_TIME: Duration = Duration::from_secs(60);

/// Waits for a future, which must resolve within `A_LONG_TIME`.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(A_LONG_TIME, future).await.unwrap()
}

/// Waits for a future that reads a file. The file is a named pipe, and has this content once another task of the same
/// thread has run.
#[cfg(unix)]
pub(crate) async fn beside_others<T>(
    file: &Path,
    content: String,
    work: impl Future<Output = T>,
) -> T {
    assert!(Command::new("mkfifo").arg(file).status().unwrap().success());
    let (run, has_run) = mpsc::channel();
    let path = file.to_owned();
    let writes = thread::spawn(move || {
        // Without another task, the content ends the wait for this test.
        let has_run = has_run.recv_timeout(A_LONG_TIME / 4).is_ok();
        fs::write(path, content).unwrap();
        has_run
    });
    let (done, ()) = tokio::join!(work, async { run.send(()).unwrap_or_default() });
    assert!(writes.join().unwrap(), "the thread was blocked");
    fs::remove_file(file).unwrap();
    done
}

/// Advances the clock of a runtime with one thread, so that timers are due however busy the computer is.
pub(crate) async fn let_pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

/// A server with misbehaving tools, and a log of their actions.
#[derive(Clone)]
pub(crate) struct Script {
    log: UnboundedSender<String>,
    /// The semaphore that the tool `gate` waits for.
    pub(crate) gate: Arc<Semaphore>,
    /// All connections.
    pub(crate) audience: Arc<ConnectionGroup>,
}

/// The log of a server, line by line.
pub(crate) struct Log(UnboundedReceiver<String>);

impl Log {
    /// Returns the next line.
    pub(crate) async fn next(&mut self) -> String {
        soon(self.0.recv()).await.unwrap()
    }

    /// Returns this many lines, sorted.
    pub(crate) async fn sorted(&mut self, lines: usize) -> Vec<String> {
        let mut all = Vec::new();
        for _ in 0..lines {
            all.push(self.next().await);
        }
        all.sort_unstable();
        all
    }

    /// Whether the log has no unread lines.
    pub(crate) fn is_silent(&mut self) -> bool {
        self.0.try_recv().is_err()
    }
}

impl Script {
    pub(crate) fn new() -> (Self, Log) {
        let (log, reported) = unbounded_channel();
        let (gate, audience) = (Arc::new(Semaphore::new(0)), Arc::new(ConnectionGroup::new()));
        (Self { log, gate, audience }, Log(reported))
    }

    pub(crate) fn say(&self, line: impl Into<String>) {
        _ = self.log.send(line.into());
    }

    async fn run(&self, exchange: &Exchange) -> Result<(), RespondError> {
        let call = match &exchange.request().kind {
            ClientRequest::CallTool(call) => call,
            ClientRequest::ListTools(_) => {
                let schema = Raw::new(r#"{"type":"object"}"#).unwrap();
                return exchange.respond(&ListToolsResult::new([Tool::new("echo", schema)]));
            }
            ClientRequest::Subscribe { .. } | ClientRequest::Unsubscribe { .. } => {
                return exchange.respond(&());
            }
            _ => return exchange.reject(ErrorCode::METHOD_NOT_FOUND, "tools only"),
        };
        let text = call.arguments.as_ref().and_then(|arguments| arguments.get("text"));
        let text = text.and_then(Raw::into_str).map(|text| text.to_str().into_owned());
        let text = text.unwrap_or_default();
        let number = text.parse::<u64>().unwrap_or_default();
        let answer = |text: &str| exchange.respond(&CallToolResult::text(text));
        match &*call.name.to_str() {
            "echo" => answer(&text),
            "note" => {
                self.say(format!("note {text}"));
                answer("noted")
            }
            "wait" => {
                self.say(format!("waiting {text}"));
                exchange.cancelled().await;
                self.say(format!("cancelled {text}"));
                Ok(())
            }
            "gate" => {
                self.say(format!("at the gate {text}"));
                tokio::select! {
                    permit = self.gate.acquire() => permit.unwrap().forget(),
                    () = exchange.cancelled() => {
                        self.say(format!("cancelled {text}"));
                        return Ok(());
                    }
                }
                self.say(format!("through {text}"));
                answer(&format!("through {text}"))
            }
            "sleep" => {
                tokio::time::sleep(Duration::from_millis(number)).await;
                answer(&text)
            }
            "pause" => {
                tokio::time::sleep(Duration::from_millis(100)).await;
                answer(&text)
            }
            "stuck" => {
                self.say(format!("stuck {text}"));
                pending().await
            }
            "steps" => self.steps(exchange, number).await,
            "panic" => panic!("as asked"),
            tool => self.run_odd(exchange, tool, number).await,
        }
    }

    /// Sends as many progress notifications as requested, until one is not accepted.
    async fn steps(&self, exchange: &Exchange, steps: u64) -> Result<(), RespondError> {
        let mut sent = 0;
        for step in 1..=steps {
            if exchange.progress(Progress::new(step)).is_ok() {
                sent += 1;
            }
            if step % 100 == 0 {
                tokio::task::yield_now().await;
            }
        }
        self.say(format!("sent {sent}"));
        exchange.respond(&CallToolResult::text(format!("{steps} steps")))
    }

    async fn run_odd(
        &self,
        exchange: &Exchange,
        tool: &str,
        number: u64,
    ) -> Result<(), RespondError> {
        match tool {
            "large" => {
                exchange.progress(Progress::new(1_u32))?;
                let text = "x".repeat(number.try_into().unwrap());
                exchange.respond(&CallToolResult::text(text))?;
                self.say("answered");
                Ok(())
            }
            "later" => {
                self.say(format!("closed {}", exchange.close_response()));
                self.gate.acquire().await.unwrap().forget();
                exchange.respond(&CallToolResult::text("later"))
            }
            "chat" => {
                for line in 0..number {
                    let reported = exchange
                        .handle()
                        .notify_method("notifications/chat", &json!({"line": line}));
                    reported.unwrap();
                }
                exchange.respond(&CallToolResult::text("said"))
            }
            "leave" => {
                exchange.respond(&CallToolResult::text("left"))?;
                exchange.handle().shut_down(Duration::ZERO);
                Ok(())
            }
            "change" => {
                self.audience.list_changed(ChangedList::Tools);
                exchange.respond(&CallToolResult::text("changed"))
            }
            _ => self.ask(exchange, tool).await,
        }
    }

    /// Requires input from the client before it responds.
    async fn ask(&self, exchange: &Exchange, tool: &str) -> Result<(), RespondError> {
        match tool {
            "ask" => {
                let params = json!({"message": "Who?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}});
                let options = exchange.call_options();
                let asked = exchange.handle().call_method("elicitation/create", &params, options);
                match asked.await {
                    Ok(reply) => exchange.respond(&CallToolResult::text(reply.raw().as_json())),
                    Err(failure) => exchange.respond(&CallToolResult::text(failure.to_string())),
                }
            }
            "need" => match exchange.request().input("who") {
                Some(answer) => exchange.respond(&CallToolResult::text(answer.as_json())),
                None => {
                    let question = ElicitParams::form("Who?", ObjectSchema::default());
                    exchange.require_input(&InputRequired::new().elicit("who", question))
                }
            },
            "who" => {
                let params = exchange.request().params.as_ref();
                let asks_first = params.is_some_and(|params| params.as_json().contains("ask"));
                if asks_first && exchange.request().input("who").is_none() {
                    let question = ElicitParams::form("Who?", ObjectSchema::default());
                    return exchange.require_input(&InputRequired::new().elicit("who", question));
                }
                exchange.respond(&CallToolResult::text(who_asks(exchange)))
            }
            "token" => exchange.respond(&CallToolResult::text(seen_token(exchange))),
            "task" => {
                if exchange.task_mode(&TaskSupport::Required)?.is_some() {
                    let task = exchange.begin_task(new_task().unwrap()).unwrap();
                    self.say("a task");
                    self.gate.acquire().await.unwrap().forget();
                    task.complete(&CallToolResult::text("done")).unwrap();
                }
                Ok(())
            }
            _ => exchange.reject(ErrorCode::INVALID_PARAMS, "unknown tool"),
        }
    }
}

/// A value that a middleware adds to a request.
#[derive(Clone)]
pub(crate) struct Tenant(pub(crate) &'static str);

/// A value of the endpoint's connections.
pub(crate) struct Deployment(pub(crate) &'static str);

/// Describes the sender of a request: the field `X-Who`, the middleware, the principal, the address, the claims, and
/// the connection.
fn who_asks(exchange: &Exchange) -> String {
    let deployment = exchange.extension::<Deployment>().map_or("", |Deployment(name)| name);
    let Some(request) = exchange.extension::<HttpRequest>() else {
        return format!("no HTTP request, {deployment}");
    };
    let field = request.headers().get("x-who").map_or("", |value| value.to_str().unwrap());
    let tenant = request.parts().extensions.get::<Tenant>().map_or("", |Tenant(name)| name);
    let principal = request.principal() != mcp_sansio::Principal::default();
    let address = request.address().map(|address| address.to_string()).unwrap_or_default();
    let subject = request.claims().map_or("", |claims| &*claims.subject);
    let (method, path) = (request.method(), request.uri().path());
    format!(
        "{method} {path} [{field}] [{tenant}] [{principal}] [{address}] [{subject}] [{deployment}]"
    )
}

/// Returns the `Authorization` fields that a handler sees.
fn seen_token(exchange: &Exchange) -> String {
    let request = exchange.extension::<HttpRequest>().unwrap();
    let seen = |fields: &HeaderMap| {
        let fields = fields.get_all(AUTHORIZATION).iter();
        fields.map(|field| field.to_str().unwrap().to_owned()).collect::<Vec<_>>().join(", ")
    };
    format!("[{}] [{}]", seen(request.headers()), seen(&request.parts().headers))
}

impl Handler<Server> for Script {
    async fn serve(&self, exchange: Exchange) {
        _ = self.run(&exchange).await;
    }

    fn begin(&self, handle: &Handle<Server>) {
        self.audience.add(handle);
    }

    async fn event(&self, _: &Handle<Server>, event: ServerEvent<'static>) {
        match event {
            ServerEvent::Notification(notification) => {
                self.say(format!("notified {}", notification.method));
            }
            ServerEvent::Violation(violation) => self.say(format!("violation: {}", violation.kind)),
            _ => {}
        }
    }
}

pub(crate) fn server_config() -> ServerConfig {
    let mut config = ServerConfig::new("server", "1");
    config.capabilities.tools = Some(ListChanged::notified());
    config
}

/// A running server.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) endpoint: Endpoint,
    pub(crate) script: Script,
    pub(crate) log: Log,
    stop: Option<oneshot::Sender<()>>,
    pub(crate) task: JoinHandle<std::io::Result<()>>,
}

impl Served {
    pub(crate) async fn new() -> Self {
        Self::with(server_config(), EndpointOptions::new(), Duration::ZERO).await
    }

    pub(crate) async fn with(
        config: ServerConfig,
        options: EndpointOptions,
        grace: Duration,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (script, log) = Script::new();
        let endpoint = Endpoint::with(config, options, script.clone());
        let (stop, stopped) = oneshot::channel();
        let stopped = async move { _ = stopped.await };
        let task = tokio::spawn(serve(endpoint.clone(), "/mcp", listener, stopped, grace));
        Self { address, endpoint, script, log, stop: Some(stop), task }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Stops the server.
    pub(crate) fn stop(&mut self) {
        _ = self.stop.take().unwrap().send(());
    }

    /// Waits until no modern request is left.
    pub(crate) async fn is_quiet(&self) {
        let quiet = async {
            while self.endpoint.open_requests() != 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        soon(quiet).await;
    }
}
