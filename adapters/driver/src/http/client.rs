//! A client connection over HTTP: each message is sent in its own HTTP request.

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
use crate::trace;
use crate::wire::{State, Wire};

/// The state of the task that makes the HTTP requests.
#[derive(Default)]
pub(super) struct Requests {
    /// Its waker, and the time at which it polls again in any case.
    waiting: Option<Box<(Waker, Option<Instant>)>>,
    /// Whether the server has ended a session and the client is opening another one.
    is_renewing: bool,
}

impl Connection {
    /// Opens a connection to a server over HTTP, as [`open`](Self::open) does over streams. `attach` starts the
    /// task that makes requests and handles timeouts.
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
            let connection = &client.config().connection;
            let transport = ClientTransport::new(Arc::new(http), &connection.limits)
                .match_stringified_ids(connection.match_stringified_ids);
            Out::Http(HttpOutboxes::Requests(Box::new(transport)))
        };
        Self::open_on(config, out, options, parts, attach).await
    }
}

/// # Over HTTP
///
/// For adapters that make HTTP requests: see [`mcp_sansio::http`].
impl Wire<Client> {
    /// Returns the next HTTP action; `None` if no more will follow. While there is none, the waker is called when
    /// there is one; the caller also has to poll again at [`next_action`](Self::next_action).
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
                        let before = state.http.requests.waiting.replace(Box::new(waiting));
                        // The context has another waker of the same task.
                        let unneeded = before.filter(|one| !one.0.will_wake(context.waker()));
                        state.after.drop_waker(unneeded.map(|unneeded| unneeded.0));
                        return Poll::Pending;
                    }
                }
            }
        })
    }

    /// Returns the time at which to poll for the next action even without a wake-up.
    pub fn next_action(&self) -> Option<Monotonic> {
        let deadline = self.lock().transport().and_then(|transport| transport.poll_timeout());
        deadline.and_then(|deadline| self.clock.monotonic(deadline))
    }

    /// Handles the head of a response: see [`ClientTransport::head`].
    pub fn response_head(
        self: &Arc<Self>,
        exchange: ExchangeNumber,
        status: u16,
        headers: Headers<'_>,
    ) -> Option<ResponseReader> {
        let now = self.clock.now();
        self.act(|state| state.transport()?.head(exchange, status, headers, now))
    }

    /// Handles a chunk of a response body.
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

    /// Handles the end of a response body.
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

    /// Handles a request that could not be made: see [`ClientTransport::failed`].
    pub fn response_failed(self: &Arc<Self>, exchange: ExchangeNumber, error: TransportError) {
        let now = self.clock.now();
        self.act(|state| {
            let arrived = state
                .transport()
                .and_then(|transport| transport.failed(exchange, Some(error), now));
            arrived.into_iter().for_each(|arrived| self.arrived(state, arrived, now));
        });
    }

    /// Handles an exchange that broke off: see [`ClientTransport::broken`].
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
            // It is not sent again, because the server may have processed it.
            Arrived::NotTaken { status } => trace::not_taken(&mut state.after, status),
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
        state.out.watch(Some(&event));
        self.deliver(state, DriverEvent::from(event), bytes);
    }

    /// Handles a session that the server has ended. Everything in the session ends, and another session is opened
    /// under the same handles. The application receives a second [`Connected`](ClientEvent::Connected) event.
    fn renew(self: &Arc<Self>, state: &mut State<Client>, now: Instant) {
        let is_ending = matches!(state.machine.phase(), Phase::Draining | Phase::Closed);
        let has_worked = state.transport().is_some_and(|transport| transport.session_has_worked());
        // One attempt is enough, unless the last session has worked.
        let is_vain = state.http.requests.is_renewing && !has_worked;
        state.machine.disconnected(Cause::SessionLost, now);
        if is_ending || is_vain || state.machine.basis().is_none() {
            // No session is left to terminate.
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
        // If the request cannot be sent, the machine ends, with the same events as for any other end.
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
    /// Wakes the task that makes HTTP requests, if it has an action or an earlier deadline.
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
