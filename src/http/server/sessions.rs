//! [`Sessions`], the sessions of an endpoint: their owners and lifetimes.

use alloc::collections::{BTreeMap, BTreeSet};
use core::time::Duration;

use super::config::HttpServerConfig;
use super::session_id::SessionId;
use super::source::RequestSource;
use crate::connection::RestoreSessionError;
use crate::handle::{Principal, Requestor};
use crate::time::Instant;

/// The sessions of an endpoint, each with the value that serves it.
///
/// A session belongs to the [`Principal`] that opened it; for all others it does not exist. [`expire`](Self::expire)
/// removes a session that is unused for [`HttpServerConfig::session_idle`].
///
/// A session is *ready* as soon as a request after `initialize` names it. `expire` removes a session that is not
/// ready within [`HttpServerConfig::ready_within`], regardless of its activity.
///
/// At the limit, a new session displaces the session that has waited longest to become ready. If all are ready, it
/// displaces the one that has been idle longest, for at least [`HttpServerConfig::displaced_after`]. A session is
/// idle while it has no request and no open response. A client at its own limit displaces only its own sessions that
/// are not ready.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sessions<T> {
    sessions: BTreeMap<SessionId, Entry<T>>,
    /// The sessions that are ready, by the known time of their last use.
    used: BTreeSet<(Instant, SessionId)>,
    /// The sessions that are not ready, in the order in which they were opened.
    opening: BTreeMap<u64, SessionId>,
    /// The sessions that are not ready, by client, for clients that are distinguishable.
    opening_of: BTreeSet<(Requestor, u64)>,
    /// The number of sessions of each such client.
    of_client: BTreeMap<Requestor, usize>,
    next_serial: u64,
    most: usize,
    most_of_client: usize,
    idle: Option<Duration>,
    displaced_after: Duration,
    /// The lifetime of a session that is not ready.
    ready_within: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Entry<T> {
    principal: Principal,
    /// The client, for limits per client.
    client: Option<Requestor>,
    /// The key in `opening`, if the session is not ready.
    opening: Option<u64>,
    /// The known time of the last use, or of the opening if the session is not ready.
    since: Instant,
    value: T,
}

/// There is no room for another session.
struct Full;

impl<T> Sessions<T> {
    /// Creates an empty set with the limits of the configuration.
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

    /// Returns the number of sessions.
    pub fn len(&self) -> usize {
        self.sessions.len()
    }

    /// Whether there are no sessions.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// Whether there is room for another session of this client, or a session to displace. If not, refuse the request
    /// with 503. `used_until` returns the last use of a session:
    /// [`Streams::used_until`](super::Streams::used_until).
    pub fn has_room(
        &mut self,
        source: RequestSource,
        now: Instant,
        used_until: impl Fn(&T) -> Option<Instant>,
    ) -> bool {
        self.displaced_by(source, now, used_until).is_ok()
    }

    /// Returns the session that a new session of this client must displace, if any.
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

    /// Returns the ready session that has been idle longest, if for at least the time `least`.
    ///
    /// A session that was used later, or is in use, is not examined again before that time has passed. So many
    /// sessions in use do not make each call slow.
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
            // With a time of zero, a session in use would be examined without end.
            if !is_idle && least.is_zero() {
                return None;
            }
        }
        None
    }

    /// Adds a session that was just opened. Returns the displaced session: end it. A session with the same id is also
    /// displaced, but a good random generator repeats no id.
    ///
    /// # Errors
    ///
    /// Returns the value of the new session if there is [no room](Self::has_room).
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

    /// Checks whether a session of an earlier process can be [added](Self::restore).
    ///
    /// # Errors
    ///
    /// [`RestoreSessionError::Present`] or [`RestoreSessionError::Full`].
    pub fn check_restore(
        &self,
        id: SessionId,
        source: impl Into<RequestSource>,
    ) -> Result<(), RestoreSessionError> {
        if self.sessions.contains_key(&id) {
            return Err(RestoreSessionError::Present);
        }
        let client = source.into().client();
        let count = client.and_then(|client| self.of_client.get(&client)).copied();
        if self.most_of_client <= count.unwrap_or_default() || self.most <= self.sessions.len() {
            return Err(RestoreSessionError::Full);
        }
        Ok(())
    }

    /// Adds a session that an earlier process has opened. It is ready, and its idle time starts now. No session is
    /// displaced.
    ///
    /// # Errors
    ///
    /// As for [`check_restore`](Self::check_restore). Nothing has changed.
    pub fn restore(
        &mut self,
        id: SessionId,
        source: impl Into<RequestSource>,
        value: T,
        now: Instant,
    ) -> Result<(), RestoreSessionError> {
        let source = source.into();
        self.check_restore(id, source)?;
        let (principal, client) = (source.principal, source.client());
        if let Some(client) = client {
            *self.of_client.entry(client).or_default() += 1;
        }
        self.used.insert((now, id));
        let entry = Entry { principal, client, opening: None, since: now, value };
        self.sessions.insert(id, entry);
        Ok(())
    }

    /// Returns the session with this id, if it belongs to the principal. Makes it ready and restarts its idle time.
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

    /// Returns the session with this id, of any owner. It is not used by that.
    pub fn peek(&self, id: SessionId) -> Option<&T> {
        self.sessions.get(&id).map(|entry| &entry.value)
    }

    /// Removes a session, if it belongs to the principal.
    pub fn remove(&mut self, id: SessionId, principal: Principal) -> Option<T> {
        self.sessions.get(&id).filter(|entry| entry.is_of(principal))?;
        self.take(id)
    }

    /// Removes a session of any owner, if its value matches.
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

    /// Returns all sessions, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (SessionId, &T)> {
        self.sessions.iter().map(|(id, entry)| (*id, &entry.value))
    }

    /// Returns the client that opened a session. Its address is one of its network, and known only without a principal:
    /// that is enough for the limits per client.
    pub fn source(&self, id: SessionId) -> Option<RequestSource> {
        let Entry { principal, client, .. } = self.sessions.get(&id)?;
        let address = client.as_ref().and_then(RequestSource::address_of);
        Some(RequestSource { principal: *principal, address })
    }

    /// Returns all sessions mutably, in the order of their ids.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (SessionId, &mut T)> {
        self.sessions.iter_mut().map(|(id, entry)| (*id, &mut entry.value))
    }

    /// Removes the next session whose lifetime has ended. The lifetime of a ready session starts at its last use,
    /// which [`Streams::used_until`](super::Streams::used_until) returns; that of any other session starts when it is
    /// opened.
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

    /// Returns the time at which to call [`expire`](Self::expire) next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let used = self.idle.zip(self.used.first()).map(|(idle, (since, _))| *since + idle);
        let opening = self.first_opening().map(|(until, _)| until);
        used.into_iter().chain(opening).min()
    }

    /// Returns the oldest session that is not ready, with its deadline.
    fn first_opening(&self) -> Option<(Instant, SessionId)> {
        let (_, id) = self.opening.first_key_value()?;
        Some((self.sessions.get(id)?.since + self.ready_within, *id))
    }
}

impl<T> Entry<T> {
    fn is_of(&self, principal: Principal) -> bool {
        self.principal == principal
    }

    /// Records a use of the ready session at this time.
    fn use_at(&mut self, used: &mut BTreeSet<(Instant, SessionId)>, id: SessionId, since: Instant) {
        used.remove(&(self.since, id));
        used.insert((since, id));
        self.since = since;
    }
}
