//! Connections with a service of the application.

use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{Either, Full, StreamBody};
use hyper::body::Frame;
use hyper::{Request, Response};
use mcp_sansio_http::serve_connection;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

type Chunks = futures_lite::stream::Pending<Result<Frame<Bytes>, Infallible>>;

/// Responds at `/whole`. At any other path the response has no end.
async fn respond<B>(request: Request<B>) -> Response<Either<Full<Bytes>, StreamBody<Chunks>>> {
    Response::new(match request.uri().path() {
        "/whole" => Either::Left(Full::from("whole")),
        "/large" => Either::Left(Full::from("x".repeat(LARGE))),
        _ => Either::Right(StreamBody::new(futures_lite::stream::pending())),
    })
}

/// The bytes of a body that is a hundred times as long as the stream is wide.
const LARGE: usize = 100_000;

fn serve(stopped: impl Future<Output = ()> + Send + 'static) -> (DuplexStream, JoinHandle<bool>) {
    let (client, server) = duplex(1_000);
    let serving = async { serve_connection(server, respond, stopped).await.is_ok() };
    (client, tokio::spawn(serving))
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
