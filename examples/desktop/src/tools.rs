//! [`Tools`]: the tools, and the calls that take time.

use std::fmt::Display;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant as SystemInstant};

use futures_channel::oneshot::{self, Canceled, Receiver};
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
const COMPUTE: &str = r#"{"type":"object","properties":{"milliseconds":{"type":"integer","minimum":1}},"required":["milliseconds"]}"#;

pub(crate) fn server() -> Server {
    let mut config = ServerConfig::new("desktop_server", env!("CARGO_PKG_VERSION"));
    config.capabilities.tools = Some(ListChanged::default());
    Server::new(Arc::new(config))
}

#[derive(Deserialize)]
struct Count {
    to: u32,
    milliseconds: u32,
}

#[derive(Deserialize)]
struct Compute {
    milliseconds: u32,
}

/// The result of the tool `status`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    /// The number of moves of the user interface.
    frames: u64,
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

/// A call of the tool `compute`, whose thread stops if the call is cancelled.
struct Computing {
    request: IncomingId,
    is_cancelled: Arc<AtomicBool>,
}

/// A computation on a thread of its own.
pub(crate) struct Computed {
    pub(crate) request: IncomingId,
    /// The number of steps, or nothing if the thread has failed.
    pub(crate) result: Receiver<u64>,
}

/// The state of the tools. There are at most as many calls as the server admits.
#[derive(Default)]
pub(crate) struct Tools {
    pub(crate) frames: u64,
    counting: Vec<Counting>,
    computing: Vec<Computing>,
}

impl Tools {
    /// Handles the messages that have arrived, and the due timeouts. `computes` gets each computation that begins.
    pub(crate) fn handle_steps(
        &mut self,
        stream: &mut ByteStream<Server>,
        now: Instant,
        computes: impl Fn(Computed),
    ) {
        while let Some(step) = stream.next_step(now) {
            match step.event {
                Some(ServerEvent::Request(request)) => {
                    let (id, server, outbox) = (request.id, step.machine, step.outbox);
                    self.begin(id, &request.kind, server, outbox, now)
                        .into_iter()
                        .for_each(&computes);
                }
                Some(ServerEvent::Cancelled(cancelled)) => self.cancel(cancelled.id),
                _ => {}
            }
        }
    }

    fn cancel(&mut self, id: IncomingId) {
        self.counting.retain(|counting| counting.request != id);
        for computing in self.computing.iter().filter(|computing| computing.request == id) {
            computing.is_cancelled.store(true, Ordering::Relaxed);
        }
    }

    /// Continues the calls of `count`.
    pub(crate) fn advance(&mut self, stream: &mut ByteStream<Server>, now: Instant) {
        let (server, outbox) = stream.machine_and_outbox();
        self.counting.retain_mut(|counting| {
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

    /// Responds to a call of `compute`.
    pub(crate) fn computed(
        &mut self,
        request: IncomingId,
        result: Result<u64, Canceled>,
        stream: &mut ByteStream<Server>,
    ) {
        self.computing.retain(|computing| computing.request != request);
        let (server, outbox) = stream.machine_and_outbox();
        let result = match result {
            Ok(steps) => CallToolResult::text(format!("{steps} steps")),
            Err(Canceled) => CallToolResult::error("the computation has failed"),
        };
        answer(request, &result, server, outbox);
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.counting.iter().map(|counting| counting.next).min()
    }

    fn begin(
        &mut self,
        id: IncomingId,
        request: &ClientRequest<'_>,
        server: &mut Server,
        outbox: &mut Outbox,
        now: Instant,
    ) -> Option<Computed> {
        let call = match request {
            ClientRequest::CallTool(call) => call,
            ClientRequest::ListTools(_) => {
                answer(id, &tools(), server, outbox);
                return None;
            }
            _ => {
                refuse(id, ErrorCode::METHOD_NOT_FOUND, "method not found", server, outbox);
                return None;
            }
        };
        let begun = match &*call.name.to_str() {
            "status" => {
                answer(id, &self.status(), server, outbox);
                Ok(None)
            }
            "count" => call.parse().map(|Count { to, milliseconds }| {
                let period = Duration::from_millis(milliseconds.into());
                self.counting.push(Counting {
                    request: id,
                    done: 0,
                    to,
                    period,
                    next: now + period,
                });
                None
            }),
            "compute" => call.parse().map(|Compute { milliseconds }| {
                Some(self.compute(id, Duration::from_millis(milliseconds.into())))
            }),
            _ => {
                refuse(id, ErrorCode::INVALID_PARAMS, "unknown tool", server, outbox);
                Ok(None)
            }
        };
        begun.unwrap_or_else(|error| {
            answer(id, &CallToolResult::error(error.to_string()), server, outbox);
            None
        })
    }

    /// Computes on another thread for this time, or until the call is cancelled.
    fn compute(&mut self, request: IncomingId, time: Duration) -> Computed {
        let (done, result) = oneshot::channel();
        let is_cancelled = Arc::new(AtomicBool::new(false));
        self.computing.push(Computing { request, is_cancelled: Arc::clone(&is_cancelled) });
        let compute = move || {
            let (begin, mut steps) = (SystemInstant::now(), 0);
            while begin.elapsed() < time && !is_cancelled.load(Ordering::Relaxed) {
                steps += 1;
            }
            // Without the server the result has no receiver.
            _ = done.send(steps);
        };
        // Without a thread `done` is dropped, which is a failed computation.
        _ = thread::Builder::new().spawn(compute);
        Computed { request, result }
    }

    fn status(&self) -> CallToolResult<'static> {
        let open_calls = self.counting.len() + self.computing.len();
        match Raw::from_serialize(&Status { frames: self.frames, open_calls }) {
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
        tool("status", "The frames of the user interface, and the open calls".into(), NO_ARGUMENTS),
        tool("count", "Counts in the loop, and reports progress".into(), COUNT),
        tool("compute", "Computes on another thread".into(), COMPUTE),
    ])
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

/// Writes a line to standard error. A standard error that is closed or full does not stop the server.
fn log(line: &impl Display) {
    _ = writeln!(io::stderr(), "{line}");
}
