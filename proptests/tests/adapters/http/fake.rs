//! A server whose responses the test writes byte by byte.

use std::net::{Ipv4Addr, SocketAddr};

use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::http::kit::soon;
use crate::http::raw::{Raw, field};

pub(crate) struct Fake {
    pub(crate) listener: TcpListener,
    pub(crate) address: SocketAddr,
}

/// A received request; its connection carries no other request.
pub(crate) struct Asked {
    pub(crate) head: String,
    pub(crate) body: String,
    pub(crate) raw: Raw,
}

impl Asked {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        field(&self.head, name)
    }

    pub(crate) fn method(&self) -> &str {
        self.head.split(' ').next().unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Responds with this status and these header fields.
    pub(crate) async fn answer(mut self, status: &str, fields: &str, body: &str) {
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\n{fields}");
        self.raw.send(format!("{head}Content-Length: {length}\r\n\r\n{body}")).await;
    }

    /// Responds to the JSON-RPC request with a result.
    pub(crate) async fn result(self, fields: &str, result: Value) {
        let body = json!({"jsonrpc": "2.0", "id": self.json()["id"], "result": result});
        let fields = format!("Content-Type: application/json\r\n{fields}");
        self.answer("200 OK", &fields, &body.to_string()).await;
    }

    pub(crate) async fn text(self, text: &str) {
        let content = json!([{"type": "text", "text": text}]);
        self.result("", json!({"resultType": "complete", "content": content})).await;
    }

    /// Begins an event stream, which ends with the connection.
    pub(crate) async fn events(&mut self) {
        let head =
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\n";
        self.raw.send(head).await;
    }
}

impl Fake {
    pub(crate) async fn new() -> Self {
        Self::at((Ipv4Addr::LOCALHOST, 0).into()).await
    }

    pub(crate) async fn at(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        Self { listener, address }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Returns the next request.
    pub(crate) async fn next(&self) -> Asked {
        let (stream, _) = soon(self.listener.accept()).await.unwrap();
        let mut raw = Raw::of(stream);
        let head = raw.head().await;
        let length = field(&head, "content-length").map_or(0, |length| length.parse().unwrap());
        let body = raw.bytes(length).await;
        Asked { head, body, raw }
    }

    /// Responds to the `server/discover` request of a client of 2026-07-28.
    pub(crate) async fn discover(&self) {
        let asked = self.next().await;
        assert_eq!(asked.field("mcp-method"), Some("server/discover"));
        let result = json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}}, "serverInfo": {"name": "fake", "version": "1"},
            "ttlMs": 0, "cacheScope": "private",
        });
        asked.result("", result).await;
    }

    /// Opens a session, and refuses its event stream.
    pub(crate) async fn open(&self, session: &str) {
        let asked = self.next().await;
        assert_eq!(asked.json()["method"], "initialize");
        assert_eq!(asked.field("mcp-session-id"), None);
        let result = json!({
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "fake", "version": "1"},
        });
        asked.result(&format!("Mcp-Session-Id: {session}\r\n"), result).await;
        let asked = self.next().await;
        assert_eq!(asked.json()["method"], "notifications/initialized");
        assert_eq!(asked.field("mcp-session-id"), Some(session));
        asked.answer("202 Accepted", "", "").await;
        let asked = self.next().await;
        assert_eq!((asked.method(), asked.field("mcp-session-id")), ("GET", Some(session)));
        asked.answer("405 Method Not Allowed", "", "").await;
    }
}
