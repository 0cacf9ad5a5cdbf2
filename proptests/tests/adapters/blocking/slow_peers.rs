//! Peers that read slowly, stop reading, or disconnect: no finished work is lost silently.

use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Read, Write, pipe};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mcp_sansio::model::{CallToolParams, CallToolResult, ListChanged, LoggingLevel};
use mcp_sansio::subscription::Log;
use mcp_sansio::{
    CallOptions, Client, ClientConfig, ClientEvent, ClientRequest, ErrorCode, RespondError,
    RevisionSet, Server, ServerConfig, ServerEvent,
};
use mcp_sansio_std::{
    CallFailure, Exchange, HalfClose, Handle, Handler, RefuseAll, SocketWriter, connect, serve,
};
use serde_json::{Value, json};

fn client_config() -> ClientConfig {
    let mut config = ClientConfig::new("c", "1");
    config.revisions = RevisionSet::LEGACY;
    config
}

/// A timeout longer than any operation of these tests takes, even on a busy computer.
const A_LONG_TIME: Duration = Duration::from_secs(120);

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;

fn config() -> ServerConfig {
    let mut config = ServerConfig::new("server", "1");
    config.revisions = RevisionSet::LEGACY;
    config.capabilities.tools = Some(ListChanged::default());
    config.capabilities.logging = Some(Default::default());
    config
}

/// Starts a server on its own thread.
fn start(
    config: ServerConfig,
    handler: impl Handler<Server>,
) -> (JoinHandle<io::Result<()>>, PipeReader, PipeWriter) {
    let (from_client, to_server) = pipe().unwrap();
    let (from_server, to_client) = pipe().unwrap();
    let thread = thread::spawn(move || serve(config, from_client, to_client, handler));
    (thread, from_server, to_server)
}

fn calls(range: std::ops::Range<u32>) -> String {
    let call = |id| {
        let params = json!({"name": "t"});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
    };
    range.map(|id| call(id) + "\n").collect()
}

/// Returns the ids of the requests that got a result, and of those that got an error.
fn answers(output: &str) -> (Vec<u64>, Vec<u64>) {
    let messages = output.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let (refused, done): (Vec<_>, Vec<_>) =
        messages.skip(1).partition(|message| message.get("error").is_some());
    let ids = |messages: Vec<Value>| {
        let mut ids: Vec<_> =
            messages.iter().map(|message| message["id"].as_u64().unwrap()).collect();
        ids.sort_unstable();
        ids
    };
    (ids(done), ids(refused))
}

/// Responses wait for room: they arrive at a client that reads late, and the server continues to serve.
#[test]
fn answers_wait_for_a_client_that_reads_late() {
    let mut config = config();
    config.connection.limits.outbox_bytes = 64 << 10;
    let answer =
        |exchange: &Exchange<Server>| exchange.respond(&CallToolResult::text("x".repeat(10_000)));
    let (server, from_server, mut to_server) = start(config, answer);
    let input = format!("{INITIALIZE}\n{}", calls(1..301));
    to_server.write_all(input.as_bytes()).unwrap();
    // Fills the pipe and the outbox; the rest waits for room.
    thread::sleep(Duration::from_millis(200));
    let mut lines = BufReader::new(from_server).lines();
    let mut output: String = lines.by_ref().take(301).map(|line| line.unwrap() + "\n").collect();
    to_server.write_all(calls(301..302).as_bytes()).unwrap();
    output += &lines.next().unwrap().unwrap();
    assert_eq!(answers(&output), ((1..302).collect(), vec![]));
    drop(to_server);
    assert!(lines.next().is_none());
    server.join().unwrap().unwrap();
}

/// A request whose handler drops the exchange is rejected as soon as there is room, and no thread waits for that
/// room.
#[test]
fn refusals_wait_for_a_client_that_reads_late() {
    let mut config = config();
    config.connection.limits.outbox_bytes = 4 << 10;
    let forget = |_: &Exchange<Server>| Ok(());
    let (server, mut from_server, mut to_server) = start(config, forget);
    let input = format!("{INITIALIZE}\n{}", calls(1..1001));
    to_server.write_all(input.as_bytes()).unwrap();
    thread::sleep(Duration::from_millis(200));
    drop(to_server);
    let mut output = String::new();
    from_server.read_to_string(&mut output).unwrap();
    assert_eq!(answers(&output), (vec![], (1..1001).collect()));
    server.join().unwrap().unwrap();
}

/// `… | server | less`: writing continues as long as the client reads, however slowly.
#[test]
fn a_consumer_that_is_slow_gets_everything() {
    let mut config = config();
    config.connection.timeouts.drain = Duration::from_millis(300);
    let answer =
        |exchange: &Exchange<Server>| exchange.respond(&CallToolResult::text("x".repeat(300_000)));
    let (server, mut from_server, mut to_server) = start(config, answer);
    to_server.write_all(format!("{INITIALIZE}\n{}", calls(1..4)).as_bytes()).unwrap();
    drop(to_server);
    let mut output = Vec::new();
    let mut chunk = vec![0; 32 << 10];
    loop {
        thread::sleep(Duration::from_millis(50));
        match from_server.read(&mut chunk).unwrap() {
            0 => break,
            bytes => output.extend_from_slice(chunk.get(..bytes).unwrap()),
        }
    }
    let output = String::from_utf8(output).unwrap();
    assert_eq!(answers(&output), (vec![1, 2, 3], vec![]));
    server.join().unwrap().unwrap();
}

/// If the request of a tool is cancelled, the tool's own call to the client is cancelled, at the tool and at the
/// client.
#[test]
fn cancelling_a_request_cancels_its_nested_requests() {
    struct Asks(Mutex<Sender<CallFailure>>);
    impl Handler<Server> for Asks {
        fn serve(&self, exchange: &Exchange<Server>) {
            let params = json!({"messages": [], "maxTokens": 1});
            let options = exchange.call_options();
            let asked =
                exchange.handle().call_method("sampling/createMessage", &params, options).wait();
            self.0.lock().unwrap().send(asked.unwrap_err()).unwrap();
        }
    }
    struct Thinks(Mutex<Sender<&'static str>>);
    impl Handler<Client> for Thinks {
        fn serve(&self, exchange: &Exchange<Client>) {
            let say = |word| self.0.lock().unwrap().send(word).unwrap();
            say("asked");
            if exchange.wait_cancelled(A_LONG_TIME) {
                say("dismissed");
            }
        }
    }
    let (failures, failed) = channel();
    let (words, reported) = channel();
    let (server, reader, writer) = start(config(), Asks(Mutex::new(failures)));
    let mut client = client_config();
    client.capabilities.sampling = Some(Default::default());
    let connection = connect(client, reader, writer, Thinks(Mutex::new(words))).unwrap();
    let params = CallToolParams::new("t");
    let call = connection.handle().call_method("tools/call", &params, CallOptions::new());
    assert_eq!(reported.recv_timeout(A_LONG_TIME), Ok("asked"));
    let Err(call) = call.wait_timeout(Duration::from_millis(1)) else { panic!("it is pending") };
    call.cancel(Some("changed my mind"));
    assert_eq!(failed.recv_timeout(A_LONG_TIME), Ok(CallFailure::Cancelled));
    assert_eq!(reported.recv_timeout(A_LONG_TIME), Ok("dismissed"));
    connection.close(Duration::ZERO).wait().unwrap();
    server.join().unwrap().unwrap();
}

/// Closing waits for open calls and for unwritten messages, on any transport.
#[test]
fn closing_loses_nothing() {
    struct Slow(Mutex<Sender<String>>);
    impl Handler<Server> for Slow {
        fn serve(&self, exchange: &Exchange<Server>) {
            thread::sleep(Duration::from_millis(100));
            exchange.respond(&CallToolResult::text("done")).unwrap();
        }
        fn event(&self, _: &Handle<Server>, event: ServerEvent<'static>) {
            if let ServerEvent::Notification(notification) = event {
                self.0.lock().unwrap().send(notification.method.to_string()).unwrap();
            }
        }
    }
    let (sender, notifications) = channel();
    let (server, reader, writer) = start(config(), Slow(Mutex::new(sender)));
    let connection = connect(client_config(), reader, writer, RefuseAll::new()).unwrap();
    let params = CallToolParams::new("t");
    let call = connection.handle().call_method("tools/call", &params, CallOptions::new());
    connection.handle().notify_method("notifications/x", &()).unwrap();
    assert_eq!(connection.close(A_LONG_TIME).wait().unwrap(), None);
    assert!(call.wait().is_ok(), "the call was answered before the end");
    assert_eq!(notifications.recv_timeout(A_LONG_TIME).unwrap(), "notifications/x");
    server.join().unwrap().unwrap();
}

/// All events that the server sends before the end are delivered before `close` returns.
#[test]
fn close_returns_after_all_events_are_delivered() {
    const LINES: usize = 500;
    let talk = |exchange: &Exchange<Server>| -> Result<(), RespondError> {
        for line in 0..LINES {
            exchange.log(&Log::new(LoggingLevel::Info, &line)).unwrap();
        }
        exchange.respond(&CallToolResult::text("done"))
    };
    struct Listens(mpsc::SyncSender<&'static str>);
    impl Handler<Client> for Listens {
        fn serve(&self, _: &Exchange<Client>) {}
        fn event(&self, _: &Handle<Client>, event: ClientEvent<'static>) {
            match event {
                ClientEvent::Notification(_) => self.0.send("log").unwrap(),
                ClientEvent::Closed { .. } => self.0.send("closed").unwrap(),
                _ => {}
            }
        }
    }
    let (sender, lines) = mpsc::sync_channel(2 * LINES);
    let (server, reader, writer) = start(config(), talk);
    let connection = connect(client_config(), reader, writer, Listens(sender)).unwrap();
    let params = CallToolParams::new("t");
    connection.handle().call_method("tools/call", &params, CallOptions::new()).wait().unwrap();
    connection.close(Duration::ZERO).wait().unwrap();
    let lines: Vec<_> = lines.try_iter().collect();
    assert_eq!(lines.len(), LINES + 1);
    assert_eq!(lines.last(), Some(&"closed"));
    server.join().unwrap().unwrap();
}

/// Closing shuts the socket down for writing, so that both sides end.
#[test]
fn closing_reaches_the_other_side_of_a_socket() {
    let listener = TcpListener::bind("localhost:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        let reader = socket.try_clone().unwrap();
        let answer = |exchange: &Exchange<Server>| exchange.respond(&CallToolResult::text("hi"));
        serve(config(), reader, SocketWriter::new(socket), answer)
    });
    let socket = TcpStream::connect(address).unwrap();
    let reader = socket.try_clone().unwrap();
    let config = client_config();
    let connection = connect(config, reader, SocketWriter::new(socket), RefuseAll::new()).unwrap();
    let params = CallToolParams::new("t");
    connection.handle().call_method("tools/call", &params, CallOptions::new()).wait().unwrap();
    connection.close(Duration::ZERO).wait().unwrap();
    server.join().unwrap().unwrap();
}

/// A stream of the application that panics or fails ends the connection with an error.
#[test]
fn a_stream_that_breaks_ends_the_connection() {
    struct Panics;
    impl Read for Panics {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            panic!("no")
        }
    }
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::IsADirectory.into())
        }
    }
    let error = serve(config(), Panics, io::sink(), RefuseAll::new()).unwrap_err();
    assert_eq!(error.to_string(), "a stream panicked");
    let error = serve(config(), Fails, io::sink(), RefuseAll::new()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
}

/// Streams in non-blocking mode (`WouldBlock`) are polled again.
#[test]
fn streams_that_do_not_block_are_waited_for() {
    struct Sometimes<S>(S, bool);
    impl<S: Read> Read for Sometimes<S> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 { Err(io::ErrorKind::WouldBlock.into()) } else { self.0.read(buffer) }
        }
    }
    impl<S: Write> Write for Sometimes<S> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 { Err(io::ErrorKind::WouldBlock.into()) } else { self.0.write(bytes) }
        }
        fn flush(&mut self) -> io::Result<()> {
            self.1 = !self.1;
            if self.1 { Err(io::ErrorKind::WouldBlock.into()) } else { self.0.flush() }
        }
    }
    let input = io::Cursor::new(format!("{INITIALIZE}\n{}", calls(1..2)));
    let (mut from_server, to_client) = pipe().unwrap();
    let refuse = |exchange: &Exchange<Server>| match &exchange.request().kind {
        ClientRequest::CallTool(_) => exchange.respond(&CallToolResult::text("hi")),
        _ => exchange.reject(ErrorCode::METHOD_NOT_FOUND, "no"),
    };
    serve(config(), Sometimes(input, false), Sometimes(to_client, false), refuse).unwrap();
    let mut output = String::new();
    from_server.read_to_string(&mut output).unwrap();
    assert_eq!(answers(&output), (vec![1], vec![]));
}

/// A stream that reports when its thread drops it.
struct Reports<S>(S, Sender<()>);

impl<S> Drop for Reports<S> {
    fn drop(&mut self) {
        _ = self.1.send(());
    }
}

impl<S: Read> Read for Reports<S> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

impl<S: Write> Write for Reports<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The reader of a closed connection ends, although the server keeps its side open and writes.
#[test]
fn a_reader_ends_although_the_server_keeps_writing() {
    let (from_server, mut to_client) = pipe().unwrap();
    let (from_client, to_server) = pipe().unwrap();
    let (sender, dropped) = channel();
    thread::spawn(move || {
        let mut lines = BufReader::new(from_client).lines();
        let initialize: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        let info = json!({"name": "s", "version": "1"});
        let result =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": info});
        let answer = json!({"jsonrpc": "2.0", "id": initialize["id"], "result": result});
        writeln!(to_client, "{answer}").unwrap();
        let chat = r#"{"jsonrpc":"2.0","method":"notifications/chat"}"#;
        while writeln!(to_client, "{chat}").is_ok() {
            thread::sleep(Duration::from_millis(10));
        }
    });
    let reader = Reports(from_server, sender);
    let connection = connect(client_config(), reader, to_server, RefuseAll::new()).unwrap();
    connection.close(Duration::ZERO).wait().unwrap();
    dropped.recv_timeout(A_LONG_TIME).unwrap();
}

#[cfg(unix)]
impl HalfClose for Reports<TcpStream> {
    fn close_output(&self) -> io::Result<()> {
        self.0.close_output()
    }

    fn limit_writes(&self) -> io::Result<()> {
        self.0.limit_writes()
    }
}

/// The writer of a connection that has ended does not wait for a client that keeps its socket open and reads nothing.
#[cfg(unix)]
#[test]
fn a_writer_ends_although_the_client_reads_nothing() {
    let listener = TcpListener::bind("localhost:0").unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (socket, _) = listener.accept().unwrap();
    let (sender, dropped) = channel();
    let writer = SocketWriter::new(Reports(socket.try_clone().unwrap(), sender));
    let mut config = config();
    config.connection.timeouts.drain = Duration::from_millis(100);
    let (answering, answered) = channel();
    let answering = Mutex::new(answering);
    let answer = move |exchange: &Exchange<Server>| {
        let responded = exchange.respond(&CallToolResult::text("x".repeat(1 << 20)));
        _ = answering.lock().unwrap().send(());
        responded
    };
    let server = thread::spawn(move || serve(config, socket, writer, answer));
    client.write_all(format!("{INITIALIZE}\n{}", calls(1..21)).as_bytes()).unwrap();
    // More than the socket takes.
    for _ in 1..21 {
        answered.recv_timeout(A_LONG_TIME).unwrap();
    }
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(server.join().unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
    dropped.recv_timeout(A_LONG_TIME).unwrap();
    drop(client);
}
