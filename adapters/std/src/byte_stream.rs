//! Input and output of a [`ByteStream`] on blocking streams, for custom event loops.

use std::io::{self, ErrorKind, Read, Write};

use mcp_sansio::ByteStream;
use mcp_sansio::drive::Role;

/// Waits for input, and reads it into the byte stream. Returns whether there was any: at the end of the input it
/// [finishes](ByteStream::finish) the stream. Call it after [`ByteStream::next_step`] has returned `None`.
///
/// It is for loops that can block until the peer sends something; [`serve`](crate::serve) and
/// [`connect`](crate::connect) read in a thread.
///
/// ```
/// use mcp_sansio::{ByteStream, Server, ServerConfig, ServerEvent};
/// use mcp_sansio_std::{Clock, read_into, write_from};
///
/// let mut input = &b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"[..];
/// let mut output = Vec::new();
///
/// let clock = Clock::new();
/// let mut stream = ByteStream::lines(Server::new(ServerConfig::new("doc", "1.0").into()));
/// loop {
///     while let Some(step) = stream.next_step(clock.now()) {
///         if let Some(ServerEvent::Request(request)) = step.event {
///             step.machine.respond(request.id, &(), step.outbox).expect("the request is open");
///         }
///     }
///     write_from(&mut stream, &mut output)?;
///     if stream.is_closed() {
///         break;
///     }
///     read_into(&mut stream, &mut input)?;
/// }
/// assert_eq!(output, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// Any error of the input except [`ErrorKind::Interrupted`], after which the read is repeated. Report it with
/// [`ByteStream::fail`].
pub fn read_into<M: Role>(stream: &mut ByteStream<M>, input: &mut impl Read) -> io::Result<bool> {
    loop {
        match input.read(stream.space()) {
            Ok(0) => {
                stream.finish();
                return Ok(false);
            }
            Ok(bytes) => {
                stream.filled(bytes);
                return Ok(true);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Writes everything that the byte stream has to send, and flushes the output.
///
/// It is for loops that can block until the peer reads. If both sides wait for each other, they deadlock;
/// [`serve`](crate::serve) and [`connect`](crate::connect) write in a thread.
///
/// # Errors
///
/// Any error of the output except [`ErrorKind::Interrupted`], after which the write is repeated. Report it with
/// [`ByteStream::fail`]. Written bytes have left the byte stream, all others are still in it.
pub fn write_from<M: Role>(stream: &mut ByteStream<M>, output: &mut impl Write) -> io::Result<()> {
    while !stream.unsent().is_empty() {
        match output.write(stream.unsent()) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(bytes) => stream.sent(bytes),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    output.flush()
}
