//! The results of `initialize` and `server/discover`, as far as the machine reads them.

use super::connected::ConnectFailure;
use super::negotiation::{Failing, Probed};
use crate::capability::{CapabilitySet, Owner};
use crate::codes::{ErrorCode, ViolationKind};
use crate::connection::{Cause, Outcome, TransportFailureKind, versions, versions_in};
use crate::json::{MemberTexts, Raw, Str, member};
use crate::version::RevisionSet;

/// The result of `initialize`, as far as the machine needs it.
pub(super) struct InitializeOutcome<'a> {
    pub(super) version: Str<'a>,
    pub(super) capabilities: CapabilitySet,
}

impl<'a> InitializeOutcome<'a> {
    pub(super) fn read(result: &'a str) -> Result<Self, ViolationKind> {
        let (mut version, mut capabilities) = (None, None);
        for (key, value) in MemberTexts::of(result) {
            if key == "protocolVersion" {
                version = Str::from_literal(value);
            } else if key == "capabilities" {
                capabilities = Some(value);
            }
        }
        let (Some(version), Some(capabilities)) = (version, capabilities) else {
            return Err(ViolationKind::MalformedResponse);
        };
        let capabilities = CapabilitySet::read(Owner::Server, capabilities)
            .ok_or(ViolationKind::MalformedCapabilities)?;
        Ok(Self { version, capabilities })
    }
}

/// The outcome of `server/discover`.
pub(super) struct Discovery {
    pub(super) probed: Probed,
    /// The capabilities of the server.
    pub(super) capabilities: CapabilitySet,
}

impl Discovery {
    pub(super) fn of(outcome: &Outcome<'_>) -> Self {
        let nothing = |probed| Self { probed, capabilities: CapabilitySet::NONE };
        match outcome {
            Outcome::Result(result) => {
                Self::read(result.as_json()).unwrap_or_else(|| nothing(Probed::Nonsense))
            }
            Outcome::PeerError(error) if error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION => {
                let data = error.data.as_ref().map(Raw::as_json).unwrap_or_default();
                nothing(Probed::WrongVersion(versions_in(data)))
            }
            Outcome::PeerError(error) => nothing(Probed::Error(error.code)),
            // A server without `server/discover` refuses the HTTP request, or sends no valid response.
            Outcome::TransportFailed(failure) if failure.is_refused() => {
                nothing(Probed::Refused(failure.status.unwrap_or_default()))
            }
            Outcome::TransportFailed(failure) if failure.kind == TransportFailureKind::NoAnswer => {
                nothing(Probed::Nonsense)
            }
            Outcome::TransportFailed(_) => nothing(Probed::TransportFailed),
            Outcome::TimedOut(_) => nothing(Probed::TimedOut),
            // This side closed the connection, so the outcome reveals nothing about the server.
            Outcome::Closed(Cause::ShutDown | Cause::DrainDeadline) => {
                nothing(Probed::TransportFailed)
            }
            Outcome::Closed(_) => nothing(Probed::Closed),
            _ => nothing(Probed::Nonsense),
        }
    }

    /// Reads a result. Returns `None` if it is not a valid discovery result.
    fn read(result: &str) -> Option<Self> {
        let kind = member(result, "resultType").map(Str::from_literal);
        if kind.is_some_and(|kind| kind.is_none_or(|kind| kind != "complete")) {
            return None;
        }
        let theirs = versions(member(result, "supportedVersions")?)?;
        let capabilities = CapabilitySet::read(Owner::Server, member(result, "capabilities")?)?;
        Some(Self { probed: Probed::Discovery(theirs), capabilities })
    }

    /// Returns the failure to report when the negotiation ends with this outcome.
    pub(super) fn failure<'f>(
        &self,
        outcome: Outcome<'f>,
        failing: Failing,
        ours: RevisionSet,
    ) -> ConnectFailure<'f> {
        match (failing, outcome) {
            (Failing::NoCommonRevision, Outcome::Result(result)) => {
                let theirs = result.get("supportedVersions").map(Raw::into_owned);
                ConnectFailure::NoCommonRevision { theirs: theirs.unwrap_or(Raw::NULL), ours }
            }
            (Failing::NoCommonRevision, Outcome::PeerError(error)) => {
                let theirs = error.data.as_ref().and_then(|data| data.get("supported"));
                let theirs = theirs.map(Raw::into_owned).unwrap_or(Raw::NULL);
                ConnectFailure::NoCommonRevision { theirs, ours }
            }
            (Failing::Restart, Outcome::Closed(cause)) => ConnectFailure::RestartAdvised(cause),
            (_, Outcome::PeerError(error)) => ConnectFailure::PeerError(error),
            (_, Outcome::Result(result)) => {
                let message = result.borrowed().unwrap_or_default().as_bytes().into();
                ConnectFailure::Malformed { kind: ViolationKind::InvalidResult, message }
            }
            (_, Outcome::Malformed { kind, message }) => {
                ConnectFailure::Malformed { kind, message }
            }
            (_, Outcome::TimedOut(_)) => ConnectFailure::TimedOut,
            (_, Outcome::TransportFailed(failure)) => ConnectFailure::TransportFailed(failure),
            (_, Outcome::Closed(cause)) => ConnectFailure::Closed(cause),
            _ => ConnectFailure::Closed(Cause::HandshakeFailed),
        }
    }
}
