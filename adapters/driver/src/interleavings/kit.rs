//! Connections on threads, with the peer's messages as text.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use mcp_sansio::model::ListChanged;
use mcp_sansio::{Client, ClientConfig, ClientEvent, Inbox, Revision, Server, ServerConfig};
use serde_json::Value;
use shuttle::sync::Mutex;
use shuttle::sync::mpsc::{Receiver, Sender, channel};
use shuttle::thread::{JoinHandle, spawn};

use crate::asynchronous::{RefuseAll, Spawner, Work};
use crate::block::{Parker, block_on};
use crate::machine::Machine;
use crate::{
    Clock, ConnectionOptions, EventDelivery, Exchange, Handle, Incoming, Job, Outgoing, Pool, Run,
    Wire,
};

/// Runs a blocking function on a [`Pool`], as the adapter for threads does.
struct OnPool(Pool<Job<Server>>);

impl Run<Server> for OnPool {
    fn begin(&self, _: &Handle<Server>) {}

    fn run(&self, job: Job<Server>) {
        self.0.push(job);
    }
}

/// The configuration of a server with tools.
pub(super) fn config() -> ServerConfig {
    let mut config = ServerConfig::new("server", "1");
    config.capabilities.tools = Some(ListChanged::default());
    config
}

/// A server whose requests are served by a function on a pool of threads.
pub(super) fn server(
    config: ServerConfig,
    options: &ConnectionOptions,
    serve: impl Fn(&Exchange) + Send + Sync + 'static,
) -> Arc<Wire<Server>> {
    let run = move |job| match job {
        Job::Serve(exchange) => serve(&exchange),
        Job::Deliver(mut delivery) => (&mut delivery as &mut EventDelivery<Server>).for_each(drop),
    };
    Wire::server(config, options, Clock::new(), OnPool(Pool::new("test", run)))
}

/// Panics without the panic hook, which shuttle has replaced.
pub(super) fn panic_silently() -> ! {
    std::panic::resume_unwind(Box::new("as asked"))
}

/// A call of the tool `t`.
pub(super) fn call(id: u32) -> String {
    call_of("t", id)
}

/// A call of a tool.
pub(super) fn call_of(tool: &str, id: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    )
}

/// The handshake of a session.
pub(super) fn session() -> Vec<String> {
    [
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"client","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    ]
    .map(String::from)
    .into()
}

/// The cancellation of a call.
pub(super) fn cancel(id: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

/// Passes lines to a connection, on a thread of its own, and the end of the input after them if `ends`.
pub(super) fn read<M: Machine>(
    wire: &Arc<Wire<M>>,
    lines: Vec<String>,
    ends: bool,
) -> JoinHandle<()> {
    let wire = Arc::clone(wire);
    spawn(move || {
        let (parker, mut inbox) = (Parker::new(), Inbox::new(&wire.limits));
        for line in lines {
            let line = line + "\n";
            assert_eq!(inbox.feed(line.as_bytes()), line.len());
            while wire.poll_take(&mut inbox, &parker.context()).is_pending() {
                parker.park(None);
            }
        }
        let mut end = ends.then_some(Ok(()));
        while ends && wire.poll_end_of_input(&mut end, &parker.context()).is_pending() {
            parker.park(None);
        }
    })
}

/// The bytes that a connection has written.
#[derive(Clone, Default)]
pub(super) struct Written(Arc<Mutex<Output>>);

#[derive(Default)]
struct Output {
    bytes: Vec<u8>,
    /// The waker of [`Lines`].
    reader: Option<Waker>,
}

impl Written {
    /// Writes the output of a connection on a thread.
    pub(super) fn of<M: Machine>(wire: &Arc<Wire<M>>) -> Self {
        let written = Self::default();
        wire.write_on_thread(written.clone()).expect("shuttle has threads");
        written
    }

    pub(super) fn messages(&self) -> Vec<Value> {
        let bytes = self.0.lock().expect("no writer panics").bytes.clone();
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).expect("JSON is written")).collect()
    }

    /// The ids of the responses, with the code of an error.
    pub(super) fn responses(&self) -> Vec<(u64, Option<i64>)> {
        let messages = self.messages();
        let responses = messages.iter().filter(|message| message.get("method").is_none());
        let response = |message: &Value| {
            (message["id"].as_u64().expect("an id"), message["error"]["code"].as_i64())
        };
        let mut responses: Vec<_> = responses.map(response).collect();
        responses.sort_unstable();
        responses
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut output = self.0.lock().expect("no writer panics");
        output.bytes.extend_from_slice(bytes);
        let reader = output.reader.take();
        drop(output);
        reader.into_iter().for_each(Waker::wake);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Outgoing for Written {
    fn poll_write(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(self.write(bytes))
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A client that sends lines. At most two of them wait for their responses, so a response that stays in the outbox stops
/// it.
pub(super) struct Lines {
    lines: VecDeque<String>,
    sent: usize,
    /// The output of the server.
    written: Written,
}

impl Lines {
    pub(super) fn new(lines: impl IntoIterator<Item = String>, written: Written) -> Self {
        Self { lines: lines.into_iter().collect(), sent: 0, written }
    }
}

impl Incoming for Lines {
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let most = if self.lines.is_empty() { 0 } else { 1 };
        let mut output = self.written.0.lock().expect("no writer panics");
        if output.bytes.iter().filter(|byte| **byte == b'\n').count() + most < self.sent {
            output.reader = Some(context.waker().clone());
            return Poll::Pending;
        }
        let Some(line) = self.lines.pop_front() else { return Poll::Ready(Ok(0)) };
        self.sent += 1;
        let line = line + "\n";
        buffer[..line.len()].copy_from_slice(line.as_bytes());
        Poll::Ready(Ok(line.len()))
    }
}

const DISCOVERED: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"server","version":"1"},"ttlMs":0,"cacheScope":"private"}"#;

/// The stream from a server that responds to each request of a client at once.
struct Echo {
    input: Receiver<String>,
    unread: Vec<u8>,
}

/// The stream to that server.
struct EchoEnd {
    partial: Vec<u8>,
    output: Sender<String>,
}

impl Write for EchoEnd {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.partial.extend_from_slice(bytes);
        while let Some(end) = self.partial.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.partial.drain(..=end).collect();
            let message: Value = serde_json::from_slice(&line)?;
            if let (Some(id), Some(_)) = (message.get("id"), message.get("method")) {
                let result = match message["method"].as_str() {
                    Some("server/discover") => DISCOVERED,
                    _ => r#"{"resultType":"complete","content":[]}"#,
                };
                let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
                // The reader may have stopped at the end of the connection.
                _ = self.output.send(line + "\n");
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Echo {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.unread.is_empty() {
            let Ok(line) = self.input.recv() else { return Ok(0) };
            self.unread = line.into_bytes();
        }
        let bytes = self.unread.len().min(buffer.len());
        buffer[..bytes].copy_from_slice(&self.unread[..bytes]);
        self.unread.drain(..bytes);
        Ok(bytes)
    }
}

/// A connected client of the modern era on threads. Its server responds to every call with an empty result.
pub(super) fn client() -> Arc<Wire<Client>> {
    let mut config = ClientConfig::new("client", "1");
    config.known = Some(Revision::V2026_07_28);
    let spawn_task = |work: Work| drop(shuttle::future::spawn(work));
    let runner = Arc::new(Spawner::new(RefuseAll::new(), spawn_task));
    let (options, client) = (ConnectionOptions::new(), Client::new(Arc::new(config)));
    let wire = Wire::client(client, &options, Clock::new(), runner);
    wire.with(|client, out, now| client.connect(now, out)).expect("it has not been connected");
    let (output, input) = channel();
    wire.write_on_thread(EchoEnd { partial: Vec::new(), output }).expect("shuttle has threads");
    wire.read_on_thread(Echo { input, unread: Vec::new() }).expect("shuttle has threads");
    match block_on(poll_fn(|context| wire.poll_opening(context))) {
        ClientEvent::Connected(_) => wire,
        other => panic!("{other:?}"),
    }
}
