//! Adapters for the streams of tokio.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use mcp_sansio_driver::{Incoming, Outgoing};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// An input stream.
#[derive(Debug)]
pub(crate) struct Reads<R>(pub(crate) R);

impl<R: AsyncRead + Unpin> Incoming for Reads<R> {
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        ready!(Pin::new(&mut self.0).poll_read(context, &mut buffer))?;
        Poll::Ready(Ok(buffer.filled().len()))
    }
}

/// An output stream.
#[derive(Debug)]
pub(crate) struct Writes<W>(pub(crate) W);

impl<W: AsyncWrite + Unpin> Outgoing for Writes<W> {
    fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_close(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
