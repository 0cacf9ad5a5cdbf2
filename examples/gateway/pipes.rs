//! Threads that move bytes and do nothing else.
//!
//! One reads each pipe and hands what comes to the event loop; one writes each pipe and says when it has done so.
//! The loop gives a writer the next piece when it is done with the one before: so the loop never waits for
//! somebody who does not read, and what waits is in an `Outbox`, which has a limit.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::mpsc::{self, Sender, SyncSender};
use std::thread;

use mcp_sansio::Outbox;

/// What the event loop hears of, and of which line.
pub(crate) enum News {
    /// Bytes have come.
    Bytes(usize, Vec<u8>),
    /// Nothing more will come.
    Ended(usize),
    /// What the writer was given has been written.
    Written(usize),
    /// It could not be written.
    Broken(usize),
    /// The user wants it to end.
    Interrupted,
}

/// How many pieces of news may wait for the event loop.
pub(crate) const WAITING: usize = 64;

/// Most bytes that are read at once.
const CHUNK: usize = 64 * 1024;

/// Reads to the end, for the line with this number.
pub(crate) fn read(
    line: usize,
    mut pipe: impl Read + Send + 'static,
    news: SyncSender<News>,
) -> io::Result<()> {
    let read = move || {
        let mut chunk = vec![0; CHUNK];
        loop {
            let told = match pipe.read(&mut chunk) {
                Ok(0) => break,
                Ok(bytes) => {
                    news.send(News::Bytes(line, chunk.get(..bytes).unwrap_or_default().to_vec()))
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
                Err(_) => break,
            };
            if told.is_err() {
                return;
            }
        }
        // If nobody listens any more, that is because the program ends.
        _ = news.send(News::Ended(line));
    };
    thread::Builder::new().name("reader".into()).spawn(read).map(drop)
}

/// A thread that writes to a pipe, which is closed when this is dropped.
pub(crate) struct Writer {
    pieces: Sender<Vec<u8>>,
    /// Whether it has not written yet what it was given.
    is_busy: bool,
}

impl Writer {
    /// Writes to the pipe of the line with this number.
    pub(crate) fn start(
        line: usize,
        mut pipe: impl Write + Send + 'static,
        news: SyncSender<News>,
    ) -> io::Result<Self> {
        let (pieces, given) = mpsc::channel::<Vec<u8>>();
        let write = move || {
            for piece in given {
                let written = pipe.write_all(&piece).and_then(|()| pipe.flush());
                let said = if written.is_ok() { News::Written(line) } else { News::Broken(line) };
                if news.send(said).is_err() || written.is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("writer".into()).spawn(write)?;
        Ok(Self { pieces, is_busy: false })
    }

    /// Gives the thread what there is to write, if it is not busy.
    pub(crate) fn write(&mut self, outbox: &mut Outbox) {
        if !self.is_busy && !outbox.is_empty() {
            self.is_busy = true;
            // If the thread has ended, it has said that the pipe is broken.
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
