//! [`Drive`]: a connection on asynchronous streams of any runtime.

use std::fmt;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
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
    reader: Option<R>,
    writer: Option<W>,
    timer: T,
    inbox: Inbox,
    /// The end of the input, until it has been reported.
    ended: Option<io::Result<()>>,
    is_over: bool,
}

impl<M: Machine, R: Incoming, W: Outgoing, T: Timer> Drive<M, R, W, T> {
    /// Creates a driver of a connection on streams.
    pub fn new(wire: &Arc<Wire<M>>, reader: R, writer: W, timer: T) -> Self {
        Self::with(wire, Some(reader), Some(writer), timer)
    }

    fn with(wire: &Arc<Wire<M>>, reader: Option<R>, writer: Option<W>, timer: T) -> Self {
        if writer.is_some() {
            wire.lock().output.is_attached = true;
        }
        let (wire, inbox) = (Arc::clone(wire), Inbox::new(&wire.limits));
        Self { wire, reader, writer, timer, inbox, ended: None, is_over: false }
    }

    /// Reads available input, up to a limit, so that other tasks get their turn.
    fn read(&mut self, context: &mut Context<'_>) {
        let Some(reader) = &mut self.reader else { return };
        for _ in 0..READS {
            if self.wire.poll_take(&mut self.inbox, context).is_pending() {
                return;
            }
            if self.ended.is_some() {
                if self.wire.poll_end_of_input(&mut self.ended, context).is_ready() {
                    self.reader = None;
                }
                return;
            }
            match reader.poll_read(context, self.inbox.space()) {
                Poll::Pending => return,
                Poll::Ready(Ok(0)) => {
                    self.inbox.finish();
                    self.ended = Some(Ok(()));
                }
                Poll::Ready(Ok(bytes)) => self.inbox.filled(bytes),
                Poll::Ready(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
                Poll::Ready(Err(error)) => {
                    self.inbox.finish();
                    self.ended = Some(Err(error));
                }
            }
        }
        context.waker().wake_by_ref();
    }

    fn write(&mut self, context: &mut Context<'_>) {
        if let Some(writer) = &mut self.writer
            && self.wire.poll_write(context, writer).is_ready()
        {
            // Dropping the writer closes a pipe.
            self.writer = None;
        }
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
        this.wire.forget_driver(this.reader.is_some(), this.writer.is_some());
        this.read(context);
        this.write(context);
        if !this.keep_time(context) {
            return Poll::Pending;
        }
        let reads_on = M::READS_TO_THE_END && this.reader.is_some();
        if reads_on && this.wire.poll_reading_stopped(context).is_pending() {
            return Poll::Pending;
        }
        (this.reader, this.writer, this.is_over) = (None, None, true);
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
