//! [`LocalSessions`]: what a node knows of the sessions that it serves.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_sansio::http::{SavedHttpSession, SessionId};
use tokio::time::Instant;

/// The sessions that a node serves, or is looking for.
#[derive(Default)]
pub(crate) struct LocalSessions {
    sessions: Mutex<BTreeMap<SessionId, Arc<Local>>>,
}

/// A session. The holder of its lock decides where it is served, or stores it.
#[derive(Default)]
pub(crate) struct Local(tokio::sync::Mutex<Option<Owned>>);

/// A session that this node serves.
pub(crate) struct Owned {
    /// The version of its record in the store; 0 before the first.
    pub(crate) version: u64,
    /// The state in the record.
    pub(crate) saved: Option<SavedHttpSession>,
    pub(crate) stored_at: Instant,
    /// When the store last said that this node serves the session.
    pub(crate) seen_at: Instant,
    /// Whether the result of the last write is unknown: it has failed, or its request was dropped.
    pub(crate) is_unsure: bool,
}

impl Owned {
    pub(crate) fn new(version: u64, saved: Option<SavedHttpSession>) -> Self {
        let now = Instant::now();
        Self { version, saved, stored_at: now, seen_at: now, is_unsure: false }
    }
}

impl Local {
    pub(crate) async fn lock(&self) -> tokio::sync::MutexGuard<'_, Option<Owned>> {
        self.0.lock().await
    }
}

impl LocalSessions {
    /// Returns the session with this id, which is not served here unless it was known.
    pub(crate) fn get(&self, id: SessionId) -> Arc<Local> {
        Arc::clone(self.lock().entry(id).or_default())
    }

    /// Returns the session with this id if this node serves it or is looking for it.
    pub(crate) fn known(&self, id: SessionId) -> Option<Arc<Local>> {
        self.lock().get(&id).cloned()
    }

    /// Forgets a session that is not served here, unless another request is looking for it at this time.
    pub(crate) fn forget_unless_owned(&self, id: SessionId, local: Arc<Local>) {
        let mut sessions = self.lock();
        // The clones are that of the caller and that in the map.
        let is_unused = Arc::strong_count(&local) <= 2;
        if is_unused && local.0.try_lock().is_ok_and(|owned| owned.is_none()) {
            sessions.remove(&id);
        }
    }

    pub(crate) fn ids(&self) -> Vec<SessionId> {
        self.lock().keys().copied().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, Arc<Local>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
