//! The sessions of an endpoint, compared with a list that is searched from one end to the other.

use std::time::Duration;

use mcp_sansio::http::{HttpServerConfig, RequestSource, SessionId, Sessions};
use mcp_sansio::testing::Choices;
use mcp_sansio::{Instant, Principal};

/// A session of the model.
struct Expected {
    id: SessionId,
    source: RequestSource,
    number: usize,
    is_ready: bool,
    /// The time of the opening, or of the last use once the session is ready.
    since: Instant,
}

/// How the streams of a session use it: at present, or for the last time at this time.
#[derive(Clone, Copy)]
enum Use {
    Now,
    Last(Instant),
}

struct Run {
    config: HttpServerConfig,
    sessions: Sessions<usize>,
    /// In the order in which they were opened.
    expected: Vec<Expected>,
    /// The use of each session that was ever opened, by its number.
    uses: Vec<Use>,
    now: Instant,
}

/// Lets several clients open, use and end sessions, and compares each result with the model.
///
/// # Panics
///
/// Panics if a result differs: for example if a client reaches or ends a session of another principal, or another
/// session than the expected one is displaced or expires.
pub fn check_sessions(choices: &mut Choices, steps: usize) {
    let mut run = Run::new(choices);
    for _ in 0..steps {
        if choices.is_exhausted() {
            break;
        }
        run.step(choices);
        run.compare();
    }
}

impl Run {
    fn new(choices: &mut Choices) -> Self {
        let mut config = HttpServerConfig::default();
        config.most_sessions = 1 + choices.below(6) as usize;
        config.sessions_of_client = 1 + choices.below(4) as usize;
        config.displaced_after = Duration::from_millis(1 + choices.below(300));
        config.ready_within = Duration::from_millis(choices.below(500));
        config.session_idle =
            (!choices.one_in(4)).then(|| Duration::from_millis(1 + choices.below(900)));
        Self {
            sessions: Sessions::new(&config),
            config,
            expected: Vec::new(),
            uses: Vec::new(),
            now: Instant::from_millis(1_000),
        }
    }

    fn step(&mut self, choices: &mut Choices) {
        let source = source(choices);
        match choices.below(16) {
            0..=3 => self.open(id(choices), source),
            4 => self.restore(id(choices), source),
            5..=7 => self.get(id(choices), source.principal),
            8 => self.remove(id(choices), source.principal),
            9..=10 => {
                let number = choices.below(self.uses.len() as u64 + 1) as usize;
                let is_used = choices.one_in(2);
                if let Some(known) = self.uses.get_mut(number) {
                    *known = if is_used { Use::Now } else { Use::Last(self.now) };
                }
            }
            11..=12 => self.expire(),
            _ => self.now = self.now + Duration::from_millis(choices.below(400)),
        }
    }

    fn open(&mut self, id: SessionId, source: RequestSource) {
        let number = self.begin();
        let displaced = self.displaced_by(source);
        let (uses, now) = (&self.uses, self.now);
        let used_until = |number: &usize| until(uses, *number, now);
        let has_room = self.sessions.has_room(source, now, used_until);
        assert_eq!(has_room, displaced.is_ok(), "room of {source:?}");
        let inserted = self.sessions.insert(id, source, number, now, used_until);
        let expected = match self.position(id) {
            Some(at) => Ok(Some(self.expected.remove(at).number)),
            None => match displaced {
                Ok(at) => Ok(at.map(|at| self.expected.remove(at).number)),
                Err(()) => Err(number),
            },
        };
        assert_eq!(inserted, expected, "displaced by {source:?}");
        if expected.is_ok() {
            self.expected.push(Expected { id, source, number, is_ready: false, since: now });
        }
    }

    fn restore(&mut self, id: SessionId, source: RequestSource) {
        let number = self.begin();
        let is_full = self.of_client(source).is_some_and(|of| self.config.sessions_of_client <= of)
            || self.config.most_sessions <= self.expected.len();
        let restored = self.sessions.restore(id, source, number, self.now);
        assert_eq!(restored.is_ok(), self.position(id).is_none() && !is_full, "{restored:?}");
        if restored.is_ok() {
            let since = self.now;
            self.expected.push(Expected { id, source, number, is_ready: true, since });
        }
    }

    fn get(&mut self, id: SessionId, principal: Principal) {
        let found = self.sessions.get(id, principal, self.now).copied();
        let now = self.now;
        let own = self.expected.iter_mut().find(|one| one.is(id, principal));
        let expected = own.map(|one| {
            (one.is_ready, one.since) = (true, now);
            one.number
        });
        assert_eq!(found, expected, "{principal:?} names a session");
    }

    fn remove(&mut self, id: SessionId, principal: Principal) {
        let removed = self.sessions.remove(id, principal);
        let own = self.expected.iter().position(|one| one.is(id, principal));
        let expected = own.map(|at| self.expected.remove(at).number);
        assert_eq!(removed, expected, "{principal:?} ends a session");
    }

    fn expire(&mut self) {
        let (uses, now) = (&self.uses, self.now);
        let expired = self.sessions.expire(now, |number| until(uses, *number, now));
        let late = self.config.ready_within.min(self.config.session_idle.unwrap_or(Duration::MAX));
        let opening = self.expected.iter().position(|one| !one.is_ready);
        let opening = opening.filter(|at| self.expected[*at].since + late <= now);
        let idle = || self.config.session_idle.and_then(|idle| self.idle_for(idle));
        let expected = opening.or_else(idle).map(|at| self.expected.remove(at).number);
        assert_eq!(expired, expected, "expired at {now:?}");
        let next = self.sessions.poll_timeout();
        assert!(expired.is_some() || next.is_none_or(|next| now < next), "{next:?} at {now:?}");
        // A session that was used in the meantime is looked at once too often.
        let due = self.next_expiry();
        assert!(
            due.is_none_or(|due| next.is_some_and(|next| next <= due)),
            "{next:?}, not {due:?}"
        );
    }

    /// When the next session expires if nothing else happens. A session in use does not expire.
    fn next_expiry(&self) -> Option<Instant> {
        let late = self.config.ready_within.min(self.config.session_idle.unwrap_or(Duration::MAX));
        let expiry = |one: &Expected| match self.uses.get(one.number)? {
            _ if !one.is_ready => Some(one.since + late),
            Use::Now => None,
            Use::Last(at) => Some(*at.max(&one.since) + self.config.session_idle?),
        };
        self.expected.iter().filter_map(expiry).min()
    }

    /// Registers a session that is used until now.
    fn begin(&mut self) -> usize {
        self.uses.push(Use::Last(self.now));
        self.uses.len() - 1
    }

    fn position(&self, id: SessionId) -> Option<usize> {
        self.expected.iter().position(|one| one.id == id)
    }

    /// The number of sessions of a distinguishable client.
    fn of_client(&self, source: RequestSource) -> Option<usize> {
        let client = source.client()?;
        Some(self.expected.iter().filter(|one| one.source.client() == Some(client)).count())
    }

    /// The session that has to make room for a new one of this client, if any; an error if there is no room.
    fn displaced_by(&self, source: RequestSource) -> Result<Option<usize>, ()> {
        let opening = |is_it: &dyn Fn(&Expected) -> bool| {
            self.expected.iter().position(|one| !one.is_ready && is_it(one))
        };
        if self.of_client(source).is_some_and(|of| self.config.sessions_of_client <= of) {
            return opening(&|one| one.source.client() == source.client()).map(Some).ok_or(());
        }
        if self.expected.len() < self.config.most_sessions {
            return Ok(None);
        }
        let idle = || self.idle_for(self.config.displaced_after);
        opening(&|_| true).or_else(idle).map(Some).ok_or(())
    }

    /// The ready session that has been idle longest, if for that time.
    fn idle_for(&self, least: Duration) -> Option<usize> {
        let last = |at: &usize| {
            let one = &self.expected[*at];
            until(&self.uses, one.number, self.now).map_or(one.since, |until| until.max(one.since))
        };
        let ready = (0..self.expected.len()).filter(|at| self.expected[*at].is_ready);
        let idle = ready.filter(|at| last(at) != self.now && last(at) + least <= self.now);
        idle.min_by_key(|at| (last(at), self.expected[*at].id))
    }

    /// Compares the sets, and the senders.
    fn compare(&self) {
        let mut expected: Vec<_> = self.expected.iter().map(|one| (one.id, one.number)).collect();
        expected.sort_unstable();
        let sessions: Vec<_> = self.sessions.iter().map(|(id, number)| (id, *number)).collect();
        assert_eq!(sessions, expected);
        assert_eq!(
            (self.sessions.len(), self.sessions.is_empty()),
            (expected.len(), expected.is_empty())
        );
        for one in &self.expected {
            let source = self.sessions.source(one.id).expect("it is there");
            assert_eq!(source.principal, one.source.principal);
            assert_eq!(source.client(), one.source.client());
        }
    }
}

impl Expected {
    fn is(&self, id: SessionId, principal: Principal) -> bool {
        self.id == id && self.source.principal == principal
    }
}

/// When the streams of a session last used it: now, while they do.
fn until(uses: &[Use], number: usize, now: Instant) -> Option<Instant> {
    match uses.get(number)? {
        Use::Now => Some(now),
        Use::Last(at) => Some(*at),
    }
}

/// One of a few ids, so that ids repeat and clients name sessions of others.
fn id(choices: &mut Choices) -> SessionId {
    SessionId::from_random([choices.below(8) as u8; 16])
}

/// Two principals, two networks, and a client that cannot be distinguished from others.
fn source(choices: &mut Choices) -> RequestSource {
    match choices.below(5) {
        0 => RequestSource::default(),
        one @ 1..=2 => RequestSource::from(Principal::new(one)),
        other => RequestSource::default().address([192, 0, 2, other as u8]),
    }
}
