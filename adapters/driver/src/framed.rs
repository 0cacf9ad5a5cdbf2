//! Frames from asynchronous streams, and outboxes into them, for custom event loops.

use std::future::poll_fn;
use std::io::{self, ErrorKind};

use mcp_sansio::{Frame, Inbox, Limits, Outbox};

use crate::streams::{Incoming, Outgoing};

/// A reader of newline-delimited frames from a stream.
#[derive(Debug)]
pub struct FrameReader<R> {
    stream: R,
    inbox: Inbox,
}

impl<R: Incoming> FrameReader<R> {
    /// Creates a reader at the start of a stream.
    pub fn new(stream: R, limits: &Limits) -> Self {
        Self { stream, inbox: Inbox::new(limits) }
    }

    /// Waits for the next frame; `None` at the end of the stream. Dropping this future loses nothing.
    ///
    /// # Errors
    ///
    /// Any error of the stream except [`ErrorKind::Interrupted`], after which the read is repeated. No bytes are
    /// lost: the next call continues after the failed one.
    pub async fn next_frame(&mut self) -> io::Result<Option<Frame<'_>>> {
        while !self.inbox.has_next() && !self.inbox.is_finished() {
            let Self { stream, inbox } = self;
            match poll_fn(|context| stream.poll_read(context, inbox.space())).await {
                Ok(0) => self.inbox.finish(),
                Ok(bytes) => self.inbox.filled(bytes),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.inbox.next())
    }
}

/// A writer of outboxes to a stream.
#[derive(Debug)]
pub struct OutboxWriter<W> {
    stream: W,
}

impl<W: Outgoing> OutboxWriter<W> {
    /// Creates a writer to a stream.
    pub const fn new(stream: W) -> Self {
        Self { stream }
    }

    /// Writes everything in the outbox and flushes the stream. Dropping this future loses nothing: written bytes
    /// have left the outbox, all others are still in it.
    ///
    /// # Errors
    ///
    /// Any error of the stream except [`ErrorKind::Interrupted`], after which the write is repeated.
    pub async fn write(&mut self, outbox: &mut Outbox) -> io::Result<()> {
        while !outbox.is_empty() {
            let unsent = outbox.unsent();
            match poll_fn(|context| self.stream.poll_write(context, unsent)).await {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => outbox.sent(bytes),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        poll_fn(|context| self.stream.poll_flush(context)).await
    }
}
