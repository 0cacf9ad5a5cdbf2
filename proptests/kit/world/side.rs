//! What the models know about each side.

use std::collections::BTreeSet;

use mcp_sansio::config::DuplicateIds;
use mcp_sansio::testing::{Broken, Machine, Meaning, Monitor};
use mcp_sansio::{CallId, ConnectionConfig, IncomingId, Instant, Limits};

use super::REMEMBERED;
use super::routes::RouteModel;
use super::time_model::TimeModel;
use crate::silence_model::SilenceModel;

/// The common state of an application on either side.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) monitor: Monitor,
    pub(super) calls: Vec<CallId>,
    pub(super) ids: Vec<IncomingId>,
    /// All calls so far.
    pub(super) known: BTreeSet<CallId>,
    pub(super) time: TimeModel,
    pub(super) silence: SilenceModel,
    pub(super) routes: RouteModel,
}

impl Side {
    pub(super) fn new(connection: &ConnectionConfig) -> Self {
        let serves = connection.duplicate_ids == DuplicateIds::Serve;
        Self {
            monitor: Monitor::new().serving_duplicates(serves),
            calls: Vec::new(),
            ids: Vec::new(),
            known: BTreeSet::new(),
            time: TimeModel::default(),
            silence: SilenceModel::new(connection.keep_alive),
            routes: RouteModel::default(),
        }
    }

    /// Registers a call if it was made.
    pub(super) fn made<E>(&mut self, made: Result<CallId, E>) -> Result<(), Broken> {
        let Ok(call) = made else { return Ok(()) };
        remember(&mut self.calls, call);
        self.known.insert(call);
        self.monitor.called(call)
    }

    pub(super) fn event<M: Machine>(&mut self, event: &M::Event<'_>) -> Result<(), Broken> {
        if let Meaning::Request(id) = M::meaning(event) {
            remember(&mut self.ids, id);
        }
        self.monitor.event::<M>(event)
    }

    /// Checks that nothing is due any more.
    pub(super) fn settled<M: Machine>(
        &mut self,
        machine: &M,
        limits: &Limits,
        now: Instant,
    ) -> Result<(), Broken> {
        self.monitor.settled(machine, now)?;
        let has_room = limits.outbox_bytes == Limits::default().outbox_bytes;
        self.silence.settled(machine, has_room, now)?;
        let has_requests = machine.in_flight().requests().next().is_some();
        self.time.settled(now, self.monitor.is_closed(), has_requests)
    }

    pub(super) fn a_call(&self, which: u16) -> Option<CallId> {
        pick(&self.calls, which)
    }

    pub(super) fn a_request(&self, which: u16) -> Option<IncomingId> {
        pick(&self.ids, which)
    }
}

pub(super) fn remember<T>(things: &mut Vec<T>, thing: T) {
    if things.len() == REMEMBERED {
        things.remove(0);
    }
    things.push(thing);
}

pub(super) fn pick<T: Copy>(things: &[T], which: u16) -> Option<T> {
    things.get(usize::from(which).checked_rem(things.len())?).copied()
}
