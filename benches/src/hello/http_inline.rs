//! The floor of the adapter: the parts of the core for HTTP, called within one task of hyper.
//!
//! It does what the protocol asks for a call: it validates the head and the body, finds the session, and passes the
//! message to its machine. It has nothing of what an adapter adds: handlers that wait, cancellation, limits for a
//! process, timeouts, other methods of HTTP, event streams.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto::Builder;
use mcp_sansio::http::{
    Accepted, Destination, HttpServerConfig, Reply, RequestHead, RequestSource, RequestValidator,
    ResponseHead, ResponsePart, SessionId, Sessions, Streams,
};
use mcp_sansio::json::ScannedFrame;
use mcp_sansio::model::CallToolResult;
use mcp_sansio::{
    ClientRequest, ConnectionNumber, Frames, Instant, Limits, Principal, Server, ServerEvent,
};
use tokio::task::{LocalSet, spawn_local};

use super::ours::config;
use super::until_closed::{listen, runtime, until_closed};

/// The arguments of the tool.
#[derive(serde::Deserialize)]
struct Greeting {
    name: String,
}

/// The machine of a session or of one modern request, and its streams.
type Machine = Rc<RefCell<(Server, Streams)>>;

/// A server on one thread.
struct Inline {
    validator: RequestValidator,
    limits: Limits,
    sessions: RefCell<Sessions<Machine>>,
    /// Machines that have served a modern request and can serve another one.
    spare: RefCell<Vec<Machine>>,
    latest: Cell<u32>,
    start: std::time::Instant,
}

/// Runs the tasks of hyper on this thread.
#[derive(Clone)]
struct Local;

impl<F: Future<Output = ()> + 'static> hyper::rt::Executor<F> for Local {
    fn execute(&self, work: F) {
        spawn_local(work);
    }
}

/// Serves on a socket.
pub(super) fn serve() -> io::Result<()> {
    LocalSet::new().block_on(&runtime()?, async {
        let listener = listen().await?;
        let server = Rc::new(Inline::new());
        let mut stop = pin!(until_closed());
        loop {
            let stream = tokio::select! {
                accepted = listener.accept() => accepted?.0,
                () = &mut stop => return Ok(()),
            };
            _ = stream.set_nodelay(true);
            let server = Rc::clone(&server);
            spawn_local(async move {
                let service = service_fn(|request| {
                    let server = Rc::clone(&server);
                    async move { Ok::<_, Infallible>(server.answer(request).await) }
                });
                let mut builder = Builder::new(Local);
                builder.http1().header_read_timeout(None).writev(false);
                // A client that disconnects is no error of the server.
                _ = builder.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    })
}

impl Inline {
    fn new() -> Self {
        let (http, config) = (HttpServerConfig::default(), config());
        Self {
            limits: config.connection.limits.clone(),
            sessions: RefCell::new(Sessions::new(&http)),
            validator: RequestValidator::new(Arc::new(http), Arc::new(config)),
            spare: RefCell::default(),
            latest: Cell::new(0),
            start: std::time::Instant::now(),
        }
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        self.post(request).await.unwrap_or_else(|refusal| {
            let mut response = Response::new(Full::from(refusal.body));
            *response.status_mut() = StatusCode::from_u16(refusal.status).unwrap_or_default();
            response
        })
    }

    async fn post(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Reply> {
        let (parts, body) = request.into_parts();
        let mut fields = Vec::with_capacity(parts.headers.len());
        fields.extend(parts.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())));
        let head = RequestHead::new(parts.method.as_str(), &*fields);
        let Accepted::Post = self.validator.admit(&head)? else { return Err(Reply::empty(501)) };
        let body = body.collect().await.map_err(|_| Reply::empty(400))?.to_bytes();
        let mut scanned = ScannedFrame::new();
        let destination =
            self.validator.post_scanned(head.headers, &body, &mut scanned, &|_| None)?;
        let now = Instant::EPOCH + self.start.elapsed();
        let is_modern = matches!(destination, Destination::Modern);
        let machine = self.machine(destination, now)?;
        let (head, text) = self.exchange(&machine, &body, &mut scanned, now)?;
        if is_modern {
            self.spare.borrow_mut().push(machine);
        }
        let mut response = Response::new(Full::from(text));
        *response.status_mut() = StatusCode::from_u16(head.status).unwrap_or_default();
        let session = head.session.map(|session| ("mcp-session-id", session.to_string()));
        let fields = head.headers().iter().map(|(name, value)| (*name, (*value).to_owned()));
        for (name, value) in fields.chain(session) {
            let name = HeaderName::from_bytes(name.as_bytes());
            if let (Ok(name), Ok(value)) = (name, HeaderValue::try_from(value)) {
                response.headers_mut().insert(name, value);
            }
        }
        Ok(response)
    }

    /// Returns the machine for a message.
    fn machine(&self, destination: Destination, now: Instant) -> Result<Machine, Reply> {
        let number = || {
            self.latest.set(self.latest.get() + 1);
            ConnectionNumber::new(self.latest.get())
        };
        let new = |made| Rc::new(RefCell::new(made));
        match destination {
            Destination::Modern => {
                let spare = self.spare.borrow_mut().pop();
                Ok(spare.unwrap_or_else(|| new(self.validator.modern(number()))))
            }
            Destination::Session(id) => {
                let session =
                    self.sessions.borrow_mut().get(id, Principal::default(), now).cloned();
                session.ok_or_else(RequestValidator::no_session)
            }
            Destination::Opening => {
                let number = number();
                // Its ids can be guessed: it serves only the client of the measurement.
                let id = SessionId::from_random(u128::from(number.get()).to_ne_bytes());
                let machine = new(self.validator.session(number, id));
                let (source, entered) = (RequestSource::default(), Rc::clone(&machine));
                let inserted =
                    self.sessions.borrow_mut().insert(id, source, entered, now, |_| None);
                inserted.map(|_| machine).map_err(|_| RequestValidator::full())
            }
            _ => Err(Reply::empty(202)),
        }
    }

    /// Passes a body to a machine, answers its request, and returns the response.
    fn exchange<'b>(
        &self,
        machine: &Machine,
        body: &'b [u8],
        scanned: &mut ScannedFrame<'b>,
        now: Instant,
    ) -> Result<(ResponseHead, Vec<u8>), Reply> {
        let (server, streams) = &mut *machine.borrow_mut();
        let response = streams.begin(now);
        let received = streams.message_context(response, RequestSource::default(), now);
        for frame in Frames::of(body, &self.limits) {
            let event = server.receive_scanned(frame, scanned, received, streams);
            if let Some(event) = &event {
                streams.watch(event);
            }
            if let Some(ServerEvent::Request(request)) = event {
                let ClientRequest::CallTool(call) = &request.kind else {
                    return Err(Reply::empty(501));
                };
                let result = match call.parse() {
                    Ok(Greeting { name }) => CallToolResult::text(format!("Hello, {name}!")),
                    Err(error) => CallToolResult::error(error.to_string()),
                };
                let answered = server.respond(request.id, &result, streams);
                answered.map_err(|_| Reply::empty(500))?;
            }
        }
        streams.received(response);
        streams.woken().for_each(drop);
        let mut text = Vec::new();
        let ResponsePart::Head(head) = streams.next(response, now, &mut text) else {
            return Err(Reply::empty(500));
        };
        while streams.next(response, now, &mut text) == ResponsePart::Body {}
        Ok((head, text))
    }
}
