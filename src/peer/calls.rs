//! Requests of ours: made, held, ended.

use serde::ser::Serialize;

use super::call::{Call, CallError, CallOptions, NotifyError, Purpose, Whereabouts};
use super::event::{Outcome, PeerEvent};
use super::exchanges::{observe_sent, send};
use super::outlets::{Lane, Outlets};
use super::{ConnectionConfig, Peer};
use crate::frame::Room;
use crate::handle::{CallId, InboundId};
use crate::json::{Additions, EncodeError, Writer};
use crate::rpc::{Ending, write_notification, write_request};
use crate::session::Phase;
use crate::time::Instant;

impl Peer {
    pub(crate) fn call<T: Serialize + ?Sized>(
        &mut self,
        config: &ConnectionConfig,
        method: &str,
        params: &T,
        options: CallOptions,
        now: Instant,
        out: &mut dyn Outlets,
    ) -> Result<CallId, CallError> {
        if !self.phase.takes_calls() {
            return Err(CallError::Closed);
        }
        if method == "initialize" {
            return Err(CallError::Reserved);
        }
        if config.limits.outbound_calls <= self.outbound.len() {
            return Err(CallError::TooManyCalls);
        }
        let hold = self.must_hold(method);
        let idle = options.idle.or(config.timeouts.idle);
        let total = options.total.or(config.timeouts.total);
        let call = Call {
            wants_progress: options.progress,
            idle,
            idle_deadline: idle.map(|idle| now + idle),
            total_deadline: total.map(|total| now + total),
            ..Call::default()
        };
        Ok(self.make(call, options.parent, hold, method, params, out)?)
    }

    /// Sends `initialize`.
    pub(crate) fn call_initialize<T: Serialize + ?Sized>(
        &mut self,
        config: &ConnectionConfig,
        params: &T,
        now: Instant,
        out: &mut dyn Outlets,
    ) -> Result<(), EncodeError> {
        let call = Call {
            purpose: Purpose::Initialize,
            total_deadline: config.timeouts.handshake.map(|handshake| now + handshake),
            ..Call::default()
        };
        let call = self.make(call, None, false, "initialize", params, out)?;
        self.initialize = Some(call);
        Ok(())
    }

    fn make<T: Serialize + ?Sized>(
        &mut self,
        mut entry: Call,
        parent: Option<InboundId>,
        hold: bool,
        method: &str,
        params: &T,
        out: &mut dyn Outlets,
    ) -> Result<CallId, EncodeError> {
        let id = self.outbound.next_id();
        let deadline = entry.deadline();
        let wants_progress = entry.wants_progress;
        let call = CallId(self.outbound.next_place());
        let lane = parent.map_or(Lane::Call(call), Lane::Exchange);
        let write =
            |writer: &mut Writer<'_>| write_call(writer, id, method, params, wants_progress);
        // Written first: a call that cannot be written was never made, whatever happens.
        entry.whereabouts = if hold {
            Whereabouts::Held(self.held.hold(lane, Some(call), write)?)
        } else {
            Whereabouts::Lane(out.lane(lane).append(Room::Limit, Some(call), write)?)
        };
        entry.lane = lane;
        self.outbound.insert(|place| *place = entry);
        if let Some(deadline) = deadline {
            self.deadlines.set(call.0.index, id, deadline);
        }
        if !hold {
            observe_sent(out, lane, Some(method));
        }
        Ok(call)
    }

    pub(crate) fn notify<T: Serialize + ?Sized>(
        &mut self,
        method: &str,
        params: &T,
        related: Option<InboundId>,
        out: &mut dyn Outlets,
    ) -> Result<(), NotifyError> {
        const RESERVED: [&str; 3] =
            ["notifications/initialized", "notifications/cancelled", "notifications/progress"];
        let overtakes = overtakes_handshake(method);
        if !self.takes_notifications(overtakes) {
            return Err(NotifyError::Closed);
        }
        if RESERVED.contains(&method) {
            return Err(NotifyError::Reserved);
        }
        let write = |writer: &mut Writer<'_>| write_notification(writer, method, params);
        let lane = related.map_or(Lane::Connection, Lane::Exchange);
        if self.must_hold(method) {
            self.held.hold(lane, None, write)?;
            return Ok(());
        }
        Ok(send(out, lane, Some(method), write)?)
    }

    /// Takes a call out of the tables because it has its outcome.
    pub(super) fn end_call<'a>(&mut self, call: CallId, outcome: Outcome<'a>) -> PeerEvent<'a> {
        self.deadlines.clear(call.0.index);
        if self.initialize == Some(call) {
            self.initialize = None;
        }
        self.outbound.remove(call.0, Ending::Answered);
        PeerEvent::ended(call, outcome)
    }

    /// Whether a message has to wait for the handshake.
    fn must_hold(&self, method: &str) -> bool {
        matches!(self.phase, Phase::Opening | Phase::Handshake) && !overtakes_handshake(method)
    }

    /// Whether notifications may still be sent, or held until they may.
    const fn takes_notifications(&self, overtakes_handshake: bool) -> bool {
        match self.phase {
            Phase::Opening | Phase::Handshake | Phase::Ready => true,
            Phase::Draining => self.was_ready || (overtakes_handshake && self.session.is_some()),
            Phase::Closed => false,
        }
    }

    /// Whether a call that the application made is pending.
    pub(crate) fn is_pending(&self, call: CallId) -> bool {
        self.outbound.get(call.0).is_some_and(|entry| entry.purpose == Purpose::Application)
    }

    /// The calls of the application that are pending, in the order they were made.
    pub(crate) fn pending_calls(&self) -> impl Iterator<Item = CallId> {
        self.outbound
            .iter()
            .filter(|(_, call)| call.purpose == Purpose::Application)
            .map(|(place, _)| CallId(place))
    }
}

/// Pings and log messages may go out before the session is open
/// ([lifecycle](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization)).
fn overtakes_handshake(method: &str) -> bool {
    matches!(method, "ping" | "notifications/message")
}

/// Writes a request, with its own id as progress token if it wants progress.
fn write_call<T: Serialize + ?Sized>(
    writer: &mut Writer<'_>,
    id: u64,
    method: &str,
    params: &T,
    wants_progress: bool,
) -> Result<(), EncodeError> {
    let mut token = itoa::Buffer::new();
    let meta = [("progressToken", token.format(id))];
    let meta: &[_] = if wants_progress { &meta } else { &[] };
    write_request(writer, id, method, params, Additions { members: &[], meta })
}
