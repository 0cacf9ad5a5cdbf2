//! A server for many clients in one thread: a custom event loop, with mio. Only the clock is from an adapter.
//!
//! Shows the whole loop: bytes into a `ByteStream`, events out of its steps, output bytes to the socket, and one
//! deadline for the poll. Slow work continues while the loop runs: a deadline of the application triggers the response
//! of the tool `later` (`event_loop/tools.rs`). The clients take turns, and one that does not read its responses is not
//! read either.
//!
//! Usage: `cargo run --example event_loop_server [ADDRESS]`. The default address, `127.0.0.1:0`, selects a free
//! port, and the program prints it.

#[path = "event_loop/tools.rs"]
mod tools;

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::{ByteStream, Cause, ConnectionNumber, Instant, Server, ServerConfig};
use mcp_sansio_std::Clock;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};

use self::tools::Later;

const LISTENER: Token = Token(0);

/// The reads of a client before the others have their turn.
const READS: usize = 8;

/// The time that a client may take to read the last output.
const PATIENCE: Duration = Duration::from_secs(5);

/// The pause after a failed accept: most likely there are too many open files.
const BREATH: Duration = Duration::from_millis(50);

/// A connection: its socket, and the server behind it.
struct Client {
    socket: TcpStream,
    stream: ByteStream<Server>,
    later: Later,
    /// Whether the socket may have more bytes.
    has_input: bool,
    /// The time to give up on a client that does not read the last output.
    patience: Option<Instant>,
}

impl Client {
    /// `number` is that of no other connection, so a handle of one client never names a request of another.
    fn new(socket: TcpStream, config: &Arc<ServerConfig>, number: ConnectionNumber) -> Self {
        let server = Server::with_connection_number(Arc::clone(config), number);
        let stream = ByteStream::lines(server);
        Self { socket, stream, later: Later::default(), has_input: false, patience: None }
    }

    /// Whether there is input to read now. Without the condition on the outbox, the responses to a client that does not
    /// read them would exhaust the outbox, and the next requests would stay without a response.
    fn can_read(&mut self) -> bool {
        self.has_input && !self.stream.machine_and_outbox().1.is_congested()
    }

    /// Reads a few times, until the socket has no more bytes or the outbox is congested.
    fn read(&mut self, now: Instant) {
        for _ in 0..READS {
            if !self.can_read() {
                return;
            }
            match self.socket.read(self.stream.space()) {
                Ok(0) => {
                    self.has_input = false;
                    return self.stream.finish();
                }
                Ok(bytes) => self.stream.filled(bytes),
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.has_input = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    self.has_input = false;
                    return self.stream.fail(Cause::ReadFailed, now);
                }
            }
            self.later.handle_steps(&mut self.stream, now);
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

    /// Returns when the loop has to continue, although no event has arrived.
    fn deadline(&mut self) -> Option<Instant> {
        let input = self.can_read().then_some(Instant::EPOCH);
        let (stream, later) = (self.stream.poll_timeout(), self.later.deadline());
        [input, stream, later, self.patience].into_iter().flatten().min()
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

fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".into());
    let mut listener = TcpListener::bind(address.parse().map_err(io::Error::other)?)?;
    eprintln!("listening on {}", listener.local_addr()?);
    let (config, clock) = (tools::config("event_loop_server"), Clock::new());
    let (mut poll, mut events) = (Poll::new()?, Events::with_capacity(256));
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    let (mut clients, mut next) = (BTreeMap::<Token, Client>::new(), 1);
    // The end of the pause after a failed accept. Clients that have been waiting since then cause no further event.
    let mut pause = None::<Instant>;
    loop {
        let deadline = clients.values_mut().filter_map(Client::deadline).chain(pause).min();
        match poll.poll(&mut events, deadline.map(|deadline| deadline - clock.now())) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            polled => polled?,
        }
        let now = clock.now();
        for event in &events {
            if event.token() == LISTENER {
                pause = Some(now);
            } else if let Some(client) = clients.get_mut(&event.token())
                && event.is_readable()
            {
                client.has_input = true;
            }
        }
        if pause.is_some_and(|end| end <= now) {
            let accepted = accept(&listener, &poll, &config, &mut clients, &mut next);
            pause = accepted.err().map(|error| {
                tools::log(&format_args!("accept: {error}"));
                now + BREATH
            });
        }
        // mio is edge-triggered: input causes one event until it is read, and so does a full socket that is writable
        // again.
        for client in clients.values_mut() {
            client.read(now);
            client.later.finish_work(&mut client.stream, now);
            client.later.handle_steps(&mut client.stream, now);
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
