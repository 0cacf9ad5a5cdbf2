//! The requests and responses in transit between the client and the server.

use mcp_sansio::auth::{RequestKey, Secret};
use mcp_sansio::http::{
    Accepted, Action, ExchangeNumber, Headers, HttpExchange, HttpRequest, Reply, RequestHead,
    ResponsePart, ResponseReader, name,
};
use mcp_sansio::testing::WorkMeter;
use mcp_sansio::{Frames, ServerEvent};

use super::HttpWorld;
use super::checks::Spoken;
use super::client_side::SimulatedClient;
use super::secrets::Received;

/// An HTTP request and its response.
pub(super) struct Carried {
    /// The client that reads the response.
    pub(super) client: usize,
    /// The number of the exchange; none for a copy of a request, whose response the client never sees.
    pub(super) number: Option<ExchangeNumber>,
    /// The request until it reaches the server.
    request: Option<HttpRequest>,
    exchange: Option<HttpExchange>,
    /// The head of the response until it reaches the client.
    head: Option<(u16, Vec<(String, String)>)>,
    /// The bytes of the body in transit.
    bytes: Vec<u8>,
    /// Whether the server has sent the complete response.
    is_complete: bool,
    reader: Option<ResponseReader>,
    /// The latest bytes that have reached the client.
    received: Received,
    pub(super) spoken: Spoken,
    /// The key of a request that waits for a token.
    pub(super) waiting: Option<RequestKey>,
    /// The `Authorization` field of the request, and the generation of its token.
    pub(super) token: Option<(Secret, u64)>,
    /// The request that was refused for its token.
    pub(super) refused: Option<HttpRequest>,
    /// The number of refusals for the token.
    pub(super) attempts: u32,
}

impl HttpWorld {
    /// Carries out the HTTP actions of the clients.
    pub(super) fn act(&mut self) -> Result<(), String> {
        (0..self.clients.len()).try_for_each(|client| self.act_for(client))
    }

    fn act_for(&mut self, client: usize) -> Result<(), String> {
        while let Some(action) = self.clients[client].transport.poll_action(self.now) {
            match action {
                Action::Send { exchange, request } => {
                    let named = |name: &&str| {
                        request.headers.iter().any(|(one, _)| one.eq_ignore_ascii_case(name))
                    };
                    let named: Vec<&str> = [name::SESSION_ID, name::LAST_EVENT_ID, name::NAME]
                        .into_iter()
                        .filter(named)
                        .collect();
                    self.note(format_args!(
                        "> {} {named:?} {}",
                        request.method,
                        body_text(&request.body)
                    ));
                    self.check_request(&request)?;
                    self.keep_for_replay(client, &request);
                    self.keep_sent(client, &request);
                    self.clients[client].note_sent(exchange, &request);
                    self.carried.push(Carried::new(client, Some(exchange), request));
                    self.permit(self.carried.len() - 1)?;
                }
                Action::Abort { exchange } => {
                    self.note(format_args!("x"));
                    if let Some(at) = self.position(client, exchange) {
                        self.drop_carried(at)?;
                    }
                }
                Action::Fail { call, failure } => {
                    let end = mcp_sansio::call::ExchangeEnd::Failure(failure);
                    let SimulatedClient { machine, transport, .. } = &mut self.clients[client];
                    let event = machine.exchange_ended(call, end, self.now, transport);
                    let event = event.map(|event| event.into_owned());
                    self.client_saw(client, event)?;
                }
                _ => return Err("unknown action".into()),
            }
        }
        Ok(())
    }

    fn position(&self, client: usize, number: ExchangeNumber) -> Option<usize> {
        self.carried.iter().position(|one| one.client == client && one.number == Some(number))
    }

    /// Removes an exchange that the client no longer reads.
    pub(super) fn drop_carried(&mut self, at: usize) -> Result<(), String> {
        let carried = self.carried.remove(at);
        if let (Some(key), Some(login)) = (carried.waiting, &mut self.clients[carried.client].login)
        {
            login.forget(key);
        }
        if let Some(exchange) = carried.exchange {
            self.http.disconnected(exchange, self.now);
        }
        Ok(())
    }

    pub(super) fn one(&self, which: u64, is_it: impl Fn(&Carried) -> bool) -> Option<usize> {
        let fitting: Vec<usize> =
            (0..self.carried.len()).filter(|at| is_it(&self.carried[*at])).collect();
        let index = usize::try_from(which.checked_rem(fitting.len() as u64)?).ok()?;
        fitting.get(index).copied()
    }

    pub(super) fn request(&mut self, which: u64) -> Result<(), String> {
        let Some(at) = self.one(which, Carried::is_under_way) else {
            return Ok(());
        };
        let Some(request) = self.carried[at].request.take() else { return Ok(()) };
        let mut fields: Vec<(&str, &[u8])> =
            request.headers.iter().map(|(name, value)| (&**name, value.as_bytes())).collect();
        fields.push(("Host", b"localhost"));
        let (client, token) = (self.carried[at].client, self.carried[at].token.clone());
        if let Some((field, _)) = &token {
            fields.push(("Authorization", field.expose().as_bytes()));
        }
        let head = RequestHead::new(request.method, &*fields);
        let source = match self.authorize(client, &head, &request.body)? {
            Ok(source) => source,
            Err(reply) => {
                self.note(format_args!("refused {} for its token", reply.status));
                self.carried[at].refused = Some(request);
                self.carried[at].reply(reply);
                return Ok(());
            }
        };
        if !self.carried[at].is_copy() {
            self.check_dispatch(at)?;
        }
        let now = self.now;
        let principal = source.principal;
        let exchange = match self.http.admit(&head) {
            Ok(Accepted::Post) => {
                self.sessions += 1;
                let mut random = [0; 16];
                random[..8].copy_from_slice(&self.sessions.to_le_bytes());
                let headers = Headers::from(&*fields);
                self.http.post(headers, &request.body, source, random, now, &|_| None)
            }
            Ok(Accepted::Listen { session, last_event }) => {
                self.http.listen(session, last_event, principal, now).map(Some)
            }
            Ok(Accepted::End { session }) => match self.http.end(session, principal, now) {
                Ok(reply) | Err(reply) => Err(reply),
            },
            Ok(_) => return Err("unknown admission".into()),
            Err(reply) => Err(reply),
        };
        match exchange {
            Ok(Some(exchange)) => {
                self.carried[at].exchange = Some(exchange);
                if request.method == "POST" {
                    self.receive(at, exchange, &request.body)?;
                }
            }
            Ok(None) => self.carried[at].reply(Reply::empty(202)),
            Err(reply) => {
                self.note(format_args!("refused {}", reply.status));
                self.carried[at].reply(reply);
            }
        }
        Ok(())
    }

    /// Passes the messages of a body to their machine, and their events to the application.
    fn receive(&mut self, at: usize, exchange: HttpExchange, body: &[u8]) -> Result<(), String> {
        let (now, limits) = (self.now, self.http.limits().clone());
        for frame in Frames::of(body, &limits) {
            let (meter, length) = (WorkMeter::start(), frame.bytes().len());
            let event = self.http.receive(exchange, frame, now);
            meter.check(length).map_err(|broken| broken.to_string())?;
            if let Some(ServerEvent::Request(request)) = &event {
                self.check_owner(request, self.carried[at].client)?;
            }
            let event = event.map(|event| (exchange.connection(), event.into_owned()));
            self.server_saw(event)?;
            if let Some(is_found) = self.is_found.take() {
                self.carried[at].spoken.expect_task(is_found);
            }
        }
        Ok(())
    }

    pub(super) fn respond(&mut self, which: u64) -> Result<(), String> {
        let Some(at) = self.one(which, |one| one.exchange.is_some() && !one.is_complete) else {
            return Ok(());
        };
        let carried = &mut self.carried[at];
        let Some(exchange) = carried.exchange else { return Ok(()) };
        let before = carried.bytes.len();
        let part = self.http.next(exchange, self.now, &mut carried.bytes);
        let chunk = String::from_utf8_lossy(&carried.bytes[before..]).into_owned();
        carried.spoken.part(part, &chunk)?;
        match part {
            ResponsePart::Head(head) => {
                let mut fields: Vec<(String, String)> =
                    head.headers().iter().map(|(a, b)| ((*a).into(), (*b).into())).collect();
                if let Some(session) = head.session {
                    fields.push((name::SESSION_ID.into(), session.to_string()));
                }
                carried.head = Some((head.status, fields));
            }
            ResponsePart::End => carried.is_complete = true,
            _ => {}
        }
        if part != ResponsePart::Nothing {
            self.note_value(format_args!("< {part:?} {chunk:?}"), &(part, &chunk));
        }
        Ok(())
    }

    pub(super) fn deliver(&mut self, which: u64, bytes: usize) -> Result<(), String> {
        let has_something = |one: &Carried| {
            one.head.is_some()
                || !one.bytes.is_empty()
                || (one.is_complete && (one.reader.is_some() || one.is_copy()))
        };
        let Some(at) = self.one(which, has_something) else { return Ok(()) };
        let carried = &mut self.carried[at];
        let client = carried.client;
        let Some(number) = carried.number else {
            self.lose(at)?;
            return Ok(());
        };
        if let Some((status, fields)) = carried.head.take() {
            if self.challenge(at, status, &fields)? {
                return Ok(());
            }
            if let Some((_, id)) = fields.iter().find(|(name, _)| name == name::SESSION_ID) {
                self.check_session(client, id)?;
            }
            let fields: Vec<(&str, &[u8])> =
                fields.iter().map(|(name, value)| (&**name, value.as_bytes())).collect();
            let headers = Headers::from(&*fields);
            let spoken = &self.carried[at].spoken;
            let SimulatedClient { transport, stream, .. } = &mut self.clients[client];
            if spoken.is_get() {
                stream.on_status(status, spoken.resumes());
            }
            let reader = transport.head(number, status, headers, self.now);
            if reader.is_none() {
                return self.drop_carried(at);
            }
            self.carried[at].reader = reader;
            return Ok(());
        }
        let Some(mut reader) = carried.reader.take() else { return Ok(()) };
        let bytes = bytes.min(carried.bytes.len());
        let delivered: Vec<u8> = carried.bytes.drain(..bytes).collect();
        let ends = carried.is_complete && carried.bytes.is_empty() && bytes == 0;
        let mut received = std::mem::take(&mut carried.received);
        self.check_secrets(client, &mut received, &delivered)?;
        self.carried[at].received = received;
        let mut chunk = &*delivered;
        let now = self.now;
        while let Some(arrived) = self.clients[client].transport.chunk(&mut reader, &mut chunk, now)
        {
            self.arrived((client, number), arrived)?;
        }
        if ends {
            self.note_stream_end(at);
            if let Some(arrived) = self.clients[client].transport.end(&mut reader, now) {
                self.arrived((client, number), arrived)?;
            }
            self.carried.retain(|one| (one.client, one.number) != (client, Some(number)));
            return Ok(());
        }
        let Some(at) = self.position(client, number) else { return Ok(()) };
        if reader.is_done() {
            // The rest of the body is ignored, and its end ends the exchange.
            _ = self.clients[client].transport.end(&mut reader, now);
            return self.drop_carried(at);
        }
        self.carried[at].reader = Some(reader);
        Ok(())
    }

    /// Loses the bytes of a response to a copy, which must not contain the secrets of others either.
    fn lose(&mut self, at: usize) -> Result<(), String> {
        let carried = &mut self.carried[at];
        carried.head = None;
        let (client, bytes) = (carried.client, std::mem::take(&mut carried.bytes));
        let mut received = std::mem::take(&mut carried.received);
        let is_over = carried.is_complete;
        self.check_secrets(client, &mut received, &bytes)?;
        self.carried[at].received = received;
        if is_over { self.drop_carried(at) } else { Ok(()) }
    }

    pub(super) fn break_off(&mut self, which: u64) -> Result<(), String> {
        let Some(at) = self.one(which, |_| true) else { return Ok(()) };
        let Carried { client, number, .. } = self.carried[at];
        self.note(format_args!("broken"));
        let has_arrived = self.carried[at].request.is_none();
        self.note_stream_end(at);
        self.drop_carried(at)?;
        let Some(number) = number else { return Ok(()) };
        let transport = &mut self.clients[client].transport;
        let arrived = if has_arrived {
            transport.broken(number, None, self.now)
        } else {
            transport.failed(number, None, self.now)
        };
        arrived.map_or(Ok(()), |arrived| self.arrived((client, number), arrived))
    }

    /// Delivers everything in transit until nothing changes.
    pub(super) fn settle(&mut self) -> Result<(), String> {
        for _ in 0..10_000 {
            let before = (self.trace.len(), self.carried.len());
            self.act()?;
            self.elapse()?;
            self.log_all_in()?;
            self.request(0)?;
            for which in 0..self.carried.len() as u64 {
                self.respond(which)?;
            }
            let mut moved = false;
            for which in 0..self.carried.len() as u64 {
                let waiting = |world: &Self| {
                    world
                        .carried
                        .iter()
                        .map(|one| one.bytes.len() + usize::from(one.head.is_some()))
                        .sum::<usize>()
                };
                let left = waiting(self);
                self.deliver(which, usize::MAX)?;
                moved |= left != waiting(self);
            }
            if !moved && before == (self.trace.len(), self.carried.len()) {
                return Ok(());
            }
        }
        Err("endless: it never settles".into())
    }
}

impl Carried {
    pub(super) fn new(client: usize, number: Option<ExchangeNumber>, request: HttpRequest) -> Self {
        Self {
            client,
            number,
            spoken: Spoken::of(&request),
            request: Some(request),
            exchange: None,
            head: None,
            bytes: Vec::new(),
            is_complete: false,
            reader: None,
            received: Received::default(),
            waiting: None,
            token: None,
            refused: None,
            attempts: 0,
        }
    }

    /// Whether this is the copy of a request.
    pub(super) const fn is_copy(&self) -> bool {
        self.number.is_none()
    }

    /// Lets a refused request wait for another token.
    pub(super) fn try_again(&mut self, request: HttpRequest, key: RequestKey) {
        self.spoken = Spoken::of(&request);
        self.request = Some(request);
        self.waiting = Some(key);
        self.attempts += 1;
        self.bytes.clear();
        self.is_complete = false;
    }

    /// Takes the request, which does not reach the server.
    pub(super) fn take_request(&mut self) -> Option<HttpRequest> {
        self.request.take()
    }

    /// Whether the request waits to reach the server.
    pub(super) const fn is_under_way(&self) -> bool {
        self.request.is_some() && self.waiting.is_none()
    }

    /// Whether the exchange is a GET request of a client.
    pub(super) const fn is_get(&self) -> bool {
        self.spoken.is_get() && !self.is_copy()
    }

    pub(super) fn reply(&mut self, reply: Reply) {
        let fields = reply.headers().map(|(name, value)| (name.into(), value.into()));
        self.head = Some((reply.status, fields.collect()));
        self.bytes = reply.body;
        self.is_complete = true;
        // The end of an empty body must also be delivered.
    }
}

fn body_text(body: &[u8]) -> String {
    String::from_utf8_lossy(body).into_owned()
}
