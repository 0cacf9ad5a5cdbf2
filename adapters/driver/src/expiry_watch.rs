//! [`ExpiryWatch`]: the choice of the connection whose timer covers the expiry of shared tasks.

use std::collections::HashSet;
use std::time::Duration;

use mcp_sansio::{ConnectionNumber, Instant};

/// The delay after which the connection that watches has missed an expiry, and is replaced at the next operation. Over
/// HTTP, the timeouts of a response are not handled while its client does not read.
const MISSED: Duration = Duration::from_secs(1);

/// The connection that watches the expiry of tasks. One is enough, and an expiry must not wake all of them.
#[derive(Default)]
pub(crate) struct ExpiryWatch {
    watcher: Option<ConnectionNumber>,
    /// The earliest expiry that the watcher knows.
    known: Option<Instant>,
    /// The open connections whose timeouts are handled.
    timed: HashSet<ConnectionNumber>,
}

impl ExpiryWatch {
    /// Removes a connection that has ended.
    pub(crate) fn remove(&mut self, connection: ConnectionNumber) {
        self.timed.remove(&connection);
        // Another one has to take over.
        self.watcher = self.watcher.filter(|watcher| *watcher != connection);
    }

    /// Returns the earliest expiry if this connection, whose timeouts are handled, watches it.
    pub(crate) fn expiry_for(
        &mut self,
        connection: ConnectionNumber,
        expiry: Option<Instant>,
        is_open: impl Fn(ConnectionNumber) -> bool,
    ) -> Option<Instant> {
        self.timed.insert(connection);
        self.remove_closed(is_open);
        if *self.watcher.get_or_insert(connection) != connection {
            return None;
        }
        self.known = expiry;
        expiry
    }

    /// Returns the connection that has to reschedule its timer, because a task expires earlier than it knows. If `own`
    /// has a timer, it takes over, as its timer is rescheduled in any case.
    pub(crate) fn reschedules(
        &mut self,
        expiry: Option<Instant>,
        own: Option<ConnectionNumber>,
        now: Instant,
        is_open: impl Fn(ConnectionNumber) -> bool,
    ) -> Option<ConnectionNumber> {
        if self.known.is_some_and(|known| known + MISSED <= now)
            && let Some(watcher) = self.watcher
        {
            self.remove(watcher);
        }
        self.remove_closed(&is_open);
        let known = if self.watcher.is_some() { self.known } else { None };
        if expiry.is_none_or(|expiry| known.is_some_and(|known| known <= expiry)) {
            return None;
        }
        self.known = expiry;
        if let Some(own) = own.filter(|own| self.timed.contains(own)) {
            self.watcher = Some(own);
            return None;
        }
        while self.watcher.is_none() {
            let next = *self.timed.iter().next()?;
            self.watcher = Some(next);
            self.remove_closed(&is_open);
        }
        self.watcher
    }

    /// Removes the connection that watches if it was dropped.
    fn remove_closed(&mut self, is_open: impl Fn(ConnectionNumber) -> bool) {
        if let Some(watcher) = self.watcher
            && !is_open(watcher)
        {
            self.remove(watcher);
        }
    }
}
