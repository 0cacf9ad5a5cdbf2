//! `Lifecycle`: the phase of a connection, and the progress of its end.

use core::time::Duration;

use super::event::Cause;
use super::outboxes::{Observation, Outboxes};
use crate::session::{Phase, Step};
use crate::time::Instant;

/// The phase of a connection, and the progress of its end.
///
/// Its methods only set flags. The outcomes of pending requests are returned later, one at a time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lifecycle {
    pub(super) phase: Phase,
    /// The phase that was last observed.
    observed: Phase,
    /// Whether the handshake was completed, even if the connection has ended since.
    pub(super) was_ready: bool,
    /// Why the connection ends.
    cause: Option<Cause>,
    /// The time until which requests can be answered while the connection drains.
    deadline: Option<Instant>,
    /// Whether the event about draining has been returned.
    pub(super) draining_reported: bool,
    /// Whether the input has ended, so that no response can arrive any more.
    pub(super) input_ended: bool,
    /// Whether the event about the end has been returned.
    pub(super) closed_reported: bool,
}

impl Default for Lifecycle {
    fn default() -> Self {
        Self {
            phase: Phase::Opening,
            observed: Phase::Opening,
            was_ready: false,
            cause: None,
            deadline: None,
            draining_reported: false,
            input_ended: false,
            closed_reported: false,
        }
    }
}

impl Lifecycle {
    /// Changes the phase. Returns whether the current phase allows the step.
    pub(crate) fn step(&mut self, step: Step) -> bool {
        let after = self.phase.after(step);
        if let Ok(phase) = after {
            self.phase = phase;
            self.was_ready |= phase.is_ready();
        }
        after.is_ok()
    }

    /// Stops new work. The connection ends when no request is in flight, or at the deadline.
    pub(super) fn drain(&mut self, cause: Cause, grace: Duration, now: Instant) {
        let deadline = now + grace;
        if self.phase == Phase::Draining {
            // A repeated `drain` can only shorten the wait.
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

    /// Returns the time until which requests can be answered while the connection drains.
    pub(super) const fn drain_deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Returns why the connection ends.
    pub(super) fn cause_of_end(&self) -> Cause {
        self.cause.unwrap_or(Cause::ShutDown)
    }

    /// Whether the phase has changed since it was last observed.
    pub(super) fn is_unobserved(&self) -> bool {
        self.observed != self.phase
    }

    /// Reports a change of the phase to the observer.
    pub(crate) fn observe(&mut self, out: &mut dyn Outboxes) {
        if self.is_unobserved() {
            out.observe(&Observation::Phase { from: self.observed, to: self.phase });
            self.observed = self.phase;
        }
    }
}
