//! Where the output of a client goes: each message in a request of its own.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::config::{HttpClientConfig, OneStream};
use super::exchange::{Asked, Exchange, ExchangeNumber, Purpose};
use super::exchanges::Exchanges;
use super::refresh::CalledTool;
use super::request::{HttpRequest, Said};
use super::tools::Tools;
use crate::client::ClientEvent;
use crate::frame::{Framing, Outbox, Tag};
use crate::handle::CallId;
use crate::json::{Str, member};
use crate::limits::Limits;
use crate::peer::{CarrierFailure, CarrierFailureKind, Lane, Outlets, SubscriptionNews};
use crate::time::Instant;
use crate::version::Revision;

/// The outlets of one [`Client`](crate::Client) over HTTP.
///
/// Hand it to every method of the machine that takes `out`, and every event of the machine to
/// [`watch`](Self::watch). What is to be done with HTTP, [`poll_action`](Self::poll_action) says; what comes of that
/// is told with [`head`](Self::head), [`chunk`](Self::chunk), [`end`](Self::end) and [`failed`](Self::failed), which
/// give what is for the machine.
///
/// A call that is cancelled, or has timed out, is cancelled as its era has it: without a session by breaking the
/// exchange off, in one by a notification.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Posts {
    pub(super) config: Arc<HttpClientConfig>,
    pub(super) limits: Limits,
    pub(super) outbox: Outbox,
    pub(super) exchanges: Exchanges,
    pub(super) next_number: u64,
    pub(super) actions: VecDeque<Action>,
    pub(super) manner: Manner,
    /// The id of the session.
    pub(super) session: Option<String>,
    /// A request of the session has been taken.
    pub(super) has_worked: bool,
    /// The revision that was agreed on.
    pub(super) revision: Option<Revision>,
    /// The end of the handshake is on its way, and nothing may overtake it.
    pub(super) completing: Option<(ExchangeNumber, Instant)>,
    /// The event stream of the session is being opened, and until then nothing else is said.
    pub(super) opening: Option<(ExchangeNumber, Instant)>,
    pub(super) tools: Tools,
    /// What was refused before the connection was open.
    pub(super) refusals: Vec<Refusal>,
    /// Calls of tools that are about to be made again.
    pub(super) mended: Vec<CallId>,
    is_finished: bool,
}

/// Without the id of the session, and without what is said: both are nobody's business.
impl fmt::Debug for Posts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Posts")
            .field("revision", &self.revision)
            .field("has_session", &self.session.is_some())
            .field("outbox", &self.outbox)
            .field("exchanges", &*self.exchanges)
            .field("actions", &self.actions)
            .finish_non_exhaustive()
    }
}

/// A request of HTTP that was refused while it was being found out how the server is to be spoken to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Refusal {
    /// The method of HTTP.
    pub method: &'static str,
    /// What came of it.
    pub failure: CarrierFailure<'static>,
}

/// How the server is spoken to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Manner {
    /// At one URL.
    Streamable,
    /// With one event stream for everything that it says, once it has said where to send messages to.
    OneStream { endpoint: Option<String> },
}

/// Something to do with HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Action {
    /// Make a request, and tell what comes of it.
    Send {
        /// What it is called from now on.
        exchange: ExchangeNumber,
        /// The request.
        request: HttpRequest,
    },
    /// Break an exchange off: close its connection, or its stream of HTTP/2. Nothing needs to be told of it any
    /// more.
    Abort {
        /// The exchange.
        exchange: ExchangeNumber,
    },
    /// A call cannot be carried: hand this to [`Client::exchange_ended`](crate::Client::exchange_ended).
    Fail {
        /// The call.
        call: CallId,
        /// Why.
        failure: CarrierFailure<'static>,
    },
}

/// # Starting
impl Posts {
    /// For a client that has not said anything yet.
    pub fn new(config: Arc<HttpClientConfig>, limits: &Limits) -> Self {
        let manner = match config.one_stream {
            OneStream::Always => Manner::OneStream { endpoint: None },
            OneStream::Fallback | OneStream::Never => Manner::Streamable,
        };
        let tools = Tools::new(config.most_tools);
        Self {
            config,
            limits: limits.clone(),
            outbox: Outbox::new(Framing::Messages, limits),
            exchanges: Exchanges::default(),
            next_number: 0,
            actions: VecDeque::new(),
            manner,
            session: None,
            has_worked: false,
            revision: None,
            completing: None,
            opening: None,
            tools,
            refusals: Vec::new(),
            mended: Vec::new(),
            is_finished: false,
        }
    }

    /// How it is configured.
    pub fn config(&self) -> &HttpClientConfig {
        &self.config
    }

    /// The id of the session, if the server has given it one.
    pub fn session_id(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// What of the last lists of tools was left out, because nobody can call it: the name of each tool, and what is
    /// wrong with its schema.
    pub fn invalid_tools(&self) -> impl Iterator<Item = (&str, &crate::http::InvalidAnnotation)> {
        self.tools.invalid()
    }

    /// Whether nothing waits to be sent.
    pub fn is_empty(&self) -> bool {
        self.outbox.is_empty()
    }

    /// The messages that wait to be sent.
    pub const fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// The same, to set its limit.
    pub const fn outbox_mut(&mut self) -> &mut Outbox {
        &mut self.outbox
    }

    /// Whether the server has taken anything in the session that it has given an id to: if not, another one will
    /// most likely not do any better.
    pub const fn session_has_worked(&self) -> bool {
        self.has_worked
    }

    /// How many exchanges are open.
    pub fn exchanges(&self) -> usize {
        self.exchanges.len()
    }

    /// Sees what has come of a message, or of time.
    pub fn watch(&mut self, event: &ClientEvent<'_>) {
        match event {
            ClientEvent::Connected(connected) => {
                self.revision = Some(connected.revision);
                if connected.revision.rules().has_http_sessions {
                    self.give_up_probes();
                } else {
                    self.session = None;
                }
            }
            ClientEvent::CallEnded(ended) => {
                self.is_mended(ended.call);
                self.drop_exchange_of(ended.call);
            }
            ClientEvent::Subscription(update)
                if matches!(update.news, SubscriptionNews::Ended(_)) =>
            {
                self.drop_exchange_of(update.call);
            }
            ClientEvent::ConnectFailed(_) | ClientEvent::Closed { .. } => self.finish(),
            _ => {}
        }
    }

    /// What was refused while it was being found out how the server is to be spoken to, in order: where connecting
    /// fails, that says all there is to say. At most 8.
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    pub(super) fn note_refusal(&mut self, method: &'static str, failure: &CarrierFailure<'static>) {
        if self.revision.is_none() && self.refusals.len() < 8 {
            self.refusals.push(Refusal { method, failure: failure.clone() });
        }
    }

    /// Nobody wants to know any more whether there need not be a session.
    fn give_up_probes(&mut self) {
        let mut probes = Vec::new();
        for (number, exchange) in self.exchanges.iter() {
            if matches!(&exchange.purpose, Purpose::Request(asked) if asked.probes) {
                probes.push(*number);
            }
        }
        probes.into_iter().for_each(|probe| self.abort(probe));
    }

    /// Begins anew, for another session, because the server has ended the one before. What has not been sent of that
    /// is forgotten.
    pub fn renew(&mut self) {
        (self.session, self.is_finished, self.has_worked) = (None, true, false);
        self.break_off();
        self.is_finished = false;
        (self.completing, self.opening, self.revision) = (None, None, None);
        self.refusals.clear();
        if let Manner::OneStream { endpoint } = &mut self.manner {
            *endpoint = None;
        }
    }

    /// Breaks everything off, and takes leave of the session if there is one.
    fn finish(&mut self) {
        if self.is_finished {
            return;
        }
        self.is_finished = true;
        self.break_off();
        if self.session.is_some() {
            let request = HttpRequest::delete(&self.config.url);
            self.send(Exchange::new(Purpose::Farewell, true), request);
        }
    }

    /// A call has ended in another way than by the answer on its exchange, so nobody reads that any more.
    fn drop_exchange_of(&mut self, call: CallId) {
        if self.manner != Manner::Streamable {
            // There all answers come elsewhere.
            return;
        }
        if let Some(number) = self.exchanges.waits_for(call) {
            self.abort(number);
        }
    }

    fn break_off(&mut self) {
        self.outbox.messages().for_each(drop);
        self.mended.clear();
        while let Some(exchange) = self.exchanges.keys().next().copied() {
            self.abort(exchange);
        }
    }

    /// Whether there is something to do now: whether [`poll_action`](Self::poll_action) would give anything, but for
    /// what is a matter of time.
    pub fn has_actions(&self) -> bool {
        let can_say = self.can_post() || self.wants_one_stream();
        !self.actions.is_empty() || (can_say && !self.outbox.is_empty())
    }

    /// Whether everything has been done: the connection is over, and the server has been told so as far as it wants
    /// to know.
    pub fn is_over(&self) -> bool {
        self.is_finished && self.exchanges.is_empty() && self.actions.is_empty()
    }
}

/// # Sending
impl Posts {
    /// The next thing to do with HTTP. Ask until there is nothing, after everything that has happened, and when the
    /// time of [`poll_timeout`](Self::poll_timeout) has come.
    #[must_use = "an action that is dropped is never done, and what it carried is lost"]
    pub fn poll_action(&mut self, now: Instant) -> Option<Action> {
        loop {
            if let Some(action) = self.actions.pop_front() {
                return Some(action);
            }
            if self.come_back(now) {
                continue;
            }
            self.opening = self.opening.filter(|(_, until)| now < *until);
            self.completing = self.completing.filter(|(_, until)| now < *until);
            if !self.can_post() {
                if self.wants_one_stream() && !self.outbox.is_empty() {
                    self.ask_for_one_stream(now);
                    continue;
                }
                return None;
            }
            let (message, tag) = self.outbox.pop()?;
            let message = Vec::from(message);
            self.post(message, tag, now);
        }
    }

    fn can_post(&self) -> bool {
        let is_opening = self.completing.is_some() || self.opening.is_some();
        // A server that has a client say ever more, and does not take it, waits like one that does not read.
        let has_room = self.exchanges.notices() < self.limits.inbound_requests.max(1);
        !is_opening && has_room && !matches!(self.manner, Manner::OneStream { endpoint: None })
    }

    /// A request is cancelled: its answer need not be read any more. Says whether that says it all, as it does
    /// without a session.
    fn is_broken_off(&mut self, cancellation: &Said<'_>) -> bool {
        let id = cancellation.params.and_then(|params| member(params, "requestId"));
        let Some(exchange) = id.and_then(|id| self.carries(id)) else { return false };
        let stands_alone = self.exchanges.get(&exchange).is_some_and(|known| !known.in_session);
        self.abort(exchange);
        stands_alone
    }

    /// Sends a message, or does instead what HTTP has for it.
    fn post(&mut self, message: Vec<u8>, tag: Tag, now: Instant) {
        if message.starts_with(b"[") {
            let request = HttpRequest::post(self.target(), message);
            self.send_in_session(Exchange::new(Purpose::Batch, true), request);
            return;
        }
        let said = Said::read(&message);
        let opens = said.method.as_ref().is_some_and(|method| *method == "initialize");
        let stands_alone = match self.revision {
            _ if opens => false,
            Some(revision) => revision.rules().requests_stand_alone,
            None => said.version.is_some(),
        };
        let cancels =
            said.method.as_ref().is_some_and(|method| *method == "notifications/cancelled");
        if cancels && (self.is_broken_off(&said) || stands_alone) {
            return;
        }
        let purpose = match (tag, said.id) {
            (Tag::Call(call), Some(id)) => {
                let method = said.method.clone().unwrap_or_else(|| Str::from(""));
                let lists_tools = stands_alone && method == "tools/list";
                let opens = opens.then(|| message.clone());
                let called = if stands_alone { CalledTool::read(&said) } else { None };
                let is_mended = self.is_mended(call);
                let probes = method == "server/discover";
                Purpose::Request(Asked {
                    call,
                    id: id.into(),
                    lists_tools,
                    called,
                    is_mended,
                    probes,
                    opens,
                })
            }
            _ => {
                let completes_handshake = said
                    .method
                    .as_ref()
                    .is_some_and(|method| *method == "notifications/initialized");
                Purpose::Notice { completes_handshake }
            }
        };
        let exchange = Exchange::new(purpose, !stands_alone);
        if !stands_alone {
            let request = HttpRequest::post(self.target(), message);
            let completes =
                matches!(exchange.purpose, Purpose::Notice { completes_handshake: true });
            let number = self.send_in_session(exchange, request);
            if completes {
                self.completing = Some((number, now + self.config.listen_first));
            }
            return;
        }
        match self.labels(&said) {
            Ok(labels) => {
                let mut request = HttpRequest::post(self.target(), message);
                request.headers.extend(labels);
                self.send(exchange, request);
            }
            Err(Unsayable) => {
                if let Some(call) = exchange.waiting_call() {
                    let failure = CarrierFailure::new(CarrierFailureKind::Unsayable);
                    self.actions.push_back(Action::Fail { call, failure });
                }
            }
        }
    }
}

/// An argument that would have to be repeated in a header field cannot be.
pub(super) struct Unsayable;

impl Outlets for Posts {
    fn lane(&mut self, _: Lane) -> &mut Outbox {
        &mut self.outbox
    }
}
