//! The negotiation of the era: a small state machine
//! ([backward compatibility](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning)).
//!
//! It knows nothing of messages. It is told what came of the last step, and says what to do next.

use crate::codes::ErrorCode;
use crate::version::{Era, Revision, RevisionSet};

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// Ask what the server is, with `server/discover` of this revision.
    Probe(Revision),
    /// Open a session, and ask for this revision.
    Initialize(Revision),
    /// Go on without a session.
    Go(Revision, NegotiationBasis),
    /// Give up.
    Fail(Failing),
}

/// Why there is nothing to go on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failing {
    /// The server refused, or answered with something that makes no sense: that is the failure.
    AsItIs,
    /// It speaks nothing that the client speaks.
    NoCommonRevision,
    /// It went away; started again it should be asked for a session at once.
    Restart,
}

/// Which era a server was found to belong to, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NegotiationBasis {
    /// The client speaks only one era, and did not ask.
    OnlyEra,
    /// The configuration says so ([`ClientConfig::known`](crate::ClientConfig::known)).
    Known,
    /// The server said so, when asked with `server/discover`.
    Discovered,
    /// The server said so, but only after the client had given up waiting for it.
    DiscoveredLate,
    /// The server says that it speaks no revision without sessions that the client does.
    OnlySessions,
    /// The server refused `server/discover` with this error, which it would not if it knew it.
    ProbeRefused(ErrorCode),
    /// The server refused what carried `server/discover` with this status of HTTP.
    ProbeNotServed(u16),
    /// The server answered `server/discover` with something else.
    ProbeMisunderstood,
    /// The server did not answer `server/discover` in time.
    ProbeTimedOut,
}

/// What came of `server/discover`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probed {
    /// An answer that names these revisions.
    Discovery(RevisionSet),
    /// An answer that is no discovery.
    Nonsense,
    /// `-32022` with these revisions, or without a list of any.
    WrongVersion(Option<RevisionSet>),
    /// Any other error.
    Error(ErrorCode),
    /// It was not served, with this status.
    Refused(u16),
    /// It did not get there, or is not served to just anybody.
    TransportFailed,
    TimedOut,
    Closed,
}

/// What came of `initialize`, if it was no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// An error, or an answer that no session can be made of.
    Error(ErrorCode),
    Otherwise,
}

/// How far the finding out has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Negotiation {
    /// The revisions for which the probe was repeated because the server named them.
    repeated: RevisionSet,
    /// The server says that it went away when it was probed before, so it is not probed first.
    ended_on_probe: bool,
    /// Why a session was asked for.
    fell_back: Option<NegotiationBasis>,
    /// After a session was refused, it was probed again.
    probed_again: bool,
    /// What a probe that was given up was answered with after all.
    late: Option<RevisionSet>,
}

/// What a client can do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Abilities {
    pub(super) spoken: RevisionSet,
    /// The revision of a session that it would like best.
    pub(super) offer: Option<Revision>,
    /// The revision that was used with this server before.
    pub(super) known: Option<Revision>,
    /// Whether to ask although there is only one era to choose from.
    pub(super) probe: bool,
}

impl Abilities {
    pub(super) const fn stateless(self) -> RevisionSet {
        self.spoken.and(RevisionSet::MODERN)
    }

    pub(super) const fn sessions(self) -> RevisionSet {
        self.spoken.and(RevisionSet::LEGACY)
    }
}

impl Negotiation {
    /// One at its beginning. A server that is shy goes away when it is probed, so it is not.
    pub(super) const fn new(ended_on_probe: bool) -> Self {
        let repeated = RevisionSet::NONE;
        Self { repeated, ended_on_probe, fell_back: None, probed_again: false, late: None }
    }

    /// Whether the server closed the connection when it was probed.
    pub(super) const fn ended_on_probe(&self) -> bool {
        self.ended_on_probe
    }

    /// Why the client does what it does now.
    pub(super) fn basis(&self, able: Abilities) -> NegotiationBasis {
        if let Some(basis) = self.fell_back {
            return basis;
        }
        if able.known.is_some() { NegotiationBasis::Known } else { NegotiationBasis::OnlyEra }
    }

    /// The first move.
    pub(super) fn begin(&self, able: Abilities) -> Move {
        let known = able.known.filter(|known| able.spoken.contains(*known));
        let sessions = able.sessions().latest();
        match (known.map(Revision::era), able.stateless().latest(), sessions) {
            (Some(Era::Modern), Some(newest), _) if !self.ended_on_probe || sessions.is_none() => {
                Move::Go(known.unwrap_or(newest), NegotiationBasis::Known)
            }
            (_, _, Some(newest)) if self.ended_on_probe || known.is_some() => {
                Move::Initialize(able.offer.unwrap_or(newest))
            }
            (_, None, Some(newest)) => Move::Initialize(able.offer.unwrap_or(newest)),
            (_, Some(newest), None) if !able.probe => Move::Go(newest, NegotiationBasis::OnlyEra),
            (_, Some(newest), _) => Move::Probe(newest),
            (_, None, None) => Move::Fail(Failing::NoCommonRevision),
        }
    }

    /// The move after a probe, also after one that was sent because the server was known already (25).
    /// The numbers are those of the rows in the test.
    pub(super) fn probed(&mut self, probed: Probed, able: Abilities) -> Move {
        match probed {
            Probed::Discovery(theirs) => match able.stateless().and(theirs).latest() {
                Some(best) => Move::Go(best, NegotiationBasis::Discovered), // 1
                None => self.fall_back_to(theirs, able),                    // 2, 3
            },
            Probed::WrongVersion(Some(theirs)) => match able.stateless().and(theirs).latest() {
                Some(best) if !self.repeated.contains(best) => {
                    self.repeated = self.repeated.with(best);
                    Move::Probe(best) // 5
                }
                Some(_) => Move::Fail(Failing::AsItIs),  // 6
                None => self.fall_back_to(theirs, able), // 7, 8
            },
            // 9: it knows the error, so it may well be asked again.
            Probed::WrongVersion(None) => {
                let code = ErrorCode::UNSUPPORTED_PROTOCOL_VERSION;
                self.fall_back(NegotiationBasis::ProbeRefused(code), able)
            }
            // 10: nobody has this error but who knows the revision.
            Probed::Error(ErrorCode::MISSING_CLIENT_CAPABILITY) => Move::Fail(Failing::AsItIs),
            // 11, 12, 13
            Probed::Error(code) => self.fall_back(NegotiationBasis::ProbeRefused(code), able),
            Probed::Refused(status) => {
                self.fall_back(NegotiationBasis::ProbeNotServed(status), able)
            }
            Probed::TransportFailed => Move::Fail(Failing::AsItIs),
            Probed::Nonsense => self.fall_back(NegotiationBasis::ProbeMisunderstood, able), // 4
            Probed::TimedOut => self.fall_back(NegotiationBasis::ProbeTimedOut, able),      // 14
            // Who has refused a session just now need not be asked for one by somebody else.
            Probed::Closed if !able.sessions().is_empty() && !self.probed_again => {
                self.ended_on_probe = true;
                Move::Fail(Failing::Restart) // 15
            }
            Probed::Closed => Move::Fail(Failing::AsItIs),
        }
    }

    /// A probe that was given up has been answered.
    pub(super) fn answered_late(&mut self, theirs: RevisionSet) {
        self.late = Some(theirs); // 21
    }

    /// The move after a session was refused.
    pub(super) fn refused(&mut self, refused: Refused, able: Abilities) -> Move {
        let stateless = able.stateless();
        let late = self.late.take().and_then(|late| stateless.and(late).latest());
        if let Some(best) = late {
            return Move::Go(best, NegotiationBasis::DiscoveredLate); // 21
        }
        let is_modern = matches!(
            refused,
            Refused::Error(
                ErrorCode::UNSUPPORTED_PROTOCOL_VERSION | ErrorCode::MISSING_CLIENT_CAPABILITY
            )
        );
        let was_weak = self.fell_back
            == Some(NegotiationBasis::ProbeRefused(ErrorCode::UNSUPPORTED_PROTOCOL_VERSION));
        match stateless.latest() {
            // 9, 22, 26: it is a server without sessions after all, or was busy when it was asked.
            Some(newest) if (is_modern || was_weak) && !self.probed_again => {
                self.probed_again = true;
                Move::Probe(newest)
            }
            _ => Move::Fail(Failing::AsItIs),
        }
    }

    /// Opens a session with a server that names what it speaks.
    fn fall_back_to(&mut self, theirs: RevisionSet, able: Abilities) -> Move {
        match able.sessions().and(theirs).latest() {
            Some(best) if !self.probed_again => {
                self.fell_back = Some(NegotiationBasis::OnlySessions);
                Move::Initialize(best)
            }
            _ => Move::Fail(Failing::NoCommonRevision),
        }
    }

    /// Opens a session with a server that does not know what it was asked.
    fn fall_back(&mut self, basis: NegotiationBasis, able: Abilities) -> Move {
        match able.sessions().latest() {
            Some(newest) if !self.probed_again => {
                self.fell_back = Some(basis);
                Move::Initialize(able.offer.unwrap_or(newest))
            }
            _ => Move::Fail(Failing::AsItIs),
        }
    }
}

#[cfg(test)]
#[path = "negotiation_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "negotiation_states_tests.rs"]
pub(crate) mod states_tests;
