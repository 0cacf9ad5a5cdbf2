//! `Carried`: a response in progress, and the cleanup after it ends or its client disconnects.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use mcp_sansio::Server;
use mcp_sansio::http::name::SESSION_ID;
use mcp_sansio::http::{Content, Reply, RequestValidator, ResponseHead, ResponseId, ResponsePart};
use mcp_sansio_driver::{AcceptedPost, Drive, Exchange, ExternalStream, Run, Wire};
use mcp_sansio_tokio::runtime::Sleeps;

use crate::body::ResponseBody;
use crate::budget::Share;
use crate::endpoint::{Inner, lock};
use crate::open_requests::OpenRequest;

/// The future that handles the timeouts of a connection.
pub(crate) type Keeper = Drive<Server, ExternalStream, ExternalStream, Sleeps>;

/// A response that this side is sending. Dropping it before its end reports that the client has disconnected.
pub(crate) struct Carried {
    wire: Arc<Wire<Server>>,
    response: ResponseId,
    /// The request, until its handler begins in this task.
    request: Option<Exchange>,
    time: Time,
    buffer: Vec<u8>,
    is_over: bool,
    /// The request's share of the endpoint's byte budget, until its response ends.
    share: Share,
    /// The permit of the request, which counts as open until this response has ended and its handler has ended.
    open: Option<Arc<OpenRequest>>,
    /// The cleanup after the response, however it ends.
    afterwards: Afterwards,
}

/// The owner of the connection's timeouts.
enum Time {
    /// The endpoint: the connection is a session.
    OfSession,
    /// No owner yet. The connection serves only this request and ends with it.
    NotKept,
    /// This response, since it first had to wait.
    Kept(Pin<Box<Keeper>>),
}

/// The cleanup after a response.
enum Afterwards {
    Nothing,
    /// Remove its connection from the list of connections without a session.
    Remove(Weak<Inner>, usize),
    Run(Box<dyn FnOnce() + Send + Sync>),
}

impl Carried {
    pub(crate) fn new(wire: Arc<Wire<Server>>, response: ResponseId, share: Share) -> Self {
        Self {
            wire,
            response,
            request: None,
            time: Time::OfSession,
            buffer: Vec::new(),
            is_over: false,
            share,
            open: None,
            afterwards: Afterwards::Nothing,
        }
    }

    /// Creates the response to a POST.
    pub(crate) fn of_post(wire: Arc<Wire<Server>>, accepted: AcceptedPost, share: Share) -> Self {
        let mut carried = Self::new(wire, accepted.response, share);
        carried.request = accepted.request;
        carried
    }

    /// Creates the response of a connection that serves only this request.
    pub(crate) fn of_one_request(
        wire: Arc<Wire<Server>>,
        accepted: AcceptedPost,
        share: Share,
    ) -> Self {
        let mut carried = Self::of_post(wire, accepted, share);
        carried.time = Time::NotKept;
        carried
    }

    /// Holds the permit of an open request.
    pub(crate) fn holding(mut self, open: Option<Arc<OpenRequest>>) -> Self {
        self.open = open;
        self
    }

    /// Notes the index of the connection in the list of connections without a session.
    pub(crate) fn listed(mut self, inner: Weak<Inner>, place: usize) -> Self {
        self.afterwards = Afterwards::Remove(inner, place);
        self
    }

    /// Sets a function to run after the response.
    pub(crate) fn then(mut self, afterwards: impl FnOnce() + Send + Sync + 'static) -> Self {
        self.afterwards = Afterwards::Run(Box::new(afterwards));
        self
    }

    /// Handles timeouts while there is nothing to send. The context is woken for timeouts, too.
    fn keep_time(&mut self, context: &mut Context<'_>) {
        if matches!(self.time, Time::NotKept) {
            self.time = Time::Kept(Box::pin(Drive::timed(&self.wire, Sleeps::default())));
        }
        if let Time::Kept(keeper) = &mut self.time {
            // After the connection has ended no timeout is due, but the remaining output can still be sent.
            _ = keeper.as_mut().poll(context);
        }
    }

    fn poll_head(&mut self, context: &mut Context<'_>) -> Poll<Option<ResponseHead>> {
        let head = self.wire.poll_head(self.response, context, &mut self.buffer);
        match &head {
            Poll::Pending => self.keep_time(context),
            Poll::Ready(Some(head)) => self.is_over = head.content != Content::Events,
            Poll::Ready(None) => self.is_over = true,
        }
        head
    }

    pub(crate) fn poll_part(&mut self, context: &mut Context<'_>) -> Poll<ResponsePart> {
        if self.is_over {
            return Poll::Ready(ResponsePart::End);
        }
        let part = self.wire.poll_response(self.response, context, &mut self.buffer);
        if part.is_pending() {
            self.keep_time(context);
        }
        self.is_over = part == Poll::Ready(ResponsePart::End);
        part
    }

    /// Takes the bytes that were appended to the body.
    pub(crate) fn take(&mut self) -> Bytes {
        let body = std::mem::take(&mut self.buffer);
        if body.is_empty() { Bytes::new() } else { self.share.lend(body) }
    }

    pub(crate) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Runs the handler, if that is left to this task, waits for the head, and builds the HTTP response.
    pub(crate) async fn respond(mut self, runner: &dyn Run<Server>) -> Response<ResponseBody> {
        if let Some(request) = self.request.take() {
            serve(runner, request).await;
        } else if self.open.is_some() {
            // Most handlers respond at once: they run meanwhile, so the response needs no further wait.
            ready_tasks().await;
        }
        let Some(head) = poll_fn(|context| self.poll_head(context)).await else {
            // The connection has ended meanwhile. For a session the response is that it does not exist, unless it
            // continues elsewhere.
            return reply(match self.time {
                Time::OfSession if self.wire.is_suspended() => RequestValidator::closing(),
                Time::OfSession => RequestValidator::no_session(),
                Time::NotKept | Time::Kept(_) => Reply::empty(503),
            });
        };
        let body = match head.content {
            Content::Events => ResponseBody::events(self),
            _ => ResponseBody::whole(self.take()),
        };
        with_head(&head, body)
    }
}

/// Runs the handler of a request until it waits, or leaves that to another task.
async fn serve(runner: &dyn Run<Server>, request: Exchange) {
    let mut request = Some(request);
    poll_fn(|context| {
        request.take().into_iter().for_each(|request| runner.serve(request, context));
        Poll::Ready(())
    })
    .await;
}

/// Lets the tasks run that are ready. `tokio::task::yield_now` also looks for input and output first, which takes a
/// system call.
async fn ready_tasks() {
    let mut has_waited = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

impl Drop for Carried {
    fn drop(&mut self) {
        if !self.is_over {
            self.wire.response_dropped(self.response);
        }
        let has_no_timeout_owner = matches!(self.time, Time::NotKept);
        let mut is_spare = false;
        match std::mem::replace(&mut self.afterwards, Afterwards::Nothing) {
            Afterwards::Nothing => {}
            Afterwards::Remove(inner, place) => {
                if let Some(inner) = inner.upgrade() {
                    let mut wires = lock(&inner.one_request);
                    wires.remove(place);
                    is_spare = self.is_over && has_no_timeout_owner && wires.keep(&mut self.wire);
                }
            }
            Afterwards::Run(afterwards) => afterwards(),
        }
        // A `Keeper` abandons its connection when it is dropped.
        if has_no_timeout_owner && !is_spare {
            self.wire.abandon();
        }
    }
}

fn with_head(head: &ResponseHead, body: ResponseBody) -> Response<ResponseBody> {
    let mut response = Response::new(body);
    let Ok(status) = StatusCode::from_u16(head.status) else { return reply(Reply::empty(500)) };
    *response.status_mut() = status;
    for (name, value) in head.headers() {
        let name = match *name {
            "Content-Type" => CONTENT_TYPE,
            other => match HeaderName::from_bytes(other.as_bytes()) {
                Ok(name) => name,
                Err(_) => continue,
            },
        };
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    if let Some(session) = &head.session
        && let Ok(name) = HeaderName::from_bytes(SESSION_ID.as_bytes())
        && let Ok(session) = HeaderValue::try_from(session.to_string())
    {
        response.headers_mut().insert(name, session);
    }
    response
}

/// Builds the response to a request that has no response, because it was cancelled: an event stream without events.
pub(crate) fn no_events() -> Response<ResponseBody> {
    let mut response = reply(Reply::empty(200));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response
}

/// Builds a response that involves no connection.
pub(crate) fn reply(reply: Reply) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::whole(Bytes::new()));
    if let Ok(status) = StatusCode::from_u16(reply.status) {
        *response.status_mut() = status;
    }
    for (name, value) in reply.headers() {
        let value = HeaderValue::from_str(value);
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, value) {
            response.headers_mut().insert(name, value);
        }
    }
    *response.body_mut() = ResponseBody::whole(reply.body);
    response
}
