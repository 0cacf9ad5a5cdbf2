//! Requests that are passed on in trouble.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame};
use hyper::header::HeaderValue;
use hyper::{Request, Response};
use mcp_sansio_store::{
    ForwardError, Forwarded, MemoryStore, Node, NodeBody, NodeOptions, Peers, Store, StoreFuture,
    Stored, Write, Written,
};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::kit::{self, Cluster, Network, call, endpoint, listen_request, open, request, send};
use crate::sessions;

/// Peers that fail with this error, or else are those of the network. They keep the fields of the latest request.
struct Failing {
    network: Network,
    error: Arc<Mutex<Option<ForwardError>>>,
    fields: Arc<Mutex<BTreeMap<String, String>>>,
}

impl Peers for Failing {
    fn forward<'p>(&'p self, address: &'p str, request: Request<Full<Bytes>>) -> Forwarded<'p> {
        let fields = request.headers().iter();
        let fields =
            fields.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
        *self.fields.lock().unwrap() = fields.collect();
        let error = *self.error.lock().unwrap();
        match error {
            Some(error) => Box::pin(async move { Err(error) }),
            None => self.network.forward(address, request),
        }
    }
}

/// Only a node that has ended is replaced at once. One that cannot be reached is replaced after a time; a lack of this
/// computer says nothing about the other one.
#[tokio::test(start_paused = true)]
async fn errors_between_nodes() {
    for (error, status, replaced_after) in [
        (ForwardError::Refused, 200, Some(0)),
        (ForwardError::NotReached, 503, Some(5)),
        (ForwardError::NotSent, 503, None),
        (ForwardError::Broken, 503, None),
        (ForwardError::Invalid, 400, None),
    ] {
        let cluster = Cluster::new();
        let a = cluster.start("a").await;
        let failing = Arc::new(Mutex::new(Some(error)));
        let (network, fields) = (cluster.network.clone(), Arc::default());
        let peers = Arc::new(Failing { network, error: Arc::clone(&failing), fields });
        let store = Arc::new(cluster.store.clone());
        let options = NodeOptions::new();
        let b = Node::join_with(endpoint(9), store, "b", peers, options).await.unwrap();
        let session = open(&a, &a).await;
        let body = call(1, "echo", &json!({}));
        assert_eq!(send(&b, &session, &body).await.0, status, "{error}");
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(60) && b.endpoint().sessions() == 0 {
            tokio::time::sleep(Duration::from_millis(500)).await;
            send(&b, &session, &body).await;
        }
        let replaced = (b.endpoint().sessions() == 1).then(|| began.elapsed().as_secs());
        assert_eq!(replaced, replaced_after, "{error}");
        // One failure now and then is none of a minute.
        *failing.lock().unwrap() = None;
        assert_eq!(send(&b, &session, &body).await.0, 200, "{error}");
    }
}

/// The fields of a client cannot remove those of the nodes, or claim another address.
#[tokio::test(start_paused = true)]
async fn the_fields_of_a_request_that_is_passed_on() {
    let cluster = Cluster::new();
    let a = cluster.start("a").await;
    let fields = Arc::new(Mutex::default());
    let network = cluster.network.clone();
    let peers = Arc::new(Failing { network, error: Arc::default(), fields: Arc::clone(&fields) });
    let store = Arc::new(cluster.store.clone());
    let b = Node::join_with(endpoint(9), store, "b", peers, NodeOptions::new()).await.unwrap();
    let session = open(&a, &a).await;
    let with = |more: &[(&'static str, &str)]| {
        let mut request = request(Some(&session), &call(1, "echo", &json!({})));
        for (name, value) in more {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        request
    };
    let hostile = with(&[
        ("connection", "host, mcp-node, x-own, close"),
        ("mcp-node", "0"),
        ("mcp-node-client", "192.0.2.1:80"),
        ("x-own", "1"),
        ("x-other", "2"),
    ]);
    assert_eq!(b.handle(hostile).await.status(), 200);
    let sent = std::mem::take(&mut *fields.lock().unwrap());
    let names: Vec<_> = sent.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "accept",
            "content-type",
            "host",
            "mcp-node",
            "mcp-protocol-version",
            "mcp-session-id",
            "x-other"
        ]
    );
    assert_eq!((&*sent["host"], sent["mcp-node"].len()), ("localhost", 32));
    // The address of the client, for limits and logs.
    let mut request = with(&[]);
    let peer = mcp_sansio_http::PeerAddress::new("192.0.2.7:99".parse().unwrap());
    request.extensions_mut().insert(peer);
    let response = b.handle(request).await;
    assert!(!response.headers().contains_key("mcp-node"));
    assert_eq!(fields.lock().unwrap()["mcp-node-client"], "192.0.2.7:99");
    // Without `Host`, by the mistake of the client: its session stays where it is.
    let mut request = with(&[]);
    request.headers_mut().remove("host");
    assert_eq!(b.handle(request).await.status(), 400);
    assert_eq!(sessions(&[&a, &b]), [1, 0]);
    // The node that serves the session checks one host.
    let mut request = with(&[]);
    request.headers_mut().append("host", "other".parse().unwrap());
    assert_eq!(b.handle(request).await.status(), 400);
    let mut request = with(&[]);
    *request.uri_mut() = "http://other/mcp".parse().unwrap();
    assert_eq!(b.handle(request).await.status(), 400);
    // With HTTP/2 the target has it.
    let mut request = with(&[]);
    request.headers_mut().remove("host");
    *request.uri_mut() = "http://localhost/mcp".parse().unwrap();
    assert_eq!(b.handle(request).await.status(), 200);
}

/// HTTP/2 leaves the spaces around a value. The session is the same, so its changes are stored.
#[tokio::test(start_paused = true)]
async fn spaces_around_the_id_of_a_session() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.start("a").await, cluster.start("b").await);
    let session = open(&a, &a).await;
    let mut request = kit::end_request(&session);
    let spaced = format!("\t{session} ");
    request.headers_mut().insert("mcp-session-id", spaced.parse().unwrap());
    assert_eq!(a.handle(request).await.status(), 200);
    assert_eq!(a.known_sessions(), 0);
    cluster.kill("a");
    assert_eq!(send(&b, &session, &call(1, "echo", &json!({}))).await.0, 404);
}

/// A client cannot claim to be a node, and another process at the address of a node is not that node.
#[tokio::test(start_paused = true)]
async fn nodes_know_each_other() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.start("a").await, cluster.start("b").await);
    let session = open(&a, &a).await;
    let passed_on = |node: HeaderValue, version: HeaderValue| {
        let mut request = request(Some(&session), &call(1, "echo", &json!({})));
        request.headers_mut().insert("mcp-node", node);
        request.headers_mut().insert("mcp-protocol-version", version);
        request
    };
    let (no_principal, legacy) = (HeaderValue::from(0), HeaderValue::from_static("2025-11-25"));
    for node in [&b, &a] {
        let refused = node.handle_forwarded(passed_on(no_principal.clone(), legacy.clone())).await;
        assert_eq!(refused.status(), 421);
        // A modern request belongs to no session, so no node passes it on.
        let id = &refused.headers()["mcp-node"];
        let modern = passed_on(id.clone(), HeaderValue::from_static("2026-07-28"));
        assert_eq!(node.handle_forwarded(modern).await.status(), 421);
    }
    // Another node has the address now; or something has responded that is no node, which says nothing about the node.
    struct Other(Option<&'static str>);

    impl Peers for Other {
        fn forward<'p>(&'p self, _: &'p str, _: Request<Full<Bytes>>) -> Forwarded<'p> {
            Box::pin(async {
                let body = Full::new(Bytes::new()).map_err(|never: Infallible| match never {});
                let mut response =
                    Response::builder().status(404).body(NodeBody::new(body)).unwrap();
                if let Some(node) = self.0 {
                    response.headers_mut().insert("mcp-node", node.parse().unwrap());
                }
                Ok(response)
            })
        }
    }
    for (other, status, here) in [(None, 503, 0), (Some("1"), 200, 1)] {
        let (store, peers) = (Arc::new(cluster.store.clone()), Arc::new(Other(other)));
        let c = Node::join_with(endpoint(9), store, "c", peers, NodeOptions::new()).await.unwrap();
        assert_eq!(send(&c, &session, &call(1, "echo", &json!({}))).await.0, status);
        assert_eq!(sessions(&[&a, &b, &c]), [1, 0, here]);
    }
}

/// A request and a stream that were passed on end when their node gives no sign of life, although nothing breaks.
#[tokio::test(start_paused = true)]
async fn a_machine_without_power() {
    let cluster = Cluster::new();
    let b = cluster.start("b").await;
    // The store of this node ends with its power.
    struct Powered(MemoryStore, Arc<Mutex<bool>>);

    impl Store for Powered {
        fn read<'s>(&'s self, key: &'s str) -> StoreFuture<'s, Option<Stored>> {
            self.0.read(key)
        }

        fn write<'s>(&'s self, writes: &'s [Write]) -> StoreFuture<'s, Vec<Written>> {
            if *self.1.lock().unwrap() { self.0.write(writes) } else { Box::pin(pending()) }
        }
    }
    let power = Arc::new(Mutex::new(true));
    let powered = Powered(cluster.store.clone(), Arc::clone(&power));
    let a = cluster.start_on(Arc::new(powered), "a").await;
    let session = open(&a, &b).await;
    let mut stream = b.handle(listen_request(&session, None)).await;
    let call = tokio::spawn({
        let (b, session) = (b.clone(), session.clone());
        let body = call(1, "later", &json!({"time": 3_600_000}));
        async move { send(&b, &session, &body).await.0 }
    });
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(!call.is_finished());
    *power.lock().unwrap() = false;
    let began = Instant::now();
    while timeout(Duration::from_secs(600), stream.body_mut().frame())
        .await
        .unwrap()
        .is_some_and(|frame| frame.is_ok())
    {}
    assert!(began.elapsed() < Duration::from_secs(16), "{:?}", began.elapsed());
    assert_eq!(call.await.unwrap(), 503);
    assert_eq!(send(&b, &session, &kit::call(2, "echo", &json!({}))).await.0, 200);
    assert_eq!(b.endpoint().sessions(), 1);
}

/// The bodies of all requests that are passed on are limited together, until their requests are answered.
#[tokio::test(start_paused = true)]
async fn the_bodies_that_are_passed_on_are_limited() {
    let mut cluster = Cluster::new();
    cluster.options.forwarded_bytes = 1_000;
    let (a, b) = (cluster.start("a").await, cluster.start("b").await);
    let session = open(&a, &a).await;
    let first = tokio::spawn({
        let (b, session) = (b.clone(), session.clone());
        let body = call(1, "later", &json!({"time": 5_000, "text": "x".repeat(500)}));
        async move { send(&b, &session, &body).await.0 }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let second = call(2, "echo", &json!({"text": "x".repeat(500)}));
    assert_eq!(send(&b, &session, &second).await.0, 503);
    assert_eq!(send(&b, &session, &call(3, "echo", &json!({}))).await.0, 200);
    assert_eq!(first.await.unwrap(), 200);
    assert_eq!(send(&b, &session, &second).await.0, 200);
}

/// Two attempts to connect fail, and nothing was tried between them: that is no long silence.
#[tokio::test(start_paused = true)]
async fn two_failures_with_time_between() {
    let cluster = Cluster::new();
    let a = cluster.start("a").await;
    let error = Arc::new(Mutex::new(Some(ForwardError::NotReached)));
    let (network, fields) = (cluster.network.clone(), Arc::default());
    let peers = Arc::new(Failing { network, error: Arc::clone(&error), fields });
    let store = Arc::new(cluster.store.clone());
    let b = Node::join_with(endpoint(9), store, "b", peers, NodeOptions::new()).await.unwrap();
    let session = open(&a, &a).await;
    for _ in 0..5 {
        assert_eq!(send(&b, &session, &call(1, "echo", &json!({}))).await.0, 503);
        tokio::time::sleep(Duration::from_secs(8)).await;
    }
    assert_eq!(sessions(&[&a, &b]), [1, 0]);
}

/// A body of a request that is passed on.
struct Broken(bool);

impl Body for Broken {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if std::mem::take(&mut self.0) {
            return Poll::Ready(Some(Err(std::io::ErrorKind::ConnectionReset.into())));
        }
        Poll::Pending
    }
}

#[tokio::test(start_paused = true)]
async fn bodies_that_cannot_be_passed_on() {
    let mut cluster = Cluster::new();
    cluster.options.body_bytes = 1_000;
    let (a, b) = (cluster.start("a").await, cluster.start("b").await);
    let session = open(&a, &a).await;
    let long = call(1, "echo", &json!({"text": "x".repeat(1_000)}));
    assert_eq!(send(&b, &session, &long).await.0, 413);
    assert_eq!(send(&a, &session, &long).await.0, 200);
    let head = request(Some(&session), &Value::Null).into_parts().0;
    let broken = |now| Request::from_parts(head.clone(), Broken(now));
    assert_eq!(b.handle(broken(true)).await.status(), 400);
    let began = Instant::now();
    assert_eq!(b.handle(broken(false)).await.status(), 408);
    assert_eq!(began.elapsed(), Duration::from_secs(30));
    assert_eq!(b.known_sessions(), 0);
}
