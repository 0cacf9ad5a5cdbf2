//! [`LocalSessions`]: what a node knows of the sessions that it serves.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_sansio::http::{SavedHttpSession, SessionId};
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

/// The sessions that a node serves, or is looking for. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct LocalSessions {
    entries: Arc<Mutex<Entries>>,
}

#[derive(Default)]
struct Entries {
    sessions: BTreeMap<SessionId, Entry>,
    /// The number of entries with users.
    in_use: usize,
}

/// A session that is served here, or in use by a [`LocalSession`].
#[derive(Default)]
struct Entry {
    state: Arc<tokio::sync::Mutex<State>>,
    /// The number of [`LocalSession`]s.
    users: usize,
    /// The number of those that are requests.
    requests: usize,
}

/// Whether a session is served here. The holder of its lock decides that, and writes its record.
#[derive(Default)]
#[allow(clippy::large_enum_variant, reason = "nearly every session that is known is owned")]
pub(crate) enum State {
    /// Another node serves the session, or it was not looked for yet.
    #[default]
    Elsewhere,
    Owned(Owned),
    /// The session has ended here, and the store may still have its record, of this version.
    Ended(u64),
    /// The session has ended here, and its record is removed.
    Removed,
}

/// A session that this node serves.
pub(crate) struct Owned {
    /// The number of this ownership. A session that was given up and taken over again has another number, so a request
    /// that began before notices it.
    pub(crate) ownership: u64,
    /// The version of the record in the store; 0 before the first.
    pub(crate) version: u64,
    /// The state in the record.
    pub(crate) saved: Option<SavedHttpSession>,
    pub(crate) stored_at: Instant,
    /// When the store was last asked whether this node serves the session.
    pub(crate) seen_at: Instant,
}

impl LocalSessions {
    /// Returns a session for a request of its client.
    pub(crate) fn request(&self, id: SessionId) -> LocalSession {
        let mut entries = self.lock();
        self.begin(id, &mut entries, true)
    }

    /// Returns a session for work that is no request. `None` if this node does not know the session.
    pub(crate) fn known(&self, id: SessionId) -> Option<LocalSession> {
        let mut entries = self.lock();
        let is_known = entries.sessions.contains_key(&id);
        is_known.then(|| self.begin(id, &mut entries, false))
    }

    fn begin(&self, id: SessionId, entries: &mut Entries, is_request: bool) -> LocalSession {
        let entry = entries.sessions.entry(id).or_default();
        entries.in_use += usize::from(entry.users == 0);
        entry.users += 1;
        entry.requests += usize::from(is_request);
        LocalSession { sessions: self.clone(), id, state: Arc::clone(&entry.state), is_request }
    }

    /// Returns the number of requests of the session that are in progress at this node.
    pub(crate) fn requests(&self, id: SessionId) -> usize {
        self.lock().sessions.get(&id).map_or(0, |entry| entry.requests)
    }

    pub(crate) fn ids(&self) -> Vec<SessionId> {
        self.lock().sessions.keys().copied().collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().sessions.len()
    }

    /// Returns the number of sessions that are served here, or were, and that no request or stream uses at this time.
    pub(crate) fn unused(&self) -> usize {
        let entries = self.lock();
        entries.sessions.len() - entries.in_use
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session, for a request or a task that uses it. When the last one is dropped, a session that is not served here is
/// forgotten.
pub(crate) struct LocalSession {
    sessions: LocalSessions,
    id: SessionId,
    state: Arc<tokio::sync::Mutex<State>>,
    is_request: bool,
}

impl LocalSession {
    pub(crate) const fn id(&self) -> SessionId {
        self.id
    }

    /// Returns the same session for work that is no request, such as the rest of an event stream.
    pub(crate) fn without_request(&self) -> Self {
        let mut entries = self.sessions.lock();
        self.sessions.begin(self.id, &mut entries, false)
    }

    pub(crate) async fn lock(&self) -> Locked {
        let guard = Arc::clone(&self.state).lock_owned().await;
        Locked { guard, session: self.without_request() }
    }
}

impl Drop for LocalSession {
    fn drop(&mut self) {
        let mut entries = self.sessions.lock();
        let Entries { sessions, in_use } = &mut *entries;
        let Some(entry) = sessions.get_mut(&self.id) else { return };
        entry.users -= 1;
        *in_use -= usize::from(entry.users == 0);
        entry.requests -= usize::from(self.is_request);
        let is_here = |state: &State| matches!(state, State::Owned(_) | State::Ended(_));
        if entry.users == 0 && entry.state.try_lock().is_ok_and(|state| !is_here(&state)) {
            sessions.remove(&self.id);
        }
    }
}

/// The lock of a session. It is owned, so that a task can hold it: a request that is dropped must not interrupt a change
/// of the state.
pub(crate) struct Locked {
    // First, because a session that is in use is not forgotten.
    guard: OwnedMutexGuard<State>,
    session: LocalSession,
}

impl Locked {
    pub(crate) const fn id(&self) -> SessionId {
        self.session.id()
    }
}

impl Deref for Locked {
    type Target = State;

    fn deref(&self) -> &State {
        &self.guard
    }
}

impl DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.guard
    }
}
