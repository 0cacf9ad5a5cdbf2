//! Sessions that outlive the process of their endpoint.

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::Server;
use mcp_sansio::error::RestoreSessionError;
use mcp_sansio::http::{
    Reply, RequestSource, RequestValidator, SavedHttpSession, SessionId, Sessions,
};
use mcp_sansio_driver::Wire;
use tokio::runtime::Handle;

use crate::endpoint::{Endpoint, Inner};

/// # Restarts
///
/// Sessions (2025-03-26 to 2025-11-25) can continue in another process, without their clients noticing it:
///
/// ```no_run
/// use std::time::Duration;
///
/// use mcp_sansio_http::mcp_sansio::ServerConfig;
/// use mcp_sansio_http::mcp_sansio::http::SavedHttpSession;
/// use mcp_sansio_http::{Endpoint, EndpointOptions, Router, serve};
///
/// # async fn main_of(router: Router, listener: tokio::net::TcpListener, stop: impl Future<Output = ()>)
/// #     -> Result<(), Box<dyn std::error::Error>> {
/// let mut options = EndpointOptions::new();
/// options.keep_sessions = true;
/// let endpoint = Endpoint::with(ServerConfig::new("server", "1.0"), options, router);
/// // A directory of this user alone: the file holds the ids of the sessions, which grant access to them.
/// let file = "/var/lib/server/sessions.json";
/// if let Ok(text) = std::fs::read_to_string(file) {
///     for session in serde_json::from_str::<Vec<SavedHttpSession>>(&text)? {
///         if let Err(error) = endpoint.restore_session(&session) {
///             eprintln!("a session is lost, and its client opens another: {error}");
///         }
///     }
///     // From here on the sessions change, and this program saves them only at its end. After a crash their clients
///     // open new ones. A host that saves regularly (`save_sessions`) writes the next state over this one instead.
///     std::fs::remove_file(file)?;
/// }
/// serve(endpoint.clone(), "/mcp", listener, stop, Duration::from_secs(10)).await?;
/// std::fs::write(file, serde_json::to_string(&endpoint.suspend_sessions())?)?;
/// # Ok(())
/// # }
/// ```
///
/// Principals must have the same numbers in both processes, because sessions belong to them. Keys of
/// [`request_state`](mcp_sansio::request_state) must be the same as well. Tasks are not part of a session: save those in
/// [`SharedTasks`](crate::SharedTasks) as [`TaskRecord`](mcp_sansio::task::TaskRecord)s.
impl Endpoint {
    /// Ends all sessions for this process alone, and returns their state for the next one. For a restart: call it when
    /// the endpoint was shut down with [`EndpointOptions::keep_sessions`](crate::EndpointOptions::keep_sessions).
    ///
    /// A request that is still open gets the error `-32603`. A client of 2025-11-25 that resumes the event stream of
    /// its request receives this error from the next process; for any other client its request ends with the HTTP
    /// connection. Sessions of HTTP+SSE (2024-11-05) end, because they are bound to an HTTP connection.
    pub fn suspend_sessions(&self) -> Vec<SavedHttpSession> {
        let sessions = self.inner.take_sessions().into_iter();
        sessions.filter_map(|(source, wire)| wire.suspend_session(source)).collect()
    }

    /// Returns the state of all sessions that can be saved, and changes nothing: for a program that saves regularly, in
    /// case that its process is killed. Requests that are open at that time are not saved.
    pub fn save_sessions(&self) -> Vec<SavedHttpSession> {
        let sessions = self.inner.sessions_with_sources().into_iter();
        sessions.filter_map(|(_, source, wire)| wire.save_session(source)).collect()
    }

    /// Whether this endpoint serves the session.
    pub fn has_session(&self, id: SessionId) -> bool {
        self.inner.sessions().peek(id).is_some()
    }

    /// Whether a request of the session has no response yet. Event streams without such a request do not count.
    pub fn has_open_requests(&self, id: SessionId) -> bool {
        let session = self.inner.session_with_source(id);
        session.is_some_and(|(_, wire)| wire.has_open_requests())
    }

    /// Returns the state of one session, and changes nothing: see [`save_sessions`](Self::save_sessions). `None` if there
    /// is no such session, or if it has ended by itself.
    pub fn save_session(&self, id: SessionId) -> Option<SavedHttpSession> {
        let (source, wire) = self.inner.session_with_source(id)?;
        wire.save_session(source)
    }

    /// Ends one session for this process alone, because another process continues it, and returns its state: see
    /// [`suspend_sessions`](Self::suspend_sessions). Its client is not notified: requests to this process get 404 from now
    /// on, so direct them to the other process.
    pub fn suspend_session(&self, id: SessionId) -> Option<SavedHttpSession> {
        let (source, wire) = self.inner.session_with_source(id)?;
        // A session that its client ends at the same time is not suspended.
        self.inner.sessions().remove(id, source.principal)?;
        wire.suspend_session(source)
    }

    /// Continues a session of an earlier process. The handler of the endpoint is notified of a connection
    /// ([`Handler::begin`](mcp_sansio_driver::asynchronous::Handler::begin)); the events of the handshake are not
    /// repeated.
    ///
    /// # Errors
    ///
    /// [`RestoreSessionError`]: the endpoint is unchanged. A client whose session is lost gets 404 and opens another one.
    ///
    /// # Panics
    ///
    /// Outside a runtime of tokio, because a task handles the timeouts of the session.
    pub fn restore_session(&self, saved: &SavedHttpSession) -> Result<(), RestoreSessionError> {
        let inner = &self.inner;
        let id = saved.id().ok_or(RestoreSessionError::Malformed)?;
        let now = inner.clock.now();
        let source = saved.source();
        inner.sessions().check_restore(id, source)?;
        let (server, streams) = inner.validator.restore(inner.next_number(), saved, now)?;
        // Outside the lock, because it calls the handler.
        let wire = inner.connect(server, streams, inner.budget.total());
        let restored = inner.sessions().restore(id, source, Arc::clone(&wire), now);
        if let Err(error) = restored {
            // Another restore of the session was faster. `end_now` would forget the tasks of the session.
            wire.suspend_session(source);
            return Err(error);
        }
        inner.timekeeper.add(id, &wire, inner);
        Ok(())
    }
}

/// A session: its id, the client that opened it, and its connection.
type Session = (SessionId, RequestSource, Arc<Wire<Server>>);

impl Inner {
    fn sessions_with_sources(&self) -> Vec<Session> {
        let sessions = self.sessions();
        let with_source = sessions
            .iter()
            .filter_map(|(id, wire)| Some((id, sessions.source(id)?, Arc::clone(wire))));
        with_source.collect()
    }

    fn session_with_source(&self, id: SessionId) -> Option<(RequestSource, Arc<Wire<Server>>)> {
        let sessions = self.sessions();
        Some((sessions.source(id)?, Arc::clone(sessions.peek(id)?)))
    }

    /// Takes all sessions out of the map. A session that its client ends at the same time is not among them.
    fn take_sessions(&self) -> Vec<(RequestSource, Arc<Wire<Server>>)> {
        let mut sessions = self.sessions();
        let mut taken = Vec::new();
        let first = |sessions: &Sessions<_>| sessions.iter().next().map(|(id, _)| id);
        while let Some(id) = first(&sessions)
            && let Some(source) = sessions.source(id)
            && let Some(wire) = sessions.remove(id, source.principal)
        {
            taken.push((source, wire));
        }
        taken
    }

    /// Whether the endpoint is being shut down, and its sessions continue elsewhere.
    pub(crate) fn keeps_sessions(&self) -> bool {
        self.options.keep_sessions && self.is_closing()
    }

    /// Returns the reply to a request for an unknown session. While sessions are handed over, a client must not
    /// believe that its session has ended.
    pub(crate) fn no_session(&self) -> Reply {
        if self.keeps_sessions() {
            RequestValidator::closing()
        } else {
            RequestValidator::no_session()
        }
    }

    /// Ends the event streams of all sessions when no request is open, at the latest after `grace`. Their clients open
    /// them again in the next process, and some try that only twice.
    pub(crate) fn close_event_streams_after(self: &Arc<Self>, grace: Duration) {
        let (requests, inner) = (self.open_requests.clone(), Arc::downgrade(self));
        let closing = async move {
            _ = tokio::time::timeout(grace, requests.ended()).await;
            if let Some(inner) = inner.upgrade() {
                inner.close_event_streams();
            }
        };
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(closing)),
            // Without a runtime nothing is being served.
            Err(_) => self.close_event_streams(),
        }
    }

    fn close_event_streams(&self) {
        let sessions = self.sessions_with_sources();
        sessions.into_iter().for_each(|(_, _, wire)| wire.close_standalone());
    }
}
