//! A client with calls in flight.

use std::hint::black_box;
use std::time::Duration;

use mcp_sansio::call::{Cancellation, Timeout};
use mcp_sansio::schema::Json;
use mcp_sansio::{CallError, CallId, CallOptions, ClientEvent, Instant, Limits};

use super::{Dice, Meter, Round, Work, limits};
use crate::core_client::Asking;
use crate::messages::{self, CallParams};

pub(super) const ALL: &[Work] = &[
    Work::in_flight("client: call and answer", |in_flight| answers(Busy::timed(in_flight))),
    Work::in_flight("client: call and answer, without timers", |in_flight| {
        answers(Busy::untimed(in_flight))
    }),
    Work::in_flight("client: call refused, there is no room", refusals),
    Work::in_flight("client: call cancelled", cancellations),
    Work::in_flight("client: call taken back, nothing has been sent", withdrawals).open(),
    Work::in_flight("client: progress taken in", |in_flight| reports(Busy::timed(in_flight))),
    Work::in_flight("client: progress taken in, without timers", |in_flight| {
        reports(Busy::untimed(in_flight))
    }),
    Work::in_flight("client: change of a list taken in", changes),
];

/// A client with pending calls.
pub(super) struct Busy {
    pub(super) asking: Asking,
    /// The calls, each with its wire id.
    pub(super) open: Vec<(u64, CallId)>,
    /// The latest wire id. The first one belongs to `initialize`.
    latest: u64,
    pub(super) now: Instant,
    options: CallOptions,
    pub(super) dice: Dice,
}

impl Busy {
    /// Calls with the timeouts of the configuration.
    pub(super) fn timed(in_flight: usize) -> Self {
        Self::with(in_flight, CallOptions::new().progress())
    }

    /// Calls that never time out.
    pub(super) fn untimed(in_flight: usize) -> Self {
        let options = CallOptions::new().progress();
        Self::with(in_flight, options.idle(Timeout::Never).total(Timeout::Never))
    }

    fn with(in_flight: usize, options: CallOptions) -> Self {
        let mut busy = Self::idle(limits(), options);
        busy.call_many(in_flight);
        busy
    }

    fn idle(limits: Limits, options: CallOptions) -> Self {
        Self {
            asking: Asking::with(limits),
            open: Vec::new(),
            latest: 1,
            now: Instant::EPOCH,
            options,
            dice: Dice::new(),
        }
    }

    /// Makes `count` calls that remain pending.
    pub(super) fn call_many(&mut self, count: usize) {
        for _ in 0..count {
            let call = self.call(self.options);
            self.open.push(call);
        }
    }

    /// Makes a call and sends it.
    pub(super) fn call(&mut self, options: CallOptions) -> (u64, CallId) {
        let call = self.try_call(options).unwrap();
        assert_ne!(self.asking.send(), 0);
        self.latest += 1;
        (self.latest, call)
    }

    fn try_call(&mut self, options: CallOptions) -> Result<CallId, CallError> {
        let Asking { client, outbox, .. } = &mut self.asking;
        let params = CallParams::of(messages::TEXT);
        client.call_method("tools/call", &Json(&params), options, self.now, outbox)
    }

    /// Receives a line and returns the call of its event.
    fn feed(&mut self, line: &[u8]) -> Option<CallId> {
        let Asking { client, inbox, outbox, .. } = &mut self.asking;
        assert_eq!(inbox.feed(line), line.len());
        let frame = inbox.next()?;
        match black_box(client.receive(frame, self.now, outbox))? {
            ClientEvent::CallEnded(ended) => Some(ended.call),
            ClientEvent::Progress(update) => Some(update.call),
            ClientEvent::Notification(_) => None,
            event => panic!("{event:?}"),
        }
    }

    /// Receives the response to a call.
    pub(super) fn answer(&mut self, (id, call): (u64, CallId)) {
        let mut answer = Vec::new();
        messages::answer(id, &mut answer);
        assert_eq!(self.feed(&answer), Some(call));
    }

    /// Advances the clock by a millisecond.
    fn wait(&mut self) {
        self.now = self.now + Duration::from_millis(1);
    }
}

/// Makes a call and receives the response to one of the pending calls.
fn answers(mut busy: Busy) -> Round {
    let mut answer = Vec::new();
    Box::new(move |meter: &Meter| {
        busy.wait();
        let at = busy.dice.roll(busy.open.len());
        let (id, answered) = busy.open[at];
        messages::answer(id, &mut answer);
        meter.count(|| {
            busy.open[at] = busy.call(busy.options);
            assert_eq!(busy.feed(black_box(&answer)), Some(answered));
        });
        1
    })
}

/// Makes a call at the limit of pending calls.
fn refusals(in_flight: usize) -> Round {
    let mut limits = limits();
    limits.outbound_calls = u32::try_from(in_flight).unwrap();
    let mut busy = Busy::idle(limits, CallOptions::new());
    busy.call_many(in_flight);
    Box::new(move |meter: &Meter| {
        let refused = meter.count(|| busy.try_call(busy.options));
        assert_eq!(refused, Err(CallError::TooManyCalls));
        1
    })
}

/// Cancels one of the unsent calls. The outbox is contiguous, so the withdrawal moves the bytes before or after the
/// call, whichever are fewer. A driver that keeps sending has few of them; a driver that does not can bound them with
/// `Limits::outbox_bytes`.
fn withdrawals(in_flight: usize) -> Round {
    let mut busy = Busy::timed(0);
    let call = |busy: &mut Busy| busy.try_call(busy.options).unwrap();
    let mut calls: Vec<_> = (0..in_flight).map(|_| call(&mut busy)).collect();
    Box::new(move |meter: &Meter| {
        let at = busy.dice.roll(in_flight);
        let call = busy.try_call(busy.options).unwrap();
        let cancelled = std::mem::replace(&mut calls[at], call);
        let Asking { client, outbox, .. } = &mut busy.asking;
        let cancelled = meter.count(|| client.cancel(cancelled, None, outbox));
        assert_eq!(cancelled, Ok(Cancellation::Withdrawn));
        1
    })
}

/// Cancels one of the pending calls.
fn cancellations(in_flight: usize) -> Round {
    let mut busy = Busy::timed(in_flight);
    Box::new(move |meter: &Meter| {
        busy.wait();
        let call = busy.call(busy.options);
        let at = busy.dice.roll(in_flight);
        let (_, cancelled) = std::mem::replace(&mut busy.open[at], call);
        meter.count(|| {
            let Asking { client, outbox, .. } = &mut busy.asking;
            let cancelled = client.cancel(cancelled, None, outbox);
            assert_eq!(cancelled, Ok(Cancellation::Notified));
            assert_ne!(busy.asking.send(), 0);
        });
        1
    })
}

/// Receives progress of one of the pending calls, which extends its idle deadline.
fn reports(mut busy: Busy) -> Round {
    let mut done = 100_000_u64;
    Box::new(move |meter: &Meter| {
        busy.wait();
        done += 1;
        let at = busy.dice.roll(busy.open.len());
        let (id, call) = busy.open[at];
        let line = messages::line(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":{done}}}}}"#
        ));
        meter.count(|| assert_eq!(busy.feed(black_box(&line)), Some(call)));
        1
    })
}

/// Receives a notification that the tool list changed.
fn changes(in_flight: usize) -> Round {
    let mut busy = Busy::timed(in_flight);
    let line = messages::line(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    Box::new(move |meter: &Meter| {
        meter.count(|| assert_eq!(busy.feed(black_box(&line)), None));
        1
    })
}
