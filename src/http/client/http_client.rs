//! [`HttpClient`], a complete client over HTTP in one value.

use alloc::collections::VecDeque;
use alloc::sync::Arc;

use super::action::Action;
use super::arrived::{Arrived, Step};
use super::client_transport::ClientTransport;
use super::config::HttpClientConfig;
use super::exchange::ExchangeNumber;
use super::response_reader::ResponseReader;
use crate::client::{Client, ClientEvent, ConnectError};
use crate::config::ClientConfig;
use crate::connection::{Cause, ExchangeEnd, TransportError, TransportFailure};
use crate::frame::Frames;
use crate::handle::{CallId, ConnectionNumber};
use crate::http::Headers;
use crate::session::Phase;
use crate::time::Instant;

/// A client over HTTP: a [`Client`], and the [`ClientTransport`] that sends its messages.
///
/// This type suits single-threaded loops, simulations and fuzzers. A multi-threaded application combines the same
/// parts itself, as the adapter does. The client performs no IO: [`poll_action`](Self::poll_action) returns the
/// requests to send.
///
/// If the server ends a session, the client opens another one, once, under the next
/// [connection number](ConnectionNumber): calls end with [`Cause::SessionLost`], and a second
/// [`Connected`](ClientEvent::Connected) follows.
///
/// ```
/// use std::sync::Arc;
/// use mcp_sansio::http::{Action, Headers, HttpClient, HttpClientConfig};
/// use mcp_sansio::{ClientConfig, ClientEvent, Instant};
///
/// let config = Arc::new(HttpClientConfig::new("http://localhost:3000/mcp"));
/// let mut http = HttpClient::new(config, Arc::new(ClientConfig::new("doc", "1.0")));
/// let now = Instant::EPOCH;
/// http.connect(now)?;
///
/// let Some(Action::Send { exchange, request }) = http.poll_action(now) else { panic!("a request") };
/// assert_eq!((request.method, &*request.url), ("POST", "http://localhost:3000/mcp"));
/// assert!(request.headers.contains(&("Mcp-Method".into(), "server/discover".into())));
/// assert_eq!(http.poll_action(now), None);
///
/// let fields = [("Content-Type", &b"application/json"[..])];
/// let mut reader = http.head(exchange, 200, Headers::from(&fields[..]), now).expect("it is wanted");
/// let body = br#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","ttlMs":0,
///     "cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}"#;
/// let mut rest = &body[..];
/// loop {
///     assert_eq!(http.chunk(&mut reader, &mut rest, now), None, "a JSON body is read to its end");
///     if !reader.has_more() {
///         break;
///     }
/// }
/// let event = http.end(&mut reader, now);
/// assert!(matches!(event, Some(ClientEvent::Connected(_))));
/// # Ok::<(), mcp_sansio::error::ConnectError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HttpClient {
    client: Client,
    transport: ClientTransport,
    renewal: Renewal,
    /// Calls that cannot be sent.
    failed: VecDeque<(CallId, TransportFailure<'static>)>,
}

/// The state of replacing a session that the server has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Renewal {
    /// The server has not ended a session.
    No,
    /// The calls of the session end before another one is opened.
    Due,
    /// Another session has been requested.
    Asked,
}

/// # Starting
impl HttpClient {
    /// Creates a client that has not sent anything.
    pub fn new(config: Arc<HttpClientConfig>, client: Arc<ClientConfig>) -> Self {
        let transport = ClientTransport::new(config, &client.connection.limits)
            .match_stringified_ids(client.connection.match_stringified_ids);
        let client = Client::new(client);
        Self { client, transport, renewal: Renewal::No, failed: VecDeque::new() }
    }

    /// Starts the connection: see [`Client::connect`].
    ///
    /// # Errors
    ///
    /// [`ConnectError`] if nothing can be sent.
    pub fn connect(&mut self, now: Instant) -> Result<(), ConnectError> {
        self.client.connect(now, &mut self.transport)
    }

    /// Returns the machine.
    pub const fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the transport.
    pub const fn transport(&self) -> &ClientTransport {
        &self.transport
    }

    /// Calls a function with the machine and its transport: to make a call, for example.
    pub fn with<T>(&mut self, act: impl FnOnce(&mut Client, &mut ClientTransport) -> T) -> T {
        act(&mut self.client, &mut self.transport)
    }

    /// Whether the connection is over and all its events have been returned.
    pub fn is_over(&self) -> bool {
        let is_reported = self.client.poll_timeout().is_none() && self.failed.is_empty();
        self.client.phase() == Phase::Closed && is_reported && self.transport.is_over()
    }
}

/// # Sending
impl HttpClient {
    /// Returns the next HTTP operation to perform. Call the method until it returns `None`, after every input and at
    /// the time of [`poll_timeout`](Self::poll_timeout). The operation is never [`Action::Fail`]:
    /// [`handle_timeout`](Self::handle_timeout) returns the event instead.
    #[must_use = "an action that is dropped is never done, and its message is lost"]
    pub fn poll_action(&mut self, now: Instant) -> Option<Action> {
        loop {
            match self.transport.poll_action(now)? {
                Action::Fail { call, failure } => self.failed.push_back((call, failure)),
                action => return Some(action),
            }
        }
    }
}

/// # Receiving
impl HttpClient {
    /// Reports the head of a response: see [`ClientTransport::head`].
    #[must_use = "without the reader the body of the response cannot be read"]
    pub fn head(
        &mut self,
        exchange: ExchangeNumber,
        status: u16,
        headers: Headers<'_>,
        now: Instant,
    ) -> Option<ResponseReader> {
        self.transport.head(exchange, status, headers, now)
    }

    /// Reports a part of the body. Processes at most one message of it: call it again while the reader
    /// [has more](ResponseReader::has_more).
    #[must_use = "an event that is dropped is lost, and a request in it must be answered"]
    pub fn chunk<'r>(
        &mut self,
        reader: &'r mut ResponseReader,
        chunk: &mut &[u8],
        now: Instant,
    ) -> Option<ClientEvent<'r>> {
        let step = match reader.rest {
            Some(_) => None,
            None => {
                let step = self.transport.take(reader, chunk, now);
                if step.is_none() {
                    // The rest of the chunk is not needed.
                    *chunk = &[];
                }
                step
            }
        };
        reader.has_more = !chunk.is_empty();
        self.stepped(reader, step, now)
    }

    /// Reports the end of the body, complete or not. Processes at most one message: call it again while the reader
    /// [has more](ResponseReader::has_more).
    #[must_use = "an event that is dropped is lost, and a request in it must be answered"]
    pub fn end<'r>(
        &mut self,
        reader: &'r mut ResponseReader,
        now: Instant,
    ) -> Option<ClientEvent<'r>> {
        let step = match reader.rest {
            Some(_) => None,
            None => self.transport.take_end(reader, now),
        };
        reader.has_more = false;
        self.stepped(reader, step, now)
    }

    /// Reports that a request could not be sent: see [`ClientTransport::failed`].
    #[must_use = "an event that is dropped is lost; it is not delivered again"]
    pub fn failed(
        &mut self,
        exchange: ExchangeNumber,
        error: Option<TransportError>,
        now: Instant,
    ) -> Option<ClientEvent<'static>> {
        let arrived = self.transport.failed(exchange, error, now)?;
        self.ended(arrived, now)
    }

    /// Reports that the exchange has broken off: see [`ClientTransport::broken`].
    #[must_use = "an event that is dropped is lost; it is not delivered again"]
    pub fn broken(
        &mut self,
        exchange: ExchangeNumber,
        error: Option<TransportError>,
        now: Instant,
    ) -> Option<ClientEvent<'static>> {
        let arrived = self.transport.broken(exchange, error, now)?;
        self.ended(arrived, now)
    }

    /// Passes the next message to the machine.
    fn stepped<'r>(
        &mut self,
        reader: &'r mut ResponseReader,
        step: Option<Step>,
        now: Instant,
    ) -> Option<ClientEvent<'r>> {
        match step {
            None => {}
            Some(Step::Message(received)) => {
                let limits = &self.client.config().connection.limits;
                reader.rest = Some((Frames::of(&reader.message, limits).rest(), received));
            }
            Some(step) => {
                let arrived =
                    step.arrived(&reader.message, &self.client.config().connection.limits)?;
                return self.ended(arrived, now);
            }
        }
        let (rest, received) = reader.rest.take()?;
        let mut frames = Frames::resume(&reader.message, rest);
        let frame = frames.next()?;
        if !frame.is_last() {
            reader.rest = Some((frames.rest(), received));
            reader.has_more = true;
        }
        let event = self.client.receive(frame, received, &mut self.transport);
        self.watched(event)
    }

    fn ended<'r>(&mut self, arrived: Arrived<'r>, now: Instant) -> Option<ClientEvent<'r>> {
        match arrived {
            Arrived::Ended { call, end } => {
                let event = self.client.exchange_ended(call, end, now, &mut self.transport);
                self.watched(event)
            }
            Arrived::SessionLost => {
                let is_ending = matches!(self.client.phase(), Phase::Draining | Phase::Closed);
                // A replacement that has not worked is not replaced again.
                let is_vain =
                    self.renewal == Renewal::Asked && !self.transport.session_has_worked();
                self.client.disconnected(Cause::SessionLost, now);
                if !is_ending && !is_vain && self.client.basis().is_some() {
                    self.renewal = Renewal::Due;
                }
                // The session is gone, so the transport must not end it at the server.
                self.transport.renew();
                None
            }
            Arrived::ConnectionLost => {
                self.client.disconnected(Cause::EndOfInput, now);
                None
            }
            // If a lost message matters, the further messages of the server show it.
            Arrived::NotTaken { .. } | Arrived::Messages { .. } => None,
        }
    }

    fn watched<'r>(&mut self, event: Option<ClientEvent<'r>>) -> Option<ClientEvent<'r>> {
        let event = event?;
        self.transport.watch(&event);
        Some(event)
    }
}

/// # Time
impl HttpClient {
    /// Returns the time at which to call [`handle_timeout`](Self::handle_timeout) and
    /// [`poll_action`](Self::poll_action) without other input. The time is in the past if an event is ready.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let waiting = (!self.failed.is_empty()).then_some(Instant::EPOCH);
        let due = waiting.into_iter().chain(self.client.poll_timeout());
        due.chain(self.transport.poll_timeout()).min()
    }

    /// Returns the next event that is due to time or to the end of the connection. Call it until it returns `None`.
    #[must_use = "an event that is dropped is lost; it is not delivered again"]
    pub fn handle_timeout(&mut self, now: Instant) -> Option<ClientEvent<'static>> {
        while let Some((call, failure)) = self.failed.pop_front() {
            let end = ExchangeEnd::Failure(failure);
            let event = self.client.exchange_ended(call, end, now, &mut self.transport);
            if let Some(event) = self.watched(event) {
                return Some(event);
            }
        }
        loop {
            let event = self.client.handle_timeout(now, &mut self.transport)?;
            if self.renewal == Renewal::Due && matches!(event, ClientEvent::Closed { .. }) {
                self.renew(now);
                continue;
            }
            return self.watched(Some(event));
        }
    }

    /// Opens another session.
    fn renew(&mut self, now: Instant) {
        let number = self.client.connection_number().get().wrapping_add(1);
        self.client = self.client.reconnect(ConnectionNumber::new(number));
        self.renewal = Renewal::Asked;
        // If nothing can be sent, the machine ends, and its end is reported as usual.
        if self.client.connect(now, &mut self.transport).is_err() {
            self.client.disconnected(Cause::SessionLost, now);
        }
    }
}
