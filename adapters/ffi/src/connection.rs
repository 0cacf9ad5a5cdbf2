//! [`McpConnection`]: a server or a client, and the numbers of its requests and calls.

use std::collections::BTreeMap;
use std::ops::DerefMut;

use mcp_sansio::{
    ByteStream, CallId, Cause, Client, Connection, IncomingId, Instant, Outbox, Server,
};

use crate::error::{Failure, McpStatus};
use crate::event::{McpEvent, McpEventKind, Translated};
use crate::text::McpText;

/// A server or a client for one byte stream.
pub struct McpConnection {
    stream: Stream,
    /// The open requests of the peer, with its subscriptions, and the open calls of this side.
    requests: Numbers<IncomingId>,
    calls: Numbers<CallId>,
    /// The latest number. Requests and calls share the sequence.
    latest: u64,
    /// The texts of the latest event.
    event: Translated,
    /// Whether a function has panicked in the middle of a change.
    pub(crate) is_broken: bool,
}

#[allow(clippy::large_enum_variant, reason = "there is one to a connection, which is boxed")]
enum Stream {
    Server(ByteStream<Server>),
    Client(ByteStream<Client>),
}

/// Runs the same code for the stream of either role.
macro_rules! on_stream {
    ($connection:expr, $stream:ident => $run:expr) => {
        match &mut $connection.stream {
            Stream::Server($stream) => $run,
            Stream::Client($stream) => $run,
        }
    };
}

impl McpConnection {
    fn new(stream: Stream) -> Self {
        let (requests, calls) = (Numbers::new(), Numbers::new());
        Self { stream, requests, calls, latest: 0, event: Translated::default(), is_broken: false }
    }

    pub(crate) fn server(server: Server) -> Self {
        Self::new(Stream::Server(ByteStream::lines(server)))
    }

    /// Creates a client, which begins to connect.
    pub(crate) fn client(client: Client, now: Instant) -> Result<Self, Failure> {
        let mut stream = ByteStream::lines(client);
        let (client, outbox) = stream.machine_and_outbox();
        let connecting = client.connect(now, outbox);
        connecting.map_err(|error| Failure::new(McpStatus::InvalidArgument, error.to_string()))?;
        Ok(Self::new(Stream::Client(stream)))
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) -> usize {
        on_stream!(self, stream => stream.feed(bytes))
    }

    pub(crate) fn finish(&mut self) {
        on_stream!(self, stream => stream.finish());
    }

    pub(crate) fn fail(&mut self, now: Instant) {
        on_stream!(self, stream => stream.fail(Cause::WriteFailed, now));
    }

    /// Does steps until one has an event.
    pub(crate) fn next_event(&mut self, now: Instant) -> Option<McpEvent> {
        let event = on_stream!(self, stream => loop {
            if let Some(event) = stream.next_step(now)?.event {
                break Translated::from(event);
            }
        });
        let (mut request, mut call) = (0, 0);
        if let Some(id) = event.request {
            if event.begins_request() {
                request = self.next_number();
                self.requests.insert(request, id);
            } else {
                request = self.requests.number(id);
                self.requests.remove(request);
            }
        }
        if let Some(id) = event.call {
            call = self.calls.number(id);
            if event.kind != McpEventKind::Progress {
                self.calls.remove(call);
            }
        }
        if event.kind == McpEventKind::Closed {
            self.requests.clear();
            self.calls.clear();
        }
        self.event = event;
        let Translated { kind, method, text, .. } = &self.event;
        let (method, text) = (McpText::of(method), McpText::of(text));
        Some(McpEvent { kind: *kind, request, call, method, text })
    }

    fn next_number(&mut self) -> u64 {
        self.latest += 1;
        self.latest
    }

    pub(crate) fn deadline(&mut self) -> Option<Instant> {
        on_stream!(self, stream => stream.poll_timeout())
    }

    pub(crate) fn unsent(&mut self) -> &[u8] {
        on_stream!(self, stream => stream.unsent())
    }

    pub(crate) fn sent(&mut self, bytes: usize) {
        on_stream!(self, stream => stream.sent(bytes));
    }

    pub(crate) fn is_closed(&mut self) -> bool {
        on_stream!(self, stream => stream.is_closed())
    }

    /// Returns the machine and its outbox, for commands.
    pub(crate) fn parts(&mut self) -> (&mut Connection, &mut Outbox) {
        fn of<M: DerefMut<Target = Connection> + mcp_sansio::drive::Role>(
            stream: &mut ByteStream<M>,
        ) -> (&mut Connection, &mut Outbox) {
            let (machine, outbox) = stream.machine_and_outbox();
            (&mut *machine, outbox)
        }
        on_stream!(self, stream => of(stream))
    }

    /// Returns an open request.
    pub(crate) fn request(&self, number: u64) -> Result<IncomingId, Failure> {
        let request = self.requests.by_number.get(&number);
        request.copied().ok_or_else(|| Failure::stale("request", number))
    }

    /// Forgets a request that has a response.
    pub(crate) fn end_request(&mut self, number: u64) {
        self.requests.remove(number);
    }

    /// Returns the number of a new call.
    pub(crate) fn begin_call(&mut self, id: CallId) -> u64 {
        let number = self.next_number();
        self.calls.insert(number, id);
        number
    }

    /// Returns an open call.
    pub(crate) fn call(&self, number: u64) -> Result<CallId, Failure> {
        let call = self.calls.by_number.get(&number);
        call.copied().ok_or_else(|| Failure::stale("call", number))
    }

    /// Forgets a call that has ended without an event.
    pub(crate) fn end_call(&mut self, number: u64) {
        self.calls.remove(number);
    }
}

/// Handles and their numbers.
struct Numbers<I> {
    by_number: BTreeMap<u64, I>,
    by_handle: BTreeMap<I, u64>,
}

impl<I: Copy + Ord> Numbers<I> {
    const fn new() -> Self {
        Self { by_number: BTreeMap::new(), by_handle: BTreeMap::new() }
    }

    fn insert(&mut self, number: u64, handle: I) {
        self.by_number.insert(number, handle);
        self.by_handle.insert(handle, number);
    }

    /// Returns the number of a handle; 0 if it has none.
    fn number(&self, handle: I) -> u64 {
        self.by_handle.get(&handle).copied().unwrap_or_default()
    }

    fn remove(&mut self, number: u64) -> Option<I> {
        let handle = self.by_number.remove(&number)?;
        self.by_handle.remove(&handle);
        Some(handle)
    }

    fn clear(&mut self) {
        self.by_number.clear();
        self.by_handle.clear();
    }
}
