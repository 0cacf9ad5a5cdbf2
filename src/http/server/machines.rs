//! The machines for accepted messages, and their outboxes.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use super::events::{EventStore, MemoryEvents};
use super::request_validator::RequestValidator;
use super::response_id::ResponseId;
use super::saved::SavedHttpSession;
use super::session_id::SessionId;
use super::source::RequestSource;
use super::streams::{ConnectionKind, Streams};
use crate::connection::RestoreSessionError;
use crate::frame::{Framing, Outbox};
use crate::handle::ConnectionNumber;
use crate::limits::Limits;
use crate::server::Server;
use crate::time::Instant;
use crate::version::Revision;

/// # Machines
///
/// Each new [`Destination`](super::Destination) needs a machine. Each connection must have a unique number.
impl RequestValidator {
    /// Returns the limits of every machine.
    pub fn limits(&self) -> &Limits {
        &self.server.connection.limits
    }

    /// Creates the machine of one modern message (2026-07-28).
    pub fn modern(&self, number: ConnectionNumber) -> (Server, Streams) {
        let streams = Streams::new(
            Arc::clone(&self.config),
            self.limits(),
            ConnectionKind::Modern,
            MemoryEvents::default(),
        );
        (Server::from_template(&self.modern, number), streams)
    }

    /// Creates the machine of a session. The events that its client can resume from are kept in memory, for
    /// [`HttpServerConfig::kept_for`](super::HttpServerConfig::kept_for).
    pub fn session(&self, number: ConnectionNumber, id: SessionId) -> (Server, Streams) {
        self.session_with(number, id, MemoryEvents::for_age(self.config.kept_for))
    }

    /// Creates the machine of a session with its own store for events.
    pub fn session_with<E: EventStore>(
        &self,
        number: ConnectionNumber,
        id: SessionId,
        events: E,
    ) -> (Server, Streams<E>) {
        let streams = Streams::session(Arc::clone(&self.config), self.limits(), id, events);
        (Server::from_template(&self.session, number), streams)
    }

    /// Creates the machine of a saved session, with its streams. Enter it into
    /// [`Sessions`](super::Sessions::restore) under its [id](SavedHttpSession::id).
    ///
    /// # Errors
    ///
    /// See [`RestoreSessionError`]: the application is at fault.
    pub fn restore(
        &self,
        number: ConnectionNumber,
        saved: &SavedHttpSession,
        now: Instant,
    ) -> Result<(Server, Streams), RestoreSessionError> {
        self.restore_with(number, saved, MemoryEvents::for_age(self.config.kept_for), now)
    }

    /// As [`restore`](Self::restore), with a store for events. The saved events are stored there, unless the store
    /// has them already.
    ///
    /// # Errors
    ///
    /// As for [`restore`](Self::restore).
    pub fn restore_with<E: EventStore>(
        &self,
        number: ConnectionNumber,
        saved: &SavedHttpSession,
        events: E,
        now: Instant,
    ) -> Result<(Server, Streams<E>), RestoreSessionError> {
        let id = saved.id().ok_or(RestoreSessionError::Malformed)?;
        let (mut server, mut streams) = self.session_with(number, id, events);
        saved.session().restore_on(&mut server)?;
        saved.restore_streams(&mut streams, now)?;
        Ok((server, streams))
    }

    /// Creates the machine of one message in an assumed session
    /// ([`SessionMode::Assumed`](super::SessionMode::Assumed)): in the middle of a session of this revision, or
    /// without a revision at its start. The client has declared no capabilities.
    ///
    /// Without a principal, tasks are not listed and `tasks.list` is not declared, because their requestors are
    /// indistinguishable.
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
            let mut discarded = Outbox::new(Framing::Messages, self.limits());
            let initialize = format!(
                r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"","version":""}}}}}}"#
            );
            _ = server.receive(initialize.as_str(), now, &mut discarded);
            let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
            _ = server.receive(initialized, now, &mut discarded);
        }
        (server, streams)
    }

    /// Creates the machine of a session on one event stream, for the HTTP+SSE transport of 2024-11-05
    /// ([`admit_event_stream`](Self::admit_event_stream)). The first event names the endpoint for messages: a URI,
    /// relative or absolute, which must contain the id of the session. The returned response is the event stream; the
    /// responses to messages are empty.
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
