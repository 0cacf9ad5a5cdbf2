//! `Lifecycle`: the phase of a connection, and how far its end has come.

use core::time::Duration;

use super::event::Cause;
use super::outboxes::{Observation, Outboxes};
use crate::session::{Phase, Step};
use crate::time::Instant;

/// The phase of a connection, and how far its end has come.
///
/// Its methods only mark: what was in flight is handed out later, one outcome at a time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lifecycle {
    pub(super) phase: Phase,
    /// The phase that was last observed.
    observed: Phase,
    /// The handshake has been completed, even if the connection has ended since.
    pub(super) was_ready: bool,
    /// Why the connection ends.
    cause: Option<Cause>,
    /// Until when requests may be answered.
    deadline: Option<Instant>,
    /// The event about draining has been handed out.
    pub(super) draining_told: bool,
    /// No answer can come any more.
    pub(super) input_ended: bool,
    /// The event about the end has been handed out.
    pub(super) closed_told: bool,
}

impl Default for Lifecycle {
    fn default() -> Self {
        Self {
            phase: Phase::Opening,
            observed: Phase::Opening,
            was_ready: false,
            cause: None,
            deadline: None,
            draining_told: false,
            input_ended: false,
            closed_told: false,
        }
    }
}

impl Lifecycle {
    /// Takes a step. Returns whether the phase allows it.
    pub(crate) fn step(&mut self, step: Step) -> bool {
        let after = self.phase.after(step);
        if let Ok(phase) = after {
            self.phase = phase;
            self.was_ready |= phase.is_ready();
        }
        after.is_ok()
    }

    /// Takes no new work, and ends the connection when nothing is in flight or at the deadline.
    pub(super) fn drain(&mut self, cause: Cause, grace: Duration, now: Instant) {
        let deadline = now + grace;
        if self.phase == Phase::Draining {
            // What comes while the connection drains can only shorten the wait.
            self.deadline = Some(self.deadline.map_or(deadline, |known| known.min(deadline)));
        } else if self.step(Step::Drain) {
            self.cause = Some(cause);
            self.deadline = Some(deadline);
        }
    }

    /// Ends the connection now.
    pub(super) fn close(&mut self, cause: Cause) {
        if self.phase == Phase::Closed {
            return;
        }
        self.step(Step::Close);
        self.cause = Some(cause);
        self.input_ended = true;
        self.deadline = None;
    }

    /// Until when requests may be answered, while the connection drains.
    pub(super) const fn drain_deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Why the connection ends.
    pub(super) fn cause_of_end(&self) -> Cause {
        self.cause.unwrap_or(Cause::ShutDown)
    }

    /// Observes a change of the phase.
    pub(crate) fn observe(&mut self, out: &mut dyn Outboxes) {
        if self.observed != self.phase {
            out.observe(&Observation::Phase { from: self.observed, to: self.phase });
            self.observed = self.phase;
        }
    }
}
