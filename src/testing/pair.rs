//! A client and a server linked by two byte streams.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::link::Link;
use crate::client::{Client, ClientConfig, ClientEvent, ConnectError};
use crate::frame::{Framing, Inbox, Outbox};
use crate::server::{Server, ServerConfig, ServerEvent};
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
        let Self { upstream, server_in, now, .. } = self;
        upstream.take(&mut self.client_out, bytes, *now);
        let mut seen = Vec::new();
        let mut left = bytes;
        while let given @ 1.. = upstream.give(server_in, left, *now) {
            left -= given;
            while let Some(frame) = server_in.next() {
                let event = self.server.receive(frame, *now, &mut self.server_out);
                seen.extend(event.map(|event| Seen::Server(event.into_owned())));
            }
        }
        seen
    }

    /// Moves at most this many bytes from the server to the client. Gives what the client saw.
    pub fn to_client(&mut self, bytes: usize) -> Vec<Seen> {
        let Self { downstream, client_in, now, .. } = self;
        downstream.take(&mut self.server_out, bytes, *now);
        let mut seen = Vec::new();
        let mut left = bytes;
        while let given @ 1.. = downstream.give(client_in, left, *now) {
            left -= given;
            while let Some(frame) = client_in.next() {
                let event = self.client.receive(frame, *now, &mut self.client_out);
                seen.extend(event.map(|event| Seen::Client(event.into_owned())));
            }
        }
        seen
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
    fn is_quiet(&self) -> bool {
        let has_arrived =
            |link: &Link| link.poll_timeout().is_some_and(|arrival| arrival <= self.now);
        let can_send = |out: &Outbox, link: &Link| !out.is_empty() && 0 < link.room();
        !(has_arrived(&self.upstream)
            || has_arrived(&self.downstream)
            || can_send(&self.client_out, &self.upstream)
            || can_send(&self.server_out, &self.downstream))
    }
}
