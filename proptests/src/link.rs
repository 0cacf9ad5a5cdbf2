//! A client and a server linked by two byte streams.

use std::sync::Arc;

use mcp_sansio::{
    Client, ClientConfig, ClientEvent, Framing, Inbox, Instant, Outbox, Server, ServerConfig,
    ServerEvent,
};

/// A client and a server, and the wire between them. Nothing moves by itself.
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
    /// Both at the start of a connection.
    pub fn new(client: ClientConfig, server: ServerConfig) -> Self {
        let client_limits = client.connection.limits.clone();
        let server_limits = server.connection.limits.clone();
        Self {
            client: Client::new(Arc::new(client)),
            server: Server::new(Arc::new(server)),
            client_out: Outbox::new(Framing::Lines, &client_limits),
            server_out: Outbox::new(Framing::Lines, &server_limits),
            client_in: Inbox::new(&client_limits),
            server_in: Inbox::new(&server_limits),
            now: Instant::from_millis(1_000_000),
        }
    }

    /// Both in the middle of a session.
    pub fn ready(client: ClientConfig, server: ServerConfig) -> Self {
        let mut pair = Self::new(client, server);
        pair.client.connect(pair.now, &mut pair.client_out).unwrap();
        pair.settle();
        assert!(pair.client.revision().is_some());
        pair
    }

    /// Moves at most this many bytes from the client to the server. Gives what the server saw.
    pub fn to_server(&mut self, bytes: usize) -> Vec<Seen> {
        let moved = transfer(&mut self.client_out, &mut self.server_in, bytes);
        let mut seen = Vec::new();
        if moved {
            while let Some(frame) = self.server_in.next() {
                let event = self.server.receive(frame, self.now, &mut self.server_out);
                seen.extend(event.map(|event| Seen::Server(event.into_owned())));
            }
        }
        seen
    }

    /// Moves at most this many bytes from the server to the client. Gives what the client saw.
    pub fn to_client(&mut self, bytes: usize) -> Vec<Seen> {
        let moved = transfer(&mut self.server_out, &mut self.client_in, bytes);
        let mut seen = Vec::new();
        if moved {
            while let Some(frame) = self.client_in.next() {
                let event = self.client.receive(frame, self.now, &mut self.client_out);
                seen.extend(event.map(|event| Seen::Client(event.into_owned())));
            }
        }
        seen
    }

    /// Moves everything both ways until nothing is left. Gives what both saw, in order.
    pub fn settle(&mut self) -> Vec<Seen> {
        let mut seen = Vec::new();
        while !self.client_out.is_empty() || !self.server_out.is_empty() {
            seen.extend(self.to_server(usize::MAX));
            seen.extend(self.to_client(usize::MAX));
        }
        seen
    }
}

fn transfer(from: &mut Outbox, to: &mut Inbox, bytes: usize) -> bool {
    let unsent = from.unsent();
    let count = to.feed(&unsent[..unsent.len().min(bytes)]);
    from.sent(count);
    0 < count
}
