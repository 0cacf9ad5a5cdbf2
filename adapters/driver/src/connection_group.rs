//! [`ConnectionGroup`]: all connections of a server, for broadcasting changes.

use std::fmt;
use std::sync::{Arc, PoisonError};

use mcp_sansio::Server;
use mcp_sansio::subscription::ChangedList;

use crate::handle::{Handle, WeakHandle};
use crate::sync::{Mutex, MutexGuard};

/// The connections of a server: sessions, subscriptions, sockets. A change is announced to all of them, to each as
/// soon as its outbox has room.
///
/// Add each connection when it begins ([`Handler::begin`](crate::asynchronous::Handler::begin)); ended connections
/// are removed. Clones share the group. A [`Router`](crate::Router) has its own group.
#[derive(Clone, Default)]
pub struct ConnectionGroup {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    connections: Vec<WeakHandle<Server>>,
    /// The number of connections at which ended ones are removed next.
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
            // So removing costs no more than adding did.
            shared.crowded = 2 * shared.connections.len() + 16;
        }
        shared.connections.push(handle.downgrade());
    }

    /// Announces that a list has changed to the subscribed clients.
    pub fn list_changed(&self, list: ChangedList) {
        for connection in self.connections() {
            connection.queue_list_changed(list);
        }
    }

    /// Announces that a resource has changed to the subscribed clients.
    pub fn resource_updated(&self, uri: &str) {
        for connection in self.connections() {
            connection.queue_resource_updated(uri);
        }
    }

    /// Announces that a resource has changed to the clients that are subscribed to the resource that contains it.
    pub fn resource_updated_below(&self, subscribed: &str, uri: &str) {
        for connection in self.connections() {
            connection.queue_resource_updated_below(subscribed, uri);
        }
    }

    fn connections(&self) -> Vec<Handle<Server>> {
        self.lock().connections.iter().filter_map(WeakHandle::upgrade).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // No code of the application runs under the lock.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ConnectionGroup {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ConnectionGroup").finish_non_exhaustive()
    }
}
