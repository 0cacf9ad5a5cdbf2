//! Clients of 2024-11-05: one event stream for all messages of the server, and one path for POST requests
//! ([HTTP with SSE](https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse)).

use std::error::Error;
use std::pin::pin;
use std::sync::Arc;

use bytes::Buf;
use hyper::body::Body;
use hyper::http::request::Parts;
use hyper::{Request, Response};
use mcp_sansio::Phase;
use mcp_sansio::http::{Destination, Reply, RequestSource, RequestValidator, SessionId};
use mcp_sansio::json::ScannedFrame;
use mcp_sansio_driver::random_bytes;

use crate::before_message::wait_before;
use crate::body::ResponseBody;
use crate::endpoint::{Endpoint, Inner, lock};
use crate::exchange::{Carried, reply};
use crate::http_request::HttpRequest;
use crate::identify::Sender;
use crate::protect::{identify, permit};
use crate::request_head::{fields, head};
use crate::unread::refused;

/// The paths for clients that support only 2024-11-05.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct OneStreamPaths {
    /// The path of the event stream, by convention `/sse`.
    pub events: String,
    /// The path for messages, by convention `/messages`. The client receives it together with its session id.
    pub messages: String,
}

impl Default for OneStreamPaths {
    fn default() -> Self {
        Self { events: "/sse".into(), messages: "/messages".into() }
    }
}

/// # Clients of 2024-11-05
impl Endpoint {
    /// Returns the paths for these clients, if configured.
    pub fn one_stream_paths(&self) -> Option<&OneStreamPaths> {
        self.inner.options.one_stream.as_ref()
    }

    /// Handles a request for the event stream. The stream is a session, which ends with it. Access tokens are
    /// checked as in [`handle_as`](Self::handle_as).
    pub fn handle_event_stream<S: Into<RequestSource>, B>(
        &self,
        source: S,
        request: Request<B>,
    ) -> impl Future<Output = Response<ResponseBody>> + Send + use<S, B> {
        self.event_stream(Sender::Known(source.into()), request)
    }

    pub(crate) fn event_stream<B>(
        &self,
        sender: Sender,
        request: Request<B>,
    ) -> impl Future<Output = Response<ResponseBody>> + Send + use<B> {
        // The body is dropped before the future is created: it is not used and need not be `Send`.
        let (parts, _) = request.into_parts();
        let inner = Arc::clone(&self.inner);
        async move {
            let exposed = match inner.exposed(&parts, "GET") {
                Ok(exposed) => exposed,
                Err(response) => return *response,
            };
            let mut response = inner.event_stream(sender, parts).await.unwrap_or_else(reply);
            if let Some(exposed) = exposed {
                exposed.expose(response.headers_mut());
            }
            response
        }
    }

    /// Handles a POST of such a client. The responses are sent on its event stream. Access tokens are checked as in
    /// [`handle_as`](Self::handle_as).
    pub async fn handle_message<B>(
        &self,
        source: impl Into<RequestSource>,
        request: Request<B>,
    ) -> Response<ResponseBody>
    where
        B: Body<Data: Buf, Error: Into<Box<dyn Error + Send + Sync>>>,
    {
        self.message(Sender::Known(source.into()), request).await
    }

    pub(crate) async fn message<B>(
        &self,
        sender: Sender,
        request: Request<B>,
    ) -> Response<ResponseBody>
    where
        B: Body<Data: Buf, Error: Into<Box<dyn Error + Send + Sync>>>,
    {
        let (parts, body) = request.into_parts();
        let exposed = match self.inner.exposed(&parts, "POST") {
            Ok(exposed) => exposed,
            Err(response) => return *response,
        };
        let mut request = Some(HttpRequest::new(parts));
        let mut body = pin!(body);
        let answered = self.inner.message(sender, &mut request, body.as_mut()).await;
        let mut response = match answered {
            Ok(response) => response,
            Err(refusal) => refused(refusal, request.as_ref(), body).await,
        };
        if let Some(exposed) = exposed {
            exposed.expose(response.headers_mut());
        }
        response
    }
}

impl Inner {
    async fn event_stream(
        self: &Arc<Self>,
        sender: Sender,
        parts: Parts,
    ) -> Result<Response<ResponseBody>, Reply> {
        let fields = fields(&parts);
        let head = head(&parts, &fields);
        let access = match self.authenticate(&sender, &head) {
            Some(authentication) => Some(authentication.await?),
            None => None,
        };
        self.validator.admit_event_stream(&head)?;
        let source = sender.of(self.options.identify.as_ref(), &parts, access.as_deref())?;
        permit(access.as_deref())?;
        let paths = self.options.one_stream.as_ref().ok_or(Reply::empty(404))?;
        let id = SessionId::from_random(random_bytes().map_err(|_| Reply::empty(500))?);
        let place = format!("{}?session={id}", paths.messages);
        let share = self.budget.request(&parts)?;
        let now = self.clock.now();
        let (server, streams, response) =
            self.validator.one_stream(self.next_number(), id, place, now);
        let wire = self.connect(server, streams, self.budget.total());
        self.enter(&self.one_streams, id, source, &wire)?;
        let (inner, principal) = (Arc::downgrade(self), source.principal);
        let carried = Carried::new(wire, response, share).then(move || {
            let wire =
                inner.upgrade().and_then(|inner| lock(&inner.one_streams).remove(id, principal));
            wire.into_iter().for_each(|wire| wire.end_now());
        });
        Ok(self.until_expiry(carried.respond(&*self.runner).await, access.as_deref()))
    }

    async fn message<B>(
        self: &Arc<Self>,
        sender: Sender,
        request: &mut Option<HttpRequest>,
        body: B,
    ) -> Result<Response<ResponseBody>, Reply>
    where
        B: Body<Data: Buf, Error: Into<Box<dyn Error + Send + Sync>>>,
    {
        let parts = request.as_ref().map(HttpRequest::parts).ok_or_else(|| Reply::empty(500))?;
        let fields = fields(parts);
        let head = head(parts, &fields);
        let access = match self.authenticate(&sender, &head) {
            Some(authentication) => Some(authentication.await?),
            None => None,
        };
        let session = parts.uri.query().and_then(|query| {
            query.split('&').find_map(|parameter| parameter.strip_prefix("session="))
        });
        let id = self.validator.admit_message(&head, session)?;
        let source = sender.of(self.options.identify.as_ref(), parts, access.as_deref())?;
        let mut share = self.budget.request(parts)?;
        let body = self.read(body, &mut share).await?;
        self.permit_body(access.as_deref(), &body)?;
        let scanned = &mut ScannedFrame::new();
        self.validator.message_scanned(&body, scanned)?;
        let now = self.clock.now();
        let wire = lock(&self.one_streams).get(id, source.principal, now).cloned();
        let wire = wire
            .filter(|wire| wire.phase() != Phase::Closed)
            .ok_or_else(RequestValidator::no_session)?;
        wait_before(parts, &body, source, &Destination::Session(id)).await?;
        if let Some(request) = &mut *request {
            identify(request, source, access.as_deref());
        }
        let posted = (&*body, scanned, source, request);
        let Some((accepted, open)) = self.hand_over_to_session(&wire, posted).await? else {
            return Ok(reply(Reply::empty(202)));
        };
        let carried = Carried::of_post(wire, accepted, share).holding(open);
        Ok(self.until_expiry(carried.respond(&*self.runner).await, access.as_deref()))
    }
}
