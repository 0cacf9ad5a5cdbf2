//! A template for fuzzing your own handler. It makes arbitrary calls of the tools under arbitrary limits; the bytes
//! are split, delayed, cancelled and mixed with noise. The promises of the handler hold throughout.
//!
//! To fuzz your own handler, run `cargo fuzz init` in its project, add
//!
//! ```toml
//! arbitrary = { version = "1", features = ["derive"] }
//! mcp-sansio = { version = "0.1", features = ["arbitrary", "testing"] }
//! ```
//!
//! to the dependencies of `fuzz/Cargo.toml`, and copy this file. Then replace, from the top to the bottom:
//!
//! 1. [`Handler`] with yours. It must take the time and the server as arguments, like this one. A handler that reads
//!    a clock, a thread or a random number is not reproducible.
//! 2. The calls in [`Step`]: one with typed arguments for each tool, so that the fuzzer does not have to guess the
//!    JSON before it reaches your tool. [`Step::Any`] is for the guesses.
//! 3. The expected response, in [`Expected`]. [`Run::check`] verifies the other promises of your handler after every
//!    step.
//!
//! The rest stays: [`Monitor`] knows the promises of every handler. Each call ends once, and no request gets two
//! responses or a response after its cancellation. To see a failure, remove the line with `remove` in
//! [`Handler::event`].

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

/// The handler under test. It responds to `add` and `reverse` immediately, and to `wait` when its time has come.
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
    /// Handles an event. Returns the request that it has responded to, if any.
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
                // A request that is already over needs no response. A result that cannot be written is replaced by an
                // error.
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

    /// Responds to one due request. Returns its id, or `None` if no request is due.
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

/// The fuzzer's input. The feature `arbitrary` generates all of it.
#[derive(Arbitrary, Debug)]
struct Input<'a> {
    /// Limits, timeouts and policies of both sides.
    connections: (ConnectionConfig, ConnectionConfig),
    revisions: (RevisionSet, RevisionSet),
    start: Instant,
    steps: Vec<Step<'a>>,
}

/// The next step.
#[derive(Arbitrary, Debug)]
enum Step<'a> {
    Add(i64, i64),
    Reverse(&'a str),
    Wait(u16),
    /// A call of any tool, with any arguments.
    Any(CallToolParams<'a>),
    /// A cancellation of one of the calls.
    Cancel(u8),
    /// Some bytes arrive at the server.
    ToServer(u16),
    ToClient(u16),
    Everything,
    Milliseconds(u16),
    /// A stray line on the wire.
    Noise(&'a [u8]),
}

/// The expected result of a call.
#[derive(Debug)]
enum Expected {
    Text(String),
    /// Any result, but not before this time.
    NotBefore(Instant),
    Anything,
}

/// Both sides, and their monitors.
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
    // Two sides without a common revision never connect.
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
                // The line never looks like a message: an invalid message would rightly get an error response.
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
        // The call may fail for lack of space or because the connection is closed.
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

    /// Checks the events of both sides, and passes those of the server to the handler.
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

    /// Checks the result of a call. A call may also fail: by timeout, for lack of space, or at the close.
    fn check_outcome(&self, expected: &Expected, outcome: &Outcome<'_>) {
        let Outcome::Result(result) = outcome else { return };
        match expected {
            Expected::Text(expected) => {
                let result: CallToolResult<'_> = result.parse().expect("it is one of a tool");
                let content = result.content.get(0);
                let text = content.and_then(|content| content.as_text().map(ToString::to_string));
                assert_eq!(text.as_ref(), Some(expected));
            }
            Expected::NotBefore(at) => assert!(*at <= self.pair.now, "the response came too early"),
            Expected::Anything => {}
        }
    }

    /// Checks the invariants that hold after every step.
    fn check(&self) -> Result<(), Broken> {
        let Self { pair, handler, .. } = self;
        self.client.check(&pair.client, pair.now)?;
        self.server.check(&pair.server, pair.now)?;
        let known = |id| self.server.requests().any(|request| request == id);
        let forgotten = handler.waiting.keys().find(|id| !known(**id));
        assert_eq!(forgotten, None, "the handler still works on a request that is over");
        Ok(())
    }

    /// Advances time until nothing is due, or 50 times, and then closes the connection.
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
