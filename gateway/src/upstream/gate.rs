//! [`Gate`]: how many calls a server gets at the same time, all together and of each client.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use mcp_sansio::request::Requestor;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Lets calls through, in order of arrival. A client at its own limit does not delay others.
pub(crate) struct Gate {
    all: Arc<Semaphore>,
    most: usize,
    most_of_client: usize,
    clients: Mutex<BTreeMap<Requestor, Arc<Semaphore>>>,
}

/// The place of a call that is in progress.
pub(crate) struct Place {
    _of_client: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Gate {
    pub(crate) fn new(most: usize, most_of_client: usize) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            all: Arc::new(Semaphore::new(most)),
            most,
            most_of_client: most_of_client.clamp(1, most),
            clients: Mutex::default(),
        }
    }

    /// Waits for a place.
    pub(crate) async fn enter(&self, client: Requestor) -> Place {
        let of_client = self.of_client(client);
        // The semaphores are never closed.
        loop {
            let Ok(client) = Arc::clone(&of_client).acquire_owned().await else { continue };
            let Ok(all) = Arc::clone(&self.all).acquire_owned().await else { continue };
            return Place { _of_client: client, _of_all: all };
        }
    }

    /// Returns the number of calls in progress.
    pub(crate) fn in_progress(&self) -> usize {
        self.most - self.all.available_permits()
    }

    fn of_client(&self, client: Requestor) -> Arc<Semaphore> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = clients.get(&client) {
            return Arc::clone(known);
        }
        // A semaphore that is not shared has no permit in use and no call that waits.
        clients.retain(|_, known| Arc::strong_count(known) > 1);
        let fresh = Arc::new(Semaphore::new(self.most_of_client));
        clients.insert(client, Arc::clone(&fresh));
        fresh
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_at_its_limit_delays_only_itself() {
        let gate = Gate::new(3, 2);
        let (one, other) = (Requestor::Session(1), Requestor::Session(2));
        let first = gate.enter(one).await;
        let _second = gate.enter(one).await;
        let soon = Duration::from_secs(1);
        assert!(tokio::time::timeout(soon, gate.enter(one)).await.is_err());
        let third = gate.enter(other).await;
        assert_eq!(gate.in_progress(), 3);
        // All places are taken now.
        assert!(tokio::time::timeout(soon, gate.enter(other)).await.is_err());
        drop(third);
        drop(first);
        let _fourth = gate.enter(one).await;
        assert_eq!(gate.in_progress(), 2);
        assert_eq!(gate.clients.lock().unwrap().len(), 2);
    }

    /// The table of clients has no entries of clients that have left.
    #[tokio::test(start_paused = true)]
    async fn clients_without_calls_are_forgotten() {
        let gate = Gate::new(3, 2);
        for number in 0..100 {
            drop(gate.enter(Requestor::Session(number)).await);
        }
        assert_eq!(gate.clients.lock().unwrap().len(), 1);
    }
}
