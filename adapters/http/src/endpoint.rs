//! `Endpoint`: receives HTTP requests and returns responses.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Buf;
use hyper::body::Body;
use hyper::{Request, Response};
use mcp_sansio::http::{
    Accepted, Destination, Headers, Reply, RequestSource, RequestValidator, SessionId, Sessions,
    Streams,
};
use mcp_sansio::json::ScannedFrame;
use mcp_sansio::{ConnectionNumber, Limits, Phase, Principal, Server, ServerConfig};
use mcp_sansio_driver::asynchronous::Handler;
use mcp_sansio_driver::{Clock, KeptTotal, PostEntry, Run, SharedTasks, Wire, random_bytes};
use mcp_sansio_tokio::runtime::{clock, spawner};

use crate::before_message::wait_before;
use crate::body::ResponseBody;
use crate::budget::{Budget, Share};
use crate::exchange::{Carried, no_events, reply};
use crate::http_request::HttpRequest;
use crate::identify::Sender;
use crate::one_request::OneRequestWires;
use crate::open_requests::{OpenRequests, Posted};
use crate::options::EndpointOptions;
use crate::protect::{identify, permit};
use crate::request_head::{fields, head};
use crate::timekeeper::Timekeeper;
use crate::unread::refused;

/// An MCP server behind HTTP. Clones share one server.
///
/// Its handler is notified of each connection ([`Handler::begin`]): a session is a connection, and so is each modern
/// request.
#[derive(Clone)]
pub struct Endpoint {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) validator: RequestValidator,
    pub(crate) options: EndpointOptions,
    /// The limits of every connection.
    pub(crate) limits: Arc<Limits>,
    pub(crate) runner: Arc<dyn Run<Server>>,
    pub(crate) clock: Clock,
    sessions: Mutex<Sessions<Arc<Wire<Server>>>>,
    /// The sessions of 2024-11-05, each with one event stream.
    pub(crate) one_streams: Mutex<Sessions<Arc<Wire<Server>>>>,
    /// The connections of requests without a session.
    pub(crate) one_request: Mutex<OneRequestWires>,
    pub(crate) open_requests: OpenRequests,
    numbers: AtomicU32,
    is_closing: AtomicBool,
    /// The bytes kept for all clients.
    pub(crate) budget: Budget,
    pub(crate) timekeeper: Arc<Timekeeper>,
}

impl Endpoint {
    /// Creates an endpoint whose handlers run as tasks of the current runtime.
    ///
    /// # Panics
    ///
    /// Outside a runtime of tokio.
    pub fn new(config: ServerConfig, handler: impl Handler<Server>) -> Self {
        Self::with(config, EndpointOptions::new(), handler)
    }

    /// Creates an endpoint with options. It panics outside a runtime of tokio, as [`new`](Self::new) does.
    pub fn with(
        mut config: ServerConfig,
        options: EndpointOptions,
        handler: impl Handler<Server>,
    ) -> Self {
        options.connection.adjust(&mut config);
        let validator = RequestValidator::new(Arc::new(options.http.clone()), Arc::new(config));
        let inner = Inner {
            sessions: Mutex::new(Sessions::new(&options.http)),
            one_streams: Mutex::new(Sessions::new(&options.http)),
            one_request: Mutex::default(),
            open_requests: OpenRequests::new(&options),
            runner: Arc::new(spawner(handler)),
            clock: clock(),
            numbers: AtomicU32::new(0),
            is_closing: AtomicBool::new(false),
            budget: Budget::new(options.bytes),
            limits: Arc::new(validator.limits().clone()),
            timekeeper: Arc::default(),
            validator,
            options,
        };
        Self { inner: Arc::new(inner) }
    }

    /// Handles a request on any path. Its sender is identified by [`EndpointOptions::identify`]. Dropping the
    /// future, or the body of the response, reports that the client has disconnected. The section [in another
    /// server](crate#in-another-server) lists the duties of the caller.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<ResponseBody>
    where
        B: Body<Data: Buf, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    {
        self.handle_of(Sender::Asked, request).await
    }

    /// Handles a request of a known [`Principal`] or [`RequestSource`]. Sessions, tasks and request state belong to
    /// the sender that they were created for. If the endpoint has a protection, a request of the unknown principal,
    /// [`Principal::default`], needs an access token.
    pub async fn handle_as<B>(
        &self,
        source: impl Into<RequestSource>,
        request: Request<B>,
    ) -> Response<ResponseBody>
    where
        B: Body<Data: Buf, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    {
        self.handle_of(Sender::Known(source.into()), request).await
    }

    /// Handles a request whose sender is known or still to be identified.
    ///
    /// The head of the request is large. It is moved into the future once, and from there to the handler.
    pub(crate) fn handle_of<B>(
        &self,
        sender: Sender,
        request: Request<B>,
    ) -> impl Future<Output = Response<ResponseBody>> + use<B>
    where
        B: Body<Data: Buf, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    {
        let inner = Arc::clone(&self.inner);
        let (parts, body) = request.into_parts();
        let mut request = Some(HttpRequest::new(parts));
        async move {
            let parts = request.as_ref().map(HttpRequest::parts);
            let exposed = match parts.map(|parts| inner.exposed(parts, "GET, POST, DELETE")) {
                Some(Ok(exposed)) => exposed,
                Some(Err(response)) => return *response,
                None => None,
            };
            let mut body = pin!(body);
            let answered = inner.answer(sender, &mut request, body.as_mut()).await;
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

    /// Whether the senders of requests are identified.
    pub(crate) fn has_identify(&self) -> bool {
        self.inner.options.identify.is_some() || self.inner.has_protection()
    }

    /// Returns the number of sessions.
    pub fn sessions(&self) -> usize {
        self.inner.sessions().len() + lock(&self.inner.one_streams).len()
    }

    pub(crate) fn most_connections(&self) -> usize {
        self.inner.options.most_connections
    }

    /// Returns the tasks of the endpoint, if it has any ([`ConnectionOptions::tasks`](crate::ConnectionOptions::tasks)).
    pub fn tasks(&self) -> Option<&SharedTasks> {
        self.inner.options.connection.shared_tasks()
    }

    /// Returns the number of bytes kept for all clients. [`EndpointOptions::bytes`] is the limit.
    pub fn kept_bytes(&self) -> usize {
        self.inner.budget.used()
    }

    /// Returns the number of open requests, including those of sessions. [`EndpointOptions::most_open`] is the
    /// limit.
    pub fn open_requests(&self) -> usize {
        self.inner.open_requests.len()
    }

    /// Accepts no new requests, ends subscriptions, and ends every connection when its responses are complete, at
    /// the latest after `grace`. With [`EndpointOptions::keep_sessions`] sessions do not end: call
    /// [`suspend_sessions`](Self::suspend_sessions) afterwards.
    pub fn shut_down(&self, grace: Duration) {
        self.inner.is_closing.store(true, Ordering::SeqCst);
        let mut wires = if self.inner.keeps_sessions() {
            self.inner.close_event_streams_after(grace);
            self.inner.one_stream_wires()
        } else {
            self.inner.session_wires()
        };
        wires.extend(lock(&self.inner.one_request).wires());
        wires.iter().for_each(|wire| wire.handle().shut_down(grace));
    }
}

impl Inner {
    async fn answer<B>(
        self: &Arc<Self>,
        sender: Sender,
        request: &mut Option<HttpRequest>,
        body: B,
    ) -> Result<Response<ResponseBody>, Reply>
    where
        B: Body<Data: Buf, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    {
        let parts = request.as_ref().map(HttpRequest::parts).ok_or_else(|| Reply::empty(500))?;
        let fields = fields(parts);
        let head = head(parts, &fields);
        let headers = head.headers;
        let access = match self.authenticate(&sender, &head) {
            Some(authentication) => Some(authentication.await?),
            None => None,
        };
        let admitted = self.validator.admit(&head)?;
        let source = sender.of(self.options.identify.as_ref(), parts, access.as_deref())?;
        let until =
            |response: Response<ResponseBody>| self.until_expiry(response, access.as_deref());
        let principal = source.principal;
        match admitted {
            Accepted::Post => {
                let mut share = self.budget.request(parts)?;
                let body = self.read(body, &mut share).await?;
                self.permit_body(access.as_deref(), &body)?;
                let mut scanned = ScannedFrame::new();
                let destination = self.destination(headers, &body, &mut scanned)?;
                wait_before(parts, &body, source, &destination).await?;
                if let Some(request) = &mut *request {
                    identify(request, source, access.as_deref());
                }
                let posted = (&*body, &mut scanned, source, request);
                let begun = self.post(destination, posted, share).await?;
                // The body is dropped before the response is sent.
                drop(body);
                match begun {
                    Some(carried) => Ok(until(carried.respond(&*self.runner).await)),
                    None => Ok(no_events()),
                }
            }
            Accepted::Listen { session, last_event } => {
                permit(access.as_deref())?;
                let wire = self.find(session, principal)?;
                if self.is_closing() {
                    return Err(RequestValidator::closing());
                }
                let share = self.budget.request(parts)?;
                let response = wire.listen(last_event).map_err(|refusal| {
                    if wire.is_suspended() { RequestValidator::closing() } else { refusal }
                })?;
                if self.keeps_sessions() {
                    // The shutdown has begun meanwhile, and may have missed this stream.
                    wire.close_standalone();
                }
                let carried = Carried::new(wire, response, share);
                Ok(until(carried.respond(&*self.runner).await))
            }
            Accepted::End { session } => {
                permit(access.as_deref())?;
                self.find(session, principal)?;
                // Call `end_now` outside the lock, because it runs wakers.
                let removed = self.sessions().remove(session, principal);
                removed.into_iter().for_each(|wire| wire.end_now());
                Ok(reply(Reply::empty(200)))
            }
            _ => Err(Reply::empty(501)),
        }
    }

    /// Validates the body of a POST, and returns its destination.
    fn destination<'b>(
        &self,
        headers: Headers<'_>,
        body: &'b [u8],
        scanned: &mut ScannedFrame<'b>,
    ) -> Result<Destination, Reply> {
        let options = &self.options;
        let changing = |name: &str| options.tool_headers.as_ref()?.of(name);
        let tool = |name: &str| options.tools.get(name).cloned().or_else(|| changing(name));
        self.validator.post_scanned(headers, body, scanned, &tool)
    }

    /// Processes a POST. Returns `None` if its request is cancelled before the session has room for it.
    async fn post(
        self: &Arc<Self>,
        destination: Destination,
        posted: Posted<'_, '_>,
        mut share: Share,
    ) -> Result<Option<Carried>, Reply> {
        let (body, _, source, _) = &posted;
        let (source, bytes) = (*source, body.len());
        // During a shutdown a session may still have messages to send; its connection accepts no new requests.
        let is_session = matches!(destination, Destination::Session(_));
        if self.is_closing() && !is_session
            || self.keeps_sessions() && self.validator.is_request(body)
        {
            return Err(RequestValidator::closing());
        }
        let carried = match destination {
            Destination::Modern => {
                let connect = |kept: &_| self.connect_modern(kept);
                self.serve_on_own_connection(connect, posted, share)?
            }
            Destination::Assumed(revision) => {
                let connect = |kept: &_| {
                    let (number, now) = (self.next_number(), self.clock.now());
                    let (server, streams) = self.validator.assumed(number, revision, source, now);
                    self.connect(server, streams, Arc::clone(kept))
                };
                self.serve_on_own_connection(connect, posted, share)?
            }
            Destination::Opening => self.open(posted, share)?,
            Destination::Session(session) => {
                let wire = self.known(session, source.principal)?;
                let handed_over = self.hand_over_to_session(&wire, posted).await;
                if handed_over.is_err() {
                    // The session may have ended by itself.
                    self.find(session, source.principal)?;
                }
                let Some((accepted, open)) = handed_over? else { return Ok(None) };
                // The connection counts the bytes that it keeps of the body.
                share.shrink(bytes);
                Carried::of_post(wire, accepted, share).holding(open)
            }
            // The notification needs no processing.
            Destination::Discarded => return Err(Reply::empty(202)),
            _ => return Err(Reply::empty(501)),
        };
        Ok(Some(carried))
    }

    /// Opens a session for a client.
    fn open(self: &Arc<Self>, posted: Posted<'_, '_>, share: Share) -> Result<Carried, Reply> {
        let (body, scanned, source, request) = posted;
        let now = self.clock.now();
        if !self.sessions().has_room(source, now, |wire| wire.used_until(now)) {
            return Err(RequestValidator::full());
        }
        let open = self.admit(source, request)?;
        let random = random_bytes().map_err(|_| Reply::empty(500))?;
        let id = SessionId::from_random(random);
        let (server, streams) = self.validator.session(self.next_number(), id);
        let wire = self.connect(server, streams, self.budget.total());
        let posted = (body, scanned, source, request);
        let begun = self.hand_over(&wire, posted, Some(open), PostEntry::Always);
        let (accepted, _) = begun.map_err(|_| RequestValidator::closing())?;
        if wire.phase() == Phase::Opening {
            // The connection refused to open.
            return Ok(Carried::of_one_request(wire, accepted, share));
        }
        self.enter(&self.sessions, id, source, &wire)?;
        Ok(Carried::of_post(wire, accepted, share))
    }

    /// Registers a session, if the limits allow it, and begins to handle its timeouts.
    pub(crate) fn enter(
        self: &Arc<Self>,
        sessions: &Mutex<Sessions<Arc<Wire<Server>>>>,
        id: SessionId,
        source: RequestSource,
        wire: &Arc<Wire<Server>>,
    ) -> Result<(), Reply> {
        let mut known = lock(sessions);
        // Either a shutdown finds the session in the map, or this check finds the shutdown. Other requests may have
        // filled the map meanwhile.
        let entered = if self.is_closing() {
            Err(RequestValidator::closing())
        } else {
            let now = self.clock.now();
            let used_until = |wire: &Arc<Wire<Server>>| wire.used_until(now);
            known
                .insert(id, source, Arc::clone(wire), now, used_until)
                .map_err(|_| RequestValidator::full())
        };
        // Call `end_now` outside the lock, because it runs wakers.
        drop(known);
        match entered {
            Ok(displaced) => displaced.into_iter().for_each(|wire| wire.end_now()),
            Err(refusal) => {
                wire.end_now();
                return Err(refusal);
            }
        }
        self.timekeeper.add(id, wire, self);
        Ok(())
    }

    /// Creates a connection, whose kept bytes count in a total.
    pub(crate) fn connect(
        &self,
        server: Server,
        streams: Streams,
        kept: Arc<KeptTotal>,
    ) -> Arc<Wire<Server>> {
        let (options, runner) = (&self.options.connection, Arc::clone(&self.runner));
        let limits = Arc::clone(&self.limits);
        Wire::behind_http((server, streams), limits, options, self.clock.clone(), runner, kept)
    }

    /// Returns the session with this id, unless it does not exist or has ended by itself.
    fn find(&self, id: SessionId, principal: Principal) -> Result<Arc<Wire<Server>>, Reply> {
        let wire = self.known(id, principal)?;
        if wire.phase() == Phase::Closed {
            self.sessions().remove(id, principal);
            return Err(self.no_session());
        }
        Ok(wire)
    }

    /// Returns the session with this id, also if it has ended by itself and no request has noticed that yet.
    fn known(&self, id: SessionId, principal: Principal) -> Result<Arc<Wire<Server>>, Reply> {
        let now = self.clock.now();
        self.sessions().get(id, principal, now).cloned().ok_or_else(|| self.no_session())
    }

    /// Ends the sessions that have expired. Returns the time until the next call.
    pub(crate) fn end_idle_sessions(&self) -> Option<Duration> {
        let now = self.clock.now();
        for sessions in [&self.sessions, &self.one_streams] {
            loop {
                let expired = lock(sessions).expire(now, |wire| wire.used_until(now));
                let Some(wire) = expired else { break };
                wire.end_now();
            }
        }
        let (sessions, one_streams) = (self.sessions(), lock(&self.one_streams));
        let next = sessions.poll_timeout().into_iter().chain(one_streams.poll_timeout()).min();
        drop((sessions, one_streams));
        // A session that becomes ready meanwhile may expire before the existing ones.
        let wait = next.map(|next| (next - now).min(self.options.http.ready_within));
        // The extra millisecond avoids a call just before the expiry.
        wait.map(|wait| wait + Duration::from_millis(1))
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::SeqCst)
    }

    /// Returns the number of the next connection. Endpoints that share tasks share one sequence.
    pub(crate) fn next_number(&self) -> ConnectionNumber {
        let own = || ConnectionNumber::new(self.numbers.fetch_add(1, Ordering::Relaxed));
        self.options.connection.next_connection().unwrap_or_else(own)
    }

    pub(crate) fn has_sessions(&self) -> bool {
        !self.sessions().is_empty() || !lock(&self.one_streams).is_empty()
    }

    /// Returns the connections of all sessions.
    pub(crate) fn session_wires(&self) -> Vec<Arc<Wire<Server>>> {
        let mut wires: Vec<_> = self.sessions().iter().map(|(_, wire)| Arc::clone(wire)).collect();
        wires.extend(self.one_stream_wires());
        wires
    }

    /// Returns the connections of the sessions of 2024-11-05.
    fn one_stream_wires(&self) -> Vec<Arc<Wire<Server>>> {
        lock(&self.one_streams).iter().map(|(_, wire)| Arc::clone(wire)).collect()
    }

    pub(crate) fn sessions(&self) -> MutexGuard<'_, Sessions<Arc<Wire<Server>>>> {
        lock(&self.sessions)
    }
}

/// The sessions are unreachable from here on.
impl Drop for Inner {
    fn drop(&mut self) {
        self.sessions().iter().for_each(|(_, wire)| wire.end_now());
        lock(&self.one_streams).iter().for_each(|(_, wire)| wire.end_now());
    }
}

/// Locks a mutex. No code of the application runs under these locks.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Endpoint")
            .field("sessions", &self.sessions())
            .finish_non_exhaustive()
    }
}
