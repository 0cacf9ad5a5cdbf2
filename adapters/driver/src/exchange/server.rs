//! The tasks and the subscriptions that a handler of a server grants.

use mcp_sansio::model::{SubscriptionFilter, TaskSupport};
use mcp_sansio::request::TaskMode;
use mcp_sansio::{RespondError, Server};

use super::Exchange;

/// # Tasks
impl Exchange<Server> {
    /// Returns how to serve the call of a tool with this `taskSupport`; `None` if the call has been rejected: see
    /// [`Server::task_mode`].
    ///
    /// # Errors
    ///
    /// As for [`Server::task_mode`].
    pub fn task_mode(&self, support: &TaskSupport<'_>) -> Result<Option<TaskMode>, RespondError> {
        let wire = self.inner.handle.wire();
        let mode = wire.answer_in(|server, _, out, requests| {
            let mode = server.task_mode(self.inner.id(), support, out)?;
            if mode.is_none() {
                requests.answered(self.inner.id(), self.token());
            }
            Ok::<_, RespondError>(mode)
        })?;
        if mode.is_none() {
            self.is_answered();
        }
        Ok(mode)
    }
}

/// # Subscriptions
impl Exchange<Server> {
    /// Grants the subscription of [`ClientRequest::Listen`](mcp_sansio::ClientRequest::Listen), as far as `filter` allows
    /// it and the server offers it. Without a filter, it grants everything that was requested. The exchange is finished
    /// then, and the subscription lasts until the client or the connection ends it.
    ///
    /// Handlers receive this request only with [`Listening::Asked`](mcp_sansio::config::Listening::Asked). Tasks are
    /// granted with [`ConnectionOptions::tasks`](crate::ConnectionOptions::tasks).
    ///
    /// # Errors
    ///
    /// As for [`Server::grant`].
    pub fn grant(&self, filter: Option<&SubscriptionFilter<'_>>) -> Result<(), RespondError> {
        let (wire, id) = (self.inner.handle.wire(), self.inner.id());
        wire.answer_in(|server, now, out, requests| {
            match &wire.tasks {
                Some(tasks) => server.tasks(&mut tasks.lock().tasks).grant(id, filter, now, out)?,
                None => server.grant(id, filter, out)?,
            }
            requests.answered(id, self.token());
            Ok::<_, RespondError>(())
        })?;
        self.is_answered();
        Ok(())
    }
}
