//! The sessions of an endpoint: who has which, and for how long.

use alloc::collections::{BTreeMap, BTreeSet};
use core::time::Duration;

use super::config::HttpServerConfig;
use super::session_id::SessionId;
use crate::handle::Principal;
use crate::time::Instant;

/// The sessions of an endpoint, each with whatever serves it.
///
/// A session belongs to the [`Principal`] that opened it: for all others it does not exist. One that is not
/// used for [`HttpServerConfig::session_idle`] comes out of [`expire`](Self::expire).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sessions<T> {
    sessions: BTreeMap<SessionId, Entry<T>>,
    deadlines: BTreeSet<(Instant, SessionId)>,
    most: usize,
    idle: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Entry<T> {
    principal: Principal,
    deadline: Option<Instant>,
    value: T,
}

impl<T> Sessions<T> {
    /// None yet, within the bounds that the configuration sets.
    pub const fn new(config: &HttpServerConfig) -> Self {
        Self {
            sessions: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            most: config.most_sessions,
            idle: config.session_idle,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.sessions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// Whether there is no room for another one: it is to be refused with 503.
    pub fn is_full(&self) -> bool {
        self.most <= self.sessions.len()
    }

    /// Adds a session that has just been opened. One with the same id, which no generator of random numbers
    /// that deserves the name gives out twice, is replaced and returned.
    pub fn insert(
        &mut self,
        id: SessionId,
        principal: Principal,
        value: T,
        now: Instant,
    ) -> Option<T> {
        let old = self.take(id);
        let deadline = self.idle.map(|idle| now + idle);
        self.deadlines.extend(deadline.map(|deadline| (deadline, id)));
        self.sessions.insert(id, Entry { principal, deadline, value });
        old
    }

    /// The session with this id, if it is this principal's, whose time begins anew.
    pub fn get(&mut self, id: SessionId, principal: Principal, now: Instant) -> Option<&mut T> {
        let entry = self.sessions.get_mut(&id).filter(|entry| entry.principal == principal)?;
        renew(entry, &mut self.deadlines, id, self.idle.map(|idle| now + idle));
        Some(&mut entry.value)
    }

    /// Takes a session out, if it is this principal's.
    pub fn remove(&mut self, id: SessionId, principal: Principal) -> Option<T> {
        self.sessions.get(&id).filter(|entry| entry.principal == principal)?;
        self.take(id)
    }

    /// Takes a session out, whosever it is, if this is how it is served.
    pub(super) fn remove_if(&mut self, id: SessionId, is_it: impl FnOnce(&T) -> bool) {
        if self.sessions.get(&id).is_some_and(|entry| is_it(&entry.value)) {
            self.take(id);
        }
    }

    fn take(&mut self, id: SessionId) -> Option<T> {
        let entry = self.sessions.remove(&id)?;
        if let Some(deadline) = entry.deadline {
            self.deadlines.remove(&(deadline, id));
        }
        Some(entry.value)
    }

    /// All of them, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (SessionId, &T)> {
        self.sessions.iter().map(|(id, entry)| (*id, &entry.value))
    }

    /// The same, to change them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (SessionId, &mut T)> {
        self.sessions.iter_mut().map(|(id, entry)| (*id, &mut entry.value))
    }

    /// Takes out the next session whose time has run out. That begins when it was used last, which is told by
    /// [`Streams::used_until`](super::Streams::used_until).
    pub fn expire(
        &mut self,
        now: Instant,
        used_until: impl Fn(&T) -> Option<Instant>,
    ) -> Option<T> {
        while let Some((deadline, id)) = self.deadlines.first().copied()
            && deadline <= now
        {
            let entry = self.sessions.get_mut(&id)?;
            let used = used_until(&entry.value);
            let until = used.zip(self.idle).map(|(used, idle)| used + idle);
            if used != Some(now) && until.is_none_or(|until| until <= now) {
                return self.take(id);
            }
            renew(entry, &mut self.deadlines, id, until);
            // Without any time at all a session that is in use would be looked at for ever.
            if self.idle == Some(Duration::ZERO) {
                return None;
            }
        }
        None
    }

    /// When to call [`expire`](Self::expire) next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }
}

fn renew<T>(
    entry: &mut Entry<T>,
    deadlines: &mut BTreeSet<(Instant, SessionId)>,
    id: SessionId,
    deadline: Option<Instant>,
) {
    if entry.deadline == deadline {
        return;
    }
    if let Some(old) = entry.deadline {
        deadlines.remove(&(old, id));
    }
    entry.deadline = deadline;
    deadlines.extend(deadline.map(|deadline| (deadline, id)));
}
