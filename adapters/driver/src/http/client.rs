//! A client of a server behind HTTP: each message goes out in a request of its own.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant as Monotonic;

use mcp_sansio::error::TransportError;
use mcp_sansio::http::{
    Action, Arrived, ClientTransport, ExchangeNumber, Headers, HttpClientConfig, ResponseReader,
};
use mcp_sansio::{
    Cause, Client, ClientConfig, ClientEvent, ConnectionNumber, Frames, Instant, Phase, Received,
};

use super::HttpOutboxes;
use crate::client::{ClientParts, Connection, OpenError};
use crate::machine::Machine;
use crate::machine::sealed::DriverEvent;
use crate::options::ConnectionOptions;
use crate::out::Out;
use crate::output::Writing;
use crate::tasks::SharedTasks;
use crate::wire::{State, Wire};

/// Whoever makes the requests of HTTP.
#[derive(Default)]
pub(super) struct Requests {
    /// With the time at which it asks again anyway.
    waiting: Option<Box<(Waker, Option<Instant>)>>,
    /// The server has ended a session, and another one is being asked for.
    is_renewing: bool,
}

impl Connection {
    /// The same as [`open`](Self::open) for a server behind HTTP. `attach` begins to make requests and to keep the
    /// time.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open).
    pub async fn open_over_http(
        config: ClientConfig,
        http: HttpClientConfig,
        options: &ConnectionOptions,
        parts: &ClientParts,
        attach: impl FnOnce(&Arc<Wire<Client>>) -> io::Result<()>,
    ) -> Result<Self, OpenError> {
        let out = |client: &Client| {
            let transport =
                ClientTransport::new(Arc::new(http), &client.config().connection.limits);
            Out::Http(HttpOutboxes::Requests(Box::new(transport)))
        };
        Self::open_on(config, out, options, parts, attach).await
    }
}

/// # Over HTTP
///
/// For adapters that make requests of HTTP: see [`mcp_sansio::http`].
impl Wire<Client> {
    /// The next thing to do with HTTP; `None` if there will be nothing more. Whoever asks is woken when there is
    /// something, or asks again at [`next_action`](Self::next_action).
    pub fn poll_action(self: &Arc<Self>, context: &Context<'_>) -> Poll<Option<Action>> {
        self.act(|state| {
            loop {
                let now = self.clock.now();
                let is_given_up = state.output.writing == Writing::Over || state.has_ended();
                let Some(transport) = state.transport() else { return Poll::Ready(None) };
                match transport.poll_action(now) {
                    Some(Action::Fail { call, failure }) => {
                        let end = mcp_sansio::call::ExchangeEnd::Failure(failure);
                        let event = state.machine.exchange_ended(call, end, now, &mut state.out);
                        self.happened(state, event, 0);
                    }
                    Some(action) => return Poll::Ready(Some(action)),
                    None if is_given_up || transport.is_over() => return Poll::Ready(None),
                    None => {
                        let deadline = transport.poll_timeout();
                        let waiting = (context.waker().clone(), deadline);
                        state.http.requests.waiting = Some(Box::new(waiting));
                        return Poll::Pending;
                    }
                }
            }
        })
    }

    /// When to ask for the next action although nobody has been woken.
    pub fn next_action(&self) -> Option<Monotonic> {
        let deadline = self.lock().transport().and_then(|transport| transport.poll_timeout());
        deadline.and_then(|deadline| self.clock.monotonic(deadline))
    }

    /// The head of a response has come: see [`ClientTransport::head`].
    pub fn response_head(
        self: &Arc<Self>,
        exchange: ExchangeNumber,
        status: u16,
        headers: Headers<'_>,
    ) -> Option<ResponseReader> {
        let now = self.clock.now();
        self.act(|state| state.transport()?.head(exchange, status, headers, now))
    }

    /// A part of the body of a response has come.
    pub fn response_chunk(self: &Arc<Self>, reader: &mut ResponseReader, mut chunk: &[u8]) {
        loop {
            let before = chunk.len();
            let has_more = self.act(|state| {
                let now = self.clock.now();
                let Some(arrived) = state
                    .transport()
                    .and_then(|transport| transport.chunk(reader, &mut chunk, now))
                else {
                    return false;
                };
                self.arrived(state, arrived, now);
                true
            });
            if !has_more || (chunk.len() == before && before == 0) {
                return;
            }
        }
    }

    /// The body of a response has come to its end.
    pub fn response_end(self: &Arc<Self>, reader: &mut ResponseReader) {
        let now = self.clock.now();
        self.act(|state| {
            if let Some(arrived) =
                state.transport().and_then(|transport| transport.end(reader, now))
            {
                self.arrived(state, arrived, now);
            }
        });
    }

    /// A request could not be made: see [`ClientTransport::failed`].
    pub fn response_failed(self: &Arc<Self>, exchange: ExchangeNumber, error: TransportError) {
        let now = self.clock.now();
        self.act(|state| {
            let arrived = state
                .transport()
                .and_then(|transport| transport.failed(exchange, Some(error), now));
            arrived.into_iter().for_each(|arrived| self.arrived(state, arrived, now));
        });
    }

    /// An exchange has broken off: see [`ClientTransport::broken`].
    pub fn response_broken(self: &Arc<Self>, exchange: ExchangeNumber, error: TransportError) {
        let now = self.clock.now();
        self.act(|state| {
            let arrived = state
                .transport()
                .and_then(|transport| transport.broken(exchange, Some(error), now));
            arrived.into_iter().for_each(|arrived| self.arrived(state, arrived, now));
        });
    }

    fn arrived(self: &Arc<Self>, state: &mut State<Client>, arrived: Arrived<'_>, now: Instant) {
        match arrived {
            Arrived::Messages { text, received } => self.messages(state, text, received),
            Arrived::Ended { call, end } => {
                let event = state.machine.exchange_ended(call, end, now, &mut state.out);
                self.happened(state, event, 0);
            }
            Arrived::SessionLost => self.renew(state, now),
            Arrived::ConnectionLost => state.machine.disconnected(Cause::EndOfInput, now),
            // Whether it matters shows in what the server does next.
            _ => {}
        }
    }

    fn messages(self: &Arc<Self>, state: &mut State<Client>, text: &[u8], received: Received) {
        let principal = self.tasks.as_ref().map(SharedTasks::principal).unwrap_or_default();
        for frame in Frames::of(text, &self.limits) {
            let (received, bytes) = (received.principal(principal), frame.bytes().len());
            let event = state.machine.receive(frame, received, &mut state.out);
            self.happened(state, event, bytes);
        }
    }

    fn happened(
        self: &Arc<Self>,
        state: &mut State<Client>,
        event: Option<ClientEvent<'_>>,
        bytes: usize,
    ) {
        let Some(event) = event else { return };
        state.out.watch(&event);
        self.deliver(state, DriverEvent::from(event), bytes);
    }

    /// The server has ended the session. Everything in it ends, and another one is asked for under the same handles;
    /// the application is told by a second [`Connected`](ClientEvent::Connected).
    fn renew(self: &Arc<Self>, state: &mut State<Client>, now: Instant) {
        let is_ending = matches!(state.machine.phase(), Phase::Draining | Phase::Closed);
        let has_worked = state.transport().is_some_and(|transport| transport.session_has_worked());
        // Once is enough, unless there was something to be had of it.
        let is_vain = state.http.requests.is_renewing && !has_worked;
        state.machine.disconnected(Cause::SessionLost, now);
        if is_ending || is_vain || !state.machine.was_connected() {
            // There is no session to take leave of.
            return state.transport().into_iter().for_each(ClientTransport::renew);
        }
        while let Some(event) = state.machine.handle_timeout(now, &mut state.out) {
            if !matches!(event, ClientEvent::Closed { .. }) {
                self.happened(state, Some(event), 0);
            }
        }
        let number = match &self.tasks {
            Some(tasks) => tasks.next_connection(),
            None => ConnectionNumber::new(state.machine.connection_number().get().wrapping_add(1)),
        };
        let old = state.machine.connection_number();
        state.machine = state.machine.reconnect(number);
        state.http.requests.is_renewing = true;
        if let Some(transport) = state.transport() {
            transport.renew();
        }
        // If it cannot be said the machine has ended, and that is told like any other end.
        if state.machine.connect(now, &mut state.out).is_err() {
            state.machine.disconnected(Cause::SessionLost, now);
        }
        if let Some(tasks) = &self.tasks {
            let mut tasks = tasks.lock();
            tasks.unlink(old);
            tasks.link(number, self.weak());
        }
    }
}

impl State<Client> {
    fn transport(&mut self) -> Option<&mut ClientTransport> {
        match &mut self.out {
            Out::Http(HttpOutboxes::Requests(transport)) => Some(transport),
            _ => None,
        }
    }
}

impl<M: Machine> State<M> {
    /// Finds out whether there is something to do with HTTP.
    pub(crate) fn wake_requests(&mut self) {
        let Out::Http(HttpOutboxes::Requests(transport)) = &self.out else { return };
        let Some((_, known)) = self.http.requests.waiting.as_deref() else { return };
        let is_sooner = match (transport.poll_timeout(), known) {
            (Some(deadline), Some(known)) => deadline < *known,
            (deadline, None) => deadline.is_some(),
            (None, Some(_)) => false,
        };
        let is_over =
            transport.is_over() || self.output.writing == Writing::Over || self.has_ended();
        if is_sooner || is_over || transport.has_actions() {
            self.after.wake(self.http.requests.waiting.take().map(|waiting| waiting.0));
        }
    }
}
