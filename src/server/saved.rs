//! [`SavedSession`] of a server.

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::sync::Arc;

use super::Server;
use crate::config::ServerConfig;
use crate::connection::{RestoreSessionError, SavedSession};
use crate::handle::ConnectionNumber;
use crate::json::Raw;

impl SavedSession {
    /// Returns the state of a server's session; `None` if no session is open, or if the connection is about to end.
    ///
    /// Only reads, so a program can also save regularly, in case that its process is killed. A restored server counts
    /// the ids of its requests from the last save on.
    pub fn of(server: &Server) -> Option<Self> {
        let mut saved = Self::of_messages(server.connection.dispatcher.messages())?;
        saved.initialize = server.client.as_ref().map(|params| params.to_string());
        Some(saved)
    }

    /// Creates a server in the middle of this session.
    ///
    /// The configuration may differ from the one of the earlier process. A capability that it no longer has is gone
    /// from the session as well; one that it newly has is not used, because the client does not know it.
    ///
    /// # Errors
    ///
    /// [`RestoreSessionError`]: the application is at fault.
    pub fn restore(
        &self,
        config: Arc<ServerConfig>,
        number: ConnectionNumber,
    ) -> Result<Server, RestoreSessionError> {
        let mut server = Server::with_connection_number(config, number);
        self.restore_on(&mut server)?;
        Ok(server)
    }

    /// Restores the session on a new server.
    ///
    /// # Errors
    ///
    /// As for [`restore`](Self::restore). The server may be changed then: drop it.
    pub(crate) fn restore_on(&self, server: &mut Server) -> Result<(), RestoreSessionError> {
        let limits = &server.config.connection.limits;
        self.restore_messages(server.connection.dispatcher.messages_mut(), limits)?;
        server.connection.dispatcher.restored(&server.config.connection);
        if server.config.connection.keep_handshake
            && let Some(params) = &self.initialize
        {
            let params =
                Raw::try_from(params.clone()).map_err(|_| RestoreSessionError::Malformed)?;
            server.client = Some(Box::new(params));
        }
        Ok(())
    }
}
