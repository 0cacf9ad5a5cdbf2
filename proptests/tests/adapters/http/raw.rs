//! A client that writes and reads bytes.

use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::http::kit::{Served, soon};

/// A TCP connection.
pub(crate) struct Raw {
    pub(crate) stream: TcpStream,
    received: Vec<u8>,
}

/// A response that has arrived completely.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn status(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }

    /// Returns the value of a header field.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        field(&self.head, name)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

pub(crate) fn field<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

impl Raw {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self::of(TcpStream::connect(address).await.unwrap())
    }

    pub(crate) const fn of(stream: TcpStream) -> Self {
        Self { stream, received: Vec::new() }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        soon(self.stream.write_all(bytes.as_ref())).await.unwrap();
    }

    /// Reads more bytes. Returns whether there were any.
    async fn more(&mut self) -> bool {
        // A reset by the peer counts as the end as well.
        soon(self.stream.read_buf(&mut self.received)).await.is_ok_and(|count| count != 0)
    }

    /// Waits until the peer sends more or closes the connection. Returns whether it is closed.
    pub(crate) async fn is_closed(&mut self) -> bool {
        !self.more().await
    }

    /// Returns all bytes up to and including these; `None` if the connection ends first.
    pub(crate) async fn until(&mut self, end: &str) -> Option<String> {
        let mut seen = 0;
        loop {
            let fresh = &self.received[seen..];
            let found = fresh.windows(end.len()).position(|part| part == end.as_bytes());
            if let Some(at) = found {
                let text = self.received.drain(..seen + at + end.len()).collect();
                return Some(String::from_utf8(text).unwrap());
            }
            seen = self.received.len().saturating_sub(end.len() - 1);
            if !self.more().await {
                return None;
            }
        }
    }

    pub(crate) async fn bytes(&mut self, count: usize) -> String {
        while self.received.len() < count {
            assert!(self.more().await, "the connection has ended");
        }
        String::from_utf8(self.received.drain(..count).collect()).unwrap()
    }

    /// Returns the head of a response, without its date.
    pub(crate) async fn head(&mut self) -> String {
        let head = self.until("\r\n\r\n").await.unwrap();
        let lines = head.split_inclusive("\r\n").filter(|line| !line.starts_with("date: "));
        lines.collect()
    }

    /// Returns a response whose head has a content length.
    pub(crate) async fn answer(&mut self) -> Answer {
        let head = self.head().await;
        let length = field(&head, "content-length").map(|length| length.parse().unwrap());
        let body = match length {
            Some(length) => self.bytes(length).await,
            None => String::new(),
        };
        Answer { head, body }
    }

    /// Returns the next chunk of a chunked body; empty at its end.
    pub(crate) async fn chunk(&mut self) -> String {
        let size = self.until("\r\n").await.unwrap();
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        let mut chunk = self.bytes(size + 2).await;
        chunk.truncate(size);
        chunk
    }

    /// Returns the number of bytes until the connection ends.
    pub(crate) async fn count(&mut self) -> usize {
        while self.more().await {}
        std::mem::take(&mut self.received).len()
    }

    /// Whether the connection has ended without another byte.
    pub(crate) async fn is_over(&mut self) -> bool {
        self.received.is_empty() && !self.more().await
    }

    /// Opens a session of this version, and returns its id.
    pub(crate) async fn initialize(&mut self, version: &str) -> String {
        self.ask_for_session(version).await;
        let answer = self.answer().await;
        self.begin_session(&answer.head).await
    }

    /// Like `initialize`, for a server that responds with event streams only.
    pub(crate) async fn initialize_streaming(&mut self, version: &str) -> String {
        self.ask_for_session(version).await;
        let head = self.head().await;
        while !self.chunk().await.is_empty() {}
        self.begin_session(&head).await
    }

    async fn ask_for_session(&mut self, version: &str) {
        let client = json!({"name": "raw", "version": "1"});
        let capabilities = json!({"elicitation": {}});
        let params =
            json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": client});
        let body =
            json!({"jsonrpc": "2.0", "id": "open", "method": "initialize", "params": params});
        self.send(post("", &body.to_string())).await;
    }

    async fn begin_session(&mut self, head: &str) -> String {
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        let session = field(head, "mcp-session-id").unwrap().to_string();
        let body = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        self.send(post(&format!("Mcp-Session-Id: {session}\r\n"), body)).await;
        assert_eq!(self.answer().await.status(), "202");
        session
    }
}

/// Creates a client of hyper that uses HTTP/2 with prior knowledge.
pub(crate) fn http2() -> Client<HttpConnector, Full<Bytes>> {
    Client::builder(TokioExecutor::new()).http2_only(true).build_http()
}

/// Converts the text of a request to one for hyper.
pub(crate) fn request(served: &Served, text: String) -> Request<Full<Bytes>> {
    request_to(&served.url(), text)
}

/// Converts the text of a request to this URL to one for hyper.
pub(crate) fn request_to(url: &str, text: String) -> Request<Full<Bytes>> {
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let mut request = Request::builder().method(head.split(' ').next().unwrap());
    for line in head.lines().skip(1).filter(|line| !line.starts_with("Host")) {
        let (name, value) = line.split_once(": ").unwrap();
        request = request.header(name, value);
    }
    request.uri(url).body(Full::new(Bytes::from(body.to_owned()))).unwrap()
}

/// Returns a POST with these header fields in addition to the usual ones.
pub(crate) fn post(fields: &str, body: &str) -> String {
    let length = body.len();
    let usual = "Host: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream";
    format!("POST /mcp HTTP/1.1\r\n{usual}\r\n{fields}Content-Length: {length}\r\n\r\n{body}")
}

/// Returns the body of a call in a session.
pub(crate) fn call(id: u32, tool: &str, text: &str, meta: &Value) -> String {
    let params = json!({"name": tool, "arguments": {"text": text}, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

/// Returns the body of a modern call.
pub(crate) fn modern_body(id: u32, tool: &str, text: &str) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": id,
    });
    call(id, tool, text, &meta)
}

/// Returns the header fields of a modern call.
pub(crate) fn modern_fields(tool: &str) -> String {
    format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n")
}

/// Returns a modern call.
pub(crate) fn modern(id: u32, tool: &str, text: &str) -> String {
    post(&modern_fields(tool), &modern_body(id, tool, text))
}

/// Returns a call in a session.
pub(crate) fn legacy(session: &str, id: u32, tool: &str, text: &str) -> String {
    let body = call(id, tool, text, &json!({"progressToken": id}));
    post(&format!("Mcp-Session-Id: {session}\r\n"), &body)
}

/// Returns a request for the event stream of a session.
pub(crate) fn listen(session: &str, fields: &str) -> String {
    format!(
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n{fields}\r\n"
    )
}

/// Returns the text of a tool result.
pub(crate) fn text_of(message: &Value) -> &str {
    message["result"]["content"][0]["text"].as_str().unwrap()
}
