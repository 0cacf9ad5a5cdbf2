//! Serves standard input and output, and records everything that happens.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::mem;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

use mcp_sansio::testing::{Recorder, Sink, Step, StepKind};
use mcp_sansio::{Instant, Phase, Server};
use mcp_sansio_std::Clock;

use crate::tools::{GO_ON, Tools, config};

/// The longest wait without a deadline. A spurious wake-up is harmless.
const A_WHILE: Duration = Duration::from_secs(60);

/// Serves until the session has ended.
///
/// Only the file can cause an error: a client that disconnects is part of the recording.
pub(crate) fn record(path: &Path) -> io::Result<()> {
    let mut session = Session::new(File::create(path)?);
    let (sender, input) = mpsc::sync_channel(1);
    thread::spawn(move || read(&sender));
    while !session.is_over() {
        let now = session.clock.now();
        let patience = session.poll_timeout().map_or(A_WHILE, |deadline| deadline - now);
        let patience = patience.min(A_WHILE);
        let kind = match input.recv_timeout(patience) {
            Ok(kind) => Some(kind),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                // The input has ended, and only deadlines remain.
                thread::sleep(patience);
                None
            }
        };
        session.turn(kind)?;
    }
    Ok(())
}

/// Reads standard input, on its own thread because reading blocks.
fn read(sender: &SyncSender<StepKind>) {
    let mut buffer = vec![0; 64 * 1024];
    let mut stdin = io::stdin().lock();
    loop {
        let kind = match stdin.read(&mut buffer) {
            Ok(0) => StepKind::EndOfInput,
            Ok(bytes) => StepKind::Read(buffer.get(..bytes).unwrap_or_default().to_vec()),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => StepKind::ReadFailed,
        };
        let goes_on = matches!(kind, StepKind::Read(_));
        if sender.send(kind).is_err() || !goes_on {
            return;
        }
    }
}

/// The file, and the result of writing to it.
struct Journal {
    file: File,
    written: io::Result<()>,
}

impl Sink for Journal {
    fn note(&mut self, step: &Step) {
        if self.written.is_ok() {
            // Written at once, so that a step is complete or absent if this process is killed.
            self.written = self.file.write_all(format!("{step}\n").as_bytes());
        }
    }
}

struct Session {
    recorder: Recorder<Server, Tools, Journal>,
    clock: Clock,
}

impl Session {
    fn new(file: File) -> Self {
        let config = config();
        let limits = config.connection.limits.clone();
        let journal = Journal { file, written: Ok(()) };
        let server = Server::new(config.into());
        let recorder = Recorder::with_sink(server, Tools::default(), &limits, journal);
        Self { recorder, clock: Clock::new() }
    }

    /// Runs one turn of the event loop: the input, the due timeouts, and the output that they cause.
    fn turn(&mut self, kind: Option<StepKind>) -> io::Result<()> {
        let now = self.clock.now();
        if let Some(kind) = kind {
            self.happened(now, kind)?;
        }
        if is_due(self.recorder.application().poll_timeout(), now) {
            self.happened(now, StepKind::Command(GO_ON.into()))?;
        }
        if is_due(self.recorder.machine().poll_timeout(), now) {
            self.happened(now, StepKind::Timeout)?;
        }
        let bytes = self.recorder.written(now, usize::MAX);
        self.is_written_down()?;
        let mut stdout = io::stdout().lock();
        if !bytes.is_empty() && stdout.write_all(&bytes).and_then(|()| stdout.flush()).is_err() {
            // The client does not read any more.
            self.happened(now, StepKind::WriteFailed)?;
        }
        Ok(())
    }

    fn happened(&mut self, now: Instant, kind: StepKind) -> io::Result<()> {
        self.recorder.happened(now, kind);
        self.is_written_down()
    }

    /// Returns an error if the last step is not in the file. Output leaves only after that check.
    fn is_written_down(&mut self) -> io::Result<()> {
        mem::replace(&mut self.recorder.sink_mut().written, Ok(()))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let machine = self.recorder.machine().poll_timeout();
        machine.into_iter().chain(self.recorder.application().poll_timeout()).min()
    }

    fn is_over(&self) -> bool {
        let server = self.recorder.machine();
        server.phase() == Phase::Closed && server.poll_timeout().is_none()
    }
}

fn is_due(deadline: Option<Instant>, now: Instant) -> bool {
    deadline.is_some_and(|deadline| deadline <= now)
}
