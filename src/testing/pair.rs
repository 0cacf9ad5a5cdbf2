//! A client and a server linked by two byte streams.

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

/// A client and a server, the wire between them, and one clock for both. Nothing moves by itself.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Pair {
    /// The client.
    pub client: Client,
    /// The server.
    pub server: Server,
    /// What the client has written.
    pub client_out: Outbox,
    /// What the server has written.
    pub server_out: Outbox,
    /// What is on the way from the client to the server.
    pub upstream: Link,
    /// What is on the way from the server to the client.
    pub downstream: Link,
    client_in: Inbox,
    server_in: Inbox,
    /// What time it is for both.
    pub now: Instant,
}

/// What one side saw.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "there are two sides")]
pub enum Seen {
    /// An event of the client.
    Client(ClientEvent<'static>),
    /// An event of the server.
    Server(ServerEvent<'static>),
}

impl Pair {
    /// Both at the start of a connection that holds any number of bytes.
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

    /// Has the client open the connection, and everything that follows from it. Gives what both saw.
    ///
    /// # Errors
    ///
    /// [`ConnectError`] says why it cannot.
    pub fn connect(&mut self) -> Result<Vec<Seen>, ConnectError> {
        self.client.connect(self.now, &mut self.client_out)?;
        Ok(self.settle())
    }

    /// Moves at most this many bytes from the client to the server. Gives what the server saw.
    pub fn to_server(&mut self, bytes: usize) -> Vec<Seen> {
        // Nobody watches, so that nothing is found.
        self.move_up(bytes, None).unwrap_or_default()
    }

    /// Moves at most this many bytes from the server to the client. Gives what the client saw.
    pub fn to_client(&mut self, bytes: usize) -> Vec<Seen> {
        // Nobody watches, so that nothing is found.
        self.move_down(bytes, None).unwrap_or_default()
    }

    /// The monitors are those of the sender and of the receiver.
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

    /// The same the other way.
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

    /// Does what is due on both sides. Gives what both saw.
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

    /// Moves everything both ways until nothing is left that can be moved now: what a link holds back stays,
    /// and so does what finds no room behind it. Gives what both saw, in order.
    pub fn settle(&mut self) -> Vec<Seen> {
        let mut seen = Vec::new();
        while !self.is_quiet() {
            seen.extend(self.to_server(usize::MAX));
            seen.extend(self.to_client(usize::MAX));
        }
        seen
    }

    /// Whether nothing is on the way that has arrived, and nothing waits to be sent.
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

/// One way between the two.
struct Way<'p, M> {
    sender_out: &'p mut Outbox,
    link: &'p mut Link,
    inbox: &'p mut Inbox,
    receiver: &'p mut M,
    receiver_out: &'p mut Outbox,
    now: Instant,
}

impl<M: Machine> Way<'_, M> {
    /// Moves at most this many bytes onto the link, and as many from it. The monitors are those of the sender and
    /// of the receiver.
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
            // It has been sent with its first byte: from then on it cannot be taken back.
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

/// How many bytes the line has that comes first, or as much of it as there is.
fn line_length(bytes: &[u8]) -> usize {
    bytes.split_inclusive(is_newline).next().map_or(0, <[u8]>::len)
}
