//! One request between a client and a server, in every order, described as the model in `proptests/models` does.

mod list;
mod names;
mod sides;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs;
use std::hash::Hash;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use mcp_sansio::task::{Status, TaskKey, Tasks, TasksConfig};
use mcp_sansio::testing::{self, Canonical, Monitor};
use mcp_sansio::{CallId, Client, IncomingId, Instant, Outbox, Phase, RevisionSet, Server};

use super::small::Small;
use crate::config;
pub use list::List;
use names::Kinds;

/// The unit of time of the model.
const TICK: Duration = Duration::from_secs(1);
/// The durations of the model, in ticks.
const IDLE: u32 = 2;
const TOTAL: u32 = 3;
const POLL: u32 = 1;
const DRAIN: u32 = 1;
const GRACE: u32 = 2;
/// The longest time that the model counts.
const HORIZON: u64 = 14;
/// The maximum number of states.
const MOST: usize = 4_000_000;

/// The choices with which the model makes a list of abstract states.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// The name of the list in `proptests/models`.
    pub name: &'static str,
    /// Whether an unoptimized build explores all states in seconds.
    pub is_quick: bool,
    /// Whether the client asks for a task.
    pub is_task: bool,
    reports: u8,
    closes: bool,
    shuts_down: bool,
}

impl Variant {
    /// The definitions of the model, as Spin takes them.
    pub fn macros(&self) -> String {
        let Self { is_task, reports, closes, shuts_down, .. } = *self;
        let [task, close, shut_down] = [is_task, closes, shuts_down].map(u8::from);
        format!("-DTASK={task} -DREPORTS={reports} -DCLOSE={close} -DSHUT_DOWN={shut_down}")
    }

    /// Explores the real machines, and returns their abstract states and transitions.
    ///
    /// # Errors
    ///
    /// Returns a shortest path to a violation.
    pub fn explore(self, revisions: RevisionSet) -> Result<List, String> {
        let list = Rc::new(RefCell::new(List::default()));
        let world = Request::new(self, revisions, Rc::clone(&list));
        testing::explore(world, MOST).map_err(|counterexample| counterexample.to_string())?;
        Ok(list.take())
    }

    /// Returns the eras whose machines have the states of this list. The model has the tasks of the legacy era.
    pub fn eras(self) -> &'static [RevisionSet] {
        if self.is_task {
            &[RevisionSet::LEGACY]
        } else {
            &[RevisionSet::LEGACY, RevisionSet::MODERN]
        }
    }

    /// Returns the list of the model.
    pub fn recorded(self) -> String {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("models");
        fs::read_to_string(folder.join(self.name).with_extension("states")).unwrap()
    }
}

/// A request that ends by itself, as the lists extend it.
const BARE: Variant = Variant {
    name: "",
    is_quick: false,
    is_task: false,
    reports: 0,
    closes: false,
    shuts_down: false,
};

/// The lists of the model.
pub const VARIANTS: [Variant; 6] = [
    Variant { name: "request", is_quick: true, reports: 1, closes: true, ..BARE },
    Variant { name: "request_shut_down", reports: 2, closes: true, shuts_down: true, ..BARE },
    Variant { name: "task", is_quick: true, is_task: true, ..BARE },
    Variant { name: "task_progress", is_task: true, reports: 1, ..BARE },
    Variant { name: "task_close", is_task: true, closes: true, ..BARE },
    Variant { name: "task_shut_down", is_task: true, shuts_down: true, ..BARE },
];

/// What goes through a link.
#[derive(Clone, Debug, Hash)]
enum Packet {
    Message(Vec<u8>),
    End,
}

/// An action; its name is that of the model.
type Action = &'static str;

/// Both sides, and the links between them.
#[derive(Clone, Debug)]
struct Request {
    variant: Variant,
    client: Client,
    server: Server,
    client_out: Outbox,
    server_out: Outbox,
    up: VecDeque<Packet>,
    down: VecDeque<Packet>,
    client_hung: bool,
    server_hung: bool,
    now: Instant,
    ours: Monitor,
    theirs: Monitor,
    tasks: Tasks,
    call: Option<CallId>,
    /// Whether the call has become a task.
    is_followed: bool,
    outcome: Option<&'static str>,
    /// The ticks since the call, and since it last had progress.
    call_ticks: u8,
    quiet_ticks: u8,
    asked_to_cancel: bool,
    request: Option<IncomingId>,
    state: &'static str,
    task: Option<TaskKey>,
    reports: u8,
    kinds: Kinds,
    /// The description of this state.
    shown: String,
    list: Rc<RefCell<List>>,
}

impl Request {
    fn new(variant: Variant, revisions: RevisionSet, list: Rc<RefCell<List>>) -> Self {
        let mut client = config::client_of_both_eras();
        client.revisions = revisions;
        // The timeouts of requests about tasks are not in the model.
        (client.connection.timeouts.idle, client.connection.timeouts.total) = (None, None);
        let mut server = config::server_of_both_eras();
        server.capabilities = server.capabilities.with_tasks();
        server.revisions = revisions;
        server.connection.timeouts.drain = DRAIN * TICK;
        let small = Small::new(client, server, &[], &[]).connected();
        let mut tasks = TasksConfig::default();
        tasks.notify = false;
        let Small { client, server, client_out, server_out, now, ours, theirs, .. } = small;
        let mut world = Self {
            variant,
            client,
            server,
            client_out,
            server_out,
            up: VecDeque::new(),
            down: VecDeque::new(),
            client_hung: false,
            server_hung: false,
            now,
            ours,
            theirs,
            tasks: Tasks::new(tasks),
            call: None,
            is_followed: false,
            outcome: None,
            call_ticks: 0,
            quiet_ticks: 0,
            asked_to_cancel: false,
            request: None,
            state: "none",
            task: None,
            reports: 0,
            kinds: Kinds::new(),
            shown: String::new(),
            list,
        };
        world.shown = world.describe();
        world.list.borrow_mut().begin(&world.shown);
        world
    }

    /// Returns the time until a side has to handle a timeout, in ticks.
    fn due(&self, client: bool) -> Option<u64> {
        let due = if client { self.client.poll_timeout() } else { self.server.poll_timeout() };
        let tasks = self.tasks.poll_timeout().filter(|_| !client);
        let due = due.into_iter().chain(tasks).min()?;
        let ticks = due.since_epoch().saturating_sub(self.now.since_epoch()).as_secs();
        Some(ticks).filter(|ticks| *ticks <= HORIZON)
    }

    /// Describes the state in the words of the model.
    fn describe(&mut self) -> String {
        let is_open = self.call.is_some_and(|call| self.client.in_flight().is_pending(call));
        let call = match (self.call, self.outcome) {
            (None, _) => "none".to_owned(),
            (Some(_), None) if self.is_followed => format!("task:{}", self.call_ticks),
            (Some(_), None) => format!("open:{}:{}", self.call_ticks, self.quiet_ticks),
            (Some(_), Some(outcome)) => outcome.to_owned(),
        };
        let lost = if self.call.is_some() && is_open == self.outcome.is_some() { "!" } else { "" };
        let sent: Vec<Vec<u8>> = names::unsent(&self.client_out);
        let client_out: Vec<String> =
            sent.iter().map(|it| names::of_client(it, &mut self.kinds)).collect();
        let up = queue(&self.up, |it| names::of_client(it, &mut self.kinds));
        let server_out: Vec<String> = names::unsent(&self.server_out)
            .iter()
            .map(|it| names::of_server(it, &self.kinds))
            .collect();
        let down = queue(&self.down, |it| names::of_server(it, &self.kinds));
        let task =
            self.task.and_then(|key| self.tasks.get(key)).map_or("-", |it| it.status().name());
        let task = if self.theirs.is_closed() { "-" } else { task };
        format!(
            "{lost}{call} {} [{}] ({}) | {} {task} {} [{}] ({})",
            self.side(true),
            client_out.join(" "),
            up,
            self.state,
            self.side(false),
            server_out.join(" "),
            down,
        )
    }

    /// Describes the phase of a side, and its next timeout.
    fn side(&self, client: bool) -> String {
        let (phase, is_over, hung) = if client {
            (self.client.phase(), self.ours.is_closed(), self.client_hung)
        } else {
            (self.server.phase(), self.theirs.is_closed(), self.server_hung)
        };
        let phase = match phase {
            Phase::Draining => "draining",
            Phase::Closed if !is_over => "closing",
            Phase::Closed if !hung => "closed",
            Phase::Closed => "gone",
            _ => "ready",
        };
        let due = self.due(client).map_or_else(|| "-".to_owned(), |due| due.to_string());
        format!("{phase} {due}")
    }

    fn has_open_task(&self) -> bool {
        let task = self.task.and_then(|key| self.tasks.get(key));
        task.is_some_and(|task| task.status() == Status::Working) && !self.theirs.is_closed()
    }
}

fn queue(link: &VecDeque<Packet>, mut name: impl FnMut(&[u8]) -> String) -> String {
    let names = link.iter().map(|packet| match packet {
        Packet::Message(message) => name(message),
        Packet::End => "end".to_owned(),
    });
    names.collect::<Vec<_>>().join(" ")
}

/// Whether a connection in this phase begins new work. A server of the modern era needs no handshake to be ready.
const fn is_ready(phase: Phase) -> bool {
    !matches!(phase, Phase::Draining | Phase::Closed)
}

impl testing::World for Request {
    type Action = Action;

    fn actions(&self) -> Vec<Action> {
        let (client, server) = (self.client.phase(), self.server.phase());
        let is_open = self.call.is_some() && self.outcome.is_none();
        let is_processed = self.state == "processed" && server != Phase::Closed;
        let (client_due, server_due) = (self.due(true), self.due(false));
        let is_due = client_due == Some(0) || server_due == Some(0);
        let Variant { closes, shuts_down, .. } = self.variant;
        let may_report = self.reports < self.variant.reports && server != Phase::Closed;
        let possible: [(Action, bool); 20] = [
            ("call", self.call.is_none() && is_ready(client)),
            ("cancel", is_open && client != Phase::Closed),
            (
                "cancel task",
                is_open && self.is_followed && is_ready(client) && !self.asked_to_cancel,
            ),
            ("client: close", closes && client != Phase::Closed),
            ("client: shut down", shuts_down && is_ready(client)),
            ("respond", is_processed),
            ("report", may_report && (is_processed || self.has_open_task())),
            ("begin task", self.variant.is_task && is_processed),
            ("complete task", self.has_open_task()),
            ("server: close", closes && server != Phase::Closed),
            ("server: shut down", shuts_down && is_ready(server)),
            ("send up", !self.client_out.is_empty() && !self.client_hung),
            ("send down", !self.server_out.is_empty() && !self.server_hung),
            (
                "client: hang up",
                self.ours.is_closed() && self.client_out.is_empty() && !self.client_hung,
            ),
            (
                "server: hang up",
                self.theirs.is_closed() && self.server_out.is_empty() && !self.server_hung,
            ),
            ("deliver up", !self.up.is_empty()),
            ("deliver down", !self.down.is_empty()),
            ("client: settle", client_due == Some(0)),
            ("server: settle", server_due == Some(0)),
            ("tick", !is_due && (client_due.is_some() || server_due.is_some())),
        ];
        possible.into_iter().filter(|(_, may)| *may).map(|(action, _)| action).collect()
    }

    fn act(&mut self, action: &Action) -> Result<(), String> {
        self.happen(action).map_err(|broken| broken.to_string())?;
        let source = std::mem::take(&mut self.shown);
        self.shown = self.describe();
        self.list.borrow_mut().add(&source, action, &self.shown);
        Ok(())
    }

    fn end(&self) -> Result<(), String> {
        self.ours.settled(&self.client, self.now).map_err(|broken| broken.to_string())?;
        self.theirs.settled(&self.server, self.now).map_err(|broken| broken.to_string())
    }

    fn view(&self) -> Canonical {
        let mut view = Canonical::new(self.now);
        let Self { client, server, client_out, server_out, up, down, .. } = self;
        (client, server, client_out, server_out, up, down).hash(&mut view);
        (self.client_hung, self.server_hung, &self.ours, &self.theirs, &self.tasks).hash(&mut view);
        (self.call, self.is_followed, self.outcome, self.asked_to_cancel).hash(&mut view);
        if self.outcome.is_none() {
            (self.call_ticks, self.quiet_ticks).hash(&mut view);
        }
        (self.request, self.state, self.task, self.reports).hash(&mut view);
        // The machines may have forgotten the kind of a request whose response is on the way; the description has it.
        self.kinds.hash(&mut view);
        view
    }
}
