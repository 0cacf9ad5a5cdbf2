//! [`Drive`]: a connection on asynchronous streams of any runtime.

use std::fmt;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use mcp_sansio::Inbox;

use crate::machine::Machine;
use crate::timing::Timing;
use crate::wire::Wire;

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

/// A future that reads the input of a connection from a stream, until the input ends: see [`Wire::read_from`].
#[must_use = "futures do nothing unless they are polled"]
pub struct ReadFrom<M: Machine, R> {
    wire: Arc<Wire<M>>,
    /// `None` after the end of the input.
    reader: Option<R>,
    inbox: Inbox,
    /// The end of the input, until it has been reported.
    ended: Option<io::Result<()>>,
}

impl<M: Machine, R: Incoming> ReadFrom<M, R> {
    fn new(wire: &Arc<Wire<M>>, reader: R) -> Self {
        let (wire, inbox) = (Arc::clone(wire), Inbox::new(&wire.limits));
        Self { wire, reader: Some(reader), inbox, ended: None }
    }

    /// Reads available input, up to a limit, so that other tasks get their turn. Ready after the end of the input.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(reader) = &mut self.reader else { return Poll::Ready(()) };
        for _ in 0..READS {
            ready!(self.wire.poll_take(&mut self.inbox, context));
            if self.ended.is_some() {
                ready!(self.wire.poll_end_of_input(&mut self.ended, context));
                self.reader = None;
                return Poll::Ready(());
            }
            match ready!(reader.poll_read(context, self.inbox.space())) {
                Ok(0) => {
                    self.inbox.finish();
                    self.ended = Some(Ok(()));
                }
                Ok(bytes) => self.inbox.filled(bytes),
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

impl<M: Machine, R: Incoming> Future for ReadFrom<M, R> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.poll_read(context)
    }
}

impl<M: Machine, R> fmt::Debug for ReadFrom<M, R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ReadFrom").field("wire", &self.wire).finish_non_exhaustive()
    }
}

/// A future that writes the output of a connection to a stream, until the stream is closed: see [`Wire::write_to`].
#[must_use = "futures do nothing unless they are polled"]
pub struct WriteTo<M: Machine, W> {
    wire: Arc<Wire<M>>,
    /// `None` after the end of the output.
    writer: Option<W>,
}

impl<M: Machine, W: Outgoing> WriteTo<M, W> {
    fn new(wire: &Arc<Wire<M>>, writer: W) -> Self {
        wire.lock().output.is_attached = true;
        Self { wire: Arc::clone(wire), writer: Some(writer) }
    }

    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Some(writer) = &mut self.writer {
            ready!(self.wire.poll_write(context, writer));
            // Dropping the writer closes a pipe.
            self.writer = None;
        }
        Poll::Ready(())
    }
}

impl<M: Machine, W: Outgoing> Future for WriteTo<M, W> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.poll_write(context)
    }
}

impl<M: Machine, W> fmt::Debug for WriteTo<M, W> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("WriteTo").field("wire", &self.wire).finish_non_exhaustive()
    }
}

/// # In tasks of their own
///
/// Reading and writing in separate tasks costs less than one [`Drive`] for both, which polls all its parts whenever
/// one of them can continue. [`Drive::timed`] handles the timeouts.
impl<M: Machine> Wire<M> {
    /// Returns a future that reads the input of the connection. It is ready after the end of the input. End its task
    /// when the connection has ended: an idle peer may keep the stream open.
    pub fn read_from<R: Incoming>(self: &Arc<Self>, reader: R) -> ReadFrom<M, R> {
        ReadFrom::new(self, reader)
    }

    /// Returns a future that writes the output of the connection. It is ready once the stream is closed or has
    /// failed, at the latest when the connection has ended.
    pub fn write_to<W: Outgoing>(self: &Arc<Self>, writer: W) -> WriteTo<M, W> {
        WriteTo::new(self, writer)
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
    wire: Arc<Wire<M>>,
    reading: Option<ReadFrom<M, R>>,
    writing: Option<WriteTo<M, W>>,
    timer: T,
    is_over: bool,
}

impl<M: Machine, R: Incoming, W: Outgoing, T: Timer> Drive<M, R, W, T> {
    /// Creates a driver of a connection on streams.
    pub fn new(wire: &Arc<Wire<M>>, reader: R, writer: W, timer: T) -> Self {
        Self::with(wire, Some(wire.read_from(reader)), Some(wire.write_to(writer)), timer)
    }

    fn with(
        wire: &Arc<Wire<M>>,
        reading: Option<ReadFrom<M, R>>,
        writing: Option<WriteTo<M, W>>,
        timer: T,
    ) -> Self {
        Self { wire: Arc::clone(wire), reading, writing, timer, is_over: false }
    }

    /// Handles the due timeouts. Returns whether the connection has ended.
    fn keep_time(&mut self, context: &mut Context<'_>) -> bool {
        let mut before = None;
        loop {
            let deadline = match self.wire.poll_time(context) {
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
        Self::with(wire, None, None, timer)
    }
}

impl<M: Machine, R: Incoming, W: Outgoing, T: Timer> Future for Drive<M, R, W, T> {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        // The calls below cover everything that happens from here on.
        this.wire.forget_driver(this.reading.is_some(), this.writing.is_some());
        if this.reading.as_mut().is_some_and(|reading| reading.poll_read(context).is_ready()) {
            this.reading = None;
        }
        if this.writing.as_mut().is_some_and(|writing| writing.poll_write(context).is_ready()) {
            this.writing = None;
        }
        if !this.keep_time(context) {
            return Poll::Pending;
        }
        let reads_on = M::READS_TO_THE_END && this.reading.is_some();
        if reads_on && this.wire.poll_reading_stopped(context).is_pending() {
            return Poll::Pending;
        }
        (this.reading, this.writing, this.is_over) = (None, None, true);
        Poll::Ready(this.wire.failure())
    }
}

impl<M: Machine, R, W, T> Drop for Drive<M, R, W, T> {
    fn drop(&mut self) {
        if !self.is_over {
            self.wire.abandon();
        }
    }
}

impl<M: Machine, R, W, T> fmt::Debug for Drive<M, R, W, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Drive").field("wire", &self.wire).finish_non_exhaustive()
    }
}
