//! Requests of sessions that another node serves.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Body;
use hyper::header::{
    CONNECTION, HOST, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use mcp_sansio_http::PeerAddress;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::body::{BodyError, ForwardedBody, NodeBody};
use crate::local_sessions::LocalSession;
use crate::node::{Inner, Origin, empty, requested_session};
use crate::peers::ForwardError;
use crate::placing::{Look, Place};
use crate::tasks::TASK;

/// The id of a node: of a request the one that it is for, of a response the one that it is from.
pub(crate) const NODE: HeaderName = HeaderName::from_static("mcp-node");

/// The address of the client of a request that is passed on.
const CLIENT: HeaderName = HeaderName::from_static("mcp-node-client");

/// The longest pause in a body.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The longest time for a body that can be counted with.
const LONGEST_BODY: Duration = Duration::from_secs(24 * 3600);

/// How often a request is passed on, if its session moves meanwhile.
const ATTEMPTS: usize = 4;

/// A request that was passed on.
enum Passed {
    Answered(Response<NodeBody>),
    /// The node does not serve the session any more. It has ended if it is named.
    Moved(Option<String>),
}

impl Inner {
    /// Handles a request of a session that another node serves.
    pub(crate) async fn serve_elsewhere<B>(
        self: &Arc<Self>,
        session: LocalSession,
        (mut node, mut address): (String, String),
        request: Request<B>,
    ) -> Response<NodeBody>
    where
        B: Body<Data: Buf, Error: Into<BodyError>>,
    {
        // The request may be sent to several nodes, one after the other.
        let (head, body) = request.into_parts();
        // The share counts the body until the request is answered.
        let (body, _share) = match self.read_body(body).await {
            Ok(read) => read,
            Err(StatusCode::SERVICE_UNAVAILABLE) => {
                return self.unavailable(&"too many bytes of requests are being passed on");
            }
            Err(status) => return empty(status),
        };
        for _ in 0..ATTEMPTS {
            let gone = match self.pass_on(&node, &address, &head, body.clone()).await {
                Ok(Passed::Answered(response)) => return response,
                Ok(Passed::Moved(gone)) => gone,
                Err(ForwardError::Invalid) => return empty(StatusCode::BAD_REQUEST),
                Err(error) => return self.unavailable(&error),
            };
            let request = || Request::from_parts(head.clone(), Full::new(body.clone()));
            match self.place(&session, Look::Always, gone).await {
                Ok(Place::There(at, reached_at)) => (node, address) = (at, reached_at),
                Ok(Place::Here(ownership)) => {
                    return self.serve_here(session, ownership, request()).await;
                }
                Ok(Place::Nowhere) => {
                    return self.endpoint.handle(request()).await.map(NodeBody::whole);
                }
                Err(error) => return self.unavailable(&error),
            }
        }
        self.unavailable(&"the session moves too often")
    }

    /// Reads a body, within the limits of the options.
    pub(crate) async fn read_body<B>(
        &self,
        body: B,
    ) -> Result<(Bytes, OwnedSemaphorePermit), StatusCode>
    where
        B: Body<Data: Buf, Error: Into<BodyError>>,
    {
        let mut body = pin!(Limited::new(body, self.options.body_bytes));
        let end = Instant::now() + self.options.body_within.min(LONGEST_BODY);
        let take = |bytes: usize| {
            let bytes = u32::try_from(bytes).map_err(|_| StatusCode::PAYLOAD_TOO_LARGE)?;
            let taken = Arc::clone(&self.forwarded_bytes).try_acquire_many_owned(bytes);
            taken.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)
        };
        let (mut read, mut share) = (BytesMut::new(), take(0)?);
        loop {
            let until = end.min(Instant::now() + LONGEST_PAUSE);
            match tokio::time::timeout_at(until, body.frame()).await {
                Ok(None) => return Ok((read.freeze(), share)),
                Ok(Some(Ok(frame))) => {
                    let Ok(data) = frame.into_data() else { continue };
                    share.merge(take(data.remaining())?);
                    read.put(data);
                }
                Ok(Some(Err(error))) if error.is::<LengthLimitError>() => {
                    return Err(StatusCode::PAYLOAD_TOO_LARGE);
                }
                Ok(Some(Err(_))) => return Err(StatusCode::BAD_REQUEST),
                Err(_) => return Err(StatusCode::REQUEST_TIMEOUT),
            }
        }
    }

    /// Passes a request on to a node. A node that gives no sign of life any more ends the request, and its response.
    async fn pass_on(
        self: &Arc<Self>,
        node: &str,
        address: &str,
        head: &Parts,
        body: Bytes,
    ) -> Result<Passed, ForwardError> {
        let request = addressed(node, head, body)?;
        let sent = tokio::select! {
            biased;
            sent = self.peers.forward(address, request) => sent,
            () = self.wait_until_gone(node) => Err(ForwardError::Broken),
        };
        let mut response = match sent {
            Ok(response) => response,
            Err(ForwardError::Refused) => return Ok(Passed::Moved(Some(node.to_owned()))),
            Err(ForwardError::NotReached) if self.note_reached(node, false) => {
                return Ok(Passed::Moved(Some(node.to_owned())));
            }
            Err(error) => return Err(error),
        };
        self.note_reached(node, true);
        match response.headers_mut().remove(NODE) {
            Some(from) if from == *node => {}
            // Another process has the address now.
            Some(_) => return Ok(Passed::Moved(Some(node.to_owned()))),
            // No node has responded, but something before it, or another server at its address.
            None => return Err(ForwardError::Broken),
        }
        if response.status() == StatusCode::MISDIRECTED_REQUEST {
            return Ok(Passed::Moved(None));
        }
        remove_hop_by_hop(response.headers_mut());
        let (inner, node) = (Arc::clone(self), node.to_owned());
        let is_event_stream = head.method == Method::GET;
        let end = async move {
            tokio::select! {
                biased;
                () = inner.wait_until_gone(&node) => Err("its node gives no sign of life".into()),
                // The client opens the stream again, at another node.
                () = inner.wait_until_left(), if is_event_stream => Ok(()),
            }
        };
        Ok(Passed::Answered(response.map(|body| NodeBody::new(ForwardedBody::new(body, end)))))
    }

    /// Handles a request that another node has passed on.
    pub(crate) async fn forwarded<B>(self: &Arc<Self>, request: Request<B>) -> Response<NodeBody>
    where
        B: Body<Data: Buf, Error: Into<BodyError>>,
    {
        let (mut head, body) = request.into_parts();
        let is_for_this = head.headers.remove(NODE).is_some_and(|node| node == *self.id);
        if let Some(client) = head.headers.remove(CLIENT)
            && let Some(client) = client.to_str().ok().and_then(|client| client.parse().ok())
        {
            head.extensions.insert(PeerAddress::new(client));
        }
        let mut response = match requested_session(&head.headers) {
            _ if is_for_this && head.headers.contains_key(TASK) => self.take_copy(body).await,
            Some(id) if is_for_this => {
                self.in_session(id, Request::from_parts(head, body), Origin::Node).await
            }
            _ => {
                // If the body were not read, the connection could break before the response arrives.
                _ = self.read_body(body).await;
                empty(StatusCode::MISDIRECTED_REQUEST)
            }
        };
        // The id has only digits.
        if let Ok(id) = HeaderValue::from_str(&self.id) {
            response.headers_mut().insert(NODE, id);
        }
        response
    }
}

/// Returns a request for a node. It has the `Host` that the client has sent.
fn addressed(node: &str, head: &Parts, body: Bytes) -> Result<Request<Full<Bytes>>, ForwardError> {
    let mut head = head.clone();
    // HTTP/2 has the host in the target. The node that serves the session sees one of the two, so they must agree.
    let target = head.uri.authority().map(|authority| authority.as_str());
    let mut hosts = head.headers.get_all(HOST).iter();
    let host = match (hosts.next(), hosts.next(), target) {
        (Some(host), None, None) => host.clone(),
        (Some(host), None, Some(target))
            if host.as_bytes().eq_ignore_ascii_case(target.as_bytes()) =>
        {
            host.clone()
        }
        (None, _, Some(target)) => {
            HeaderValue::from_str(target).map_err(|_| ForwardError::Invalid)?
        }
        _ => return Err(ForwardError::Invalid),
    };
    // First, so that a client cannot remove what follows.
    remove_hop_by_hop(&mut head.headers);
    head.headers.insert(HOST, host);
    head.headers.insert(NODE, HeaderValue::from_str(node).map_err(|_| ForwardError::Invalid)?);
    head.headers.remove(CLIENT);
    // Only a node says that.
    head.headers.remove(TASK);
    let client: Option<SocketAddr> =
        head.extensions.get::<PeerAddress>().map(|client| client.get());
    if let Some(Ok(client)) = client.map(|client| HeaderValue::from_str(&client.to_string())) {
        head.headers.insert(CLIENT, client);
    }
    Ok(Request::from_parts(head, Full::new(body)))
}

/// Removes the fields that concern one connection only (RFC 9110, section 7.6.1).
fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let keep_alive = HeaderName::from_static("keep-alive");
    let always = [
        CONNECTION,
        keep_alive,
        PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION,
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        UPGRADE,
    ];
    for name in named.iter().chain(&always) {
        headers.remove(name);
    }
}
