//! In-memory pipes of any capacity, for blocking and async code.

use std::io::{self, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_lite::future::block_on;
use futures_lite::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use piper::{Reader, Writer};

/// One end of two pipes.
pub(crate) struct End {
    pub(crate) reader: Reader,
    pub(crate) writer: Writer,
}

/// Creates two pipes of this capacity, and returns the end of this side and that of the peer.
pub(crate) fn pipes(bytes: usize) -> (End, End) {
    let ((left_reader, right_writer), (right_reader, left_writer)) =
        (piper::pipe(bytes), piper::pipe(bytes));
    let left = End { reader: left_reader, writer: left_writer };
    (left, End { reader: right_reader, writer: right_writer })
}

/// A pipe for blocking code.
pub(crate) struct Blocks<S>(pub(crate) S);

impl<S: AsyncRead + Unpin> Read for Blocks<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        block_on(self.0.read(buffer))
    }
}

impl<S: AsyncWrite + Unpin> Write for Blocks<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        block_on(self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        block_on(self.0.flush())
    }
}

/// A pipe for tokio.
pub(crate) struct Tokio<S>(pub(crate) S);

impl<S: AsyncRead + Unpin> tokio::io::AsyncRead for Tokio<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled = buffer.initialize_unfilled();
        let bytes = ready!(Pin::new(&mut self.0).poll_read(context, filled))?;
        buffer.advance(bytes);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> tokio::io::AsyncWrite for Tokio<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_close(context)
    }
}
