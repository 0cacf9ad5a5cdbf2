//! Requests to an HTTP endpoint in this process, without a socket.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, StatusCode};
use mcp_sansio::model::{CallToolResult, ListChanged};
use mcp_sansio::{ClientRequest, ErrorCode, RespondError, ServerConfig};
use mcp_sansio_http::{Endpoint, EndpointOptions, Exchange};
use tokio::runtime::{Builder, Runtime};

use crate::messages;

/// The arguments of the tool.
#[derive(serde::Deserialize)]
struct Greeting {
    name: String,
}

/// The call of the tool in a session.
const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"hello","arguments":{"name":"you"}}}"#;

/// The same call as a modern request.
const STATELESS_CALL: &str = concat!(
    r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"hello","arguments":{"name":"you"},"#,
    r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"#,
    r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#,
);

/// The handler of the README.
async fn serve(exchange: Exchange) -> Result<(), RespondError> {
    match &exchange.request().kind {
        ClientRequest::CallTool(call) if call.name == "hello" => {
            exchange.respond(&match call.parse() {
                Ok(Greeting { name }) => CallToolResult::text(format!("Hello, {name}!")),
                Err(error) => CallToolResult::error(error.to_string()),
            })
        }
        _ => exchange.reject(ErrorCode::METHOD_NOT_FOUND, "method not found"),
    }
}

/// An endpoint and its single-threaded runtime.
#[derive(Debug)]
pub struct HttpEndpoint {
    runtime: Runtime,
    endpoint: Endpoint,
}

impl Default for HttpEndpoint {
    fn default() -> Self {
        Self::new()
    }
}

impl HttpEndpoint {
    /// Creates an endpoint without open sessions.
    pub fn new() -> Self {
        Self::with(EndpointOptions::new())
    }

    /// Creates an endpoint that may have this many sessions.
    pub fn with_room_for(sessions: usize) -> Self {
        let mut options = EndpointOptions::new();
        options.http.most_sessions = sessions;
        // The default is for 10,000 sessions.
        options.bytes = options.bytes.max(sessions.saturating_mul(4 << 10));
        Self::with(options)
    }

    fn with(options: EndpointOptions) -> Self {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let mut config = ServerConfig::new("bench", "1");
        config.capabilities.tools = Some(ListChanged::default());
        let endpoint = runtime.block_on(async { Endpoint::with(config, options, serve) });
        Self { runtime, endpoint }
    }

    /// Opens a session like a client, and returns its id.
    pub fn open(&self) -> String {
        let response = self.post(request(messages::INITIALIZE));
        let id = response.headers().get("mcp-session-id").unwrap().to_str().unwrap().to_owned();
        let response = self.post(session_request(&id, messages::INITIALIZED));
        assert_eq!(response.status(), StatusCode::ACCEPTED);
        id
    }

    /// Calls the tool `rounds` times, in this session or with modern requests.
    pub fn call(&self, session: Option<&str>, rounds: usize) {
        self.runtime.block_on(async {
            for _ in 0..rounds {
                let request = match session {
                    Some(session) => session_request(session, CALL),
                    None => stateless_request(),
                };
                let response = send(&self.endpoint, request).await;
                assert_eq!(response.status(), StatusCode::OK);
                assert!(response.body().ends_with(b"}"));
            }
        });
    }

    /// Calls the tool once in each of these sessions, and returns the times that the calls took.
    pub fn call_each<'s>(&self, sessions: impl Iterator<Item = &'s str>) -> Vec<Duration> {
        self.runtime.block_on(async {
            let mut times = Vec::with_capacity(sessions.size_hint().0);
            for session in sessions {
                let request = session_request(session, CALL);
                let begin = Instant::now();
                let response = send(&self.endpoint, request).await;
                times.push(begin.elapsed());
                assert_eq!(response.status(), StatusCode::OK);
                assert!(response.body().ends_with(b"}"));
            }
            times
        })
    }

    /// Ends a session like a client.
    pub fn end(&self, session: &str) {
        let mut request = Request::delete("/mcp").header("host", "127.0.0.1:3000");
        request = request.header("mcp-session-id", session);
        request = request.header("mcp-protocol-version", "2025-11-25");
        let response = self.post(request.body(Full::default()).unwrap());
        assert_eq!(response.status(), StatusCode::OK);
    }

    /// Runs all ready tasks.
    pub fn settle(&self) {
        self.runtime.block_on(async {
            for _ in 0..64 {
                tokio::task::yield_now().await;
            }
        });
    }

    /// Waits until sessions have released the memory that they retain for a while after each request.
    pub fn idle(&self) {
        self.runtime.block_on(async {
            #[cfg(test)]
            tokio::time::pause();
            tokio::time::sleep(Duration::from_secs(6)).await;
            #[cfg(test)]
            tokio::time::resume();
        });
        self.settle();
    }

    fn post(&self, request: Request<Full<Bytes>>) -> Response<Bytes> {
        self.runtime.block_on(send(&self.endpoint, request))
    }
}

async fn send(endpoint: &Endpoint, request: Request<Full<Bytes>>) -> Response<Bytes> {
    let (parts, mut body) = endpoint.handle(request).await.into_parts();
    // A JSON body is a single frame.
    let data = match body.frame().await {
        Some(Ok(frame)) => frame.into_data().unwrap(),
        None => Bytes::new(),
    };
    Response::from_parts(parts, data)
}

fn request(body: &'static str) -> Request<Full<Bytes>> {
    let body = Full::new(Bytes::from_static(body.as_bytes()));
    let builder = Request::post("/mcp").header("host", "127.0.0.1:3000");
    let builder =
        builder.header("user-agent", "bench/1").header("content-type", "application/json");
    builder.header("accept", "application/json, text/event-stream").body(body).unwrap()
}

fn session_request(id: &str, body: &'static str) -> Request<Full<Bytes>> {
    let mut request = request(body);
    request.headers_mut().insert("mcp-session-id", id.parse().unwrap());
    let version = hyper::header::HeaderValue::from_static("2025-11-25");
    request.headers_mut().insert("mcp-protocol-version", version);
    request
}

fn stateless_request() -> Request<Full<Bytes>> {
    let mut request = request(STATELESS_CALL);
    let fields = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "hello"),
    ];
    for (name, value) in fields {
        request.headers_mut().insert(name, hyper::header::HeaderValue::from_static(value));
    }
    request
}

/// Builds the requests and drops them: the share of [`HttpEndpoint::call`] that is the benchmark's own cost.
pub fn build_requests(session: Option<&str>, rounds: usize) {
    for _ in 0..rounds {
        std::hint::black_box(match session {
            Some(session) => session_request(session, CALL),
            None => stateless_request(),
        });
    }
}
