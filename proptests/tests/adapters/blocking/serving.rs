//! A server and a client on pipes in one process.

use std::io::{self, PipeReader, PipeWriter, Read, Write, pipe};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mcp_sansio::call::Timeout;
use mcp_sansio::event::Expiry;
use mcp_sansio::model::{CallToolParams, CallToolResult, EmptyCapability, ListChanged, method};
use mcp_sansio::progress::Progress;
use mcp_sansio::{
    CallOptions, Cause, Client, ClientConfig, ClientEvent, ClientRequest, ErrorCode, RespondError,
    RevisionSet, Server, ServerConfig, ServerEvent,
};
use mcp_sansio_std::{
    CallFailure, Connection, Exchange, Handle, Handler, RefuseAll, Reply, connect as connect_to,
    serve,
};
use serde_json::json;

fn client_config() -> ClientConfig {
    let mut config = ClientConfig::new("c", "1");
    config.revisions = RevisionSet::LEGACY;
    config
}

/// A timeout longer than any operation of these tests takes, even on a busy computer: a test that reaches it has
/// failed.
const A_LONG_TIME: Duration = Duration::from_secs(120);

/// A handler with tools for each kind of failure.
struct Tools {
    /// Receives a line when a tool begins to wait, and on cancellations.
    log: Mutex<Sender<String>>,
}

impl Handler<Server> for Tools {
    fn serve(&self, exchange: &Exchange<Server>) {
        _ = self.call(exchange);
    }

    fn event(&self, _handle: &Handle<Server>, event: ServerEvent<'static>) {
        if let ServerEvent::Closed { cause } = event {
            self.log(&format!("closed {cause:?}"));
        }
    }
}

impl Tools {
    fn log(&self, line: &str) {
        _ = self.log.lock().unwrap().send(line.into());
    }

    fn call(&self, exchange: &Exchange<Server>) -> Result<(), RespondError> {
        let ClientRequest::CallTool(call) = &exchange.request().kind else {
            return exchange.reject(ErrorCode::METHOD_NOT_FOUND, "tools only");
        };
        match &*call.name.to_str() {
            "echo" => {
                let text = call.arguments.as_ref().and_then(|arguments| arguments.get("text"));
                let text = text.and_then(mcp_sansio::json::Raw::into_str).unwrap();
                exchange.respond(&CallToolResult::text(text.to_str()))
            }
            "wait" => {
                self.log("waiting");
                let cancelled = exchange.wait_cancelled(Duration::from_secs(60));
                self.log(&format!("cancelled {cancelled}"));
                exchange.respond(&())
            }
            "progress" => {
                for step in 1..=3_u32 {
                    exchange.progress(Progress::new(step).total(3_u32))?;
                }
                exchange.respond(&CallToolResult::text("done"))
            }
            "ask" => {
                let params = json!({"messages": [], "maxTokens": 1});
                let options = exchange.call_options();
                let reply = exchange
                    .handle()
                    .call_method("sampling/createMessage", &params, options)
                    .wait();
                let text = match reply {
                    Ok(reply) => reply.raw().to_string(),
                    Err(failure) => failure.to_string(),
                };
                exchange.respond(&CallToolResult::text(text))
            }
            "panic" => panic!("as asked"),
            "forget" => Ok(()),
            _ => exchange.reject(ErrorCode::INVALID_PARAMS, "unknown tool"),
        }
    }
}

fn config() -> ServerConfig {
    let mut config = ServerConfig::new("server", "1");
    config.revisions = RevisionSet::LEGACY;
    config.capabilities.tools = Some(ListChanged::default());
    config.capabilities.logging = Some(EmptyCapability::default());
    config
}

/// A server on its own thread, and the log of its handler.
struct Running {
    log: Receiver<String>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Running {
    /// Returns the next line of the handler's log.
    fn next_log_line(&self) -> String {
        self.log.recv_timeout(A_LONG_TIME).unwrap()
    }

    /// Waits for the end of the server.
    fn join(&mut self) -> io::Result<()> {
        self.thread.take().unwrap().join().unwrap()
    }
}

fn start(config: ServerConfig) -> (Running, PipeReader, PipeWriter) {
    let (from_client, to_server) = pipe().unwrap();
    let (from_server, to_client) = pipe().unwrap();
    let (sender, log) = channel();
    let handler = Tools { log: Mutex::new(sender) };
    let thread = thread::spawn(move || serve(config, from_client, to_client, handler));
    (Running { log, thread: Some(thread) }, from_server, to_server)
}

fn connect(handler: impl Handler<Client>) -> (Running, Connection) {
    let (running, reader, writer) = start(config());
    let mut client = client_config();
    client.capabilities.sampling = Some(Default::default());
    (running, connect_to(client, reader, writer, handler).unwrap())
}

fn call(connection: &Connection, name: &str) -> Result<Reply<method::CallTool>, CallFailure> {
    connection
        .handle()
        .call::<method::CallTool>(&CallToolParams::new(name), CallOptions::new())
        .wait()
}

fn text<C>(reply: &Reply<C>) -> String {
    let result = reply.parse_as::<CallToolResult<'_>>().unwrap();
    result.content.get(0).unwrap().as_text().unwrap().to_string()
}

#[test]
fn a_thousand_calls_from_eight_threads() {
    let (mut running, connection) = connect(RefuseAll::new());
    thread::scope(|scope| {
        for thread in 0..8 {
            let handle = connection.handle().clone();
            scope.spawn(move || {
                for call in 0..125 {
                    let word = format!("{thread} {call}");
                    let params = json!({"name": "echo", "arguments": {"text": word}});
                    let reply =
                        handle.call_method("tools/call", &params, CallOptions::new()).wait();
                    assert_eq!(text(&reply.unwrap()), word);
                }
            });
        }
    });
    connection.close(Duration::from_secs(5)).wait().unwrap();
    running.join().unwrap();
}

/// Reading continues while a handler runs: other calls are served, and a cancellation arrives.
#[test]
fn a_waiting_handler_blocks_no_other_call_or_cancellation() {
    let (running, connection) = connect(RefuseAll::new());
    let params = CallToolParams::new("wait");
    let pending = connection.handle().call_method("tools/call", &params, CallOptions::new());
    assert_eq!(running.next_log_line(), "waiting");
    assert_eq!(text(&call(&connection, "progress").unwrap()), "done");
    pending.cancel(Some("enough"));
    assert_eq!(running.next_log_line(), "cancelled true");
    let dropped = connection.handle().call_method("tools/call", &params, CallOptions::new());
    assert_eq!(running.next_log_line(), "waiting");
    drop(dropped);
    assert_eq!(running.next_log_line(), "cancelled true", "dropping a call cancels it");
}

#[test]
fn progress_arrives_before_the_result() {
    let (_running, connection) = connect(RefuseAll::new());
    let params = CallToolParams::new("progress");
    let options = CallOptions::new().progress();
    let pending = connection.handle().call_method("tools/call", &params, options);
    let mut seen = Vec::new();
    let reply = pending.wait_with(|update| seen.push(update.progress.as_f64())).unwrap();
    assert_eq!((seen, text(&reply)), (vec![1.0, 2.0, 3.0], "done".to_string()));
}

/// Pain 15: a request whose handler panics or drops the exchange gets an error response, and the next call works.
#[test]
fn a_handler_that_fails_is_answered_for() {
    let (_running, connection) = connect(RefuseAll::new());
    for name in ["panic", "forget"] {
        let Err(CallFailure::PeerError(error)) = call(&connection, name) else { panic!("{name}") };
        assert_eq!(error.code, ErrorCode::INTERNAL_ERROR);
        assert_eq!(error.message, "the request was not answered");
    }
    assert_eq!(text(&call(&connection, "progress").unwrap()), "done");
}

/// A handler that is a function returns the error of its response: the client receives the reason, and the request is
/// not forgotten. A function that has responded and fails afterwards changes nothing.
#[test]
fn a_result_that_does_not_fit_is_answered_with_the_reason() {
    let (from_client, to_server) = pipe().unwrap();
    let (from_server, to_client) = pipe().unwrap();
    let handler = |exchange: &Exchange<Server>| {
        let ClientRequest::CallTool(call) = &exchange.request().kind else { return Ok(()) };
        if call.name == "twice" {
            exchange.respond(&CallToolResult::text("once"))?;
        }
        exchange.respond(&json!({"content": "no list"}))
    };
    let server = thread::spawn(move || serve(config(), from_client, to_client, handler));
    let connection = connect_to(client_config(), from_server, to_server, RefuseAll::new()).unwrap();
    let Err(CallFailure::PeerError(error)) = call(&connection, "misfit") else { panic!("misfit") };
    assert_eq!(error.code, ErrorCode::INTERNAL_ERROR);
    assert_eq!(error.message, "the answer could not be written: content has the wrong type");
    assert_eq!(text(&call(&connection, "twice").unwrap()), "once");
    connection.close(Duration::from_secs(5)).wait().unwrap();
    server.join().unwrap().unwrap();
}

/// Pain 7: a tool calls the client while the client waits for the tool.
#[test]
fn a_tool_can_ask_the_client() {
    let reported = json!({
        "model": "m", "role": "assistant", "content": {"type": "text", "text": "t"}
    });
    let expected = reported.to_string();
    let answer = move |exchange: &Exchange<Client>| exchange.respond(&reported);
    let (_running, connection) = connect(answer);
    assert_eq!(text(&call(&connection, "ask").unwrap()), expected);
    let (_running, connection) = connect(RefuseAll::new());
    assert!(text(&call(&connection, "ask").unwrap()).contains("-32601"));
}

#[test]
fn a_call_that_takes_too_long_times_out_on_both_sides() {
    let (running, connection) = connect(RefuseAll::new());
    let options = CallOptions::new().idle(Timeout::After(Duration::from_millis(50)));
    let params = CallToolParams::new("wait");
    // On a busy computer the call can time out before it is sent.
    while running.log.try_recv().is_err() {
        let failure = connection.handle().call::<method::CallTool>(&params, options).wait();
        let Err(CallFailure::TimedOut(expiry)) = failure else { panic!("{failure:?}") };
        assert_eq!(expiry, Expiry::Idle);
    }
    assert_eq!(running.next_log_line(), "cancelled true");
}

/// Pain 12: a server that dies ends every call and the connection.
#[test]
fn a_server_that_dies_ends_every_call() {
    let (to_client, from_server) = pipe().map(|(reader, writer)| (writer, reader)).unwrap();
    let (mut from_client, to_server) = pipe().unwrap();
    let (sender, events) = channel();
    let server = thread::spawn(move || {
        let mut to_client = to_client;
        let answer = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}}}}\n";
        to_client.write_all(answer.as_bytes()).unwrap();
        let mut seen = Vec::new();
        while !String::from_utf8_lossy(&seen).contains("tools/call") {
            let mut chunk = [0; 512];
            let bytes = from_client.read(&mut chunk).unwrap();
            seen.extend_from_slice(chunk.get(..bytes).unwrap());
        }
    });
    struct Listener(Mutex<Sender<ClientEvent<'static>>>);
    impl Handler<Client> for Listener {
        fn serve(&self, _: &Exchange<Client>) {}
        fn event(&self, _: &Handle<Client>, event: ClientEvent<'static>) {
            _ = self.0.lock().unwrap().send(event);
        }
    }
    let listener = Listener(Mutex::new(sender));
    let connection = connect_to(client_config(), from_server, to_server, listener).unwrap();
    let failure = call(&connection, "any");
    assert!(matches!(failure, Err(CallFailure::Closed(_))), "{failure:?}");
    let closed = events.recv_timeout(A_LONG_TIME).unwrap();
    assert!(matches!(closed, ClientEvent::Closed { .. }), "{closed:?}");
    server.join().unwrap();
    assert!(matches!(call(&connection, "any"), Err(CallFailure::CallError(_))));
}

/// `printf '…' | server` gets its responses, and the server ends.
#[test]
fn a_server_responds_to_its_requests_after_end_of_input() {
    let (mut running, mut from_server, mut to_server) = start(config());
    let input = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}\nnoise\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"hi\"}}}";
    to_server.write_all(input.as_bytes()).unwrap();
    drop(to_server);
    let mut output = String::new();
    from_server.read_to_string(&mut output).unwrap();
    assert_eq!(
        output.lines().collect::<Vec<_>>(),
        [
            r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"server","version":"1"}}}"#,
            r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"hi"}]}}"#,
        ]
    );
    running.join().unwrap();
    assert_eq!(running.next_log_line(), "closed EndOfInput");
}

/// A handler that does not end is cancelled at the drain deadline, and the server ends all the same.
#[test]
fn a_stuck_handler_cannot_keep_a_server_alive() {
    let mut config = config();
    config.connection.timeouts.drain = Duration::from_millis(100);
    let (mut running, reader, writer) = start(config);
    let connection = connect_to(client_config(), reader, writer, RefuseAll::new()).unwrap();
    let params = CallToolParams::new("wait");
    let pending = connection.handle().call_method("tools/call", &params, CallOptions::new());
    assert_eq!(running.next_log_line(), "waiting");
    connection.handle().shut_down(Duration::ZERO);
    let failure = pending.wait();
    assert!(matches!(failure, Err(CallFailure::Closed(Cause::DrainDeadline))), "{failure:?}");
    drop(connection);
    running.join().unwrap();
    let mut reported = [running.next_log_line(), running.next_log_line()];
    reported.sort_unstable();
    assert_eq!(reported, ["cancelled true", "closed DrainDeadline"]);
}

/// Pain 1 and 4: a client that stops reading blocks neither reading nor deadlines.
#[test]
fn a_stuck_write_holds_up_nothing_but_itself() {
    let (mut running, mut from_server, mut to_server) = start(config());
    let send = |to_server: &mut PipeWriter, line: String| {
        to_server.write_all(line.as_bytes()).unwrap();
        to_server.write_all(b"\n").unwrap();
    };
    let call = |id: u32, name: &str, text: &str| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": name, "arguments": {"text": text}}})
        .to_string()
    };
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}});
    send(&mut to_server, initialize.to_string());
    // This text exceeds the capacity of any pipe, so the writing thread blocks from here on.
    let large = "x".repeat(1 << 20);
    send(&mut to_server, call(1, "echo", &large));
    send(&mut to_server, call(2, "wait", ""));
    assert_eq!(running.next_log_line(), "waiting", "reading and serving go on");
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}});
    send(&mut to_server, cancel.to_string());
    assert_eq!(running.next_log_line(), "cancelled true");
    // Requests that have not started wait while the client does not read, up to `Limits::connection_bytes`.
    for id in 3..20 {
        send(&mut to_server, call(id, "echo", &large));
    }
    drop(to_server);
    let mut output = String::new();
    from_server.read_to_string(&mut output).unwrap();
    assert_eq!(output.lines().count(), 19, "everything is answered but the cancelled call");
    let refused = output.lines().filter(|line| line.contains("\"error\"")).count();
    assert_eq!(refused, 0, "work that was done arrives");
    running.join().unwrap();
}

/// Pain 88: a client that stops reading forever does not keep the server alive forever.
#[test]
fn a_client_that_never_reads_is_left_in_the_end() {
    let mut config = config();
    config.connection.timeouts.drain = Duration::from_millis(200);
    let (mut running, _from_server, mut to_server) = start(config);
    let ping =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{}\",\"method\":\"ping\"}}\n", "i".repeat(200));
    for _ in 0..1000 {
        to_server.write_all(ping.as_bytes()).unwrap();
    }
    let started = Instant::now();
    drop(to_server);
    let error = running.join().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
    assert!(started.elapsed() < A_LONG_TIME);
}

/// With more requests than threads, the waiting requests can be cancelled and never run.
#[test]
fn a_request_that_waits_for_a_thread_can_be_cancelled() {
    let (running, connection) = connect(RefuseAll::new());
    let start = |name: &str| {
        let params = CallToolParams::new(name);
        connection.handle().call_method("tools/call", &params, CallOptions::new())
    };
    let running_calls: Vec<_> = (0..64).map(|_| start("wait")).collect();
    for _ in 0..64 {
        assert_eq!(running.next_log_line(), "waiting");
    }
    let waiting = start("wait");
    let after = start("progress");
    waiting.cancel(Some("never mind"));
    // The connection itself responds to a ping, so the response proves that the cancellation has arrived.
    connection.handle().call_method("ping", &(), CallOptions::new()).wait().unwrap();
    drop(running_calls);
    assert_eq!(text(&after.wait().unwrap()), "done");
    for _ in 0..64 {
        assert_eq!(running.next_log_line(), "cancelled true");
    }
    assert!(running.log.try_recv().is_err(), "the one that waited never ran");
}

/// Pain 84: dropping any handle in any order neither hangs nor panics.
#[test]
fn everything_can_be_dropped_at_any_time() {
    let (mut running, connection) = connect(RefuseAll::new());
    let handle = connection.handle().clone();
    let pending =
        handle.call_method("tools/call", &CallToolParams::new("wait"), CallOptions::new());
    drop(connection);
    assert!(pending.wait().is_err());
    assert_eq!(handle.phase(), mcp_sansio::Phase::Closed);
    drop(handle);
    running.join().unwrap();
    let shared = Arc::new(());
    let kept = Arc::clone(&shared);
    let (mut running, connection) = connect(move |exchange: &Exchange<Client>| {
        let _kept = &kept;
        exchange.respond(&())
    });
    drop(connection);
    running.join().unwrap();
}
