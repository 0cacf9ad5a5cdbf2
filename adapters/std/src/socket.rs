//! Sockets, which have to be told that nothing more will be written.

use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};

/// A socket of which one direction can be closed while the other stays open.
pub trait HalfClose: Write + Send + 'static {
    /// Says to the other side that nothing more comes.
    ///
    /// # Errors
    ///
    /// What the system says, for example that the connection is gone already.
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

/// The writing half of a socket, which says that it is done when it is dropped.
///
/// A pipe is closed by dropping its writing end. A socket is not, because the reading half is the same
/// socket: without this, neither [`serve`](crate::serve) nor
/// [`Connection::close`](crate::Connection::close) would ever reach the other side.
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
    /// Writes to this socket.
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
        // If the connection is gone already, so much the better.
        _ = self.socket.close_output();
    }
}
