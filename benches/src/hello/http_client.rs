//! One connection of a hand-written HTTP client.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use super::client::Transport;
use crate::messages;

/// The common fields of every request.
const HEAD: &str = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                    accept: application/json, text/event-stream\r\n";

/// A connection, with or without a session.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    /// The fields of its requests besides those of [`HEAD`].
    fields: String,
    transport: Transport,
    request: Vec<u8>,
    response: Vec<u8>,
    is_waiting: bool,
}

impl Connection {
    /// Opens a session if the transport has sessions.
    pub(super) fn open(stream: TcpStream, transport: Transport) -> io::Result<Self> {
        let mut connection = Self {
            stream,
            fields: String::new(),
            transport,
            request: Vec::new(),
            response: Vec::new(),
            is_waiting: false,
        };
        if transport == Transport::HttpSession {
            connection.open_session()?;
        } else {
            connection.fields = "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\n\
                                 mcp-name: hello\r\n"
                .to_owned();
        }
        Ok(connection)
    }

    fn open_session(&mut self) -> io::Result<()> {
        self.send(messages::INITIALIZE)?;
        let head = String::from_utf8_lossy(self.read_response()?).into_owned();
        let session = head.lines().find_map(|line| field(line, "mcp-session-id"));
        let session = session.ok_or_else(|| io::Error::other(format!("no session: {head}")))?;
        self.fields = format!("mcp-session-id: {session}\r\nmcp-protocol-version: 2025-11-25\r\n");
        self.send(messages::INITIALIZED)?;
        self.read_response()?;
        Ok(())
    }

    /// Whether a response is outstanding.
    pub(super) fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// Calls the tool.
    pub(super) fn post(&mut self, id: u64) -> io::Result<()> {
        match self.transport {
            Transport::HttpStateless => self.send(&messages::stateless_hello_call(id)),
            _ => self.send(&messages::hello_call(id)),
        }
    }

    fn send(&mut self, body: &str) -> io::Result<()> {
        self.request.clear();
        let (fields, length) = (&self.fields, body.len());
        write!(self.request, "{HEAD}{fields}content-length: {length}\r\n\r\n{body}")?;
        self.stream.write_all(&self.request)?;
        self.is_waiting = true;
        Ok(())
    }

    /// Waits for the whole response.
    pub(super) fn read_response(&mut self) -> io::Result<&[u8]> {
        self.response.clear();
        let mut chunk = [0; 8 << 10];
        while !is_whole(&self.response) {
            let length = self.stream.read(&mut chunk)?;
            if length == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.response.extend_from_slice(chunk.get(..length).unwrap_or_default());
        }
        self.is_waiting = false;
        if self.response.starts_with(b"HTTP/1.1 20") {
            return Ok(&self.response);
        }
        Err(io::Error::other(String::from_utf8_lossy(&self.response).into_owned()))
    }
}

/// Returns the value of a header line if it contains the named field.
pub(crate) fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (field, value) = line.split_once(':')?;
    field.eq_ignore_ascii_case(name).then(|| value.trim())
}

/// Whether the response is complete: its body has the declared length, or its last chunk has arrived.
pub(crate) fn is_whole(response: &[u8]) -> bool {
    let Some(head) = response.windows(4).position(|end| end == b"\r\n\r\n") else { return false };
    let (head, body) = response.split_at(head + 4);
    let head = std::str::from_utf8(head).unwrap_or_default();
    let length = head.lines().find_map(|line| field(line, "content-length")?.parse().ok());
    match length {
        Some(length) => body.len() >= length,
        None if head.lines().any(|line| field(line, "transfer-encoding").is_some()) => {
            body.ends_with(b"0\r\n\r\n")
        }
        // A response without a body, such as a 202.
        None => true,
    }
}
