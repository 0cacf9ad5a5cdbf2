//! [`Drive`]: a connection on asynchronous streams of any runtime.

use std::fmt;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::thread::panicking;
use std::time::Instant;

use mcp_sansio::{Cause, Inbox};

use crate::machine::Machine;
use crate::output::KEPT_BUFFER;
use crate::timing::Timing;
use crate::wire::Wire;
use crate::workers::InlineWorker;

/// The most reads of one poll.
const READS: usize = 32;

/// An asynchronous input stream of a runtime.
pub trait Incoming: Unpin {
    /// Reads available bytes into the buffer, and returns their number; zero is the end. While there are none, the
    /// waker is called when there may be more.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>>;
}

/// An asynchronous output stream of a runtime.
///
/// Its methods are called under the lock of the connection. They must not use the connection, and should wake other
/// tasks rather than do their work.
pub trait Outgoing: Unpin {
    /// Writes as many bytes as there is room for, and returns their number.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>>;

    /// Flushes all written bytes.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Closes the stream, which the peer sees as the end of its input.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    fn poll_close(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>>;
}

/// A timer of a runtime.
pub trait Timer: Unpin {
    /// Ready if the deadline has passed. Otherwise the waker is called at the deadline. Without a deadline it is
    /// never ready.
    fn poll_until(&mut self, context: &mut Context<'_>, deadline: Option<Instant>) -> Poll<()>;
}

/// The type of a stream that the driver does not read or write itself: see [`Wire::read_on_thread`].
#[derive(Debug)]
#[non_exhaustive]
pub enum ExternalStream {}

impl Incoming for ExternalStream {
    fn poll_read(&mut self, _: &mut Context<'_>, _: &mut [u8]) -> Poll<io::Result<usize>> {
        match *self {}
    }
}

impl Outgoing for ExternalStream {
    fn poll_write(&mut self, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        match *self {}
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match *self {}
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match *self {}
    }
}

/// Reads the input of a connection from a stream.
struct Reading<R> {
    reader: R,
    inbox: Inbox,
    /// Whether the inbox may hold messages that the connection has not taken, or an end that has not been reported.
    has_new: bool,
    /// The end of the input, until it has been reported.
    ended: Option<io::Result<()>>,
}

impl<R: Incoming> Reading<R> {
    /// Reads available input, up to a limit, so that other tasks get their turn. Ready after the end of the input.
    fn poll<M: Machine>(&mut self, wire: &Arc<Wire<M>>, context: &mut Context<'_>) -> Poll<()> {
        for _ in 0..READS {
            if self.has_new {
                ready!(wire.poll_take(&mut self.inbox, context));
                if self.ended.is_some() {
                    return wire.poll_end_of_input(&mut self.ended, context);
                }
                self.has_new = false;
            }
            self.inbox.release_above(KEPT_BUFFER);
            let read = ready!(self.reader.poll_read(context, self.inbox.space()));
            self.has_new = true;
            match read {
                Ok(0) => {
                    self.inbox.finish();
                    self.ended = Some(Ok(()));
                }
                Ok(bytes) => wire.after_read(&mut self.inbox, bytes),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.inbox.finish();
                    self.ended = Some(Err(error));
                }
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// A future that reads the input of a connection, writes its output, and runs handlers that do not wait: see
/// [`Wire::streams`].
#[must_use = "futures do nothing unless they are polled"]
pub struct Streams<M: Machine, R, W> {
    wire: Arc<Wire<M>>,
    /// `None` after the end of the input, or if another task reads.
    reading: Option<Reading<R>>,
    worker: Option<InlineWorker>,
    /// `None` after the end of the output, or if another task writes.
    writer: Option<W>,
}

impl<M: Machine, R: Incoming, W: Outgoing> Streams<M, R, W> {
    fn new(wire: &Arc<Wire<M>>, reader: Option<R>, writer: Option<W>) -> Self {
        if writer.is_some() {
            wire.lock().output.is_attached = true;
        }
        let inbox = || Inbox::new(&wire.limits);
        let reading =
            reader.map(|reader| Reading { reader, inbox: inbox(), has_new: false, ended: None });
        Self { wire: Arc::clone(wire), reading, worker: None, writer }
    }

    /// Lets this future run handlers, too.
    pub fn with_worker(mut self, worker: Option<InlineWorker>) -> Self {
        self.worker = worker;
        self
    }

    /// Reads, runs handlers and writes.
    fn poll_streams(&mut self, context: &mut Context<'_>) {
        // The calls below cover everything that happens from here on, so nothing has to wake this task.
        if self.writer.is_some() {
            self.wire.begin_poll();
        }
        if let Some(worker) = &self.worker {
            worker.begin_poll();
        }
        if let Some(reading) = &mut self.reading
            && reading.poll(&self.wire, context).is_ready()
        {
            self.reading = None;
        }
        if let Some(worker) = &mut self.worker {
            worker.poll(context);
        }
        if let Some(writer) = &mut self.writer
            && self.wire.poll_write(context, writer).is_ready()
        {
            // Dropping the writer closes a pipe.
            self.writer = None;
        }
    }
}

impl<M: Machine, R: Incoming, W: Outgoing> Future for Streams<M, R, W> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.poll_streams(context);
        if self.reading.is_some() || self.writer.is_some() {
            return Poll::Pending;
        }
        // A handler that still runs continues in a task of its own.
        self.worker = None;
        Poll::Ready(())
    }
}

/// If the future is dropped before the end of its streams, also because a part of it panicked, nothing reads or writes
/// them any more, so the connection ends.
impl<M: Machine, R, W> Drop for Streams<M, R, W> {
    fn drop(&mut self) {
        if self.reading.is_some() || self.writer.is_some() {
            let wire = &self.wire;
            // A second panic would end the process.
            _ = catch_unwind(AssertUnwindSafe(|| {
                if panicking() {
                    wire.fail(
                        Cause::ReadFailed,
                        io::Error::other("the task of the streams panicked"),
                    );
                }
                wire.abandon();
            }));
        }
    }
}

impl<M: Machine, R, W> fmt::Debug for Streams<M, R, W> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Streams").field("wire", &self.wire).finish_non_exhaustive()
    }
}

/// # In a task without timeouts
impl<M: Machine> Wire<M> {
    /// Returns a future that reads and writes the streams of the connection, each if it is given. It is ready after the end
    /// of both streams. End its task when the connection has ended: an idle peer may keep the input open.
    ///
    /// [`Drive::timed`] handles the timeouts. Two tasks cost less than one [`Drive`] for everything, which looks at the
    /// deadlines whenever there is input.
    pub fn streams<R: Incoming, W: Outgoing>(
        self: &Arc<Self>,
        reader: Option<R>,
        writer: Option<W>,
    ) -> Streams<M, R, W> {
        Streams::new(self, reader, writer)
    }
}

/// A future that reads, writes and handles the timeouts of a connection. The connection makes progress only while
/// it is polled.
///
/// It is ready with the result of [`Wire::wait`] once the connection has ended, all output has been written and all
/// events have been delivered. For a client it keeps reading until the server has ended as well, or until
/// [`Wire::stop_reading`]. If it is dropped earlier, the connection ends at once: every call ends, and handlers are
/// notified. It holds no lock across a suspension, and loses no bytes that it has read.
#[must_use = "a connection makes no progress unless it is driven"]
pub struct Drive<M: Machine, R, W, T> {
    streams: Streams<M, R, W>,
    timer: T,
    is_over: bool,
}

impl<M: Machine, R: Incoming, W: Outgoing, T: Timer> Drive<M, R, W, T> {
    /// Creates a driver of a connection on streams.
    pub fn new(wire: &Arc<Wire<M>>, reader: R, writer: W, timer: T) -> Self {
        Self { streams: wire.streams(Some(reader), Some(writer)), timer, is_over: false }
    }

    /// Handles the due timeouts. Returns whether the connection has ended.
    fn keep_time(&mut self, context: &mut Context<'_>) -> bool {
        let mut before = None;
        loop {
            let deadline = match self.streams.wire.poll_time(context) {
                Timing::Over => return true,
                Timing::Until(deadline) => deadline,
            };
            if self.timer.poll_until(context, deadline).is_pending() {
                return false;
            }
            if before == Some(deadline) {
                // The clock is stopped while the timer runs: other tasks have to get their turn.
                context.waker().wake_by_ref();
                return false;
            }
            before = Some(deadline);
        }
    }
}

impl<M: Machine, T: Timer> Drive<M, ExternalStream, ExternalStream, T> {
    /// Creates a driver that only handles the timeouts of a connection.
    pub fn timed(wire: &Arc<Wire<M>>, timer: T) -> Self {
        Self { streams: wire.streams(None, None), timer, is_over: false }
    }
}

impl<M: Machine, R: Incoming, W: Outgoing, T: Timer> Future for Drive<M, R, W, T> {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        this.streams.wire.forget_timer();
        this.streams.poll_streams(context);
        if !this.keep_time(context) {
            return Poll::Pending;
        }
        let Streams { wire, reading, writer, .. } = &mut this.streams;
        let reads_on = M::READS_TO_THE_END && reading.is_some();
        if reads_on && wire.poll_reading_stopped(context).is_pending() {
            return Poll::Pending;
        }
        (*reading, *writer, this.is_over) = (None, None, true);
        Poll::Ready(wire.failure())
    }
}

impl<M: Machine, R, W, T> Drop for Drive<M, R, W, T> {
    fn drop(&mut self) {
        if !self.is_over {
            self.streams.wire.abandon();
        }
    }
}

impl<M: Machine, R, W, T> fmt::Debug for Drive<M, R, W, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Drive").field("wire", &self.streams.wire).finish_non_exhaustive()
    }
}
