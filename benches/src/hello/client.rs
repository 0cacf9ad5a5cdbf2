//! A lightweight client that drives a server in its own process. It writes the bytes of a call by hand, and searches
//! the responses only for their ends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;
use std::{fs, io};

use super::http_client::Connection;
use crate::messages;

/// The transport of the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    clippy::exhaustive_enums,
    reason = "the compiler reports every match that lacks a new variant"
)]
pub enum Transport {
    /// Standard input and output, in a session of 2025-11-25.
    Stdio,
    /// POST requests of 2026-07-28, without a session.
    HttpStateless,
    /// POST requests in a session of 2025-11-25, one session per connection.
    HttpSession,
}

/// The time at which the client makes the next calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "there is no third pace")]
pub enum Pace {
    /// After each response: the number of calls in flight stays at its maximum.
    Sliding,
    /// After the last response of a burst. The server always receives the same bytes at once, so its cost depends
    /// less on the scheduler.
    Bursts,
}

/// A server in its own process, and its client.
#[derive(Debug)]
pub struct Driven {
    child: Child,
    // Taken before the wait for the child: its end stops the server.
    stdin: Option<ChildStdin>,
    calls: Calls,
    /// The id of the next call.
    next: u64,
}

#[derive(Debug)]
enum Calls {
    Lines { stdout: ChildStdout, in_flight: usize },
    Http(Vec<Connection>),
}

/// The number of clock ticks of `/proc` per second, on every Linux architecture that Rust supports.
const TICKS: u64 = 100;

impl Driven {
    /// Starts a server with piped standard input and output. The client keeps `in_flight` calls in flight: over HTTP,
    /// one on each connection.
    ///
    /// # Errors
    ///
    /// Fails if the program does not start, or does not respond as expected.
    pub fn start(
        command: &mut Command,
        transport: Transport,
        in_flight: usize,
    ) -> io::Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut stdin = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let calls = match transport {
            Transport::Stdio => open_session(&mut stdin, stdout, in_flight),
            _ => connect(stdout, transport, in_flight),
        };
        let mut driven = match calls {
            Ok(calls) => Self { child, stdin: Some(stdin), calls, next: 1 },
            Err(error) => {
                // The error of the session explains more than the exit status.
                _ = child.kill();
                _ = child.wait();
                return Err(error);
            }
        };
        driven.check()?;
        Ok(driven)
    }

    /// Calls the tool `calls` times.
    ///
    /// # Errors
    ///
    /// Fails if the server has ended, or responds otherwise.
    pub fn call(&mut self, calls: usize, pace: Pace) -> io::Result<()> {
        let Self { stdin, next, .. } = self;
        match &mut self.calls {
            Calls::Lines { stdout, in_flight } => {
                let stdin = stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
                let step = if pace == Pace::Bursts { *in_flight } else { 1 };
                call_by_lines(stdin, stdout, *in_flight, step, calls, next)
            }
            Calls::Http(connections) => call_by_http(connections, calls, next),
        }
    }

    /// Returns the processor time of the server so far, with a resolution of 10 ms.
    ///
    /// # Errors
    ///
    /// Fails without the `/proc` of Linux.
    pub fn processor_time(&self) -> io::Result<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        processor_time(&stat).ok_or_else(|| io::Error::other(format!("no times in {stat}")))
    }

    /// Closes standard input and waits for the end of the server. Returns its standard error, if that is a pipe.
    ///
    /// # Errors
    ///
    /// Fails if waiting fails, or if the server exits with an error.
    pub fn end(mut self) -> io::Result<String> {
        drop(self.stdin.take());
        // A server may wait for its connections to close.
        drop(self.calls);
        let mut output = String::new();
        if let Some(stderr) = &mut self.child.stderr {
            stderr.read_to_string(&mut output)?;
        }
        let status: ExitStatus = self.child.wait()?;
        if status.success() {
            return Ok(output);
        }
        Err(io::Error::other(format!("the server has ended with {status}:\n{output}")))
    }

    /// Checks that the server responds with the expected greeting.
    fn check(&mut self) -> io::Result<()> {
        let answer = match &mut self.calls {
            Calls::Lines { stdout, .. } => {
                let stdin = self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
                stdin.write_all(&messages::line(&messages::hello_call(self.next)))?;
                read_line(stdout)?
            }
            Calls::Http(connections) => {
                let connection = connections.first_mut().ok_or(io::ErrorKind::NotConnected)?;
                connection.post(self.next)?;
                connection.read_response()?.to_vec()
            }
        };
        self.next += 1;
        let answer = String::from_utf8_lossy(&answer);
        if answer.contains(r#""text":"Hello, you!""#) {
            return Ok(());
        }
        Err(io::Error::other(format!("the server answers {answer}")))
    }
}

/// Parses the processor times in the text of `/proc/PID/stat`. The name of the program may contain any character.
pub(super) fn processor_time(stat: &str) -> Option<Duration> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(Duration::from_millis((user + system) * 1_000 / TICKS))
}

fn open_session(
    stdin: &mut ChildStdin,
    mut stdout: ChildStdout,
    in_flight: usize,
) -> io::Result<Calls> {
    stdin.write_all(&messages::line(messages::INITIALIZE))?;
    read_line(&mut stdout)?;
    stdin.write_all(&messages::line(messages::INITIALIZED))?;
    Ok(Calls::Lines { stdout, in_flight })
}

fn connect(stdout: ChildStdout, transport: Transport, connections: usize) -> io::Result<Calls> {
    let mut address = String::new();
    BufReader::new(stdout).read_line(&mut address)?;
    let connect = |_| {
        let stream = TcpStream::connect(address.trim())?;
        stream.set_nodelay(true)?;
        Connection::open(stream, transport)
    };
    Ok(Calls::Http((0..connections).map(connect).collect::<io::Result<_>>()?))
}

/// Reads a line, when only one line is expected.
fn read_line(stdout: &mut ChildStdout) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let mut chunk = [0; 4_096];
    while !line.ends_with(b"\n") {
        line.extend_from_slice(read_some(stdout, &mut chunk)?);
    }
    Ok(line)
}

fn read_some<'a>(from: &mut impl Read, chunk: &'a mut [u8]) -> io::Result<&'a [u8]> {
    match from.read(chunk)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        length => Ok(chunk.get(..length).unwrap_or_default()),
    }
}

/// Writes calls whenever `step` calls fit, or all remaining ones.
fn call_by_lines(
    stdin: &mut ChildStdin,
    stdout: &mut ChildStdout,
    in_flight: usize,
    step: usize,
    calls: usize,
    next: &mut u64,
) -> io::Result<()> {
    let (mut written, mut answered) = (0, 0);
    let (mut lines, mut chunk) = (Vec::new(), vec![0; 64 << 10]);
    while answered < calls {
        let room = in_flight - (written - answered);
        let count = room.min(calls - written);
        if room >= step && count > 0 {
            lines.clear();
            for _ in 0..count {
                lines.extend_from_slice(messages::hello_call(*next).as_bytes());
                lines.push(b'\n');
                *next += 1;
            }
            stdin.write_all(&lines)?;
            written += count;
        }
        let bytes = read_some(stdout, &mut chunk)?;
        answered += bytes.iter().filter(|&&byte| byte == b'\n').count();
    }
    Ok(())
}

/// Reads the responses of the connections in turn, so that one thread keeps all of them busy.
fn call_by_http(connections: &mut [Connection], calls: usize, next: &mut u64) -> io::Result<()> {
    let (mut posted, mut answered) = (0, 0);
    while answered < calls {
        for connection in connections.iter_mut() {
            if connection.is_waiting() {
                connection.read_response()?;
                answered += 1;
            }
            if posted < calls {
                connection.post(*next)?;
                *next += 1;
                posted += 1;
            }
        }
    }
    Ok(())
}
