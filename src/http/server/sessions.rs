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
/// [`HttpServerConfig::ready_within`] comes out of `expire`, whatever it is doing.
///
/// If there is no room for another session, one is displaced. That is the session that has waited longest to become
/// ready, or if all are ready, the one that has been idle longest, for at least [`HttpServerConfig::displaced_after`].
/// A session is idle while it has no request and no open response. A client that has as many sessions as one client may
/// have displaces its own sessions that are not ready, and no others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sessions<T> {
    sessions: BTreeMap<SessionId, Entry<T>>,
    /// Those that are ready, in the order in which they were used last as far as that is known.
    used: BTreeSet<(Instant, SessionId)>,
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
    displaced_after: Duration,
    /// How long one lasts that is not ready.
    ready_within: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Entry<T> {
    principal: Principal,
    /// What it counts as, for bounds per client.
    client: Option<Requestor>,
    /// Its place among those that are not ready.
    opening: Option<u64>,
    /// When it was used last as far as that is known, or opened if it is not ready.
    since: Instant,
    value: T,
}

/// There is no room for another session.
struct Full;

impl<T> Sessions<T> {
    /// None yet, within the bounds that the configuration sets.
    pub const fn new(config: &HttpServerConfig) -> Self {
        Self {
            sessions: BTreeMap::new(),
            used: BTreeSet::new(),
            opening: BTreeMap::new(),
            opening_of: BTreeSet::new(),
            of_client: BTreeMap::new(),
            next_serial: 0,
            most: config.most_sessions,
            most_of_client: config.sessions_of_client,
            idle: config.session_idle,
            displaced_after: config.displaced_after,
            ready_within: match config.session_idle {
                Some(idle) if idle.as_nanos() < config.ready_within.as_nanos() => idle,
                _ => config.ready_within,
            },
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
    /// with 503. When a session was used last is told by [`Streams::used_until`](super::Streams::used_until).
    pub fn has_room(
        &mut self,
        source: RequestSource,
        now: Instant,
        used_until: impl Fn(&T) -> Option<Instant>,
    ) -> bool {
        self.displaced_by(source, now, used_until).is_ok()
    }

    /// The session that makes room for another one of this client, if one has to.
    fn displaced_by(
        &mut self,
        source: RequestSource,
        now: Instant,
        used_until: impl Fn(&T) -> Option<Instant>,
    ) -> Result<Option<SessionId>, Full> {
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
        let displaced = oldest.or_else(|| self.idle_for(self.displaced_after, now, used_until));
        displaced.map(Some).ok_or(Full)
    }

    /// The session that is ready and has been idle longest, if that is at least so long.
    ///
    /// One that turns out to have been used later, or to be in use, is not looked at again before so long has passed: so
    /// many that are in use do not make each question take long.
    fn idle_for(
        &mut self,
        least: Duration,
        now: Instant,
        used_until: impl Fn(&T) -> Option<Instant>,
    ) -> Option<SessionId> {
        while let Some((since, id)) = self.used.first().copied()
            && since + least <= now
        {
            let entry = self.sessions.get_mut(&id)?;
            let until = used_until(&entry.value).map_or(since, |until| until.max(since));
            let is_idle = until != now && until + least <= now;
            if is_idle && until == since {
                return Some(id);
            }
            entry.use_at(&mut self.used, id, until);
            // Without any time at all a session that is in use would be looked at for ever.
            if !is_idle && least.is_zero() {
                return None;
            }
        }
        None
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
        used_until: impl Fn(&T) -> Option<Instant>,
    ) -> Result<Option<T>, T> {
        let source = source.into();
        let old = match self.take(id) {
            Some(old) => Some(old),
            None => match self.displaced_by(source, now, used_until) {
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
        let principal = source.principal;
        let entry = Entry { principal, client, opening: Some(serial), since: now, value };
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
        entry.use_at(&mut self.used, id, now);
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
        let Entry { client, opening, since, value, .. } = self.sessions.remove(&id)?;
        self.used.remove(&(since, id));
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
        if let Some(id) = self.first_opening().filter(|(until, _)| *until <= now).map(|(_, id)| id)
        {
            return self.take(id);
        }
        let idle = self.idle_for(self.idle?, now, used_until)?;
        self.take(idle)
    }

    /// When to call [`expire`](Self::expire) next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let used = self.idle.zip(self.used.first()).map(|(idle, (since, _))| *since + idle);
        let opening = self.first_opening().map(|(until, _)| until);
        used.into_iter().chain(opening).min()
    }

    /// Until when the oldest session may become ready that is not.
    fn first_opening(&self) -> Option<(Instant, SessionId)> {
        let (_, id) = self.opening.first_key_value()?;
        Some((self.sessions.get(id)?.since + self.ready_within, *id))
    }
}

impl<T> Entry<T> {
    fn is_of(&self, principal: Principal) -> bool {
        self.principal == principal || mutant!("a_session_is_anybodys")
    }

    /// It is ready, and was used then.
    fn use_at(&mut self, used: &mut BTreeSet<(Instant, SessionId)>, id: SessionId, since: Instant) {
        used.remove(&(self.since, id));
        used.insert((since, id));
        self.since = since;
    }
}
