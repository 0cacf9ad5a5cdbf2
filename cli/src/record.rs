//! `--record`: a man in the middle, between a host and the server that it would start.

use std::io::{self, Read, Write};
use std::mem;
use std::process::{ChildStdin, ChildStdout, ExitStatus};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use mcp_sansio_std::{KillSwitch, Process, ProcessOptions, Sleeps, Waiting};

use crate::ending::{Counted, MOMENT, Signals};
use crate::recording::{Recorder, Sender};
use crate::say::say;
use crate::target::Program;

/// The longest line that is recorded. A longer one is passed on, and recorded as its length.
const LONGEST: usize = 64 << 20;

/// The server, until it is ended.
enum Server {
    /// The function that starts the server has the lock.
    Starting,
    Running(Box<Process>),
    Ended(io::Result<ExitStatus>),
}

/// Starts the server, and passes everything between it and the host on until the server ends. Returns its exit status.
///
/// Lines are recorded before they are passed on, so a recording has each message before the responses to it. A failure
/// to write the recording is reported once. At a signal, the server ends as a host ends it: its input is closed, then it
/// is asked to terminate, then it is killed, each time with the processes that it has started.
pub(crate) fn relay(program: &Program, recorder: Recorder) -> Result<ExitStatus, String> {
    let name = program.program.to_string_lossy();
    let (input, server) = (Arc::default(), Arc::new(Mutex::new(Server::Starting)));
    let output = start(program, &input, &server).map_err(|error| format!("{name}: {error}"))?;
    let recorder = Arc::new(recorder);
    let from_host = {
        let (recorder, input) = (Arc::clone(&recorder), Arc::clone(&input));
        move || {
            pass_on(io::stdin(), &recorder, Sender::Client, |bytes| match &mut *lock(&input) {
                Some(input) => input.write_all(bytes).and_then(|()| input.flush()),
                None => Err(io::ErrorKind::BrokenPipe.into()),
            });
            lock(&input).take();
        }
    };
    // The thread ends with the process: nothing interrupts a read of standard input.
    thread::spawn(from_host);
    pass_on(output, &recorder, Sender::Server, |bytes| {
        let mut stdout = io::stdout();
        stdout.write_all(bytes).and_then(|()| stdout.flush())
    });
    close(&input);
    end(&server).map_err(|error| format!("{name}: {error}"))
}

/// Starts the server. Returns its output.
fn start(
    program: &Program,
    input: &Arc<Mutex<Option<ChildStdin>>>,
    server: &Arc<Mutex<Server>>,
) -> io::Result<ChildStdout> {
    // Locked until the server has started: an earlier signal ends it as soon as it has.
    let (mut shared_input, mut shared_server) = (lock(input), lock(server));
    let kill_switch = KillSwitch::default();
    end_on_signals(input, server, &kill_switch);
    let options = ProcessOptions::default();
    let (mut process, input, output) = Process::spawn(&mut program.command(), options)?;
    process.set_kill_switch(&kill_switch);
    *shared_input = Some(input);
    *shared_server = Server::Running(Box::new(process));
    Ok(output)
}

/// Closes the input of the server, in a thread of its own: a server that does not read holds it up until it ends.
fn close(input: &Arc<Mutex<Option<ChildStdin>>>) {
    let input = Arc::clone(input);
    thread::spawn(move || drop(lock(&input).take()));
}

/// Ends the server, or waits until another thread has done so.
fn end(server: &Mutex<Server>) -> io::Result<ExitStatus> {
    let mut server = lock(server);
    let ended = Server::Ended(Err(io::ErrorKind::Other.into()));
    let status = match mem::replace(&mut *server, ended) {
        Server::Running(mut process) => {
            Waiting::new(async { process.end(&Sleeps::default()).await }).wait()
        }
        // The server could not be started. The program fails with the reason.
        Server::Starting => Err(io::ErrorKind::NotConnected.into()),
        Server::Ended(status) => status,
    };
    let copy = status.as_ref().map_or_else(|error| Err(error.kind().into()), |status| Ok(*status));
    *server = Server::Ended(copy);
    status
}

/// Passes bytes on until their end, and records their lines.
fn pass_on(
    mut from: impl Read,
    recorder: &Recorder,
    sender: Sender,
    mut to: impl FnMut(&[u8]) -> io::Result<()>,
) {
    let mut lines = Lines { recorder, sender, partial: Vec::new(), skipped: 0, has_failed: false };
    let mut buffer = [0; 16 << 10];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        let bytes = buffer.get(..count).unwrap_or_default();
        // Recorded first: the response could otherwise be recorded before its request.
        lines.add(bytes);
        // A reader that has ended shows in the other direction.
        if to(bytes).is_err() {
            break;
        }
    }
    lines.end();
}

/// The lines of one direction.
struct Lines<'r> {
    recorder: &'r Recorder,
    sender: Sender,
    /// The line that is not complete.
    partial: Vec<u8>,
    /// The bytes of that line that are not kept.
    skipped: usize,
    has_failed: bool,
}

impl Lines<'_> {
    fn add(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(end);
            self.keep(line);
            self.end();
            rest = after.strip_prefix(b"\n").unwrap_or(after);
        }
        self.keep(rest);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = LONGEST.saturating_sub(self.partial.len());
        let kept = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        self.partial.extend_from_slice(kept);
        self.skipped += bytes.len() - kept.len();
    }

    /// Records the line.
    fn end(&mut self) {
        let line = mem::take(&mut self.partial);
        let recorded = match mem::take(&mut self.skipped) {
            0 => self.recorder.line(self.sender, &line),
            skipped => {
                let text = format!("a line of {} bytes", line.len() + skipped);
                self.recorder.line(self.sender, text.as_bytes())
            }
        };
        if let Err(error) = recorded
            && !mem::replace(&mut self.has_failed, true)
        {
            say!("inspect: the recording is not whole: {error}");
        }
    }
}

/// At the first signal the server is ended, at the second one it is killed and this process exits.
fn end_on_signals(
    input: &Arc<Mutex<Option<ChildStdin>>>,
    server: &Arc<Mutex<Server>>,
    kill_switch: &KillSwitch,
) {
    let (input, server, kill_switch) = (Arc::clone(input), Arc::clone(server), kill_switch.clone());
    let signals = Signals::default();
    let installed = ctrlc::set_handler(move || match signals.count() {
        Counted::First => {
            close(&input);
            let server = Arc::clone(&server);
            thread::spawn(move || end(&server));
        }
        Counted::WithLast => {}
        Counted::Another => {
            kill_switch.pull();
            // The server leads its own process group, and would go on. The thread of the first signal has its lock
            // until it is killed.
            let (server, (killed, is_killed)) = (Arc::clone(&server), channel());
            thread::spawn(move || {
                _ = end(&server);
                _ = killed.send(());
            });
            _ = is_killed.recv_timeout(MOMENT);
            std::process::exit(130);
        }
    });
    if let Err(error) = installed {
        say!("inspect: a signal may leave the server running: {error}");
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
