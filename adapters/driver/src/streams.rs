//! A connection on asynchronous streams, whichever runtime they are of.

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

/// How often to read before others get their turn.
const READS: usize = 32;

/// Something to read from, as one runtime or another has it.
pub trait Incoming: Unpin {
    /// Reads into the buffer what is there, and says how much that was; nothing is the end. Whoever polls is
    /// woken when there may be more.
    ///
    /// # Errors
    ///
    /// What the system says.
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>>;
}

/// Something to write to, as one runtime or another has it.
///
/// It is called while nothing else can happen on the connection. It must not use the connection, and should
/// wake others rather than do their work.
pub trait Outgoing: Unpin {
    /// Writes as much of the bytes as there is room for, and says how much that was.
    ///
    /// # Errors
    ///
    /// What the system says.
    fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>>;

    /// Waits until everything has gone out.
    ///
    /// # Errors
    ///
    /// What the system says.
    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Says to the other side that nothing more comes.
    ///
    /// # Errors
    ///
    /// What the system says.
    fn poll_close(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>>;
}

/// Something that can wait, as one runtime or another has it.
pub trait Timer: Unpin {
    /// Whether it is that late. If not, whoever polls is woken then. Without a deadline it never is.
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

/// Reads, writes and keeps the time of a connection. It has to be polled for anything to happen on it.
///
/// Ends with what [`Wire::wait`] says, when the connection has ended and everything has been written and told;
/// that of a client goes on reading until the server has ended as well, or until
/// [`Wire::stop_reading`]. Dropped before, it ends the connection at once: every call ends, and handlers find
/// out. No lock is held across a suspension, and nothing is lost that was read.
#[must_use = "nothing happens on a connection that nobody drives"]
pub struct Drive<M: Machine, R, W, T> {
    wire: Arc<Wire<M>>,
    reader: Option<R>,
    writer: Option<W>,
    timer: T,
    inbox: Inbox,
    /// How the input has ended, until that has been said.
    ended: Option<io::Result<()>>,
    is_over: bool,
}

impl<M: Machine, R: Incoming, W: Outgoing, T: Timer> Drive<M, R, W, T> {
    /// Drives a connection on streams.
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

    /// Reads what is there, but not so much that the others would not have their turn.
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
            // A pipe is closed by that.
            self.writer = None;
        }
    }

    /// Does what is due. Says whether everything is over.
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
                // The clock stands still while the timer runs: others are to have their turn.
                context.waker().wake_by_ref();
                return false;
            }
            before = Some(deadline);
        }
    }
}

impl<M: Machine, T: Timer> Drive<M, ExternalStream, ExternalStream, T> {
    /// Keeps the time of a connection that others read and write.
    pub fn timed(wire: &Arc<Wire<M>>, timer: T) -> Self {
        Self::with(wire, None, None, timer)
    }
}

impl<M: Machine, R: Incoming, W: Outgoing, T: Timer> Future for Drive<M, R, W, T> {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        // What happens from here on is seen below.
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
