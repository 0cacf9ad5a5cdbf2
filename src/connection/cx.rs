//! `Cx`: the context in which the machine is entered.

use super::outboxes::Outboxes;
use crate::config::ConnectionConfig;
use crate::time::Instant;

/// What every step of the machine needs and none of its parts keeps: it travels down as one value.
pub(crate) struct Cx<'c, 'o> {
    /// The configuration of the connection, which does not change.
    pub(crate) config: &'c ConnectionConfig,
    /// When the machine was entered; `None` for commands that take no time, such as an answer.
    pub(crate) now: Option<Instant>,
    /// Where output goes.
    pub(crate) out: &'o mut dyn Outboxes,
}

impl<'c, 'o> Cx<'c, 'o> {
    /// The machine is entered at this time.
    pub(crate) fn at(
        config: &'c ConnectionConfig,
        now: Instant,
        out: &'o mut dyn Outboxes,
    ) -> Self {
        Self { config, now: Some(now), out }
    }

    /// The machine is entered by a command that takes no time.
    pub(crate) fn undated(config: &'c ConnectionConfig, out: &'o mut dyn Outboxes) -> Self {
        Self { config, now: None, out }
    }

    /// When the machine was entered. Only what time or the peer has brought about asks for this.
    pub(super) fn now(&self) -> Instant {
        debug_assert!(self.now.is_some(), "a command without a time came here");
        self.now.unwrap_or_default()
    }

    /// The same context for something that is dated when it is next known how late it is.
    pub(super) fn without_time(&mut self) -> Cx<'c, '_> {
        Cx { config: self.config, now: None, out: &mut *self.out }
    }
}
