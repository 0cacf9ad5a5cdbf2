//! Every transition of the life of a connection.
//!
//! Law: a phase is assigned in this file and nowhere else, and this file does not know which role it
//! serves. What a step means to a role is said where the step is taken.

use core::fmt;

/// Where a connection is in its life.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Nothing has been agreed. `ping` is answered, other calls are held. A server also serves requests
    /// that stand alone; if there are only such, it stays here.
    #[default]
    Opening,
    /// A client has sent `initialize`, or asks whether it has to; a server has answered it. A server serves from here on; both
    /// hold calls of their own until the handshake is complete.
    Handshake,
    /// The session is open, or a client has found out that it needs none.
    Ready,
    /// No new work; what is in flight may still be answered until the deadline.
    Draining,
    /// Over. Nothing is read, nothing is sent.
    Closed,
}

/// What can happen to a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// `initialize` was sent, or was received and answered.
    Begin,
    /// The handshake is complete: `notifications/initialized` was sent or received.
    Complete,
    /// A client took it for granted that there is no handshake, and there is one.
    Reopen,
    /// Work should end: on request, or because the peer has ended its input.
    Drain,
    /// The connection is gone, or is given up.
    Close,
}

/// The step makes no sense in the phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutOfStep;

impl Phase {
    /// The phase after a step.
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

    /// Whether calls of this side go out at once.
    pub(crate) const fn is_ready(self) -> bool {
        matches!(self, Self::Ready)
    }

    /// Whether calls of this side may still be made.
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

    /// The whole product of phases and steps, as a table.
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
