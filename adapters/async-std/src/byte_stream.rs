//! Input and output of a [`ByteStream`] on the streams of the runtime, for custom event loops.

use std::io;

use futures_io::{AsyncRead, AsyncWrite};
use mcp_sansio::ByteStream;
use mcp_sansio::drive::Role;

use crate::streams::{Reads, Writes};

/// Waits for input, and reads it into the byte stream. Returns whether there was any: at the end of the input it
/// [finishes](ByteStream::finish) the stream. Call it after [`ByteStream::next_step`] has returned `None`. Dropping the
/// future loses nothing.
///
/// ```
/// use mcp_sansio::{ByteStream, Instant, Server, ServerConfig, ServerEvent};
/// use mcp_sansio_async_std::{read_into, write_from};
///
/// # async_std::task::block_on(async {
/// let mut input = &b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"[..];
/// let mut output = Vec::new();
///
/// let start = std::time::Instant::now();
/// let mut stream = ByteStream::lines(Server::new(ServerConfig::new("doc", "1.0").into()));
/// loop {
///     while let Some(step) = stream.next_step(Instant::EPOCH + start.elapsed()) {
///         if let Some(ServerEvent::Request(request)) = step.event {
///             step.machine.respond(request.id, &(), step.outbox).expect("the request is open");
///         }
///     }
///     write_from(&mut stream, &mut output).await?;
///     if stream.is_closed() {
///         break;
///     }
///     read_into(&mut stream, &mut input).await?;
/// }
/// assert_eq!(output, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
/// # Ok::<(), std::io::Error>(()) })?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// Any error of the input except [`Interrupted`](io::ErrorKind::Interrupted), after which the read is repeated. Report
/// it with [`ByteStream::fail`].
pub async fn read_into<M: Role>(
    stream: &mut ByteStream<M>,
    input: &mut (impl AsyncRead + Unpin),
) -> io::Result<bool> {
    mcp_sansio_driver::read_into(stream, &mut Reads(input)).await
}

/// Writes everything that the byte stream has to send, and flushes the output. Dropping the future loses nothing. Read
/// in the same loop at the same time: if both sides wait for each other, they deadlock.
///
/// # Errors
///
/// Any error of the output except [`Interrupted`](io::ErrorKind::Interrupted), after which the write is repeated. Report
/// it with [`ByteStream::fail`].
pub async fn write_from<M: Role>(
    stream: &mut ByteStream<M>,
    output: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    mcp_sansio_driver::write_from(stream, &mut Writes(output)).await
}
