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
        _ => Either::Right(StreamBody::new(futures_lite::stream::pending())),
    })
}

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
