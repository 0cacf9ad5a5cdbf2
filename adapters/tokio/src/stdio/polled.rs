//! Pipes and sockets as standard streams, which the runtime polls.

use std::io::{self, Read, Write};
use std::panic::catch_unwind;
use std::task::{Context, Poll, ready};

use mcp_sansio_driver::{Incoming, Outgoing, StandardStream};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A standard stream that the runtime polls.
#[derive(Debug)]
pub(super) struct Polled {
    stream: AsyncFd<StandardStream>,
}

/// Returns standard input if it is a pipe without a name or a socket, and if the runtime can poll it.
pub(super) fn stdin() -> Option<Polled> {
    polled(StandardStream::stdin()?, Interest::READABLE)
}

/// Returns standard output if it is a pipe without a name or a socket, and if the runtime can poll it.
pub(super) fn stdout() -> Option<Polled> {
    polled(StandardStream::stdout()?, Interest::WRITABLE)
}

/// Registers a stream with the runtime. `None` if the runtime has no IO driver.
fn polled(stream: StandardStream, interest: Interest) -> Option<Polled> {
    // Nothing else tells whether the runtime has an IO driver: without one, registering a stream panics.
    catch_unwind(move || Polled::new(stream, interest)).ok()?.ok()
}

impl Polled {
    #[allow(
        deprecated,
        reason = "its replacement is unsafe, and a stream keeps its descriptor until it is dropped"
    )]
    fn new(stream: StandardStream, interest: Interest) -> io::Result<Self> {
        Ok(Self { stream: AsyncFd::with_interest(stream, interest)? })
    }
}

impl Incoming for Polled {
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut ready = ready!(self.stream.poll_read_ready(context))?;
            let read = ready.try_io(|stream| stream.get_ref().read(buffer));
            // An error means that the stream was not ready. The next turn registers the waker.
            let Ok(read) = read else { continue };
            if read.as_ref().is_ok_and(|bytes| (1..buffer.len()).contains(bytes)) {
                // A short read has emptied the stream, so another system call would only fail.
                ready.clear_ready();
            }
            return Poll::Ready(read);
        }
    }
}

impl Outgoing for Polled {
    fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            let mut ready = ready!(self.stream.poll_write_ready(context))?;
            // An error means that the stream was not ready. The next turn registers the waker.
            if let Ok(written) = ready.try_io(|stream| stream.get_ref().write(bytes)) {
                return Poll::Ready(written);
            }
        }
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The process keeps its standard output, which the peer sees closed when the process ends.
        Poll::Ready(Ok(()))
    }
}
