//! [`Tools`]: the tools, and the calls that take time. Two of the tools misuse resources that a sandbox limits.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, ListChanged, ListToolsResult, Tool};
use mcp_sansio::progress::Progress;
use mcp_sansio::{
    ByteStream, ClientRequest, ErrorCode, IncomingId, Instant, Outbox, Payload, RespondError,
    Server, ServerConfig, ServerEvent,
};
use serde::{Deserialize, Serialize};

const NO_ARGUMENTS: &str = r#"{"type":"object"}"#;
const COUNT: &str = r#"{"type":"object","properties":{"to":{"type":"integer","minimum":1},"milliseconds":{"type":"integer","minimum":1}},"required":["to","milliseconds"]}"#;

pub(crate) fn server() -> Server {
    let mut config = ServerConfig::new("sandboxed_server", env!("CARGO_PKG_VERSION"));
    config.capabilities.tools = Some(ListChanged::default());
    // The memory that a client can make the server keep has to fit into the limit of the sandbox.
    config.connection.limits.frame_bytes = 1 << 20;
    Server::new(Arc::new(config))
}

#[derive(Deserialize)]
struct Count {
    to: u32,
    milliseconds: u32,
}

/// The result of the tool `status`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    /// The linear memory of the component. It never shrinks.
    memory_bytes: usize,
    open_calls: usize,
}

/// A call of the tool `count` in progress.
struct Counting {
    request: IncomingId,
    done: u32,
    to: u32,
    period: Duration,
    next: Instant,
}

/// The calls that take time. There are at most as many as the server admits.
#[derive(Default)]
pub(crate) struct Tools(Vec<Counting>);

impl Tools {
    /// Handles the messages that have arrived, and the due timeouts.
    pub(crate) fn handle_steps(&mut self, stream: &mut ByteStream<Server>, now: Instant) {
        while let Some(step) = stream.next_step(now) {
            match step.event {
                Some(ServerEvent::Request(request)) => {
                    self.begin(request.id, &request.kind, step.machine, step.outbox, now);
                }
                Some(ServerEvent::Cancelled(cancelled)) => {
                    self.0.retain(|counting| counting.request != cancelled.id);
                }
                _ => {}
            }
        }
    }

    /// Continues the calls of `count`.
    pub(crate) fn advance(&mut self, stream: &mut ByteStream<Server>, now: Instant) {
        let (server, outbox) = stream.machine_and_outbox();
        self.0.retain_mut(|counting| {
            if now < counting.next {
                return true;
            }
            counting.done += 1;
            counting.next = now + counting.period;
            if counting.done < counting.to {
                let progress = Progress::new(counting.done).total(counting.to);
                let reported = server.progress(counting.request, progress, now, outbox);
                // A progress notification that does not fit into the outbox is dropped. The request is still open.
                return matches!(reported, Ok(_) | Err(RespondError::Encode(_)));
            }
            answer(counting.request, &CallToolResult::text("counted"), server, outbox);
            false
        });
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.0.iter().map(|counting| counting.next).min()
    }

    fn begin(
        &mut self,
        id: IncomingId,
        request: &ClientRequest<'_>,
        server: &mut Server,
        outbox: &mut Outbox,
        now: Instant,
    ) {
        let call = match request {
            ClientRequest::ListTools(_) => return answer(id, &tools(), server, outbox),
            ClientRequest::CallTool(call) => call,
            _ => {
                let text = "method not found";
                return refuse(id, ErrorCode::METHOD_NOT_FOUND, text, server, outbox);
            }
        };
        match &*call.name.to_str() {
            "status" => answer(id, &self.status(), server, outbox),
            "count" => match call.parse() {
                Ok(Count { to, milliseconds }) => {
                    let period = Duration::from_millis(milliseconds.into());
                    let next = now + period;
                    self.0.push(Counting { request: id, done: 0, to, period, next });
                }
                Err(error) => answer(id, &CallToolResult::error(error.to_string()), server, outbox),
            },
            "spin" => loop {
                std::hint::black_box(());
            },
            "hoard" => answer(id, &hoard(), server, outbox),
            _ => refuse(id, ErrorCode::INVALID_PARAMS, "unknown tool", server, outbox),
        }
    }

    fn status(&self) -> CallToolResult<'static> {
        let memory_bytes = core::arch::wasm32::memory_size(0) << 16;
        match Raw::from_serialize(&Status { memory_bytes, open_calls: self.0.len() }) {
            Ok(status) => CallToolResult::structured(status),
            Err(error) => CallToolResult::error(error.to_string()),
        }
    }
}

fn tools() -> ListToolsResult<'static> {
    let tool = |name, description, schema| {
        let mut tool = Tool::new(name, Raw::new(schema).unwrap_or(Raw::EMPTY_OBJECT));
        tool.description = Some(description);
        tool
    };
    ListToolsResult::new([
        tool("status", "The memory, and the open calls".into(), NO_ARGUMENTS),
        tool("count", "Counts, and reports progress".into(), COUNT),
        tool("spin", "Computes without end".into(), NO_ARGUMENTS),
        tool("hoard", "Allocates until there is no more memory".into(), NO_ARGUMENTS),
    ])
}

/// Allocates until the sandbox refuses more memory, and releases all of it.
fn hoard() -> CallToolResult<'static> {
    let mut blocks = Vec::new();
    let mut block = Vec::<u8>::new();
    while blocks.try_reserve(1).is_ok() && block.try_reserve_exact(1 << 20).is_ok() {
        blocks.push(std::mem::take(&mut block));
    }
    let mebibytes = blocks.len();
    drop(blocks);
    CallToolResult::error(format!("no more memory after {mebibytes} MiB"))
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

/// Writes a line to standard error.
fn log(line: &impl Display) {
    eprintln!("{line}");
}
