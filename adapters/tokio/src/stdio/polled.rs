//! Pipes and sockets as standard streams, read and written without blocking.
//!
//! The non-blocking mode of a standard stream must not be switched on: it would also apply to the other processes
//! that have inherited the stream. A pipe is opened a second time instead, and a socket has a flag for each operation.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::panic::catch_unwind;
use std::task::{Context, Poll, ready};

use mcp_sansio_driver::{Incoming, Outgoing};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;

use crate::streams::{Reads, Writes};

/// Standard input.
#[derive(Debug)]
pub(super) enum Input {
    Pipe(Reads<pipe::Receiver>),
    Socket(Socket),
}

/// Standard output.
#[derive(Debug)]
pub(super) enum Output {
    Pipe(Writes<pipe::Sender>),
    Socket(Socket),
}

/// Returns standard input if it is a pipe or a socket that the runtime can poll.
pub(super) fn stdin() -> Option<Input> {
    polled(&io::stdin(), |kind, stream| match kind {
        Kind::Pipe => {
            let pipe = pipe::OpenOptions::new().open_receiver("/proc/self/fd/0")?;
            Ok(Input::Pipe(Reads(pipe)))
        }
        Kind::Socket => Socket::new(stream, Interest::READABLE).map(Input::Socket),
    })
}

/// Returns standard output if it is a pipe or a socket that the runtime can poll.
pub(super) fn stdout() -> Option<Output> {
    polled(&io::stdout(), |kind, stream| match kind {
        Kind::Pipe => {
            let pipe = pipe::OpenOptions::new().open_sender("/proc/self/fd/1")?;
            Ok(Output::Pipe(Writes(pipe)))
        }
        Kind::Socket => Socket::new(stream, Interest::WRITABLE).map(Output::Socket),
    })
}

#[derive(Clone, Copy)]
enum Kind {
    Pipe,
    Socket,
}

/// Opens a stream with `open`. `None` if it is of another kind, if the system refuses to open it, for example because
/// `/proc` is missing or because the pipe belongs to another user, or if the runtime has no IO driver.
fn polled<T>(stream: &impl AsFd, open: fn(Kind, OwnedFd) -> io::Result<T>) -> Option<T> {
    let stream = stream.as_fd().try_clone_to_owned().ok()?;
    let file = File::from(stream);
    let kind = file.metadata().ok()?.file_type();
    let kind = if kind.is_fifo() {
        Kind::Pipe
    } else if kind.is_socket() {
        Kind::Socket
    } else {
        return None;
    };
    // Nothing else tells whether the runtime has an IO driver: without one, registering a stream panics.
    catch_unwind(move || open(kind, file.into())).ok()?.ok()
}

/// A socket whose non-blocking mode is unknown.
#[derive(Debug)]
pub(super) struct Socket(AsyncFd<OwnedFd>);

impl Socket {
    #[allow(
        deprecated,
        reason = "its replacement is unsafe, and `OwnedFd` is the same descriptor until dropped"
    )]
    fn new(stream: OwnedFd, interest: Interest) -> io::Result<Self> {
        AsyncFd::with_interest(stream, interest).map(Self)
    }
}

impl Incoming for Input {
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let socket = match self {
            Self::Pipe(pipe) => return pipe.poll_read(context, buffer),
            Self::Socket(Socket(socket)) => socket,
        };
        loop {
            let mut ready = ready!(socket.poll_read_ready(context))?;
            let received = ready.try_io(|socket| {
                let (bytes, _) = recv(socket, &mut *buffer, RecvFlags::DONTWAIT)?;
                Ok(bytes)
            });
            // An error means that the socket was not ready. The next turn registers the waker.
            let Ok(received) = received else { continue };
            if received.as_ref().is_ok_and(|bytes| (1..buffer.len()).contains(bytes)) {
                // A short read has emptied the socket, so another system call would only fail.
                ready.clear_ready();
            }
            return Poll::Ready(received);
        }
    }
}

impl Outgoing for Output {
    fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let socket = match self {
            Self::Pipe(pipe) => return pipe.poll_write(context, bytes),
            Self::Socket(Socket(socket)) => socket,
        };
        loop {
            let mut ready = ready!(socket.poll_write_ready(context))?;
            let sent = ready.try_io(|socket| Ok(send(socket, bytes, SendFlags::DONTWAIT)?));
            // An error means that the socket was not ready. The next turn registers the waker.
            if let Ok(sent) = sent {
                return Poll::Ready(sent);
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
