//! Promise 8: a warm connection allocates nothing.

use std::sync::Arc;

use mcp_sansio::json::Raw;
use mcp_sansio::model::method::ListTools;
use mcp_sansio::model::{CallToolParams, ListToolsResult, Tool};
use mcp_sansio::progress::Progress;
use mcp_sansio::schema::{Json, Prepared};
use mcp_sansio::{
    CallOptions, Client, ClientEvent, ClientRequest, Framing, Inbox, Instant, Outbox, Revision,
    Server, ServerEvent,
};
use mcp_sansio_proptests::allocations::count;
use mcp_sansio_proptests::config;

const ROUNDS: usize = 200;

/// A server with its buffers, as in an event loop.
struct Serving {
    server: Server,
    inbox: Inbox,
    outbox: Outbox,
    now: Instant,
    sent: usize,
}

impl Serving {
    fn new() -> Self {
        let config = Arc::new(config::server_of_both_eras());
        let limits = config.connection.limits.clone();
        let mut serving = Self {
            server: Server::new(config),
            inbox: Inbox::new(&limits),
            outbox: Outbox::new(Framing::Lines, &limits),
            now: Instant::from_millis(1),
            sent: 0,
        };
        let initialize = b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
        serving.feed(initialize, &mut |_, _, _| {});
        serving
    }

    fn feed(
        &mut self,
        mut bytes: &[u8],
        serve: &mut dyn FnMut(&mut Server, ServerEvent<'_>, &mut Outbox),
    ) {
        while !bytes.is_empty() {
            let taken = self.inbox.feed(bytes);
            bytes = &bytes[taken..];
            while let Some(frame) = self.inbox.next() {
                if let Some(event) = self.server.receive(frame, self.now, &mut self.outbox) {
                    serve(&mut self.server, event, &mut self.outbox);
                }
            }
        }
        while self.server.handle_timeout(self.now, &mut self.outbox).is_some() {}
        self.sent += self.outbox.unsent().len();
        self.outbox.sent(self.outbox.unsent().len());
    }
}

/// Feeds the bytes repeatedly, and returns the number of allocations after the warm-up.
fn server_allocations(
    bytes: &[u8],
    mut serve: impl FnMut(&mut Server, ServerEvent<'_>, &mut Outbox),
) -> u64 {
    let mut serving = Serving::new();
    for _ in 0..3 {
        serving.feed(bytes, &mut serve);
    }
    let before = serving.sent;
    let ((), allocations) = count(|| {
        for _ in 0..ROUNDS {
            serving.feed(bytes, &mut serve);
        }
    });
    assert!(before < serving.sent, "something was answered");
    assert_eq!(serving.server.in_flight().counts().inbound, 0);
    allocations
}

#[derive(serde::Serialize)]
struct Text<'a> {
    r#type: &'static str,
    text: &'a str,
}

#[derive(serde::Serialize)]
struct ToolResult<'a> {
    content: [Text<'a>; 1],
}

fn answer(server: &mut Server, event: ServerEvent<'_>, out: &mut Outbox) {
    let ServerEvent::Request(request) = event else { panic!("{event:?}") };
    let ClientRequest::CallTool(call) = &request.kind else { panic!("{request:?}") };
    let text = call.arguments.as_ref().and_then(|arguments| arguments.get("text"));
    let text = text.as_ref().and_then(Raw::as_string).expect("a text");
    let text = text.as_plain().expect("without escapes");
    let report =
        server.progress(request.id, Progress::new(1_u8).total(2_u8), Instant::from_millis(1), out);
    assert!(report.is_ok());
    let result = ToolResult { content: [Text { r#type: "text", text }] };
    server.respond(request.id, &Json(&result), out).expect("room");
}

fn tool_call(id: &str, meta: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"echo\",\"arguments\":{{\"text\":\"hello\",\"nested\":{{\"list\":[1,[2,{{\"deep\":true}}]]}}}}{meta}}}}}\n"
    )
}

#[test]
fn a_server_allocates_nothing_for_a_ping() {
    let ping = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    assert_eq!(server_allocations(ping, |_, event, _| panic!("{event:?}")), 0);
}

#[test]
fn a_server_allocates_nothing_for_a_tool_call() {
    assert_eq!(server_allocations(tool_call("7", "").as_bytes(), answer), 0);
}

#[test]
fn a_server_allocates_nothing_for_a_result_that_has_been_prepared() {
    let schema = Raw::new(r#"{"type":"object"}"#).unwrap();
    let tools = ListToolsResult::new(vec![Tool::new("a", schema)]);
    for (revision, meta) in [(Revision::V2025_11_25, ""), (Revision::V2026_07_28, ALONE)] {
        let prepared = Prepared::result::<ListTools>(revision, &tools).unwrap();
        let request = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{{\"_meta\":{{{meta}}}}}}}\n"
        );
        let allocations = server_allocations(request.as_bytes(), |server, event, out| {
            let ServerEvent::Request(request) = event else { panic!("{event:?}") };
            server.respond(request.id, &prepared, out).expect("room");
        });
        assert_eq!(allocations, 0, "{revision}");
    }
}

/// A value that serializes itself through `Display`, as a number or a date does.
struct Printed;

impl serde::Serialize for Printed {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{} \"done\"", 7))
    }
}

#[derive(serde::Serialize)]
struct PrintedResult {
    content: [PrintedText; 1],
}

#[derive(serde::Serialize)]
struct PrintedText {
    r#type: &'static str,
    text: Printed,
}

#[test]
fn a_server_allocates_nothing_for_texts_that_print_themselves() {
    let serve = |server: &mut Server, event: ServerEvent<'_>, out: &mut Outbox| {
        let ServerEvent::Request(request) = event else { panic!("{event:?}") };
        let result = PrintedResult { content: [PrintedText { r#type: "text", text: Printed }] };
        server.respond(request.id, &Json(&result), out).expect("room");
    };
    assert_eq!(server_allocations(tool_call("7", "").as_bytes(), serve), 0);
}

/// A gateway relays raw JSON, with the escapes of its origin. Pain 92.
#[test]
fn a_server_allocates_nothing_for_a_result_that_is_passed_on() {
    let text = r#"{"content":[{"type":"text","text":"a\n\"b\""},{"type":"text","text":"c"}]}"#;
    let result = Raw::new(text).expect("JSON");
    let serve = |server: &mut Server, event: ServerEvent<'_>, out: &mut Outbox| {
        let ServerEvent::Request(request) = event else { panic!("{event:?}") };
        server.respond(request.id, &result, out).expect("room");
    };
    assert_eq!(server_allocations(tool_call("7", "").as_bytes(), serve), 0);
}

/// Pain 92: of any size.
#[test]
fn a_server_allocates_nothing_for_a_large_result_that_is_passed_on() {
    let text = format!(r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#, "x".repeat(1_000_000));
    let result = Raw::new(&text).expect("JSON");
    let mut serving = Serving::new();
    let call = tool_call("7", "");
    let mut serve = |server: &mut Server, event: ServerEvent<'_>, out: &mut Outbox| {
        let ServerEvent::Request(request) = event else { panic!("{event:?}") };
        server.respond(request.id, &result, out).expect("room");
    };
    (0..3).for_each(|_| serving.feed(call.as_bytes(), &mut serve));
    let before = serving.sent;
    let ((), allocations) =
        count(|| (0..5).for_each(|_| serving.feed(call.as_bytes(), &mut serve)));
    assert!(5_000_000 < serving.sent - before);
    assert_eq!(allocations, 0);
}

/// With a string id of 38 bytes, quotes included, and a progress token of the same form.
#[test]
fn a_server_allocates_nothing_for_a_tool_call_with_progress() {
    let id = "\"123e4567-e89b-12d3-a456-426614174000\"";
    assert_eq!(id.len(), 38);
    let meta = format!(",\"_meta\":{{\"progressToken\":{id}}}");
    assert_eq!(server_allocations(tool_call(id, &meta).as_bytes(), answer), 0);
}

/// The `_meta` members of a modern request.
const ALONE: &str = "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientInfo\":{\"name\":\"c\",\"version\":\"1\"},\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{},\"sampling\":{\"tools\":{}}},\"io.modelcontextprotocol/logLevel\":\"info\"";

#[test]
fn a_server_allocates_nothing_for_a_modern_tool_call() {
    let id = "\"123e4567-e89b-12d3-a456-426614174000\"";
    let meta = format!(",\"_meta\":{{{ALONE},\"progressToken\":{id}}}");
    assert_eq!(server_allocations(tool_call(id, &meta).as_bytes(), answer), 0);
}

/// 64 requests in flight, with ids of 38 bytes; responses are sent out of order, and one request is cancelled.
#[test]
fn a_server_allocates_nothing_with_many_in_flight() {
    let id = |n: usize| format!("\"123e4567-e89b-12d3-a456-4266141{n:05}\"");
    let mut bytes: String = (0..64).map(|n| tool_call(&id(n), "")).collect();
    bytes += &format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{},\"reason\":\"r\"}}}}\n",
        id(40)
    );
    let mut waiting = Vec::with_capacity(64);
    let serve = move |server: &mut Server, event: ServerEvent<'_>, out: &mut Outbox| match event {
        ServerEvent::Request(request) => waiting.push(request.id),
        ServerEvent::Cancelled(_) => {
            // 37 and 64 have no common divisor, so the loop visits all requests.
            for step in 0..64 {
                let result = ToolResult { content: [Text { r#type: "text", text: "done" }] };
                let answered = server.respond(waiting[step * 37 % 64], &Json(&result), out);
                assert_eq!(answered.is_err(), step * 37 % 64 == 40);
            }
            waiting.clear();
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(server_allocations(bytes.as_bytes(), serve), 0);
}

/// A client in a session, with generated responses.
struct Asking {
    client: Client,
    inbox: Inbox,
    outbox: Outbox,
    now: Instant,
    /// The buffer of the response to one call.
    answer: Vec<u8>,
}

impl Asking {
    fn new(modern: bool) -> Self {
        let config =
            Arc::new(if modern { config::client_of_both_eras() } else { config::client() });
        let limits = config.connection.limits.clone();
        let mut client = Client::new(config);
        let mut outbox = Outbox::new(Framing::Lines, &limits);
        let now = Instant::from_millis(1);
        client.connect(now, &mut outbox).expect("at the start");
        let result = if modern {
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}}}}"
        } else {
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}}}}"
        };
        assert!(client.receive(result, now, &mut outbox).is_some());
        outbox.sent(usize::MAX);
        Self { client, inbox: Inbox::new(&limits), outbox, now, answer: Vec::with_capacity(200) }
    }

    /// Makes calls, responds out of order with progress before each response, and receives their outcomes.
    fn round(&mut self, first: u64, calls: usize, params: &(impl mcp_sansio::Payload + ?Sized)) {
        let options = CallOptions::new().progress();
        for _ in 0..calls {
            let made =
                self.client.call_method("tools/call", params, options, self.now, &mut self.outbox);
            assert!(made.is_ok());
        }
        self.outbox.sent(usize::MAX);
        let mut ended = 0;
        for step in 0..calls {
            use std::io::Write;
            let id = first + (step * 37 % calls) as u64;
            self.answer.clear();
            write!(
                self.answer,
                "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":{id},\"progress\":0.5,\"message\":\"m\"}}}}\n{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"resultType\":\"complete\",\"content\":[{{\"type\":\"text\",\"text\":\"hello\"}}]}}}}\n"
            )
            .expect("room");
            let taken = self.inbox.feed(&self.answer);
            assert_eq!(taken, self.answer.len());
            while let Some(frame) = self.inbox.next() {
                match self.client.receive(frame, self.now, &mut self.outbox) {
                    Some(ClientEvent::CallEnded(_)) => ended += 1,
                    Some(ClientEvent::Progress(_)) => {}
                    other => panic!("{other:?}"),
                }
            }
        }
        assert_eq!(ended, calls);
        while self.client.handle_timeout(self.now, &mut self.outbox).is_some() {}
    }
}

fn client_allocations(
    modern: bool,
    calls: usize,
    params: &(impl mcp_sansio::Payload + ?Sized),
) -> u64 {
    let mut asking = Asking::new(modern);
    let mut next = 2;
    let mut round = |asking: &mut Asking| {
        asking.round(next, calls, params);
        next += calls as u64;
    };
    // Ids get longer during the warm-up, and so does the state of each request.
    for _ in 0..20 {
        round(&mut asking);
    }
    let ((), allocations) = count(|| {
        for _ in 0..ROUNDS {
            round(&mut asking);
        }
    });
    allocations
}

#[test]
fn a_client_allocates_nothing_for_a_ping_or_a_call() {
    assert_eq!(client_allocations(false, 1, &CallToolParams::new("echo")), 0);
    let arguments = serde_json::json!({"name": "echo", "arguments": {"nested": [1, {"a": [2]}]}});
    assert_eq!(client_allocations(false, 1, &arguments), 0);
}

#[test]
fn a_client_allocates_nothing_with_many_in_flight() {
    let params =
        Raw::new(r#"{"name":"echo","arguments":{"a":[1]},"_meta":{"k":1}}"#).expect("JSON");
    assert_eq!(client_allocations(false, 64, &params), 0);
}

#[test]
fn a_client_allocates_nothing_without_a_session() {
    let params =
        Raw::new(r#"{"name":"echo","arguments":{"a":[1]},"_meta":{"k":1}}"#).expect("JSON");
    assert_eq!(client_allocations(true, 1, &params), 0);
    assert_eq!(client_allocations(true, 64, &params), 0);
}

/// Measures the cost of an idle session, for DESIGN section 7.
#[test]
fn an_idle_session_is_small() {
    let config = Arc::new(config::server());
    let (serving, allocations) = count(|| {
        let mut outbox = Outbox::new(Framing::Lines, &config.connection.limits);
        let mut server = Server::new(Arc::clone(&config));
        let initialize = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}";
        assert!(server.receive(initialize, Instant::EPOCH, &mut outbox).is_some());
        outbox.sent(usize::MAX);
        outbox.release();
        (server, outbox)
    });
    let bytes = size_of_val(&serving) + size_of::<Inbox>();
    assert!(bytes < 1024, "{bytes} bytes on the stack");
    assert!(allocations < 20, "{allocations} allocations for a handshake");
}
