//! Nodes on sockets.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod kit;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kit::{call, endpoint, initialize};
use mcp_sansio_store::{Listeners, MemoryStore, Node, ServeOptions, serve};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A node that is served.
struct Served {
    node: Node,
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<io::Result<()>>,
}

impl Served {
    async fn start(store: &MemoryStore, options: ServeOptions) -> Self {
        let clients = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let nodes = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = clients.local_addr().unwrap();
        let of_nodes = nodes.local_addr().unwrap().to_string();
        let node = Node::join(endpoint(100), Arc::new(store.clone()), of_nodes).await.unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let served = serve(
            node.clone(),
            "/mcp",
            Listeners { clients, nodes },
            async { _ = stopped.await },
            options,
        );
        Self { node, address, stop: Some(stop), task: tokio::spawn(served) }
    }

    fn sessions(&self) -> usize {
        self.node.endpoint().sessions()
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends a request on a connection of its own.
    async fn send(&self, session: Option<&str>, body: &Value) -> (u16, String) {
        let mut stream = self.connect().await;
        stream.write_all(post("/mcp", session, body).as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        let status = response.split(' ').nth(1).unwrap().parse().unwrap();
        (status, response)
    }

    async fn open(&self) -> String {
        let (status, response) = self.send(None, &initialize()).await;
        assert_eq!(status, 200);
        let session = response.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        let session = session.unwrap().to_owned();
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.send(Some(&session), &initialized).await.0, 202);
        session
    }
}

fn post(path: &str, session: Option<&str>, body: &Value) -> String {
    let body = body.to_string();
    let session =
        session.map(|id| format!("mcp-session-id: {id}\r\nmcp-protocol-version: 2025-11-25\r\n"));
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n{}content-length: {}\r\n\r\n{body}",
        session.unwrap_or_default(),
        body.len()
    )
}

fn echo(id: u64) -> Value {
    call(id, "echo", &json!({"n": id}))
}

/// A request is passed on, and its session moves at once when the process of its node has ended.
#[tokio::test]
async fn a_session_moves() {
    let store = MemoryStore::new();
    let a = Served::start(&store, ServeOptions::new()).await;
    let b = Served::start(&store, ServeOptions::new()).await;
    let session = a.open().await;
    let (status, response) = b.send(Some(&session), &echo(1)).await;
    assert_eq!(status, 200);
    assert!(response.contains(r#"{\"n\":1}"#) && !response.contains("mcp-node"), "{response}");
    assert_eq!((a.sessions(), b.sessions()), (1, 0));
    assert_eq!(b.send(Some("0"), &echo(1)).await.0, 404);
    // Its sockets are closed, as if it were killed.
    a.task.abort();
    assert!(a.task.await.unwrap_err().is_cancelled());
    let began = Instant::now();
    assert_eq!(b.send(Some(&session), &echo(2)).await.0, 200);
    assert!(began.elapsed() < Duration::from_secs(3), "it is not waited for signs of life");
    assert_eq!(b.sessions(), 1);
}

/// A node serves clients and other nodes until it has left.
#[tokio::test]
async fn a_node_is_stopped() {
    let store = MemoryStore::new();
    let mut a = Served::start(&store, ServeOptions::new()).await;
    let b = Served::start(&store, ServeOptions::new()).await;
    let session = a.open().await;
    let mut later = a.connect().await;
    let body = call(1, "later", &json!({"time": 1_500}));
    later.write_all(post("/mcp", Some(&session), &body).as_bytes()).await.unwrap();
    while !a
        .node
        .endpoint()
        .has_open_requests(mcp_sansio::http::SessionId::parse(&session).unwrap())
    {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    a.stop.take().unwrap().send(()).unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    // The session has an open request, so it is still here.
    assert_eq!(b.send(Some(&session), &echo(2)).await.0, 200);
    assert_eq!(a.send(Some(&session), &echo(3)).await.0, 200);
    assert_eq!((a.sessions(), b.sessions()), (1, 0));
    let mut response = String::new();
    later.read_to_string(&mut response).await.unwrap();
    assert!(response.contains("later"), "{response}");
    a.task.await.unwrap().unwrap();
    assert!(TcpStream::connect(a.address).await.is_err());
    assert_eq!(b.send(Some(&session), &echo(4)).await.0, 200);
    assert_eq!(b.sessions(), 1);
}

/// An event stream that is passed on does not hold its node up: its client opens it again at another one.
#[tokio::test]
async fn a_node_with_a_forwarded_stream_is_stopped() {
    let store = MemoryStore::new();
    let a = Served::start(&store, ServeOptions::new()).await;
    let mut b = Served::start(&store, ServeOptions::new()).await;
    let session = a.open().await;
    let mut stream = b.connect().await;
    let listen = format!(
        "GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\nmcp-session-id: {session}\r\n\
         mcp-protocol-version: 2025-11-25\r\n\r\n"
    );
    stream.write_all(listen.as_bytes()).await.unwrap();
    let mut begin = [0; 15];
    stream.read_exact(&mut begin).await.unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200 OK");
    b.stop.take().unwrap().send(()).unwrap();
    let began = Instant::now();
    b.task.await.unwrap().unwrap();
    assert!(began.elapsed() < Duration::from_secs(9), "it has waited for its grace period");
    let mut rest = String::new();
    stream.read_to_string(&mut rest).await.unwrap();
    assert!(rest.ends_with("0\r\n\r\n"), "the end of the stream is none of the connection: {rest}");
    assert_eq!((a.sessions(), b.node.endpoint().sessions()), (1, 0));
}

/// Two nodes that have as many clients as they may have still serve each other.
#[tokio::test]
async fn two_full_nodes() {
    let store = MemoryStore::new();
    let mut options = ServeOptions::new();
    options.connections = 1;
    let a = Served::start(&store, options).await;
    let b = Served::start(&store, options).await;
    let (of_a, of_b) = (a.open().await, b.open().await);
    let (sent_to_a, sent_to_b) = (echo(1), echo(2));
    let both =
        async { tokio::join!(a.send(Some(&of_b), &sent_to_a), b.send(Some(&of_a), &sent_to_b)) };
    let both = tokio::time::timeout(Duration::from_secs(60), both).await.unwrap();
    assert_eq!((both.0.0, both.1.0), (200, 200));
}

/// Dropping the future closes every connection, also one that waits for its response.
#[tokio::test]
async fn a_dropped_future_serves_nothing() {
    let a = Served::start(&MemoryStore::new(), ServeOptions::new()).await;
    let session = a.open().await;
    let mut later = a.connect().await;
    let body = call(1, "later", &json!({"time": 3_600_000}));
    later.write_all(post("/mcp", Some(&session), &body).as_bytes()).await.unwrap();
    while a.node.endpoint().open_requests() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    a.task.abort();
    let mut response = Vec::new();
    // The end of the stream or an error, as the system likes.
    _ = tokio::time::timeout(Duration::from_secs(60), later.read_to_end(&mut response))
        .await
        .unwrap();
    assert_eq!(response, b"");
}

#[tokio::test]
async fn other_paths_are_unknown() {
    let a = Served::start(&MemoryStore::new(), ServeOptions::new()).await;
    let mut stream = a.connect().await;
    stream.write_all(post("/other", None, &initialize()).as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 404 "), "{response}");
}
