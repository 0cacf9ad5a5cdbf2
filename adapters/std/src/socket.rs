//! [`SocketWriter`]: sockets whose output has to be closed explicitly.

use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};

/// A socket of which one direction can be closed while the other stays open.
pub trait HalfClose: Write + Send + 'static {
    /// Closes the output, which the peer sees as the end of its input.
    ///
    /// # Errors
    ///
    /// The error of the operating system, for example if the connection is already closed.
    fn close_output(&self) -> io::Result<()>;
}

impl HalfClose for TcpStream {
    fn close_output(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

#[cfg(unix)]
impl HalfClose for std::os::unix::net::UnixStream {
    fn close_output(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

/// The writing half of a socket, which closes the output when it is dropped.
///
/// A pipe is closed by dropping its writing end. A socket is not, because the reading half is the same socket.
/// Without this type, the peer would not see the end of [`serve`](crate::serve) or
/// [`Connection::close`](crate::Connection::close).
///
/// ```no_run
/// use std::net::TcpStream;
/// use mcp_sansio::ClientConfig;
/// use mcp_sansio_std::{RefuseAll, SocketWriter, connect};
///
/// let socket = TcpStream::connect("localhost:4000")?;
/// let reader = socket.try_clone()?;
/// let config = ClientConfig::new("example", "1.0");
/// let connection = connect(config, reader, SocketWriter::new(socket), RefuseAll::new())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SocketWriter<S: HalfClose> {
    socket: S,
}

impl<S: HalfClose> SocketWriter<S> {
    /// Creates a writer to this socket.
    pub const fn new(socket: S) -> Self {
        Self { socket }
    }
}

impl<S: HalfClose> Write for SocketWriter<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl<S: HalfClose> Drop for SocketWriter<S> {
    fn drop(&mut self) {
        // The connection may already be closed, which has the same effect.
        _ = self.socket.close_output();
    }
}
