//! [`StandardStream`]: a pipe or a socket as a standard stream, read and written without blocking.
//!
//! The non-blocking mode of a standard stream must not be switched on: it would also apply to the other processes
//! that have inherited the stream. A pipe is opened a second time instead, and a socket has a flag for each operation.
//!
//! A named pipe (`mkfifo`) is not supported. If its last writer has left before the second opening, Linux reports no event
//! for the end of the input (`fifo_open`: "can't check for EPOLLHUP accurately").

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

use rustix::fs::OFlags;
use rustix::net::{RecvFlags, SendFlags, recv, send};

/// Standard input or output of the process, if it is a pipe without a name or a socket, without blocking.
///
/// For adapters, on Linux and Android. An operation that would block is the error
/// [`WouldBlock`](io::ErrorKind::WouldBlock). The process keeps its standard stream when this value is dropped.
#[derive(Debug)]
pub struct StandardStream {
    stream: OwnedFd,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// A pipe without a name, in non-blocking mode.
    Pipe,
    /// A socket, whose non-blocking mode is unknown.
    Socket,
}

impl StandardStream {
    /// Returns standard input. `None` if it is of another kind, or if the system refuses to open it, for example because
    /// `/proc` is missing or because the pipe belongs to another user.
    pub fn stdin() -> Option<Self> {
        let mut options = OpenOptions::new();
        Self::open(&io::stdin(), "/proc/self/fd/0", options.read(true))
    }

    /// As [`stdin`](Self::stdin), for standard output.
    pub fn stdout() -> Option<Self> {
        let mut options = OpenOptions::new();
        Self::open(&io::stdout(), "/proc/self/fd/1", options.write(true))
    }

    /// Opens a stream, which has this path, once more.
    fn open(stream: &impl AsFd, path: &str, options: &mut OpenOptions) -> Option<Self> {
        let stream = File::from(stream.as_fd().try_clone_to_owned().ok()?);
        let file_type = stream.metadata().ok()?.file_type();
        let (stream, kind) = if file_type.is_fifo() && is_unnamed(path) {
            options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
            (options.open(path).ok()?, Kind::Pipe)
        } else if file_type.is_socket() {
            (stream, Kind::Socket)
        } else {
            return None;
        };
        Some(Self { stream: stream.into(), kind })
    }
}

/// Whether the stream with this path is a pipe without a name.
fn is_unnamed(path: &str) -> bool {
    // The kernel calls it `pipe:[NUMBER]`. The path of a named pipe is absolute.
    fs::read_link(path).is_ok_and(|name| name.as_os_str().as_bytes().starts_with(b"pipe:"))
}

impl AsRawFd for StandardStream {
    fn as_raw_fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }
}

impl Read for &StandardStream {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.kind {
            Kind::Pipe => Ok(rustix::io::read(&self.stream, buffer)?),
            Kind::Socket => Ok(recv(&self.stream, buffer, RecvFlags::DONTWAIT)?.0),
        }
    }
}

impl Write for &StandardStream {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.kind {
            Kind::Pipe => Ok(rustix::io::write(&self.stream, bytes)?),
            Kind::Socket => Ok(send(&self.stream, bytes, SendFlags::DONTWAIT)?),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for StandardStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
