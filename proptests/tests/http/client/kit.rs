//! A client behind HTTP, its requests, and responses in any form.

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::http::{
    Action, ExchangeNumber, Headers, HttpClient, HttpClientConfig, HttpRequest, ResponseReader,
};
use mcp_sansio::json::Raw;
use mcp_sansio::{CallId, CallOptions, ClientConfig, ClientEvent, Instant, Outcome, Revision};
use mcp_sansio_proptests::config;

pub(super) const URL: &str = "http://h/mcp";

/// The `_meta` members of the kit's client, without braces.
pub(super) const META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"client","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}}}"#;

/// The `server/discover` result of a server with all capabilities.
pub(super) const DISCOVERY: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"completions":{},"logging":{}},"ttlMs":0,"cacheScope":"private"}"#;

/// The notification after the response to `initialize`.
pub(super) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

pub(super) const JSON: (&str, &str) = ("Content-Type", "application/json");
pub(super) const EVENTS: (&str, &str) = ("content-type", "text/event-stream");

/// A client and its clock.
#[derive(Clone)]
pub(super) struct Side {
    pub(super) http: HttpClient,
    pub(super) now: Instant,
}

/// An HTTP request of the client.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) exchange: ExchangeNumber,
    pub(super) request: HttpRequest,
}

/// An action that the client requests.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Send(Sent),
    Abort(ExchangeNumber),
}

impl Sent {
    /// The request without the fields that every request of its kind has: the method, the URL, the other header
    /// fields, a blank line and the body.
    #[track_caller]
    pub(super) fn text(&self) -> String {
        let HttpRequest { method, url, headers, body, .. } = &self.request;
        let mut text = format!("{method} {url}\n");
        let fixed: &[(&str, &str)] = match *method {
            "POST" => &[
                ("Content-Type", "application/json"),
                ("Accept", "application/json, text/event-stream"),
            ],
            "GET" => &[("Accept", "text/event-stream")],
            _ => &[],
        };
        for (index, (name, value)) in headers.iter().enumerate() {
            match fixed.get(index) {
                Some(fixed) => assert_eq!((&**name, &**value), *fixed),
                None => text.push_str(&format!("{name}: {value}\n")),
            }
        }
        assert!(fixed.len() <= headers.len());
        assert_eq!(*method == "POST", !body.is_empty());
        text.push('\n');
        text.push_str(std::str::from_utf8(body).unwrap());
        text
    }

    pub(super) fn body(&self) -> &str {
        std::str::from_utf8(&self.request.body).unwrap()
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.request.headers.iter().filter(|(known, _)| known == name);
        let value = all.next().map(|(_, value)| &**value);
        assert!(all.next().is_none(), "{name} twice");
        value
    }

    pub(super) fn id(&self) -> u64 {
        let body: serde_json::Value = serde_json::from_slice(&self.request.body).unwrap();
        body["id"].as_u64().unwrap()
    }
}

/// Returns a POST in the form of [`Sent::text`].
pub(super) fn post(headers: &[(&str, &str)], body: &str) -> String {
    request("POST", URL, headers, body)
}

/// Returns a GET in the form of [`Sent::text`].
pub(super) fn get(headers: &[(&str, &str)]) -> String {
    request("GET", URL, headers, "")
}

pub(super) fn request(method: &str, url: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut text = format!("{method} {url}\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\n"));
    }
    text + "\n" + body
}

impl Side {
    pub(super) fn with(client: ClientConfig, http: HttpClientConfig) -> Self {
        let http = HttpClient::new(Arc::new(http), Arc::new(client));
        Self { http, now: Instant::from_millis(1_000_000) }
    }

    pub(super) fn begun_with(client: ClientConfig, http: HttpClientConfig) -> Self {
        let mut side = Self::with(client, http);
        side.http.connect(side.now).unwrap();
        side
    }

    pub(super) fn begun(client: ClientConfig) -> Self {
        Self::begun_with(client, HttpClientConfig::new(URL))
    }

    /// Creates a client that has discovered a modern server. Its next request has id 2.
    pub(super) fn modern() -> Self {
        Self::modern_with(HttpClientConfig::new(URL))
    }

    pub(super) fn modern_with(http: HttpClientConfig) -> Self {
        let mut side = Self::begun_with(config::client_of_both_eras(), http);
        let probe = side.sent_one();
        let events = side.json(&probe, &result(1, DISCOVERY));
        assert!(matches!(&events[..], [ClientEvent::Connected(_)]), "{events:?}");
        side
    }

    /// Creates a client in a session. Its next request has id 2.
    pub(super) fn session(revision: Revision) -> Self {
        Self::session_with(revision, HttpClientConfig::new(URL))
    }

    /// Like `session`, with a configuration; the server has no event stream for the session.
    pub(super) fn session_with(revision: Revision, http: HttpClientConfig) -> Self {
        let (mut side, listening) = Self::listening(revision, http);
        assert_eq!(side.answer(&listening, 405, &[], ""), []);
        assert_eq!(side.http.transport().exchanges(), 0);
        side
    }

    /// Like `session_with`, with the request for the event stream still open.
    pub(super) fn listening(revision: Revision, http: HttpClientConfig) -> (Self, Sent) {
        Self::listening_as(config::client(), revision, http)
    }

    /// Like `listening`, with the configuration of the client.
    pub(super) fn listening_as(
        client: ClientConfig,
        revision: Revision,
        http: HttpClientConfig,
    ) -> (Self, Sent) {
        let mut side = Self::begun_with(client, http);
        let opening = side.sent_one();
        assert_eq!(opening.id(), 1);
        let headers = [JSON, ("mcp-session-id", "s-1")];
        let events = side.answer(&opening, 200, &headers, &result(1, &session(revision)));
        assert!(matches!(&events[..], [ClientEvent::Connected(_)]), "{events:?}");
        let initialized = side.sent_one();
        assert_eq!(initialized.body(), INITIALIZED);
        assert_eq!(side.answer(&initialized, 202, &[], ""), []);
        let listening = side.sent_one();
        assert_eq!(listening.request.method, "GET");
        (side, listening)
    }

    /// Returns the pending actions of the client.
    pub(super) fn acts(&mut self) -> Vec<Act> {
        let mut acts = Vec::new();
        loop {
            let is_announced = self.http.transport().has_actions()
                || self.http.poll_timeout().is_some_and(|due| due <= self.now);
            let Some(action) = self.http.poll_action(self.now) else { break };
            assert!(is_announced, "no action was announced: {action:?}");
            acts.push(match action {
                Action::Send { exchange, request } => Act::Send(Sent { exchange, request }),
                Action::Abort { exchange } => Act::Abort(exchange),
                other => panic!("{other:?}"),
            });
        }
        assert!(!self.http.transport().has_actions(), "an action is announced, but there is none");
        acts
    }

    /// Returns the pending requests of the client; any other action fails the test.
    #[track_caller]
    pub(super) fn sent(&mut self) -> Vec<Sent> {
        let sent = |act| match act {
            Act::Send(sent) => sent,
            Act::Abort(exchange) => panic!("{exchange:?} is broken off"),
        };
        self.acts().into_iter().map(sent).collect()
    }

    #[track_caller]
    pub(super) fn sent_one(&mut self) -> Sent {
        let mut sent = self.sent();
        assert_eq!(sent.len(), 1, "{sent:?}");
        sent.remove(0)
    }

    /// Expects the client to abort this exchange, and nothing else.
    #[track_caller]
    pub(super) fn aborts(&mut self, exchange: ExchangeNumber) {
        match &self.acts()[..] {
            [Act::Abort(aborted)] if *aborted == exchange => {}
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    pub(super) fn does_nothing(&mut self) {
        let acts = self.acts();
        assert!(acts.is_empty(), "{acts:?}");
        assert_eq!(self.due(), []);
        let due = self.http.poll_timeout();
        assert!(due.is_none_or(|due| self.now < due), "everything that was due is done");
    }

    /// Receives the head of a response, as in [`HttpClient::head`].
    pub(super) fn head(
        &mut self,
        sent: &Sent,
        status: u16,
        headers: &[(&str, &str)],
    ) -> Option<ResponseReader> {
        let fields: Vec<(&str, &[u8])> =
            headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
        self.http.head(sent.exchange, status, Headers::from(&fields[..]), self.now)
    }

    /// Receives the head of an event stream.
    #[track_caller]
    pub(super) fn stream(&mut self, sent: &Sent) -> ResponseReader {
        self.head(sent, 200, &[EVENTS]).expect("the response is wanted")
    }

    /// Receives a part of a body.
    pub(super) fn chunk(
        &mut self,
        reader: &mut ResponseReader,
        chunk: &[u8],
    ) -> Vec<ClientEvent<'static>> {
        let (mut events, mut rest) = (Vec::new(), chunk);
        loop {
            let event = self.http.chunk(reader, &mut rest, self.now);
            events.extend(event.map(ClientEvent::into_owned));
            if !reader.has_more() {
                return events;
            }
        }
    }

    /// Receives an event of type `message`.
    pub(super) fn says(
        &mut self,
        reader: &mut ResponseReader,
        message: &str,
    ) -> Vec<ClientEvent<'static>> {
        self.chunk(reader, format!("data: {message}\n\n").as_bytes())
    }

    /// Receives the end of a body.
    pub(super) fn end(&mut self, reader: &mut ResponseReader) -> Vec<ClientEvent<'static>> {
        let mut events = Vec::new();
        loop {
            let event = self.http.end(reader, self.now);
            events.extend(event.map(ClientEvent::into_owned));
            if !reader.has_more() {
                return events;
            }
        }
    }

    /// Receives a complete response.
    pub(super) fn answer(
        &mut self,
        sent: &Sent,
        status: u16,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Vec<ClientEvent<'static>> {
        let Some(mut reader) = self.head(sent, status, headers) else { return Vec::new() };
        let mut events = self.chunk(&mut reader, body.as_bytes());
        events.extend(self.end(&mut reader));
        events
    }

    /// Receives a complete response with a JSON body.
    pub(super) fn json(&mut self, sent: &Sent, body: &str) -> Vec<ClientEvent<'static>> {
        self.answer(sent, 200, &[JSON], body)
    }

    pub(super) fn failed(&mut self, sent: &Sent) -> Vec<ClientEvent<'static>> {
        let event = self.http.failed(sent.exchange, None, self.now);
        event.into_iter().collect()
    }

    /// Handles the due timeouts.
    pub(super) fn due(&mut self) -> Vec<ClientEvent<'static>> {
        let events = std::iter::from_fn(|| {
            let is_due = self.http.poll_timeout().is_some_and(|due| due <= self.now);
            let event = self.http.handle_timeout(self.now);
            assert!(is_due || event.is_none(), "no timeout was due: {event:?}");
            event
        });
        events.collect()
    }

    pub(super) fn elapse(&mut self, milliseconds: u64) {
        self.now = self.now + Duration::from_millis(milliseconds);
    }

    /// Returns the milliseconds until the next deadline of the HTTP transport.
    pub(super) fn waits(&self) -> Option<u128> {
        let due = self.http.transport().poll_timeout()?;
        Some(due.since_epoch().saturating_sub(self.now.since_epoch()).as_millis())
    }

    #[track_caller]
    pub(super) fn call(&mut self, method: &str, params: &str) -> CallId {
        self.call_with(method, params, CallOptions::new())
    }

    #[track_caller]
    pub(super) fn call_with(&mut self, method: &str, params: &str, options: CallOptions) -> CallId {
        let now = self.now;
        let params = Raw::new(params).unwrap();
        self.http
            .with(|client, out| client.call_method(method, &params, options, now, out))
            .unwrap()
    }

    /// Makes a call and returns its request.
    #[track_caller]
    pub(super) fn asks(&mut self, method: &str, params: &str) -> (CallId, Sent) {
        let call = self.call(method, params);
        (call, self.sent_one())
    }
}

/// Returns a result of `initialize`.
pub(super) fn session(revision: Revision) -> String {
    format!(
        r#"{{"protocolVersion":"{revision}","capabilities":{{"tools":{{"listChanged":true}},"resources":{{"subscribe":true,"listChanged":true}},"prompts":{{"listChanged":true}},"logging":{{}},"completions":{{}}}},"serverInfo":{{"name":"server","version":"1"}}}}"#
    )
}

/// Returns a request of a modern client; `params` are its members without `_meta`.
pub(super) fn asked(id: u64, method: &str, params: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}{comma}"_meta":{{{META}}}}}}}"#
    )
}

/// Returns a response with a result.
pub(super) fn result(id: u64, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// Returns a response with an error, with this id or without one.
pub(super) fn error(id: impl Into<Option<u64>>, code: i64) -> String {
    let id = id.into().map(|id| format!(r#""id":{id},"#)).unwrap_or_default();
    format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":{code},"message":"m"}}}}"#)
}

/// Expects one ended call and no other event, and returns the call's outcome.
#[track_caller]
pub(super) fn ended(events: Vec<ClientEvent<'static>>) -> (CallId, Outcome<'static>) {
    let mut events = events.into_iter();
    match (events.next(), events.next()) {
        (Some(ClientEvent::CallEnded(ended)), None) => (ended.call, ended.outcome),
        other => panic!("{other:?}"),
    }
}

/// Expects one call that has ended with a result.
#[track_caller]
pub(super) fn complete(events: Vec<ClientEvent<'static>>) -> (CallId, String) {
    match ended(events) {
        (call, Outcome::Result(result)) => (call, result.as_json().to_owned()),
        other => panic!("no result: {other:?}"),
    }
}
