//! Log levels, tasks and subscriptions of a client.

use mcp_sansio::call::{TaskOptions, ToolTasks};
use mcp_sansio::error::CancelError;
use mcp_sansio::model::method::SetLevel;
use mcp_sansio::model::{LoggingLevel, SubscriptionFilter};
use mcp_sansio::{CallError, CallId, CallOptions, Client};

use crate::failure::CallFailure;
use crate::handle::Handle;
use crate::pending::PendingCall;
use crate::waiting::Waiting;

/// # Subscriptions of a client
impl Handle<Client> {
    /// Requests log messages of this level and above: see [`Client::set_log_level`]. In the legacy era this sends a
    /// request at once, and the future waits for the response. In the modern era every request contains the level
    /// from now on. Dropping the future cancels the request.
    ///
    /// ```
    /// # use mcp_sansio::model::LoggingLevel;
    /// # use mcp_sansio_driver::{CallFailure, Handle};
    /// # async fn example(server: &Handle) -> Result<(), CallFailure> {
    /// server.set_log_level(LoggingLevel::Warning).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`CallFailure`] if the request was not sent, or the server refused it.
    #[must_use = "dropping it withdraws the request"]
    pub fn set_log_level(&self, level: LoggingLevel) -> Waiting<'static, Result<(), CallFailure>> {
        let made = self.wire().act(|state| {
            let now = self.wire().clock.now();
            let made = state.machine.set_log_level(level, now, &mut state.out).transpose();
            if let Some(Ok(call)) = made {
                state.calls.insert(call);
            }
            made
        });
        let asked = made.map(|made| PendingCall::<Client, SetLevel>::new(made, self));
        Waiting::new(async {
            match asked {
                Some(asked) => asked.await.map(drop),
                None => Ok(()),
            }
        })
    }

    /// Returns the options for the call of a tool, as a task if `wish` requests one: see [`Client::tool_options`].
    ///
    /// # Errors
    ///
    /// [`CallError::NotAllowed`] if `wish` requests a task for a tool that does not support tasks.
    pub fn tool_options(
        &self,
        tools: &ToolTasks,
        tool: &str,
        wish: Option<TaskOptions>,
    ) -> Result<CallOptions, CallError> {
        self.wire().lock().machine.tool_options(tools, tool, wish)
    }

    /// Subscribes to the changes of a filter: see [`Client::subscribe`]. In the legacy era the machine emulates the
    /// subscription with the requests of that era. The handler receives the events of the subscription: that it is
    /// open, each change, and its end.
    ///
    /// # Errors
    ///
    /// [`CallError`] if there is no subscription.
    pub fn subscribe(&self, filter: &SubscriptionFilter<'_>) -> Result<CallId, CallError> {
        self.wire().with(|client, out, now| client.subscribe(filter, now, out))
    }

    /// Returns the subscriptions that are open or being opened, in the order of their creation.
    pub fn subscriptions(&self) -> Vec<CallId> {
        self.wire().with(|client, _, _| client.in_flight().subscriptions().collect())
    }

    /// Ends a subscription, and notifies the server.
    ///
    /// # Errors
    ///
    /// [`CancelError`] if the subscription has already ended.
    pub fn unsubscribe(&self, subscription: CallId) -> Result<(), CancelError> {
        self.wire().with(|client, out, _| client.cancel(subscription, None, out)).map(|_| ())
    }
}
