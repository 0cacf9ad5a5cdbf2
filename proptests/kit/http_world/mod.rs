//! Clients and a server connected by HTTP. Requests and responses are delayed, split, reordered or lost. The
//! invariants must hold throughout.

mod authorization;
mod batches;
mod carrying;
mod checks;
mod client_side;
mod exchanges;
mod hosted_tasks;
mod pings;
mod refusals;
mod replays;
mod secrets;
mod server_side;
mod service;
mod setup;
mod step;
mod strangers;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::Instant;
use mcp_sansio::http::HttpServer;
use mcp_sansio::testing::{Choices, Digest};

use authorization::Authorization;
use carrying::Carried;
use client_side::SimulatedClient;
use hosted_tasks::{HostedTasks, OpenRequest};
use setup::{Features, Setup};

pub use step::Step;

/// Both sides, and the traffic between them.
pub struct HttpWorld {
    pub(self) features: Features,
    pub(self) http: HttpServer,
    pub(self) hosted: HostedTasks,
    /// The authorization server, if the server needs tokens.
    pub(self) authorization: Option<Authorization>,
    pub(self) clients: Vec<SimulatedClient>,
    pub(self) now: Instant,
    pub(self) carried: Vec<Carried>,
    /// The open requests of the clients to the server.
    pub(self) open: Vec<OpenRequest>,
    /// Whether the task of the latest request about a task is one that the requestor reaches.
    pub(self) is_found: Option<bool>,
    pub(self) sessions: u64,
    /// The clients that have opened the sessions, by the ids of these.
    pub(self) session_owners: BTreeMap<String, usize>,
    /// The requests that have reached the machines: client, connection and id.
    pub(self) dispatched: BTreeSet<(usize, u32, String)>,
    /// A text that contains a token.
    pub(self) leaked: Option<String>,
    /// The number of tool calls. Each asks for its own piece of work.
    pub(self) works: u64,
    pub(self) trace: Vec<String>,
    pub(self) digest: Digest,
    events: u64,
}

/// A run without a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpTrial {
    /// The number of events.
    pub events: u64,
    /// The digest of the run.
    pub digest: Digest,
}

/// A run with a violation.
#[derive(Clone, Debug)]
pub struct HttpFailure {
    setup: String,
    steps: Vec<Step>,
    broken: String,
    trace: Vec<String>,
}

impl HttpTrial {
    /// Runs a random schedule of at most `steps` steps.
    ///
    /// # Errors
    ///
    /// Returns the broken invariant with a minimized schedule.
    pub fn run(choices: &mut Choices, steps: usize) -> Result<Self, Box<HttpFailure>> {
        let (setup, schedule) = Self::schedule(choices, steps);
        once(&setup, &schedule).1.map_err(|broken| shrink(&setup, schedule, broken))
    }

    /// Runs a random schedule without minimization.
    ///
    /// # Errors
    ///
    /// Returns the broken invariant.
    pub fn once(choices: &mut Choices, steps: usize) -> Result<Self, String> {
        let (setup, schedule) = Self::schedule(choices, steps);
        once(&setup, &schedule).1
    }

    fn schedule(choices: &mut Choices, steps: usize) -> (Setup, Vec<Step>) {
        let setup = Setup::choose(choices);
        let mut schedule = Vec::new();
        while schedule.len() < steps && !choices.is_exhausted() {
            schedule.push(Step::choose(choices, setup.features));
        }
        (setup, schedule)
    }
}

/// Runs a random schedule and returns its trace, one line per event.
pub fn trace(choices: &mut Choices, steps: usize) -> Vec<String> {
    let setup = Setup::choose(choices);
    let schedule: Vec<Step> = (0..steps).map(|_| Step::choose(choices, setup.features)).collect();
    once(&setup, &schedule).0
}

fn once(setup: &Setup, steps: &[Step]) -> (Vec<String>, Result<HttpTrial, String>) {
    let mut world = HttpWorld::new(setup);
    let all = AssertUnwindSafe(|| {
        world.connect()?;
        steps.iter().try_for_each(|step| world.step(*step))?;
        world.finish()
    });
    let done = catch_unwind(all).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("panic: {}", text.unwrap_or("no text")))
    });
    let trial = HttpTrial { events: world.events, digest: world.digest };
    (world.trace, done.map(|()| trial))
}

/// Removes steps as long as the same invariant is broken.
fn shrink(setup: &Setup, mut steps: Vec<Step>, mut broken: String) -> Box<HttpFailure> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let kind = |broken: &str| broken.split(':').next().map(str::to_owned);
    let mut length = steps.len();
    while 0 < length {
        let mut at = 0;
        while at < steps.len() {
            let mut fewer = steps.clone();
            fewer.drain(at..steps.len().min(at + length));
            match once(setup, &fewer).1 {
                Err(same) if kind(&same) == kind(&broken) => (steps, broken) = (fewer, same),
                _ => at += length,
            }
        }
        length /= 2;
    }
    std::panic::set_hook(hook);
    let trace = once(setup, &steps).0;
    let Setup { features, clients, server, http, tasks, authorization } = setup;
    let clients: Vec<_> =
        clients.iter().map(|client| (client.principal, client.config.revisions)).collect();
    let server = server.revisions;
    let setup = format!("{features:?} {clients:?} {server:?} {http:?} {tasks:?} {authorization:?}");
    Box::new(HttpFailure { setup, steps, broken, trace })
}

impl HttpWorld {
    fn new(setup: &Setup) -> Self {
        let server = Arc::new(setup.server.clone());
        Self {
            features: setup.features,
            http: HttpServer::new(Arc::new(setup.http.clone()), server),
            authorization: Authorization::new(setup.features, setup.authorization),
            hosted: HostedTasks::new(setup.features.tasks, setup.tasks.clone()),
            clients: setup.clients.iter().map(SimulatedClient::new).collect(),
            now: Instant::from_millis(1_000_000),
            carried: Vec::new(),
            open: Vec::new(),
            is_found: None,
            sessions: 0,
            session_owners: BTreeMap::new(),
            dispatched: BTreeSet::new(),
            leaked: None,
            works: 0,
            trace: Vec::new(),
            digest: Digest::new(),
            events: 0,
        }
    }

    /// Records a line without identifiers of this crate.
    pub(self) fn note(&mut self, what: fmt::Arguments<'_>) {
        let line = what.to_string();
        self.digest.write(line.as_bytes());
        self.noted(line);
    }

    /// Records a line about a value of this crate. The digest covers the value's hash, which does not depend on
    /// identifiers.
    pub(self) fn note_value(&mut self, line: fmt::Arguments<'_>, value: &impl Hash) {
        value.hash(&mut self.digest);
        self.noted(line.to_string());
    }

    fn noted(&mut self, line: String) {
        self.digest.write_u64(self.now.since_epoch().as_nanos() as u64);
        self.events += 1;
        self.check_shown(&line);
        self.trace.push(line);
    }

    fn step(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Call { .. }
            | Step::Batch { .. }
            | Step::List(_)
            | Step::Subscribe(_)
            | Step::Cancel(_)
            | Step::CancelTask(_)
            | Step::ListTasks(_)
            | Step::Peek(_)
            | Step::Give(_) => self.by_client(step)?,
            Step::Answer(_)
            | Step::Reject(_)
            | Step::Report(_)
            | Step::Ask(_)
            | Step::Change
            | Step::Close(_) => self.by_server(step)?,
            Step::Work(which) => self.work(which)?,
            Step::Replay(which) => self.replay(which),
            Step::Forge(which) => self.forge(which),
            Step::LogIn(which) => {
                let (client, which) = self.client(which);
                self.log_in(client, which)?;
            }
            Step::Revoke => {
                if let Some(authorization) = &mut self.authorization {
                    authorization.revoke();
                    self.note(format_args!("all tokens are revoked"));
                    self.check_debug();
                }
            }
            Step::Request(which) => self.request(which)?,
            Step::Respond(which) => self.respond(which)?,
            Step::Deliver(which, bytes) => self.deliver(which, bytes as usize)?,
            Step::Break(which) => self.break_off(which)?,
            Step::Refuse(which) => self.refuse(which),
            Step::Intrude(which) => self.intrude(which)?,
            Step::Pass(milliseconds) => self.now = self.now + Duration::from_millis(milliseconds),
            Step::Settle => self.settle()?,
        }
        self.elapse()?;
        self.act()?;
        self.check_exchanges()?;
        self.leaked.take().map_or(Ok(()), Err)
    }
}

impl fmt::Display for HttpFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}\n\n{}", self.broken, self.setup)?;
        for (number, step) in (1..).zip(&self.steps) {
            writeln!(formatter, "{number:4}. {step:?}")?;
        }
        for line in &self.trace {
            writeln!(formatter, "{line}")?;
        }
        Ok(())
    }
}
