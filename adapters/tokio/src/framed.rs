//! Reads frames from a stream, and writes outboxes to one, for custom event loops.

use std::io;

use mcp_sansio::{Frame, Limits, Outbox};
use mcp_sansio_driver::{FrameReader, OutboxWriter};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::streams::{Reads, Writes};

/// A reader of newline-delimited frames from a stream.
///
/// ```
/// use mcp_sansio::Limits;
/// use mcp_sansio_tokio::Reader;
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let mut reader = Reader::new(&b"{\"a\":1}\n{\"b\":2}"[..], &Limits::default());
/// assert_eq!(reader.next_frame().await?.unwrap().bytes(), b"{\"a\":1}");
/// assert_eq!(reader.next_frame().await?.unwrap().bytes(), b"{\"b\":2}");
/// assert!(reader.next_frame().await?.is_none());
/// # Ok::<(), std::io::Error>(()) })?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Reader<R> {
    reader: FrameReader<Reads<R>>,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    /// Creates a reader at the start of a stream.
    pub fn new(stream: R, limits: &Limits) -> Self {
        Self { reader: FrameReader::new(Reads(stream), limits) }
    }

    /// Waits for the next frame; `None` at the end of the stream. Dropping this future loses nothing.
    ///
    /// # Errors
    ///
    /// As for [`FrameReader::next_frame`].
    pub async fn next_frame(&mut self) -> io::Result<Option<Frame<'_>>> {
        self.reader.next_frame().await
    }
}

/// A writer of outboxes to a stream.
#[derive(Debug)]
pub struct Writer<W> {
    writer: OutboxWriter<Writes<W>>,
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    /// Creates a writer to a stream.
    pub const fn new(stream: W) -> Self {
        Self { writer: OutboxWriter::new(Writes(stream)) }
    }

    /// Writes everything in the outbox and flushes the stream. Dropping this future loses nothing. Read in the same
    /// loop at the same time: if both sides wait for each other, they deadlock.
    ///
    /// # Errors
    ///
    /// As for [`OutboxWriter::write`].
    pub async fn write(&mut self, outbox: &mut Outbox) -> io::Result<()> {
        self.writer.write(outbox).await
    }
}
