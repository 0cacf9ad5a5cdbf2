//! Pipes and sockets as standard streams, read and written without blocking.
//!
//! The non-blocking mode of a standard stream must not be switched on: it would also apply to the other processes
//! that have inherited the stream. A pipe is opened a second time instead, and a socket has a flag for each operation.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::panic::catch_unwind;
use std::task::{Context, Poll, ready};

use mcp_sansio_driver::{Incoming, Outgoing};
use rustix::fs::OFlags;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A standard stream that the runtime polls.
#[derive(Debug)]
pub(super) struct Polled {
    stream: AsyncFd<OwnedFd>,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// A pipe, in non-blocking mode.
    Pipe,
    /// A socket, whose non-blocking mode is unknown.
    Socket,
}

/// Returns standard input if it is a pipe or a socket that the runtime can poll.
pub(super) fn stdin() -> Option<Polled> {
    let mut options = OpenOptions::new();
    polled(&io::stdin(), "/proc/self/fd/0", options.read(true), Interest::READABLE)
}

/// Returns standard output if it is a pipe or a socket that the runtime can poll.
pub(super) fn stdout() -> Option<Polled> {
    let mut options = OpenOptions::new();
    polled(&io::stdout(), "/proc/self/fd/1", options.write(true), Interest::WRITABLE)
}

/// Registers a stream, which has this path, with the runtime. `None` if it is of another kind, if the system refuses to
/// open it, for example because `/proc` is missing or because the pipe belongs to another user, or if the runtime has no
/// IO driver.
fn polled(
    stream: &impl AsFd,
    path: &str,
    options: &mut OpenOptions,
    interest: Interest,
) -> Option<Polled> {
    let stream = File::from(stream.as_fd().try_clone_to_owned().ok()?);
    let file_type = stream.metadata().ok()?.file_type();
    let (stream, kind) = if file_type.is_fifo() {
        options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        (options.open(path).ok()?, Kind::Pipe)
    } else if file_type.is_socket() {
        (stream, Kind::Socket)
    } else {
        return None;
    };
    // Nothing else tells whether the runtime has an IO driver: without one, registering a stream panics.
    catch_unwind(move || Polled::new(stream.into(), kind, interest)).ok()?.ok()
}

impl Polled {
    #[allow(
        deprecated,
        reason = "its replacement is unsafe, and `OwnedFd` is the same descriptor until dropped"
    )]
    fn new(stream: OwnedFd, kind: Kind, interest: Interest) -> io::Result<Self> {
        Ok(Self { stream: AsyncFd::with_interest(stream, interest)?, kind })
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
            let read = ready.try_io(|stream| match self.kind {
                Kind::Pipe => Ok(rustix::io::read(stream, &mut *buffer)?),
                Kind::Socket => Ok(recv(stream, &mut *buffer, RecvFlags::DONTWAIT)?.0),
            });
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
            let written = ready.try_io(|stream| match self.kind {
                Kind::Pipe => Ok(rustix::io::write(stream, bytes)?),
                Kind::Socket => Ok(send(stream, bytes, SendFlags::DONTWAIT)?),
            });
            // An error means that the stream was not ready. The next turn registers the waker.
            if let Ok(written) = written {
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
