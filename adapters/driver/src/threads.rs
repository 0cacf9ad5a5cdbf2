//! Threads that read, write and handle timeouts. No thread waits for another.

use std::io::{self, ErrorKind, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use mcp_sansio::{Cause, Inbox, Phase};

use crate::block::Parker;
use crate::machine::Machine;
use crate::output::KEPT_BUFFER;
use crate::sync::thread;
use crate::timing::Timing;
use crate::wire::Wire;

/// The most bytes of one write, which a pipe accepts as a whole.
const PIECE_BYTES: usize = 4 << 10;

/// The delay before another attempt on a stream in non-blocking mode.
const WOULD_BLOCK: Duration = Duration::from_millis(5);

/// # On threads
///
/// For blocking transports. Each thread ends with the connection, except the reader and the writer: they end when their
/// read or write returns.
impl<M: Machine> Wire<M> {
    /// Starts a thread that reads.
    ///
    /// # Errors
    ///
    /// The error of the operating system if it cannot start a thread. The connection has ended then.
    pub fn read_on_thread(self: &Arc<Self>, reader: impl Read + Send + 'static) -> io::Result<()> {
        self.spawn("mcp reader", Cause::ReadFailed, move |wire| wire.read(reader))
    }

    /// Starts a thread that writes.
    ///
    /// # Errors
    ///
    /// As for [`read_on_thread`](Self::read_on_thread).
    pub fn write_on_thread(
        self: &Arc<Self>,
        writer: impl Write + Send + 'static,
    ) -> io::Result<()> {
        self.lock().output.is_attached = true;
        self.spawn("mcp writer", Cause::WriteFailed, move |wire| wire.write(writer))
    }

    /// Starts a thread that handles timeouts.
    ///
    /// # Errors
    ///
    /// As for [`read_on_thread`](Self::read_on_thread).
    pub fn keep_time_on_thread(self: &Arc<Self>) -> io::Result<()> {
        self.spawn("mcp timer", Cause::WriteFailed, |wire| wire.keep_time())
    }

    /// Blocks until the connection has ended, all output has been written and all events have been delivered. Other
    /// threads have to read, write and handle timeouts.
    ///
    /// # Errors
    ///
    /// The first read or write error, and [`TimedOut`](ErrorKind::TimedOut) if the peer stopped reading before the
    /// end of the output. A peer that disconnects is no error.
    pub fn wait(&self) -> io::Result<()> {
        self.ended().notified().wait();
        self.failure()
    }

    /// Starts a thread. If it panics, because a stream of the application does, the connection has failed.
    fn spawn(
        self: &Arc<Self>,
        name: &str,
        failure: Cause,
        run: impl FnOnce(&Arc<Self>) + Send + 'static,
    ) -> io::Result<()> {
        let wire = Arc::clone(self);
        let run = move || {
            if catch_unwind(AssertUnwindSafe(|| run(&wire))).is_err() {
                wire.fail(failure, io::Error::other("a stream panicked"));
            }
        };
        let spawned = thread::Builder::new().name(name.into()).spawn(run);
        if spawned.is_err() {
            self.disconnected(Cause::ShutDown);
        }
        spawned.map(|_| ())
    }

    fn read(self: &Arc<Self>, mut reader: impl Read) {
        let (parker, mut inbox) = (Parker::new(), Inbox::new(&self.limits));
        let mut ended = None;
        while ended.is_none() {
            inbox.release_above(KEPT_BUFFER);
            match reader.read(inbox.space()) {
                Ok(0) => ended = Some(Ok(())),
                Ok(bytes) => self.after_read(&mut inbox, bytes),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(WOULD_BLOCK),
                Err(error) => ended = Some(Err(error)),
            }
            if ended.is_some() {
                inbox.finish();
            }
            while self.poll_take(&mut inbox, &parker.context()).is_pending() {
                parker.park(None);
            }
            if self.phase() == Phase::Closed && (!M::READS_TO_THE_END || self.has_stopped_reading())
            {
                return;
            }
        }
        while self.poll_end_of_input(&mut ended, &parker.context()).is_pending() {
            parker.park(None);
        }
    }

    /// Writes until the connection has ended and the outbox is empty.
    fn write(self: &Arc<Self>, mut writer: impl Write) {
        let written = self.write_output(&mut writer);
        self.end_direct_writes();
        if let Err(error) = written {
            // Before the stream is closed, which the reader may see as the end of its input.
            return self.fail(Cause::WriteFailed, error);
        }
        // The peer may wait for the end of the stream.
        drop(writer);
        self.stop_writing();
    }

    fn write_output(self: &Arc<Self>, writer: &mut impl Write) -> io::Result<()> {
        let (parker, mut chunk) = (Parker::new(), Vec::new());
        loop {
            match self.poll_chunk(&parker.context(), &mut chunk) {
                Poll::Pending => _ = parker.park(None),
                Poll::Ready(false) => return Ok(()),
                Poll::Ready(true) => {
                    self.write_all(writer, &chunk)?;
                    self.wrote();
                }
            }
        }
    }

    /// Writes all bytes, also to a stream in non-blocking mode.
    fn write_all(&self, writer: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
        // A pipe accepts a piece as a whole or not at all, so progress of a slow peer is visible only between
        // pieces.
        let mut is_first = true;
        for mut piece in bytes.chunks(PIECE_BYTES) {
            while !piece.is_empty() {
                if !is_first && !self.note_write() {
                    // The output has been given up in the meantime.
                    return Err(ErrorKind::TimedOut.into());
                }
                is_first = false;
                match self.patiently(|| writer.write(piece))? {
                    0 => return Err(ErrorKind::WriteZero.into()),
                    written => piece = piece.get(written..).unwrap_or_default(),
                }
            }
        }
        self.patiently(|| writer.flush())
    }

    /// Repeats an operation while its stream returns `WouldBlock`, unless the output has been given up in the meantime.
    fn patiently<T>(&self, mut act: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        loop {
            match act() {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.has_given_up_writing() {
                        return Err(ErrorKind::TimedOut.into());
                    }
                    thread::sleep(WOULD_BLOCK);
                }
                done => return done,
            }
        }
    }

    /// Handles timeouts until the connection has ended.
    fn keep_time(self: &Arc<Self>) {
        let parker = Parker::new();
        let mut before = None;
        while let Timing::Until(deadline) = self.poll_time(&parker.context()) {
            let is_woken = parker.park(deadline);
            if !is_woken && deadline == before {
                // Nothing was due, so the clock is stopped while the thread's time passes.
                thread::sleep(WOULD_BLOCK);
            }
            before = deadline.filter(|_| !is_woken);
        }
    }
}
