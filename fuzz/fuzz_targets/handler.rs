//! A handler under fuzzing, to copy for your own: any calls of its tools, under any limits, cut, late, cancelled
//! and mixed with noise, and nothing it promises is broken.
//!
//! To fuzz a handler of your own, say `cargo fuzz init` in its project, add
//!
//! ```toml
//! arbitrary = { version = "1", features = ["derive"] }
//! mcp-sansio = { version = "0.1", features = ["arbitrary", "testing"] }
//! ```
//!
//! to the dependencies of `fuzz/Cargo.toml`, and copy this file. Then replace, from the top to the bottom:
//!
//! 1. [`Handler`] by yours. It has to take the time and the server as arguments, as this one does: one that
//!    looks at a clock, a thread or a random number cannot be run again the same way.
//! 2. The calls in [`Step`]: one with typed arguments for each tool, so that the fuzzer need not guess JSON
//!    before it gets to what your tool does with it. [`Step::Any`] is for the guesses.
//! 3. What you expect of an answer, in [`Expected`]. Whatever else your handler promises is checked in
//!    [`Run::check`], after every step.
//!
//! The rest stays: [`Monitor`] knows what every handler promises, that each call ends once and that no request
//! is answered twice or after it was cancelled. To see how a failure looks, take the line with
//! `remove` out of [`Handler::event`].

#![no_main]

use std::collections::BTreeMap;
use std::time::Duration;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolParams, CallToolResult, ListChanged, method};
use mcp_sansio::testing::{Broken, Monitor, Pair, Seen};
use mcp_sansio::{
    CallId, CallOptions, Client, ClientConfig, ClientEvent, ClientRequest, ConnectionConfig,
    ErrorCode, IncomingId, Instant, Outbox, Outcome, Request, RespondError, RevisionSet, Server,
    ServerConfig, ServerEvent,
};
use serde::{Deserialize, Serialize};

/// The handler under test. It answers `add` and `reverse` at once, and `wait` when the time has come.
#[derive(Debug, Default)]
struct Handler {
    waiting: BTreeMap<IncomingId, Instant>,
}

#[derive(Serialize, Deserialize)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Serialize, Deserialize)]
struct Reverse<'a> {
    text: std::borrow::Cow<'a, str>,
}

#[derive(Serialize, Deserialize)]
struct Wait {
    milliseconds: u64,
}

impl Handler {
    /// Says which request it has answered, if it has.
    fn event(
        &mut self,
        event: &ServerEvent<'_>,
        server: &mut Server,
        now: Instant,
        out: &mut Outbox,
    ) -> Option<IncomingId> {
        match event {
            ServerEvent::Request(request) => {
                let answered = self.request(request, server, now, out);
                let is_open = self.waiting.contains_key(&request.id);
                // What cannot be answered any more need not be. What cannot be written can still be refused.
                let answered = match answered {
                    Err(RespondError::Encode(_) | RespondError::NotAllowed(_)) => {
                        server.reject(request.id, ErrorCode::INTERNAL_ERROR, "too long", out)
                    }
                    other => other,
                };
                (answered.is_ok() && !is_open).then_some(request.id)
            }
            ServerEvent::Cancelled(cancelled) => {
                self.waiting.remove(&cancelled.id);
                None
            }
            _ => None,
        }
    }

    fn request(
        &mut self,
        request: &Request<'_>,
        server: &mut Server,
        now: Instant,
        out: &mut Outbox,
    ) -> Result<(), RespondError> {
        let ClientRequest::CallTool(call) = &request.kind else {
            let code = ErrorCode::METHOD_NOT_FOUND;
            return server.reject(request.id, code, "method not found", out);
        };
        let result = match &*call.name.to_str() {
            "add" => call.parse().map(|Add { a, b }| match a.checked_add(b) {
                Some(sum) => CallToolResult::text(sum.to_string()),
                None => CallToolResult::error("that is too much"),
            }),
            "reverse" => call.parse().map(|Reverse { text }| {
                CallToolResult::text(text.chars().rev().collect::<String>())
            }),
            "wait" => match call.parse() {
                Ok(Wait { milliseconds }) => {
                    self.waiting.insert(request.id, now + Duration::from_millis(milliseconds));
                    return Ok(());
                }
                Err(error) => Err(error),
            },
            _ => {
                let code = ErrorCode::INVALID_PARAMS;
                return server.reject(request.id, code, "unknown tool", out);
            }
        };
        match result {
            Ok(result) => server.respond(request.id, &result, out),
            Err(error) => server.reject_arguments(request.id, &error.to_string(), out),
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.waiting.values().min().copied()
    }

    /// Does one thing that is due. Says whether there was one, and which request it has answered.
    fn handle_timeout(
        &mut self,
        server: &mut Server,
        now: Instant,
        out: &mut Outbox,
    ) -> Option<Result<IncomingId, RespondError>> {
        let (id, _) = self.waiting.iter().find(|(_, at)| **at <= now)?;
        let id = *id;
        self.waiting.remove(&id);
        Some(server.respond(id, &CallToolResult::text("at last"), out).map(|()| id))
    }
}

/// What the fuzzer makes up. Everything in it comes from the feature `arbitrary`.
#[derive(Arbitrary, Debug)]
struct Input<'a> {
    /// Limits, timeouts and policies of both sides.
    connections: (ConnectionConfig, ConnectionConfig),
    revisions: (RevisionSet, RevisionSet),
    start: Instant,
    steps: Vec<Step<'a>>,
}

/// What happens next.
#[derive(Arbitrary, Debug)]
enum Step<'a> {
    Add(i64, i64),
    Reverse(&'a str),
    Wait(u16),
    /// A call of anything, with anything.
    Any(CallToolParams<'a>),
    /// One of the calls is cancelled.
    Cancel(u8),
    /// Some bytes arrive.
    ToServer(u16),
    ToClient(u16),
    Everything,
    Milliseconds(u16),
    /// Somebody prints to the wire.
    Noise(&'a [u8]),
}

/// What an answer has to be.
#[derive(Debug)]
enum Expected {
    Text(String),
    /// Anything, but not before this.
    NotBefore(Instant),
    Anything,
}

/// Both sides, and those who watch them.
struct Run {
    pair: Pair,
    handler: Handler,
    calls: BTreeMap<CallId, Expected>,
    client: Monitor,
    server: Monitor,
}

fuzz_target!(|input: Input<'_>| {
    if let Err(broken) = run(input) {
        panic!("{broken}");
    }
});

fn run(input: Input<'_>) -> Result<(), Broken> {
    let mut client = ClientConfig::new("fuzzer", "1");
    (client.connection, client.revisions) = (input.connections.0, input.revisions.0);
    let mut server = ServerConfig::new("handler", "1");
    (server.connection, server.revisions) = (input.connections.1, input.revisions.1);
    server.capabilities.tools = Some(ListChanged::default());
    let mut pair = Pair::new(client, server);
    pair.now = input.start;
    let (handler, calls) = (Handler::default(), BTreeMap::new());
    let mut run = Run { pair, handler, calls, client: Monitor::new(), server: Monitor::new() };
    // Two that speak no revision at all never begin.
    let Ok(seen) = run.pair.connect() else { return Ok(()) };
    run.saw(seen)?;
    for step in input.steps {
        run.step(step)?;
        run.check()?;
    }
    run.end()
}

impl Run {
    fn step(&mut self, step: Step<'_>) -> Result<(), Broken> {
        match step {
            Step::Add(a, b) => {
                let sum = a.checked_add(b).map(|sum| sum.to_string());
                let text = sum.unwrap_or_else(|| "that is too much".into());
                self.call("add", &Add { a, b }, Expected::Text(text))
            }
            Step::Reverse(text) => {
                let reversed = text.chars().rev().collect();
                self.call("reverse", &Reverse { text: text.into() }, Expected::Text(reversed))
            }
            Step::Wait(milliseconds) => {
                let milliseconds = u64::from(milliseconds);
                let at = self.pair.now + Duration::from_millis(milliseconds);
                self.call("wait", &Wait { milliseconds }, Expected::NotBefore(at))
            }
            Step::Any(params) => self.make(&params, Expected::Anything),
            Step::Cancel(which) => {
                let Some(call) = self.calls.keys().nth(usize::from(which)).copied() else {
                    return Ok(());
                };
                let Pair { client, client_out, .. } = &mut self.pair;
                if client.cancel(call, None, client_out).is_ok() {
                    self.calls.remove(&call);
                    self.client.cancelled(call)?;
                }
                Ok(())
            }
            Step::ToServer(bytes) => {
                let seen = self.pair.to_server(bytes.into());
                self.saw(seen)
            }
            Step::ToClient(bytes) => {
                let seen = self.pair.to_client(bytes.into());
                self.saw(seen)
            }
            Step::Everything => {
                let seen = self.pair.settle();
                self.saw(seen)
            }
            Step::Milliseconds(milliseconds) => {
                let now = self.pair.now + Duration::from_millis(milliseconds.into());
                self.wait_until(now)
            }
            Step::Noise(noise) => {
                // It never looks like a message: a false one would be answered, rightly.
                if !noise.contains(&b'\n') {
                    self.pair.upstream.add_noise(&[b"#", noise].concat());
                }
                Ok(())
            }
        }
    }

    fn call<T: Serialize>(
        &mut self,
        tool: &str,
        arguments: &T,
        expected: Expected,
    ) -> Result<(), Broken> {
        let arguments = Raw::from_serialize(arguments).expect("these can be written");
        self.make(&CallToolParams::with(tool, arguments), expected)
    }

    fn make(&mut self, params: &CallToolParams<'_>, expected: Expected) -> Result<(), Broken> {
        let Pair { client, client_out, now, .. } = &mut self.pair;
        let options = CallOptions::new();
        // There may be no room for it, or no connection any more.
        let Ok(call) = client.call::<method::CallTool>(params, options, *now, client_out) else {
            return Ok(());
        };
        self.calls.insert(call, expected);
        self.client.called(call)
    }

    fn wait_until(&mut self, now: Instant) -> Result<(), Broken> {
        self.pair.now = now;
        let Self { pair, handler, server: monitor, .. } = self;
        while let Some(done) = handler.handle_timeout(&mut pair.server, now, &mut pair.server_out) {
            if let Ok(request) = done {
                monitor.answered(request)?;
            }
        }
        let seen = self.pair.handle_timeout();
        self.saw(seen)
    }

    /// Everything that either side has seen is checked, and the handler is told of what is its own.
    fn saw(&mut self, seen: Vec<Seen>) -> Result<(), Broken> {
        for event in seen {
            match event {
                Seen::Client(event) => {
                    self.client.event::<Client>(&event)?;
                    if let ClientEvent::CallEnded(ended) = event {
                        let expected = self.calls.remove(&ended.call);
                        self.check_outcome(&expected.expect("it was made"), &ended.outcome);
                    }
                }
                Seen::Server(event) => {
                    self.server.event::<Server>(&event)?;
                    let Pair { server, server_out, now, .. } = &mut self.pair;
                    if let Some(request) = self.handler.event(&event, server, *now, server_out) {
                        self.server.answered(request)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A call may fail for many reasons: time, room, the end. But a result is right.
    fn check_outcome(&self, expected: &Expected, outcome: &Outcome<'_>) {
        let Outcome::Result(result) = outcome else { return };
        match expected {
            Expected::Text(expected) => {
                let result: CallToolResult<'_> = result.parse().expect("it is one of a tool");
                let content = result.content.get(0);
                let text = content.and_then(|content| content.as_text().map(ToString::to_string));
                assert_eq!(text.as_ref(), Some(expected));
            }
            Expected::NotBefore(at) => assert!(*at <= self.pair.now, "that was too early"),
            Expected::Anything => {}
        }
    }

    /// What holds at any time.
    fn check(&self) -> Result<(), Broken> {
        let Self { pair, handler, .. } = self;
        self.client.check(&pair.client, pair.now)?;
        self.server.check(&pair.server, pair.now)?;
        let known = |id| self.server.requests().any(|request| request == id);
        let forgotten = handler.waiting.keys().find(|id| !known(**id));
        assert_eq!(forgotten, None, "the handler works on what nobody wants any more");
        Ok(())
    }

    /// Time goes on until there is nothing to wait for, or for long enough, and then the connection ends.
    fn end(mut self) -> Result<(), Broken> {
        for _ in 0..50 {
            let seen = self.pair.settle();
            self.saw(seen)?;
            self.check()?;
            let Pair { client, server, now, .. } = &self.pair;
            let due = [client.poll_timeout(), server.poll_timeout(), self.handler.poll_timeout()];
            let Some(due) = due.into_iter().flatten().min() else { break };
            let then = due.max(*now);
            self.wait_until(then)?;
        }
        self.pair.client.close();
        self.pair.server.close();
        let seen = self.pair.handle_timeout();
        self.saw(seen)?;
        self.check()?;
        assert!(self.client.is_closed() && self.server.is_closed(), "the end has not come");
        assert!(self.calls.is_empty(), "these have no outcome: {:?}", self.calls);
        assert!(self.handler.waiting.is_empty(), "the handler has not heard of the end");
        Ok(())
    }
}
