//! An outbox into anything that can be written.

use std::io::{self, ErrorKind, Write};

use mcp_sansio::Outbox;

/// Writes what is in an outbox, blocking.
///
/// For an event loop of your own that can afford to wait for its peer to read. If both sides wait
/// for each other, both wait for ever; [`serve`](crate::serve) and
/// [`connect`](crate::connect) write from a thread of their own.
#[derive(Debug)]
pub struct OutboxWriter<W> {
    stream: W,
}

impl<W: Write> OutboxWriter<W> {
    /// A writer to a stream.
    pub const fn new(stream: W) -> Self {
        Self { stream }
    }

    /// Writes everything that is in the outbox and flushes the stream.
    ///
    /// # Errors
    ///
    /// What writing gives, except [`ErrorKind::Interrupted`], after which it tries again. What has
    /// been written is gone from the outbox, what has not is still there.
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
