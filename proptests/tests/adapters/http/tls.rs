//! Servers and clients with TLS.

use std::io::ErrorKind;
#[cfg(unix)]
use std::path::PathBuf;
#[cfg(unix)]
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
#[cfg(unix)]
use std::{env, fs};

use mcp_sansio::error::TransportErrorKind;
use mcp_sansio::event::ConnectFailure;
use mcp_sansio::http::HttpClientConfig;
use mcp_sansio::model::CallToolResult;
use mcp_sansio::{CallOptions, ClientConfig};
use mcp_sansio_http::rustls::crypto::ring::default_provider;
use mcp_sansio_http::rustls::pki_types::CertificateDer;
use mcp_sansio_http::rustls::{self, RootCertStore};
use mcp_sansio_http::{
    Connection, ConnectionOptions, Endpoint, HttpsClient, OpenError, RefuseAll, connect_with,
    serve_tls, server_certificate, tls_with,
};
use rcgen::{CertifiedKey, KeyPair};
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

#[cfg(unix)]
use crate::http::kit::beside_others;
use crate::http::kit::{A_LONG_TIME, Script, let_pass, server_config, soon};
#[cfg(unix)]
use mcp_sansio_http::connect;

/// A certificate for `localhost` that is its own root.
fn certificate() -> CertifiedKey<KeyPair> {
    rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap()
}

/// Returns a client that trusts only this certificate.
fn trusting(certificate: &CertificateDer<'static>) -> HttpsClient {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let builder = rustls::ClientConfig::builder_with_provider(default_provider().into());
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    tls_with(builder.with_root_certificates(Arc::new(roots)).with_no_client_auth())
}

/// A server with TLS.
struct Served {
    certificate: CertificateDer<'static>,
    port: u16,
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
}

impl Served {
    async fn new(grace: Duration) -> Self {
        let CertifiedKey { cert, signing_key } = certificate();
        let tls = server_certificate(cert.pem().as_bytes(), signing_key.serialize_pem().as_bytes());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let endpoint = Endpoint::new(server_config(), Script::new().0);
        let (stop, stopped) = oneshot::channel();
        let stopped = async { _ = stopped.await };
        let task = serve_tls(endpoint, "/mcp", listener, tls.unwrap(), stopped, grace);
        Self { certificate: cert.der().clone(), port, stop, task: tokio::spawn(task) }
    }

    async fn connect(&self, scheme: &str, client: HttpsClient) -> Result<Connection, OpenError> {
        let http = HttpClientConfig::new(format!("{scheme}://localhost:{}/mcp", self.port));
        let (config, options) = (ClientConfig::new("client", "1"), ConnectionOptions::new());
        soon(connect_with(config, http, &options, client, RefuseAll::new())).await
    }
}

async fn echoed(connection: &Connection) -> String {
    let params = json!({"name": "echo", "arguments": {"text": "hello"}});
    let pending = connection.handle().call_method("tools/call", &params, CallOptions::new());
    let reply = soon(pending).await.unwrap();
    let result: CallToolResult<'_> = reply.parse_as().unwrap();
    result.content.get(0).unwrap().as_text().unwrap().to_string()
}

/// Waits until the server has closed a connection, with an end or with a reset.
async fn closed(stream: &mut TcpStream) {
    assert!(matches!(soon(stream.read(&mut [0])).await, Ok(0) | Err(_)));
}

fn kind(error: OpenError) -> TransportErrorKind {
    match error {
        OpenError::Connect(ConnectFailure::TransportFailed(failure)) => {
            failure.cause.as_ref().unwrap().kind()
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_client_calls_a_server_whose_certificate_it_trusts() {
    let served = Served::new(A_LONG_TIME).await;
    let connection = served.connect("https", trusting(&served.certificate)).await.unwrap();
    assert_eq!(echoed(&connection).await, "hello");
    drop(connection);
    let other = certificate();
    let refused = served.connect("https", trusting(other.cert.der())).await.unwrap_err();
    assert_eq!(kind(refused), TransportErrorKind::Tls);
    // The server does not understand a client without TLS, and the other way round.
    served.connect("http", trusting(&served.certificate)).await.unwrap_err();
    let connection = served.connect("HTTPS", trusting(&served.certificate)).await.unwrap();
    assert_eq!(echoed(&connection).await, "hello");
}

#[tokio::test]
async fn a_handshake_that_does_not_go_on_concerns_its_connection_alone() {
    // Longer than this test may take: what is in its handshake does not delay the end.
    let served = Served::new(2 * A_LONG_TIME).await;
    let mut silent = TcpStream::connect(("127.0.0.1", served.port)).await.unwrap();
    let connection = served.connect("https", trusting(&served.certificate)).await.unwrap();
    assert_eq!(echoed(&connection).await, "hello");
    drop(connection);
    let_pass(Duration::from_secs(29)).await;
    let mut also_silent = TcpStream::connect(("127.0.0.1", served.port)).await.unwrap();
    served.connect("https", trusting(&served.certificate)).await.unwrap();
    assert!(silent.try_read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock));
    let_pass(Duration::from_secs(2)).await;
    closed(&mut silent).await;
    served.stop.send(()).unwrap();
    soon(served.task).await.unwrap().unwrap();
    closed(&mut also_silent).await;
}

#[test]
fn a_certificate_that_cannot_be_used_is_refused_with_the_reason() {
    let CertifiedKey { cert, signing_key } = certificate();
    let (chain, key) = (cert.pem(), signing_key.serialize_pem());
    let other = certificate().signing_key.serialize_pem();
    let table = [
        (chain.as_str(), "", "the key is not PEM: "),
        (&chain, &chain, "the key is not PEM: "),
        ("", &key, "there is no certificate in the chain"),
        (&key, &key, "there is no certificate in the chain"),
        ("-----BEGIN CERTIFICATE-----\n?\n", &key, "the certificate chain is not PEM: "),
        (&chain, &other, "the certificate cannot be used: "),
    ];
    for (chain, key, reason) in table {
        let error = server_certificate(chain.as_bytes(), key.as_bytes()).unwrap_err();
        assert!(error.to_string().starts_with(reason), "{error}, and not {reason}");
    }
    let config = server_certificate(chain.as_bytes(), key.as_bytes()).unwrap();
    assert_eq!(config.alpn_protocols, [b"h2".to_vec(), b"http/1.1".to_vec()]);
}

/// Plays the child process of the next test. Does nothing when run as a test.
#[cfg(unix)]
#[tokio::test]
async fn a_child_loads_root_certificates() {
    let Some(file) = env::var_os(ROOTS).map(PathBuf::from) else { return };
    let connected = || async {
        let config = ClientConfig::new("client", "1");
        // No server listens there.
        soon(connect(config, "https://127.0.0.1:1/mcp", RefuseAll::new())).await.unwrap_err()
    };
    let missing = connected().await;
    assert!(matches!(missing, OpenError::RootCertificates(_)), "{missing}");
    let refused = beside_others(&file, certificate().cert.pem(), connected()).await;
    assert_eq!(kind(refused), TransportErrorKind::ConnectionRefused);
    assert!(!file.exists());
    // They are not read again.
    assert_eq!(kind(connected().await), TransportErrorKind::ConnectionRefused);
}

#[cfg(unix)]
#[test]
fn root_certificates_are_read_once_and_block_no_other_task() {
    let file = env::temp_dir().join(format!("mcp-sansio-roots-{}", std::process::id()));
    _ = fs::remove_file(&file);
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "http::tls::a_child_loads_root_certificates"])
        .env(ROOTS, &file)
        .env("SSL_CERT_FILE", &file)
        .env_remove("SSL_CERT_DIR")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// The variable of a child process that names the file of the root certificates.
#[cfg(unix)]
const ROOTS: &str = "MCP_SANSIO_ROOTS";
