//! A server behind HTTP for literal messages: requests and responses as text.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::http::{
    Accepted, Headers, HttpExchange, HttpServer, HttpServerConfig, ParamHeaders, Reply,
    RequestHead, RequestSource, ResponsePart, SavedHttpSession, SessionId,
};
use mcp_sansio::json::Raw;
use mcp_sansio::progress::{Progress, ProgressReport};
use mcp_sansio::{
    ErrorCode, Frames, IncomingId, Instant, Principal, Request, Server, ServerConfig, ServerEvent,
};
use mcp_sansio_proptests::config;
use mcp_sansio_proptests::oracles::scanned::Scans;

/// The received parts of a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResponseParts {
    pub(crate) status: u16,
    /// The names and values of the header fields, in order.
    pub(crate) headers: Vec<String>,
    /// The parts of the body.
    pub(crate) chunks: Vec<String>,
    pub(crate) is_over: bool,
}

/// The number of an HTTP request.
pub(crate) type Turn = usize;

/// A server, and the responses that it has sent.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) http: HttpServer,
    pub(crate) now: Instant,
    pub(crate) principal: Principal,
    pub(crate) address: Option<IpAddr>,
    /// The arguments that tools repeat in header fields.
    pub(crate) tools: BTreeMap<String, Arc<ParamHeaders>>,
    exchanges: Vec<Option<HttpExchange>>,
    received: Vec<ResponseParts>,
    events: Vec<ServerEvent<'static>>,
    random: u32,
    config: (Arc<HttpServerConfig>, Arc<ServerConfig>),
}

impl Site {
    /// Creates a server with all capabilities.
    pub(crate) fn new() -> Self {
        Self::with(|_, _| {})
    }

    /// Creates a server with a changed configuration.
    pub(crate) fn with(change: impl FnOnce(&mut HttpServerConfig, &mut ServerConfig)) -> Self {
        let (mut http, mut server) = (HttpServerConfig::default(), config::server_of_both_eras());
        change(&mut http, &mut server);
        let config = (Arc::new(http), Arc::new(server));
        Self {
            http: HttpServer::new(Arc::clone(&config.0), Arc::clone(&config.1)),
            now: Instant::from_millis(1_000_000),
            principal: Principal::default(),
            address: None,
            tools: BTreeMap::new(),
            exchanges: Vec::new(),
            received: Vec::new(),
            events: Vec::new(),
            random: 0xa0,
            config,
        }
    }

    /// Replaces the server by a new one, which continues the saved sessions. All responses break off.
    #[track_caller]
    pub(crate) fn restart(&mut self) {
        let saved = self.http.save_sessions();
        self.restart_with(&saved);
    }

    /// Replaces the server by a new one, which continues these sessions. All responses break off.
    #[track_caller]
    pub(crate) fn restart_with(&mut self, saved: &[SavedHttpSession]) {
        let saved = serde_json::to_string(saved).unwrap();
        let saved: Vec<SavedHttpSession> = serde_json::from_str(&saved).unwrap();
        let (http, server) = &self.config;
        self.http = HttpServer::new(Arc::clone(http), Arc::clone(server));
        self.exchanges.fill(None);
        for session in &saved {
            self.http.restore_session(session, self.now).unwrap();
        }
    }

    /// Passes a complete request in.
    pub(crate) fn send(&mut self, method: &str, lines: &str, body: impl AsRef<[u8]>) -> Turn {
        let fields: Vec<(&str, &[u8])> = lines
            .lines()
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name, value.as_bytes()))
            .collect();
        let head = RequestHead::new(method, &fields[..]);
        let outcome = match self.http.admit(&head) {
            Ok(Accepted::Post) => self.take(head.headers, body.as_ref()),
            Ok(Accepted::Listen { session, last_event }) => {
                self.http.listen(session, last_event, self.principal, self.now).map(Ok)
            }
            Ok(Accepted::End { session }) => {
                self.http.end(session, self.principal, self.now).map(Err)
            }
            Ok(other) => panic!("who would have thought: {other:?}"),
            Err(refusal) => Err(refusal),
        };
        self.note(outcome)
    }

    /// Records the outcome of a request: an exchange, or a complete response.
    pub(crate) fn note(&mut self, outcome: Result<Result<HttpExchange, Reply>, Reply>) -> Turn {
        let (exchange, received) = match outcome {
            Ok(Ok(exchange)) => (Some(exchange), ResponseParts::default()),
            Ok(Err(reply)) | Err(reply) => (None, whole(&reply)),
        };
        self.exchanges.push(exchange);
        self.received.push(received);
        self.received.len() - 1
    }

    fn take(
        &mut self,
        headers: Headers<'_>,
        body: &[u8],
    ) -> Result<Result<HttpExchange, Reply>, Reply> {
        let tools = self.tools.clone();
        let tool = |name: &str| tools.get(name).cloned();
        let (random, now) = (self.random(), self.now);
        let source = self.source();
        Scans::new(body).check_post(self.http.validator(), headers, &tool);
        match self.http.post(headers, body, source, random, now, &tool)? {
            Some(exchange) => {
                self.hand_in(exchange, body);
                Ok(Ok(exchange))
            }
            None => Ok(Err(Reply::empty(202))),
        }
    }

    fn source(&self) -> RequestSource {
        let source = RequestSource::from(self.principal);
        self.address.map_or(source, |address| source.address(address))
    }

    /// Returns deterministic random bytes.
    pub(crate) fn random(&mut self) -> [u8; 16] {
        self.random += 1;
        let [_, high, middle, low] = self.random.to_be_bytes();
        let mut random = [low; 16];
        random[0] ^= middle;
        random[1] ^= high;
        random
    }

    /// Passes the messages of a body to the server.
    pub(crate) fn hand_in(&mut self, exchange: HttpExchange, body: &[u8]) {
        let limits = self.http.limits().clone();
        let mut scans = Scans::new(body);
        scans.check_message(self.http.validator());
        for frame in Frames::of(body, &limits) {
            let source = self.source();
            scans.check_frame(&mut self.http, exchange, frame, source, self.now);
            let event = self.http.receive(exchange, frame, self.now);
            self.events.extend(event.map(ServerEvent::into_owned));
        }
    }

    /// Posts a request that reaches the application.
    #[track_caller]
    pub(crate) fn ask(&mut self, lines: &str, body: &str) -> (Turn, Request<'static>) {
        let turn = self.send("POST", lines, body);
        match &self.events()[..] {
            [ServerEvent::Request(request)] => (turn, request.clone()),
            other => panic!("not a request: {other:?} {:?}", self.read_response(turn)),
        }
    }

    /// Posts a message that gets its response at once, without a request event.
    #[track_caller]
    pub(crate) fn post(&mut self, lines: &str, body: impl AsRef<[u8]>) -> ResponseParts {
        let turn = self.send("POST", lines, body);
        let events = self.events();
        let is_request = |event: &ServerEvent<'_>| matches!(event, ServerEvent::Request(_));
        assert!(!events.iter().any(is_request), "{events:?}");
        self.read_response(turn)
    }

    /// Opens a session of this revision with a client that has all capabilities, and returns its id.
    #[track_caller]
    pub(crate) fn open(&mut self, revision: &str) -> String {
        let opening = self.send("POST", POST, super::message::initialize("0", revision));
        let received = self.read_response(opening);
        assert_eq!((received.status, received.is_over), (200, true), "{received:?}");
        let id = received.headers.iter().find_map(|line| line.strip_prefix("Mcp-Session-Id: "));
        let id = id.expect("the id of a session").to_string();
        let lines = in_session(&id);
        let body = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(self.post(&lines, body), status(202));
        assert!(matches!(self.events()[..], []), "told by `post`");
        id
    }

    /// Returns the events since the last call.
    pub(crate) fn events(&mut self) -> Vec<ServerEvent<'static>> {
        self.events.drain(..).collect()
    }

    /// Returns all parts of a response so far.
    #[track_caller]
    pub(crate) fn read_response(&mut self, turn: Turn) -> ResponseParts {
        if let Some(exchange) = self.exchanges[turn] {
            loop {
                let mut buffer = Vec::new();
                let part = self.http.next(exchange, self.now, &mut buffer);
                let received = &mut self.received[turn];
                let has_head = received.status != 0;
                match part {
                    ResponsePart::Nothing => break,
                    ResponsePart::Head(head) => {
                        assert!(!has_head, "a head comes once");
                        received.status = head.status;
                        received.headers = head.headers().iter().map(line).collect();
                        let id = head.session.map(|id: SessionId| format!("Mcp-Session-Id: {id}"));
                        received.headers.extend(id);
                    }
                    ResponsePart::Body => {
                        assert!(has_head && !received.is_over && !buffer.is_empty());
                        received.chunks.push(String::from_utf8(buffer.clone()).unwrap());
                        buffer.clear();
                    }
                    ResponsePart::End => {
                        received.is_over = true;
                        self.exchanges[turn] = None;
                        break;
                    }
                    other => panic!("who would have thought: {other:?}"),
                }
                assert!(buffer.is_empty(), "only the body is in the buffer");
            }
        }
        self.received[turn].clone()
    }

    /// Returns the parts of a response since the last call.
    #[track_caller]
    pub(crate) fn news(&mut self, turn: Turn) -> Vec<String> {
        let known = self.received[turn].chunks.len();
        self.read_response(turn).chunks.split_off(known)
    }

    /// Returns one part of a response.
    pub(crate) fn part(&mut self, turn: Turn) -> (ResponsePart, String) {
        let (exchange, mut buffer) = (self.exchange(turn), Vec::new());
        let part = self.http.next(exchange, self.now, &mut buffer);
        (part, String::from_utf8(buffer).unwrap())
    }

    /// Returns the next part of a response that has ended, or should have.
    pub(crate) fn part_after_end(&mut self, turn: Turn) -> ResponsePart {
        let (part, buffer) = self.part(turn);
        assert_eq!(buffer, "");
        part
    }

    pub(crate) fn exchange(&self, turn: Turn) -> HttpExchange {
        self.exchanges[turn].expect("a response that is open")
    }

    /// Disconnects the client.
    pub(crate) fn disconnect(&mut self, turn: Turn) {
        let exchange = self.exchange(turn);
        self.http.disconnected(exchange, self.now);
    }

    /// Advances the clock and handles the due timeouts.
    pub(crate) fn elapse(&mut self, milliseconds: u64) -> Vec<ServerEvent<'static>> {
        self.now = self.now + Duration::from_millis(milliseconds);
        self.settle()
    }

    /// Handles the due timeouts.
    pub(crate) fn settle(&mut self) -> Vec<ServerEvent<'static>> {
        while let Some((_, event)) = self.http.handle_timeout(self.now) {
            self.events.push(event);
        }
        let due = self.http.poll_timeout();
        assert!(due.is_none_or(|due| self.now < due), "everything that was due is done: {due:?}");
        self.events()
    }

    /// Runs a function with the server of a request.
    #[track_caller]
    pub(crate) fn with_machine<T>(
        &mut self,
        request: IncomingId,
        act: impl FnOnce(&mut Server, &mut mcp_sansio::http::Streams) -> T,
    ) -> T {
        self.http.with(request.connection(), self.now, act).expect("the connection of a request")
    }

    /// Responds to a request.
    #[track_caller]
    pub(crate) fn respond(&mut self, request: IncomingId, result: &str) {
        let result = Raw::new(result).unwrap();
        self.with_machine(request, |server, out| server.respond(request, &result, out)).unwrap();
    }

    /// Rejects a request.
    #[track_caller]
    pub(crate) fn reject(&mut self, request: IncomingId, code: i64, text: &str) {
        let code = ErrorCode::new(code);
        self.with_machine(request, |server, out| server.reject(request, code, text, out)).unwrap();
    }

    /// Reports progress on a request with a progress token.
    #[track_caller]
    pub(crate) fn progress(&mut self, request: IncomingId, progress: i64) {
        let (progress, now) = (Progress::new(progress), self.now);
        let report =
            self.with_machine(request, |server, out| server.progress(request, progress, now, out));
        assert_eq!(report, Ok(ProgressReport::Sent));
    }

    /// Expects that no connection, session or timer is left.
    #[track_caller]
    pub(crate) fn assert_forgotten(&mut self) {
        self.settle();
        assert_eq!(self.http.connections().count(), 0);
        assert_eq!(self.http.sessions(), 0);
        assert_eq!(self.http.poll_timeout(), None);
    }
}

fn line((name, value): &(&str, &str)) -> String {
    format!("{name}: {value}")
}

fn whole(reply: &Reply) -> ResponseParts {
    let body = String::from_utf8(reply.body.clone()).unwrap();
    ResponseParts {
        status: reply.status,
        headers: reply.headers().map(|field| line(&field)).collect(),
        chunks: if body.is_empty() { vec![] } else { vec![body] },
        is_over: true,
    }
}

/// The header fields of every POST.
pub(crate) const POST: &str = "Host: localhost:3000\nContent-Type: application/json\nAccept: application/json, text/event-stream";

/// Returns the header fields of a modern request.
pub(crate) fn modern_headers(method: &str) -> String {
    format!("{POST}\nMCP-Protocol-Version: 2026-07-28\nMcp-Method: {method}")
}

/// Returns the header fields of a modern request with a name.
pub(crate) fn about(method: &str, name: &str) -> String {
    format!("{}\nMcp-Name: {name}", modern_headers(method))
}

/// Returns the header fields of a message in a session.
pub(crate) fn in_session(id: &str) -> String {
    format!("{POST}\nMcp-Session-Id: {id}")
}

/// Returns the header fields of a request for the event stream of a session.
pub(crate) fn get(id: &str) -> String {
    format!("Host: localhost\nAccept: text/event-stream\nMcp-Session-Id: {id}")
}

/// Returns the lines without one of them.
pub(crate) fn without(lines: &str, name: &str) -> String {
    let stays =
        |line: &&str| !line.to_lowercase().starts_with(&format!("{}:", name.to_lowercase()));
    lines.lines().filter(stays).collect::<Vec<&str>>().join("\n")
}

/// Returns the lines with another value of one of them.
pub(crate) fn replaced(lines: &str, name: &str, value: &str) -> String {
    format!("{}\n{name}: {value}", without(lines, name))
}

/// Returns a response with only a status.
pub(crate) fn status(status: u16) -> ResponseParts {
    ResponseParts { status, headers: vec![], chunks: vec![], is_over: true }
}

/// Returns a complete JSON response.
pub(crate) fn json(status: u16, body: impl Into<String>) -> ResponseParts {
    let headers = vec!["Content-Type: application/json".into()];
    ResponseParts { status, headers, chunks: vec![body.into()], is_over: true }
}

/// Returns an event stream with these chunks so far.
pub(crate) fn stream<T: AsRef<str>>(chunks: &[T], is_over: bool) -> ResponseParts {
    let headers =
        ["Content-Type: text/event-stream", "Cache-Control: no-cache", "X-Accel-Buffering: no"];
    ResponseParts {
        status: 200,
        headers: headers.map(String::from).to_vec(),
        chunks: chunks.iter().map(|chunk| chunk.as_ref().to_string()).collect(),
        is_over,
    }
}

/// Returns an event with a message.
pub(crate) fn event(message: impl AsRef<str>) -> String {
    format!("data: {}\n\n", message.as_ref())
}

/// Returns an event with an id and a message.
pub(crate) fn numbered(id: &str, message: impl AsRef<str>) -> String {
    format!("id: {id}\ndata: {}\n\n", message.as_ref())
}

/// Returns the priming event of a resumable stream.
pub(crate) fn priming(id: &str) -> String {
    format!("id: {id}\nretry: 1000\ndata: \n\n")
}
