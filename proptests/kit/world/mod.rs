//! A client and a server of any eras, the transport between them, and two applications that do anything at any time.
//! Every step checks all invariants.
//!
//! A run is determined by its [`Setup`] and its [`Step`]s. Both are generated from
//! [`Choices`](mcp_sansio::testing::Choices): the simulation derives them from a seed, the fuzzer from bytes, and
//! proptest from shrinkable values.

mod batches;
mod change_model;
mod checks;
mod client_side;
mod copies;
pub mod hostile;
mod progress_model;
mod reference;
mod routes;
mod server_side;
mod setup;
mod side;
mod step;
mod time_model;
mod transport;
mod trial;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hasher;
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::config::DuplicateIds;
use mcp_sansio::task::{Tasks, TasksConfig};
use mcp_sansio::testing::{Broken, Diagram, Digest, Promise};
use mcp_sansio::{
    CallId, Cause, Client, ConnectionNumber, Frame, Frames, IncomingId, Instant, Limits, Outbox,
    Request, Server, ServerConfig,
};

use change_model::ChangeModel;
use checks::unchanged;
use progress_model::ProgressModel;
use reference::Reference;
use routes::RoutedOutbox;
pub use setup::Setup;
use side::Side;
pub use step::{Step, Way};
use transport::Transport;
pub use trial::{Failure, Trial, draw, schedule};

/// A text in every payload. It must not appear in any `Debug` output.
const SECRET: &str = "s3cret";

/// The number of handles of each kind that an application remembers, including stale ones.
const REMEMBERED: usize = 24;

/// Both sides and their environment.
#[derive(Debug)]
pub struct World {
    setup: Setup,
    client: Client,
    server: Server,
    client_out: RoutedOutbox,
    server_out: RoutedOutbox,
    upstream: Transport,
    downstream: Transport,
    now: Instant,
    ours: Side,
    theirs: Side,
    /// The requests for which the server can require input.
    requests: BTreeMap<IncomingId, Request<'static>>,
    tasks: Tasks,
    /// The requests whose response comes from the tasks.
    lent: BTreeSet<IncomingId>,
    begun: u32,
    connections: u32,
    /// The serial number of each call of the client.
    serials: BTreeMap<CallId, u32>,
    /// The ids under which the calls were sent.
    asked: BTreeMap<u64, CallId>,
    made: u32,
    /// The serial numbers of the calls in batches, which cannot be withdrawn.
    in_batches: BTreeSet<u32>,
    left: BTreeSet<u32>,
    latest: u32,
    /// Whether a forged message was sent to the client.
    is_deceived: bool,
    progress: ProgressModel,
    changes: ChangeModel,
    reference: Reference,
    digest: Digest,
    events: u64,
    diagram: Option<Diagram>,
    /// Every sent message with its direction.
    messages: Vec<(Way, Vec<u8>)>,
}

impl World {
    /// Creates a world before its first step.
    pub fn new(setup: Setup) -> Self {
        let number = ConnectionNumber::new(0);
        let (client, server) = (Arc::new(setup.client.clone()), Arc::new(setup.server.clone()));
        Self::between(
            setup,
            Client::with_connection_number(client, number),
            Server::with_connection_number(server, number),
        )
    }

    fn between(setup: Setup, client: Client, server: Server) -> Self {
        let framing = Transport::framing(setup.stream);
        let (ours, theirs) = (&setup.client.connection, &setup.server.connection);
        let mut of_tasks = TasksConfig::default();
        of_tasks.tasks = 6;
        Self {
            client_out: RoutedOutbox::new(Outbox::new(framing, &ours.limits)),
            server_out: RoutedOutbox::new(Outbox::new(framing, &theirs.limits)),
            upstream: Transport::new(setup.stream, &theirs.limits),
            downstream: Transport::new(setup.stream, &ours.limits),
            ours: Side::new(ours),
            theirs: Side::new(theirs),
            now: Instant::from_millis(1_000),
            requests: BTreeMap::new(),
            tasks: Tasks::new(of_tasks),
            lent: BTreeSet::new(),
            begun: 0,
            connections: 0,
            serials: BTreeMap::new(),
            asked: BTreeMap::new(),
            made: 0,
            in_batches: BTreeSet::new(),
            left: BTreeSet::new(),
            latest: 0,
            is_deceived: false,
            progress: ProgressModel::default(),
            changes: ChangeModel::default(),
            reference: Reference::new(&client, &server, setup.stream.is_some()),
            client,
            server,
            digest: Digest::new(),
            events: 0,
            diagram: None,
            messages: Vec::new(),
            setup,
        }
    }

    /// Starts a diagram of the following events.
    pub fn draw(&mut self) {
        self.diagram = Some(Diagram::new("client", "server", self.now));
    }

    /// Returns the diagram.
    pub const fn diagram(&self) -> Option<&Diagram> {
        self.diagram.as_ref()
    }

    /// Returns the digest of all events so far. Equal runs have equal digests on every computer.
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns the sent messages of this connection with their directions.
    pub fn messages(&self) -> &[(Way, Vec<u8>)] {
        &self.messages
    }

    /// Returns the number of events so far.
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// Runs a step and checks all invariants.
    ///
    /// # Errors
    ///
    /// Returns the broken promise.
    pub fn step(&mut self, step: &Step) -> Result<(), Broken> {
        self.changes.is_unreliable |= step.is_fault();
        let was_over = (self.ours.monitor.is_closed(), self.theirs.monitor.is_closed());
        let lengths = (self.client_out.len(), self.server_out.len());
        self.reference.sends_batches(matches!(step, Step::Batch { .. }));
        self.by_client(step)?;
        self.by_server(step)?;
        self.by_tasks(step)?;
        self.compare_written()?;
        self.around(step)?;
        self.compare_written()?;
        let is_same = !matches!(step, Step::Reconnect);
        let lengths_now = (self.client_out.len(), self.server_out.len());
        if is_same
            && (was_over.0 && lengths.0 < lengths_now.0 || was_over.1 && lengths.1 < lengths_now.1)
        {
            return Err(Broken::new(Promise::OneAnswer, "something is sent after the end"));
        }
        self.check()
    }

    /// Performs a step of the wire, the clock or the hosts.
    fn around(&mut self, step: &Step) -> Result<(), Broken> {
        match step {
            Step::Write { way, bytes, delay } => {
                self.write(*way, usize::from(*bytes), Duration::from_millis(u64::from(*delay)))?;
            }
            Step::Read { way, bytes } => _ = self.read(*way, usize::from(*bytes))?,
            Step::Flow => self.flow()?,
            Step::Lose { way, which } => self.on_messages(*way, *which, |link, at| link.lose(at)),
            Step::Repeat { way, which } => {
                self.on_messages(*way, *which, |link, at| link.repeat(at))
            }
            Step::Hurry { way, which } => self.on_messages(*way, *which, |link, at| link.hurry(at)),
            Step::Forge { way, text } => {
                self.is_deceived |= !way;
                self.transport(*way).forge(text.as_bytes());
            }
            Step::Settle => self.settle()?,
            Step::Wait { milliseconds } => {
                self.now = self.now + Duration::from_millis(u64::from(*milliseconds));
            }
            Step::WaitUntilDue => {
                if let Some(due) = self.due() {
                    self.now = self.now.max(due);
                }
                self.settle()?;
            }
            Step::End { way, how: 0 } => self.end_of_input(*way)?,
            Step::End { way, how } => self.end(*way, *how),
            Step::Break => {
                self.upstream.break_off();
                self.downstream.break_off();
                self.client.disconnected(Cause::ReadFailed, self.now);
                self.server.disconnected(Cause::ReadFailed, self.now);
            }
            Step::Reconnect => self.reconnect()?,
            Step::Copy => self.copy()?,
            Step::Restart => self.restart()?,
            Step::Batch { way: true, what } => self.batch_by_client(*what)?,
            Step::Batch { way: false, what } => self.batch_by_server(*what)?,
            Step::Release { way: true } => {
                self.client.release();
                self.client_out.release();
            }
            Step::Release { way: false } => {
                self.server.release();
                self.server_out.release();
            }
            _ => {}
        }
        Ok(())
    }

    /// Compares what both sides have written with the reference models.
    fn compare_written(&mut self) -> Result<(), Broken> {
        self.check_routes()?;
        let Self { reference, client, server, client_out, server_out, .. } = self;
        reference.client_wrote(client, client_out)?;
        reference.server_wrote(server, server_out)
    }

    /// Checks the routes of the messages that both sides have written.
    fn check_routes(&mut self) -> Result<(), Broken> {
        let Self { client, server, client_out, server_out, ours, theirs, .. } = self;
        let open = client.in_flight().requests();
        ours.routes.check(client_out, open, &self.serials)?;
        theirs.routes.check(server_out, server.in_flight().requests(), &BTreeMap::new())
    }

    const fn transport(&mut self, way: Way) -> &mut Transport {
        if way { &mut self.upstream } else { &mut self.downstream }
    }

    fn on_messages(
        &mut self,
        way: Way,
        which: u16,
        act: impl FnOnce(&mut mcp_sansio::testing::MessageLink, usize),
    ) {
        if let Some(link) = self.transport(way).messages()
            && let Some(at) = usize::from(which).checked_rem(link.len())
        {
            act(link, at);
        }
    }

    fn write(&mut self, way: Way, bytes: usize, delay: Duration) -> Result<usize, Broken> {
        let received = self.now + delay;
        self.compare_written()?;
        let (out, transport) = if way {
            (&mut self.client_out, &mut self.upstream)
        } else {
            (&mut self.server_out, &mut self.downstream)
        };
        let before = out.len();
        let messages = transport.write(out, bytes, received);
        let count = before - out.len();
        self.reference.sent(&self.client_out, &self.server_out);
        for message in messages {
            self.sent(way, &message)?;
        }
        Ok(count)
    }

    /// Records a message whose first byte has been sent.
    fn sent(&mut self, way: Way, message: &[u8]) -> Result<(), Broken> {
        self.digest.write_u8(u8::from(way));
        self.digest.write_u64(self.now.since_epoch().as_nanos() as u64);
        self.digest.write(message);
        if let Some(diagram) = &mut self.diagram {
            if way {
                diagram.to_the_right(self.now, message);
            } else {
                diagram.to_the_left(self.now, message);
            }
        }
        self.messages.push((way, message.to_vec()));
        if way {
            self.check_order_of_all(message)?;
        }
        // If several requests may share an id, a response does not say which of them is over.
        let is_unique = self.setup.server.connection.duplicate_ids == DuplicateIds::Refuse;
        if !way
            && is_unique
            && let Ok(message) = serde_json::from_slice(message)
        {
            let (messages, _) = reference::elements(&message);
            for message in messages {
                self.progress.sent(message, !self.changes.is_unreliable)?;
            }
        }
        let side = if way { &mut self.ours } else { &mut self.theirs };
        side.monitor.sent(message)
    }

    fn read(&mut self, way: Way, bytes: usize) -> Result<bool, Broken> {
        let now = self.now;
        // Frames borrow the transport, so it is moved out of the world while they are received.
        let mut transport = std::mem::take(self.transport(way));
        let has_read = transport.read(bytes, now);
        let message = transport.message();
        let (to_server, to_client) = (&self.setup.server.connection, &self.setup.client.connection);
        let limits = if way { to_server.limits.clone() } else { to_client.limits.clone() };
        for frame in message.iter().flat_map(|message| Frames::of(message, &limits)) {
            self.frame(way, frame)?;
        }
        while let Some(frame) = transport.next() {
            self.frame(way, frame)?;
        }
        *self.transport(way) = transport;
        Ok(has_read)
    }

    fn frame(&mut self, way: Way, frame: Frame<'_>) -> Result<(), Broken> {
        self.check_routes()?;
        if way { self.at_server(frame) } else { self.at_client(frame) }
    }

    /// Writes and reads until nothing moves.
    fn flow(&mut self) -> Result<(), Broken> {
        for _ in 0..100_000 {
            let mut moves = false;
            for way in [true, false] {
                moves |= 0 < self.write(way, usize::MAX, Duration::ZERO)?;
                moves |= self.read(way, usize::MAX)?;
            }
            if !moves {
                return self.have_changes_arrived();
            }
        }
        Err(Broken::new(Promise::Bounded, "both talk without end"))
    }

    /// A side reads everything that has arrived, including a trailing partial message, and then the end of input.
    fn end_of_input(&mut self, of_client: Way) -> Result<(), Broken> {
        let mut transport = std::mem::take(self.transport(!of_client));
        transport.finish();
        while let Some(frame) = transport.next() {
            self.frame(!of_client, frame)?;
        }
        *self.transport(!of_client) = transport;
        if of_client {
            self.client.disconnected(Cause::EndOfInput, self.now);
        } else {
            self.server.disconnected(Cause::EndOfInput, self.now);
            self.theirs.time.drains(self.setup.server.connection.timeouts.drain, self.now);
        }
        Ok(())
    }

    fn end(&mut self, way: Way, how: u8) {
        let Self { client, server, ours, theirs, now, .. } = self;
        let grace = Duration::from_secs(5);
        if 2 < how {
            let side = if way { ours } else { theirs };
            side.time.drains(grace, *now);
        }
        match (how, way) {
            (1, true) => client.disconnected(Cause::WriteFailed, *now),
            (1, false) => server.disconnected(Cause::WriteFailed, *now),
            (2, true) => client.close(),
            (2, false) => server.close(),
            (_, true) => client.shut_down(grace, *now),
            (_, false) => server.shut_down(grace, *now),
        }
    }

    /// Replaces both machines if the client's connection has ended.
    fn reconnect(&mut self) -> Result<(), Broken> {
        if !self.ours.monitor.is_closed() {
            return Ok(());
        }
        self.server.close();
        self.settle()?;
        self.connections += 1;
        let number = ConnectionNumber::new(self.connections);
        let client = self.client.reconnect(number);
        let server = Server::with_connection_number(Arc::new(self.setup.server.clone()), number);
        let mut next = Self::between(self.setup.clone(), client, server);
        (next.now, next.begun, next.connections) = (self.now, self.begun, self.connections);
        (next.made, next.digest, next.events) = (self.made, self.digest, self.events);
        next.tasks = std::mem::take(&mut self.tasks);
        next.diagram = self.diagram.take();
        *self = next;
        Ok(())
    }

    /// Handles all due timeouts of both sides.
    fn settle(&mut self) -> Result<(), Broken> {
        for _ in 0..1_000 {
            if !self.client_is_due()? && !self.server_is_due()? {
                let ServerConfig { connection, .. } = &self.setup.server;
                let has_room = connection.limits.outbox_bytes == Limits::default().outbox_bytes;
                let open: BTreeSet<_> = self.server.in_flight().requests().collect();
                self.progress.keep_open(&open);
                let out = Some(&*self.server_out).filter(|_| has_room);
                self.progress.settled(connection.progress_interval, self.now, out)?;
                let limits = &self.setup.client.connection.limits;
                self.ours.settled(&self.client, limits, self.now)?;
                return self.theirs.settled(&self.server, &connection.limits, self.now);
            }
        }
        Err(Broken::new(Promise::Total, "there is always something due"))
    }

    /// Returns the time of the next timeout or arrival.
    fn due(&self) -> Option<Instant> {
        let Self { client, server, tasks, upstream, downstream, .. } = self;
        let machines = [client.poll_timeout(), server.poll_timeout(), tasks.poll_timeout()];
        let transports = [upstream.poll_timeout(), downstream.poll_timeout()];
        machines.into_iter().chain(transports).flatten().min()
    }
}
