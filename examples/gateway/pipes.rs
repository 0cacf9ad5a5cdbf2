//! Threads that only move bytes.
//!
//! One thread reads each pipe and sends the bytes to the event loop. Another one writes to each pipe and reports
//! completion. The loop passes the next piece to a writer when the previous one is written. So the loop never waits
//! for a peer that does not read, and unsent bytes stay in an `Outbox`, which has a limit.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::mpsc::{self, Sender, SyncSender};
use std::thread;

use mcp_sansio::Outbox;

/// A message to the event loop, with the number of its line.
pub(crate) enum News {
    /// Bytes have arrived.
    Bytes(usize, Vec<u8>),
    /// The input has ended.
    Ended(usize),
    /// The writer has written its piece.
    Written(usize),
    /// The writer could not write its piece.
    Broken(usize),
    /// The user has interrupted the program.
    Interrupted,
}

/// The capacity of the channel to the event loop.
pub(crate) const WAITING: usize = 64;

/// The most bytes of one read.
const CHUNK: usize = 64 * 1024;

/// Starts a thread that reads to the end, for the line with this number.
pub(crate) fn read(
    line: usize,
    mut pipe: impl Read + Send + 'static,
    news: SyncSender<News>,
) -> io::Result<()> {
    let read = move || {
        let mut chunk = vec![0; CHUNK];
        loop {
            let sent = match pipe.read(&mut chunk) {
                Ok(0) => break,
                Ok(bytes) => {
                    news.send(News::Bytes(line, chunk.get(..bytes).unwrap_or_default().to_vec()))
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
                Err(_) => break,
            };
            if sent.is_err() {
                return;
            }
        }
        // The channel is closed only when the program ends.
        _ = news.send(News::Ended(line));
    };
    thread::Builder::new().name("reader".into()).spawn(read).map(drop)
}

/// A thread that writes to a pipe. Dropping this closes the pipe.
pub(crate) struct Writer {
    pieces: Sender<Vec<u8>>,
    /// Whether the last piece has not been written yet.
    is_busy: bool,
}

impl Writer {
    /// Starts a thread that writes to the pipe of the line with this number.
    pub(crate) fn start(
        line: usize,
        mut pipe: impl Write + Send + 'static,
        news: SyncSender<News>,
    ) -> io::Result<Self> {
        let (pieces, given) = mpsc::channel::<Vec<u8>>();
        let write = move || {
            for piece in given {
                let written = pipe.write_all(&piece).and_then(|()| pipe.flush());
                let note = if written.is_ok() { News::Written(line) } else { News::Broken(line) };
                if news.send(note).is_err() || written.is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("writer".into()).spawn(write)?;
        Ok(Self { pieces, is_busy: false })
    }

    /// Passes the unsent bytes to the thread, if it is not busy.
    pub(crate) fn write(&mut self, outbox: &mut Outbox) {
        if !self.is_busy && !outbox.is_empty() {
            self.is_busy = true;
            // A thread that has ended has reported that the pipe is broken.
            _ = self.pieces.send(outbox.unsent().to_vec());
            outbox.sent(outbox.unsent().len());
        }
    }

    pub(crate) const fn written(&mut self) {
        self.is_busy = false;
    }

    pub(crate) const fn is_busy(&self) -> bool {
        self.is_busy
    }
}
