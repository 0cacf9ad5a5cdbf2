//! [`BoardServer`]: the server, its limits and its tools.

use alloc::sync::Arc;
use core::time::Duration;

use heapless::Vec;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, ListChanged, ListToolsResult, Tool};
use mcp_sansio::progress::Progress;
use mcp_sansio::{
    ByteStream, ClientRequest, ErrorCode, IncomingId, Instant, Limits, Outbox, Payload,
    RespondError, Server, ServerConfig, ServerEvent,
};
use serde::{Deserialize, Serialize};

use crate::{clock, heap, led, stack};

/// The longest message, from the client or to it.
const FRAME: usize = 3 << 10;

/// The open requests.
const REQUESTS: usize = 4;

/// The longest id of a request or of its progress.
const ID: usize = 64;

const RESERVE: usize = 512;

/// The memory that a connection needs at worst: the formula of [`Limits`] for a server that makes no calls. A session
/// of 2025-03-26 gets no batch, because `batches` is 0.
const WORST_CASE: usize = (2 * FRAME + CHUNK)
    + 4 * (FRAME + RESERVE)
    + CONNECTION_BYTES
    + 2 * REQUESTS * (ID + ID + 360)
    + 800;

/// The bytes that are read at once.
const CHUNK: usize = 256;

/// The bytes that are kept of open requests. A request counts twice.
const CONNECTION_BYTES: usize = 2 * FRAME;

/// The longest arguments of a tool. The error about arguments of the wrong type quotes them, with up to six bytes for
/// one.
const ARGUMENTS: usize = 256;

/// The memory for decoding a message and composing a result at once, and the overhead of the allocator.
const TEMPORARY: usize = 4 << 10;

// The client cannot exhaust the heap, and neither can the tools.
const _: () = assert!(WORST_CASE + heap::TOOLS + TEMPORARY <= heap::SIZE);

const LED_SCHEMA: &str =
    r#"{"type":"object","properties":{"on":{"type":"boolean"}},"required":["on"]}"#;
const BLINK_SCHEMA: &str = r#"{"type":"object","properties":{"times":{"type":"integer","minimum":1,"maximum":1000},"milliseconds":{"type":"integer","minimum":1,"maximum":10000}},"required":["times","milliseconds"]}"#;
const SAMPLE_SCHEMA: &str = r#"{"type":"object","properties":{"count":{"type":"integer","minimum":1}},"required":["count"]}"#;
const STATUS_SCHEMA: &str = r#"{"type":"object"}"#;

#[derive(Deserialize)]
struct Led {
    on: bool,
}

#[derive(Deserialize)]
struct Blinking {
    times: u32,
    milliseconds: u32,
}

#[derive(Deserialize)]
struct Sampling {
    count: usize,
}

/// The result of the tool `sample`: values of the counter of the processor's timer.
#[derive(Serialize)]
struct Samples {
    least: u32,
    median: u32,
    most: u32,
}

/// The result of the tool `status`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    led: bool,
    uptime_milliseconds: u64,
    /// The requests since the start.
    requests: u32,
    heap: Memory,
    stack: Memory,
}

/// The size of the heap or of the stack in bytes, and its peak use.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Memory {
    bytes: usize,
    most_used: usize,
}

/// A call of the tool `blink` in progress.
struct Blink {
    request: IncomingId,
    done: u32,
    times: u32,
    period: Duration,
    next: Instant,
}

/// A server on the serial port, and its calls that take time.
pub(crate) struct BoardServer {
    stream: ByteStream<Server>,
    blinks: Vec<Blink, REQUESTS>,
    requests: u32,
}

impl BoardServer {
    pub(crate) fn new() -> Self {
        let mut config = ServerConfig::new("cortex_m", env!("CARGO_PKG_VERSION"));
        config.capabilities.tools = Some(ListChanged::default());
        config.connection.limits = limits();
        let server = Server::new(Arc::new(config));
        Self { stream: ByteStream::lines(server), blinks: Vec::new(), requests: 0 }
    }

    /// Returns the buffer for received bytes.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        self.stream.space()
    }

    /// Handles the bytes that were received into `space`, and the timeouts and calls that are due.
    pub(crate) fn filled(&mut self, bytes: usize, now: Instant) {
        if 0 < bytes {
            self.stream.filled(bytes);
        }
        while let Some(step) = self.stream.next_step(now) {
            match step.event {
                Some(ServerEvent::Request(request)) => {
                    self.requests = self.requests.wrapping_add(1);
                    let context =
                        Context { blinks: &mut self.blinks, requests: self.requests, now };
                    handle(request.id, &request.kind, context, step.machine, step.outbox);
                }
                Some(ServerEvent::Cancelled(cancelled)) => {
                    self.blinks.retain(|blink| blink.request != cancelled.id);
                }
                _ => {}
            }
        }
        self.blink(now);
    }

    /// Continues the calls of `blink`.
    fn blink(&mut self, now: Instant) {
        let (server, outbox) = self.stream.machine_and_outbox();
        self.blinks.retain_mut(|blink| {
            if now < blink.next {
                return true;
            }
            blink.next = blink.next + blink.period;
            blink.done += 1;
            led::set(!led::is_on());
            if blink.done < blink.times {
                let progress = Progress::new(blink.done).total(blink.times);
                let reported = server.progress(blink.request, progress, now, outbox);
                // A progress notification that does not fit into the outbox is dropped. The request is still open.
                return matches!(reported, Ok(_) | Err(RespondError::Encode(_)));
            }
            answer(blink.request, &CallToolResult::text("done"), server, outbox);
            false
        });
    }

    /// Whether so much output is unsent that the server should read no more requests.
    pub(crate) fn is_congested(&mut self) -> bool {
        self.stream.machine_and_outbox().1.is_congested()
    }

    pub(crate) fn unsent(&self) -> &[u8] {
        self.stream.unsent()
    }

    pub(crate) fn sent(&mut self, bytes: usize) {
        self.stream.sent(bytes);
    }

    /// Whether the session has ended and its last output is sent.
    pub(crate) fn is_closed(&self) -> bool {
        self.stream.is_closed() && self.unsent().is_empty()
    }
}

/// The limits of the connection. [`WORST_CASE`] is the memory that they allow.
fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.frame_bytes = FRAME;
    limits.chunk_bytes = CHUNK;
    limits.depth = 32;
    limits.id_bytes = ID;
    limits.token_bytes = ID;
    limits.batches = 0;
    limits.connection_bytes = CONNECTION_BYTES;
    limits.inbound_requests = REQUESTS as u32;
    limits.outbound_calls = 0;
    limits.held_bytes = 0;
    limits.outbox_bytes = FRAME;
    limits.reserve_bytes = RESERVE;
    limits.congestion_bytes = FRAME / 2;
    limits.subscriptions = 0;
    limits.listens = 0;
    limits.elicitations = 0;
    limits.kept_bytes = 0;
    limits.remembered_calls = 0;
    limits
}

/// The state that the tools need besides the server.
struct Context<'b> {
    blinks: &'b mut Vec<Blink, REQUESTS>,
    requests: u32,
    now: Instant,
}

fn handle(
    id: IncomingId,
    request: &ClientRequest<'_>,
    context: Context<'_>,
    server: &mut Server,
    outbox: &mut Outbox,
) {
    let call = match request {
        ClientRequest::ListTools(_) => return answer(id, &tools(), server, outbox),
        ClientRequest::CallTool(call) => call,
        _ => return refuse(id, ErrorCode::METHOD_NOT_FOUND, "method not found", server, outbox),
    };
    if call.arguments.as_ref().is_some_and(|arguments| ARGUMENTS < arguments.as_json().len()) {
        return answer(id, &CallToolResult::error("the arguments are too long"), server, outbox);
    }
    let result = match &*call.name.to_str() {
        "led" => call.parse().map(|Led { on }| {
            led::set(on);
            CallToolResult::text(if on { "the LED is on" } else { "the LED is off" })
        }),
        "status" => Ok(status(context.requests)),
        "sample" => call.parse().map(|Sampling { count }| sample(count)),
        "blink" => match call.parse() {
            Ok(blinking) => return begin(id, &blinking, context, server, outbox),
            Err(error) => Err(error),
        },
        _ => return refuse(id, ErrorCode::INVALID_PARAMS, "unknown tool", server, outbox),
    };
    let result = result.unwrap_or_else(|error| CallToolResult::error(alloc::format!("{error}")));
    answer(id, &result, server, outbox);
}

fn tools() -> ListToolsResult<'static> {
    let tool = |name, description, schema| {
        let mut tool = Tool::new(name, Raw::new(schema).unwrap_or(Raw::EMPTY_OBJECT));
        tool.description = Some(description);
        tool
    };
    ListToolsResult::new([
        tool("led", "Switches the status LED".into(), LED_SCHEMA),
        tool("blink", "Switches the LED back and forth".into(), BLINK_SCHEMA),
        tool("sample", "The median of samples, for which they are all kept".into(), SAMPLE_SCHEMA),
        tool("status", "The LED, the time since the start, the memory".into(), STATUS_SCHEMA),
    ])
}

fn status(requests: u32) -> CallToolResult<'static> {
    let status = Status {
        led: led::is_on(),
        uptime_milliseconds: clock::now().since_epoch().as_millis() as u64,
        requests,
        heap: Memory { bytes: heap::SIZE, most_used: heap::most_used() },
        stack: Memory { bytes: stack::size(), most_used: stack::most_used() },
    };
    structured(&status)
}

fn structured(content: &impl Serialize) -> CallToolResult<'static> {
    match Raw::from_serialize(content) {
        Ok(content) => CallToolResult::structured(content),
        Err(error) => CallToolResult::error(alloc::format!("{error}")),
    }
}

/// Takes samples. The client chooses how many, so it chooses how much memory the tool needs.
fn sample(count: usize) -> CallToolResult<'static> {
    let mut samples = match heap::try_buffer(count) {
        Ok(samples) => samples,
        Err(error) => return CallToolResult::error(alloc::format!("{error}")),
    };
    samples.fill_with(clock::cycles);
    samples.sort_unstable();
    let (Some(&least), Some(&median), Some(&most)) =
        (samples.first(), samples.get(count / 2), samples.last())
    else {
        return CallToolResult::error("count is at least 1");
    };
    structured(&Samples { least, median, most })
}

/// Begins a call of the tool `blink`, which ends later.
fn begin(
    request: IncomingId,
    blinking: &Blinking,
    context: Context<'_>,
    server: &mut Server,
    outbox: &mut Outbox,
) {
    let Blinking { times, milliseconds } = *blinking;
    if !(1..=1000).contains(&times) || !(1..=10_000).contains(&milliseconds) {
        let text = "times is 1 to 1000, milliseconds is 1 to 10000";
        return answer(request, &CallToolResult::error(text), server, outbox);
    }
    let period = Duration::from_millis(milliseconds.into());
    let blink = Blink { request, done: 0, times, period, next: context.now + period };
    // The server admits no more requests than fit into this list.
    if context.blinks.push(blink).is_err() {
        refuse(request, ErrorCode::INTERNAL_ERROR, "too many calls", server, outbox);
    }
}

/// Responds to a request. If the result does not fit into the outbox, the response is an error, for which the outbox
/// keeps a reserve: the request is still open, and the client waits.
fn answer(id: IncomingId, result: &impl Payload, server: &mut Server, outbox: &mut Outbox) {
    use RespondError::{Answered, Cancelled, Closed, Stale};
    match server.respond(id, result, outbox) {
        // The client does not wait for a request that was cancelled or has ended.
        Ok(()) | Err(Answered | Cancelled | Closed | Stale) => {}
        Err(_) => {
            let text = "the client does not read, or the result is too long";
            refuse(id, ErrorCode::INTERNAL_ERROR, text, server, outbox);
        }
    }
}

/// Responds to a request with an error.
fn refuse(id: IncomingId, code: ErrorCode, text: &str, server: &mut Server, outbox: &mut Outbox) {
    // It fails only if the reserve is full: the client has sent requests without reading responses.
    _ = server.reject(id, code, text, outbox);
}
