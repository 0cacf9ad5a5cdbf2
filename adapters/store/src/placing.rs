//! Where a session is served, and how that changes.
//!
//! The record of a session in the store names its node. A node becomes that of a session by a write that expects the
//! version of the record that it has read, so one of several nodes succeeds. From then on every write of the earlier node is
//! a conflict: it stops serving the session. The events of a stream are sent only when they are stored, so a client
//! sees one order of events, also if a node is believed dead and is not.

use std::fmt;
use std::sync::Arc;

use mcp_sansio::error::RestoreSessionError;
use mcp_sansio::http::SessionId;
use tokio::time::Instant;

use crate::local_sessions::{LocalSession, Locked, Owned, State};
use crate::node::Inner;
use crate::record::Record;
use crate::store::{StoreError, Written};

/// How often a session is looked for, if other nodes change its record meanwhile.
const ATTEMPTS: usize = 8;

/// Where the requests of a session are served.
#[derive(PartialEq, Eq)]
pub(crate) enum Place {
    /// By this node, under this number of its ownership.
    Here(u64),
    /// The store has no such session, so the endpoint refuses the request.
    Nowhere,
    /// By the node with this id and address.
    There(String, String),
}

/// Whether this node may rely on an earlier look into the store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// A session that this node has served a moment ago is still served here. A node that the others believe dead serves
    /// its sessions no longer than they took to believe it.
    IfOld,
    Always,
}

/// The reason why it is unknown where a session is served, or why it cannot be served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotPlaced {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("a session cannot be taken over: {0}")]
    Restore(#[from] RestoreSessionError),
    /// The record is damaged, or another release has written it.
    #[error("a session cannot be taken over: {0}")]
    Unreadable(serde_json::Error),
    /// The next node that gets a request takes the session.
    #[error("this node is leaving")]
    Leaving,
    #[error("the session moves too often")]
    MovesTooOften,
}

impl Inner {
    /// Finds the node that serves a session. If there is none, it becomes this one. `gone` is a node that has ended.
    pub(crate) async fn place(
        self: &Arc<Self>,
        session: &LocalSession,
        look: Look,
        gone: Option<String>,
    ) -> Result<Place, NotPlaced> {
        let locked = session.lock().await;
        match &*locked {
            State::Owned(owned)
                if look == Look::IfOld
                    && owned.seen_at.elapsed() < self.options.silence
                    && !self.is_leaving() =>
            {
                Ok(Place::Here(owned.ownership))
            }
            State::Removed => Ok(Place::Nowhere),
            _ => self.place_by_store(locked, gone).await,
        }
    }

    /// Reads are done by the request, so that a client that has gone needs no store. The client may disconnect at any time,
    /// which must not interrupt a change of the owner, so a task does those.
    async fn place_by_store(
        self: &Arc<Self>,
        mut locked: Locked,
        gone: Option<String>,
    ) -> Result<Place, NotPlaced> {
        if self.is_leaving() && matches!(*locked, State::Owned(_)) && !self.is_busy(locked.id(), 1)
        {
            // The request is better served at the next node, than interrupted when this one has left.
            locked = self.hand_over_or_remove(locked).await?;
        }
        if matches!(*locked, State::Owned(_)) {
            if self.is_still_own(&mut locked).await?
                && let State::Owned(owned) = &*locked
            {
                return Ok(Place::Here(owned.ownership));
            }
            self.give_up(&mut locked);
        }
        if matches!(*locked, State::Ended(_)) {
            locked = self.hand_over_or_remove(locked).await?;
        }
        if matches!(*locked, State::Removed) {
            return Ok(Place::Nowhere);
        }
        self.find(locked, gone.as_deref()).await
    }

    /// Hands a session over that this node serves, or removes the record of one that has ended here.
    async fn hand_over_or_remove(
        self: &Arc<Self>,
        mut locked: Locked,
    ) -> Result<Locked, StoreError> {
        let inner = Arc::clone(self);
        let parting = async move {
            match &*locked {
                State::Owned(_) => inner.hand_over_locked(&mut locked).await?,
                _ => drop(inner.remove_record(&mut locked).await?),
            }
            Ok(locked)
        };
        tokio::spawn(parting).await.map_err(StoreError::new)?
    }

    /// Stops serving a session that another node serves, or has ended.
    pub(crate) fn give_up(&self, locked: &mut Locked) {
        **locked = State::Elsewhere;
        self.endpoint.suspend_session(locked.id());
    }

    /// Finds the node of a session that is not served here.
    async fn find(
        self: &Arc<Self>,
        mut locked: Locked,
        gone: Option<&str>,
    ) -> Result<Place, NotPlaced> {
        for _ in 0..ATTEMPTS {
            let Some((version, record)) = self.read(locked.id()).await? else {
                return Ok(Place::Nowhere);
            };
            // A process that has started again has the address of the earlier one.
            let is_own = record.node == self.id || record.address == self.address;
            let is_gone = record.node.is_empty() || gone == Some(&*record.node) || is_own;
            if !is_gone && self.is_alive(&record.node).await? {
                return Ok(Place::There(record.node, record.address));
            }
            let inner = Arc::clone(self);
            let taking = async move {
                let place = inner.take_over(&mut locked, version, record).await;
                (locked, place)
            };
            let (returned, place) = tokio::spawn(taking).await.map_err(StoreError::new)?;
            locked = returned;
            if let Some(place) = place? {
                return Ok(place);
            }
            // Another node was faster.
        }
        Err(NotPlaced::MovesTooOften)
    }

    /// Takes a session over that no node serves. `None` if another node has changed the record.
    async fn take_over(
        &self,
        locked: &mut Locked,
        version: u64,
        record: Record,
    ) -> Result<Option<Place>, NotPlaced> {
        if self.is_leaving() {
            if record.node == self.id {
                // An earlier write has failed: of the takeover, or when the session was handed over.
                self.put_record(locked.id(), version, &Record::without_node(record.session))
                    .await?;
            }
            return Err(NotPlaced::Leaving);
        }
        let saved = match record.saved() {
            Ok(saved) => saved,
            Err(error) => {
                // As for a session that cannot be restored.
                (self.options.on_error)(&NotPlaced::Unreadable(error));
                return Ok(Some(Place::Nowhere));
            }
        };
        match self.endpoint.restore_session(&saved) {
            Ok(()) => Ok(self.write_ownership(locked, version).await?.map(Place::Here)),
            // Another node may have room.
            Err(error @ (RestoreSessionError::Full | RestoreSessionError::Present)) => {
                Err(error.into())
            }
            Err(error) => {
                // Another release, or another configuration. The client opens another session.
                (self.options.on_error)(&NotPlaced::Restore(error));
                Ok(Some(Place::Nowhere))
            }
        }
    }

    /// Makes this node the one of a session that was just restored. `None` if another node has changed the record.
    async fn write_ownership(
        &self,
        locked: &mut Locked,
        version: u64,
    ) -> Result<Option<u64>, StoreError> {
        let id = locked.id();
        let began = Instant::now();
        let Some(saved) = self.save(id) else {
            self.give_up(locked);
            return Ok(None);
        };
        match self.put(id, version, &saved).await {
            Ok(Written::Done) => {}
            Ok(Written::Conflict) => {
                self.give_up(locked);
                return Ok(None);
            }
            Err(error) => {
                // If the write was done nevertheless, the next request finds it.
                self.give_up(locked);
                return Err(error);
            }
        }
        let ownership = self.next_ownership();
        let owned = Owned {
            ownership,
            version: version + 1,
            saved: Some(saved),
            stored_at: began,
            seen_at: began,
        };
        **locked = State::Owned(owned);
        Ok(Some(ownership))
    }

    /// Notes that this node serves a session that was just opened. Its record is not written yet.
    pub(crate) async fn begin_ownership(&self, session: &LocalSession) -> u64 {
        let (ownership, now) = (self.next_ownership(), Instant::now());
        let owned = Owned { ownership, version: 0, saved: None, stored_at: now, seen_at: now };
        *session.lock().await = State::Owned(owned);
        ownership
    }

    pub(crate) async fn read(&self, id: SessionId) -> Result<Option<(u64, Record)>, StoreError> {
        let Some(stored) = self.batches.store().read(&Record::key(id)).await? else {
            return Ok(None);
        };
        Ok(Some((stored.version, Record::parse(&stored.value)?)))
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here(_) => formatter.write_str("Here"),
            Self::Nowhere => formatter.write_str("Nowhere"),
            Self::There(node, _) => formatter.debug_tuple("There").field(node).finish(),
        }
    }
}
