//! Sessions that no request needs at this time: their records are renewed, and handed over when the node leaves.

use std::sync::{Arc, Weak};
use std::time::Duration;

use mcp_sansio::http::SessionId;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use crate::local_sessions::{LocalSession, Locked, State};
use crate::node::Inner;
use crate::record::Record;
use crate::store::{StoreError, Written};
use crate::storing::LONGEST_LIFETIME;

/// How many sessions are written at once.
const AT_ONCE: usize = 64;

/// After how many signs of life the node looks for sessions that have ended by themselves, or were stored long ago.
const BEATS: u32 = 60;

/// How often a node that leaves looks for sessions without an open request.
const PAUSE: Duration = Duration::from_millis(20);

/// How long modern requests have at least when the sessions of a node that leaves are handed over: subscriptions end
/// with a message.
const LAST_MESSAGES: Duration = Duration::from_secs(1);

/// How long a node waits for its last writes.
const LAST_WRITES: Duration = Duration::from_secs(30);

/// The longest time that a node waits for open requests when it leaves.
const LONGEST_GRACE: Duration = Duration::from_secs(24 * 3600);

impl Inner {
    /// Renews the records of sessions until the node is dropped.
    pub(crate) async fn sweep_periodically(node: Weak<Self>) {
        loop {
            let Some(inner) = node.upgrade() else { return };
            let options = &inner.options;
            let pause = options.beat.saturating_mul(BEATS).min(options.session_lifetime / 8);
            let sweep_now = Arc::clone(&inner.sweep_now);
            // The node may be dropped meanwhile.
            drop(inner);
            _ = tokio::time::timeout(pause.min(LONGEST_LIFETIME), sweep_now.notified()).await;
            let Some(inner) = node.upgrade() else { return };
            inner.sweep().await;
        }
    }

    /// Removes the records of sessions that have ended by themselves, and renews those that the store would remove: a session
    /// may wait on its event stream for longer than their lifetime.
    async fn sweep(self: &Arc<Self>) {
        let mut tasks = JoinSet::new();
        for id in self.sessions.ids() {
            if AT_ONCE <= tasks.len() {
                tasks.join_next().await;
            }
            let Some(session) = self.sessions.known(id) else { continue };
            let inner = Arc::clone(self);
            tasks.spawn(async move {
                // A request may look for a session that another node serves.
                let is_elsewhere = matches!(*session.lock().await, State::Elsewhere);
                if !is_elsewhere && let Err(error) = inner.store_session(&session, None).await {
                    (inner.options.on_error)(&error);
                }
            });
        }
        while tasks.join_next().await.is_some() {}
    }

    /// Hands all sessions and tasks over: each session as soon as it has no open request, and the rest after `grace`. Gives signs of life
    /// until then, so that no other node takes one earlier.
    pub(crate) async fn leave(self: Arc<Self>, grace: Duration) -> Result<(), StoreError> {
        let end = Instant::now() + grace.min(LONGEST_GRACE);
        let mut result = Ok(());
        while Instant::now() < end {
            let (busy, handed_over) = self.hand_over_until(end, false).await;
            result = result.and(handed_over);
            if busy == 0 && self.busy_tasks() == 0 {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        // The work that other nodes continue ends here, and with it the requests that have begun it.
        let rest = end.saturating_duration_since(Instant::now()).max(LAST_MESSAGES);
        result = result.and(self.hand_over_tasks(rest).await);
        // No session is opened any more.
        let rest = end.saturating_duration_since(Instant::now()).max(LAST_MESSAGES);
        self.endpoint.shut_down(rest);
        let end = Instant::now() + rest;
        while 0 < self.endpoint.open_requests() && Instant::now() < end {
            let (_, handed_over) = self.hand_over_until(end, false).await;
            result = result.and(handed_over);
            tokio::time::sleep(PAUSE).await;
        }
        let (_, handed_over) = self.hand_over_until(Instant::now() + LAST_WRITES, true).await;
        result = result.and(handed_over);
        result = result.and(self.hand_over_tasks(LAST_WRITES).await);
        self.set_left();
        result.and(self.remove_heartbeat().await)
    }

    /// Hands over as [`hand_over`](Self::hand_over) does, and waits for that until `end`. It goes on by itself.
    async fn hand_over_until(
        self: &Arc<Self>,
        end: Instant,
        all: bool,
    ) -> (usize, Result<(), StoreError>) {
        let inner = Arc::clone(self);
        let handing_over = tokio::spawn(async move { inner.hand_over(all).await });
        match tokio::time::timeout_at(end, handing_over).await {
            Ok(Ok(done)) => done,
            Ok(Err(error)) => (1, Err(StoreError::new(error))),
            Err(_) if all => {
                (1, Err(StoreError::new("it has taken too long to hand the sessions over")))
            }
            // A later one hands over the rest.
            Err(_) => (1, Ok(())),
        }
    }

    /// Stores sessions without a node, and stops serving them: those without an open request, or all. Returns the number of
    /// the others, and the first error. A session that was not stored is taken over when this node gives no sign of life.
    async fn hand_over(self: &Arc<Self>, all: bool) -> (usize, Result<(), StoreError>) {
        let mut tasks = JoinSet::new();
        let (mut busy, mut result) = (0, Ok(()));
        let mut note = |done: Result<Result<bool, StoreError>, JoinError>| match done
            .map_err(StoreError::new)
            .and_then(|done| done)
        {
            Ok(is_handed_over) => busy += usize::from(!is_handed_over),
            Err(error) if result.is_ok() => result = Err(error),
            Err(_) => {}
        };
        for id in self.sessions.ids() {
            if AT_ONCE <= tasks.len()
                && let Some(done) = tasks.join_next().await
            {
                note(done);
            }
            let Some(session) = self.sessions.known(id) else { continue };
            let inner = Arc::clone(self);
            tasks.spawn(async move { inner.hand_over_one(&session, all).await });
        }
        while let Some(done) = tasks.join_next().await {
            note(done);
        }
        (busy, result)
    }

    /// Returns whether the session is no longer served here.
    async fn hand_over_one(&self, session: &LocalSession, all: bool) -> Result<bool, StoreError> {
        let mut locked = session.lock().await;
        if matches!(*locked, State::Ended(_)) {
            return self.remove_record(&mut locked).await.map(|_| true);
        }
        if !matches!(*locked, State::Owned(_)) {
            return Ok(true);
        }
        // A request that waits for the lock counts as well.
        if !all && self.is_busy(locked.id(), 0) {
            return Ok(false);
        }
        self.hand_over_locked(&mut locked).await.map(|()| true)
    }

    /// Whether a session has an open request, or more requests in progress than the caller's.
    pub(crate) fn is_busy(&self, id: SessionId, own_requests: usize) -> bool {
        own_requests < self.sessions.requests(id) || self.endpoint.has_open_requests(id)
    }

    /// Stores a session that this node serves without a node, and stops serving it.
    pub(crate) async fn hand_over_locked(&self, locked: &mut Locked) -> Result<(), StoreError> {
        let id = locked.id();
        let State::Owned(owned) = &**locked else { return Ok(()) };
        let mut version = owned.version;
        let Some(saved) = self.endpoint.suspend_session(id) else {
            // It has ended.
            **locked = State::Ended(version);
            return self.remove_record(locked).await.map(drop);
        };
        **locked = State::Elsewhere;
        let record = Record::without_node(saved);
        while self.put_record(id, version, &record).await? == Written::Conflict {
            match self.read(id).await? {
                Some((found, record)) if record.node == self.id => version = found,
                // Another node has it.
                _ => break,
            }
        }
        Ok(())
    }
}
