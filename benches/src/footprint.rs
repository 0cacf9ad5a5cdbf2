//! Idle sessions.

use std::sync::Arc;

use mcp_sansio::model::{CallToolResult, ListChanged};
use mcp_sansio::{
    Client, ClientConfig, ClientEvent, ClientRequest, Framing, Inbox, Instant, Limits, Outbox,
    Phase, RevisionSet, Server, ServerConfig, ServerEvent,
};

use crate::messages;

/// A server in a session, with its buffers.
#[derive(Debug)]
pub struct IdleServer {
    server: Server,
    inbox: Inbox,
    outbox: Outbox,
}

impl IdleServer {
    /// Returns the configuration that all sessions share.
    pub fn config() -> Arc<ServerConfig> {
        let mut config = ServerConfig::new("bench", "1");
        config.capabilities.tools = Some(ListChanged::default());
        Arc::new(config)
    }

    /// Opens a session through its buffers, with the messages of a client.
    pub fn new(config: &Arc<ServerConfig>) -> Self {
        let limits = &config.connection.limits;
        let (mut inbox, mut outbox) = (Inbox::new(limits), Outbox::new(Framing::Lines, limits));
        let mut server = Server::new(Arc::clone(config));
        for message in [messages::INITIALIZE, messages::INITIALIZED] {
            feed(&mut inbox, message);
            let frame = inbox.next().unwrap();
            let event = server.receive(frame, Instant::EPOCH, &mut outbox);
            assert!(!matches!(event, Some(ServerEvent::Violation(_))), "{event:?}");
            outbox.sent(usize::MAX);
        }
        assert_eq!(server.phase(), Phase::Ready);
        Self { server, inbox, outbox }
    }

    /// Opens a session, and releases its memory.
    pub fn released(config: &Arc<ServerConfig>) -> Self {
        let mut server = Self::new(config);
        server.release();
        server
    }

    /// Takes a call of README's tool through the buffers, responds to it, and releases the memory again.
    pub fn call(&mut self) {
        feed(&mut self.inbox, &messages::hello_call(7));
        let frame = self.inbox.next().unwrap();
        let event = self.server.receive(frame, Instant::EPOCH, &mut self.outbox);
        let Some(ServerEvent::Request(request)) = event else { panic!("{event:?}") };
        self.server.respond(request.id, &greet(&request.kind), &mut self.outbox).unwrap();
        assert!(self.outbox.unsent().ends_with(b"}\n"));
        self.outbox.sent(usize::MAX);
        self.release();
    }

    /// Releases memory, like an event loop that expects no messages soon.
    pub fn release(&mut self) {
        assert!(self.server.poll_timeout().is_none());
        self.server.release();
        self.inbox.release();
        self.outbox.release();
    }
}

/// The arguments of README's tool.
#[derive(serde::Deserialize)]
struct Greeting {
    name: String,
}

/// README's tool.
fn greet(request: &ClientRequest<'_>) -> CallToolResult<'static> {
    match request {
        ClientRequest::CallTool(call) => match call.parse() {
            Ok(Greeting { name }) => CallToolResult::text(format!("Hello, {name}!")),
            Err(error) => CallToolResult::error(error.to_string()),
        },
        _ => CallToolResult::error("there is no other request"),
    }
}

/// A client in a session, with its buffers.
#[derive(Debug)]
pub struct IdleClient {
    client: Client,
    inbox: Inbox,
    outbox: Outbox,
}

impl IdleClient {
    /// Returns the configuration that all sessions share.
    pub fn config() -> Arc<ClientConfig> {
        let mut config = ClientConfig::new("bench", "1");
        config.revisions = RevisionSet::LEGACY;
        Arc::new(config)
    }

    /// Opens a session through its buffers, with the messages of a server.
    pub fn new(config: &Arc<ClientConfig>) -> Self {
        let limits: &Limits = &config.connection.limits;
        let (mut inbox, mut outbox) = (Inbox::new(limits), Outbox::new(Framing::Lines, limits));
        let mut client = Client::new(Arc::clone(config));
        client.connect(Instant::EPOCH, &mut outbox).unwrap();
        outbox.sent(usize::MAX);
        feed(&mut inbox, messages::INITIALIZE_RESULT);
        let frame = inbox.next().unwrap();
        let event = client.receive(frame, Instant::EPOCH, &mut outbox);
        assert!(matches!(event, Some(ClientEvent::Connected(_))), "{event:?}");
        outbox.sent(usize::MAX);
        assert_eq!(client.phase(), Phase::Ready);
        Self { client, inbox, outbox }
    }

    /// Releases memory, like an event loop that expects no messages soon.
    pub fn release(&mut self) {
        assert!(self.client.in_flight().calls().next().is_none());
        self.client.release();
        self.inbox.release();
        self.outbox.release();
    }
}

fn feed(inbox: &mut Inbox, message: &str) {
    let line = messages::line(message);
    assert_eq!(inbox.feed(&line), line.len());
}
