//! Everybody who is connected, to be told of changes.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_sansio::Server;
use mcp_sansio::subscription::ChangedList;

use crate::handle::{Handle, WeakHandle};

/// The connections of a server: sessions, subscriptions, sockets. A change is announced to all
/// of them, to each as soon as its outbox has room.
///
/// Add each connection when it begins ([`Handler::begin`](crate::asynchronous::Handler::begin)); those that
/// have ended are removed. Clones share the group. A [`Router`](crate::Router) has one of
/// its own.
#[derive(Clone, Default)]
pub struct ConnectionGroup {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    connections: Vec<WeakHandle<Server>>,
    /// At this many it is worth looking for those that have ended.
    crowded: usize,
}

impl ConnectionGroup {
    /// An empty group.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a connection.
    pub fn add(&self, handle: &Handle<Server>) {
        let mut shared = self.lock();
        if shared.crowded <= shared.connections.len() {
            shared.connections.retain(WeakHandle::is_alive);
            // So looking costs no more than adding did.
            shared.crowded = 2 * shared.connections.len() + 16;
        }
        shared.connections.push(handle.downgrade());
    }

    /// Says that a list has changed, to those who want to know.
    pub fn list_changed(&self, list: ChangedList) {
        for connection in self.connections() {
            connection.tell_list_changed(list);
        }
    }

    /// Says that a resource has changed, to those who have subscribed to it.
    pub fn resource_updated(&self, uri: &str) {
        for connection in self.connections() {
            connection.tell_resource_updated(uri);
        }
    }

    fn connections(&self) -> Vec<Handle<Server>> {
        self.lock().connections.iter().filter_map(WeakHandle::upgrade).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // Nothing of the application's runs under the lock.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ConnectionGroup {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ConnectionGroup").finish_non_exhaustive()
    }
}
