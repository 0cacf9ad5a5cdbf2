//! [`SocketWriter`]: sockets whose output has to be closed explicitly.

use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
#[cfg(unix)]
use std::time::Duration;

/// The time after which a write returns although the peer has not read, so that a writer notices that its connection has
/// ended.
#[cfg(unix)]
const WRITE: Duration = Duration::from_secs(1);

/// A socket of which one direction can be closed while the other stays open.
pub trait HalfClose: Write + Send + 'static {
    /// Closes the output, which the peer sees as the end of its input.
    ///
    /// # Errors
    ///
    /// The error of the operating system, for example if the connection is already closed.
    fn close_output(&self) -> io::Result<()>;

    /// Makes a write return [`WouldBlock`](io::ErrorKind::WouldBlock) after about a second in which the peer has not read.
    /// Without that, the thread that writes may outlive the connection for as long as the peer keeps the socket open. The
    /// default implementation does nothing.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    fn limit_writes(&self) -> io::Result<()> {
        Ok(())
    }
}

impl HalfClose for TcpStream {
    fn close_output(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }

    // On Windows, a socket is of no further use after a write that was cut short.
    #[cfg(unix)]
    fn limit_writes(&self) -> io::Result<()> {
        self.set_write_timeout(Some(WRITE))
    }
}

#[cfg(unix)]
impl HalfClose for std::os::unix::net::UnixStream {
    fn close_output(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }

    fn limit_writes(&self) -> io::Result<()> {
        self.set_write_timeout(Some(WRITE))
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
    /// Creates a writer to this socket. On Unix it sets the write timeout of TCP and Unix sockets: see
    /// [`limit_writes`](HalfClose::limit_writes).
    pub fn new(socket: S) -> Self {
        // Without the limit, only the end of the thread is later.
        _ = socket.limit_writes();
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
