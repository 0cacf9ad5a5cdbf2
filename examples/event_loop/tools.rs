//! The tools of the servers with a loop of their own: `hello` responds at once, `later` after a while.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, ListChanged, ListToolsResult, Tool};
use mcp_sansio::{
    ByteStream, ClientRequest, ErrorCode, IncomingId, Instant, Outbox, Payload, RespondError,
    Server, ServerConfig, ServerEvent,
};

/// The schema of a tool without arguments. It declares its type: without one, the list of tools is refused.
const NO_ARGUMENTS: &str = r#"{"type":"object"}"#;

/// The duration of a call of the tool `later`.
const LATER: Duration = Duration::from_millis(200);

pub(crate) fn config(name: &str) -> Arc<ServerConfig> {
    let mut config = ServerConfig::new(name, env!("CARGO_PKG_VERSION"));
    config.capabilities.tools = Some(ListChanged::default());
    Arc::new(config)
}

/// The calls of one client that get a response later, and the time of that.
#[derive(Default)]
pub(crate) struct Later(BTreeMap<IncomingId, Instant>);

impl Later {
    /// Handles the messages that have arrived, and the due timeouts.
    pub(crate) fn handle_steps(&mut self, stream: &mut ByteStream<Server>, now: Instant) {
        while let Some(step) = stream.next_step(now) {
            self.handle(step.event, step.machine, step.outbox, now);
        }
    }

    /// Responds to the calls whose work is done.
    pub(crate) fn finish_work(&mut self, stream: &mut ByteStream<Server>, now: Instant) {
        while let Some((id, _)) = self.0.iter().find(|(_, at)| **at <= now) {
            let id = *id;
            self.0.remove(&id);
            let (server, outbox) = stream.machine_and_outbox();
            answer(id, &CallToolResult::text("at last"), server, outbox);
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.0.values().copied().min()
    }

    fn handle(
        &mut self,
        event: Option<ServerEvent<'_>>,
        server: &mut Server,
        outbox: &mut Outbox,
        now: Instant,
    ) {
        let request = match event {
            Some(ServerEvent::Request(request)) => request,
            Some(ServerEvent::Cancelled(cancelled)) => {
                self.0.remove(&cancelled.id);
                return;
            }
            _ => return,
        };
        match &request.kind {
            ClientRequest::ListTools(_) => {
                let schema = Raw::new(NO_ARGUMENTS).unwrap_or(Raw::EMPTY_OBJECT);
                let tools = ["hello", "later"].map(|name| Tool::new(name, schema.clone()));
                answer(request.id, &ListToolsResult::new(tools), server, outbox);
            }
            ClientRequest::CallTool(call) if call.name == "hello" => {
                answer(request.id, &CallToolResult::text("hello"), server, outbox);
            }
            ClientRequest::CallTool(call) if call.name == "later" => {
                self.0.insert(request.id, now + LATER);
            }
            ClientRequest::CallTool(_) => {
                refuse(request.id, ErrorCode::INVALID_PARAMS, "unknown tool", server, outbox);
            }
            _ => {
                refuse(request.id, ErrorCode::METHOD_NOT_FOUND, "method not found", server, outbox)
            }
        }
    }
}

/// Responds to a request. If the result cannot be written, it responds with an error, because the request is still
/// open and the client waits.
fn answer(id: IncomingId, result: &impl Payload, server: &mut Server, outbox: &mut Outbox) {
    use RespondError::{Answered, Cancelled, Closed, Stale};
    match server.respond(id, result, outbox) {
        // The client does not wait for a request that was cancelled or has ended.
        Ok(()) | Err(Answered | Cancelled | Closed | Stale) => {}
        Err(error) => {
            log(&error);
            refuse(id, ErrorCode::INTERNAL_ERROR, &error.to_string(), server, outbox);
        }
    }
}

/// Responds to a request with an error.
fn refuse(id: IncomingId, code: ErrorCode, text: &str, server: &mut Server, outbox: &mut Outbox) {
    if let Err(error) = server.reject(id, code, text, outbox) {
        log(&format_args!("a request is not answered: {error}"));
    }
}

/// Writes a line to standard error. A closed standard error does not stop the server.
pub(crate) fn log(line: &impl Display) {
    _ = writeln!(io::stderr(), "{line}");
}
