//! The application of the clients.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_sansio::auth::Secret;
use mcp_sansio::call::{TaskOptions, TaskTicket};
use mcp_sansio::event::SubscriptionNews;
use mcp_sansio::http::{Arrived, ClientTransport, ExchangeNumber, HttpClientConfig, HttpRequest};
use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolParams, ElicitResult, SubscriptionFilter, TaskParams, method};
use mcp_sansio::testing::WorkMeter;
use mcp_sansio::{
    CallId, CallOptions, Cause, Client, ClientEvent, ConnectionNumber, ErrorCode, Frames,
    IncomingId, Instant, Outcome, Phase, Principal,
};
use serde_json::json;

use super::authorization::{Login, SERVER};
use super::exchanges::{EventStream, SentRequests};
use super::hosted_tasks::Work;
use super::setup::ClientSetup;
use super::{HttpWorld, Step, secrets};
use crate::silence_model::SilenceModel;

/// A client with its calls.
pub(super) struct SimulatedClient {
    pub(super) machine: Client,
    pub(super) transport: ClientTransport,
    pub(super) principal: Principal,
    /// The login of the client, if the server needs tokens.
    pub(super) login: Option<Login>,
    /// The last request that names a session, or a task without a session.
    pub(super) named: Option<HttpRequest>,
    /// The latest requests.
    pub(super) sent: Vec<HttpRequest>,
    /// The `Authorization` field of the latest request, and the generation of its token.
    pub(super) token: Option<(Secret, u64)>,
    /// The requests that were sent on the connection.
    pub(super) sent_requests: SentRequests,
    /// The event stream of the session.
    pub(super) stream: EventStream,
    /// The pings that the client should send.
    pub(super) silence: SilenceModel,
    calls: BTreeMap<CallId, Call>,
    /// The open requests of the server.
    asked: Vec<IncomingId>,
}

/// A call of a client.
#[derive(Clone, Debug, Default)]
pub(super) struct Call {
    pub(super) has_ended: bool,
    /// Whether it has ended with a result.
    has_result: bool,
    /// The time at which it was made, if it calls a tool.
    pub(super) made: Instant,
    /// The work that the call asks for, if it calls a tool.
    pub(super) work: Option<Work>,
    /// The task that the call has become.
    pub(super) ticket: Option<TaskTicket>,
    /// Whether the task has a final status.
    is_final: bool,
    /// Whether the call continues a task that began on an earlier connection.
    pub(super) is_resumed: bool,
}

impl Call {
    /// A call that asks for this work.
    pub(super) fn of(work: Work, made: Instant) -> Self {
        Self { work: Some(work), made, ..Self::default() }
    }
}

impl SimulatedClient {
    pub(super) fn new(setup: &ClientSetup) -> Self {
        let machine = Client::new(Arc::new(setup.config.clone()));
        let login = setup.account.as_deref().map(Login::new);
        let url = if login.is_some() { SERVER } else { "http://localhost/mcp" };
        let mut config = HttpClientConfig::new(url);
        config.one_stream = setup.one_stream;
        let limits = machine.config().connection.limits.clone();
        let silence = SilenceModel::new(setup.config.connection.keep_alive);
        Self {
            machine,
            transport: ClientTransport::new(Arc::new(config), &limits)
                .match_stringified_ids(setup.config.connection.match_stringified_ids),
            principal: setup.principal,
            login,
            named: None,
            sent: Vec::new(),
            token: None,
            sent_requests: SentRequests::default(),
            stream: EventStream::default(),
            silence,
            calls: BTreeMap::new(),
            asked: Vec::new(),
        }
    }

    /// Adds calls that were made.
    pub(super) fn add_calls(&mut self, made: impl IntoIterator<Item = (CallId, Call)>) {
        self.calls.extend(made);
    }

    /// Whether a call has become a task.
    pub(super) fn is_task(&self, call: CallId) -> bool {
        self.calls.get(&call).is_some_and(|call| call.ticket.is_some())
    }

    /// Whether a call has ended.
    pub(super) fn has_ended(&self, call: CallId) -> bool {
        self.calls.get(&call).is_some_and(|call| call.has_ended)
    }

    /// Whether a call has ended with a result.
    pub(super) fn has_result(&self, call: CallId) -> bool {
        self.calls.get(&call).is_some_and(|call| call.has_result)
    }

    /// Records the outcome of a call, which must be its only one. Returns the call.
    fn ended(&mut self, call: CallId) -> Result<&Call, String> {
        match self.calls.get_mut(&call) {
            Some(ended) if !ended.has_ended => {
                ended.has_ended = true;
                Ok(ended)
            }
            Some(_) => Err(format!("outcome: {call} has ended twice")),
            None => Err(format!("outcome: {call} was never made")),
        }
    }
}

impl HttpWorld {
    pub(super) fn connect(&mut self) -> Result<(), String> {
        let now = self.now;
        for SimulatedClient { machine, transport, .. } in &mut self.clients {
            machine.connect(now, transport).map_err(|error| error.to_string())?;
        }
        self.act()
    }

    /// Splits the number of a step into a client and the rest.
    pub(super) fn client(&self, which: u64) -> (usize, u64) {
        let clients = self.clients.len() as u64;
        ((which % clients) as usize, which / clients)
    }

    pub(super) fn by_client(&mut self, step: Step) -> Result<(), String> {
        let (Step::Call { client: which, .. }
        | Step::Batch { client: which, .. }
        | Step::List(which)
        | Step::Subscribe(which)
        | Step::Cancel(which)
        | Step::CancelTask(which)
        | Step::ListTasks(which)
        | Step::Peek(which)
        | Step::Give(which)) = step
        else {
            return Ok(());
        };
        let (client, which) = self.client(which);
        match step {
            Step::Call { kind, .. } => self.call_tool(client, kind),
            Step::Batch { kind, .. } => self.send_batch(client, kind),
            Step::Peek(_) => self.peek(client, which),
            Step::Give(_) => self.give(client, which),
            Step::Cancel(_) | Step::CancelTask(_) => return self.cancel(client, which, step),
            _ => self.ask_about_changes(client, step),
        }
        Ok(())
    }

    /// Lists tools or tasks, or subscribes to changes.
    fn ask_about_changes(&mut self, client: usize, step: Step) {
        let (now, options) = (self.now, CallOptions::new());
        let SimulatedClient { machine, transport, calls, .. } = &mut self.clients[client];
        let made = match step {
            Step::List(_) => {
                let params = Default::default();
                machine.call::<method::ListTools>(&params, options, now, transport).ok()
            }
            Step::ListTasks(_) => {
                let params = Default::default();
                machine.call::<method::ListTasks>(&params, options, now, transport).ok()
            }
            _ => {
                let mut filter = SubscriptionFilter::default();
                filter.tools_list_changed = Some(true);
                let tasks: Vec<_> =
                    calls.values().filter_map(|call| call.ticket.as_ref()).collect();
                filter.task_ids = (!tasks.is_empty())
                    .then(|| tasks.iter().map(|task| task.task_id.as_str().into()).collect());
                machine.subscribe(&filter, now, transport).ok()
            }
        };
        calls.extend(made.map(|call| (call, Call::default())));
    }

    /// Cancels a call, or asks for the end of the task that it has become.
    fn cancel(&mut self, client: usize, which: u64, step: Step) -> Result<(), String> {
        let now = self.now;
        let SimulatedClient { machine, transport, .. } = &mut self.clients[client];
        let pending: Vec<CallId> = machine.in_flight().calls().collect();
        let Some(index) = which.checked_rem(pending.len() as u64) else { return Ok(()) };
        let call = pending[index as usize];
        if let Step::CancelTask(_) = step {
            // Most calls are no tasks.
            if machine.cancel_task(call, now, transport).is_ok() {
                self.note(format_args!("task of {call} is to be cancelled"));
            }
        } else if machine.cancel(call, Some("why"), transport).is_ok() {
            self.note(format_args!("cancelled {call}"));
            self.clients[client].ended(call)?;
        }
        Ok(())
    }

    /// Responds to a request of the server.
    fn give(&mut self, client: usize, which: u64) {
        let SimulatedClient { machine, transport, asked, .. } = &mut self.clients[client];
        let Some(index) = which.checked_rem(asked.len() as u64) else { return };
        let id = asked.remove(index as usize);
        let secret = secrets::of_call(client, machine.connection_number());
        let content = Raw::from_serialize(&json!({ "secret": secret })).unwrap();
        // The request may already be over.
        _ = machine.respond(id, &ElicitResult::accept(content), transport);
    }

    fn call_tool(&mut self, client: usize, kind: u64) {
        let (now, number) = (self.now, self.works);
        let SimulatedClient { machine, transport, calls, .. } = &mut self.clients[client];
        let tools = ["tool", "tool", "either", "task"];
        let has_tasks = self.hosted.is_offered;
        let tool = if has_tasks { tools[(kind / 2 % 4) as usize] } else { "tool" };
        let mut options = CallOptions::new();
        if kind % 2 == 1 {
            options = options.progress();
        }
        if has_tasks && !(kind / 8).is_multiple_of(4) {
            let task = TaskOptions::new();
            let ttl = std::time::Duration::from_millis(kind / 64 % 60_000);
            options =
                options.task(if (kind / 32).is_multiple_of(2) { task } else { task.ttl(ttl) });
        }
        let secret = secrets::of_call(client, machine.connection_number());
        let arguments = json!({ "work": number, "secret": secret });
        let arguments = Raw::from_serialize(&arguments).unwrap();
        let work = Work { number, secret };
        let params = CallToolParams::with(tool, arguments);
        let made = machine.call::<method::CallTool>(&params, options, now, transport);
        if let Ok(call) = made {
            self.works += 1;
            calls.insert(call, Call::of(work, now));
        }
    }

    /// Requests the status or the cancellation of a task of another client.
    fn peek(&mut self, client: usize, which: u64) {
        let (other, which) = self.client(which);
        let [own, other] = [&self.clients[client], &self.clients[other]];
        // Without principals, the id of a task without a session gives access to it.
        if own.principal == Principal::default() && own.principal == other.principal {
            return;
        }
        let tasks: Vec<_> = other.calls.values().filter_map(|call| call.ticket.as_ref()).collect();
        let Some(index) = which.checked_rem(tasks.len() as u64) else { return };
        let params = TaskParams::new(tasks[index as usize].task_id.clone());
        let (now, options) = (self.now, CallOptions::new());
        let SimulatedClient { machine, transport, calls, .. } = &mut self.clients[client];
        let made = if which % 3 == 0 {
            machine.call::<method::CancelTask>(&params, options, now, transport)
        } else {
            machine.call::<method::GetTask>(&params, options, now, transport)
        };
        calls.extend(made.ok().map(|call| (call, Call::default())));
    }

    pub(super) fn client_saw(
        &mut self,
        client: usize,
        event: Option<ClientEvent<'static>>,
    ) -> Result<(), String> {
        let Some(event) = event else { return Ok(()) };
        self.clients[client].transport.watch(&event);
        self.note_value(format_args!("client: {event:?}"), &event);
        let one = &mut self.clients[client];
        match event {
            ClientEvent::CallEnded(ended) => {
                let call = one.ended(ended.call)?.clone();
                let has_result = matches!(ended.outcome, Outcome::Result(_));
                one.calls.entry(ended.call).or_default().has_result = has_result;
                if let Outcome::Task(_) = &ended.outcome {
                    // The client has lost its session, and continues the task in the next one.
                    one.calls.entry(ended.call).or_default().ticket = call.ticket;
                    return Ok(());
                }
                self.check_outcome(client, &call, &ended.outcome)
            }
            ClientEvent::Task(update) => {
                let Some(call) = one.calls.get_mut(&update.call).filter(|call| !call.has_ended)
                else {
                    return Err(format!("task: an update of {}, which has ended", update.call));
                };
                let is_other = call.ticket.as_ref().is_some_and(|known| *known != update.ticket);
                if call.is_final || is_other {
                    return Err(format!("task: {call:?} becomes {:?}", update.status));
                }
                let finals = ["completed", "failed", "cancelled"];
                call.is_final = finals.contains(&update.status.as_str());
                call.ticket = Some(update.ticket);
                Ok(())
            }
            ClientEvent::Subscription(update) => match update.news {
                SubscriptionNews::Ended(_) => one.ended(update.call).map(|_| ()),
                // The client has resubscribed by itself in the session that replaces the lost one.
                SubscriptionNews::Granted { .. } if update.call.connection().get() != 0 => {
                    one.calls.entry(update.call).or_default();
                    Ok(())
                }
                _ => Ok(()),
            },
            ClientEvent::Request(request) => {
                one.asked.push(request.id);
                Ok(())
            }
            ClientEvent::Cancelled(cancelled) => {
                one.asked.retain(|id| *id != cancelled.id);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Passes the received parts of an exchange to the machine.
    pub(super) fn arrived(
        &mut self,
        (client, exchange): (usize, ExchangeNumber),
        arrived: Arrived<'_>,
    ) -> Result<(), String> {
        let now = self.now;
        match arrived {
            Arrived::Messages { text, received } => {
                let limits = self.http.limits().clone();
                for frame in Frames::of(text, &limits) {
                    let (meter, length) = (WorkMeter::start(), frame.bytes().len());
                    let SimulatedClient { machine, transport, .. } = &mut self.clients[client];
                    let bytes = frame.bytes().to_vec();
                    let event = machine.receive(frame, received, transport);
                    self.clients[client].note_message(&bytes, now);
                    meter.check(length).map_err(|broken| broken.to_string())?;
                    self.client_saw(client, event.map(ClientEvent::into_owned))?;
                }
            }
            Arrived::Ended { call, end } => {
                self.clients[client].note_exchange_end(exchange, &end, now);
                let SimulatedClient { machine, transport, .. } = &mut self.clients[client];
                let event = machine.exchange_ended(call, end, now, transport);
                self.client_saw(client, event.map(ClientEvent::into_owned))?;
            }
            Arrived::SessionLost => self.renew(client)?,
            Arrived::ConnectionLost => {
                self.clients[client].machine.disconnected(Cause::EndOfInput, now);
            }
            other => self.note_value(format_args!("client: {other:?}"), &other),
        }
        Ok(())
    }

    /// Opens a new session in place of the lost one, and continues the tasks there.
    fn renew(&mut self, client: usize) -> Result<(), String> {
        self.note(format_args!("session lost"));
        let now = self.now;
        let SimulatedClient { machine, transport, .. } = &mut self.clients[client];
        // Clients whose sessions displace each other before they are ready would go on for ever.
        let was_connected = machine.basis().is_some() && transport.session_has_worked();
        machine.disconnected(Cause::SessionLost, now);
        let mut left = Vec::new();
        loop {
            let SimulatedClient { machine, transport, calls, .. } = &mut self.clients[client];
            let Some(event) = machine.handle_timeout(now, transport) else { break };
            if let ClientEvent::CallEnded(ended) = &event
                && let Outcome::Task(task) = &ended.outcome
            {
                let work = calls.get(&ended.call).and_then(|call| call.work.clone());
                left.push((task.ticket.clone(), work));
            }
            if !(was_connected && matches!(event, ClientEvent::Closed { .. })) {
                self.client_saw(client, Some(event))?;
            }
        }
        self.clients[client].forget_session();
        let SimulatedClient { machine, transport, calls, asked, .. } = &mut self.clients[client];
        asked.clear();
        if !was_connected {
            return Ok(());
        }
        let number = machine.connection_number().get() + 1;
        *machine = machine.reconnect(ConnectionNumber::new(number));
        transport.renew();
        machine.connect(now, transport).map_err(|error| error.to_string())?;
        for (ticket, work) in left {
            let resumed = machine.resume_task(&ticket, TaskOptions::new(), now, transport);
            let call = Call { work, ticket: Some(ticket), is_resumed: true, ..Call::default() };
            calls.extend(resumed.ok().map(|id| (id, call)));
        }
        Ok(())
    }

    /// Handles the due timeouts of all sides.
    pub(super) fn elapse(&mut self) -> Result<(), String> {
        let now = self.now;
        for client in 0..self.clients.len() {
            loop {
                let Some(event) = self.clients[client].handle_timeout(now)? else { break };
                self.client_saw(client, Some(event))?;
            }
            self.clients[client].check_pings(now)?;
        }
        self.elapse_logins()?;
        self.expire_tasks()?;
        for _ in 0..100_000 {
            match self.http.handle_timeout(now) {
                Some(event) => self.server_saw(Some(event))?,
                None => return Ok(()),
            }
        }
        Err("endless: time never passes".into())
    }

    /// Ends everything, and checks that nothing is left.
    pub(super) fn finish(&mut self) -> Result<(), String> {
        self.recover()?;
        self.check_service()?;
        for client in &mut self.clients {
            client.machine.shut_down(std::time::Duration::ZERO, self.now);
        }
        self.drop_copies()?;
        self.elapse()?;
        self.settle()?;
        if self.clients.iter().any(|client| client.machine.phase() != Phase::Closed) {
            return Err("end: a client goes on".into());
        }
        for open in std::mem::take(&mut self.open) {
            self.http.with(open.number, self.now, |server, out| {
                // The request may already be over, or may need another result.
                let id = open.request.id;
                if server.respond(id, &json!({ "content": [] }), out).is_err() {
                    _ = server.reject(id, ErrorCode::INTERNAL_ERROR, "it is over", out);
                }
            });
        }
        for _ in 0..4 {
            self.now = self.now + std::time::Duration::from_secs(3_600);
            self.elapse()?;
            self.settle()?;
        }
        for client in &self.clients {
            if let Some((call, _)) = client.calls.iter().find(|(_, call)| !call.has_ended) {
                return Err(format!("outcome: {call} has none"));
            }
            let exchanges = client.transport.exchanges();
            if !self.carried.is_empty() || exchanges != 0 {
                return Err(format!("end: {} carried, {exchanges} known", self.carried.len()));
            }
        }
        if self.http.connections().next().is_some() || self.http.sessions() != 0 {
            let connections = self.http.connections().count();
            return Err(format!(
                "end: {connections} connections, {} sessions",
                self.http.sessions()
            ));
        }
        if self.clients.iter().any(|client| client.login.as_ref().is_some_and(|it| !it.is_idle())) {
            return Err("end: a login goes on".into());
        }
        self.check_debug();
        self.leaked.take().map_or(Ok(()), Err)?;
        self.hosted.check_end()
    }
}
