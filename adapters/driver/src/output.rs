//! Writes the output of a connection to its stream.

use std::io::{self, ErrorKind, Write};
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use mcp_sansio::{Cause, Instant, Phase};

use crate::lazy_box::LazyBox;
use crate::machine::Machine;
use crate::streams::Outgoing;
use crate::sync::MutexGuard;
use crate::wire::{State, Wire};

/// The most bytes of one write to the stream. A call whose bytes are in that write counts as sent.
const WRITE_BYTES: usize = 64 << 10;

/// The largest buffer that an idle connection keeps for its input, and for its output.
pub(crate) const KEPT_BUFFER: usize = 1 << 20;

/// The state of the output side of a connection.
#[derive(Default)]
pub(crate) struct Output {
    pub(crate) writing: Writing,
    /// The first read or write error, unless it only reports that the peer has disconnected.
    pub(crate) failure: Option<io::Error>,
    /// The time at which the peer last accepted bytes, or of the operation before that while the connection is open.
    pub(crate) last_write: Option<Instant>,
    /// The waker of the task that waits for output to write.
    pub(crate) writer: Option<Waker>,
    /// Whether that task is running and has not looked for output yet, so nothing has to wake it.
    is_polled: bool,
    /// Whether a writer is attached. With a writer, the connection has ended only once the stream is closed.
    pub(crate) is_attached: bool,
    /// Whether reading stops at the end of the connection, because later messages of the peer are of no interest.
    pub(crate) has_stopped_reading: bool,
    /// Whether the next message to be read is known to be a request, so that it has to wait for room, also for output.
    pub(crate) is_request_next: bool,
    /// Whether the connection is a session that continues in another process.
    pub(crate) is_suspended: bool,
    /// State that few connections need.
    pub(crate) rest: LazyBox<OutputRest>,
}

#[derive(Default)]
pub(crate) struct OutputRest {
    /// The stream of [`Wire::write_directly`].
    direct: Option<Box<dyn Write + Send>>,
    /// The waker of the reader that waits for `has_stopped_reading`.
    pub(crate) reader: Option<Waker>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Writing {
    #[default]
    Idle,
    /// Bytes have left the outbox and have not been written yet.
    Busy,
    /// Everything has been written, and the stream is being closed.
    Closing,
    /// Writing has failed, or no more output will follow.
    Over,
}

impl<M: Machine> Wire<M> {
    /// Handles the failure of a stream.
    pub(crate) fn fail(self: &Arc<Self>, cause: Cause, error: io::Error) {
        let mut state = self.lock();
        if cause == Cause::WriteFailed {
            state.output.writing = Writing::Over;
        }
        // A peer that disconnects is the normal end of a connection.
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

    /// Waits for output and copies a chunk of it, for a writer that blocks. Ready with `false` if there will be no
    /// more output.
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
            state.out.release_above(KEPT_BUFFER);
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
        let now = self.time_of_output(&state);
        self.made_room(state, now);
        Poll::Ready(true)
    }

    /// Runs `act` without the limit of the outbox. The bytes beyond the limit do not count while they are in the
    /// outbox, so that the machine still has room for its own messages, such as the response to a ping.
    pub(crate) fn without_limit<T>(
        &self,
        state: &mut State<M>,
        act: impl FnOnce(&mut State<M>) -> T,
    ) -> T {
        let before = state.out.len();
        state.out.set_limit(usize::MAX);
        let result = act(state);
        if before < state.out.len() {
            state.excess = state.out.len();
        }
        self.set_limit(state);
        result
    }

    pub(crate) fn set_limit(&self, state: &mut State<M>) {
        state.excess = state.excess.min(state.out.len());
        state.out.set_limit(self.limits.outbox_bytes.max(state.excess));
    }

    /// Returns the time at which output leaves: usually that of the last operation, because no deadline depends on it.
    /// The end of the connection, or of its input, may wait for the peer to read.
    fn time_of_output(&self, state: &State<M>) -> Instant {
        if state.is_open() && state.reader.is_none() { state.now } else { self.clock.now() }
    }

    /// Settles the connection after output was sent, and releases the lock.
    fn made_room(self: &Arc<Self>, mut state: MutexGuard<'_, State<M>>, now: Instant) {
        if !self.settle_room(&mut state, now) {
            self.release(state);
        }
    }

    /// Settles the connection after output was sent. Returns `true` if nothing waited for room; then at most new
    /// output of the machine has resulted.
    pub(crate) fn settle_room(self: &Arc<Self>, state: &mut State<M>, now: Instant) -> bool {
        if state.is_open() && self.tasks.is_none() && !state.waits_for_room() {
            self.set_limit(state);
            // The machine sends the output that it held back for lack of room. Nothing else waits for room.
            if !state.machine.in_flight().is_due(now) {
                return true;
            }
            match state.machine.handle_timeout(now, &mut state.out) {
                None => return true,
                Some(event) => self.deliver(state, event, 0),
            }
        }
        self.settle(state, now);
        false
    }

    /// Notes that the peer has accepted a part of a chunk. Returns whether to write the rest.
    #[must_use]
    pub(crate) fn note_write(&self) -> bool {
        let mut state = self.lock();
        state.output.last_write = Some(self.clock.now());
        state.output.writing != Writing::Over
    }

    /// Whether no more output will be written.
    pub(crate) fn has_given_up_writing(&self) -> bool {
        self.lock().output.writing == Writing::Over
    }

    /// Whether the peer, or the system on its behalf, has ever accepted bytes.
    pub(crate) fn has_written(&self) -> bool {
        self.lock().output.last_write.is_some()
    }

    /// Notes that the chunk has been written.
    pub(crate) fn wrote(self: &Arc<Self>) {
        let mut state = self.lock();
        let now = self.time_of_output(&state);
        state.output.last_write = Some(now);
        if state.output.writing == Writing::Busy {
            state.output.writing = Writing::Idle;
        }
        // In an open connection nothing waits for this write. Otherwise it may have been the last step before the
        // end.
        if !state.is_open() {
            self.settle(&mut state, now);
            self.release(state);
        }
    }

    /// Stops writing for good.
    pub(crate) fn stop_writing(self: &Arc<Self>) {
        self.act(|state| state.output.writing = Writing::Over);
    }

    /// Sets a stream for the output of an open connection, which is written on the thread that has caused it: if the thread
    /// of [`write_on_thread`](Self::write_on_thread) waits for output, at most one handler runs, no request waits for
    /// one, and nothing waits for room. All other output is left to that thread. A connection with shared tasks leaves
    /// everything to it.
    ///
    /// The stream leads to the peer like that of the thread, and never blocks: a write that would block is the error
    /// [`WouldBlock`](ErrorKind::WouldBlock). It is called under the lock of the connection: it must not use the
    /// connection. It is dropped when the thread ends.
    pub fn write_directly(&self, stream: impl Write + Send + 'static) {
        if self.tasks.is_none() {
            self.lock().output.rest.needed().direct = Some(Box::new(stream));
        }
    }

    /// Drops that stream.
    pub(crate) fn end_direct_writes(&self) {
        let mut state = self.lock();
        let stream = state.output.rest.get_mut().and_then(|rest| rest.direct.take());
        drop(state);
        drop(stream);
    }

    /// Notes that the task that writes is running, and is going to call [`poll_write`](Self::poll_write).
    pub(crate) fn begin_poll(&self) {
        self.lock().output.is_polled = true;
    }

    /// Writes the output, and closes the stream when no more will follow. Ready once the stream is finished.
    pub(crate) fn poll_write(
        self: &Arc<Self>,
        context: &mut Context<'_>,
        stream: &mut impl Outgoing,
    ) -> Poll<()> {
        let mut state = match ready!(self.poll_empty(context, stream)) {
            Ok(state) => state,
            Err(error) => {
                self.fail(Cause::WriteFailed, error);
                return Poll::Ready(());
            }
        };
        if state.output.writing == Writing::Over {
            return Poll::Ready(());
        }
        if state.machine.phase() != Phase::Closed {
            let output = &mut state.output;
            output.is_polled = false;
            let waker = context.waker();
            let old = match &output.writer {
                Some(known) if known.will_wake(waker) => None,
                _ => output.writer.replace(waker.clone()),
            };
            drop(state);
            drop(old);
            return Poll::Pending;
        }
        // The peer may wait for the end of this stream.
        state.output.writing = Writing::Closing;
        drop(state);
        // An error while closing means that the peer has disconnected, which has the same effect.
        _ = ready!(stream.poll_close(context));
        self.stop_writing();
        Poll::Ready(())
    }

    /// Writes until the outbox is empty, and flushes the stream. Ready with the lock.
    fn poll_empty(
        self: &Arc<Self>,
        context: &mut Context<'_>,
        stream: &mut impl Outgoing,
    ) -> Poll<io::Result<MutexGuard<'_, State<M>>>> {
        let mut state = self.lock();
        while state.output.writing != Writing::Over && !state.out.is_empty() {
            // The bytes are not copied, so that a call counts as sent only once the stream has accepted it. The
            // write does not block.
            let unsent = state.out.unsent();
            let chunk = unsent.get(..WRITE_BYTES).unwrap_or(unsent);
            match ready!(stream.poll_write(context, chunk)) {
                Ok(0) => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                Ok(bytes) => {
                    state.out.sent(bytes);
                    state.output.writing = Writing::Busy;
                    let now = self.time_of_output(&state);
                    state.output.last_write = Some(now);
                    if !self.settle_room(&mut state, now) {
                        self.release(state);
                        state = self.lock();
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        state.out.release_above(KEPT_BUFFER);
        if state.output.writing == Writing::Busy {
            ready!(stream.poll_flush(context))?;
            state.output.writing = Writing::Idle;
        }
        Poll::Ready(Ok(state))
    }
}

impl<M: Machine> State<M> {
    /// Returns the waker of the writer if there is output for it, or if it has to close the stream.
    pub(crate) fn take_writer(&mut self) -> Option<Waker> {
        if self.output.is_polled || self.output.writer.is_none() {
            // Over HTTP nothing waits here, and the last condition would look at every stream.
            return None;
        }
        let has_work = self.machine.phase() == Phase::Closed || !self.out.is_empty();
        if has_work { self.output.writer.take() } else { None }
    }

    /// Writes the output of an open connection without the thread that writes, as far as the stream does not block. That
    /// thread has to wait for output. It also writes if something waits for room, because it settles the connection after
    /// a write, and if more responses are about to follow, because it writes them together.
    pub(crate) fn try_write_directly(&mut self) {
        // Few connections have such a stream.
        let has_stream = self.output.rest.get().is_some_and(|rest| rest.direct.is_some());
        if !has_stream || self.output.writer.is_none() || !self.may_write_directly() {
            return;
        }
        let Self { output, out, now, .. } = self;
        let rest = output.rest.get_mut();
        let Some(stream) = rest.and_then(|rest| rest.direct.as_mut()) else { return };
        // The thread meets an error again, and handles it.
        if let Ok(bytes) = stream.write(out.unsent()) {
            out.sent(bytes);
            output.last_write = Some(*now);
        }
    }

    fn may_write_directly(&self) -> bool {
        self.is_open()
            && !self.out.is_empty()
            && self.requests.is_one_at_a_time()
            && !self.waits_for_room()
            && !self.machine.in_flight().is_due(self.now)
    }

    /// Whether any task or request waits for room in the outbox.
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
