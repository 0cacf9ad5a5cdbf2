//! Subscriptions of a client
//! ([subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)).

use super::Client;
use crate::connection::{CallError, CallOptions, Outboxes};
use crate::handle::CallId;
use crate::model::{LoggingLevel, SetLevelParams, SubscriptionFilter, method};
use crate::time::Instant;

/// # Subscribing
impl Client {
    /// Subscribes to the changes that a filter names, until [`cancel`](crate::Connection::cancel) or the end of the connection.
    /// All that comes of it is a [`Subscription`](crate::ClientEvent::Subscription) event: first that it is
    /// open, then what changes, and once how it ended.
    ///
    /// There can be several at the same time; what several of them ask for is told once for each.
    ///
    /// In a session, which has nothing of the kind, it is the same for the application: the machine subscribes
    /// to each resource, and hands what the server tells to the subscriptions that want it instead of
    /// raising a [`Notification`](crate::ClientEvent::Notification).
    ///
    /// # Errors
    ///
    /// As for [`call`](crate::Connection::call).
    pub fn subscribe(
        &mut self,
        filter: &SubscriptionFilter<'_>,
        now: Instant,
        out: &mut impl Outboxes,
    ) -> Result<CallId, CallError> {
        let (dispatcher, cx) = &mut self.connection.enter(Some(now), out);
        dispatcher.serving.calls.subscribe(cx, filter, false)
    }

    /// Asks for log messages of this level and above: in a session with `logging/setLevel`, of which the
    /// outcome comes as that of any call; without one with every request from now on.
    ///
    /// # Errors
    ///
    /// As for [`call`](crate::Connection::call).
    pub fn set_log_level(
        &mut self,
        level: LoggingLevel,
        now: Instant,
        out: &mut impl Outboxes,
    ) -> Result<Option<CallId>, CallError> {
        let rules = self.connection.dispatcher.messages().session.rules();
        if rules.updates.log_level_in_requests {
            self.connection.dispatcher.messages_mut().session.request_level = Some(level);
        }
        if !rules.updates.log_level_in_session {
            return Ok(None);
        }
        self.call::<method::SetLevel>(&SetLevelParams::new(level), CallOptions::new(), now, out)
            .map(Some)
    }

    /// The subscriptions that are open or are being opened, in the order they were made.
    pub fn subscriptions(&self) -> impl Iterator<Item = CallId> {
        self.connection.dispatcher.serving.calls.subscriptions()
    }
}
