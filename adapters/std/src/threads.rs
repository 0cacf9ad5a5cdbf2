//! The three threads of a connection: one reads and feeds, one writes what there is, one waits for
//! deadlines. None of them ever waits for another.

use std::io::{self, ErrorKind, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::Duration;

use mcp_sansio::{Cause, Inbox, Phase};

use crate::machine::Machine;
use crate::wire::{Wire, Writing};

/// How much is handed to the system in one write. A call that is in there counts as sent.
const WRITE_BYTES: usize = 64 << 10;

/// How long to leave a stream alone that somebody has set to not block.
const WOULD_BLOCK: Duration = Duration::from_millis(5);

impl<M: Machine> Wire<M> {
    /// Starts the threads that read, write and wait for deadlines.
    ///
    /// # Errors
    ///
    /// What the system says if it has no thread. Those that it had are ended.
    pub(crate) fn start(
        self: &Arc<Self>,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
    ) -> io::Result<()> {
        self.spawn("mcp writer", Cause::WriteFailed, move |wire| wire.write(writer))?;
        self.spawn("mcp timer", Cause::WriteFailed, |wire| wire.keep_time())?;
        self.spawn("mcp reader", Cause::ReadFailed, move |wire| wire.read(reader))
    }

    /// Starts a thread. Should it panic, because a stream of the application's does, the connection
    /// has failed.
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
            self.with(|machine, _, now| machine.disconnected(Cause::ShutDown, now));
        }
        spawned.map(|_| ())
    }

    /// A stream has failed.
    fn fail(self: &Arc<Self>, cause: Cause, error: io::Error) {
        let mut state = self.lock();
        if cause == Cause::WriteFailed {
            state.writing = Writing::Over;
        }
        // That the peer has gone is how connections end.
        let has_gone = matches!(
            error.kind(),
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted
        );
        if !has_gone {
            state.failure.get_or_insert(error);
        }
        drop(state);
        self.with(|machine, _, now| machine.disconnected(cause, now));
    }

    fn read(self: &Arc<Self>, mut reader: impl Read) {
        let mut inbox = Inbox::new(&self.limits);
        let ended = loop {
            match reader.read(inbox.space()) {
                Ok(0) => break Ok(()),
                Ok(bytes) => inbox.filled(bytes),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    thread::sleep(WOULD_BLOCK);
                }
                Err(error) => break Err(error),
            }
            self.take(&mut inbox);
            if !M::READS_TO_THE_END && self.phase() == Phase::Closed {
                return;
            }
        };
        inbox.finish();
        self.take(&mut inbox);
        match ended {
            Ok(()) => self.with(|machine, _, now| machine.disconnected(Cause::EndOfInput, now)),
            Err(error) => self.fail(Cause::ReadFailed, error),
        }
    }

    fn take(self: &Arc<Self>, inbox: &mut Inbox) {
        while let Some(frame) = inbox.next() {
            self.receive(frame);
        }
    }

    /// Writes until the connection has ended and the outbox is empty.
    fn write(self: &Arc<Self>, mut writer: impl Write) {
        let mut chunk = Vec::with_capacity(WRITE_BYTES);
        while self.next_chunk(&mut chunk) {
            if let Err(error) = write_all(&mut writer, &chunk).and_then(|()| writer.flush()) {
                return self.fail(Cause::WriteFailed, error);
            }
            let mut state = self.lock();
            state.writing = Writing::Idle;
            state.chunks += 1;
            drop(state);
            self.change.notify_all();
        }
        let mut state = self.lock();
        state.writing = Writing::Over;
        drop(state);
        // The other side may wait for this to see the end.
        drop(writer);
        self.change.notify_all();
    }

    /// Waits for output and copies a chunk of it. Says whether there was any.
    fn next_chunk(&self, chunk: &mut Vec<u8>) -> bool {
        let mut state = self.lock();
        while state.out.is_empty() {
            if state.machine.phase() == Phase::Closed {
                return false;
            }
            state = self.output.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        chunk.clear();
        let unsent = state.out.unsent();
        chunk.extend_from_slice(unsent.get(..WRITE_BYTES).unwrap_or(unsent));
        state.out.sent(chunk.len());
        state.writing = Writing::Busy;
        self.made_room(&mut state);
        true
    }

    /// Hands out what time brings about, until the connection has ended.
    fn keep_time(self: &Arc<Self>) {
        let mut state = self.lock();
        loop {
            self.settle(&mut state);
            if state.has_left_over() {
                self.release(state);
                // Much can have happened meanwhile.
                state = self.lock();
                continue;
            }
            let deadline = state.machine.poll_timeout();
            if state.machine.phase() == Phase::Closed && deadline.is_none() {
                return self.release(state);
            }
            self.wake();
            let deadline = deadline.into_iter().chain(self.next_expiry()).min();
            state = match deadline {
                None => self.change.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let patience = deadline - self.clock.now();
                    let waited = self.change.wait_timeout(state, patience);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

/// Writes everything, also to a stream that somebody has set to not block.
fn write_all(writer: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match writer.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(WOULD_BLOCK),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
