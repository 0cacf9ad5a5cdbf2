//! A server over HTTP is replaced by one of another era, at the same URL.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod kit;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kit::*;
use mcp_sansio::http::HttpClientConfig;
use mcp_sansio::{ClientConfig, Era, Revision};
use mcp_sansio_gateway::config::{Sharing, UpstreamConfig, UpstreamTransport};
use mcp_sansio_gateway::{Connect, ConnectFuture, UpstreamHandler};
use mcp_sansio_http::{Endpoint, EndpointOptions, InMemory, SendError, Transport, connect_with};
use mcp_sansio_tokio::{CallFailure, ConnectionOptions};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::sleep;

/// The client of a server in this process.
type Client = HttpClient<InMemory, Full<Bytes>>;

/// A URL behind which one server replaces another.
#[derive(Clone)]
struct Url {
    client: Arc<Mutex<Client>>,
    /// Where requests of sessions get 404, once there is a server without sessions.
    gone: Arc<Mutex<Option<Client>>>,
    /// Where requests of sessions go, if not to the same server.
    sessions: Arc<Mutex<Option<Client>>>,
    /// The status with which each request is refused.
    refusal: Arc<Mutex<Option<StatusCode>>>,
    /// The ids of sessions in requests so far.
    known: Arc<Mutex<BTreeSet<String>>>,
    /// The ids of sessions that get 400, as many servers respond after a restart.
    forgotten: Arc<Mutex<BTreeSet<String>>>,
}

fn client_of(server: &Fake) -> Client {
    let endpoint = Endpoint::new(server.server_config(), server.clone());
    HttpClient::builder(TokioExecutor::new()).build(InMemory::new(endpoint))
}

impl Url {
    fn of(server: &Fake) -> Self {
        let client = Arc::new(Mutex::new(client_of(server)));
        Self {
            client,
            gone: Arc::default(),
            sessions: Arc::default(),
            refusal: Arc::default(),
            known: Arc::default(),
            forgotten: Arc::default(),
        }
    }

    /// Replaces the server by one that refuses the sessions so far with 400.
    fn forget_sessions(&self, server: &Fake) {
        *self.client.lock().unwrap() = client_of(server);
        let known = std::mem::take(&mut *self.known.lock().unwrap());
        self.forgotten.lock().unwrap().extend(known);
    }

    /// Refuses each request with this status and an error of JSON-RPC.
    fn refuse(&self, status: Option<StatusCode>) {
        *self.refusal.lock().unwrap() = status;
    }

    fn replace(&self, server: &Fake, era: Era) {
        *self.client.lock().unwrap() = client_of(server);
        if era == Era::Modern {
            *self.gone.lock().unwrap() = Some(client_of(&Fake::legacy("gone")));
        }
    }
}

/// Returns the response of a server with the TypeScript SDK to a request of a session that it does not know.
async fn unknown_session() -> Response<Incoming> {
    let (ours, mut theirs) = tokio::io::duplex(64 << 10);
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(ours)).await.unwrap();
    tokio::spawn(connection);
    tokio::spawn(async move {
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(theirs.read_u8().await.unwrap());
        }
        let body = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}"#;
        let length = body.len();
        let head = "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json";
        let response = format!("{head}\r\nContent-Length: {length}\r\n\r\n{body}");
        theirs.write_all(response.as_bytes()).await.unwrap();
    });
    sender.send_request(Request::new(Full::<Bytes>::default())).await.unwrap()
}

impl Transport for Url {
    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, SendError> {
        let mut client = self.client.lock().unwrap().clone();
        if let Some(session) = request.headers().get("mcp-session-id") {
            let session = session.to_str().unwrap().to_owned();
            if self.forgotten.lock().unwrap().contains(&session) {
                return Ok(unknown_session().await);
            }
            self.known.lock().unwrap().insert(session);
        }
        if request.headers().contains_key("mcp-session-id") {
            let gone = self.gone.lock().unwrap().clone();
            let sessions = self.sessions.lock().unwrap().clone();
            client = gone.or(sessions).unwrap_or(client);
        }
        let refusal = *self.refusal.lock().unwrap();
        if let Some(status) = refusal {
            // It knows no request without a session.
            let mut response = client_of(&Fake::legacy("refusing")).send(request).await?;
            *response.status_mut() = status;
            return Ok(response);
        }
        client.send(request).await
    }
}

impl Connect for Url {
    fn connect(&self, config: ClientConfig, handler: UpstreamHandler) -> ConnectFuture<'_> {
        Box::pin(async move {
            let http = HttpClientConfig::new("http://localhost/mcp");
            connect_with(config, http, &ConnectionOptions::new(), self.clone(), handler).await
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_of_another_era_is_negotiated_with_again() {
    let (legacy, modern) = (Revision::V2025_11_25, Revision::V2026_07_28);
    for (old, new, first, second) in [
        (Fake::modern("one"), Fake::legacy("one"), modern, legacy),
        // The client of the gateway negotiates by itself when its session is unknown.
        (Fake::legacy("one"), Fake::modern("one"), legacy, modern),
    ] {
        let url = Url::of(&old);
        let transport = UpstreamTransport::Custom(Arc::new(url.clone()));
        let gateway = start_with(vec![UpstreamConfig::new("one", transport)]).await;
        let client = Peer::modern(&gateway, "c").await;
        let ask = || client.call("one__ask", json!({"label": "x"}));
        let status = || gateway.status().upstreams[0].revision;
        assert_eq!(ask().await.unwrap(), "one x \"c\"");
        assert_eq!(status(), Some(first.name()));
        url.replace(&new, second.era());
        // The first call finds out that something is wrong.
        _ = client.call("one__whoami", json!({})).await;
        sleep(Duration::from_secs(10)).await;
        assert_eq!(status(), Some(second.name()));
        assert_eq!(ask().await.unwrap(), "one x \"c\"", "{first:?}");
        assert_eq!(client.call("one__whoami", json!({})).await.unwrap(), "one");
    }
}

/// Errors of a server that is still modern do not end its connection.
#[tokio::test(start_paused = true)]
async fn a_server_of_the_same_era_keeps_its_connection() {
    let server = Fake::modern("one");
    let transport = UpstreamTransport::Custom(Arc::new(Url::of(&server)));
    let gateway = start_with(vec![UpstreamConfig::new("one", transport)]).await;
    let client = Peer::modern(&gateway, "c").await;
    for _ in 0..20 {
        client.call("one__fail", json!({})).await.unwrap_err();
        sleep(Duration::from_secs(5)).await;
    }
    assert_eq!(gateway.status().upstreams[0].connected, 1);
}

/// A server that is busy says so with errors of JSON-RPC.
#[tokio::test(start_paused = true)]
async fn a_busy_server_keeps_its_connection() {
    let server = Fake::modern("one");
    let url = Url::of(&server);
    let transport = UpstreamTransport::Custom(Arc::new(url.clone()));
    let gateway = start_with(vec![UpstreamConfig::new("one", transport)]).await;
    let client = Peer::modern(&gateway, "c").await;
    for status in [408, 429, 500, 503] {
        url.refuse(Some(StatusCode::from_u16(status).unwrap()));
        let refused = client.call("one__whoami", json!({})).await.unwrap_err();
        assert!(matches!(refused, CallFailure::PeerError(_)), "{refused}");
        sleep(Duration::from_secs(10)).await;
        url.refuse(None);
        assert_eq!(client.call("one__whoami", json!({})).await.unwrap(), "one");
        // The next failure is a reason to ask again.
        sleep(Duration::from_secs(60)).await;
        assert_eq!(gateway.status().upstreams[0].connected, 1, "{status}");
    }
}

/// The calls in progress at a server that is replaced are not lost with the connection.
#[tokio::test(start_paused = true)]
async fn calls_in_progress_outlive_the_change_of_the_era() {
    let url = Url::of(&Fake::modern("one"));
    let transport = UpstreamTransport::Custom(Arc::new(url.clone()));
    let gateway = start_with(vec![UpstreamConfig::new("one", transport)]).await;
    let client = Peer::modern(&gateway, "c").await;
    let meanwhile = async {
        settle().await;
        url.replace(&Fake::legacy("one"), Era::Legacy);
        _ = client.call("one__whoami", json!({})).await;
        sleep(Duration::from_secs(10)).await;
        let status = gateway.status().upstreams[0].revision;
        assert_eq!(status, Some(Revision::V2025_11_25.name()));
    };
    let slow = client.call("one__slow", json!({"label": "x", "ms": 30_000}));
    let (slow, ()) = tokio::join!(slow, meanwhile);
    assert_eq!(slow.unwrap(), "one x");
}

/// Clients with connections of their own get one of the new era as well.
#[tokio::test(start_paused = true)]
async fn the_connection_of_a_client_is_negotiated_again() {
    let url = Url::of(&Fake::legacy("one"));
    let transport = UpstreamTransport::Custom(Arc::new(url.clone()));
    let mut config = UpstreamConfig::new("one", transport);
    config.sharing = Sharing::PerClient { most: 2, idle: Duration::from_secs(600) };
    let gateway = start_with(vec![config]).await;
    settle().await;
    // The session of all clients goes on. The new release serves everything else.
    let first = url.client.lock().unwrap().clone();
    *url.sessions.lock().unwrap() = Some(first);
    url.replace(&Fake::modern("one"), Era::Legacy);
    let mut options = EndpointOptions::new();
    options.connection = gateway.connection_options();
    let endpoint = Endpoint::with(gateway.server_config(), options, gateway.clone());
    let client = Peer::over_http(&endpoint, Revision::V2025_11_25, ("x-any", "1"), "c").await;
    let ask = || client.call("one__whoami", json!({}));
    assert_eq!(ask().await.unwrap(), "one");
    let sessions = || gateway.status().upstreams[0].client_sessions;
    assert_eq!(sessions(), 1);
    // The release is taken back.
    *url.sessions.lock().unwrap() = None;
    url.replace(&Fake::legacy("one"), Era::Legacy);
    ask().await.unwrap_err();
    sleep(Duration::from_secs(10)).await;
    assert_eq!(ask().await.unwrap(), "one");
    assert_eq!(sessions(), 1);
}

/// After a restart, many servers refuse the sessions of before with 400 instead of 404.
#[tokio::test(start_paused = true)]
async fn a_session_that_is_refused_with_400_is_negotiated_again() {
    for sharing in [Sharing::All, Sharing::PerClient { most: 2, idle: Duration::from_secs(600) }] {
        let url = Url::of(&Fake::legacy("one"));
        let transport = UpstreamTransport::Custom(Arc::new(url.clone()));
        let mut config = UpstreamConfig::new("one", transport);
        config.sharing = sharing;
        let gateway = start_with(vec![config]).await;
        let mut options = EndpointOptions::new();
        options.connection = gateway.connection_options();
        let endpoint = Endpoint::with(gateway.server_config(), options, gateway.clone());
        let client = Peer::over_http(&endpoint, Revision::V2025_11_25, ("x-any", "1"), "c").await;
        let ask = || client.call("one__whoami", json!({}));
        assert_eq!(ask().await.unwrap(), "one");
        url.forget_sessions(&Fake::legacy("one"));
        ask().await.unwrap_err();
        sleep(Duration::from_secs(10)).await;
        assert_eq!(ask().await.unwrap(), "one", "{sharing:?}");
    }
}

/// A modern server refuses the requests of a session with 400 as well.
#[tokio::test(start_paused = true)]
async fn a_session_at_a_server_that_is_modern_now_is_negotiated_again() {
    let url = Url::of(&Fake::legacy("one"));
    let transport = UpstreamTransport::Custom(Arc::new(url.clone()));
    let gateway = start_with(vec![UpstreamConfig::new("one", transport)]).await;
    let client = Peer::modern(&gateway, "c").await;
    let ask = || client.call("one__whoami", json!({}));
    assert_eq!(ask().await.unwrap(), "one");
    *url.client.lock().unwrap() = client_of(&Fake::modern("one"));
    ask().await.unwrap_err();
    sleep(Duration::from_secs(10)).await;
    assert_eq!(ask().await.unwrap(), "one");
    let status = gateway.status().upstreams[0].revision;
    assert_eq!(status, Some(Revision::V2026_07_28.name()));
}

/// Errors of a server that knows the session do not end it.
#[tokio::test(start_paused = true)]
async fn a_server_that_knows_the_session_keeps_it() {
    let url = Url::of(&Fake::legacy("one"));
    let transport = UpstreamTransport::Custom(Arc::new(url));
    let gateway = start_with(vec![UpstreamConfig::new("one", transport)]).await;
    let client = Peer::modern(&gateway, "c").await;
    for _ in 0..20 {
        client.call("one__fail", json!({})).await.unwrap_err();
        sleep(Duration::from_secs(5)).await;
    }
    assert_eq!(gateway.status().upstreams[0].connected, 1);
}
