//! Idle sessions.

use std::sync::Arc;

use mcp_sansio::model::ListChanged;
use mcp_sansio::{
    Client, ClientConfig, ClientEvent, Framing, Inbox, Instant, Limits, Outbox, Phase, RevisionSet,
    Server, ServerConfig, ServerEvent,
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

    /// Releases memory, like an event loop that expects no messages soon.
    pub fn release(&mut self) {
        assert!(self.server.poll_timeout().is_none());
        self.server.release();
        self.inbox.release();
        self.outbox.release();
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
