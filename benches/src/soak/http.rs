//! A server over HTTP whose clients come and go.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{ChildStdin, ChildStdout};
use std::thread;
use std::time::{Duration, Instant};

use super::{Samples, Served};
use crate::hello::{field, is_whole};
use crate::messages;

/// The sessions that one connection opens, one after the other.
const OF_CONNECTION: u64 = 10;

const HEAD: &str = "host: localhost\r\ncontent-type: application/json\r\n\
                    accept: application/json, text/event-stream\r\n";

/// The number of phases. After each one the client waits until the server has no session, and the memory is measured.
const PHASES: u64 = 40;

/// A limit for that wait, far above the lifetime of a session.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn run(mut served: Served, total: u64) -> io::Result<Samples> {
    let mut counts = Counts::of(&mut served)?;
    let address = counts.line()?;
    let mut samples = Samples::new(served.child.id(), total, PHASES);
    for first in (0..total).step_by(OF_CONNECTION as usize) {
        if samples.is_due(first) {
            counts.await_nothing()?;
            samples.note(first)?;
        }
        served.is_running()?;
        let mut connection = Connection(TcpStream::connect(&address)?);
        connection.0.set_nodelay(true)?;
        for number in first..first + OF_CONNECTION {
            connection.session(number)?;
        }
        connection.leave(first)?;
    }
    counts.await_nothing()?;
    samples.note(total)?;
    Ok(samples)
}

/// The counts of the server: sessions, open requests, and the bytes kept for its clients.
struct Counts {
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Counts {
    fn of(served: &mut Served) -> io::Result<Self> {
        let stdin = served.child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let stdout = served.child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { stdin, stdout: BufReader::new(stdout) })
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.stdout.read_line(&mut line)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(line.trim().to_owned()),
        }
    }

    /// Waits until all sessions and requests have ended, and the server has released their bytes.
    fn await_nothing(&mut self) -> io::Result<()> {
        let started = Instant::now();
        loop {
            self.stdin.write_all(b"\n")?;
            let counts = self.line()?;
            if counts == "0 0 0" {
                return Ok(());
            }
            if PATIENCE < started.elapsed() {
                let what = "sessions, open requests and kept bytes without clients";
                return Err(io::Error::other(format!("the server has {counts} {what}")));
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

struct Connection(TcpStream);

impl Connection {
    /// Opens a session, and uses it. Two of three clients end it; the sixth one never uses it, and another one leaves
    /// it to expire.
    fn session(&mut self, number: u64) -> io::Result<()> {
        let opened = self.ask("POST", "", messages::INITIALIZE)?;
        let opened = String::from_utf8_lossy(&opened);
        let id = opened.lines().find_map(|line| field(line, "mcp-session-id"));
        let id = id.ok_or_else(|| io::Error::other(format!("no session: {opened}")))?;
        let fields = format!("mcp-session-id: {id}\r\nmcp-protocol-version: 2025-11-25\r\n");
        if number % 6 == 5 {
            return Ok(());
        }
        self.ask("POST", &fields, messages::INITIALIZED)?;
        let called = self.ask("POST", &fields, &messages::hello_call(1))?;
        if !String::from_utf8_lossy(&called).contains("Hello, you!") {
            return Err(io::Error::other(String::from_utf8_lossy(&called).into_owned()));
        }
        self.ask("POST", &fields, "this is not JSON")?;
        if number % 6 != 2 {
            self.ask("DELETE", &fields, "")?;
        }
        Ok(())
    }

    /// Leaves at an unexpected moment.
    fn leave(&mut self, number: u64) -> io::Result<()> {
        let call = messages::stateless_hello_call(number);
        let fields =
            "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: hello\r\n";
        match number / OF_CONNECTION % 3 {
            0 => Ok(()),
            1 => self.send("POST", fields, &call, call.len()),
            _ => self.send("POST", fields, &call, call.len() + 100),
        }
    }

    fn send(&mut self, method: &str, fields: &str, body: &str, length: usize) -> io::Result<()> {
        let request = format!(
            "{method} /mcp HTTP/1.1\r\n{HEAD}{fields}content-length: {length}\r\n\r\n{body}"
        );
        self.0.write_all(request.as_bytes())
    }

    fn ask(&mut self, method: &str, fields: &str, body: &str) -> io::Result<Vec<u8>> {
        self.send(method, fields, body, body.len())?;
        let (mut response, mut chunk) = (Vec::new(), [0; 8 << 10]);
        while !is_whole(&response) {
            match self.0.read(&mut chunk)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                length => response.extend_from_slice(chunk.get(..length).unwrap_or_default()),
            }
        }
        Ok(response)
    }
}
