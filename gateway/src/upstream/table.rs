//! [`Table`]: the calls and the subscriptions of a connection to a server, and the delivery of its messages to them.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcp_sansio::event::{Notification, SubscriptionNews};
use mcp_sansio::model::LoggingLevel;
use mcp_sansio::{CallError, CallId, Client, ClientEvent, ErrorCode, ServerRequest};
use mcp_sansio_tokio::{Exchange, Handle, Handler, PendingCall};
use tokio::sync::{Notify, mpsc};

use super::link::Terms;
use crate::client_key::ClientKey;

/// A message of the server that belongs to a call.
pub(crate) enum FromServer {
    /// A request for input.
    Request(Exchange<Client>),
    /// A log message, or a notification that MCP does not define.
    Notification(Notification<'static>),
}

/// How many messages of the server wait for the work on a call. Beyond it, requests are refused.
const MOST_WAITING: usize = 64;

/// How long a notification waits beyond that limit. The work on a call needs only some time on the processor, because a
/// burst of the server is read at once.
const PATIENCE: Duration = Duration::from_secs(1);

/// The recipients of the messages of one connection.
#[derive(Default)]
pub(crate) struct Table {
    state: Mutex<State>,
    /// Notified when the last call has ended.
    calls_ended: Notify,
    /// The level of log messages that the server was asked for.
    level: Mutex<Option<LoggingLevel>>,
    /// The result of the first negotiation.
    terms: Mutex<Option<Terms>>,
}

#[derive(Default)]
struct State {
    calls: BTreeMap<CallId, Recipient>,
    subscriptions: BTreeMap<CallId, mpsc::Sender<SubscriptionNews<'static>>>,
    /// The number of calls so far.
    made: u64,
}

struct Recipient {
    /// The number of the call.
    number: u64,
    client: ClientKey,
    /// Whether the call waits for its client, and reads no messages meanwhile.
    is_parked: bool,
    messages: mpsc::Sender<FromServer>,
}

impl State {
    /// Returns the client of all calls, if they are of one.
    fn only_client(&self) -> Option<ClientKey> {
        let mut clients = self.calls.values().map(|recipient| recipient.client);
        let first = clients.next();
        first.filter(|first| clients.all(|client| client == *first))
    }

    /// Returns the newest call of a client, among those that read their messages if there are any.
    fn newest_of(&self, client: ClientKey) -> Option<&Recipient> {
        let own = self.calls.values().filter(|recipient| recipient.client == client);
        own.max_by_key(|recipient| (!recipient.is_parked, recipient.number))
    }
}

/// The entry of a call. Dropping it removes the entry.
pub(crate) struct CallEntry {
    table: Arc<Table>,
    call: CallId,
}

/// The entry of a subscription, with its events. Dropping it removes the entry.
pub(crate) struct SubscriptionEntry {
    table: Arc<Table>,
    pub(crate) call: CallId,
    pub(crate) news: mpsc::Receiver<SubscriptionNews<'static>>,
}

impl Table {
    /// Makes a call, and enters it before the server can send anything about it.
    pub(crate) fn enter(
        self: &Arc<Self>,
        client: ClientKey,
        make: impl FnOnce() -> PendingCall,
    ) -> (PendingCall, Option<CallEntry>, mpsc::Receiver<FromServer>) {
        let (messages, inbox) = mpsc::channel(MOST_WAITING);
        let mut state = self.lock();
        let pending = make();
        let entry = pending.id().and_then(Result::ok).map(|call| {
            state.made += 1;
            let number = state.made;
            let recipient = Recipient { number, client, is_parked: false, messages };
            state.calls.insert(call, recipient);
            CallEntry { table: Arc::clone(self), call }
        });
        (pending, entry, inbox)
    }

    /// Opens a subscription, as [`enter`](Self::enter) does with a call.
    pub(crate) fn subscribe(
        self: &Arc<Self>,
        subscribe: impl FnOnce() -> Result<CallId, CallError>,
    ) -> Result<SubscriptionEntry, CallError> {
        let (sender, news) = mpsc::channel(MOST_WAITING);
        let mut state = self.lock();
        let call = subscribe()?;
        state.subscriptions.insert(call, sender);
        Ok(SubscriptionEntry { table: Arc::clone(self), call, news })
    }

    /// Asks the server for log messages of this level, also in later sessions of the connection, unless it was asked
    /// for them last.
    pub(super) fn set_log_level(&self, handle: &Handle<Client>, level: LoggingLevel) {
        if self.level().replace(level) != Some(level) {
            ask_for_log(handle, level);
        }
    }

    /// Notes the result of a negotiation. A connection whose server has become another one ends, and is opened again.
    pub(super) fn agree(&self, handle: &Handle<Client>, terms: Terms) {
        let mut known = self.terms.lock().unwrap_or_else(PoisonError::into_inner);
        let is_other = *known.get_or_insert(terms) != terms;
        drop(known);
        if is_other {
            handle.shut_down(Duration::ZERO);
        }
    }

    fn level(&self) -> MutexGuard<'_, Option<LoggingLevel>> {
        self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes a message on: to the call that it belongs to, or to the newest call if all calls are of one client. Returns
    /// the message if there is no such call, or its work does not keep up.
    fn deliver(&self, call: Option<CallId>, message: FromServer) -> Result<(), FromServer> {
        let state = self.lock();
        let recipient = match call {
            Some(call) => state.calls.get(&call),
            None => state.only_client().and_then(|client| state.newest_of(client)),
        };
        pass_on(recipient, message)
    }

    /// Passes a message on to the newest call of a client. Returns the message as [`deliver`](Self::deliver) does.
    pub(super) fn deliver_to(
        &self,
        client: ClientKey,
        message: FromServer,
    ) -> Result<(), FromServer> {
        pass_on(self.lock().newest_of(client), message)
    }

    /// Passes a notification on, as [`deliver`](Self::deliver) does. It is dropped if there is no call for it, or if
    /// too many messages wait for a client that has to repeat its request.
    async fn notify(&self, notification: Notification<'static>) {
        let (is_parked, messages) = {
            let state = self.lock();
            let recipient = state.only_client().and_then(|client| state.newest_of(client));
            let Some(recipient) = recipient else { return };
            (recipient.is_parked, recipient.messages.clone())
        };
        let message = FromServer::Notification(notification);
        _ = match is_parked {
            true => messages.try_send(message).is_ok(),
            false => messages.send_timeout(message, PATIENCE).await.is_ok(),
        };
    }

    /// Waits until no call is in progress.
    pub(super) async fn calls_ended(&self) {
        loop {
            let mut ended = pin!(self.calls_ended.notified());
            // From here on, a notification is not missed.
            ended.as_mut().enable();
            if self.lock().calls.is_empty() {
                return;
            }
            ended.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn pass_on(recipient: Option<&Recipient>, message: FromServer) -> Result<(), FromServer> {
    match recipient {
        Some(recipient) => recipient.messages.try_send(message).map_err(|error| match error {
            mpsc::error::TrySendError::Full(message)
            | mpsc::error::TrySendError::Closed(message) => message,
        }),
        None => Err(message),
    }
}

fn ask_for_log(handle: &Handle<Client>, level: LoggingLevel) {
    let asked = handle.set_log_level(level);
    // A server without log messages refuses, and sends none.
    tokio::spawn(async move { _ = asked.await });
}

impl CallEntry {
    /// Notes whether the call is parked.
    pub(crate) fn set_parked(&self, is_parked: bool) {
        if let Some(recipient) = self.table.lock().calls.get_mut(&self.call) {
            recipient.is_parked = is_parked;
        }
    }
}

impl Drop for CallEntry {
    fn drop(&mut self) {
        let mut state = self.table.lock();
        state.calls.remove(&self.call);
        if state.calls.is_empty() {
            self.table.calls_ended.notify_waiters();
        }
    }
}

impl Drop for SubscriptionEntry {
    fn drop(&mut self) {
        self.table.lock().subscriptions.remove(&self.call);
    }
}

/// The handler of the connection to a server.
pub(crate) struct TableHandler(pub(crate) Arc<Table>);

impl Handler<Client> for TableHandler {
    async fn serve(&self, exchange: Exchange<Client>) {
        let request = exchange.request();
        if matches!(request.kind, ServerRequest::Other | ServerRequest::Task(_)) {
            _ = exchange.reject(ErrorCode::METHOD_NOT_FOUND, "method not found");
            return;
        }
        let call = request.needed_for;
        if let Err(FromServer::Request(exchange)) =
            self.0.deliver(call, FromServer::Request(exchange))
        {
            let message = "the gateway does not know the client that is to give this input";
            _ = exchange.reject(ErrorCode::INTERNAL_ERROR, message);
        }
    }

    async fn event(&self, handle: &Handle<Client>, event: ClientEvent<'static>) {
        match event {
            // A new session of the connection, over HTTP, knows nothing of the last one.
            ClientEvent::Connected(connected) => {
                self.0.agree(handle, Terms::of(&connected));
                let level = *self.0.level();
                level.into_iter().for_each(|level| ask_for_log(handle, level));
            }
            ClientEvent::Notification(notification) => {
                self.0.notify(notification).await;
            }
            ClientEvent::Subscription(update) => {
                let sender = self.0.lock().subscriptions.get(&update.call).cloned();
                if let Some(sender) = sender {
                    // The recipient keeps up, or has gone.
                    _ = sender.send(update.news).await;
                } else if matches!(update.news, SubscriptionNews::Granted { .. }) {
                    // The client opens lost subscriptions again in a new session, and so does their recipient here.
                    _ = handle.unsubscribe(update.call);
                }
            }
            _ => {}
        }
    }
}
