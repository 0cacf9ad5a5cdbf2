//! The subscriptions of a client
//! ([subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)).

use super::Client;
use crate::connection::{CallError, CallOptions, Outboxes};
use crate::handle::CallId;
use crate::model::{LoggingLevel, SetLevelParams, SubscriptionFilter, method};
use crate::time::Instant;

/// # Subscribing
impl Client {
    /// Subscribes to the changes that a filter names, until [`cancel`](crate::Connection::cancel) or the end of the
    /// connection. [`Subscription`](crate::ClientEvent::Subscription) events report that the subscription is open,
    /// then each change, and finally the end.
    ///
    /// Several subscriptions can be open at once. A change that several of them cover is reported once for each.
    ///
    /// The legacy era has no such request, and the machine emulates it: it subscribes to each resource, and hands the
    /// server's notifications to the matching subscriptions instead of raising a
    /// [`Notification`](crate::ClientEvent::Notification).
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

    /// Requests log messages of this level and above. In a session it sends `logging/setLevel`, a call with an
    /// outcome of its own. In the modern era every later request carries the level.
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
        let session = &self.connection.dispatcher.messages().session;
        let may_have_session =
            session.negotiated.is_some() || !self.config.abilities().sessions().is_empty();
        let rules = session.rules();
        let call = if rules.updates.log_level_in_session && may_have_session {
            let params = SetLevelParams::new(level);
            Some(self.call::<method::SetLevel>(&params, CallOptions::new(), now, out)?)
        } else {
            None
        };
        // Only now: a command that fails changes nothing.
        if rules.updates.log_level_in_requests {
            self.connection.dispatcher.messages_mut().session.request_level = Some(level);
        }
        Ok(call)
    }
}
