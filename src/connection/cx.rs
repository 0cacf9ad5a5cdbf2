//! `Cx`: the context of one operation of the connection.

use super::outboxes::Outboxes;
use crate::config::ConnectionConfig;
use crate::time::Instant;

/// The context of one operation, which every layer needs and no layer keeps. The context is passed down as one value.
pub(crate) struct Cx<'c, 'o> {
    /// The configuration of the connection, which does not change.
    pub(crate) config: &'c ConnectionConfig,
    /// The time of the operation; `None` for commands without a time, such as a response.
    pub(crate) now: Option<Instant>,
    /// The outboxes for the output.
    pub(crate) out: &'o mut dyn Outboxes,
}

impl<'c, 'o> Cx<'c, 'o> {
    /// Creates the context of an operation at this time.
    pub(crate) fn at(
        config: &'c ConnectionConfig,
        now: Instant,
        out: &'o mut dyn Outboxes,
    ) -> Self {
        Self { config, now: Some(now), out }
    }

    /// Creates the context of a command without a time.
    pub(crate) fn undated(config: &'c ConnectionConfig, out: &'o mut dyn Outboxes) -> Self {
        Self { config, now: None, out }
    }

    /// Returns the time of the operation. A command without a time must not call this.
    pub(super) fn now(&self) -> Instant {
        debug_assert!(self.now.is_some(), "a command without a time came here");
        self.now.unwrap_or_default()
    }

    /// Returns the same context without a time. A timer that is started with it begins when the time is next known.
    pub(crate) fn without_time(&mut self) -> Cx<'c, '_> {
        Cx { config: self.config, now: None, out: &mut *self.out }
    }
}
