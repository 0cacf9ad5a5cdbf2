//! The runtime for the official SDK, and the other end of its connections.

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};
use tokio::runtime::{Builder, Runtime};

/// The number of bytes in transit: more than any message has, so that writes never block.
const ROOM: usize = 4_000_000;

/// Creates a single-threaded runtime without timers and sockets.
pub(crate) fn runtime() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

/// Returns the two ends of a connection.
pub(crate) fn connection() -> (DuplexStream, DuplexStream) {
    duplex(ROOM)
}

/// The hand-operated end of a connection.
pub(crate) struct Wire {
    stream: BufReader<DuplexStream>,
    line: Vec<u8>,
}

impl Wire {
    /// Creates a connection and returns its two ends.
    pub(crate) fn new() -> (Self, DuplexStream) {
        let (ours, theirs) = connection();
        let stream = BufReader::with_capacity(64 * 1_024, ours);
        (Self { stream, line: Vec::new() }, theirs)
    }

    pub(crate) async fn write(&mut self, line: &[u8]) {
        self.stream.write_all(line).await.unwrap();
    }

    /// Returns the next line with its end, or nothing if the other end is closed.
    pub(crate) async fn read(&mut self) -> &[u8] {
        self.line.clear();
        self.stream.read_until(b'\n', &mut self.line).await.unwrap();
        &self.line
    }
}
