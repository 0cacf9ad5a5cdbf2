//! The machine that what has been let in is for, and where its output goes.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use super::events::{EventStore, MemoryEvents};
use super::request_validator::RequestValidator;
use super::response_id::ResponseId;
use super::session_id::SessionId;
use super::source::RequestSource;
use super::streams::{ConnectionKind, Streams};
use crate::frame::{Framing, Outbox};
use crate::handle::ConnectionNumber;
use crate::limits::Limits;
use crate::server::Server;
use crate::time::Instant;
use crate::version::Revision;

/// # Machines
///
/// One for each [`Destination`](super::Destination) that is new. Each connection has to have a number of its own.
impl RequestValidator {
    /// The bounds of every machine.
    pub fn limits(&self) -> &Limits {
        &self.server.connection.limits
    }

    /// For a message that stands alone (2026-07-28).
    pub fn alone(&self, number: ConnectionNumber) -> (Server, Streams) {
        let streams = Streams::new(
            Arc::clone(&self.config),
            self.limits(),
            ConnectionKind::Sessionless,
            MemoryEvents::default(),
        );
        (Server::from_template(&self.alone, number), streams)
    }

    /// For a session, with the events that its client may come back for in memory.
    pub fn session(&self, number: ConnectionNumber, id: SessionId) -> (Server, Streams) {
        self.session_with(number, id, MemoryEvents::default())
    }

    /// The same with a store of its own for them.
    pub fn session_with<E: EventStore>(
        &self,
        number: ConnectionNumber,
        id: SessionId,
        events: E,
    ) -> (Server, Streams<E>) {
        let streams = Streams::session(Arc::clone(&self.config), self.limits(), id, events);
        (Server::from_template(&self.session, number), streams)
    }

    /// For a message of a session that is taken for granted
    /// ([`SessionMode::Assumed`](super::SessionMode::Assumed)): in the middle of one of this revision, or at its
    /// beginning if there is none. The client has said nothing of what it can do.
    ///
    /// Without a principal tasks are not listed, and that is not declared: their requestors cannot be told apart.
    pub fn assumed(
        &self,
        number: ConnectionNumber,
        revision: Option<Revision>,
        source: impl Into<RequestSource>,
        now: Instant,
    ) -> (Server, Streams) {
        let streams = Streams::new(
            Arc::clone(&self.config),
            self.limits(),
            ConnectionKind::ImplicitSession,
            MemoryEvents::default(),
        );
        let is_known = source.into().has_principal();
        let template = if is_known { &self.session } else { &self.session_without_list };
        let mut server = Server::from_template(template, number);
        if let Some(revision) = revision {
            let mut unheard = Outbox::new(Framing::Messages, self.limits());
            let initialize = format!(
                r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"","version":""}}}}}}"#
            );
            _ = server.receive(initialize.as_str(), now, &mut unheard);
            let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
            _ = server.receive(initialized, now, &mut unheard);
        }
        (server, streams)
    }

    /// For a session on one event stream, as the HTTP+SSE transport of 2024-11-05 has it
    /// ([`admit_event_stream`](Self::admit_event_stream)). The client is told first of all where to POST its
    /// messages, by a URI, relative or absolute, which has to hold the id of the session. The response is the event
    /// stream; those to the messages are empty.
    pub fn one_stream(
        &self,
        number: ConnectionNumber,
        id: SessionId,
        endpoint: String,
        now: Instant,
    ) -> (Server, Streams, ResponseId) {
        let config = Arc::clone(&self.config);
        let (streams, response) = Streams::one_stream(config, self.limits(), (id, endpoint), now);
        (Server::from_template(&self.session, number), streams, response)
    }
}
