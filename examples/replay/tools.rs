//! The recorded application: a server with four tools, as deterministic as its machine.
//!
//! It has no clock, no randomness and no hash order. It depends only on events, commands, and the time that comes
//! with them. Any other input of an application (a database result, a random number) has to arrive as the text of a
//! command, so that the recording contains it.

use std::collections::BTreeMap;
use std::time::Duration;

use mcp_sansio::json::Raw;
use mcp_sansio::model::{
    CallToolResult, ElicitParams, ElicitResult, InputRequired, ListChanged, ListToolsResult, Map,
    ObjectSchema, PrimitiveSchema, StringSchema, Tool,
};
use mcp_sansio::progress::Progress;
use mcp_sansio::request::CallTool;
use mcp_sansio::testing::Application;
use mcp_sansio::{
    ClientRequest, ErrorCode, IncomingId, Instant, Outbox, Request, RespondError, Server,
    ServerConfig, ServerEvent,
};
use serde::Deserialize;

/// The only command of this application: performs the due steps. A recording contains it where the timer of the
/// event loop fired.
pub(crate) const GO_ON: &str = "go on";

/// The duration of each step of the tool `slow`.
const STEP: Duration = Duration::from_millis(100);

pub(crate) fn config() -> ServerConfig {
    let mut config = ServerConfig::new("replay", "1.0.0");
    config.capabilities.tools = Some(ListChanged::default());
    config
}

/// The calls in progress, and notes for a diagram.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    slow: BTreeMap<IncomingId, Slow>,
    notes: Vec<String>,
}

/// A call of the tool `slow`.
#[derive(Debug)]
struct Slow {
    steps: u32,
    done: u32,
    next: Instant,
}

impl Tools {
    /// The time at which the command [`GO_ON`] is due.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.slow.values().map(|slow| slow.next).min()
    }

    /// Notes about the events of the machine so far, without payloads.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    fn answer(
        &mut self,
        request: &Request<'_>,
        server: &mut Server,
        now: Instant,
        out: &mut Outbox,
    ) -> Result<(), RespondError> {
        match &request.kind {
            ClientRequest::ListTools(_) => server.respond(request.id, &list(), out),
            ClientRequest::CallTool(call) => match &*call.name.to_str() {
                "echo" => arguments(call, |Echo { text }| CallToolResult::text(text))
                    .reply(request.id, server, out),
                "add" => arguments(call, |Add { a, b }| CallToolResult::text((a + b).to_string()))
                    .reply(request.id, server, out),
                "slow" => match call.parse() {
                    Ok(Steps { steps }) => {
                        self.slow.insert(request.id, Slow { steps, done: 0, next: now + STEP });
                        Ok(())
                    }
                    Err(error) => server.reject_arguments(request.id, &error.to_string(), out),
                },
                "ask" => ask(request, server, now, out),
                _ => server.reject(request.id, ErrorCode::INVALID_PARAMS, "unknown tool", out),
            },
            _ => server.reject(request.id, ErrorCode::METHOD_NOT_FOUND, "method not found", out),
        }
    }

    /// Performs each step that is due.
    fn go_on(&mut self, server: &mut Server, now: Instant, out: &mut Outbox) {
        self.slow.retain(|id, slow| {
            if now < slow.next {
                return true;
            }
            slow.done += 1;
            slow.next = now + STEP;
            // Errors are ignored: the client may not have requested progress, or the request may no longer be open.
            let progress = Progress::new(slow.done).total(slow.steps);
            _ = server.progress(*id, progress, now, out);
            let goes_on = slow.done < slow.steps;
            if !goes_on {
                _ = server.respond(*id, &CallToolResult::text("slow and steady"), out);
            }
            goes_on
        });
    }
}

impl Application<Server> for Tools {
    fn event(
        &mut self,
        event: ServerEvent<'_>,
        server: &mut Server,
        now: Instant,
        out: &mut Outbox,
    ) {
        match event {
            ServerEvent::Request(request) => {
                if request.inputs.is_some() {
                    self.notes.push(format!("{} comes again, with input", request.method));
                }
                if let Err(error) = self.answer(&request, server, now, out) {
                    self.notes.push(format!("no answer: {error}"));
                }
            }
            ServerEvent::Cancelled(cancelled) => {
                self.slow.remove(&cancelled.id);
                self.notes.push(format!("cancelled: {:?}", cancelled.cause));
            }
            ServerEvent::Violation(violation) => {
                self.notes.push(format!("violation: {}", violation.kind));
            }
            ServerEvent::Opened(_) => self.notes.push("a session is open".into()),
            ServerEvent::Ready => self.notes.push("the handshake is complete".into()),
            ServerEvent::Draining { .. } => self.notes.push("draining".into()),
            ServerEvent::Closed { cause } => self.notes.push(format!("closed: {cause}")),
            // The `Debug` output of events contains no payload.
            other => self.notes.push(format!("{other:?}")),
        }
    }

    fn command(&mut self, command: &str, server: &mut Server, now: Instant, out: &mut Outbox) {
        match command {
            GO_ON => self.go_on(server, now, out),
            _ => self.notes.push("an unknown command".into()),
        }
    }
}

#[derive(Deserialize)]
struct Echo {
    text: String,
}

#[derive(Deserialize)]
struct Add {
    a: f64,
    b: f64,
}

#[derive(Deserialize)]
struct Steps {
    #[serde(default = "some")]
    steps: u32,
}

const fn some() -> u32 {
    3
}

/// The result of a tool, or a description of its invalid arguments.
struct Served(Result<CallToolResult<'static>, String>);

fn arguments<'a, T: Deserialize<'a>>(
    call: &'a CallTool<'_>,
    serve: impl FnOnce(T) -> CallToolResult<'static>,
) -> Served {
    Served(call.parse().map(serve).map_err(|error| error.to_string()))
}

impl Served {
    fn reply(
        self,
        id: IncomingId,
        server: &mut Server,
        out: &mut Outbox,
    ) -> Result<(), RespondError> {
        match self.0 {
            Ok(result) => server.respond(id, &result, out),
            Err(wrong) => server.reject_arguments(id, &wrong, out),
        }
    }
}

/// Greets the user, after asking for a name.
fn ask(
    request: &Request<'_>,
    server: &mut Server,
    now: Instant,
    out: &mut Outbox,
) -> Result<(), RespondError> {
    #[derive(Deserialize)]
    struct Form {
        name: String,
    }
    if let Some(answer) = request.input("form") {
        let filled_in = answer.parse::<ElicitResult<'_>>().ok();
        let filled_in = filled_in.as_ref().and_then(ElicitResult::filled_in);
        let form = filled_in.and_then(|content| content.parse::<Form>().ok());
        let name = form.map_or_else(|| "whoever you are".into(), |form| form.name);
        let result = CallToolResult::text(format!("Hello, {name}!"));
        return server.respond(request.id, &result, out);
    }
    let name = PrimitiveSchema::String(StringSchema::default());
    let form = ObjectSchema::new(Map::from([("name".into(), name)]));
    let required = InputRequired::new().elicit("form", ElicitParams::form("Who are you?", form));
    server.require_input(request, &required, now, out).or_else(|error| {
        // The client does not support elicitation, or input cannot be required here.
        server.respond(request.id, &CallToolResult::error(error.to_string()), out)
    })
}

fn list() -> ListToolsResult<'static> {
    let tools = [
        ("echo", r#"{"type":"object","properties":{"text":{"type":"string"}}}"#),
        ("add", r#"{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}}}"#),
        ("slow", r#"{"type":"object","properties":{"steps":{"type":"integer"}}}"#),
        ("ask", r#"{"type":"object"}"#),
    ];
    ListToolsResult::new(
        tools.map(|(name, schema)| Tool::new(name, Raw::new(schema).unwrap_or(Raw::EMPTY_OBJECT))),
    )
}
