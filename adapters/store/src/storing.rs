//! Writes the records of sessions.

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::http::{SavedHttpSession, SessionId};
use serde::Serialize;
use tokio::time::Instant;

use crate::local_sessions::{LocalSession, Locked, Owned, State};
use crate::node::Inner;
use crate::record::Record;
use crate::store::{Change, StoreError, Write, Written};

/// How many streams of a session can be opened until its record is written again: see
/// [`SavedHttpSession::reserve_streams`].
const RESERVED_STREAMS: u32 = 4096;

/// How often a write is tried whose version is not that of the record.
const ATTEMPTS: usize = 4;

/// The longest lifetime of a record: stores count it in their own units.
pub(crate) const LONGEST_LIFETIME: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// The reason why a session was not stored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotStored {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another node serves the session now, or has served it since the request began.
    #[error("another node has taken the session over")]
    TakenOver,
}

impl Inner {
    /// Stores a session that this node serves, unless its record has everything. A request may be answered after that.
    ///
    /// `ownership` is the number of the ownership under which the request was served, if it is for a request.
    pub(crate) async fn store_session(
        self: &Arc<Self>,
        session: &LocalSession,
        ownership: Option<u64>,
    ) -> Result<(), NotStored> {
        let mut locked = session.lock().await;
        let mut latest = None;
        match &*locked {
            State::Owned(owned) if ownership.is_none_or(|number| number == owned.ownership) => {
                match self.endpoint.save_session(locked.id()) {
                    Some(latest) if self.is_stored(owned, &latest) => {
                        return self.confirm_ownership(&mut locked).await;
                    }
                    changed @ Some(_) => latest = changed,
                    // The client has ended the session, or the session has ended by itself.
                    None => *locked = State::Ended(owned.version),
                }
            }
            State::Owned(_) | State::Elsewhere => return Err(NotStored::TakenOver),
            State::Ended(_) => {}
            State::Removed => return Ok(()),
        }
        let inner = Arc::clone(self);
        // The client may disconnect at any time, which must not interrupt a write.
        let writing = async move {
            if matches!(*locked, State::Owned(_)) {
                return inner.write_record(&mut locked, latest).await;
            }
            let is_removed = inner.remove_record(&mut locked).await?;
            is_removed.then_some(()).ok_or(NotStored::TakenOver)
        };
        tokio::spawn(writing).await.map_err(StoreError::new)?
    }

    /// Looks whether a session still belongs to this node, unless it was looked a moment ago.
    async fn confirm_ownership(&self, locked: &mut Locked) -> Result<(), NotStored> {
        let is_own = match &**locked {
            State::Owned(owned) if owned.seen_at.elapsed() < self.options.silence => true,
            _ => self.is_still_own(locked).await?,
        };
        if !is_own {
            self.give_up(locked);
        }
        is_own.then_some(()).ok_or(NotStored::TakenOver)
    }

    /// Whether a session belongs to this node by its record.
    pub(crate) async fn is_still_own(&self, locked: &mut Locked) -> Result<bool, StoreError> {
        let began = Instant::now();
        let found = self.read(locked.id()).await?;
        let State::Owned(owned) = &mut **locked else { return Ok(false) };
        let is_own = match found {
            Some((_, record)) => record.node == self.id,
            // A record that was not written yet is not the end of a session.
            None => owned.version == 0,
        };
        if is_own {
            owned.seen_at = began;
        }
        Ok(is_own)
    }

    /// Whether the record of a session has everything, and is not to be renewed.
    fn is_stored(&self, owned: &Owned, latest: &SavedHttpSession) -> bool {
        owned.saved.as_ref().is_some_and(|stored| stored.covers(latest))
            && owned.stored_at.elapsed() < self.options.session_lifetime / 4
    }

    /// Writes the record of a session that this node serves, with its latest state.
    async fn write_record(
        &self,
        locked: &mut Locked,
        mut latest: Option<SavedHttpSession>,
    ) -> Result<(), NotStored> {
        let id = locked.id();
        for _ in 0..ATTEMPTS {
            let State::Owned(owned) = &mut **locked else { return Err(NotStored::TakenOver) };
            let began = Instant::now();
            let latest = latest.take().or_else(|| self.endpoint.save_session(id));
            let Some(mut saved) = latest else { return Ok(()) };
            saved.reserve_streams(RESERVED_STREAMS);
            if self.put(id, owned.version, &saved).await? == Written::Done {
                owned.version += 1;
                owned.saved = Some(saved);
                (owned.stored_at, owned.seen_at) = (began, began);
                return Ok(());
            }
            // An earlier write of this node may have failed for it, and was done by the store.
            match self.read(id).await? {
                Some((version, record)) if record.node == self.id => owned.version = version,
                _ => {
                    self.give_up(locked);
                    return Err(NotStored::TakenOver);
                }
            }
        }
        Err(StoreError::new("the versions of a record do not agree").into())
    }

    /// Removes the record of a session that has ended here. Returns whether it is removed; if not, another node serves the
    /// session. After an error it is tried again: the session must not come back at another node.
    pub(crate) async fn remove_record(&self, locked: &mut Locked) -> Result<bool, StoreError> {
        let id = locked.id();
        for _ in 0..ATTEMPTS {
            let State::Ended(version) = &mut **locked else { return Ok(false) };
            let write =
                Write { key: Record::key(id), expected: Some(*version), change: Change::Remove };
            if self.batches.write(write).await? == Written::Done {
                **locked = State::Removed;
                return Ok(true);
            }
            match self.read(id).await? {
                Some((found, record)) if record.node == self.id => *version = found,
                Some(_) => {
                    **locked = State::Elsewhere;
                    return Ok(false);
                }
                None => {
                    **locked = State::Removed;
                    return Ok(true);
                }
            }
        }
        Err(StoreError::new("the versions of a record do not agree"))
    }

    /// Returns the state of a session as it is stored: with reserved numbers for the streams that it opens until the next
    /// write.
    pub(crate) fn save(&self, id: SessionId) -> Option<SavedHttpSession> {
        let mut saved = self.endpoint.save_session(id)?;
        saved.reserve_streams(RESERVED_STREAMS);
        Some(saved)
    }

    /// Writes a record that names this node.
    pub(crate) async fn put(
        &self,
        id: SessionId,
        version: u64,
        saved: &SavedHttpSession,
    ) -> Result<Written, StoreError> {
        let (node, address) = (self.id.clone(), self.address.clone());
        self.put_record(id, version, &Record { node, address, session: saved }).await
    }

    pub(crate) async fn put_record(
        &self,
        id: SessionId,
        version: u64,
        record: &Record<impl Serialize>,
    ) -> Result<Written, StoreError> {
        let lifetime = Some(self.options.session_lifetime.min(LONGEST_LIFETIME));
        let change = Change::Put { value: record.to_bytes()?, lifetime };
        self.batches.write(Write { key: Record::key(id), expected: Some(version), change }).await
    }
}
