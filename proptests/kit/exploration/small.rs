//! A client and a server with few possible events, all of which are explored.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::Arc;

use mcp_sansio::task::Tasks;
use mcp_sansio::testing::{
    self, Broken, Canonical, Machine, Meaning, MessageLink, Monitor, Promise,
};
use mcp_sansio::{
    Client, ClientConfig, ClientEvent, ClientRequest, Framing, IncomingId, Instant, Outbox,
    Request, RespondError, Server, ServerConfig, ServerEvent,
};

use super::deeds::{Budget, Deed};

/// A possible event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// An operation from the budget.
    Do(Deed),
    /// The messages of an outbox enter the link.
    Send {
        /// Whether the messages go to the server.
        up: bool,
    },
    /// The next message arrives.
    Deliver {
        /// Whether the message goes to the server.
        up: bool,
    },
    /// A side handles its next due timeout.
    Settle {
        /// Whether the client handles it, rather than the server.
        client: bool,
    },
}

/// Both sides, and the links between them.
#[derive(Clone, Debug)]
pub(super) struct Small {
    pub(super) client: Client,
    pub(super) server: Server,
    pub(super) client_out: Outbox,
    pub(super) server_out: Outbox,
    pub(super) upstream: MessageLink,
    pub(super) downstream: MessageLink,
    pub(super) now: Instant,
    pub(super) ours: Monitor,
    pub(super) theirs: Monitor,
    pub(super) requests: BTreeMap<IncomingId, Request<'static>>,
    pub(super) tasks: Tasks,
    pub(super) begun: u32,
    /// The remaining budget of each kind of operation.
    left: Vec<(&'static str, u8)>,
    forged: &'static [&'static str],
}

impl Small {
    /// Creates both sides before they connect. The forged messages go to the server.
    pub(super) fn new(
        client: ClientConfig,
        server: ServerConfig,
        budget: Budget,
        forged: &'static [&'static str],
    ) -> Self {
        let outbox =
            |config: &mcp_sansio::ConnectionConfig| Outbox::new(Framing::Messages, &config.limits);
        Self {
            client_out: outbox(&client.connection),
            server_out: outbox(&server.connection),
            client: Client::new(Arc::new(client)),
            server: Server::new(Arc::new(server)),
            upstream: MessageLink::new(),
            downstream: MessageLink::new(),
            now: Instant::from_millis(1_000),
            ours: Monitor::new(),
            theirs: Monitor::new(),
            requests: BTreeMap::new(),
            tasks: Tasks::default(),
            begun: 0,
            left: budget.to_vec(),
            forged,
        }
    }

    /// Opens the connection and delivers all messages.
    pub(super) fn connected(mut self) -> Self {
        self.client.connect(self.now, &mut self.client_out).unwrap();
        for _ in 0..10 {
            for action in [Action::Send { up: true }, Action::Send { up: false }] {
                self.happen(&action).unwrap();
            }
            while !self.upstream.is_empty() {
                self.happen(&Action::Deliver { up: true }).unwrap();
            }
            while !self.downstream.is_empty() {
                self.happen(&Action::Deliver { up: false }).unwrap();
            }
        }
        assert!(self.client.revision().is_some());
        self
    }

    /// Returns all possible operations, regardless of the budget.
    fn deeds(&self) -> Vec<Deed> {
        let mut deeds = vec![Deed::Connect, Deed::Call, Deed::CallForTask, Deed::Subscribe];
        deeds.extend(self.ours.calls().map(Deed::Cancel));
        deeds.extend(self.ours.calls().map(Deed::CancelTask));
        deeds.extend(self.ours.requests().map(Deed::Give));
        deeds.extend(self.theirs.requests().map(Deed::Answer));
        deeds.extend(self.theirs.requests().map(Deed::Report));
        let known = self.theirs.requests().filter(|id| self.requests.contains_key(id));
        for id in known {
            deeds.extend([Deed::Require(id), Deed::BeginTask(id)]);
        }
        for (key, _) in self.tasks.iter() {
            deeds.extend([
                Deed::Complete(key),
                Deed::RequireForTask(key),
                Deed::CancelByServer(key),
            ]);
        }
        deeds.extend(self.forged.iter().copied().map(Deed::Forge));
        deeds.extend([Deed::Change, Deed::Break, Deed::Wait]);
        for client in [true, false] {
            deeds.extend([Deed::EndOfInput { client }, Deed::ShutDown { client }]);
        }
        deeds
    }

    fn is_due(&self, client: bool) -> bool {
        let due = if client { self.client.poll_timeout() } else { self.server.poll_timeout() };
        let tasks = self.tasks.poll_timeout().filter(|_| !client);
        due.into_iter().chain(tasks).any(|due| due <= self.now)
    }

    fn happen(&mut self, action: &Action) -> Result<(), Broken> {
        match *action {
            Action::Send { up: true } => {
                let before = self.upstream.len();
                self.upstream.take(&mut self.client_out);
                for message in self.upstream.iter().skip(before) {
                    self.ours.sent(message)?;
                }
            }
            Action::Send { up: false } => {
                let before = self.downstream.len();
                self.downstream.take(&mut self.server_out);
                for message in self.downstream.iter().skip(before) {
                    self.theirs.sent(message)?;
                }
            }
            Action::Deliver { up: true } => {
                if let Some(message) = self.upstream.give() {
                    self.at_server(&message)?;
                }
            }
            Action::Deliver { up: false } => {
                if let Some(message) = self.downstream.give() {
                    self.at_client(&message)?;
                }
            }
            Action::Settle { client: true } => {
                if let Some(event) = self.client.handle_timeout(self.now, &mut self.client_out) {
                    self.client_event(&event)?;
                }
            }
            Action::Settle { client: false } => {
                _ = self.tasks.handle_timeout(self.now);
                if let Some(event) = self.server.handle_timeout(self.now, &mut self.server_out) {
                    self.server_event(event)?;
                }
            }
            Action::Do(deed) => {
                let kind = deed.kind();
                if let Some((_, left)) = self.left.iter_mut().find(|(name, _)| *name == kind) {
                    *left -= 1;
                }
                self.act_out(deed)?;
            }
        }
        self.server.tasks(&mut self.tasks).settle(self.now, &mut self.server_out);
        self.adopt()?;
        self.catch_up()?;
        self.ours.check(&self.client, self.now)?;
        self.theirs.check(&self.server, self.now)
    }

    fn at_server(&mut self, message: &[u8]) -> Result<(), Broken> {
        self.theirs.delivered(message);
        let Some(event) = self.server.receive(message, self.now, &mut self.server_out) else {
            return Ok(());
        };
        let is_cancelled = matches!(event, ServerEvent::Cancelled(_));
        self.server_event(event)?;
        if is_cancelled && is_cancellation(message) {
            self.theirs.cancelled_by(message);
        }
        Ok(())
    }

    fn at_client(&mut self, message: &[u8]) -> Result<(), Broken> {
        self.ours.delivered(message);
        let Some(event) = self.client.receive(message, self.now, &mut self.client_out) else {
            return Ok(());
        };
        let is_cancelled = matches!(event, ClientEvent::Cancelled(_));
        self.client_event(&event)?;
        if is_cancelled && is_cancellation(message) {
            self.ours.cancelled_by(message);
        }
        Ok(())
    }

    fn client_event(&mut self, event: &ClientEvent<'_>) -> Result<(), Broken> {
        self.ours.event::<Client>(event)
    }

    fn server_event(&mut self, event: ServerEvent<'_>) -> Result<(), Broken> {
        self.theirs.event::<Server>(&event)?;
        if let Meaning::RequestEnded(id) = <Server as Machine>::meaning(&event) {
            self.requests.remove(&id);
        }
        match event {
            ServerEvent::Request(request) => {
                let (id, now) = (request.id, self.now);
                if let ClientRequest::Task(call) = &request.kind {
                    let (tasks, out) = (&mut self.tasks, &mut self.server_out);
                    _ = self.server.tasks(tasks).serve(id, call, now, out);
                } else {
                    self.requests.insert(id, request.into_owned());
                }
            }
            ServerEvent::TaskAnswer(answer) => _ = self.tasks.answered(&answer, self.now),
            ServerEvent::Closed { .. } => self.tasks.disconnected(self.server.connection_number()),
            _ => {}
        }
        Ok(())
    }

    /// Registers the subscriptions that the machine has made by itself.
    fn adopt(&mut self) -> Result<(), Broken> {
        let Self { client, ours, .. } = self;
        client.in_flight().subscriptions().try_for_each(|call| {
            if ours.calls().any(|known| known == call) { Ok(()) } else { ours.called(call) }
        })
    }

    /// Registers the responses that the machine has sent for its tasks.
    fn catch_up(&mut self) -> Result<(), Broken> {
        let Self { server, server_out: out, theirs, requests, .. } = self;
        let open: Vec<IncomingId> = server.in_flight().requests().collect();
        let over: Vec<IncomingId> = theirs.requests().filter(|id| !open.contains(id)).collect();
        for id in over {
            if server.respond(id, &(), out) == Err(RespondError::Answered) {
                theirs.answered(id)?;
            }
        }
        requests.retain(|id, _| open.contains(id));
        Ok(())
    }

    /// Checks that everything has ended properly.
    fn is_well_ended(&self) -> Result<(), Broken> {
        self.ours.settled(&self.client, self.now)?;
        self.theirs.settled(&self.server, self.now)?;
        // A broken transport must end everything that is still open.
        let mut last = self.clone();
        last.act_out(Deed::Break)?;
        for client in [true, false] {
            for _ in 0..100 {
                last.happen(&Action::Settle { client })?;
            }
        }
        if last.ours.is_closed() && last.theirs.is_closed() {
            return Ok(());
        }
        Err(Broken::new(Promise::OneOutcome, "a connection that is broken has not ended"))
    }
}

impl testing::World for Small {
    type Action = Action;

    fn actions(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        // Due timeouts are explored first, in either order.
        for client in [true, false] {
            if self.is_due(client) {
                actions.push(Action::Settle { client });
            }
        }
        for (up, out, link) in
            [(true, &self.client_out, &self.upstream), (false, &self.server_out, &self.downstream)]
        {
            if !out.is_empty() {
                actions.push(Action::Send { up });
            }
            if !link.is_empty() {
                actions.push(Action::Deliver { up });
            }
        }
        let may = |deed: &Deed| {
            let kind = deed.kind();
            self.left.iter().any(|(name, left)| *name == kind && 0 < *left)
        };
        actions.extend(self.deeds().into_iter().filter(may).map(Action::Do));
        actions
    }

    fn act(&mut self, action: &Action) -> Result<(), String> {
        self.happen(action).map_err(|broken| broken.to_string())
    }

    fn end(&self) -> Result<(), String> {
        self.is_well_ended().map_err(|broken| broken.to_string())
    }

    fn view(&self) -> Canonical {
        let mut view = Canonical::new(self.now);
        let Self { client, server, client_out, server_out, upstream, downstream, .. } = self;
        (client, server, client_out, server_out, upstream, downstream).hash(&mut view);
        (&self.ours, &self.theirs, &self.tasks, self.begun, &self.left).hash(&mut view);
        view
    }
}

fn is_cancellation(message: &[u8]) -> bool {
    String::from_utf8_lossy(message).contains("\"notifications/cancelled\"")
}
