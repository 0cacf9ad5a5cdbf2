//! [`WorkerServer`]: the server and its tools.

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, ListChanged, ListToolsResult, Tool};
use mcp_sansio::progress::Progress;
use mcp_sansio::{
    ClientRequest, ErrorCode, Frames, Framing, IncomingId, Instant, Limits, Outbox, Payload,
    RespondError, Server, ServerConfig, ServerEvent,
};
use serde::{Deserialize, Serialize};

const COUNT_WORDS: &str =
    r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#;
const COUNT_DOWN: &str = r#"{"type":"object","properties":{"from":{"type":"integer","minimum":1,"maximum":100},"milliseconds":{"type":"integer","minimum":1,"maximum":10000}},"required":["from","milliseconds"]}"#;

#[derive(Deserialize)]
struct Text {
    text: String,
}

#[derive(Deserialize)]
struct Count {
    from: u32,
    milliseconds: u32,
}

/// The result of the tool `count_words`.
#[derive(Serialize)]
struct Counted {
    words: usize,
    characters: usize,
}

/// A call of the tool `count_down` in progress.
struct Countdown {
    request: IncomingId,
    from: u32,
    done: u32,
    period: Duration,
    next: Instant,
}

/// A server whose messages are those of a port, and its calls that take time.
pub(crate) struct WorkerServer {
    server: Server,
    outbox: Outbox,
    limits: Limits,
    countdowns: Vec<Countdown>,
}

impl WorkerServer {
    pub(crate) fn new() -> Self {
        let mut config = ServerConfig::new("browser", env!("CARGO_PKG_VERSION"));
        config.capabilities.tools = Some(ListChanged::default());
        let limits = config.connection.limits.clone();
        let outbox = Outbox::new(Framing::Messages, &limits);
        let server = Server::new(Arc::new(config));
        Self { server, outbox, limits, countdowns: Vec::new() }
    }

    pub(crate) fn receive(&mut self, message: &[u8], now: Instant) {
        for frame in Frames::of(message, &self.limits) {
            match self.server.receive(frame, now, &mut self.outbox) {
                Some(ServerEvent::Request(request)) => {
                    self.handle(request.id, &request.kind, now);
                }
                Some(ServerEvent::Cancelled(cancelled)) => {
                    self.countdowns.retain(|countdown| countdown.request != cancelled.id);
                }
                _ => {}
            }
        }
        self.handle_timeout(now);
    }

    /// Handles the timeouts of the protocol and continues the countdowns.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        while let Some(event) = self.server.handle_timeout(now, &mut self.outbox) {
            if let ServerEvent::Cancelled(cancelled) = event {
                self.countdowns.retain(|countdown| countdown.request != cancelled.id);
            }
        }
        let Self { server, outbox, countdowns, .. } = self;
        countdowns.retain_mut(|countdown| {
            if now < countdown.next {
                return true;
            }
            countdown.next = countdown.next + countdown.period;
            countdown.done += 1;
            if countdown.done < countdown.from {
                let progress = Progress::new(countdown.done).total(countdown.from);
                let reported = server.progress(countdown.request, progress, now, outbox);
                // A progress notification that does not fit into the outbox is dropped. The request is still open.
                return matches!(reported, Ok(_) | Err(RespondError::Encode(_)));
            }
            respond(countdown.request, &CallToolResult::text("lift-off"), server, outbox);
            false
        });
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let countdowns = self.countdowns.iter().map(|countdown| countdown.next);
        countdowns.chain(self.server.poll_timeout()).min()
    }

    pub(crate) fn next_message(&mut self) -> Option<Vec<u8>> {
        self.outbox.messages().next().map(<[u8]>::to_vec)
    }

    fn handle(&mut self, id: IncomingId, request: &ClientRequest<'_>, now: Instant) {
        let result = match request {
            ClientRequest::ListTools(_) => return self.respond(id, &tools()),
            ClientRequest::CallTool(call) if call.name == "count_words" => {
                call.parse().map(|Text { text }| count_words(&text))
            }
            ClientRequest::CallTool(call) if call.name == "count_down" => match call.parse() {
                Ok(Count { from, milliseconds }) if (1..=100).contains(&from) => {
                    let period = Duration::from_millis(milliseconds.clamp(1, 10_000).into());
                    let next = now + period;
                    self.countdowns.push(Countdown { request: id, from, done: 0, period, next });
                    return;
                }
                Ok(_) => Ok(CallToolResult::error("from is 1 to 100")),
                Err(error) => Err(error),
            },
            ClientRequest::CallTool(_) => {
                return self.reject(id, ErrorCode::INVALID_PARAMS, "unknown tool");
            }
            _ => return self.reject(id, ErrorCode::METHOD_NOT_FOUND, "method not found"),
        };
        let result = result.unwrap_or_else(|error| CallToolResult::error(error.to_string()));
        self.respond(id, &result);
    }

    fn respond(&mut self, id: IncomingId, result: &impl Payload) {
        respond(id, result, &mut self.server, &mut self.outbox);
    }

    fn reject(&mut self, id: IncomingId, code: ErrorCode, text: &str) {
        // The client may have cancelled the request meanwhile.
        _ = self.server.reject(id, code, text, &mut self.outbox);
    }
}

/// Responds with a result, or with an error if the result cannot be sent.
fn respond(id: IncomingId, result: &impl Payload, server: &mut Server, outbox: &mut Outbox) {
    if server.respond(id, result, outbox).is_err() {
        // The client may have cancelled the request meanwhile.
        let text = "the result cannot be sent";
        _ = server.reject(id, ErrorCode::INTERNAL_ERROR, text, outbox);
    }
}

fn tools() -> ListToolsResult<'static> {
    let tool = |name, description: &'static str, schema| {
        let mut tool = Tool::new(name, Raw::new(schema).unwrap_or(Raw::EMPTY_OBJECT));
        tool.description = Some(description.into());
        tool
    };
    ListToolsResult::new([
        tool("count_words", "Counts the words of a text", COUNT_WORDS),
        tool("count_down", "Counts down, one step at a time", COUNT_DOWN),
    ])
}

fn count_words(text: &str) -> CallToolResult<'static> {
    let words = text.split_whitespace().count();
    match Raw::from_serialize(&Counted { words, characters: text.chars().count() }) {
        Ok(counted) => CallToolResult::structured(counted),
        Err(error) => CallToolResult::error(error.to_string()),
    }
}
