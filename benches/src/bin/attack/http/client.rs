//! A scriptable client, on one connection.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::http::Target;
use crate::{Failure, messages};

/// The longest response that is read.
const ANSWER_BYTES: usize = 64 << 20;

/// The time limit for connecting.
const CONNECT: Duration = Duration::from_secs(20);

/// The header field with the id of a session.
const SESSION: &str = "Mcp-Session-Id";

/// An HTTP/1.1 connection, closed when it is dropped.
pub(crate) struct Client {
    sender: SendRequest<Full<Bytes>>,
    path: String,
    _connection: JoinSet<()>,
}

/// A response that has been read.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) session: Option<String>,
}

impl Answer {
    /// Whether the request was served, and not refused.
    pub(crate) const fn is_served(&self) -> bool {
        matches!(self.status, 200..300)
    }
}

impl Client {
    pub(crate) async fn connect(target: &Target) -> Result<Self, Failure> {
        let stream = connect(target).await?;
        _ = stream.set_nodelay(true);
        Self::on(stream, target).await
    }

    /// Connects with a small receive buffer: unread data stays with the server.
    pub(crate) async fn connect_narrow(target: &Target) -> Result<Self, Failure> {
        Self::on(connect_narrow(target).await?, target).await
    }

    async fn on(stream: TcpStream, target: &Target) -> Result<Self, Failure> {
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        let mut task = JoinSet::new();
        task.spawn(async move { _ = connection.await });
        Ok(Self { sender, path: target.path.clone(), _connection: task })
    }

    /// Sends a body with these header fields in addition to the usual ones, and waits for the head of the response.
    pub(crate) async fn send(
        &mut self,
        fields: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<Response<Incoming>, Failure> {
        let mut request = Request::post(self.path.as_str())
            .header("Host", "localhost")
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream");
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        self.sender.ready().await?;
        Ok(self.sender.send_request(request.body(Full::new(body.into()))?).await?)
    }

    /// Sends a body, and reads the response.
    pub(crate) async fn ask(
        &mut self,
        fields: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<Answer, Failure> {
        let response = self.send(fields, body).await?;
        let status = response.status().as_u16();
        let session = response.headers().get(SESSION).and_then(|id| id.to_str().ok());
        let session = session.map(str::to_owned);
        Limited::new(response.into_body(), ANSWER_BYTES).collect().await?;
        Ok(Answer { status, session })
    }

    /// Opens a session of this revision. Fails if the server refuses it.
    pub(crate) async fn open_session(&mut self, version: &str) -> Result<String, Failure> {
        let answer = self.ask(&[], messages::initialize(version)).await?;
        let session = answer.session.filter(|_| answer.status == 200).ok_or("no session")?;
        let ready = self.ask(&[(SESSION, &session)], messages::INITIALIZED).await?;
        if (200..300).contains(&ready.status) { Ok(session) } else { Err("no session".into()) }
    }

    /// Ends a session.
    pub(crate) async fn end_session(&mut self, session: &str) -> Result<(), Failure> {
        let request = Request::delete(self.path.as_str()).header("Host", "localhost");
        let request = request.header(SESSION, session).body(Full::default())?;
        self.sender.ready().await?;
        self.sender.send_request(request).await?.into_body().collect().await?;
        Ok(())
    }
}

/// Returns the header fields of a session.
pub(crate) fn of_session(session: &str) -> [(&str, &str); 1] {
    [(SESSION, session)]
}

/// Returns the header fields of a tool call in the modern era.
pub(crate) const fn of_modern_call(tool: &str) -> [(&str, &str); 3] {
    of_modern("tools/call", tool)
}

const fn of_modern<'v>(method: &'v str, tool: &'v str) -> [(&'v str, &'v str); 3] {
    [("MCP-Protocol-Version", messages::MODERN), ("Mcp-Method", method), ("Mcp-Name", tool)]
}

/// Returns the header fields of a modern request without a name.
pub(crate) const fn of_modern_request(method: &str) -> [(&str, &str); 2] {
    [("MCP-Protocol-Version", messages::MODERN), ("Mcp-Method", method)]
}

/// Returns a raw request, for attacks that need the bytes: its head and the beginning of its body.
pub(crate) fn raw_post(
    target: &Target,
    fields: &[(&str, &str)],
    length: usize,
    body: &str,
) -> Vec<u8> {
    let mut text = format!(
        "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {length}\r\n",
        target.path
    );
    for (name, value) in fields {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.push_str(body);
    text.into_bytes()
}

/// Returns a small modern tool call as raw bytes.
pub(crate) fn raw_call(target: &Target, id: &str) -> Vec<u8> {
    let arguments: Value = serde_json::json!({"a": 1, "b": 2});
    let body = messages::modern_call(id, "add_numbers", &arguments);
    raw_post(target, &of_modern_call("add_numbers"), body.len(), &body)
}

pub(crate) async fn connect(target: &Target) -> Result<TcpStream, Failure> {
    Ok(timeout(CONNECT, TcpStream::connect(target.address)).await??)
}

/// Connects a socket with a small receive buffer.
pub(crate) async fn connect_narrow(target: &Target) -> Result<TcpStream, Failure> {
    let socket = narrow_socket(target)?;
    Ok(timeout(CONNECT, socket.connect(target.address)).await??)
}

fn narrow_socket(target: &Target) -> io::Result<TcpSocket> {
    let socket = if target.address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_recv_buffer_size(4096)?;
    Ok(socket)
}
