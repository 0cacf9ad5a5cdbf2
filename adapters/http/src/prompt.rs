//! `Prompt`: a stream whose first bytes must arrive in time, that writes short responses in one piece, and that notes what
//! the client does.

use std::future::Future;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::time::Sleep;

use crate::idle::{Activity, HEAD};

/// The number of bytes that distinguish the HTTP versions.
const ENOUGH: usize = 24;

/// The beginning of a connection of HTTP/2, which is no method.
const HTTP2: &[u8] = b"PRI ";

/// The most bytes that are copied to be written in one piece. A usual response is shorter, and the system takes one
/// buffer faster than two.
const JOINED: usize = 1024;

/// A stream that fails if the client does not reveal its HTTP version in time. hyper waits for that without a
/// timeout.
///
/// It notes in the [`Activity`] whether the client has chosen HTTP/2, and whether a write waits for the client.
#[derive(Debug)]
pub(crate) struct Prompt<S> {
    stream: S,
    /// The number of missing bytes, with the deadline for their arrival.
    missing: usize,
    deadline: Option<Pin<Box<Sleep>>>,
    activity: Activity,
}

impl<S> Prompt<S> {
    pub(crate) fn new(stream: S, activity: Activity) -> Self {
        let deadline = Some(Box::pin(tokio::time::sleep(HEAD)));
        Self { stream, missing: ENOUGH, deadline, activity }
    }
}

impl<S: Read + Unpin> Read for Prompt<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { stream, missing, deadline, activity } = &mut *self;
        let Some(sleep) = deadline else { return Pin::new(stream).poll_read(context, buffer) };
        // Read at most the missing bytes, so that they can be counted.
        let mut first = [0; ENOUGH];
        let room = ENOUGH.min(*missing).min(buffer.remaining());
        let (first, _) = first.split_at_mut(room);
        let mut first = hyper::rt::ReadBuf::new(first);
        if Pin::new(stream).poll_read(context, first.unfilled())?.is_ready() {
            if *missing == ENOUGH && first.filled().starts_with(HTTP2) {
                activity.note_http2();
            }
            buffer.put_slice(first.filled());
            *missing -= first.filled().len();
            if *missing == 0 {
                *deadline = None;
            }
            return Poll::Ready(Ok(()));
        }
        let text = "nothing was asked in time";
        sleep.as_mut().poll(context).map(|()| Err(io::Error::new(ErrorKind::TimedOut, text)))
    }
}

impl<S: Write + Unpin> Write for Prompt<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.activity.set_writing(written.is_pending());
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // TLS accepts bytes that the client has not read, and waits for it here.
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.activity.set_writing(flushed.is_pending());
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let stream = Pin::new(&mut self.stream);
        let written = match joined(bytes, &mut [0; JOINED]) {
            Some(joined) => stream.poll_write(context, joined),
            None => stream.poll_write_vectored(context, bytes),
        };
        self.activity.set_writing(written.is_pending());
        written
    }
}

/// Copies buffers into one, if they fit.
fn joined<'b>(bytes: &[io::IoSlice<'_>], buffer: &'b mut [u8; JOINED]) -> Option<&'b [u8]> {
    let mut length = 0;
    for bytes in bytes {
        let end = length + bytes.len();
        buffer.get_mut(length..end)?.copy_from_slice(bytes);
        length = end;
    }
    buffer.get(..length)
}
