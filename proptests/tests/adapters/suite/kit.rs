//! Shared helpers of the cases.

use std::io::{BufRead, BufReader, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, EmptyCapability, ListChanged};
use mcp_sansio::{CallOptions, ClientConfig, RevisionSet, ServerConfig};
use mcp_sansio_driver::{CallFailure, Connection, ConnectionOptions, PendingCall, Reply};
use piper::{Reader, Writer};
use serde_json::{Value, json};

use crate::suite::pipes::{Blocks, End, pipes};
use crate::suite::runtimes::{Adapter, Served};
use crate::suite::script::{Answers, Script};

/// A timeout longer than any operation of these tests takes, even on a busy computer: a test that reaches it has
/// failed.
pub(crate) const A_LONG_TIME: Duration = Duration::from_secs(120);

/// The log of a handler, line by line.
pub(crate) struct Log(pub(crate) Receiver<String>);

impl Log {
    /// Returns the next line.
    pub(crate) fn next(&self) -> String {
        self.0.recv_timeout(A_LONG_TIME).unwrap()
    }

    /// Whether the log has no unread lines.
    pub(crate) fn is_silent(&self) -> bool {
        self.0.try_recv().is_err()
    }

    /// Returns all lines until every sender is dropped.
    pub(crate) fn rest(&self) -> Vec<String> {
        let mut rest = Vec::new();
        loop {
            match self.0.recv_timeout(A_LONG_TIME) {
                Ok(line) => rest.push(line),
                Err(RecvTimeoutError::Disconnected) => return rest,
                Err(RecvTimeoutError::Timeout) => panic!("somebody is left: {rest:?}"),
            }
        }
    }
}

pub(crate) fn server_config() -> ServerConfig {
    let mut config = ServerConfig::new("server", "1");
    config.revisions = RevisionSet::LEGACY;
    config.capabilities.tools = Some(ListChanged::default());
    config.capabilities.logging = Some(EmptyCapability::default());
    config
}

pub(crate) fn client_config() -> ClientConfig {
    let mut config = ClientConfig::new("client", "1");
    config.revisions = RevisionSet::LEGACY;
    config.capabilities.sampling = Some(Default::default());
    config.capabilities =
        config.capabilities.with_extension("com.example/weather", Raw::EMPTY_OBJECT);
    config
}

/// A server and a client, both of the same adapter, on pipes.
pub(crate) struct World<A> {
    pub(crate) adapter: A,
    pub(crate) script: Script,
    pub(crate) log: Log,
    pub(crate) served: Served,
    pub(crate) connection: Connection,
}

impl<A: Adapter> World<A> {
    pub(crate) fn new() -> Self {
        Self::with(4096, server_config(), client_config(), ConnectionOptions::new())
    }

    /// Connects both sides with pipes of this capacity.
    pub(crate) fn with(
        bytes: usize,
        server: ServerConfig,
        client: ClientConfig,
        options: ConnectionOptions,
    ) -> Self {
        let (adapter, (ours, theirs)) = (A::new(), pipes(bytes));
        let (script, log) = Script::new();
        let served = adapter.serve_with(server, options.clone(), theirs, script.clone());
        let connection = adapter.connect_with(client, options, ours, Answers::default()).unwrap();
        Self { adapter, script, log, served, connection }
    }

    pub(crate) fn start(&self, tool: &str, text: &str) -> PendingCall {
        start(&self.connection, tool, text, CallOptions::new())
    }

    pub(crate) fn call(&self, tool: &str, text: &str) -> Result<String, CallFailure> {
        self.start(tool, text).wait().map(|reply| text_of(&reply))
    }

    /// Closes the connection, and expects the server to end without an error.
    pub(crate) fn end(self) {
        assert_eq!(self.connection.handle().counts().outbound, 0, "no call is left behind");
        self.connection.close(A_LONG_TIME).wait().unwrap();
        self.served.recv_timeout(A_LONG_TIME).unwrap().unwrap();
    }
}

pub(crate) fn start(
    connection: &Connection,
    tool: &str,
    text: &str,
    options: CallOptions,
) -> PendingCall {
    let params = json!({"name": tool, "arguments": {"text": text}});
    connection.handle().call_method("tools/call", &params, options)
}

pub(crate) fn text_of<C>(reply: &Reply<C>) -> String {
    let result = reply.parse_as::<CallToolResult<'_>>().unwrap();
    result.content.get(0).unwrap().as_text().unwrap().to_string()
}

/// A peer that writes and reads raw lines.
pub(crate) struct Peer {
    pub(crate) lines: BufReader<Blocks<Reader>>,
    pub(crate) writer: Blocks<Writer>,
}

impl Peer {
    pub(crate) fn new(End { reader, writer }: End) -> Self {
        Self { lines: BufReader::new(Blocks(reader)), writer: Blocks(writer) }
    }

    /// Writes the bytes unchanged.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.writer.write_all(bytes).unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.write((message.to_string() + "\n").as_bytes());
    }

    pub(crate) fn call(&mut self, id: u32, tool: &str, text: &str) {
        let params = json!({"name": tool, "arguments": {"text": text}});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }

    pub(crate) fn cancel(&mut self, id: u32) {
        let params = json!({"requestId": id});
        let method = "notifications/cancelled";
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Returns the next line; `None` at the end.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        (self.lines.read_line(&mut line).unwrap() != 0).then_some(line)
    }

    pub(crate) fn receive(&mut self) -> Value {
        serde_json::from_str(&self.line().unwrap()).unwrap()
    }

    /// Returns all messages until the end.
    pub(crate) fn rest(&mut self) -> Vec<Value> {
        let mut rest = Vec::new();
        while let Some(line) = self.line() {
            rest.push(serde_json::from_str(&line).unwrap());
        }
        rest
    }

    /// Opens a session as a client.
    pub(crate) fn initialize(&mut self) {
        let client = json!({"name": "peer", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        let id = "initialize";
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params}));
        assert_eq!(self.receive()["id"], id);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }

    /// Opens a session as a server.
    pub(crate) fn accept(&mut self) {
        let id = self.receive()["id"].clone();
        let server = json!({"name": "peer", "version": "1"});
        let result = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
        assert_eq!(self.receive()["method"], "notifications/initialized");
    }
}

/// Starts a thread that accepts a session as a server, and then returns the idle peer.
pub(crate) fn accepting(end: End) -> JoinHandle<Peer> {
    thread::spawn(move || {
        let mut peer = Peer::new(end);
        peer.accept();
        peer
    })
}
