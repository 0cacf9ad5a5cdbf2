//! A single machine, with an application that does anything at any time and a peer that sends anything.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use mcp_sansio::call::Timeout;
use mcp_sansio::config::{DuplicateIds, KeepAlive, RepliesWithoutId};
use mcp_sansio::progress::Progress;
use mcp_sansio::schema::Json;
use mcp_sansio::testing::{Broken, Choices, Meaning, Monitor, Promise, WorkMeter};
use mcp_sansio::{
    CallId, CallOptions, Cause, ConnectionConfig, ErrorCode, Framing, Inbox, IncomingId, Instant,
    Outbox, Phase, RespondError, RevisionSet,
};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::Machine;

/// One operation of the application, the peer, the transport or the clock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, clippy::exhaustive_enums, reason = "the names of the fields say it")]
pub enum Act {
    /// Bytes arrive.
    Bytes(Vec<u8>),
    /// The application makes a call.
    Call { method: &'static str, text: u16, idle: Option<u8>, progress: bool },
    /// The application makes a call whose params panic.
    CallThatPanics,
    /// The application cancels a call.
    Cancel(u16),
    /// The application responds to a request.
    Respond { which: u16, text: u16 },
    /// The application responds with a result that panics.
    RespondThatPanics(u16),
    /// The application reports progress of a request.
    Progress(u16, u8),
    /// The application sends a notification.
    Notify,
    /// The connection is opened.
    Begin,
    /// The transport sends so many bytes or messages.
    Send(u16),
    /// All due work is done.
    Settle,
    /// Time passes.
    Wait(u32),
    /// The connection ends in some way.
    End(u8),
}

impl Act {
    /// Returns a random operation other than bytes, which have their own source.
    pub fn choose(choices: &mut Choices) -> Self {
        const METHODS: [&str; 3] = ["ping", "tools/list", "x"];
        let which = |choices: &mut Choices| choices.below(1 << 16) as u16;
        match choices.below(20) {
            0..3 => Self::Settle,
            3..6 => Self::Send(choices.below(200) as u16),
            6..9 => Self::Call {
                method: choices.pick(&METHODS).unwrap_or("ping"),
                text: choices.below(200) as u16,
                idle: choices.one_in(2).then(|| choices.below(3) as u8),
                progress: choices.one_in(2),
            },
            9 => Self::CallThatPanics,
            10 => Self::Cancel(which(choices)),
            11..14 => Self::Respond { which: which(choices), text: choices.below(300) as u16 },
            14 => Self::RespondThatPanics(which(choices)),
            15 => Self::Progress(which(choices), choices.below(5) as u8),
            16 => Self::Notify,
            17 => Self::Begin,
            18 => Self::Wait(choices.pick(&[1, 2, 61_000]).unwrap_or(1)),
            _ => Self::End(choices.below(24) as u8),
        }
    }
}

/// Returns a random configuration. Its limits are small, so that they are reached.
pub fn connection(choices: &mut Choices) -> ConnectionConfig {
    let mut connection = ConnectionConfig::default();
    let limits = &mut connection.limits;
    if choices.one_in(2) {
        limits.outbox_bytes = 200 + choices.below(2800) as usize;
        limits.reserve_bytes = choices.below(500) as usize;
    }
    limits.outbound_calls = 1 + choices.below(5) as u32;
    limits.inbound_requests = 1 + choices.below(3) as u32;
    limits.remembered_calls = choices.below(4) as u32;
    if choices.one_in(2) {
        limits.held_bytes = choices.below(3000) as usize;
    }
    if choices.one_in(2) {
        limits.frame_bytes = 100 + choices.below(400) as usize;
    }
    limits.chunk_bytes = 1 + choices.below(49) as usize;
    if choices.one_in(2) {
        connection.duplicate_ids = DuplicateIds::Serve;
    }
    connection.match_stringified_ids = choices.one_in(2);
    if choices.one_in(2) {
        let rate = RepliesWithoutId::at_most(2, Duration::from_secs(1));
        connection.replies_without_id = Some(rate);
    }
    connection.first_call_id = choices.below(3) as u32;
    if choices.one_in(4) {
        connection.keep_alive = Some(KeepAlive::every(Duration::from_secs(30)));
    }
    if choices.one_in(4) {
        connection.timeouts.total = Some(Duration::from_secs(90));
    }
    connection
}

/// Returns random revisions: of both eras, or of one of them.
pub fn revisions(choices: &mut Choices) -> RevisionSet {
    let sets = [RevisionSet::ALL, RevisionSet::MODERN, RevisionSet::LEGACY];
    choices.pick(&sets).unwrap_or(RevisionSet::ALL)
}

const METHOD: &[u8] = b"\"notifications/cancelled\"";

/// A member of every message about a subscription.
const TAG: &[u8] = b"io.modelcontextprotocol/subscriptionId";

/// The number of bytes that configure the machine of [`survive`].
pub const CONFIGURATION: usize = 24;

/// The first byte of a line that encodes operations of the application.
pub const APPLICATION: u8 = 0x01;

/// Checks that a machine survives these bytes. The first bytes configure it. Lines follow: those that begin with
/// [`APPLICATION`] encode operations of the application, and all others come from the peer.
///
/// # Errors
///
/// Returns the broken promise.
pub fn survive<M: Machine>(bytes: &[u8]) -> Result<(), Broken> {
    let (head, rest) = bytes.split_at(bytes.len().min(CONFIGURATION));
    let mut choices = Choices::from_bytes(head);
    let framing = if choices.one_in(2) { Framing::Messages } else { Framing::Lines };
    let (connection, revisions) = (connection(&mut choices), revisions(&mut choices));
    let acts = rest.split_inclusive(|byte| *byte == b'\n').flat_map(|line| {
        let (own, of_peer) = match line.split_first() {
            Some((&APPLICATION, own)) => (own, None),
            _ => (&[][..], Some(Act::Bytes(line.to_vec()))),
        };
        let mut choices = Choices::from_bytes(own);
        let own = std::iter::from_fn(move || {
            (!choices.is_exhausted()).then(|| Act::choose(&mut choices))
        });
        own.chain(of_peer)
    });
    Single::<M>::new(connection, revisions, framing).run(acts)
}

/// A machine with its environment and its invariants.
#[derive(Debug)]
pub struct Single<M> {
    machine: M,
    inbox: Inbox,
    out: Outbox,
    framing: Framing,
    chunk_bytes: usize,
    now: Instant,
    monitor: Monitor,
    calls: Vec<CallId>,
    requests: Vec<IncomingId>,
    /// The sent part of a message that is not completely sent.
    line: Vec<u8>,
}

impl<M: Machine> Single<M> {
    /// Creates a machine before its first operation.
    pub fn new(connection: ConnectionConfig, revisions: RevisionSet, framing: Framing) -> Self {
        let limits = connection.limits.clone();
        let serves = connection.duplicate_ids == DuplicateIds::Serve;
        Self {
            machine: M::with(connection, revisions),
            inbox: Inbox::new(&limits),
            out: Outbox::new(framing, &limits),
            framing,
            chunk_bytes: limits.chunk_bytes,
            now: Instant::from_millis(1),
            monitor: Monitor::new().serving_duplicates(serves),
            calls: Vec::new(),
            requests: Vec::new(),
            line: Vec::new(),
        }
    }

    /// Runs all operations, and then the end of the connection.
    ///
    /// # Errors
    ///
    /// Returns the broken promise.
    pub fn run(mut self, acts: impl IntoIterator<Item = Act>) -> Result<(), Broken> {
        for act in acts {
            self.step(&act)?;
        }
        self.copy_at_the_last_instant()?;
        self.step(&Act::End(1))?;
        self.step(&Act::Settle)?;
        self.step(&Act::Send(u16::MAX))?;
        if self.monitor.is_closed() {
            return Ok(());
        }
        Err(Broken::new(Promise::OneOutcome, "a connection that is broken has not ended"))
    }

    /// Handles the timeouts of a copy at the last instant: a deadline that saturates there never passes, so that the
    /// number of timeouts is bounded.
    fn copy_at_the_last_instant(&self) -> Result<(), Broken> {
        const MANY: usize = 10_000;
        let (mut machine, mut out) = (self.machine.clone(), self.out.clone());
        let last = Instant::from_nanos(u64::MAX);
        let is_over = (0..MANY).any(|_| machine.handle_timeout(last, &mut out).is_none());
        let text = "the timeouts at the last instant do not end";
        if is_over { Ok(()) } else { Err(Broken::new(Promise::Total, text)) }
    }

    /// Runs one operation.
    ///
    /// # Errors
    ///
    /// Returns the broken promise.
    pub fn step(&mut self, act: &Act) -> Result<(), Broken> {
        let Self { machine, out, framing, monitor, now, line, .. } = self;
        match act {
            Act::Bytes(bytes) => self.receive(bytes)?,
            Act::Call { .. } | Act::CallThatPanics => self.call(act)?,
            Act::Cancel(which) => {
                if let Some(call) = pick(&self.calls, *which)
                    && machine.cancel(call, Some("why"), out).is_ok()
                {
                    monitor.cancelled(call)?;
                }
            }
            Act::Respond { which, text } => self.respond(*which, *text)?,
            Act::RespondThatPanics(which) => {
                if let Some(request) = pick(&self.requests, *which) {
                    self.panic_in(|machine, _, out| {
                        machine.respond(request, &Json(&Panics), out).is_ok()
                    })?;
                }
            }
            Act::Progress(which, step) => {
                if let Some(request) = pick(&self.requests, *which)
                    && machine.progress(request, Progress::new(*step), *now, out).is_ok()
                    && !monitor.requests().any(|open| open == request)
                {
                    return Err(Broken::new(Promise::OneAnswer, "progress of what has ended"));
                }
            }
            Act::Notify => _ = machine.notify_method("notifications/x", &(), None, out),
            Act::Begin => machine.begin(*now, out),
            Act::Send(count) => send((out, *framing), usize::from(*count), line, monitor)?,
            Act::Wait(milliseconds) => {
                *now = *now + Duration::from_millis(u64::from(*milliseconds));
            }
            Act::Settle => self.settle()?,
            Act::End(0) => machine.disconnected(Cause::EndOfInput, *now),
            Act::End(1) => machine.disconnected(Cause::WriteFailed, *now),
            Act::End(2) => machine.close(),
            Act::End(3) => machine.shut_down(Duration::from_secs(5), *now),
            Act::End(_) => {}
        }
        self.monitor.check(&self.machine, self.now)
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        let Self { machine, inbox, out, framing, monitor, requests, now, line, .. } = self;
        for chunk in bytes.chunks(self.chunk_bytes) {
            if inbox.feed(chunk) != chunk.len() {
                return Err(Broken::new(Promise::Bounded, "no room for a chunk"));
            }
            while let Some(frame) = inbox.next() {
                let bytes = frame.bytes();
                // A message about a subscription that was written before its cancellation may leave after it. The
                // monitor cannot tell it from one that was written later.
                if has(bytes, METHOD) && has(&[&**line, out.unsent()].concat(), TAG) {
                    send((out, *framing), usize::MAX, line, monitor)?;
                }
                monitor.delivered(bytes);
                let meter = WorkMeter::start();
                let event = machine.receive(frame, *now, out);
                meter.check(bytes.len())?;
                if let Some(event) = event {
                    let is_cancelled = matches!(M::meaning(&event), Meaning::RequestEnded(_));
                    if is_cancelled && has(bytes, METHOD) {
                        monitor.cancelled_by(bytes);
                    }
                    if let Meaning::Request(id) = M::meaning(&event) {
                        requests.push(id);
                    }
                    monitor.event::<M>(&event)?;
                }
            }
        }
        Ok(())
    }

    fn call(&mut self, act: &Act) -> Result<(), Broken> {
        let Act::Call { method, text, idle, progress } = act else {
            return self.panic_in(|machine, now, out| {
                machine.call_method("x", &Json(&Panics), CallOptions::new(), now, out).is_ok()
            });
        };
        let params = serde_json::json!({"text": "y".repeat(usize::from(*text))});
        let mut options = CallOptions::new();
        if *progress {
            options = options.progress();
        }
        if let Some(idle) = *idle {
            options = options.idle(Timeout::After(Duration::from_millis(idle.into())));
        }
        let made = self.machine.call_method(method, &params, options, self.now, &mut self.out);
        let Ok(call) = made else { return Ok(()) };
        self.calls.push(call);
        self.monitor.called(call)
    }

    fn respond(&mut self, which: u16, text: u16) -> Result<(), Broken> {
        let Some(request) = pick(&self.requests, which) else { return Ok(()) };
        let result = serde_json::json!({"text": "z".repeat(usize::from(text))});
        let is_open = self.monitor.requests().any(|open| open == request);
        let is_wrong = match self.machine.respond(request, &result, &mut self.out) {
            Ok(()) => return self.monitor.answered(request),
            Err(RespondError::Encode(_)) if is_open => return self.can_be_rejected(request),
            Err(RespondError::Encode(_)) => true,
            // The request was cancelled together with another one of the same id; the event is still due.
            Err(RespondError::Cancelled) => false,
            Err(_) => is_open && self.machine.phase() != Phase::Closed,
        };
        if is_wrong {
            return Err(Broken::new(Promise::OneAnswer, format!("{request} is open or not?")));
        }
        Ok(())
    }

    /// Checks that a request whose result has no room can get an error at the latest when nothing waits to be sent.
    fn can_be_rejected(&self, request: IncomingId) -> Result<(), Broken> {
        let (mut machine, mut out) = (self.machine.clone(), self.out.clone());
        let rejected = machine.reject(request, ErrorCode::INTERNAL_ERROR, "e", &mut out);
        if self.out.is_empty() && rejected.is_err() {
            let text = format!("{request} can get no response: {rejected:?}");
            return Err(Broken::new(Promise::OneAnswer, text));
        }
        Ok(())
    }

    /// Checks that a payload that panics while it is written changes nothing.
    fn panic_in(
        &mut self,
        act: impl FnOnce(&mut M, Instant, &mut Outbox) -> bool,
    ) -> Result<(), Broken> {
        let before = (self.machine.clone(), self.out.clone());
        let (machine, now, out) = (&mut self.machine, self.now, &mut self.out);
        let acted = catch_unwind(AssertUnwindSafe(|| act(machine, now, out)));
        if matches!(acted, Ok(true)) || before != (self.machine.clone(), self.out.clone()) {
            return Err(Broken::new(Promise::Total, "a payload that panics has changed something"));
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<(), Broken> {
        let Self { machine, out, monitor, now, .. } = self;
        while let Some(event) = machine.handle_timeout(*now, out) {
            monitor.event::<M>(&event)?;
        }
        monitor.settled(machine, *now)
    }
}

/// Checks that complete messages are sent, each of them JSON-RPC. `count` is a number of bytes or of messages.
fn send(
    (out, framing): (&mut Outbox, Framing),
    count: usize,
    line: &mut Vec<u8>,
    monitor: &mut Monitor,
) -> Result<(), Broken> {
    let mut messages = Vec::new();
    if framing == Framing::Lines {
        let count = out.len().min(count);
        line.extend(&out.unsent()[..count]);
        out.sent(count);
        while let Some(end) = line.iter().position(|byte| *byte == b'\n') {
            messages.push(line.drain(..=end).collect());
        }
    } else {
        messages.extend(out.messages().take(count).map(<[u8]>::to_vec));
    }
    messages.iter().try_for_each(|message| monitor.sent(message))
}

fn has(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|part| part == text)
}

fn pick<T: Copy>(things: &[T], which: u16) -> Option<T> {
    things.get(usize::from(which).checked_rem(things.len())?).copied()
}

/// A payload that panics halfway.
struct Panics;

impl Serialize for Panics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("a", &1)?;
        std::panic::resume_unwind(Box::new("a payload that panics"));
    }
}
