//! A server over HTTP whose clients come and go.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use super::{Samples, Served};
use crate::hello::{field, is_whole};
use crate::messages;

/// The sessions that one connection opens, one after the other.
const OF_CONNECTION: u64 = 10;

const HEAD: &str = "host: localhost\r\ncontent-type: application/json\r\n\
                    accept: application/json, text/event-stream\r\n";

pub(super) fn run(mut served: Served, total: u64) -> io::Result<Samples> {
    let stdout = served.child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let mut address = String::new();
    BufReader::new(stdout).read_line(&mut address)?;
    let mut samples = Samples::new(served.child.id(), total);
    for first in (0..total).step_by(OF_CONNECTION as usize) {
        samples.note(first)?;
        served.is_running()?;
        let mut connection = Connection(TcpStream::connect(address.trim())?);
        connection.0.set_nodelay(true)?;
        for number in first..first + OF_CONNECTION {
            connection.session(number)?;
        }
        connection.leave(first)?;
    }
    samples.note(total)?;
    Ok(samples)
}

struct Connection(TcpStream);

impl Connection {
    /// Opens a session, and uses it. Two of three clients end it; every sixth one never uses it.
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
        self.ask("DELETE", &fields, "")?;
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
