//! Input and output of a [`ByteStream`] on asynchronous streams, for custom event loops.

use std::future::poll_fn;
use std::io::{self, ErrorKind};

use mcp_sansio::ByteStream;
use mcp_sansio::drive::Role;

use crate::streams::{Incoming, Outgoing};

/// Waits for input, and reads it into the byte stream. Returns whether there was any: at the end of the input it
/// [finishes](ByteStream::finish) the stream. Call it after [`ByteStream::next_step`] has returned `None`. Dropping the
/// future loses nothing.
///
/// # Errors
///
/// Any error of the input except [`ErrorKind::Interrupted`], after which the read is repeated. Report it with
/// [`ByteStream::fail`].
pub async fn read_into<M: Role>(
    stream: &mut ByteStream<M>,
    input: &mut impl Incoming,
) -> io::Result<bool> {
    loop {
        let read = poll_fn(|context| input.poll_read(context, stream.space())).await;
        match read {
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

/// Writes everything that the byte stream has to send, and flushes the output. Dropping the future loses nothing:
/// written bytes have left the byte stream, all others are still in it.
///
/// # Errors
///
/// Any error of the output except [`ErrorKind::Interrupted`], after which the write is repeated. Report it with
/// [`ByteStream::fail`].
pub async fn write_from<M: Role>(
    stream: &mut ByteStream<M>,
    output: &mut impl Outgoing,
) -> io::Result<()> {
    while !stream.unsent().is_empty() {
        let unsent = stream.unsent();
        match poll_fn(|context| output.poll_write(context, unsent)).await {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(bytes) => stream.sent(bytes),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    poll_fn(|context| output.poll_flush(context)).await
}
