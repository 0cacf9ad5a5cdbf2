//! A server for many clients in one thread, without any adapter: a custom event loop, with mio.
//!
//! Shows the whole loop: bytes into a `ByteStream`, events out of its steps, output bytes to the socket, and one deadline
//! for the poll. Slow work continues while the loop runs: a deadline of the application triggers the
//! response of the tool `later`.
//!
//! Usage: `cargo run --example event_loop_server [ADDRESS]`. The default address, `127.0.0.1:0`, selects a free
//! port, and the program prints it.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, ListChanged, ListToolsResult, Tool};
use mcp_sansio::{
    ByteStream, Cause, ClientRequest, ConnectionNumber, ErrorCode, IncomingId, Instant, Outbox,
    Payload, RespondError, Server, ServerConfig, ServerEvent,
};
use mcp_sansio_std::Clock;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};

const LISTENER: Token = Token(0);

/// The schema of a tool without arguments. It declares its type: without one, the list of tools is refused.
const NO_ARGUMENTS: &str = r#"{"type":"object"}"#;

/// How long the tool `later` takes.
const LATER: Duration = Duration::from_millis(200);

/// How long a client may take to read the last output.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection: its socket, and the server behind it.
struct Client {
    socket: TcpStream,
    stream: ByteStream<Server>,
    /// The calls that get a response later, and the time of that.
    later: BTreeMap<IncomingId, Instant>,
    /// The time to give up on a client that does not read the last output.
    patience: Option<Instant>,
}

impl Client {
    /// `number` is that of no other connection, so a handle of one client never names a request of another.
    fn new(socket: TcpStream, config: &Arc<ServerConfig>, number: ConnectionNumber) -> Self {
        let server = Server::with_connection_number(Arc::clone(config), number);
        let stream = ByteStream::lines(server);
        Self { socket, stream, later: BTreeMap::new(), patience: None }
    }

    /// Reads until the socket has no more bytes.
    fn read(&mut self, now: Instant) {
        loop {
            match self.socket.read(self.stream.space()) {
                Ok(0) => return self.stream.finish(),
                Ok(bytes) => self.stream.filled(bytes),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return self.stream.fail(Cause::ReadFailed, now),
            }
            self.handle_steps(now);
        }
    }

    /// Handles the messages that have arrived, and the due timeouts.
    fn handle_steps(&mut self, now: Instant) {
        while let Some(step) = self.stream.next_step(now) {
            handle(step.event, step.machine, step.outbox, &mut self.later, now);
        }
    }

    /// Responds to the calls whose work is done.
    fn finish_work(&mut self, now: Instant) {
        while let Some((id, _)) = self.later.iter().find(|(_, at)| **at <= now) {
            let id = *id;
            self.later.remove(&id);
            let (server, outbox) = self.stream.machine_and_outbox();
            answer(id, &CallToolResult::text("at last"), server, outbox);
        }
    }

    /// Writes until the socket accepts no more bytes.
    fn write(&mut self, now: Instant) {
        while !self.stream.unsent().is_empty() {
            match self.socket.write(self.stream.unsent()) {
                Ok(bytes) => self.stream.sent(bytes),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return self.stream.fail(Cause::WriteFailed, now),
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let stream = self.stream.poll_timeout();
        self.later.values().copied().chain(stream).chain(self.patience).min()
    }

    /// Whether the connection has ended, and no output is left that the client would read.
    fn is_over(&mut self, now: Instant) -> bool {
        if !self.stream.is_closed() || self.stream.poll_timeout().is_some() {
            return false;
        }
        let patience = self.patience.get_or_insert(now + PATIENCE);
        self.stream.unsent().is_empty() || *patience <= now
    }
}

fn handle(
    event: Option<ServerEvent<'_>>,
    server: &mut Server,
    outbox: &mut Outbox,
    later: &mut BTreeMap<IncomingId, Instant>,
    now: Instant,
) {
    let request = match event {
        Some(ServerEvent::Request(request)) => request,
        Some(ServerEvent::Cancelled(cancelled)) => {
            later.remove(&cancelled.id);
            return;
        }
        _ => return,
    };
    match &request.kind {
        ClientRequest::ListTools(_) => {
            let schema = Raw::new(NO_ARGUMENTS).unwrap_or(Raw::EMPTY_OBJECT);
            let tools = ["hello", "later"].map(|name| Tool::new(name, schema.clone()));
            answer(request.id, &ListToolsResult::new(tools), server, outbox);
        }
        ClientRequest::CallTool(call) if call.name == "hello" => {
            answer(request.id, &CallToolResult::text("hello"), server, outbox);
        }
        ClientRequest::CallTool(call) if call.name == "later" => {
            later.insert(request.id, now + LATER);
        }
        ClientRequest::CallTool(_) => {
            refuse(request.id, ErrorCode::INVALID_PARAMS, "unknown tool", server, outbox);
        }
        _ => refuse(request.id, ErrorCode::METHOD_NOT_FOUND, "method not found", server, outbox),
    }
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

/// Writes a line to standard error. A closed standard error does not stop the server.
fn log(line: &impl Display) {
    _ = writeln!(io::stderr(), "{line}");
}

fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".into());
    let mut listener = TcpListener::bind(address.parse().map_err(io::Error::other)?)?;
    eprintln!("listening on {}", listener.local_addr()?);
    let mut config = ServerConfig::new("event_loop_server", env!("CARGO_PKG_VERSION"));
    config.capabilities.tools = Some(ListChanged::default());
    let (config, clock) = (Arc::new(config), Clock::new());
    let (mut poll, mut events) = (Poll::new()?, Events::with_capacity(256));
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    let (mut clients, mut next) = (BTreeMap::<Token, Client>::new(), 1);
    loop {
        let deadline = clients.values().filter_map(Client::deadline).min();
        match poll.poll(&mut events, deadline.map(|deadline| deadline - clock.now())) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            polled => polled?,
        }
        let now = clock.now();
        for event in &events {
            if event.token() == LISTENER {
                accept(&listener, &poll, &config, &mut clients, &mut next)?;
            } else if let Some(client) = clients.get_mut(&event.token())
                && event.is_readable()
            {
                client.read(now);
            }
        }
        // A full socket causes an event once it is writable again: mio is edge-triggered.
        for client in clients.values_mut() {
            client.finish_work(now);
            client.handle_steps(now);
            client.write(now);
        }
        // Dropping the socket closes it.
        clients.retain(|_, client| !client.is_over(now));
    }
}

fn accept(
    listener: &TcpListener,
    poll: &Poll,
    config: &Arc<ServerConfig>,
    clients: &mut BTreeMap<Token, Client>,
    next: &mut usize,
) -> io::Result<()> {
    loop {
        match listener.accept() {
            Ok((mut socket, _)) => {
                let token = Token(*next);
                *next += 1;
                let interest = Interest::READABLE | Interest::WRITABLE;
                poll.registry().register(&mut socket, token, interest)?;
                // After four billion connections the numbers begin again.
                let number = ConnectionNumber::new(token.0 as u32);
                clients.insert(token, Client::new(socket, config, number));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}
