//! A client that drives a server in a process of its own, and costs little itself: it writes the bytes of a call by
//! hand, and of the answers it only looks for the end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;
use std::{fs, io};

use super::http_client::Connection;
use crate::messages;

/// How calls reach the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "a new one is to be told where it counts")]
pub enum Transport {
    /// Standard input and output, in a session of 2025-11-25.
    Stdio,
    /// POSTs of 2026-07-28, each without a session.
    HttpStateless,
    /// POSTs in a session of 2025-11-25, one for each connection.
    HttpSession,
}

/// When the client makes the next calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "there is nothing between the two")]
pub enum Pace {
    /// As soon as any answer has come in: as many are in flight as may be.
    Sliding,
    /// When every answer has come in. The server gets the same bytes at once each time, so that what it costs depends
    /// less on the scheduler.
    Bursts,
}

/// A server in a process of its own, and the client.
#[derive(Debug)]
pub struct Driven {
    child: Child,
    // Taken before the child is waited for, which ends the server.
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

/// How many clock ticks of `/proc` a second has, on every architecture of Linux that Rust knows.
const TICKS: u64 = 100;

impl Driven {
    /// Starts a server with standard input and output piped. So many calls will be in flight: over HTTP, one on each
    /// connection.
    ///
    /// # Errors
    ///
    /// That the program does not start, or does not answer as it should.
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
                // What it fails for says more than how it ends.
                _ = child.kill();
                _ = child.wait();
                return Err(error);
            }
        };
        driven.check()?;
        Ok(driven)
    }

    /// Calls the tool so many times.
    ///
    /// # Errors
    ///
    /// That the server is gone, or answers something else.
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

    /// The time of processors that the server has had so far, in steps of 10 ms.
    ///
    /// # Errors
    ///
    /// That there is no `/proc` as Linux has it.
    pub fn processor_time(&self) -> io::Result<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        processor_time(&stat).ok_or_else(|| io::Error::other(format!("no times in {stat}")))
    }

    /// Closes standard input and waits until the server has ended. Gives what it has said on standard error, if that is
    /// a pipe.
    ///
    /// # Errors
    ///
    /// That it cannot be waited for, or has failed.
    pub fn end(mut self) -> io::Result<String> {
        drop(self.stdin.take());
        // A server may wait until its connections have ended.
        drop(self.calls);
        let mut said = String::new();
        if let Some(stderr) = &mut self.child.stderr {
            stderr.read_to_string(&mut said)?;
        }
        let status: ExitStatus = self.child.wait()?;
        if status.success() {
            return Ok(said);
        }
        Err(io::Error::other(format!("the server has ended with {status}:\n{said}")))
    }

    /// The server does what is to be measured.
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

/// The times of the process in a text of `/proc/PID/stat`, in which the name of the program may hold anything.
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

/// The only line that comes.
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

/// Writes whenever there is room for so many as `step`, or for all that are left.
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

/// Takes the answers in turns, so that one thread keeps all connections busy.
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
