//! [`Pair`], a client and a server connected by two byte streams.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::link::Link;
use super::machine::{Machine, Meaning};
use super::monitor::Monitor;
use super::promise::Broken;
use super::wire::is_cancellation;
use crate::client::{Client, ClientEvent, ConnectError};
use crate::config::{ClientConfig, ServerConfig};
use crate::frame::{Framing, Inbox, Outbox};
use crate::server::{Server, ServerEvent};
use crate::time::Instant;

/// A client and a server, the wire between them, and one clock for both. All movement is explicit.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Pair {
    /// The client.
    pub client: Client,
    /// The server.
    pub server: Server,
    /// The output of the client.
    pub client_out: Outbox,
    /// The output of the server.
    pub server_out: Outbox,
    /// The bytes on the way from the client to the server.
    pub upstream: Link,
    /// The bytes on the way from the server to the client.
    pub downstream: Link,
    client_in: Inbox,
    server_in: Inbox,
    /// The current time of both sides.
    pub now: Instant,
}

/// An event of one side.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "there are two sides")]
pub enum Seen {
    /// An event of the client.
    Client(ClientEvent<'static>),
    /// An event of the server.
    Server(ServerEvent<'static>),
}

impl Pair {
    /// Creates a pair at the start of a connection without a capacity limit.
    pub fn new(client: ClientConfig, server: ServerConfig) -> Self {
        let client_limits = client.connection.limits.clone();
        let server_limits = server.connection.limits.clone();
        Self {
            client: Client::new(Arc::new(client)),
            server: Server::new(Arc::new(server)),
            client_out: Outbox::new(Framing::Lines, &client_limits),
            server_out: Outbox::new(Framing::Lines, &server_limits),
            upstream: Link::new(usize::MAX),
            downstream: Link::new(usize::MAX),
            client_in: Inbox::new(&client_limits),
            server_in: Inbox::new(&server_limits),
            now: Instant::from_millis(1_000_000),
        }
    }

    /// Opens the connection from the client, and moves everything until the pair is quiet. Returns the events of both
    /// sides.
    ///
    /// # Errors
    ///
    /// [`ConnectError`] with the reason.
    pub fn connect(&mut self) -> Result<Vec<Seen>, ConnectError> {
        self.client.connect(self.now, &mut self.client_out)?;
        Ok(self.settle())
    }

    /// Moves at most this many bytes from the client to the server. Returns the events of the server.
    pub fn to_server(&mut self, bytes: usize) -> Vec<Seen> {
        // Without monitors there are no errors.
        self.move_up(bytes, None).unwrap_or_default()
    }

    /// Moves at most this many bytes from the server to the client. Returns the events of the client.
    pub fn to_client(&mut self, bytes: usize) -> Vec<Seen> {
        // Without monitors there are no errors.
        self.move_down(bytes, None).unwrap_or_default()
    }

    /// Moves bytes from the client to the server. The monitors are those of the sender and of the receiver.
    pub(super) fn move_up(
        &mut self,
        bytes: usize,
        monitors: Option<(&mut Monitor, &mut Monitor)>,
    ) -> Result<Vec<Seen>, Broken> {
        let way = Way {
            sender_out: &mut self.client_out,
            link: &mut self.upstream,
            inbox: &mut self.server_in,
            receiver: &mut self.server,
            receiver_out: &mut self.server_out,
            now: self.now,
        };
        way.carry(bytes, monitors, Seen::Server)
    }

    /// Moves bytes from the server to the client.
    pub(super) fn move_down(
        &mut self,
        bytes: usize,
        monitors: Option<(&mut Monitor, &mut Monitor)>,
    ) -> Result<Vec<Seen>, Broken> {
        let way = Way {
            sender_out: &mut self.server_out,
            link: &mut self.downstream,
            inbox: &mut self.client_in,
            receiver: &mut self.client,
            receiver_out: &mut self.client_out,
            now: self.now,
        };
        way.carry(bytes, monitors, Seen::Client)
    }

    /// Handles the due timeouts of both sides. Returns the events of both.
    pub fn handle_timeout(&mut self) -> Vec<Seen> {
        let Self { client, server, client_out, server_out, now, .. } = self;
        let mut seen = Vec::new();
        while let Some(event) = client.handle_timeout(*now, client_out) {
            seen.push(Seen::Client(event));
        }
        while let Some(event) = server.handle_timeout(*now, server_out) {
            seen.push(Seen::Server(event));
        }
        seen
    }

    /// Moves everything in both directions until nothing more can move now: bytes that a link delays stay, and so do
    /// those that do not fit into it. Returns the events of both sides, in order.
    /// [`ConnectionTasks::settle`](crate::drive::ConnectionTasks::settle) is another operation: it sends messages about
    /// tasks.
    pub fn settle(&mut self) -> Vec<Seen> {
        let mut seen = Vec::new();
        while !self.is_quiet() {
            seen.extend(self.to_server(usize::MAX));
            seen.extend(self.to_client(usize::MAX));
        }
        seen
    }

    /// Whether no bytes on the links have arrived, and no unsent bytes fit into the links.
    pub(super) fn is_quiet(&self) -> bool {
        let has_arrived =
            |link: &Link| link.poll_timeout().is_some_and(|received| received <= self.now);
        let can_send = |out: &Outbox, link: &Link| !out.is_empty() && 0 < link.room();
        !(has_arrived(&self.upstream)
            || has_arrived(&self.downstream)
            || can_send(&self.client_out, &self.upstream)
            || can_send(&self.server_out, &self.downstream))
    }
}

/// One direction between the two sides.
struct Way<'p, M> {
    sender_out: &'p mut Outbox,
    link: &'p mut Link,
    inbox: &'p mut Inbox,
    receiver: &'p mut M,
    receiver_out: &'p mut Outbox,
    now: Instant,
}

impl<M: Machine> Way<'_, M> {
    /// Moves at most this many bytes onto the link, and as many from it. The monitors are those of the sender and of
    /// the receiver.
    fn carry(
        self,
        bytes: usize,
        mut monitors: Option<(&mut Monitor, &mut Monitor)>,
        seen: impl Fn(M::Event<'static>) -> Seen,
    ) -> Result<Vec<Seen>, Broken> {
        let Self { sender_out, link, inbox, receiver, receiver_out, now } = self;
        if let Some((sender, _)) = &mut monitors {
            let unsent = sender_out.unsent();
            let leaving = unsent.get(..bytes.min(link.room())).unwrap_or(unsent);
            let begun = if link.is_within() { line_length(leaving) } else { 0 };
            let mut left = leaving.len() - begun;
            // A message counts as sent from its first byte on, because it cannot be withdrawn any more.
            for line in unsent.get(begun..).unwrap_or_default().split_inclusive(is_newline) {
                if left == 0 {
                    break;
                }
                sender.sent(line)?;
                left = left.saturating_sub(line.len());
            }
        }
        link.take(sender_out, bytes, now);
        let mut all = Vec::new();
        let mut left = bytes;
        while let given @ 1.. = link.give(inbox, left, now) {
            left -= given;
            while let Some(frame) = inbox.next() {
                let message = frame.bytes();
                if let Some((_, monitor)) = &mut monitors {
                    monitor.delivered(message);
                }
                let Some(event) = receiver.receive(frame, now, receiver_out) else { continue };
                if let Some((_, monitor)) = &mut monitors {
                    monitor.event::<M>(&event)?;
                    if matches!(M::meaning(&event), Meaning::RequestEnded(_))
                        && is_cancellation(message)
                    {
                        monitor.cancelled_by(message);
                    }
                }
                all.push(seen(M::into_owned(event)));
            }
        }
        Ok(all)
    }
}

fn is_newline(byte: &u8) -> bool {
    *byte == b'\n'
}

/// Returns the length of the first line, or of the available part of it.
fn line_length(bytes: &[u8]) -> usize {
    bytes.split_inclusive(is_newline).next().map_or(0, <[u8]>::len)
}
