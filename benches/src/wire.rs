//! The runtime that the official SDK needs, and the other end of its connections.

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};
use tokio::runtime::{Builder, Runtime};

/// How many bytes can be on their way: more than any message has, so that nobody waits for room.
const ROOM: usize = 4_000_000;

/// A runtime without threads, timers and sockets.
pub(crate) fn runtime() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

/// The two ends of a connection.
pub(crate) fn connection() -> (DuplexStream, DuplexStream) {
    duplex(ROOM)
}

/// The end of a connection that is operated by hand.
pub(crate) struct Wire {
    stream: BufReader<DuplexStream>,
    line: Vec<u8>,
}

impl Wire {
    /// An end, and the other end.
    pub(crate) fn new() -> (Self, DuplexStream) {
        let (ours, theirs) = connection();
        let stream = BufReader::with_capacity(64 * 1_024, ours);
        (Self { stream, line: Vec::new() }, theirs)
    }

    pub(crate) async fn write(&mut self, line: &[u8]) {
        self.stream.write_all(line).await.unwrap();
    }

    /// The next line, with its end. Nothing if the other end is gone.
    pub(crate) async fn read(&mut self) -> &[u8] {
        self.line.clear();
        self.stream.read_until(b'\n', &mut self.line).await.unwrap();
        &self.line
    }
}
