//! Where a session is served, and how that changes.
//!
//! The record of a session in the store names its node. A node becomes that of a session by a write that expects the
//! version of the record that it has read, so one of several nodes succeeds. From then on every write of the earlier node is
//! a conflict: it stops serving the session. The events of a stream are sent only when they are stored, so a client
//! sees one order of events, also if a node is believed dead and is not. The defects are listed in the crate documentation.

use std::fmt;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_sansio::error::RestoreSessionError;
use mcp_sansio::http::{SavedHttpSession, SessionId};
use tokio::sync::MutexGuard;
use tokio::time::Instant;

use crate::local_sessions::{Local, Owned};
use crate::node::{Inner, Place};
use crate::record::Record;
use crate::store::{Change, StoreError, Write, Written};

/// The reason why a session was not stored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotStored {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another node serves the session now.
    #[error("another node has taken the session over")]
    TakenOver,
}

/// The reason why it is unknown where a session is served, or why it cannot be served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotPlaced {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("a session cannot be taken over: {0}")]
    Restore(#[from] RestoreSessionError),
    /// The next node that gets a request takes the session.
    #[error("this node is leaving")]
    Leaving,
}

impl Inner {
    /// Finds the node that serves a session, which becomes this one if there is none. `gone` is a node that was not
    /// reached.
    pub(crate) async fn place(
        &self,
        id: SessionId,
        local: &Local,
        gone: Option<&str>,
    ) -> Result<Place, NotPlaced> {
        let owned = local.lock().await;
        // A node that the others believe dead serves its sessions no longer than they took to believe it.
        let is_recent = |owned: &Owned| owned.seen_at.elapsed() < self.options.silence;
        if owned.as_ref().is_some_and(is_recent) {
            return Ok(Place::Here);
        }
        self.look(id, owned, gone).await
    }

    /// As [`place`](Self::place), but looks into the store also if this node has seen a moment ago that it serves the
    /// session.
    pub(crate) async fn place_by_store(
        &self,
        id: SessionId,
        local: &Local,
    ) -> Result<Place, NotPlaced> {
        self.look(id, local.lock().await, None).await
    }

    async fn look(
        &self,
        id: SessionId,
        mut owned: MutexGuard<'_, Option<Owned>>,
        gone: Option<&str>,
    ) -> Result<Place, NotPlaced> {
        if let Some(session) = owned.as_mut() {
            let stored = self.batches.store().read(&Record::key(id)).await?;
            let record = stored.map(|stored| Record::parse(&stored.value)).transpose()?;
            // A record that was not written yet is not the end of a session.
            let is_own = |record: Record| record.node == self.id;
            if record.map_or(session.version == 0, is_own) {
                session.seen_at = Instant::now();
                return Ok(Place::Here);
            }
            *owned = None;
            self.endpoint.suspend_session(id);
        }
        self.find(id, &mut owned, gone).await
    }

    /// Finds the node of a session that is not served here.
    async fn find(
        &self,
        id: SessionId,
        owned: &mut Option<Owned>,
        gone: Option<&str>,
    ) -> Result<Place, NotPlaced> {
        loop {
            let key = Record::key(id);
            let Some(stored) = self.batches.store().read(&key).await? else {
                return Ok(Place::Here);
            };
            let record = Record::parse(&stored.value)?;
            // A process that has started again has the address of the earlier one.
            let is_own = record.node == self.id || record.address == self.address;
            let is_gone = record.node.is_empty() || gone == Some(&*record.node) || is_own;
            if !is_gone && self.is_alive(&record.node).await? {
                return Ok(Place::There(record.node, record.address));
            }
            if self.has_left() {
                return Err(NotPlaced::Leaving);
            }
            let saved = record.session;
            if self.put(id, stored.version, &saved).await? == Written::Conflict {
                // Another node was faster.
                continue;
            }
            self.endpoint.restore_session(&saved)?;
            *owned = Some(Owned::new(stored.version + 1, Some(saved)));
            return Ok(Place::Here);
        }
    }

    /// Stores a session that this node serves, unless it is as it was stored.
    pub(crate) async fn store_session(&self, id: SessionId) -> Result<(), NotStored> {
        let Some(local) = self.sessions.known(id) else { return Ok(()) };
        let mut owned = local.lock().await;
        let Some(session) = owned.as_mut() else {
            return if self.endpoint.has_session(id) { Err(NotStored::TakenOver) } else { Ok(()) };
        };
        let Some(saved) = self.endpoint.save_session(id) else {
            // It has ended by itself.
            let version = std::mem::take(&mut *owned).map_or(0, |session| session.version);
            drop(owned);
            self.sessions.forget_unless_owned(id, local);
            return Ok(self.remove_record(id, version).await?);
        };
        if session.is_unsure {
            self.look_again(id, session).await?;
        }
        let is_same = session.saved.as_ref().is_some_and(|earlier| earlier.covers(&saved));
        if is_same && !self.must_renew(session.stored_at) {
            return Ok(());
        }
        // A request that is dropped here, because its client has gone, does not see the result.
        session.is_unsure = true;
        match self.put(id, session.version, &saved).await {
            Ok(Written::Done) => {
                *session = Owned::new(session.version + 1, Some(saved));
                Ok(())
            }
            Ok(Written::Conflict) => {
                *owned = None;
                self.endpoint.suspend_session(id);
                drop(owned);
                self.sessions.forget_unless_owned(id, local);
                Err(NotStored::TakenOver)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a session that was stored at this time is to be stored again, before the store removes it.
    fn must_renew(&self, stored_at: Instant) -> bool {
        self.options.session_lifetime / 4 <= stored_at.elapsed()
    }

    /// Finds out whether a write that failed was done.
    async fn look_again(&self, id: SessionId, session: &mut Owned) -> Result<(), StoreError> {
        let stored = self.batches.store().read(&Record::key(id)).await?;
        let own = match stored {
            Some(stored) => {
                let record = Record::parse(&stored.value)?;
                (record.node == self.id).then(|| Owned::new(stored.version, Some(record.session)))
            }
            // The first write was not done.
            None => (session.version == 0).then(|| Owned::new(0, None)),
        };
        // With the old version, the write of a session that was taken over is a conflict.
        if let Some(own) = own {
            *session = own;
        }
        session.is_unsure = false;
        Ok(())
    }

    async fn put(
        &self,
        id: SessionId,
        version: u64,
        saved: &SavedHttpSession,
    ) -> Result<Written, StoreError> {
        let (node, address) = (self.id.clone(), self.address.clone());
        self.put_record(id, version, Record { node, address, session: saved.clone() }).await
    }

    async fn put_record(
        &self,
        id: SessionId,
        version: u64,
        record: Record,
    ) -> Result<Written, StoreError> {
        let lifetime = Some(self.options.session_lifetime);
        let change = Change::Put { value: record.to_bytes()?, lifetime };
        self.batches.write(Write { key: Record::key(id), expected: Some(version), change }).await
    }

    /// Removes a session that its client has ended.
    pub(crate) async fn remove(&self, id: SessionId) -> Result<(), StoreError> {
        let Some(local) = self.sessions.known(id) else { return Ok(()) };
        let mut owned = local.lock().await;
        if owned.is_none() {
            return Ok(());
        }
        // Whichever version it has, the session has ended.
        let write = Write { key: Record::key(id), expected: None, change: Change::Remove };
        self.batches.write(write).await?;
        *owned = None;
        drop(owned);
        self.sessions.forget_unless_owned(id, local);
        Ok(())
    }

    async fn remove_record(&self, id: SessionId, version: u64) -> Result<(), StoreError> {
        let change = Change::Remove;
        let write = Write { key: Record::key(id), expected: Some(version), change };
        // After a conflict another node has it.
        self.batches.write(write).await.map(drop)
    }

    /// Forgets the sessions that have ended by themselves, and renews the records of those that the store would remove: a
    /// session may wait on its event stream for longer.
    pub(crate) async fn sweep(&self) {
        for id in self.sessions.ids() {
            let Some(local) = self.sessions.known(id) else { continue };
            let stored_at = local.lock().await.as_ref().map(|owned| owned.stored_at);
            drop(local);
            let is_old = stored_at.is_some_and(|at| self.must_renew(at));
            if (is_old || !self.endpoint.has_session(id))
                && let Err(error) = self.store_session(id).await
            {
                (self.options.on_error)(&error);
            }
        }
    }

    pub(crate) fn has_left(&self) -> bool {
        self.has_left.load(Ordering::SeqCst)
    }

    /// Stores all sessions without a node.
    pub(crate) async fn leave(&self, grace: Duration) -> Result<(), StoreError> {
        self.endpoint.shut_down(grace);
        let end = Instant::now() + grace;
        while 0 < self.endpoint.open_requests() && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(10).min(grace)).await;
        }
        for saved in self.endpoint.suspend_sessions() {
            let Some(id) = saved.id() else { continue };
            let Some(local) = self.sessions.known(id) else { continue };
            let Some(session) = local.lock().await.take() else { continue };
            let record = Record { node: String::new(), address: String::new(), session: saved };
            // After a conflict another node has it.
            self.put_record(id, session.version, record).await?;
        }
        self.show_no_life().await
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here => formatter.write_str("Here"),
            Self::There(node, _) => formatter.debug_tuple("There").field(node).finish(),
        }
    }
}
