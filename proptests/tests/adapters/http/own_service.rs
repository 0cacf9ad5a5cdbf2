//! Connections with a service of the application.

use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

use bytes::Bytes;
use futures_lite::StreamExt;
use http_body_util::{Either, Empty, Full, StreamBody};
use hyper::body::Frame;
use hyper::client::conn::http2;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use mcp_sansio_http::serve_connection;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, duplex, join};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::suite::pipes::{Tokio, pipes};

type Chunk = Result<Frame<Bytes>, Infallible>;
type Chunks = futures_lite::stream::Chain<
    futures_lite::stream::Iter<std::option::IntoIter<Chunk>>,
    futures_lite::stream::Pending<Chunk>,
>;

/// Responds at `/whole` and `/large`. At any other path the response has no end; at `/events` it begins with a chunk.
async fn respond<B>(request: Request<B>) -> Response<Either<Full<Bytes>, StreamBody<Chunks>>> {
    let first = match request.uri().path() {
        "/whole" => return Response::new(Either::Left(Full::from("whole"))),
        "/large" => return Response::new(Either::Left(Full::from("x".repeat(LARGE)))),
        "/events" => Some(Ok(Frame::data(Bytes::from("x".repeat(LARGE))))),
        _ => None,
    };
    let chunks = futures_lite::stream::iter(first).chain(futures_lite::stream::pending());
    Response::new(Either::Right(StreamBody::new(chunks)))
}

/// The bytes of a body that is a hundred times as long as the stream is wide.
const LARGE: usize = 100_000;

fn serve(stopped: impl Future<Output = ()> + Send + 'static) -> (DuplexStream, JoinHandle<bool>) {
    let (client, server) = duplex(1_000);
    (client, serve_on(server, stopped))
}

fn serve_on(
    server: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    stopped: impl Future<Output = ()> + Send + 'static,
) -> JoinHandle<bool> {
    tokio::spawn(async { serve_connection(server, respond, stopped).await.is_ok() })
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

/// A client that sends nothing, or a part of a head, does not hold a connection for ever.
#[tokio::test(start_paused = true)]
async fn a_silent_connection_ends() {
    for begin in ["", "PRI", "GET /whole HTTP/1.1\r\nHost: localhost\r\n"] {
        let (mut client, serving) = serve(pending());
        let began = Instant::now();
        client.write_all(begin.as_bytes()).await.unwrap();
        timeout(Duration::from_secs(600), serving).await.unwrap().unwrap();
        let took = began.elapsed().as_secs();
        assert!((30..=61).contains(&took), "{begin:?}: {took} s");
    }
}

/// A response without end is not idle. The connection ends some time after its last response.
#[tokio::test(start_paused = true)]
async fn a_connection_in_use_goes_on() {
    let (mut client, serving) = serve(pending());
    client.write_all(get("/whole").as_bytes()).await.unwrap();
    let mut text = [0; 15];
    client.read_exact(&mut text).await.unwrap();
    assert_eq!(&text, b"HTTP/1.1 200 OK");
    client.write_all(get("/endless").as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(!serving.is_finished());
    drop(client);
    serving.await.unwrap();
}

/// After a stop, a request in progress is finished, and no other one is served.
#[tokio::test(start_paused = true)]
async fn a_connection_is_stopped() {
    for path in [None, Some("/whole"), Some("/endless")] {
        let (stop, stopped) = oneshot::channel::<()>();
        let (mut client, serving) = serve(async { _ = stopped.await });
        if let Some(path) = path {
            client.write_all(get(path).as_bytes()).await.unwrap();
            let mut text = [0; 15];
            client.read_exact(&mut text).await.unwrap();
        }
        drop(stop);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(serving.is_finished(), path != Some("/endless"), "{path:?}");
    }
}

/// hyper is done with a body when it has its bytes. The client may take much longer to read them.
#[tokio::test(start_paused = true)]
async fn a_large_body_is_written_for_as_long_as_its_client_reads() {
    let (mut client, serving) = serve(pending());
    client.write_all(get("/large").as_bytes()).await.unwrap();
    let (began, mut read, mut chunk) = (Instant::now(), 0, [0; 500]);
    while read < LARGE {
        tokio::time::sleep(Duration::from_secs(20)).await;
        match client.read(&mut chunk).await.unwrap() {
            0 => panic!("the connection ended after {read} bytes, {:?}", began.elapsed()),
            bytes => read += bytes,
        }
    }
    // A client that reads nothing more does not hold the connection.
    client.write_all(get("/large").as_bytes()).await.unwrap();
    timeout(Duration::from_secs(200), serving).await.unwrap().unwrap();
}

/// An event stream goes on for as long as its client reads, and ends some time after that.
#[tokio::test(start_paused = true)]
async fn an_unread_event_stream_ends() {
    let (client, serving) = serve(pending());
    ends_if_unread(client, serving).await;
    // These take one buffer at a time. hyper then copies the chunks of a body.
    let (ours, theirs) = pipes(1_000);
    let [client, server] = [ours, theirs].map(|end| join(Tokio(end.reader), Tokio(end.writer)));
    ends_if_unread(client, serve_on(server, pending())).await;
}

async fn ends_if_unread(
    mut client: impl AsyncRead + AsyncWrite + Unpin,
    serving: JoinHandle<bool>,
) {
    client.write_all(get("/events").as_bytes()).await.unwrap();
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_secs(200)).await;
        assert_ne!(client.read(&mut [0; 500]).await.unwrap(), 0);
    }
    assert_ends(serving).await;
}

/// The client of HTTP/2 reads its connection, but not the event stream, whose window is full.
#[tokio::test(start_paused = true)]
async fn an_unread_event_stream_of_http2_ends() {
    let (client, serving) = serve(pending());
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(1_000);
    let (mut client, connection) = builder.handshake(TokioIo::new(client)).await.unwrap();
    let connection = tokio::spawn(connection);
    let request = Request::get("http://localhost/events").body(Empty::<Bytes>::new()).unwrap();
    let response = client.send_request(request).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_ends(serving).await;
    drop((response, connection));
}

/// Expects that a connection ends five minutes after the last byte that was read.
async fn assert_ends(serving: JoinHandle<bool>) {
    let began = Instant::now();
    timeout(Duration::from_secs(600), serving).await.unwrap().unwrap();
    let took = began.elapsed().as_secs();
    assert!((290..=331).contains(&took), "{took} s");
}
