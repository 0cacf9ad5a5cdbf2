//! The hot path of a server: frames in, answers out, on warm buffers.
//!
//! Run with `cargo bench`. Times are for comparing two builds on one quiet machine; allocations are
//! counted by a test instead (`proptests/tests/allocations.rs`).

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mcp_sansio::json::{Envelope, Raw};
use mcp_sansio::model::ListChanged;
use mcp_sansio::{
    Call, Framing, Inbox, Instant, Limits, Outbox, Server, ServerConfig, ServerEvent,
};
use serde::Serialize;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// A server in a session, with its buffers.
struct Bench {
    server: Server,
    inbox: Inbox,
    outbox: Outbox,
}

#[derive(Serialize)]
struct Text<'a> {
    r#type: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct Echo<'a> {
    content: [Text<'a>; 1],
}

impl Bench {
    fn new() -> Self {
        let mut config = ServerConfig::new("bench", "1");
        config.capabilities.tools = Some(ListChanged::default());
        let limits = Limits::default();
        let mut bench = Self {
            server: Server::new(Arc::new(config)),
            inbox: Inbox::new(&limits),
            outbox: Outbox::new(Framing::Lines, &limits),
        };
        bench.serve(&line(INITIALIZE));
        bench
    }

    /// Feeds a line, answers what it asks, and drops the output. Gives its length.
    fn serve(&mut self, mut bytes: &[u8]) -> usize {
        while !bytes.is_empty() {
            let taken = self.inbox.feed(bytes);
            bytes = bytes.get(taken..).unwrap_or_default();
            while let Some(frame) = self.inbox.next() {
                let event = self.server.receive(frame, Instant::EPOCH, &mut self.outbox);
                if let Some(ServerEvent::Request(request)) = event {
                    let Call::CallTool(call) = &request.call else { continue };
                    let text = call.arguments.as_ref().and_then(|given| given.get("text"));
                    let text = text.as_ref().and_then(Raw::string);
                    let text = text.as_ref().and_then(|text| text.as_plain()).unwrap_or("");
                    let echo = Echo { content: [Text { r#type: "text", text }] };
                    let answered = self.server.respond(request.id, &echo, &mut self.outbox);
                    assert!(answered.is_ok());
                }
            }
        }
        let sent = self.outbox.len();
        self.outbox.sent(sent);
        sent
    }
}

fn line(message: &str) -> Vec<u8> {
    let mut line = message.as_bytes().to_vec();
    line.push(b'\n');
    line
}

/// A call of a tool that echoes a text, with something nested beside it.
fn tool_call(text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"nested":{{"list":[1,[2,{{"deep":true}}]]}},"text":"{text}"}}}}}}"#
    )
}

fn scan(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scan");
    let small = tool_call("hello, world");
    let large = tool_call(&"x".repeat(1 << 20));
    for (name, message) in [("ping", PING), ("tools/call", &small), ("tools/call of 1 MB", &large)]
    {
        group.throughput(Throughput::Bytes(message.len() as u64));
        group.bench_with_input(BenchmarkId::from_parameter(name), message, |bencher, message| {
            bencher.iter(|| black_box(Envelope::scan(black_box(message.as_bytes()), 128)));
        });
    }
    group.finish();
}

fn receive_and_respond(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("receive and respond");
    let small = tool_call("hello, world");
    let large = tool_call(&"x".repeat(1 << 20));
    for (name, message) in [("ping", PING), ("tools/call", &small), ("tools/call of 1 MB", &large)]
    {
        let line = line(message);
        let mut bench = Bench::new();
        group.throughput(Throughput::Bytes(line.len() as u64));
        group.bench_with_input(BenchmarkId::from_parameter(name), &line, |bencher, line| {
            bencher.iter(|| black_box(bench.serve(black_box(line))));
        });
    }
    group.finish();
}

criterion_group!(benches, scan, receive_and_respond);
criterion_main!(benches);
