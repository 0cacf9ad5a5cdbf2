//! A whole client of a server behind HTTP, as one value.

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

/// A client of a server behind HTTP: a [`Client`], and the [`ClientTransport`] by which its messages leave.
///
/// It is for loops of one thread, for simulations and for fuzzers. Whoever has many threads builds the same from
/// its parts, as the adapter does. It makes no requests of HTTP: [`poll_action`](Self::poll_action) says which to
/// make.
///
/// If the server ends a session, another one is asked for, once, under the next
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
    /// Calls that cannot be carried.
    failed: VecDeque<(CallId, TransportFailure<'static>)>,
}

/// What is done about a session that the server has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Renewal {
    /// Nothing: it has not.
    No,
    /// Its calls have to end before another one is asked for.
    Due,
    /// Another one has been asked for.
    Asked,
}

/// # Starting
impl HttpClient {
    /// A client that has not said anything yet.
    pub fn new(config: Arc<HttpClientConfig>, client: Arc<ClientConfig>) -> Self {
        let transport = ClientTransport::new(config, &client.connection.limits);
        let client = Client::new(client);
        Self { client, transport, renewal: Renewal::No, failed: VecDeque::new() }
    }

    /// Begins: see [`Client::connect`].
    ///
    /// # Errors
    ///
    /// [`ConnectError`] says why nothing is sent.
    pub fn connect(&mut self, now: Instant) -> Result<(), ConnectError> {
        self.client.connect(now, &mut self.transport)
    }

    /// The machine.
    pub const fn client(&self) -> &Client {
        &self.client
    }

    /// Where its messages go.
    pub const fn transport(&self) -> &ClientTransport {
        &self.transport
    }

    /// Does something with the machine: makes a call, for example.
    pub fn with<T>(&mut self, act: impl FnOnce(&mut Client, &mut ClientTransport) -> T) -> T {
        act(&mut self.client, &mut self.transport)
    }

    /// Whether everything is over, and told.
    pub fn is_over(&self) -> bool {
        let is_told = self.client.poll_timeout().is_none() && self.failed.is_empty();
        self.client.phase() == Phase::Closed && is_told && self.transport.is_over()
    }
}

/// # Sending
impl HttpClient {
    /// The next thing to do with HTTP: never [`Action::Fail`], which
    /// [`handle_timeout`](Self::handle_timeout) tells. Ask until there is nothing, after everything that has
    /// happened, and when the time of [`poll_timeout`](Self::poll_timeout) has come.
    #[must_use = "an action that is dropped is never done, and what it carried is lost"]
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
    /// The head of a response has come: see [`ClientTransport::head`].
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

    /// A part of the body has come. Takes at most one message of it: call it again while the reader
    /// [has more](ResponseReader::has_more).
    #[must_use = "the event is the only word of it, and a request in it must be answered"]
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
                    // Nothing else is in it that anybody wants.
                    *chunk = &[];
                }
                step
            }
        };
        reader.has_more = !chunk.is_empty();
        self.stepped(reader, step, now)
    }

    /// The body has come to its end, as it should or not. Hands on at most one message: call it again while the
    /// reader [has more](ResponseReader::has_more).
    #[must_use = "the event is the only word of it, and a request in it must be answered"]
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

    /// A request could not be made, or its response broke off before its head: see [`ClientTransport::failed`].
    #[must_use = "the event is the only word of it"]
    pub fn failed(
        &mut self,
        exchange: ExchangeNumber,
        error: Option<TransportError>,
        now: Instant,
    ) -> Option<ClientEvent<'static>> {
        let arrived = self.transport.failed(exchange, error, now)?;
        self.ended(arrived, now)
    }

    /// The exchange has broken off: see [`ClientTransport::broken`].
    #[must_use = "the event is the only word of it"]
    pub fn broken(
        &mut self,
        exchange: ExchangeNumber,
        error: Option<TransportError>,
        now: Instant,
    ) -> Option<ClientEvent<'static>> {
        let arrived = self.transport.broken(exchange, error, now)?;
        self.ended(arrived, now)
    }

    /// Hands on the next message.
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
                // Once is enough, unless there was something to be had of it.
                let is_vain =
                    self.renewal == Renewal::Asked && !self.transport.session_has_worked();
                self.client.disconnected(Cause::SessionLost, now);
                if !is_ending && !is_vain && self.client.was_connected() {
                    self.renewal = Renewal::Due;
                }
                // There is no session to take leave of.
                self.transport.renew();
                None
            }
            Arrived::ConnectionLost => {
                self.client.disconnected(Cause::EndOfInput, now);
                None
            }
            // Whether it matters shows in what the server does next.
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
    /// When to call [`handle_timeout`](Self::handle_timeout) and [`poll_action`](Self::poll_action) although nothing
    /// has happened: in the past if something waits to be told.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let waiting = (!self.failed.is_empty()).then_some(Instant::EPOCH);
        let due = waiting.into_iter().chain(self.client.poll_timeout());
        due.chain(self.transport.poll_timeout()).min()
    }

    /// Does the next thing that time, or the end of the connection, has brought about. Call it until it returns
    /// `None`.
    #[must_use = "the event is the only word of it"]
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

    /// Asks for another session.
    fn renew(&mut self, now: Instant) {
        let number = self.client.connection_number().get().wrapping_add(1);
        self.client = self.client.reconnect(ConnectionNumber::new(number));
        self.renewal = Renewal::Asked;
        // If it cannot be said the machine has ended, and that is told like any other end.
        if self.client.connect(now, &mut self.transport).is_err() {
            self.client.disconnected(Cause::SessionLost, now);
        }
    }
}
