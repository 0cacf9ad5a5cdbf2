//! A server on WebSockets, without any adapter: one message of the protocol is one message of the socket.
//!
//! Shows the loop of a message transport on tokio: messages go unchanged into the machine, and leave it one by one. No
//! write delays a cancellation or a timeout. If a client leaves too much output unread, the loop reads nothing more of it.
//! Tools that take time run as tasks, and the loop sends their results.
//!
//! MCP does not specify a WebSocket transport. The official SDKs for TypeScript (version 1) and Python (version 1)
//! have clients for them, with the subprotocol `mcp`.
//!
//! Usage: `cargo run -p mcp-sansio-tokio --example websocket_server [ADDRESS]`. The default address, `127.0.0.1:0`,
//! selects a free port, and the program prints it.

use std::collections::HashMap;
use std::error::Error;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, SystemTime};

use futures_util::{SinkExt, StreamExt};
use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, ListChanged, ListToolsResult, Tool};
use mcp_sansio::{
    Cause, ClientRequest, ConnectionNumber, ErrorCode, Frames, Framing, IncomingId, Instant,
    Limits, Outbox, Payload, Phase, Server, ServerConfig, ServerEvent,
};
use serde::Deserialize;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::AbortHandle;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode, Uri};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message, Utf8Bytes};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async_with_config};

/// The name of the protocol among those of WebSockets.
const SUBPROTOCOL: &str = "mcp";

const ECHO: &str =
    r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#;
const SLEEP: &str = r#"{"type":"object","properties":{"milliseconds":{"type":"integer"}},"required":["milliseconds"]}"#;

/// How long a client may take for the handshake of the socket.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// How long a client may take to read the last output.
const LAST_OUTPUT: Duration = Duration::from_secs(5);

/// The most connections at the same time. Each may hold the memory of its `Limits`.
const MOST_CONNECTIONS: usize = 100;

#[derive(Deserialize)]
struct Echo {
    text: String,
}

#[derive(Deserialize)]
struct SleepArguments {
    milliseconds: u32,
}

/// The reasons for the loop of a connection to go on.
enum Wake {
    Received(Option<Result<Message, tungstenite::Error>>),
    ToolFinished(IncomingId, String),
    Timeout,
    /// The socket has accepted output.
    Sent,
    Failed,
}

/// A connection: its socket, and the server behind it.
struct Connection {
    socket: WebSocketStream<TcpStream>,
    server: Server,
    outbox: Outbox,
    limits: Limits,
    /// Whether the socket may hold output that it has not sent.
    is_sending: bool,
    /// The tasks of the calls that take time.
    tasks: HashMap<IncomingId, AbortHandle>,
    results: mpsc::Receiver<(IncomingId, String)>,
    /// Cloned into the tasks.
    result: mpsc::Sender<(IncomingId, String)>,
}

impl Connection {
    /// `number` is unique to this connection, so an [`IncomingId`] never matches a request of another client.
    fn new(
        socket: WebSocketStream<TcpStream>,
        config: Arc<ServerConfig>,
        number: ConnectionNumber,
    ) -> Self {
        let limits = config.connection.limits.clone();
        let (result, results) = mpsc::channel(1);
        Self {
            socket,
            outbox: Outbox::new(Framing::Messages, &limits),
            server: Server::with_connection_number(config, number),
            limits,
            is_sending: false,
            tasks: HashMap::new(),
            results,
            result,
        }
    }

    /// Serves the client until the connection ends.
    async fn run(mut self, now: impl Fn() -> Instant) {
        while self.server.phase() != Phase::Closed {
            let due = self.server.poll_timeout();
            let wait = due.map_or(Duration::MAX, |due| due - now());
            let mut timeout = pin!(tokio::time::sleep(wait));
            match poll_fn(|context| self.poll(timeout.as_mut(), context)).await {
                Wake::Received(message) => self.receive(message, now()),
                Wake::ToolFinished(id, text) => {
                    self.tasks.remove(&id);
                    self.respond(id, &CallToolResult::text(text));
                }
                Wake::Failed => self.server.disconnected(Cause::WriteFailed, now()),
                Wake::Timeout | Wake::Sent => {}
            }
            while let Some(event) = self.server.handle_timeout(now(), &mut self.outbox) {
                self.handle(event);
            }
        }
        // It fails if the client has closed the socket or is gone.
        let last = async {
            if poll_fn(|context| self.poll_send(context)).await.is_ok() {
                _ = self.socket.close(None).await;
            }
        };
        _ = tokio::time::timeout(LAST_OUTPUT, last).await;
    }

    /// Waits for a message, a result, a timeout, or for the socket to accept output.
    fn poll(
        &mut self,
        timeout: Pin<&mut tokio::time::Sleep>,
        context: &mut Context<'_>,
    ) -> Poll<Wake> {
        if self.is_sending || !self.outbox.is_empty() {
            self.is_sending = true;
            if let Poll::Ready(sent) = self.poll_send(context) {
                self.is_sending = false;
                return Poll::Ready(if sent.is_ok() { Wake::Sent } else { Wake::Failed });
            }
        }
        if let Poll::Ready(Some((id, text))) = self.results.poll_recv(context) {
            return Poll::Ready(Wake::ToolFinished(id, text));
        }
        // A client that does not read gets no further requests served.
        if !self.outbox.is_congested()
            && let Poll::Ready(message) = self.socket.poll_next_unpin(context)
        {
            return Poll::Ready(Wake::Received(message));
        }
        timeout.poll(context).map(|()| Wake::Timeout)
    }

    /// Moves messages from the outbox to the socket, and flushes it.
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<Result<(), tungstenite::Error>> {
        loop {
            ready!(self.socket.poll_ready_unpin(context))?;
            let Some(message) = self.outbox.messages().next() else { break };
            // The machine writes valid UTF-8 only.
            let text = Utf8Bytes::try_from(message.to_vec()).unwrap_or_default();
            self.socket.start_send_unpin(Message::Text(text))?;
        }
        self.socket.poll_flush_unpin(context)
    }

    fn receive(&mut self, message: Option<Result<Message, tungstenite::Error>>, now: Instant) {
        let message = match message {
            Some(Ok(message @ (Message::Text(_) | Message::Binary(_)))) => message.into_data(),
            // The library answers pings.
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => return,
            // Nothing can be sent or received after the client has closed the socket. The socket would be ready at
            // each poll, and the loop would not wait.
            Some(Ok(Message::Close(_))) | None => return self.server.close(),
            Some(Err(_)) => return self.server.disconnected(Cause::ReadFailed, now),
        };
        for frame in Frames::of(&message, &self.limits) {
            if let Some(event) = self.server.receive(frame, now, &mut self.outbox) {
                self.handle(event);
            }
        }
    }

    fn handle(&mut self, event: ServerEvent<'_>) {
        match event {
            ServerEvent::Request(request) => self.serve(request.id, &request.kind),
            ServerEvent::Cancelled(cancelled) => {
                if let Some(task) = self.tasks.remove(&cancelled.id) {
                    task.abort();
                }
            }
            _ => {}
        }
    }

    fn serve(&mut self, id: IncomingId, request: &ClientRequest<'_>) {
        let call = match request {
            ClientRequest::ListTools(_) => return self.respond(id, &tools()),
            ClientRequest::CallTool(call) => call,
            _ => return self.reject(id, ErrorCode::METHOD_NOT_FOUND, "method not found"),
        };
        let result = match &*call.name.to_str() {
            "echo" => call.parse().map(|Echo { text }| CallToolResult::text(text)),
            "sleep" => match call.parse() {
                Ok(SleepArguments { milliseconds }) => return self.sleep(id, milliseconds),
                Err(error) => Err(error),
            },
            _ => return self.reject(id, ErrorCode::INVALID_PARAMS, "unknown tool"),
        };
        let result = result.unwrap_or_else(|error| CallToolResult::error(error.to_string()));
        self.respond(id, &result);
    }

    /// Starts the task of the tool `sleep`. `Limits::inbound_requests` bounds the number of tasks.
    fn sleep(&mut self, id: IncomingId, milliseconds: u32) {
        let result = self.result.clone();
        let task = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(milliseconds.into())).await;
            let text = format!("slept {milliseconds} ms");
            // The connection may have ended meanwhile.
            _ = result.send((id, text)).await;
        });
        self.tasks.insert(id, task.abort_handle());
    }

    /// Responds to a request, with an error if the result cannot be sent.
    fn respond(&mut self, id: IncomingId, result: &impl Payload) {
        if self.server.respond(id, result, &mut self.outbox).is_err() {
            self.reject(id, ErrorCode::INTERNAL_ERROR, "the result cannot be sent");
        }
    }

    fn reject(&mut self, id: IncomingId, code: ErrorCode, text: &str) {
        // The client may have cancelled the request meanwhile.
        _ = self.server.reject(id, code, text, &mut self.outbox);
    }
}

/// The tasks end with their connection.
impl Drop for Connection {
    fn drop(&mut self) {
        self.tasks.values().for_each(AbortHandle::abort);
    }
}

fn tools() -> ListToolsResult<'static> {
    let tool = |name, schema| Tool::new(name, Raw::new(schema).unwrap_or(Raw::EMPTY_OBJECT));
    ListToolsResult::new([tool("echo", ECHO), tool("sleep", SLEEP)])
}

/// Accepts the handshake of a socket. Web pages of other hosts are refused: a browser lets every page connect, and only the
/// field `Origin` tells which one it is.
#[allow(clippy::result_large_err, reason = "the type of the library")]
fn accept(request: &Request, mut response: Response) -> Result<Response, ErrorResponse> {
    let values = |name| request.headers().get_all(name).iter();
    let is_local = |origin: &HeaderValue| {
        let origin = origin.to_str().ok().and_then(|origin| origin.parse::<Uri>().ok());
        let host = origin.as_ref().and_then(Uri::host);
        matches!(host, Some("localhost" | "127.0.0.1" | "[::1]"))
    };
    if !values("origin").all(is_local) {
        let mut refusal = ErrorResponse::new(None);
        *refusal.status_mut() = StatusCode::FORBIDDEN;
        return Err(refusal);
    }
    // A client that names no protocol gets none.
    let names = values("sec-websocket-protocol").filter_map(|names| names.to_str().ok());
    let mut offered = names.flat_map(|names| names.split(','));
    if offered.any(|name| name.trim() == SUBPROTOCOL) {
        let value = HeaderValue::from_static(SUBPROTOCOL);
        response.headers_mut().insert("sec-websocket-protocol", value);
    }
    Ok(response)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".into());
    let listener = TcpListener::bind(&address).await?;
    println!("listening on {}", listener.local_addr()?);
    let mut config = ServerConfig::new("websocket_server", env!("CARGO_PKG_VERSION"));
    config.capabilities.tools = Some(ListChanged::default());
    // The library keeps no message longer than `frame_bytes`.
    let most = config.connection.limits.frame_bytes;
    let limits = WebSocketConfig::default().max_message_size(Some(most)).max_frame_size(Some(most));
    let config = Arc::new(config);
    let (begun, start) = (Instant::from(SystemTime::now()), std::time::Instant::now());
    let connections = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    for number in 0.. {
        // Further clients wait until a connection ends.
        let permit = Arc::clone(&connections).acquire_owned().await?;
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // Most likely the process has too many open files.
            Err(error) => {
                eprintln!("a connection was not accepted: {error}");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let config = Arc::clone(&config);
        tokio::spawn(async move {
            let handshake = accept_hdr_async_with_config(stream, accept, Some(limits));
            // A failure concerns only this client.
            if let Ok(Ok(socket)) = tokio::time::timeout(HANDSHAKE, handshake).await {
                let connection = Connection::new(socket, config, ConnectionNumber::new(number));
                connection.run(|| begun + start.elapsed()).await;
            }
            drop(permit);
        });
    }
    Ok(())
}
