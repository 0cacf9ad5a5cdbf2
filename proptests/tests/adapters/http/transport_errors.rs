//! The errors of a client whose transport fails: the kind, the target, and the error of the system.

use std::error::Error;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::client::legacy::connect::HttpConnector;
use mcp_sansio::call::Timeout;
use mcp_sansio::error::{TransportErrorKind, TransportFailure, TransportFailureKind};
use mcp_sansio::event::ConnectFailure;
use mcp_sansio::http::HttpClientConfig;
use mcp_sansio::{CallOptions, ClientConfig, Revision, RevisionSet};
use mcp_sansio_http::{
    CallFailure, ConnectionOptions, OpenError, RefuseAll, SendError, Transport, connect_with, plain,
};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::http::fake::Fake;
use crate::http::kit::{Served, soon};

/// Returns the config of a client without timeouts of its own.
fn config(revision: Revision) -> ClientConfig {
    let mut config = ClientConfig::new("client", "1");
    config.revisions = RevisionSet::only(revision);
    let timeouts = &mut config.connection.timeouts;
    (timeouts.handshake, timeouts.probe) = (None, None);
    config
}

/// Returns the error of connecting to a server at this URL.
async fn refusal(revision: Revision, url: &str, transport: impl Transport) -> OpenError {
    let (http, options) = (HttpClientConfig::new(url), ConnectionOptions::new());
    connect_with(config(revision), http, &options, transport, RefuseAll::new()).await.unwrap_err()
}

fn carried(error: &OpenError) -> &TransportFailure<'static> {
    match error {
        OpenError::Connect(ConnectFailure::TransportFailed(failure)) => failure,
        other => panic!("{other:?}"),
    }
}

/// Returns the sources of an error as text, the outermost first.
fn sources(error: &dyn Error) -> Vec<String> {
    let sources = std::iter::successors(error.source(), |source| (*source).source());
    sources.map(ToString::to_string).collect()
}

/// Whether an error of the system with this kind is among the sources.
fn has_source(error: &(dyn Error + 'static), kind: io::ErrorKind) -> bool {
    let mut sources = std::iter::successors(error.source(), |source| (*source).source());
    sources.any(|source| source.downcast_ref::<io::Error>().is_some_and(|io| io.kind() == kind))
}

/// Returns an address of this computer at which no server listens.
async fn unused() -> SocketAddr {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap().local_addr().unwrap()
}

#[tokio::test]
async fn a_refused_connection_is_named_with_its_target_and_no_secret() {
    let address = unused().await;
    let url = format!("http://user:secret@{address}/secret?token=secret");
    for revision in [Revision::V2026_07_28, Revision::V2025_11_25] {
        let error = soon(refusal(revision, &url, plain())).await;
        let failure = carried(&error);
        assert_eq!(failure.kind, TransportFailureKind::Unreachable);
        let cause = failure.cause.as_ref().unwrap();
        assert_eq!(cause.kind(), TransportErrorKind::ConnectionRefused);
        assert_eq!(cause.target(), Some(&*address.to_string()));
        assert_eq!(
            error.to_string(),
            format!("the request did not reach the server: the connection was refused ({address})")
        );
        assert!(has_source(&error, io::ErrorKind::ConnectionRefused), "{:?}", sources(&error));
        let shown = format!("{error} {error:?} {:?}", sources(&error));
        assert!(!shown.contains("secret"), "{shown}");
    }
}

#[tokio::test]
async fn a_name_that_cannot_be_resolved_is_named() {
    let url = "http://nonexistent.invalid:3000/mcp";
    let error = soon(refusal(Revision::V2026_07_28, url, plain())).await;
    let cause = carried(&error).cause.clone().unwrap();
    assert_eq!(cause.kind(), TransportErrorKind::Dns);
    let text = "the request did not reach the server: the host name could not be resolved (nonexistent.invalid:3000)";
    assert_eq!(error.to_string(), text);
    assert!(sources(&error).iter().any(|source| source == "dns error"), "{:?}", sources(&error));
}

#[tokio::test]
async fn a_url_that_cannot_be_used_is_the_fault_of_the_configuration() {
    let (not_valid, not_http) = (None, Some("127.0.0.1:443"));
    for (url, target) in [
        ("no url", not_valid),
        ("", not_valid),
        ("/mcp", not_valid),
        ("https://127.0.0.1/mcp", not_http),
    ] {
        let error = soon(refusal(Revision::V2026_07_28, url, plain())).await;
        let failure = carried(&error);
        assert_eq!(failure.kind, TransportFailureKind::Unreachable, "{url}");
        let cause = failure.cause.as_ref().unwrap();
        assert_eq!(
            (cause.kind(), cause.target()),
            (TransportErrorKind::InvalidUrl, target),
            "{url}"
        );
    }
}

/// Begins TLS as a client does, and fails as the libraries for TLS do.
#[derive(Clone)]
struct Tls;

impl Transport for Tls {
    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, SendError> {
        let address = request.uri().authority().unwrap().as_str();
        let mut stream = TcpStream::connect(address).await.unwrap();
        // The head of a record with a `ClientHello`.
        stream.write_all(b"\x16\x03\x01\0\x04\x01\0\0\0\r\n\r\n").await.unwrap();
        let failure = match stream.read_u8().await {
            Ok(0x15 | 0x16) => panic!("a server of TLS"),
            Ok(_) => io::Error::new(io::ErrorKind::InvalidData, "a corrupt message"),
            Err(error) => error,
        };
        Err(SendError::Unreachable(io::Error::other(failure).into()))
    }
}

#[tokio::test]
async fn a_server_without_tls_is_named_as_such() {
    // One server responds in plain text that it does not understand; the other one disconnects.
    for answer in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b""] {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            _ = stream.read(&mut [0; 64]).await.unwrap();
            stream.write_all(answer).await.unwrap();
        };
        let url = format!("https://{address}/mcp");
        let refused = refusal(Revision::V2026_07_28, &url, Tls);
        let (error, ()) = soon(async { tokio::join!(refused, serving) }).await;
        let text =
            format!("the request did not reach the server: the TLS handshake failed ({address})");
        assert_eq!(error.to_string(), text);
        assert_eq!(carried(&error).cause.as_ref().unwrap().kind(), TransportErrorKind::Tls);
        assert!(!sources(&error).is_empty());
    }
}

/// A transport that classifies its own errors.
#[derive(Clone)]
struct Says(TransportErrorKind);

impl Transport for Says {
    async fn send(&self, _: Request<Full<Bytes>>) -> Result<Response<Incoming>, SendError> {
        Err(SendError::Unreachable(io::Error::other(self.0).into()))
    }
}

#[tokio::test]
async fn a_transport_can_say_which_kind_it_is() {
    for kind in [TransportErrorKind::Tls, TransportErrorKind::Other, TransportErrorKind::Dns] {
        let url = "http://[::1]/mcp";
        let error = soon(refusal(Revision::V2026_07_28, url, Says(kind))).await;
        let cause = carried(&error).cause.clone().unwrap();
        assert_eq!((cause.kind(), cause.target()), (kind, Some("[::1]:80")));
    }
}

/// On other systems, a listener whose queue is full refuses connections instead of leaving them unanswered.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_unaccepted_tcp_connection_times_out() {
    use crate::http::kit::let_pass;

    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let listener = socket.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let _first = TcpStream::connect(address).await.unwrap();

    let limit = Duration::from_secs(5);
    let mut connector = HttpConnector::new();
    connector.set_connect_timeout(Some(limit));
    let executor = hyper_util::rt::TokioExecutor::new();
    let transport = hyper_util::client::legacy::Client::builder(executor).build(connector);
    let url = format!("http://{address}/mcp");
    let refused =
        tokio::spawn(async move { refusal(Revision::V2026_07_28, &url, transport).await });
    while !refused.is_finished() {
        tokio::task::yield_now().await;
        let_pass(limit).await;
    }
    let error = refused.await.unwrap();
    let text =
        format!("the request did not reach the server: the connection timed out ({address})");
    assert_eq!(error.to_string(), text);
    assert_eq!(carried(&error).cause.as_ref().unwrap().kind(), TransportErrorKind::TimedOut);
    assert!(has_source(&error, io::ErrorKind::TimedOut), "{:?}", sources(&error));
}

#[tokio::test]
async fn a_connection_that_is_lost_later_is_named_by_the_call() {
    let fake = Fake::new().await;
    let (url, options) = (fake.url(), ConnectionOptions::new());
    let (config, http) = (config(Revision::V2026_07_28), HttpClientConfig::new(&*url));
    let connecting = connect_with(config, http, &options, plain(), RefuseAll::new());
    let connection = tokio::join!(connecting, fake.discover()).0.unwrap();
    for has_begun in [false, true] {
        let params = serde_json::json!({"name": "echo", "arguments": {}});
        let options = CallOptions::new();
        let called = connection.handle().call_method("tools/call", &params, options);
        let dropped = async {
            let mut asked = fake.next().await;
            if has_begun {
                let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
                asked.raw.send(format!("{head}Content-Length: 100\r\n\r\n{{")).await;
            }
        };
        let (failure, ()) = soon(async { tokio::join!(called, dropped) }).await;
        let error = failure.unwrap_err();
        let CallFailure::TransportFailed(failure) = &error else { panic!("{error:?}") };
        assert_eq!(failure.kind, TransportFailureKind::BrokenOff);
        let cause = failure.cause.as_ref().unwrap();
        assert_eq!(cause.kind(), TransportErrorKind::ConnectionReset, "{:?}", sources(&error));
        assert_eq!(
            error.to_string(),
            format!(
                "the response ended before the answer came: the connection was reset or closed ({})",
                fake.address
            )
        );
        assert!(!sources(&error).is_empty());
    }
}

/// A transport of the application that panics for one method.
#[derive(Clone)]
struct Panics(&'static str, HyperClient<HttpConnector, Full<Bytes>>);

impl Transport for Panics {
    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, SendError> {
        let method = request.headers().get("mcp-method").map(|method| method.to_str().unwrap());
        assert_ne!(method, Some(self.0), "as asked");
        self.1.send(request).await
    }
}

/// The call fails at once, and the connection goes on.
#[tokio::test]
async fn a_transport_that_panics_ends_only_the_call() {
    let served = Served::new().await;
    let url = format!("http://{}/mcp", served.address);
    let (http, options) = (HttpClientConfig::new(url), ConnectionOptions::new());
    let transport = Panics("tools/list", plain());
    let config = config(Revision::V2026_07_28);
    let connection =
        connect_with(config, http, &options, transport, RefuseAll::new()).await.unwrap();
    let call = |method| {
        let options = CallOptions::new().idle(Timeout::Never).total(Timeout::Never);
        connection.handle().call_method(method, &json!({}), options)
    };
    let failure = soon(call("tools/list")).await.unwrap_err();
    let text = "the transport panicked";
    match &failure {
        CallFailure::TransportFailed(failure) => {
            assert!(sources(failure).contains(&text.to_owned()))
        }
        other => panic!("{other:?}"),
    }
    soon(call("prompts/list")).await.unwrap_err();
}
