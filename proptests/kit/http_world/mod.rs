//! A client and a server connected by HTTP. Requests and responses are delayed, split, reordered or lost. The
//! invariants must hold throughout.

mod carrying;
mod checks;
mod client_side;
mod server_side;
mod strangers;

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::http::{
    ClientTransport, HttpClientConfig, HttpRequest, HttpServer, HttpServerConfig, OneStream,
    ResponseMode,
};
use mcp_sansio::model::{ElicitationCapability, ListChanged, ResourcesCapability};
use mcp_sansio::testing::{Choices, Digest};
use mcp_sansio::{
    CallId, Client, ClientConfig, ConnectionNumber, IncomingId, Instant, Principal, Revision,
    RevisionSet, ServerConfig,
};

use carrying::Carried;
use strangers::PRINCIPALS;

/// A step of a schedule. Each number selects one of the candidates modulo their count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// The client calls a tool.
    Call {
        /// Whether the call asks for progress notifications.
        progress: bool,
    },
    /// The client lists tools.
    List,
    /// The client subscribes to changes.
    Subscribe,
    /// The client cancels a call.
    Cancel(u64),
    /// The client responds to a request of the server.
    Give(u64),
    /// The server responds.
    Answer(u64),
    /// The server responds with an error.
    Reject(u64),
    /// The server reports progress.
    Report(u64),
    /// The server asks the client for input before it responds.
    Ask(u64),
    /// The server announces a changed list on every connection.
    Change,
    /// The server ends a response early.
    Close(u64),
    /// A request reaches the server.
    Request(u64),
    /// The server sends the next part of a response.
    Respond(u64),
    /// Some bytes of a response reach the client.
    Deliver(u64, u64),
    /// A connection breaks.
    Break(u64),
    /// Time passes, in milliseconds.
    Pass(u64),
    /// A stranger replays a request of the client's session.
    Intrude(u64),
    /// Everything in transit arrives.
    Settle,
}

impl Step {
    fn choose(choices: &mut Choices) -> Self {
        let which = choices.any();
        match choices.below(42) {
            0..=3 => Self::Call { progress: choices.one_in(2) },
            4 => Self::List,
            5 => Self::Subscribe,
            6 => Self::Cancel(which),
            7..=8 => Self::Give(which),
            9..=11 => Self::Answer(which),
            12 => Self::Reject(which),
            13..=14 => Self::Report(which),
            15..=16 => Self::Ask(which),
            17 => Self::Change,
            18 => Self::Close(which),
            19..=23 => Self::Request(which),
            24..=28 => Self::Respond(which),
            29..=34 => Self::Deliver(which, choices.below(200) + 1),
            35 => Self::Break(which),
            36 => Self::Pass(choices.below(3_000)),
            37 => Self::Pass(choices.below(100_000)),
            38..=39 => Self::Intrude(which),
            _ => Self::Settle,
        }
    }
}

/// The configuration of both sides.
#[derive(Clone, Debug)]
pub struct Setup {
    client: ClientConfig,
    server: ServerConfig,
    http: HttpServerConfig,
    one_stream: OneStream,
    /// The principal of the client.
    principal: Principal,
}

impl Setup {
    fn choose(choices: &mut Choices) -> Self {
        let mut client = ClientConfig::new("client", "1");
        let one = Revision::ALL.get(choices.below(5) as usize).copied().unwrap();
        // The first revision has its own transport, which other tests cover.
        let one = if one == Revision::V2024_11_05 { Revision::V2025_11_25 } else { one };
        client.revisions = match choices.below(3) {
            0 => RevisionSet::ALL,
            1 => RevisionSet::only(Revision::V2026_07_28),
            _ => RevisionSet::only(one),
        };
        client.capabilities.elicitation = Some(ElicitationCapability::default());
        let mut server = ServerConfig::new("server", "1");
        server.capabilities.tools = Some(ListChanged::notified());
        server.capabilities.resources = Some(ResourcesCapability::notified());
        if choices.one_in(6) {
            server.revisions = RevisionSet::LEGACY;
        }
        let mut http = HttpServerConfig::default();
        http.responses = match choices.below(4) {
            0 => ResponseMode::EventStream,
            1 => ResponseMode::Json,
            _ => ResponseMode::Automatic,
        };
        http.resumable = !choices.one_in(4);
        http.stream_after = Some(Duration::from_millis(choices.below(2_000)));
        http.keep_alive = (!choices.one_in(4)).then(|| Duration::from_millis(500));
        http.kept_streams = choices.below(4) as usize;
        let principal = Principal::new(choices.below(PRINCIPALS));
        Self { client, server, http, one_stream: OneStream::Never, principal }
    }
}

/// Both sides, and the traffic between them.
pub struct HttpWorld {
    pub(self) http: HttpServer,
    pub(self) client: Client,
    pub(self) transport: ClientTransport,
    pub(self) principal: Principal,
    /// The last request of the client that names a session.
    pub(self) named: Option<HttpRequest>,
    pub(self) now: Instant,
    pub(self) carried: Vec<Carried>,
    /// The calls of the client, and whether each has ended.
    pub(self) calls: BTreeMap<CallId, bool>,
    /// The open requests of the server to the client.
    pub(self) asked: Vec<IncomingId>,
    /// The open requests of the client to the server.
    pub(self) open: Vec<(ConnectionNumber, mcp_sansio::Request<'static>)>,
    pub(self) sessions: u64,
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
            schedule.push(Step::choose(choices));
        }
        (setup, schedule)
    }
}

/// Runs a random schedule and returns its trace, one line per event.
pub fn trace(choices: &mut Choices, steps: usize) -> Vec<String> {
    let setup = Setup::choose(choices);
    let schedule: Vec<Step> = (0..steps).map(|_| Step::choose(choices)).collect();
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
    let Setup { client, server, http, .. } = setup;
    let setup = format!("{:?} {:?} {http:?}", client.revisions, server.revisions);
    Box::new(HttpFailure { setup, steps, broken, trace })
}

impl HttpWorld {
    fn new(setup: &Setup) -> Self {
        let server = Arc::new(setup.server.clone());
        let client = Client::new(Arc::new(setup.client.clone()));
        let mut config = HttpClientConfig::new("http://localhost/mcp");
        config.one_stream = setup.one_stream;
        let limits = client.config().connection.limits.clone();
        Self {
            http: HttpServer::new(Arc::new(setup.http.clone()), server),
            transport: ClientTransport::new(Arc::new(config), &limits),
            client,
            principal: setup.principal,
            named: None,
            now: Instant::from_millis(1_000_000),
            carried: Vec::new(),
            calls: BTreeMap::new(),
            asked: Vec::new(),
            open: Vec::new(),
            sessions: 0,
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
        self.trace.push(line);
    }

    fn step(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Call { .. } | Step::List | Step::Subscribe | Step::Cancel(_) | Step::Give(_) => {
                self.by_client(step)?;
            }
            Step::Answer(_)
            | Step::Reject(_)
            | Step::Report(_)
            | Step::Ask(_)
            | Step::Change
            | Step::Close(_) => self.by_server(step)?,
            Step::Request(which) => self.request(which)?,
            Step::Respond(which) => self.respond(which)?,
            Step::Deliver(which, bytes) => self.deliver(which, bytes as usize)?,
            Step::Break(which) => self.break_off(which)?,
            Step::Intrude(which) => self.intrude(which)?,
            Step::Pass(milliseconds) => self.now = self.now + Duration::from_millis(milliseconds),
            Step::Settle => self.settle()?,
        }
        self.elapse()?;
        self.act()
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
