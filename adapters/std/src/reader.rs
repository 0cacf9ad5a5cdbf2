//! Reads frames from any [`Read`].

use std::io::{self, ErrorKind, Read};

use mcp_sansio::{Frame, Inbox, Limits};

/// A blocking reader of newline-delimited frames from a stream.
///
/// It is for custom event loops; [`serve`](crate::serve) and [`connect`](crate::connect) have their own.
///
/// ```
/// use mcp_sansio::Limits;
/// use mcp_sansio_std::FrameReader;
///
/// let mut reader = FrameReader::new(&b"{\"a\":1}\n{\"b\":2}"[..], &Limits::default());
/// assert_eq!(reader.next_frame()?.unwrap().bytes(), b"{\"a\":1}");
/// assert_eq!(reader.next_frame()?.unwrap().bytes(), b"{\"b\":2}");
/// assert!(reader.next_frame()?.is_none());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct FrameReader<R> {
    stream: R,
    inbox: Inbox,
}

impl<R: Read> FrameReader<R> {
    /// Creates a reader at the start of a stream.
    pub fn new(stream: R, limits: &Limits) -> Self {
        Self { stream, inbox: Inbox::new(limits) }
    }

    /// Waits for the next frame; `None` at the end of the stream.
    ///
    /// # Errors
    ///
    /// Any error of the stream except [`ErrorKind::Interrupted`], after which the read is repeated. No bytes are
    /// lost: the next call continues after the failed one.
    pub fn next_frame(&mut self) -> io::Result<Option<Frame<'_>>> {
        while !self.inbox.has_next() && !self.inbox.is_finished() {
            match self.stream.read(self.inbox.space()) {
                Ok(0) => self.inbox.finish(),
                Ok(bytes) => self.inbox.filled(bytes),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.inbox.next())
    }
}
