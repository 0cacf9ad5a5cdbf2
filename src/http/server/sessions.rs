//! The sessions of an endpoint: who has which, and for how long.

use alloc::collections::{BTreeMap, BTreeSet};
use core::time::Duration;

use super::config::HttpServerConfig;
use super::session_id::SessionId;
use super::source::RequestSource;
use crate::handle::{Principal, Requestor};
use crate::time::Instant;

/// The sessions of an endpoint, each with whatever serves it.
///
/// A session belongs to the [`Principal`] that opened it: for all others it does not exist. One that is not
/// used for [`HttpServerConfig::session_idle`] comes out of [`expire`](Self::expire).
///
/// A session is *ready* as soon as anything has named it after `initialize`. One that is not ready by
/// [`HttpServerConfig::ready_within`] comes out of `expire`, whatever it is doing. If there is no room for another one,
/// the session that has waited longest to become ready is displaced: so clients that only open sessions lock nobody out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sessions<T> {
    sessions: BTreeMap<SessionId, Entry<T>>,
    deadlines: BTreeSet<(Instant, SessionId)>,
    /// Those that are not ready, in the order in which they were opened.
    opening: BTreeMap<u64, SessionId>,
    /// The same of each client that can be told from others.
    opening_of: BTreeSet<(Requestor, u64)>,
    /// How many sessions each such client has.
    of_client: BTreeMap<Requestor, usize>,
    next_serial: u64,
    most: usize,
    most_of_client: usize,
    idle: Option<Duration>,
    ready_within: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Entry<T> {
    principal: Principal,
    /// What it counts as, for bounds per client.
    client: Option<Requestor>,
    /// Its place among those that are not ready.
    opening: Option<u64>,
    deadline: Option<Instant>,
    value: T,
}

/// There is no room for another session.
struct Full;

impl<T> Sessions<T> {
    /// None yet, within the bounds that the configuration sets.
    pub const fn new(config: &HttpServerConfig) -> Self {
        Self {
            sessions: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            opening: BTreeMap::new(),
            opening_of: BTreeSet::new(),
            of_client: BTreeMap::new(),
            next_serial: 0,
            most: config.most_sessions,
            most_of_client: config.sessions_of_client,
            idle: config.session_idle,
            ready_within: config.ready_within,
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

    /// Whether there is room for another session of this client, or a session to displace. If not, it is to be refused
    /// with 503.
    pub fn has_room(&self, source: RequestSource) -> bool {
        self.displaced_by(source).is_ok()
    }

    /// The session that makes room for another one of this client, if one has to.
    fn displaced_by(&self, source: RequestSource) -> Result<Option<SessionId>, Full> {
        let client = source.client();
        if let Some(client) = client
            && self.of_client.get(&client).is_some_and(|count| self.most_of_client <= *count)
        {
            let own = self.opening_of.range((client, 0)..=(client, u64::MAX)).next();
            let oldest = own.and_then(|(_, serial)| self.opening.get(serial));
            return oldest.copied().map(Some).ok_or(Full);
        }
        if self.sessions.len() < self.most {
            return Ok(None);
        }
        let oldest = self.opening.first_key_value().map(|(_, id)| *id);
        oldest.map(Some).ok_or(Full)
    }

    /// Adds a session that has just been opened. The session that had to make room for it is returned: end it. That is
    /// also one with the same id, which no generator of random numbers that deserves the name gives out twice.
    ///
    /// # Errors
    ///
    /// There is [no room](Self::has_room); the session comes back.
    pub fn insert(
        &mut self,
        id: SessionId,
        source: impl Into<RequestSource>,
        value: T,
        now: Instant,
    ) -> Result<Option<T>, T> {
        let source = source.into();
        let old = match self.take(id) {
            Some(old) => Some(old),
            None => match self.displaced_by(source) {
                Ok(displaced) => displaced.and_then(|displaced| self.take(displaced)),
                Err(Full) => return Err(value),
            },
        };
        let client = source.client();
        let serial = self.next_serial;
        self.next_serial += 1;
        self.opening.insert(serial, id);
        if let Some(client) = client {
            self.opening_of.insert((client, serial));
            *self.of_client.entry(client).or_default() += 1;
        }
        let wait = self.idle.map_or(self.ready_within, |idle| idle.min(self.ready_within));
        let deadline = Some(now + wait);
        self.deadlines.extend(deadline.map(|deadline| (deadline, id)));
        let principal = source.principal;
        let entry = Entry { principal, client, opening: Some(serial), deadline, value };
        self.sessions.insert(id, entry);
        Ok(old)
    }

    /// The session with this id, if it is this principal's. It is ready now, and its time begins anew.
    pub fn get(&mut self, id: SessionId, principal: Principal, now: Instant) -> Option<&mut T> {
        let entry = self.sessions.get_mut(&id).filter(|entry| entry.is_of(principal))?;
        if let Some(serial) = entry.opening.take() {
            self.opening.remove(&serial);
            if let Some(client) = entry.client {
                self.opening_of.remove(&(client, serial));
            }
        }
        renew(entry, &mut self.deadlines, id, self.idle.map(|idle| now + idle));
        Some(&mut entry.value)
    }

    /// Takes a session out, if it is this principal's.
    pub fn remove(&mut self, id: SessionId, principal: Principal) -> Option<T> {
        self.sessions.get(&id).filter(|entry| entry.is_of(principal))?;
        self.take(id)
    }

    /// Takes a session out, whosever it is, if this is how it is served.
    pub(super) fn remove_if(&mut self, id: SessionId, is_it: impl FnOnce(&T) -> bool) {
        if self.sessions.get(&id).is_some_and(|entry| is_it(&entry.value)) {
            self.take(id);
        }
    }

    fn take(&mut self, id: SessionId) -> Option<T> {
        let Entry { client, opening, deadline, value, .. } = self.sessions.remove(&id)?;
        if let Some(deadline) = deadline {
            self.deadlines.remove(&(deadline, id));
        }
        if let Some(serial) = opening {
            self.opening.remove(&serial);
        }
        if let Some(client) = client {
            if let Some(serial) = opening {
                self.opening_of.remove(&(client, serial));
            }
            if let Some(count) = self.of_client.get_mut(&client) {
                *count -= 1;
                if *count == 0 {
                    self.of_client.remove(&client);
                }
            }
        }
        Some(value)
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
    /// [`Streams::used_until`](super::Streams::used_until). Of a session that is not ready it began when it was opened.
    pub fn expire(
        &mut self,
        now: Instant,
        used_until: impl Fn(&T) -> Option<Instant>,
    ) -> Option<T> {
        while let Some((deadline, id)) = self.deadlines.first().copied()
            && deadline <= now
        {
            let entry = self.sessions.get_mut(&id)?;
            if entry.opening.is_some() {
                return self.take(id);
            }
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

impl<T> Entry<T> {
    fn is_of(&self, principal: Principal) -> bool {
        self.principal == principal || mutant!("a_session_is_anybodys")
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
