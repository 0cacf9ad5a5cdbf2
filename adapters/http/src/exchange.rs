//! A request that is being answered, and what becomes of it if its client goes.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::Response;
use mcp_sansio::Server;
use mcp_sansio::http::{Content, Gate, Reply, ResponseHead, ResponseId, ResponsePart};
use mcp_sansio_driver::{Drive, Elsewhere, Wire};
use mcp_sansio_tokio::runtime::Sleeps;

use crate::body::ResponseBody;
use crate::budget::Share;
use crate::open_requests::OpenRequest;

/// What keeps the time of a connection.
pub(crate) type Keeper = Drive<Server, Elsewhere, Elsewhere, Sleeps>;

/// A response while it is carried by this side. Dropped before its end, its client has gone.
pub(crate) struct Carried {
    wire: Arc<Wire<Server>>,
    response: ResponseId,
    /// Of a connection that is for this request alone, and ends with it.
    keeper: Option<Pin<Box<Keeper>>>,
    buffer: Vec<u8>,
    is_over: bool,
    /// What the request takes of the endpoint's bytes until it is answered.
    share: Share,
    /// The request counts as open until this is over and its handler has ended.
    _open: Option<Arc<OpenRequest>>,
    /// What to do when it is over, however that comes about.
    afterwards: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Carried {
    pub(crate) fn new(wire: Arc<Wire<Server>>, response: ResponseId, share: Share) -> Self {
        Self {
            wire,
            response,
            keeper: None,
            buffer: Vec::new(),
            is_over: false,
            share,
            _open: None,
            afterwards: None,
        }
    }

    /// The same for a connection that is for this request alone.
    pub(crate) fn alone(wire: Arc<Wire<Server>>, response: ResponseId, share: Share) -> Self {
        let mut carried = Self::new(Arc::clone(&wire), response, share);
        carried.keeper = Some(Box::pin(Drive::timed(&wire, Sleeps::default())));
        carried
    }

    /// The same for a request that counts as open.
    pub(crate) fn holding(mut self, open: Option<Arc<OpenRequest>>) -> Self {
        self._open = open;
        self
    }

    /// The same with something to do when it is over.
    pub(crate) fn then(mut self, afterwards: impl FnOnce() + Send + Sync + 'static) -> Self {
        self.afterwards = Some(Box::new(afterwards));
        self
    }

    pub(crate) fn poll_part(&mut self, context: &mut Context<'_>) -> Poll<ResponsePart> {
        if self.is_over {
            return Poll::Ready(ResponsePart::End);
        }
        if let Some(keeper) = &mut self.keeper
            && keeper.as_mut().poll(context).is_ready()
        {
            // Nothing is due any more; what there is to say can still be said.
            self.keeper = None;
        }
        let part = self.wire.poll_response(self.response, context, &mut self.buffer);
        self.is_over = part == Poll::Ready(ResponsePart::End);
        part
    }

    /// What has been appended to the body.
    pub(crate) fn take(&mut self) -> Bytes {
        let body = std::mem::take(&mut self.buffer);
        if body.is_empty() { Bytes::new() } else { self.share.lend(body) }
    }

    pub(crate) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Waits for the head, and makes a response of it.
    pub(crate) async fn respond(mut self) -> Response<ResponseBody> {
        let ResponsePart::Head(head) = poll_fn(|context| self.poll_part(context)).await else {
            // The connection has ended meanwhile; if it was a session there is none any more.
            let is_session = self.keeper.is_none();
            return reply(if is_session { Gate::no_session() } else { Reply::empty(503) });
        };
        let body = match head.content {
            Content::Events => ResponseBody::events(self),
            _ => {
                while poll_fn(|context| self.poll_part(context)).await == ResponsePart::Body {}
                ResponseBody::whole(self.take())
            }
        };
        with_head(&head, body)
    }
}

impl Drop for Carried {
    fn drop(&mut self) {
        if !self.is_over {
            self.wire.response_dropped(self.response);
        }
        if let Some(afterwards) = self.afterwards.take() {
            afterwards();
        }
    }
}

fn with_head(head: &ResponseHead, body: ResponseBody) -> Response<ResponseBody> {
    let mut builder = Response::builder().status(head.status);
    for (name, value) in head.headers() {
        builder = builder.header(*name, *value);
    }
    if let Some(session) = &head.session {
        builder = builder.header(mcp_sansio::http::name::SESSION_ID, session.to_string());
    }
    // Every name and value is one of ours, or hexadecimal.
    builder.body(body).unwrap_or_else(|_| reply(Reply::empty(500)))
}

/// A response that needs no machine.
pub(crate) fn reply(reply: Reply) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::whole(Bytes::new()));
    if let Ok(status) = hyper::StatusCode::from_u16(reply.status) {
        *response.status_mut() = status;
    }
    for (name, value) in reply.headers() {
        let value = hyper::header::HeaderValue::from_str(value);
        let name = hyper::header::HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, value) {
            response.headers_mut().insert(name, value);
        }
    }
    *response.body_mut() = ResponseBody::whole(reply.body);
    response
}
