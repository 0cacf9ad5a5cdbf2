//! The phases of a connection, and every transition between them.
//!
//! Invariant: a phase is assigned only in this file, and this file is independent of the role. The effect of a step
//! on a role is documented where the role takes it.

use core::fmt;

/// The phase of a connection.
///
/// ```text
///  Opening ──begin──▶ Handshake ──complete──▶ Ready
///     │                   │  ◀─────reopen────── │
///     └───────drain───────┴────────┬────────────┘
///                                  ▼
///                              Draining ──close──▶ Closed        (close works from everywhere)
/// ```
///
/// ([lifecycle](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle);
/// [as a table](crate::manual::states))
#[doc(alias = "InitializedNotification")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Nothing is negotiated. Each side may send a `ping`, which gets a response. Other calls of this side are queued.
    /// A server also serves modern requests; if it receives no others, it stays in this phase.
    #[default]
    Opening,
    /// A client has sent `initialize`, or is probing whether the server requires it; a server has responded to it. A
    /// server serves requests from this phase on. Both sides queue their own calls until the handshake is complete.
    Handshake,
    /// The session is open, or a client has established that it needs none.
    Ready,
    /// No new requests are accepted; open requests may still be completed until the deadline.
    Draining,
    /// The connection has ended. It receives and sends nothing.
    Closed,
}

/// A step: an input of the phase transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// `initialize` was sent, or was received and the response sent.
    Begin,
    /// The handshake is complete: `notifications/initialized` was sent or received.
    Complete,
    /// A client assumed the modern era, but the server requires a handshake.
    Reopen,
    /// Work should end: on request, or because the peer closed its output.
    Drain,
    /// The connection is lost or abandoned.
    Close,
}

/// The error of a step that is not allowed in the phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutOfStep;

impl Phase {
    /// Returns the phase after a step.
    pub(crate) const fn after(self, step: Step) -> Result<Self, OutOfStep> {
        match (self, step) {
            (_, Step::Close) => Ok(Self::Closed),
            (Self::Opening, Step::Begin) => Ok(Self::Handshake),
            (Self::Handshake, Step::Complete) => Ok(Self::Ready),
            (Self::Ready, Step::Reopen) => Ok(Self::Handshake),
            (Self::Opening | Self::Handshake | Self::Ready | Self::Draining, Step::Drain) => {
                Ok(Self::Draining)
            }
            (Self::Opening, Step::Complete | Step::Reopen)
            | (Self::Handshake, Step::Begin | Step::Reopen)
            | (Self::Ready, Step::Begin | Step::Complete)
            | (Self::Draining, Step::Begin | Step::Complete | Step::Reopen)
            | (Self::Closed, Step::Begin | Step::Complete | Step::Reopen | Step::Drain) => {
                Err(OutOfStep)
            }
        }
    }

    /// Whether calls of this side are sent at once.
    pub(crate) const fn is_ready(self) -> bool {
        matches!(self, Self::Ready)
    }

    /// Whether the application may still make calls.
    pub(crate) const fn takes_calls(self) -> bool {
        matches!(self, Self::Opening | Self::Handshake | Self::Ready)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Opening => "opening",
            Self::Handshake => "handshake",
            Self::Ready => "ready",
            Self::Draining => "draining",
            Self::Closed => "closed",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every combination of phase and step, as a table.
    #[test]
    fn every_step_in_every_phase() {
        use Phase::{Closed, Draining, Handshake, Opening, Ready};
        let steps = [Step::Begin, Step::Complete, Step::Reopen, Step::Drain, Step::Close];
        let table = [
            (Opening, [Some(Handshake), None, None, Some(Draining), Some(Closed)]),
            (Handshake, [None, Some(Ready), None, Some(Draining), Some(Closed)]),
            (Ready, [None, None, Some(Handshake), Some(Draining), Some(Closed)]),
            (Draining, [None, None, None, Some(Draining), Some(Closed)]),
            (Closed, [None, None, None, None, Some(Closed)]),
        ];
        for (phase, after) in table {
            for (step, expected) in steps.into_iter().zip(after) {
                assert_eq!(phase.after(step).ok(), expected, "{phase} {step:?}");
            }
        }
    }
}
