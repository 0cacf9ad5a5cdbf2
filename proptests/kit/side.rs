//! One side of a connection, fed by hand.

use std::sync::Arc;
use std::time::Duration;

use crate::payload;
use mcp_sansio::model::{
    ElicitationCapability, EmptyCapability, ListChanged, ResourcesCapability, SamplingCapability,
};
use mcp_sansio::{
    CallId, Client, ClientConfig, ClientEvent, Framing, IncomingId, Instant, Outbox, Revision,
    RevisionSet, Server, ServerConfig, ServerEvent,
};

/// Base configurations.
pub mod config {
    use super::*;

    /// A legacy server without capabilities.
    pub fn bare_server() -> ServerConfig {
        let mut config = ServerConfig::new("s", "1");
        config.revisions = RevisionSet::LEGACY;
        config
    }

    /// A legacy client without capabilities.
    pub fn bare_client() -> ClientConfig {
        let mut config = ClientConfig::new("c", "1");
        config.revisions = RevisionSet::LEGACY;
        config
    }

    /// A legacy server with all capabilities.
    pub fn server() -> ServerConfig {
        let mut config = server_of_both_eras();
        config.revisions = RevisionSet::LEGACY;
        config
    }

    /// A legacy client with all capabilities.
    pub fn client() -> ClientConfig {
        let mut config = client_of_both_eras();
        config.revisions = RevisionSet::LEGACY;
        config
    }

    /// A server with all capabilities, in every revision.
    pub fn server_of_both_eras() -> ServerConfig {
        let mut config = ServerConfig::new("server", "1");
        config.capabilities.tools = Some(ListChanged::notified());
        config.capabilities.resources = Some(ResourcesCapability::notified());
        config.capabilities.prompts = Some(ListChanged::notified());
        config.capabilities.completions = Some(EmptyCapability::default());
        config.capabilities.logging = Some(EmptyCapability::default());
        config
    }

    /// A client with all capabilities, in every revision.
    pub fn client_of_both_eras() -> ClientConfig {
        let mut config = ClientConfig::new("client", "1");
        config.capabilities.roots = Some(ListChanged::notified());
        let mut sampling = SamplingCapability::default();
        sampling.tools = Some(EmptyCapability::default());
        sampling.context = Some(EmptyCapability::default());
        config.capabilities.sampling = Some(sampling);
        config.capabilities.elicitation = Some(ElicitationCapability::both());
        config
    }
}

macro_rules! side {
    (
        $(#[$documentation:meta])*
        $side:ident, $machine:ident: $Machine:ident, $Config:ident, $Event:ident
    ) => {
        $(#[$documentation])*
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub struct $side {
            /// The machine.
            pub $machine: $Machine,
            /// The outbox of the machine.
            pub out: Outbox,
            /// The current time.
            pub now: Instant,
        }

        impl $side {
            /// Creates a machine before it connects.
            pub fn with(config: $Config) -> Self {
                let out = Outbox::new(Framing::Messages, &config.connection.limits);
                let now = Instant::from_millis(1_000_000);
                Self { $machine: $Machine::new(Arc::new(config)), out, now }
            }

            /// Receives a frame and returns its event.
            pub fn receive(&mut self, frame: &str) -> Option<$Event<'static>> {
                self.receive_bytes(frame.as_bytes())
            }

            /// Receives a frame that need not be UTF-8.
            pub fn receive_bytes(&mut self, frame: &[u8]) -> Option<$Event<'static>> {
                self.$machine.receive(frame, self.now, &mut self.out).map($Event::into_owned)
            }

            /// Receives a request that must reach the application.
            #[track_caller]
            pub fn request(&mut self, frame: &str) -> IncomingId {
                match self.receive(frame) {
                    Some($Event::Request(request)) => request.id,
                    other => panic!("not a request for the application: {other:?}"),
                }
            }

            /// Returns the messages sent since the last call of this method.
            pub fn sent(&mut self) -> Vec<String> {
                self.out
                    .messages()
                    .map(|message| String::from_utf8(message.to_vec()).unwrap())
                    .collect()
            }

            /// Handles all due timeouts and returns their events.
            pub fn outcomes(&mut self) -> Vec<$Event<'static>> {
                let events: Vec<_> = std::iter::from_fn(|| {
                    self.$machine.handle_timeout(self.now, &mut self.out)
                })
                .collect();
                let due = self.$machine.poll_timeout();
                assert!(due.is_none_or(|due| self.now < due), "everything that was due is done");
                events
            }

            /// Advances time and returns the events of the due timeouts.
            pub fn elapse(&mut self, milliseconds: u64) -> Vec<$Event<'static>> {
                self.now = self.now + Duration::from_millis(milliseconds);
                self.outcomes()
            }

            /// Makes a call of a method by name, with minimal params.
            #[track_caller]
            pub fn call(&mut self, method: &str) -> CallId {
                let (params, options) = (payload::params(method), mcp_sansio::CallOptions::new());
                self.$machine
                    .call_method(method, &params, options, self.now, &mut self.out)
                    .unwrap()
            }

            /// Responds to a request with a result in JSON.
            #[track_caller]
            pub fn respond(&mut self, request: IncomingId, result: &str) {
                let result = mcp_sansio::json::Raw::new(result).unwrap();
                self.$machine.respond(request, &result, &mut self.out).unwrap();
            }
        }
    };
}

side! {
    /// A server under test.
    ServerSide, server: Server, ServerConfig, ServerEvent
}

side! {
    /// A client under test.
    ClientSide, client: Client, ClientConfig, ClientEvent
}

impl ServerSide {
    /// Creates a server with all capabilities, before a session.
    pub fn fresh() -> Self {
        Self::with(config::server())
    }

    /// Creates a server in a session with a client of all capabilities.
    pub fn ready(revision: Revision) -> Self {
        Self::ready_with(config::server(), revision)
    }

    /// [`Self::ready`] with another configuration.
    pub fn ready_with(config: ServerConfig, revision: Revision) -> Self {
        let mut side = Self::with(config);
        let initialize = format!(
            r#"{{"jsonrpc":"2.0","id":"init","method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{"roots":{{"listChanged":true}},"sampling":{{"tools":{{}},"context":{{}}}},"elicitation":{{"form":{{}},"url":{{}}}}}},"clientInfo":{{"name":"client","version":"1"}}}}}}"#
        );
        let opened = side.receive(&initialize);
        assert!(matches!(opened, Some(ServerEvent::Opened(_))), "{opened:?}");
        let ready = side.receive(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        assert_eq!(ready, Some(ServerEvent::Ready));
        assert_eq!(side.sent().len(), 1);
        side
    }
}

impl ClientSide {
    /// Creates a client with all capabilities, before it connects.
    pub fn fresh() -> Self {
        Self::with(config::client())
    }

    /// Creates a client in a session with a server of all capabilities.
    pub fn ready(revision: Revision) -> Self {
        Self::ready_with(config::client(), revision)
    }

    /// [`Self::ready`] with another configuration.
    pub fn ready_with(config: ClientConfig, revision: Revision) -> Self {
        let first = config.connection.first_call_id;
        let mut side = Self::with(config);
        side.client.connect(side.now, &mut side.out).unwrap();
        let result = format!(
            r#"{{"jsonrpc":"2.0","id":{first},"result":{{"protocolVersion":"{revision}","capabilities":{{"tools":{{"listChanged":true}},"resources":{{"subscribe":true,"listChanged":true}},"prompts":{{"listChanged":true}},"logging":{{}},"completions":{{}}}},"serverInfo":{{"name":"server","version":"1"}}}}}}"#
        );
        let connected = side.receive(&result);
        assert!(matches!(connected, Some(ClientEvent::Connected(_))), "{connected:?}");
        assert_eq!(side.sent().len(), 2);
        side
    }
}
