//! The connections of a server over HTTP: creation, look-up and removal.

use alloc::vec::Vec;

use super::connection::Connection;
use super::http_server::HttpServer;
use super::reply::Reply;
use super::request_validator::RequestValidator;
use super::saved::SavedHttpSession;
use super::session_id::SessionId;
use super::source::RequestSource;
use super::streams::Streams;
use crate::connection::RestoreSessionError;
use crate::handle::{ConnectionNumber, Principal};
use crate::server::Server;
use crate::session::Phase;
use crate::time::Instant;

/// # Restarts
impl HttpServer {
    /// Returns the state of every session, for another process: see [`SavedHttpSession`]. Only reads.
    pub fn save_sessions(&self) -> Vec<SavedHttpSession> {
        let connections =
            self.sessions.iter().filter_map(|(_, number)| self.connections.get(number));
        let saved = connections.filter_map(|Connection { server, streams, source, .. }| {
            SavedHttpSession::of(server, streams, *source)
        });
        saved.collect()
    }

    /// Continues a session of an earlier process, and returns its connection.
    ///
    /// # Errors
    ///
    /// [`RestoreSessionError`]: the server is unchanged.
    pub fn restore_session(
        &mut self,
        saved: &SavedHttpSession,
        now: Instant,
    ) -> Result<ConnectionNumber, RestoreSessionError> {
        let id = saved.id().ok_or(RestoreSessionError::Malformed)?;
        let (number, source) = (self.next_number(), saved.source());
        self.sessions.check_restore(id, source)?;
        let restored = self.validator.restore(number, saved, now)?;
        self.sessions.restore(id, source, number.get(), now)?;
        let connection = self.connect(restored, source);
        if let Some(connection) = self.connections.get_mut(&connection) {
            connection.session = Some(id);
        }
        self.settle(connection, now);
        Ok(number)
    }
}

impl HttpServer {
    pub(super) fn enter(&mut self, id: SessionId, number: u32, now: Instant) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        connection.session = Some(id);
        let source = connection.source;
        let Self { sessions, connections, .. } = self;
        let used_until = |number: &u32| connections.get(number)?.streams.used_until(now);
        match sessions.insert(id, source, number, now, used_until) {
            // The new session was refused, or has displaced another one.
            Err(ended) | Ok(Some(ended)) => self.end_now(ended, now),
            Ok(None) => {}
        }
    }

    pub(super) fn check_room(&mut self, source: RequestSource, now: Instant) -> Result<(), Reply> {
        let Self { sessions, connections, .. } = self;
        let used_until = |number: &u32| connections.get(number)?.streams.used_until(now);
        if sessions.has_room(source, now, used_until) {
            Ok(())
        } else {
            Err(RequestValidator::full())
        }
    }

    pub(super) fn check_open(&self) -> Result<(), Reply> {
        if self.is_shutting_down {
            return Err(RequestValidator::closing());
        }
        Ok(())
    }

    pub(super) fn find(
        &mut self,
        session: SessionId,
        principal: Principal,
        is_one_stream: bool,
        now: Instant,
    ) -> Result<u32, Reply> {
        let number = self.sessions.get(session, principal, now).map(|number| *number);
        let is_it = |connection: &&Connection| {
            let is_open = connection.server.phase() != Phase::Closed;
            is_open && connection.streams.is_one_stream() == is_one_stream
        };
        let found = number.filter(|number| self.connections.get(number).filter(is_it).is_some());
        found.ok_or_else(RequestValidator::no_session)
    }

    /// Returns the number of the next connection. Numbers wrap around and skip those in use, because some sessions
    /// last long.
    pub(super) fn next_number(&mut self) -> ConnectionNumber {
        while self.connections.contains_key(&self.next_number) {
            self.next_number = self.next_number.wrapping_add(1);
        }
        let number = self.next_number;
        self.next_number = self.next_number.wrapping_add(1);
        ConnectionNumber::new(number)
    }

    pub(super) fn connect(
        &mut self,
        (server, streams): (Server, Streams),
        source: RequestSource,
    ) -> u32 {
        let number = server.connection_number().get();
        let connection = Connection { server, streams, deadline: None, source, session: None };
        self.connections.insert(number, connection);
        number
    }

    pub(super) fn end_now(&mut self, number: u32, now: Instant) {
        if let Some(connection) = self.connections.get_mut(&number) {
            connection.streams.close();
            connection.server.close();
            self.settle(number, now);
        }
    }

    /// Updates the woken streams and the deadline of a connection.
    pub(super) fn settle(&mut self, number: u32, now: Instant) {
        self.woken.prune(|number, stream| {
            let connection = self.connections.get(&number);
            connection.is_some_and(|one| one.streams.table.streams.contains_key(&stream))
        });
        let Some(connection) = self.connections.get_mut(&number) else { return };
        if connection.streams.has_ended() {
            connection.server.close();
        }
        let machine = connection.server.poll_timeout();
        let is_closed = connection.server.phase() == Phase::Closed;
        if is_closed && machine.is_none() {
            connection.streams.finish();
        }
        self.woken.extend(connection.streams.woken().map(|stream| (number, stream)));
        let closes = is_closed && connection.streams.is_over();
        let due = if closes { Some(now) } else { machine };
        let deadline = due.into_iter().chain(connection.streams.poll_timeout()).min();
        if connection.deadline == deadline {
            return;
        }
        if let Some(old) = connection.deadline {
            self.deadlines.remove(&(old, number));
        }
        connection.deadline = deadline;
        self.deadlines.extend(deadline.map(|deadline| (deadline, number)));
    }

    pub(super) fn forget(&mut self, number: u32) {
        let Some(connection) = self.connections.remove(&number) else { return };
        if let Some(deadline) = connection.deadline {
            self.deadlines.remove(&(deadline, number));
        }
        if let Some(id) = connection.session {
            self.sessions.remove_if(id, |other| *other == number);
        }
    }
}
