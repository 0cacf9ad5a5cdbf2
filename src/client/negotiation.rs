//! The state machine that negotiates the era
//! ([backward compatibility](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning)).
//!
//! It handles no messages. Its input is the outcome of the last step, and its output is the next [`Move`].

use crate::capability::CapabilitySet;
use crate::codes::ErrorCode;
use crate::config::ClientConfig;
use crate::version::{Era, Revision, RevisionSet};

/// The next step of the negotiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// Sends `server/discover` of this revision.
    Probe(Revision),
    /// Opens a session: sends `initialize` with this revision.
    Initialize(Revision),
    /// Continues in the modern era, without a session.
    Go(Revision, NegotiationBasis),
    /// Ends the negotiation with a failure.
    Fail(Failing),
}

/// The reason why the negotiation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failing {
    /// The server refused, or sent an invalid response: its outcome is reported unchanged.
    AsItIs,
    /// Client and server have no revision in common.
    NoCommonRevision,
    /// The server closed the connection on the probe. The next connection should begin with `initialize`.
    Restart,
}

/// The observation that determined the era of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NegotiationBasis {
    /// The client did not probe: it speaks only one era, or the server closed the connection before this one on the
    /// probe ([`RestartAdvised`](crate::event::ConnectFailure::RestartAdvised)).
    OnlyEra,
    /// The configuration names the revision ([`ClientConfig::known`](crate::ClientConfig::known)).
    Known,
    /// The server answered `server/discover` with its revisions.
    Discovered,
    /// The server answered `server/discover` with its revisions, but only after the probe had timed out.
    DiscoveredLate,
    /// The server declared that it supports no modern revision that the client speaks.
    OnlySessions,
    /// The server refused `server/discover` with this error, which a modern server would not send.
    ProbeRefused(ErrorCode),
    /// The server refused the HTTP request of `server/discover` with this status.
    ProbeNotServed(u16),
    /// The server answered `server/discover` with an invalid result.
    ProbeMisunderstood,
    /// The server did not answer `server/discover` in time.
    ProbeTimedOut,
}

/// The outcome of `server/discover`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probed {
    /// A discovery result that names these revisions.
    Discovery(RevisionSet),
    /// A response that is not a discovery result.
    Nonsense,
    /// `-32022` with these revisions, or without a list of revisions.
    WrongVersion(Option<RevisionSet>),
    /// Any other error.
    Error(ErrorCode),
    /// The HTTP request was refused with this status.
    Refused(u16),
    /// The request did not reach the server, or the server demands authorization first.
    TransportFailed,
    TimedOut,
    Closed,
}

/// The outcome of an `initialize` that opened no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// An error response.
    Error(ErrorCode),
    Otherwise,
}

/// The state of the negotiation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Negotiation {
    /// The revisions for which the probe was repeated because the server named them.
    repeated: RevisionSet,
    /// Whether the server closed the connection on an earlier probe, so that the client does not probe first.
    ended_on_probe: bool,
    /// Why the client fell back to `initialize`.
    fell_back: Option<NegotiationBasis>,
    /// Whether the client probed again after `initialize` was refused.
    probed_again: bool,
    /// The revisions in a response that came after its probe had timed out.
    late: Option<RevisionSet>,
    /// Whether there was such a response, and its capabilities.
    was_late: bool,
    late_capabilities: CapabilitySet,
}

/// The configuration of a client as far as the negotiation depends on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Abilities {
    pub(super) spoken: RevisionSet,
    /// The revision to offer in `initialize`.
    pub(super) offer: Option<Revision>,
    /// The revision that was used with this server before.
    pub(super) known: Option<Revision>,
    /// Whether to probe although the client speaks only one era.
    pub(super) probe: bool,
}

impl ClientConfig {
    /// The part of the configuration that the negotiation depends on.
    pub(super) fn abilities(&self) -> Abilities {
        let Self { revisions, offer, known, probe, .. } = *self;
        Abilities { spoken: revisions, offer, known, probe }
    }
}

impl Abilities {
    pub(super) const fn stateless(self) -> RevisionSet {
        self.spoken.and(RevisionSet::MODERN)
    }

    pub(super) const fn sessions(self) -> RevisionSet {
        self.spoken.and(RevisionSet::LEGACY)
    }

    /// Whether a client that knows a modern revision still probes, beside its first calls. A client of the modern era
    /// alone has no other era to turn to, so for it this is a matter of its configuration.
    pub(super) const fn checks_known(self) -> bool {
        self.probe || !self.sessions().is_empty()
    }
}

impl Negotiation {
    /// Returns a negotiation at its start. With `ended_on_probe` it does not begin with a probe.
    pub(super) const fn new(ended_on_probe: bool) -> Self {
        let repeated = RevisionSet::NONE;
        Self {
            repeated,
            ended_on_probe,
            fell_back: None,
            probed_again: false,
            late: None,
            was_late: false,
            late_capabilities: CapabilitySet::NONE,
        }
    }

    /// Whether the server closed the connection when it was probed.
    pub(super) const fn ended_on_probe(&self) -> bool {
        self.ended_on_probe
    }

    /// Returns the basis of an `initialize` that is in flight.
    pub(super) fn basis(&self, able: Abilities) -> NegotiationBasis {
        if let Some(basis) = self.fell_back {
            return basis;
        }
        // A modern revision that is known says nothing about a session.
        let is_known = able.known.is_some_and(|known| able.sessions().contains(known));
        if is_known { NegotiationBasis::Known } else { NegotiationBasis::OnlyEra }
    }

    /// Returns the first move.
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

    /// Returns the move after a probe. A probe may also have been sent along because the revision was known already
    /// (25).
    ///
    /// The numbers are the rows of the table in the test.
    pub(super) fn probed(&mut self, probed: Probed, able: Abilities) -> Move {
        match probed {
            Probed::Discovery(theirs) => {
                // The server answers probes, whatever an earlier one did.
                self.ended_on_probe = false;
                match able.stateless().and(theirs).latest() {
                    Some(best) => Move::Go(best, NegotiationBasis::Discovered), // 1
                    None => self.fall_back_to(theirs, able),                    // 2, 3
                }
            }
            Probed::WrongVersion(Some(theirs)) => match able.stateless().and(theirs).latest() {
                Some(best) if !self.repeated.contains(best) => {
                    self.repeated = self.repeated.with(best);
                    Move::Probe(best) // 5
                }
                Some(_) => Move::Fail(Failing::AsItIs),  // 6
                None => self.fall_back_to(theirs, able), // 7, 8
            },
            // 9: the server knows this error code, so it may be modern. If it refuses `initialize` too, it is probed
            // again.
            Probed::WrongVersion(None) => {
                let code = ErrorCode::UNSUPPORTED_PROTOCOL_VERSION;
                self.fall_back(NegotiationBasis::ProbeRefused(code), able)
            }
            // 10: only a server that implements the revision sends this error.
            Probed::Error(ErrorCode::MISSING_CLIENT_CAPABILITY) => Move::Fail(Failing::AsItIs),
            // 11, 12, 13
            Probed::Error(code) => self.fall_back(NegotiationBasis::ProbeRefused(code), able),
            Probed::Refused(status) => {
                self.fall_back(NegotiationBasis::ProbeNotServed(status), able)
            }
            Probed::TransportFailed => Move::Fail(Failing::AsItIs),
            Probed::Nonsense => self.fall_back(NegotiationBasis::ProbeMisunderstood, able), // 4
            Probed::TimedOut => self.fall_back(NegotiationBasis::ProbeTimedOut, able),      // 14
            // A server that has just refused `initialize` is not started again for another `initialize`.
            Probed::Closed if !able.sessions().is_empty() && !self.probed_again => {
                self.ended_on_probe = true;
                Move::Fail(Failing::Restart) // 15
            }
            Probed::Closed => Move::Fail(Failing::AsItIs),
        }
    }

    /// Notes the response to a probe that has timed out.
    pub(super) fn answered_late(&mut self, theirs: RevisionSet, capabilities: CapabilitySet) {
        self.late = Some(theirs); // 21
        (self.was_late, self.late_capabilities) = (true, capabilities);
    }

    /// Returns the capabilities of a server whose response to a probe came late.
    pub(super) fn late_capabilities(&self) -> Option<CapabilitySet> {
        self.was_late.then_some(self.late_capabilities)
    }

    /// Returns the move after `initialize` was refused.
    pub(super) fn refused(&mut self, refused: Refused, able: Abilities) -> Move {
        // The assumption that the server has sessions fails, so the next connection begins with a probe again.
        self.ended_on_probe = false;
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
            // 9, 22, 26: the server is modern after all, or was busy when it was probed.
            Some(newest) if (is_modern || was_weak) && !self.probed_again => {
                self.probed_again = true;
                Move::Probe(newest)
            }
            _ => Move::Fail(Failing::AsItIs),
        }
    }

    /// Opens a session with a server that has named its revisions.
    fn fall_back_to(&mut self, theirs: RevisionSet, able: Abilities) -> Move {
        match able.sessions().and(theirs).latest() {
            Some(best) if !self.probed_again => {
                self.fell_back = Some(NegotiationBasis::OnlySessions);
                Move::Initialize(best)
            }
            _ => Move::Fail(Failing::NoCommonRevision),
        }
    }

    /// Opens a session with a server that does not understand `server/discover`.
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
