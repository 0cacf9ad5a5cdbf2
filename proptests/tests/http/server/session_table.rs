//! The sessions of an endpoint, compared with a list that is searched from its beginning.

use std::net::IpAddr;
use std::time::Duration;

use mcp_sansio::error::RestoreSessionError;
use mcp_sansio::http::{HttpServerConfig, RequestSource, SessionId, Sessions};
use mcp_sansio::testing::Choices;
use mcp_sansio::{Instant, Principal};

/// A session of the model. Sessions that are not ready are in the order in which they were opened.
#[derive(Clone, Copy, Debug)]
struct Known {
    number: u8,
    source: RequestSource,
    is_ready: bool,
    since: Instant,
}

/// The model.
#[derive(Debug)]
struct Model {
    config: HttpServerConfig,
    known: Vec<Known>,
}

fn id(number: u8) -> SessionId {
    SessionId::from_random([number; 16])
}

impl Model {
    fn take(&mut self, number: u8) -> u8 {
        let at = self.known.iter().position(|known| known.number == number).unwrap();
        self.known.remove(at).number
    }

    /// The ready session that has been idle longest.
    fn idlest(&self) -> Option<Known> {
        let ready = self.known.iter().filter(|known| known.is_ready);
        ready.min_by_key(|known| (known.since, id(known.number))).copied()
    }

    fn is_full_for(&self, source: RequestSource) -> bool {
        let of_client = self.known.iter().filter(|known| known.source.client() == source.client());
        source.client().is_some() && self.config.sessions_of_client <= of_client.count()
    }

    /// The session that a new one displaces, or an error if there is no room.
    fn displaced(&self, source: RequestSource, now: Instant) -> Result<Option<u8>, ()> {
        let mut opening = self.known.iter().filter(|known| !known.is_ready);
        if self.is_full_for(source) {
            let own = opening.find(|known| known.source.client() == source.client());
            return own.map(|known| Some(known.number)).ok_or(());
        }
        if self.known.len() < self.config.most_sessions {
            return Ok(None);
        }
        let is_idle =
            |known: &Known| known.since != now && known.since + self.config.displaced_after <= now;
        let oldest = opening.next().copied().or_else(|| self.idlest().filter(is_idle));
        oldest.map(|known| Some(known.number)).ok_or(())
    }

    fn insert(
        &mut self,
        number: u8,
        source: RequestSource,
        now: Instant,
    ) -> Result<Option<u8>, u8> {
        let displaced = self.displaced(source, now).map_err(|()| number)?;
        let displaced = displaced.map(|displaced| self.take(displaced));
        self.known.push(Known { number, source, is_ready: false, since: now });
        Ok(displaced)
    }

    fn restore(&mut self, number: u8, source: RequestSource, now: Instant) -> bool {
        let is_full = self.is_full_for(source) || self.config.most_sessions <= self.known.len();
        if !is_full {
            self.known.push(Known { number, source, is_ready: true, since: now });
        }
        !is_full
    }

    fn get(&mut self, number: u8, principal: Principal, now: Instant) -> Option<u8> {
        let is_it =
            |known: &&mut Known| known.number == number && known.source.principal == principal;
        let known = self.known.iter_mut().find(is_it)?;
        (known.is_ready, known.since) = (true, now);
        Some(number)
    }

    /// The next session to expire, with its time.
    fn next(&self) -> [Option<(Instant, u8)>; 2] {
        let opening = self.known.iter().find(|known| !known.is_ready);
        let within = self.config.ready_within;
        let opening = opening.map(|known| (known.since + within, known.number));
        let idle = self.config.session_idle.zip(self.idlest());
        [opening, idle.map(|(idle, known)| (known.since + idle, known.number))]
    }

    fn expire(&mut self, now: Instant) -> Option<u8> {
        let due = self.next().into_iter().flatten().find(|(at, _)| *at <= now)?;
        Some(self.take(due.1))
    }
}

fn source(choices: &mut Choices) -> RequestSource {
    let principal = Principal::new(choices.below(3));
    let source = RequestSource::from(principal);
    match choices.below(3) {
        0 if principal == Principal::default() => source,
        last if principal == Principal::default() => {
            source.address(IpAddr::from([192, 0, 2, last as u8]))
        }
        _ => source,
    }
}

/// Proves H-HTTP-174, H-HTTP-175.
#[test]
fn sessions_agree_with_a_list() {
    for seed in 0..300 {
        let mut choices = Choices::seeded(seed);
        let mut config = HttpServerConfig::default();
        config.most_sessions = 2 + choices.below(4) as usize;
        config.sessions_of_client = 1 + choices.below(3) as usize;
        config.session_idle = (!choices.one_in(4)).then_some(Duration::from_secs(100));
        config.displaced_after = Duration::from_secs(20);
        config.ready_within = Duration::from_secs(10);
        let mut sessions = Sessions::new(&config);
        let mut model = Model { config, known: Vec::new() };
        let mut now = Instant::from_millis(1_000_000);
        for number in 1..=100_u8 {
            let other = 1 + choices.below(number.into()) as u8;
            let source = source(&mut choices);
            match choices.below(8) {
                0 | 1 => {
                    let has_room = sessions.has_room(source, now, |_| None);
                    assert_eq!(has_room, model.displaced(source, now).is_ok(), "seed {seed}");
                    let inserted = sessions.insert(id(number), source, number, now, |_| None);
                    assert_eq!(inserted, model.insert(number, source, now), "seed {seed}");
                }
                2 => {
                    let restored = sessions.restore(id(number), source, number, now);
                    let is_restored = model.restore(number, source, now);
                    let full = Err(RestoreSessionError::Full);
                    assert_eq!(restored, if is_restored { Ok(()) } else { full }, "seed {seed}");
                }
                3..=5 => {
                    let got = sessions.get(id(other), source.principal, now).copied();
                    assert_eq!(got, model.get(other, source.principal, now), "seed {seed}");
                }
                _ => now = now + Duration::from_secs([0, 3, 8, 30][choices.below(4) as usize]),
            }
            let expired: Vec<u8> = std::iter::from_fn(|| sessions.expire(now, |_| None)).collect();
            let expected: Vec<u8> = std::iter::from_fn(|| model.expire(now)).collect();
            assert_eq!(expired, expected, "seed {seed}");
            let due = model.next().into_iter().flatten().map(|(at, _)| at).min();
            assert_eq!((sessions.len(), sessions.poll_timeout()), (model.known.len(), due));
            for known in &model.known {
                assert_eq!(sessions.source(id(known.number)), Some(known.source), "seed {seed}");
            }
        }
    }
}
