//! Writes an outbox to any [`Write`].

use std::io::{self, ErrorKind, Write};

use mcp_sansio::Outbox;

/// A blocking writer of outboxes.
///
/// It is for custom event loops that can block until the peer reads. If both sides wait for each other, they
/// deadlock; [`serve`](crate::serve) and [`connect`](crate::connect) write from a separate thread.
#[derive(Debug)]
pub struct OutboxWriter<W> {
    stream: W,
}

impl<W: Write> OutboxWriter<W> {
    /// Creates a writer to a stream.
    pub const fn new(stream: W) -> Self {
        Self { stream }
    }

    /// Writes everything in the outbox and flushes the stream.
    ///
    /// # Errors
    ///
    /// Any error of the stream except [`ErrorKind::Interrupted`], after which the write is repeated. Written bytes
    /// have left the outbox, all others are still in it.
    pub fn write(&mut self, outbox: &mut Outbox) -> io::Result<()> {
        while !outbox.is_empty() {
            match self.stream.write(outbox.unsent()) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => outbox.sent(bytes),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.stream.flush()
    }
}
