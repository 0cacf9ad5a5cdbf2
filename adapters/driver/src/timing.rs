//! Deadlines, and the end of a connection.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant as Monotonic};

use mcp_sansio::{Cause, Instant, Phase};

use crate::machine::Machine;
use crate::out::Out;
use crate::output::Writing;
use crate::wire::{State, Wire};

/// How long the handlers of events that arrived before the end may take after it.
const LAST_EVENTS: Duration = Duration::from_secs(2);

/// The state of a closed connection that still has output to write or events to deliver.
pub(crate) struct Closing {
    /// The time at which the connection closed.
    since: Instant,
    /// The time at which all output had been written.
    written: Option<Instant>,
    has_ended: bool,
}

/// The next step of the task that handles timeouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "there is more to do, or there is not")]
pub enum Timing {
    /// Poll again at this time, or when woken.
    Until(Option<Monotonic>),
    /// Nothing: the connection has ended.
    Over,
}

/// Returns the earlier of two times that may be absent.
#[inline]
fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, None) => one,
        (None, other) => other,
    }
}

impl<M: Machine> Wire<M> {
    /// Handles the due timeouts, and returns when to poll again. The waker is called if that time moves forward.
    ///
    /// For adapters that handle the timeouts of many connections in one place; [`Drive`](crate::Drive) handles
    /// those of one.
    pub fn poll_time(self: &Arc<Self>, context: &Context<'_>) -> Timing {
        let mut state = self.lock();
        self.settle(&mut state, self.clock.now());
        let deadline = self.next_deadline(&state);
        let old = state.timer.replace((context.waker().clone(), deadline));
        let is_over = state.has_ended();
        self.release(state);
        drop(old);
        if is_over {
            return Timing::Over;
        }
        // A deadline that the clock cannot represent is never reached.
        Timing::Until(deadline.and_then(|deadline| self.clock.monotonic(deadline)))
    }

    /// Drops the waker of the task that handles timeouts, which is about to do so.
    pub(crate) fn forget_timer(&self) {
        let timer = self.lock().timer.take();
        drop(timer);
    }

    /// Stops reading at the end of the connection. By default a client continues: a server that shuts down may
    /// still be writing, and would die of a broken pipe instead of ending.
    pub fn stop_reading(self: &Arc<Self>) {
        self.act(|state| {
            state.output.has_stopped_reading = true;
            let reader = state.output.rest.get_mut().and_then(|rest| rest.reader.take());
            state.after.wake(reader);
        });
    }

    /// Whether [`stop_reading`](Self::stop_reading) has been called.
    pub(crate) fn has_stopped_reading(&self) -> bool {
        self.lock().output.has_stopped_reading
    }

    pub(crate) fn poll_reading_stopped(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.output.has_stopped_reading {
            return Poll::Ready(());
        }
        let old = state.output.rest.needed().reader.replace(context.waker().clone());
        drop(state);
        drop(old);
        Poll::Pending
    }

    /// Ends the connection at once, because no task reads, writes or handles timeouts any more: every call ends,
    /// and handlers are notified. Has no effect after the end.
    pub fn abandon(self: &Arc<Self>) {
        let mut state = self.lock();
        state.output.writing = Writing::Over;
        let now = self.clock.now();
        state.machine.disconnected(Cause::ShutDown, now);
        self.settle(&mut state, now);
        if !state.has_ended() {
            let closing = Closing { since: now, written: Some(now), has_ended: true };
            state.closing = Some(Box::new(closing));
            state.note_end();
        }
        self.release(state);
    }

    pub(crate) fn next_deadline(&self, state: &State<M>) -> Option<Instant> {
        // Called after every operation, and most of these deadlines rarely exist.
        let mut next = state.machine.poll_timeout();
        if let Out::Http(_) = &state.out {
            next = earlier(next, earlier(state.out.poll_timeout(), state.http.deadline()));
        }
        if self.tasks.is_some() {
            next = earlier(next, self.next_expiry(state));
        }
        if state.reader.is_some() {
            next = earlier(next, state.reader_deadline());
        }
        if let Some(closing) = &state.closing {
            next = earlier(next, self.closing_deadline(state, closing));
        }
        next
    }

    /// Returns the deadline of the current step of closing.
    fn closing_deadline(&self, state: &State<M>, closing: &Closing) -> Option<Instant> {
        match closing.written {
            _ if closing.has_ended => None,
            Some(written) => Some(written + LAST_EVENTS),
            None => {
                let last = state.output.last_write.into_iter().fold(closing.since, Instant::max);
                let last = last + self.patience;
                Some(M::LAST_WRITE.map_or(last, |most| last.min(closing.since + most)))
            }
        }
    }

    /// Advances the end of a closed connection. Writing may take as long as the peer keeps reading with pauses of
    /// at most `patience`.
    pub(crate) fn check_end(&self, state: &mut State<M>, now: Instant) {
        if state.machine.phase() != Phase::Closed || state.has_ended() {
            return;
        }
        let permits = state.requests.clear();
        if !permits.is_empty() {
            state.after.more().permits.extend(permits);
        }
        let new = Closing { since: now, written: None, has_ended: false };
        let closing = state.closing.take().map_or(new, |closing| *closing);
        let is_due = self.closing_deadline(state, &closing).is_some_and(|deadline| deadline <= now);
        let closing = self.close_further(state, closing, is_due, now);
        state.closing = Some(Box::new(closing));
    }

    fn close_further(
        &self,
        state: &mut State<M>,
        mut closing: Closing,
        is_due: bool,
        now: Instant,
    ) -> Closing {
        let mut is_due = is_due;
        if closing.written.is_none() {
            if state.is_unwritten() {
                if !is_due {
                    return closing;
                }
                state.output.writing = Writing::Over;
                state.output.failure.get_or_insert_with(|| {
                    let text = "the peer stopped reading before everything was written";
                    io::Error::new(ErrorKind::TimedOut, text)
                });
            }
            closing.written = Some(now);
            is_due = false;
        }
        if state.events.is_idle() || is_due {
            closing.has_ended = true;
            state.note_end();
        }
        closing
    }

    /// Returns the first read or write error, once; [`TimedOut`](ErrorKind::TimedOut) if the peer stopped reading
    /// before the end of the output. A peer that disconnects is no error.
    pub(crate) fn failure(&self) -> io::Result<()> {
        self.lock().output.failure.take().map_or(Ok(()), Err)
    }
}

impl<M: Machine> State<M> {
    /// Wakes everything that waits for the end of the connection.
    fn note_end(&mut self) {
        self.after.ended = true;
        let woken = self.events.barriers.take();
        self.after.wake(woken);
    }

    /// Whether the connection has ended completely.
    pub(crate) fn has_ended(&self) -> bool {
        self.closing.as_ref().is_some_and(|closing| closing.has_ended)
    }

    /// Whether output may still be written, or a stream has not been closed.
    fn is_unwritten(&self) -> bool {
        match self.output.writing {
            Writing::Idle => self.output.is_attached || !self.out.is_done(),
            Writing::Busy | Writing::Closing => true,
            Writing::Over => false,
        }
    }
}
