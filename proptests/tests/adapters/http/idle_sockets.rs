//! Sockets of clients that send no more requests.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use mcp_sansio::auth::FetchPolicy;
use mcp_sansio_http::rustls::crypto::ring::default_provider;
use mcp_sansio_http::rustls::{self, RootCertStore};
use mcp_sansio_http::{Transport, checked, checked_tls, plain, tls_with};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::{Instant, timeout};

use crate::http::kit::soon;

/// Sends one request, and returns the time after which the client closes the socket.
async fn closed_after(transport: impl Transport) -> Duration {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").await.unwrap();
        assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
    });
    let request = Request::get(url).body(Full::new(Bytes::new())).unwrap();
    let response = soon(transport.send(request)).await.unwrap();
    assert_eq!(soon(response.into_body().collect()).await.unwrap().to_bytes(), "{}");
    // From here on the time advances to the next timer whenever nothing else happens.
    tokio::time::pause();
    let idle = Instant::now();
    let closed = timeout(Duration::from_secs(600), server).await;
    tokio::time::resume();
    closed.expect("the client closes the socket").unwrap();
    // The transport could still be used.
    drop(transport);
    idle.elapsed()
}

/// An idle socket is closed without another request, by every client that the adapter builds.
#[tokio::test]
async fn idle_sockets_are_closed() {
    let config = || {
        let builder = rustls::ClientConfig::builder_with_provider(default_provider().into());
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth()
    };
    let policy = FetchPolicy::default();
    // The pool looks every 90 s for sockets that have been idle as long.
    let most = Duration::from_secs(181);
    assert!(closed_after(plain()).await < most);
    assert!(closed_after(checked(policy)).await < most);
    assert!(closed_after(tls_with(config())).await < most);
    assert!(closed_after(checked_tls(policy, config())).await < most);
}
