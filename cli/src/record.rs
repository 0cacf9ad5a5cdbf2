//! `--record`: a man in the middle, between a host and the server that it would start.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::recording::{Recorder, Sender};
use crate::say::say;
use crate::target::Program;

/// How long a server may take to end after its input has ended, when this program is told to end.
const GRACE: Duration = Duration::from_secs(2);

/// Starts the server, and passes everything between it and the host on until the server ends. Returns its exit status.
///
/// Bytes are passed on as they arrive, before they are recorded: the recording delays no message, and a failure to
/// write it is reported once.
pub(crate) fn relay(program: &Program, recorder: Recorder) -> Result<ExitStatus, String> {
    let name = program.program.to_string_lossy();
    let mut command = program.command();
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = command.spawn().map_err(|error| format!("{name}: {error}"))?;
    let (input, output) = (server.stdin.take(), server.stdout.take());
    let recorder = Arc::new(recorder);
    // Shared, because a signal ends the input of the server, too.
    let input = Arc::new(Mutex::new(input));
    let server = Arc::new(Mutex::new(server));
    end_on_signals(&input, &server);
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
    if let Some(output) = output {
        pass_on(output, &recorder, Sender::Server, |bytes| {
            let mut stdout = io::stdout();
            stdout.write_all(bytes).and_then(|()| stdout.flush())
        });
    }
    lock(&input).take();
    wait(&server, None).map_err(|error| format!("{name}: {error}"))
}

/// Passes bytes on until their end, and records their lines.
fn pass_on(
    mut from: impl Read,
    recorder: &Recorder,
    sender: Sender,
    mut to: impl FnMut(&[u8]) -> io::Result<()>,
) {
    let (mut buffer, mut partial, mut has_failed) = ([0; 16 << 10], Vec::new(), false);
    let mut record = |line: &[u8]| {
        if let Err(error) = recorder.line(sender, line)
            && !std::mem::replace(&mut has_failed, true)
        {
            say!("inspect: the recording is not whole: {error}");
        }
    };
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        let bytes = buffer.get(..count).unwrap_or_default();
        // Whoever no longer reads has ended, which the other direction shows.
        let passed = to(bytes);
        partial.extend_from_slice(bytes);
        while let Some(end) = partial.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = partial.drain(..=end).collect();
            record(line.strip_suffix(b"\n").unwrap_or(&line));
        }
        if passed.is_err() {
            break;
        }
    }
    record(&partial);
}

/// At a signal, the input of the server ends; a server that goes on for too long is killed.
fn end_on_signals(input: &Arc<Mutex<Option<ChildStdin>>>, server: &Arc<Mutex<Child>>) {
    let (input, server) = (Arc::clone(input), Arc::clone(server));
    let installed = ctrlc::set_handler(move || {
        // In threads of their own: a server that does not read holds up the end of its input.
        let input = Arc::clone(&input);
        thread::spawn(move || drop(lock(&input).take()));
        let server = Arc::clone(&server);
        thread::spawn(move || {
            if wait(&server, Some(GRACE)).is_err() {
                _ = lock(&server).kill();
            }
        });
    });
    if let Err(error) = installed {
        say!("inspect: a signal may leave the server running: {error}");
    }
}

/// Waits for the end of the server, without holding its lock.
fn wait(server: &Mutex<Child>, most: Option<Duration>) -> io::Result<ExitStatus> {
    let start = Instant::now();
    loop {
        if let Some(status) = lock(server).try_wait()? {
            return Ok(status);
        }
        if most.is_some_and(|most| most <= start.elapsed()) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
