//! [`SharedLink`]: the connection to a server that all clients share, and its state.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::link::Link;

/// The state of the connection.
#[derive(Clone)]
pub(crate) enum LinkState {
    /// An attempt to connect is in progress.
    Connecting,
    Open(Arc<Link>),
    /// The last attempt has failed, and the next one is at this time.
    Failed {
        again: Instant,
    },
    /// The server was removed from the configuration.
    Stopped,
}

/// The reason why there is no connection.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum NoLink {
    /// The reason is for operators, and not for clients.
    #[error("it is not connected; the next attempt is in {} s", .again.as_secs_f64().ceil())]
    Failed { again: Duration },
    #[error("it has not been connected in time")]
    Connecting,
    #[error("it has been removed from the gateway")]
    Stopped,
    #[error("too many clients have sessions there")]
    TooManySessions,
    #[error("it cannot be connected")]
    NotOpened,
}

pub(crate) struct SharedLink {
    state: watch::Sender<LinkState>,
}

impl SharedLink {
    pub(super) fn new() -> Self {
        Self { state: watch::Sender::new(LinkState::Connecting) }
    }

    pub(super) fn set(&self, state: LinkState) {
        self.state.send_replace(state);
    }

    pub(crate) fn state(&self) -> LinkState {
        self.state.borrow().clone()
    }

    /// Returns the connection. Waits for an attempt to connect that is in progress, at most for `patience`.
    pub(crate) async fn get(&self, patience: Duration) -> Result<Arc<Link>, NoLink> {
        let mut state = self.state.subscribe();
        let settled = state.wait_for(|state| !matches!(state, LinkState::Connecting));
        // The sender lives as long as this value.
        let state = match tokio::time::timeout(patience, settled).await {
            Ok(Ok(state)) => state.clone(),
            Ok(Err(_)) => LinkState::Stopped,
            Err(_) => LinkState::Connecting,
        };
        match state {
            LinkState::Open(link) => Ok(link),
            LinkState::Failed { again } => {
                let again = again.saturating_duration_since(Instant::now());
                Err(NoLink::Failed { again })
            }
            LinkState::Connecting => Err(NoLink::Connecting),
            LinkState::Stopped => Err(NoLink::Stopped),
        }
    }

    /// Waits for an open connection; `None` once the server was removed.
    pub(super) async fn next_open(&self) -> Option<Arc<Link>> {
        let mut state = self.state.subscribe();
        let is_it = |state: &LinkState| matches!(state, LinkState::Open(_) | LinkState::Stopped);
        match &*state.wait_for(is_it).await.ok()? {
            LinkState::Open(link) => Some(Arc::clone(link)),
            _ => None,
        }
    }

    /// Waits until the first attempt to connect has succeeded or failed.
    pub(crate) async fn settled(&self) {
        let mut state = self.state.subscribe();
        _ = state.wait_for(|state| !matches!(state, LinkState::Connecting)).await;
    }
}
