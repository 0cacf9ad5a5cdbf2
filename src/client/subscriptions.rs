//! Subscriptions of a client, where there are no sessions
//! ([subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)).

use super::Client;
use crate::handle::CallId;
use crate::model::SubscriptionFilter;
use crate::peer::{CallError, Outlets};
use crate::time::Instant;

/// # Subscribing
impl Client {
    /// Asks to be told of what a filter says, until [`cancel`](Self::cancel) or the end of the connection.
    /// All that comes of it is a [`Subscription`](crate::ClientEvent::Subscription) event: first that it is
    /// open, then what changes, and once how it ended.
    ///
    /// There can be several at the same time; what several of them ask for is told once for each.
    ///
    /// In a session there are none: a server tells of its lists without being asked, and of resources after
    /// [`Subscribe`](crate::model::method::Subscribe).
    ///
    /// # Errors
    ///
    /// As for [`call`](Self::call).
    pub fn subscribe(
        &mut self,
        filter: &SubscriptionFilter<'_>,
        now: Instant,
        out: &mut impl Outlets,
    ) -> Result<CallId, CallError> {
        self.peer.subscribe(&self.config.connection, filter, false, now, out)
    }

    /// The subscriptions that are open or are being opened, in the order they were made.
    pub fn subscriptions(&self) -> impl Iterator<Item = CallId> {
        self.peer.subscriptions()
    }
}
