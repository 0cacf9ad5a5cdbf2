//! The subscriptions of a client
//! ([subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)).

use alloc::sync::Arc;

use super::Client;
use super::negotiation::Negotiation;
use crate::connection::{CallError, CallOptions, Cx, Outboxes, SubscriptionOrigin};
use crate::handle::{CallId, ConnectionNumber};
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
        dispatcher.serving.calls.subscribe(cx, filter, SubscriptionOrigin::Application)
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

/// # Reconnecting
impl Client {
    /// Returns a new client for the next connection to the same server. It knows the era and the revision of the
    /// server, and reopens the lost subscriptions. Cached results of the server are stale:
    /// [`Change::Everything`](crate::cache::Change::Everything).
    #[must_use]
    pub fn reconnect(&self, number: ConnectionNumber) -> Self {
        let mut config = Arc::clone(&self.config);
        if let Some(revision) = self.revision()
            && config.known != Some(revision)
        {
            Arc::make_mut(&mut config).known = Some(revision);
        }
        let mut successor = Self::with_connection_number(config, number);
        successor.negotiation = Negotiation::new(self.negotiation.ended_on_probe());
        // Includes the subscriptions that this client has not opened yet.
        let wanted = self.wanted.iter().cloned();
        successor.wanted =
            wanted.chain(self.connection.dispatcher.serving.calls.wanted_subscriptions()).collect();
        successor
    }

    /// Opens the subscriptions that were requested before the connection was open.
    pub(super) fn subscribe_to_wanted(&mut self, now: Instant, out: &mut dyn Outboxes) {
        let config = &self.config;
        if let Some(filter) = &config.listen {
            // A full table shows again with the next call, so the error is not reported here.
            _ = self.connection.dispatcher.serving.calls.subscribe(
                &mut Cx::at(&config.connection, now, out),
                filter,
                SubscriptionOrigin::Elsewhere,
            );
        }
        let dispatcher = &mut self.connection.dispatcher;
        // A subscription that fails now is left to the next connection.
        self.wanted.retain(|filter| {
            dispatcher
                .serving
                .calls
                .subscribe(
                    &mut Cx::at(&config.connection, now, out),
                    filter,
                    SubscriptionOrigin::Reconnect,
                )
                .is_err()
        });
    }
}
