//! [`ByteStream`]: a machine with its inbox and its outbox, for one stream of bytes.

use core::fmt;

use crate::connection::Cause;
use crate::frame::{Framing, Inbox, Outbox};
use crate::role::Role;
use crate::session::Phase;
use crate::time::Instant;

/// A [`Server`](crate::Server) or a [`Client`](crate::Client) with the [`Inbox`] and the [`Outbox`] of one byte stream:
/// stdio, a socket, a pipe.
///
/// A process with several connections gives each machine its own [number](crate::ConnectionNumber)
/// ([`Server::with_connection_number`](crate::Server::with_connection_number)). Otherwise a handle of one connection can name
/// a request of another, and a response reaches the wrong client.
///
/// It is the short way: bytes go in with [`feed`](Self::feed), events come out of [`next_step`](Self::next_step), bytes
/// to send are in [`unsent`](Self::unsent). It adds nothing to the three values but their order of calls, and
/// [`into_parts`](Self::into_parts) gives them back. It performs no IO and reads no clock.
///
/// ```
/// use std::sync::Arc;
///
/// use mcp_sansio::model::{CallToolResult, ListChanged};
/// use mcp_sansio::{
///     ByteStream, ClientRequest, ErrorCode, Instant, RespondError, Server, ServerConfig, ServerEvent,
/// };
///
/// let mut config = ServerConfig::new("greeter", "1.0.0");
/// config.capabilities.tools = Some(ListChanged::default());
/// let mut stream = ByteStream::lines(Server::new(Arc::new(config)));
///
/// let line = concat!(
///     r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","_meta":{"#,
///     r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
///     r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#,
///     "\n",
/// );
/// assert_eq!(stream.feed(line.as_bytes()), line.len());
/// let now = Instant::EPOCH;
/// while let Some(step) = stream.next_step(now) {
///     let Some(ServerEvent::Request(request)) = step.event else { continue };
///     match request.kind {
///         ClientRequest::CallTool(call) if call.name == "greet" => {
///             step.machine.respond(request.id, &CallToolResult::text("Hello!"), step.outbox)?;
///         }
///         _ => step.machine.reject(request.id, ErrorCode::METHOD_NOT_FOUND, "", step.outbox)?,
///     }
/// }
/// let answer = br#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":["#;
/// assert!(stream.unsent().starts_with(answer));
/// stream.sent(stream.unsent().len());
/// # Ok::<(), RespondError>(())
/// ```
pub struct ByteStream<M> {
    machine: M,
    inbox: Inbox,
    outbox: Outbox,
    /// The machine was notified of the end of the input.
    is_disconnected: bool,
}

/// One step of a [`ByteStream`]: an event, and the machine and the outbox to handle it with. `testing::Step` is another
/// type: a recorded input or output.
#[derive(Debug)]
#[non_exhaustive]
pub struct Step<'s, M: Role> {
    /// The event. `None` if the machine answered or absorbed the frame itself.
    pub event: Option<M::Event<'s>>,
    /// The machine, for commands such as [`respond`](crate::Connection::respond).
    pub machine: &'s mut M,
    /// The outbox that commands write to.
    pub outbox: &'s mut Outbox,
}

impl<M: Role> ByteStream<M> {
    /// A stream with the framing of stdio: one message per line.
    pub fn lines(machine: M) -> Self {
        Self::new(machine, Framing::Lines)
    }

    /// A stream with this framing. The limits are those of the machine's configuration.
    pub fn new(machine: M, framing: Framing) -> Self {
        let limits = machine.limits();
        let (inbox, outbox) = (Inbox::new(limits), Outbox::new(framing, limits));
        Self { machine, inbox, outbox, is_disconnected: false }
    }

    /// Copies input in, and returns how many bytes were taken: all of them if [`next_step`](Self::next_step) has
    /// returned `None` and there are at most [`Limits::chunk_bytes`](crate::Limits::chunk_bytes). Feed the rest after
    /// that.
    #[must_use = "the bytes that were not taken must be fed again"]
    pub fn feed(&mut self, bytes: &[u8]) -> usize {
        self.inbox.feed(bytes)
    }

    /// Space to read input into without a copy; [`filled`](Self::filled) says how much of it was read.
    ///
    /// It is empty only while frames wait for [`next_step`](Self::next_step).
    pub fn space(&mut self) -> &mut [u8] {
        self.inbox.space()
    }

    /// Takes over as many bytes as were read into [`space`](Self::space).
    pub fn filled(&mut self, bytes: usize) {
        self.inbox.filled(bytes);
    }

    /// Notes the end of the input. Later steps handle a last line without newline, then the end of the connection: a
    /// server may still respond to open requests until [`Timeouts::drain`](crate::config::Timeouts::drain) has passed.
    ///
    /// Do not read again: wait for [`poll_timeout`](Self::poll_timeout) only, and call [`next_step`](Self::next_step)
    /// then and after each response.
    pub fn finish(&mut self) {
        self.inbox.finish();
    }

    /// Notes that reading or writing failed. The connection is closed, and later steps return its last events.
    ///
    /// [`unsent`](Self::unsent) keeps its bytes, and later steps may add some. After a failed write, drop them with
    /// [`sent`](Self::sent).
    pub fn fail(&mut self, cause: Cause, now: Instant) {
        self.is_disconnected = true;
        self.inbox.finish();
        self.machine.disconnected(cause, now);
    }

    /// Does the next step: receives a frame, or handles a timeout that is due. `None` if there is nothing to do before
    /// more input, the time of [`poll_timeout`](Self::poll_timeout), or the call of [`sent`](Self::sent): notifications
    /// may wait for room in the outbox.
    #[must_use = "a request in the event must be answered"]
    pub fn next_step(&mut self, now: Instant) -> Option<Step<'_, M>> {
        let Self { machine, inbox, outbox, is_disconnected } = self;
        // The inbox drops white space behind the last frame when it looks for the next one.
        if !*is_disconnected && !inbox.has_next() && inbox.is_finished() {
            *is_disconnected = true;
            machine.disconnected(Cause::EndOfInput, now);
        }
        let event = match inbox.next() {
            Some(frame) => machine.receive(frame, now, outbox),
            None => Some(machine.handle_timeout(now, outbox)?),
        };
        Some(Step { event, machine, outbox })
    }

    /// When to call [`next_step`](Self::next_step) although no input has arrived.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.machine.poll_timeout()
    }

    /// The bytes to send.
    pub fn unsent(&self) -> &[u8] {
        self.outbox.unsent()
    }

    /// Removes bytes that were sent from the front of [`unsent`](Self::unsent).
    pub fn sent(&mut self, bytes: usize) {
        self.outbox.sent(bytes);
    }

    /// Whether the connection has ended. Events may still wait: call [`next_step`](Self::next_step) until it returns
    /// `None` first. [`unsent`](Self::unsent) may still hold the last messages.
    pub fn is_closed(&self) -> bool {
        self.machine.phase() == Phase::Closed
    }

    /// The machine, to look at its state.
    pub const fn machine(&self) -> &M {
        &self.machine
    }

    /// The machine and the outbox, for commands outside of a step: a response to a request that was kept by its id, a
    /// call, a shutdown.
    pub const fn machine_and_outbox(&mut self) -> (&mut M, &mut Outbox) {
        (&mut self.machine, &mut self.outbox)
    }

    /// The three values.
    pub fn into_parts(self) -> (M, Inbox, Outbox) {
        (self.machine, self.inbox, self.outbox)
    }
}

/// Without the buffers.
impl<M: fmt::Debug> fmt::Debug for ByteStream<M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { machine, inbox, outbox, is_disconnected: _ } = self;
        formatter
            .debug_struct("ByteStream")
            .field("machine", machine)
            .field("received", &inbox.len())
            .field("unsent", &outbox.len())
            .finish_non_exhaustive()
    }
}
