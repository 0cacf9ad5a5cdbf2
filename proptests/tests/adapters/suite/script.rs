//! Handlers for each kind of failure, the same on every adapter.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, ListToolsResult, Tool};
use mcp_sansio::progress::Progress;
use mcp_sansio::{
    Client, ClientEvent, ClientRequest, ErrorCode, RespondError, Server, ServerEvent,
};
use mcp_sansio_driver::{Exchange, Handle, Waiting};
use serde_json::json;

use crate::suite::kit::Log;

const SCHEMA: &str = r#"{"type":"object"}"#;

/// A server with misbehaving tools, and a log of their actions.
#[derive(Clone)]
pub(crate) struct Script {
    log: Arc<Mutex<Sender<String>>>,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    /// The semaphore that the tool `gate` waits for.
    gate: Arc<smol::lock::Semaphore>,
}

impl Script {
    pub(crate) fn new() -> (Self, Log) {
        let (sender, log) = channel();
        let script = Self {
            log: Arc::new(Mutex::new(sender)),
            running: Arc::default(),
            most: Arc::default(),
            gate: Arc::new(smol::lock::Semaphore::new(0)),
        };
        (script, Log(log))
    }

    /// Returns the largest number of handlers that have run at the same time.
    pub(crate) fn most_at_once(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    /// Lets this many calls of `gate` pass.
    pub(crate) fn open_gate(&self, calls: usize) {
        self.gate.add_permits(calls);
    }

    fn say(&self, line: impl Into<String>) {
        _ = self.log.lock().unwrap().send(line.into());
    }

    async fn run(&self, exchange: &Exchange<Server>) {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        _ = self.call(exchange).await;
        self.running.fetch_sub(1, Ordering::SeqCst);
    }

    async fn call(&self, exchange: &Exchange<Server>) -> Result<(), RespondError> {
        let call = match &exchange.request().kind {
            ClientRequest::CallTool(call) => call,
            ClientRequest::ListTools(page) => {
                let (name, next) = match page.cursor.as_ref().map(|cursor| cursor.to_str()) {
                    None => ("first", Some("next")),
                    Some(_) => ("second", None),
                };
                let mut list = ListToolsResult::new([Tool::new(name, Raw::new(SCHEMA).unwrap())]);
                list.next_cursor = next.map(Into::into);
                return exchange.respond(&list);
            }
            ClientRequest::SetLevel(level) => {
                self.say(format!("level {level}"));
                return exchange.respond(&());
            }
            _ => return exchange.reject(ErrorCode::METHOD_NOT_FOUND, "tools only"),
        };
        let text = call.arguments.as_ref().and_then(|arguments| arguments.get("text"));
        let text = text.and_then(Raw::into_str).map(|text| text.to_str().into_owned());
        let text = text.unwrap_or_default();
        match &*call.name.to_str() {
            "echo" => exchange.respond(&CallToolResult::text(text.as_str())),
            "note" => {
                self.say(format!("note {text}"));
                exchange.respond(&CallToolResult::text("noted"))
            }
            "wait" => {
                self.say("waiting");
                exchange.cancelled().await;
                self.say("cancelled");
                let answered = exchange.respond(&());
                self.say(format!("too late: {}", answered.unwrap_err()));
                Ok(())
            }
            "gate" => {
                self.say("at the gate");
                self.gate.acquire().await.forget();
                exchange.respond(&CallToolResult::text("through"))
            }
            "stuck" => {
                self.say("stuck");
                pending().await
            }
            "progress" => {
                for step in 1..=3_u32 {
                    exchange.progress(Progress::new(step).total(3_u32))?;
                }
                exchange.respond(&CallToolResult::text("done"))
            }
            "ask" => {
                let params = json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}], "maxTokens": 1});
                let options = exchange.call_options();
                let asked =
                    exchange.handle().call_method("sampling/createMessage", &params, options);
                match asked.await {
                    Ok(reply) => exchange.respond(&CallToolResult::text(reply.raw().as_json())),
                    Err(failure) => exchange.respond(&CallToolResult::text(failure.to_string())),
                }
            }
            "large" => {
                exchange.respond(&CallToolResult::text("x".repeat(200_000)))?;
                self.say("answered");
                Ok(())
            }
            "panic" => panic!("as asked"),
            "forget" => Ok(()),
            _ => exchange.reject(ErrorCode::INVALID_PARAMS, "unknown tool"),
        }
    }

    fn log_event(&self, event: &ServerEvent<'static>) {
        match event {
            ServerEvent::Draining { .. } => self.say("draining"),
            ServerEvent::Closed { cause } => self.say(format!("closed: {cause}")),
            ServerEvent::Violation(violation) => self.say(format!("violation: {}", violation.kind)),
            ServerEvent::Notification(notification) => {
                self.say(format!("notified {}", notification.method));
            }
            _ => {}
        }
    }
}

impl mcp_sansio_std::Handler<Server> for Script {
    fn serve(&self, exchange: &Exchange<Server>) {
        Waiting::new(self.run(exchange)).wait();
    }

    fn event(&self, _: &Handle<Server>, event: ServerEvent<'static>) {
        self.log_event(&event);
    }
}

impl mcp_sansio_tokio::Handler<Server> for Script {
    async fn serve(&self, exchange: Exchange<Server>) {
        self.run(&exchange).await;
    }

    async fn event(&self, _: &Handle<Server>, event: ServerEvent<'static>) {
        self.log_event(&event);
    }
}

/// A client that responds to each request with its content, and logs its other events.
#[derive(Clone, Default)]
pub(crate) struct Answers {
    log: Option<Arc<Mutex<Sender<String>>>>,
    /// Whether the client never responds, and waits for the cancellation.
    waits: bool,
}

impl Answers {
    pub(crate) fn with_log() -> (Self, Log) {
        let (sender, log) = channel();
        (Self { log: Some(Arc::new(Mutex::new(sender))), waits: false }, Log(log))
    }

    /// Creates a client that waits for the cancellation of each request.
    pub(crate) fn thinking() -> (Self, Log) {
        let (answers, log) = Self::with_log();
        (Self { waits: true, ..answers }, log)
    }

    async fn answer(&self, exchange: &Exchange<Client>) {
        if self.waits {
            self.say("asked".into());
            exchange.cancelled().await;
            return self.say("dismissed".into());
        }
        let params = exchange.request().params.as_ref();
        let content = params.and_then(|params| params.pointer("/messages/0/content"));
        let answer = json!({"model": "m", "role": "assistant", "content": content});
        _ = exchange.respond(&answer);
    }

    fn log_event(&self, event: &ClientEvent<'static>) {
        let line = match event {
            ClientEvent::Closed { cause } => format!("closed: {cause}"),
            ClientEvent::Violation(violation) => format!("violation: {}", violation.kind),
            _ => return,
        };
        self.say(line);
    }

    fn say(&self, line: String) {
        if let Some(log) = &self.log {
            _ = log.lock().unwrap().send(line);
        }
    }
}

impl mcp_sansio_std::Handler<Client> for Answers {
    fn serve(&self, exchange: &Exchange<Client>) {
        Waiting::new(self.answer(exchange)).wait();
    }

    fn event(&self, _: &Handle<Client>, event: ClientEvent<'static>) {
        self.log_event(&event);
    }
}

impl mcp_sansio_tokio::Handler<Client> for Answers {
    async fn serve(&self, exchange: Exchange<Client>) {
        self.answer(&exchange).await;
    }

    async fn event(&self, _: &Handle<Client>, event: ClientEvent<'static>) {
        self.log_event(&event);
    }
}
