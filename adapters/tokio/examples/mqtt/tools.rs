//! The tools of the server on MQTT: `echo` and `ticket` respond at once, `count` takes time.

use std::collections::BTreeMap;
use std::time::Duration;

use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, ListChanged, ListToolsResult, Tool};
use mcp_sansio::progress::Progress;
use mcp_sansio::{
    ClientRequest, ErrorCode, IncomingId, Instant, Outbox, Payload, RespondError, Server,
    ServerConfig, ServerEvent,
};
use serde::Deserialize;

use crate::link::MESSAGE;

const ECHO: &str =
    r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#;
const TICKET: &str = r#"{"type":"object"}"#;
const COUNT: &str = r#"{"type":"object","properties":{"to":{"type":"integer","minimum":1,"maximum":1000},"milliseconds":{"type":"integer","minimum":1,"maximum":60000}},"required":["to","milliseconds"]}"#;

#[derive(Deserialize)]
struct Echo {
    text: String,
}

#[derive(Deserialize)]
struct CountArguments {
    to: u32,
    milliseconds: u32,
}

/// A call of the tool `count` in progress.
struct Count {
    done: u32,
    to: u32,
    period: Duration,
    next: Instant,
}

/// The calls of one client that take time. `Limits::inbound_requests` bounds their number.
#[derive(Default)]
pub(crate) struct Calls(BTreeMap<IncomingId, Count>);

/// The configuration of each connection: at worst about 20 MiB, by the formula of [`Limits`](mcp_sansio::Limits).
pub(crate) fn config() -> ServerConfig {
    let mut config = ServerConfig::new("mqtt_server", env!("CARGO_PKG_VERSION"));
    config.capabilities.tools = Some(ListChanged::default());
    let limits = &mut config.connection.limits;
    limits.frame_bytes = MESSAGE;
    limits.connection_bytes = 4 * MESSAGE;
    limits.inbound_requests = 16;
    limits.outbox_bytes = MESSAGE;
    limits.congestion_bytes = MESSAGE / 4;
    config
}

impl Calls {
    pub(crate) fn handle(
        &mut self,
        event: ServerEvent<'_>,
        server: &mut Server,
        outbox: &mut Outbox,
        tickets: &mut u64,
        now: Instant,
    ) {
        match event {
            ServerEvent::Request(request) => {
                self.serve(request.id, &request.kind, server, outbox, tickets, now);
            }
            ServerEvent::Cancelled(cancelled) => {
                self.0.remove(&cancelled.id);
            }
            _ => {}
        }
    }

    fn serve(
        &mut self,
        id: IncomingId,
        request: &ClientRequest<'_>,
        server: &mut Server,
        outbox: &mut Outbox,
        tickets: &mut u64,
        now: Instant,
    ) {
        let call = match request {
            ClientRequest::ListTools(_) => return answer(id, &tools(), server, outbox),
            ClientRequest::CallTool(call) => call,
            _ => {
                return refuse(id, ErrorCode::METHOD_NOT_FOUND, "method not found", server, outbox);
            }
        };
        let result = match &*call.name.to_str() {
            "echo" => call.parse().map(|Echo { text }| CallToolResult::text(text)),
            "ticket" => {
                *tickets += 1;
                Ok(CallToolResult::text(tickets.to_string()))
            }
            "count" => match call.parse() {
                Ok(CountArguments {
                    to: to @ 1..=1000,
                    milliseconds: milliseconds @ 1..=60_000,
                }) => {
                    let period = Duration::from_millis(milliseconds.into());
                    self.0.insert(id, Count { done: 0, to, period, next: now + period });
                    return;
                }
                Ok(_) => Ok(CallToolResult::error("to is 1 to 1000, milliseconds is 1 to 60000")),
                Err(error) => Err(error),
            },
            _ => return refuse(id, ErrorCode::INVALID_PARAMS, "unknown tool", server, outbox),
        };
        let result = result.unwrap_or_else(|error| CallToolResult::error(error.to_string()));
        answer(id, &result, server, outbox);
    }

    /// Continues the calls whose next step is due.
    pub(crate) fn work(&mut self, server: &mut Server, outbox: &mut Outbox, now: Instant) {
        self.0.retain(|id, count| {
            if now < count.next {
                return true;
            }
            count.next = now + count.period;
            count.done += 1;
            if count.done < count.to {
                let progress = Progress::new(count.done).total(count.to);
                let reported = server.progress(*id, progress, now, outbox);
                // A report without room in the outbox is left out. The request is still open.
                return matches!(reported, Ok(_) | Err(RespondError::Encode(_)));
            }
            let text = format!("counted to {}", count.to);
            answer(*id, &CallToolResult::text(text), server, outbox);
            false
        });
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.0.values().map(|count| count.next).min()
    }
}

fn tools() -> ListToolsResult<'static> {
    let tool = |name, schema| Tool::new(name, Raw::new(schema).unwrap_or(Raw::EMPTY_OBJECT));
    ListToolsResult::new([tool("echo", ECHO), tool("ticket", TICKET), tool("count", COUNT)])
}

/// Responds to a request, with an error if the result cannot be sent: the request is still open, and the client waits.
fn answer(id: IncomingId, result: &impl Payload, server: &mut Server, outbox: &mut Outbox) {
    if server.respond(id, result, outbox).is_err() {
        refuse(id, ErrorCode::INTERNAL_ERROR, "the result cannot be sent", server, outbox);
    }
}

fn refuse(id: IncomingId, code: ErrorCode, text: &str, server: &mut Server, outbox: &mut Outbox) {
    // The client may have cancelled the request meanwhile.
    _ = server.reject(id, code, text, outbox);
}
