//! Writes the output of a connection.

use std::io::{self, ErrorKind};
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Poll, Waker, ready};

use mcp_sansio::{Cause, Instant, Phase};

use crate::machine::Machine;
use crate::streams::Outgoing;
use crate::wire::{State, Wire};

/// How much is handed to the system in one write. A call that is in there counts as sent.
const WRITE_BYTES: usize = 64 << 10;

/// How writing goes.
#[derive(Default)]
pub(crate) struct Output {
    pub(crate) writing: Writing,
    /// What went wrong while reading or writing, if it was more than that the peer has gone.
    pub(crate) failure: Option<io::Error>,
    /// When the peer has last taken something.
    pub(crate) last_write: Option<Instant>,
    /// Whoever waits for something to write.
    pub(crate) writer: Option<Waker>,
    /// Somebody writes: it is not over before the stream has been closed.
    pub(crate) is_attached: bool,
    /// Nobody wants to know what the peer says after the end.
    pub(crate) has_stopped_reading: bool,
    /// Whoever waits for that.
    pub(crate) reader: Option<Waker>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Writing {
    #[default]
    Idle,
    /// Bytes that have left the outbox have not arrived yet.
    Busy,
    /// Everything has arrived, and the stream is being closed.
    Closing,
    /// Writing has failed, or there will be nothing to write any more.
    Over,
}

impl<M: Machine> Wire<M> {
    /// A stream has failed.
    pub(crate) fn fail(self: &Arc<Self>, cause: Cause, error: io::Error) {
        let mut state = self.lock();
        if cause == Cause::WriteFailed {
            state.output.writing = Writing::Over;
        }
        // That the peer has gone is how connections end.
        let has_gone = matches!(
            error.kind(),
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted
        );
        if !has_gone {
            state.output.failure.get_or_insert(error);
        }
        drop(state);
        self.disconnected(cause);
    }

    /// Waits for output and copies a chunk of it, for somebody who blocks while writing. Says whether there
    /// was any: if not, there will be none.
    pub(crate) fn poll_chunk(
        self: &Arc<Self>,
        context: &Context<'_>,
        chunk: &mut Vec<u8>,
    ) -> Poll<bool> {
        let mut state = self.lock();
        if state.output.writing == Writing::Over {
            return Poll::Ready(false);
        }
        if state.out.is_empty() {
            if state.machine.phase() == Phase::Closed {
                return Poll::Ready(false);
            }
            let old = state.output.writer.replace(context.waker().clone());
            drop(state);
            drop(old);
            return Poll::Pending;
        }
        chunk.clear();
        let unsent = state.out.unsent();
        chunk.extend_from_slice(unsent.get(..WRITE_BYTES).unwrap_or(unsent));
        state.out.sent(chunk.len());
        state.output.writing = Writing::Busy;
        self.made_room(state, self.clock.now());
        Poll::Ready(true)
    }

    /// Does what follows from there being more room for output, and gives the lock back.
    fn made_room(self: &Arc<Self>, mut state: MutexGuard<'_, State<M>>, now: Instant) {
        if !self.settle_room(&mut state, now) {
            self.release(state);
        }
    }

    /// Does what follows from there being more room for output. Says whether nobody waits for that, so that no more than
    /// output of the machine can have come of it.
    pub(crate) fn settle_room(self: &Arc<Self>, state: &mut State<M>, now: Instant) -> bool {
        let is_due = state.machine.poll_timeout().is_some_and(|due| due <= now);
        if state.is_open() && !is_due && self.tasks.is_none() && !state.waits_for_room() {
            self.set_limit(state);
            // What the machine holds back until there is room leaves by this. Nothing else can come of it.
            match state.machine.handle_timeout(now, &mut state.out) {
                None => return true,
                Some(event) => self.deliver(state, event, 0),
            }
        }
        self.settle(state, now);
        false
    }

    /// The peer has taken something of a chunk. Says whether it is to get more.
    #[must_use]
    pub(crate) fn note_write(&self) -> bool {
        let mut state = self.lock();
        state.output.last_write = Some(self.clock.now());
        state.output.writing != Writing::Over
    }

    /// Whether the peer, or the system for it, has ever taken anything.
    pub(crate) fn has_written(&self) -> bool {
        self.lock().output.last_write.is_some()
    }

    /// The chunk has been written.
    pub(crate) fn wrote(self: &Arc<Self>) {
        let mut state = self.lock();
        let now = self.clock.now();
        state.output.last_write = Some(now);
        if state.output.writing == Writing::Busy {
            state.output.writing = Writing::Idle;
        }
        // Otherwise it may have been the last thing to do.
        if !state.is_open() {
            self.settle(&mut state, now);
            self.release(state);
        }
    }

    /// Nothing will be written any more.
    pub(crate) fn stop_writing(self: &Arc<Self>) {
        self.act(|state| state.output.writing = Writing::Over);
    }

    /// Writes what there is, and closes the stream when there will be no more. Ready means that the stream is
    /// done with.
    pub(crate) fn poll_write(
        self: &Arc<Self>,
        context: &mut Context<'_>,
        stream: &mut impl Outgoing,
    ) -> Poll<()> {
        loop {
            if let Err(error) = ready!(self.poll_empty(context, stream)) {
                self.fail(Cause::WriteFailed, error);
                return Poll::Ready(());
            }
            let mut state = self.lock();
            if state.output.writing == Writing::Over {
                return Poll::Ready(());
            }
            if !state.out.is_empty() {
                continue;
            }
            if state.machine.phase() != Phase::Closed {
                let old = state.output.writer.replace(context.waker().clone());
                drop(state);
                drop(old);
                return Poll::Pending;
            }
            // The other side may wait for this to see the end.
            state.output.writing = Writing::Closing;
            drop(state);
            // If closing fails the peer has gone, which is as good.
            _ = ready!(stream.poll_close(context));
            self.stop_writing();
            return Poll::Ready(());
        }
    }

    /// Writes until there is nothing left to write, and flushes it.
    fn poll_empty(
        self: &Arc<Self>,
        context: &mut Context<'_>,
        stream: &mut impl Outgoing,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut state = self.lock();
            let unsent = state.out.unsent();
            if state.output.writing == Writing::Over {
                return Poll::Ready(Ok(()));
            }
            if unsent.is_empty() {
                break;
            }
            // Not copied, so that a call is not sent before the stream has taken it. This does not block.
            let chunk = unsent.get(..WRITE_BYTES).unwrap_or(unsent);
            match ready!(stream.poll_write(context, chunk)) {
                Ok(0) => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                Ok(bytes) => {
                    state.out.sent(bytes);
                    state.output.writing = Writing::Busy;
                    let now = self.clock.now();
                    state.output.last_write = Some(now);
                    self.made_room(state, now);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        if self.lock().output.writing == Writing::Busy {
            ready!(stream.poll_flush(context))?;
            let mut state = self.lock();
            if state.out.is_empty() && state.output.writing == Writing::Busy {
                state.output.writing = Writing::Idle;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<M: Machine> State<M> {
    /// Whether somebody may go on when there is more room for output.
    pub(crate) fn waits_for_room(&self) -> bool {
        self.requests.has_waiting()
            || self.reader.is_some()
            || !self.room.is_empty()
            || !self.unanswered.is_empty()
            || !self.changes.is_empty()
            || !self.host_requests.is_empty()
            || self.http.waits_for_room()
    }
}
