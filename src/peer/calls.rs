//! Requests of ours: made, held, cancelled, ended.

use core::time::Duration;

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::event::{Outcome, PeerEvent};
use super::exchanges::{observe_sent, send};
use super::outlets::{Lane, Outlets};
use super::{ConnectionConfig, Peer};
use crate::frame::{Room, Serial};
use crate::handle::{CallId, InboundId};
use crate::json::{Additions, EncodeError, Envelope, Member, Number, Str, Writer};
use crate::rpc::{Ending, GivenUp, Outbound, Recycle, write_notification, write_request};
use crate::time::Instant;

/// What is kept of a call until it ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Call {
    pub(super) purpose: Purpose,
    pub(super) wants_progress: bool,
    pub(super) progress: Option<Number>,
    /// How long to wait for an answer or progress, and until when.
    pub(super) idle: Option<Duration>,
    pub(super) idle_deadline: Option<Instant>,
    pub(super) total_deadline: Option<Instant>,
    lane: Lane,
    queue: Queue,
}

/// Who made a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    /// The application.
    Application,
    /// The machine, to open the session. It is never cancelled.
    Initialize,
}

/// Where the request was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Queue {
    /// Among what waits for the handshake.
    Held(Serial),
    /// Into the outbox of its lane.
    Lane(Serial),
}

impl Default for Call {
    fn default() -> Self {
        Self {
            purpose: Purpose::Application,
            wants_progress: false,
            progress: None,
            idle: None,
            idle_deadline: None,
            total_deadline: None,
            lane: Lane::Connection,
            queue: Queue::Lane(Serial::default()),
        }
    }
}

impl Recycle for Call {
    fn recycle(&mut self) {
        *self = Self::default();
    }
}

/// How a call is made.
///
/// ```
/// use core::time::Duration;
/// use mcp_sansio::{CallOptions, Timeout};
///
/// let options = CallOptions::new().progress().idle(Timeout::After(Duration::from_secs(5)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct CallOptions {
    pub(super) progress: bool,
    pub(super) idle: Timeout,
    pub(super) total: Timeout,
    parent: Option<InboundId>,
}

/// How long to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Timeout {
    /// As long as the configuration says.
    #[default]
    Default,
    /// As long as it takes.
    Never,
    /// This long.
    After(Duration),
}

impl Timeout {
    const fn or(self, default: Option<Duration>) -> Option<Duration> {
        match self {
            Self::Default => default,
            Self::Never => None,
            Self::After(duration) => Some(duration),
        }
    }
}

impl CallOptions {
    /// Without progress, with the timeouts of the configuration.
    pub const fn new() -> Self {
        Self { progress: false, idle: Timeout::Default, total: Timeout::Default, parent: None }
    }

    /// Asks the peer for progress. Every update begins the idle timeout anew.
    pub const fn progress(mut self) -> Self {
        self.progress = true;
        self
    }

    /// How long to wait for an answer or progress.
    pub const fn idle(mut self, timeout: Timeout) -> Self {
        self.idle = timeout;
        self
    }

    /// How long to wait for the answer at most, whatever the progress.
    pub const fn total(mut self, timeout: Timeout) -> Self {
        self.total = timeout;
        self
    }

    /// The request that the call is made because of: it goes out on the lane of that exchange.
    pub const fn parent(mut self, parent: InboundId) -> Self {
        self.parent = Some(parent);
        self
    }
}

/// Why a call could not be made. Nothing was sent and nothing is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The connection has ended or is shutting down.
    #[error("the connection takes no more calls")]
    Closed,
    /// The machine sends this method itself.
    #[error("the machine sends this method itself")]
    Reserved,
    /// [`Limits::outbound_calls`](crate::Limits::outbound_calls) calls are pending.
    #[error("too many calls are pending")]
    TooManyCalls,
    /// The request could not be written.
    #[error("the request could not be written: {0}")]
    Encode(#[from] EncodeError),
}

/// Why a notification could not be sent. Nothing was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum NotifyError {
    /// The connection has ended.
    #[error("the connection has ended")]
    Closed,
    /// The machine sends this method itself.
    #[error("the machine sends this method itself")]
    Reserved,
    /// The notification could not be written.
    #[error("the notification could not be written: {0}")]
    Encode(#[from] EncodeError),
}

/// How a cancelled call ended. No event follows, and an answer that still comes is a
/// [`Stray`](crate::Stray).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cancellation {
    /// It was taken back before any of it was sent: the peer never sees it.
    Withdrawn,
    /// The peer is told with `notifications/cancelled`; it may have served the call already.
    Notified,
}

/// Why a call could not be cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum CancelError {
    /// The call has ended, or the handle is of another connection. Nothing was sent.
    #[error("the call is not in flight")]
    NotInFlight,
    /// The connection has ended; the outcome of the call is about to be handed out.
    #[error("the connection has ended")]
    Closed,
}

/// The params of a cancellation.
struct CancelledParams<'a> {
    id: u64,
    reason: Option<&'a str>,
}

impl Serialize for CancelledParams<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut params = serializer.serialize_struct("CancelledParams", 2)?;
        params.serialize_field("requestId", &self.id)?;
        if let Some(reason) = self.reason {
            params.serialize_field("reason", reason)?;
        }
        params.end()
    }
}

/// A call that is being written. Unless it is kept it was never made, whatever happens.
struct Draft<'a> {
    outbound: &'a mut Outbound<Call>,
    call: CallId,
    kept: bool,
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if !self.kept {
            self.outbound.undo(self.call.0);
        }
    }
}

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
        let hold = self.must_hold(method, out);
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
    ) -> Result<CallId, EncodeError> {
        let call = Call {
            purpose: Purpose::Initialize,
            total_deadline: config.timeouts.handshake.map(|handshake| now + handshake),
            ..Call::default()
        };
        self.make(call, None, false, "initialize", params, out)
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
        let call = CallId(self.outbound.insert(|_| {}));
        entry.lane = parent.map_or(Lane::Call(call), Lane::Exchange);
        let lane = entry.lane;
        let mut draft = Draft { outbound: &mut self.outbound, call, kept: false };
        let outbox = if hold { &mut self.held } else { out.lane(lane) };
        let serial = outbox.append(Room::Limit, Some(call), |writer| {
            write_call(writer, id, method, params, wants_progress)
        })?;
        entry.queue = if hold { Queue::Held(serial) } else { Queue::Lane(serial) };
        if let Some(place) = draft.outbound.get_mut(call.0) {
            *place = entry;
        }
        draft.kept = true;
        drop(draft);
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
        if self.phase == crate::Phase::Closed {
            return Err(NotifyError::Closed);
        }
        if RESERVED.contains(&method) {
            return Err(NotifyError::Reserved);
        }
        let write = |writer: &mut Writer<'_>| write_notification(writer, method, params);
        if self.must_hold(method, out) {
            self.held.append(Room::Limit, None, write)?;
            return Ok(());
        }
        let lane = related.map_or(Lane::Connection, Lane::Exchange);
        Ok(send(out, lane, Some(method), write)?)
    }

    pub(crate) fn cancel(
        &mut self,
        call: CallId,
        reason: Option<&str>,
        out: &mut dyn Outlets,
    ) -> Result<Cancellation, CancelError> {
        if self.outbound.get(call.0).is_none() {
            return Err(CancelError::NotInFlight);
        }
        if self.calls_are_over() {
            return Err(CancelError::Closed);
        }
        Ok(self.give_up(call, GivenUp::Cancelled, reason, out))
    }

    /// Takes a call back, or tells the peer that its answer is not wanted any more.
    pub(super) fn give_up(
        &mut self,
        call: CallId,
        cause: GivenUp,
        reason: Option<&str>,
        out: &mut dyn Outlets,
    ) -> Cancellation {
        let withdrawn = self.withdraw(call, out);
        let Some(id) = self.outbound.id(call.0) else { return Cancellation::Withdrawn };
        let lane = self.outbound.get(call.0).map_or(Lane::Connection, |entry| entry.lane);
        self.deadlines.clear(call.0.index);
        if withdrawn {
            self.outbound.remove(call.0, Ending::Cancelled);
            return Cancellation::Withdrawn;
        }
        self.outbound.give_up(call.0, cause);
        const METHOD: &str = "notifications/cancelled";
        let params = CancelledParams { id, reason };
        self.send_own(lane, Some(METHOD), out, |writer| {
            write_notification(writer, METHOD, &params)
        });
        Cancellation::Notified
    }

    /// Takes back what has not been sent of a call. Says whether that was all of it.
    pub(super) fn withdraw(&mut self, call: CallId, out: &mut dyn Outlets) -> bool {
        let Some(entry) = self.outbound.get(call.0) else { return false };
        match entry.queue {
            Queue::Held(serial) => self.held.withdraw(serial, call),
            Queue::Lane(serial) => out.lane(entry.lane).withdraw(serial, call),
        }
    }

    /// Takes a call out of the tables because it has its outcome.
    pub(super) fn end_call<'a>(&mut self, call: CallId, outcome: Outcome<'a>) -> PeerEvent<'a> {
        self.deadlines.clear(call.0.index);
        self.outbound.remove(call.0, Ending::Answered);
        PeerEvent::ended(call, outcome)
    }

    /// Sends what was held until the handshake was complete, as far as there is room.
    pub(crate) fn flush_held(&mut self, out: &mut dyn Outlets) {
        loop {
            let outbound = &mut self.outbound;
            let sent = self.held.take_first(|message, call| {
                let entry = call.and_then(|call| outbound.get_mut(call.0));
                let lane = entry.as_ref().map_or(Lane::Connection, |entry| entry.lane);
                let serial =
                    out.lane(lane).append(Room::Limit, call, |writer| writer.push(message)).ok()?;
                if let Some(entry) = entry {
                    entry.queue = Queue::Lane(serial);
                }
                let envelope = Envelope::scan(message, u8::MAX);
                let method = envelope.get(Member::Method).and_then(Str::from_literal);
                observe_sent(out, lane, method.as_ref().map(Str::as_wire));
                Some(())
            });
            if sent.is_none() {
                return;
            }
        }
    }

    /// Whether a message has to wait. Pings and log messages may go out before the session is open
    /// ([lifecycle](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization)),
    /// and nothing may overtake what waits.
    fn must_hold(&mut self, method: &str, out: &mut dyn Outlets) -> bool {
        if matches!(method, "ping" | "notifications/message") {
            return false;
        }
        if self.phase.is_ready() && !self.held.is_empty() {
            self.flush_held(out);
        }
        let waiting = matches!(self.phase, crate::Phase::Opening | crate::Phase::Handshake);
        waiting || !self.held.is_empty()
    }

    /// Whether a call that the application made is pending.
    pub(crate) fn is_pending(&self, call: CallId) -> bool {
        self.outbound.get(call.0).is_some()
    }

    /// The calls of the application that are pending, in the order they were made.
    pub(crate) fn pending_calls(&self) -> impl Iterator<Item = CallId> {
        self.outbound
            .iter()
            .filter(|(_, call)| call.purpose == Purpose::Application)
            .map(|(place, _)| CallId(place))
    }
}

impl Call {
    /// The earlier of its two deadlines.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match (self.idle_deadline, self.total_deadline) {
            (Some(idle), Some(total)) => Some(idle.min(total)),
            (idle, total) => idle.or(total),
        }
    }
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
