//! The configuration of both sides.

use std::time::Duration;

use mcp_sansio::config::{KeepAlive, Listening};
use mcp_sansio::http::{HttpServerConfig, OneStream, ResponseMode};
use mcp_sansio::model::{ElicitationCapability, ListChanged, ResourcesCapability};
use mcp_sansio::task::TasksConfig;
use mcp_sansio::testing::Choices;
use mcp_sansio::{ClientConfig, Principal, Revision, RevisionSet, ServerConfig};

use super::authorization::{AuthorizationSetup, account, principal_of};
use super::step::Step;
use super::strangers::PRINCIPALS;

/// The features, limits and faults of a run. Each run switches some of them off, and some runs have none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is independent of the others")]
pub(super) struct Features {
    /// The server hosts tasks.
    pub(super) tasks: bool,
    /// There are several clients.
    pub(super) several_clients: bool,
    /// The server needs access tokens.
    pub(super) authorization: bool,
    /// Tokens are revoked, and requests of a login fail.
    pub(super) failing_logins: bool,
    /// Connections break.
    breaks: bool,
    /// The server ends responses early.
    early_ends: bool,
    /// Strangers replay requests.
    strangers: bool,
    /// Requests are replayed and forged with the identity of a client.
    pub(super) replays: bool,
    /// Clients cancel calls.
    cancels: bool,
    /// The server requires input.
    pub(super) inputs: bool,
    /// The server announces changes, and clients subscribe to them.
    changes: bool,
    /// Time leaps by more than a few seconds.
    leaps: bool,
    /// The limits of sessions and streams are low.
    limits: bool,
    /// The limits of tasks are low.
    task_limits: bool,
    /// Sessions expire soon.
    short_sessions: bool,
    /// Clients send pings.
    pings: bool,
    /// Clients send batches, which only one revision has.
    pub(super) batches: bool,
    /// Requests are refused on the way to the server.
    pub(super) refusals: bool,
}

impl Features {
    fn choose(choices: &mut Choices) -> Self {
        if choices.one_in(8) {
            return Self::default();
        }
        // The features that take much time are rare.
        Self {
            tasks: choices.one_in(5),
            several_clients: choices.one_in(8),
            authorization: choices.one_in(16),
            failing_logins: choices.one_in(2),
            breaks: !choices.one_in(3),
            early_ends: !choices.one_in(3),
            strangers: !choices.one_in(3),
            replays: choices.one_in(4),
            cancels: !choices.one_in(3),
            inputs: !choices.one_in(3),
            changes: !choices.one_in(3),
            leaps: !choices.one_in(3),
            limits: choices.one_in(8),
            task_limits: choices.one_in(4),
            short_sessions: choices.one_in(12),
            pings: choices.one_in(4),
            batches: choices.one_in(8),
            refusals: choices.one_in(4),
        }
    }

    /// Whether a call can fail: a connection breaks, a limit is reached, or a session or a task is gone.
    pub(super) const fn fails_calls(self) -> bool {
        self.breaks
            || self.early_ends
            || self.refusals
            || self.replays
            || self.pings
            || self.authorization
            || self.limits
            || self.task_limits
            || self.short_sessions
            || self.several_clients
            || self.leaps
    }

    /// Whether a step belongs to the features of the run.
    pub(super) const fn allow(self, step: Step) -> bool {
        match step {
            Step::Break(_) => self.breaks,
            Step::Close(_) => self.early_ends,
            Step::Intrude(_) | Step::Peek(_) => self.strangers,
            Step::Cancel(_) | Step::CancelTask(_) => self.cancels,
            Step::Ask(_) => self.inputs,
            Step::Change | Step::Subscribe(_) => self.changes,
            Step::Pass(milliseconds) => self.leaps || milliseconds < 3_000,
            Step::Revoke => self.failing_logins,
            Step::Batch { .. } => self.batches,
            Step::Refuse(_) => self.refusals,
            _ => true,
        }
    }
}

/// The configuration of both sides.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) features: Features,
    pub(super) clients: Vec<ClientSetup>,
    pub(super) server: ServerConfig,
    pub(super) http: HttpServerConfig,
    pub(super) tasks: TasksConfig,
    pub(super) authorization: AuthorizationSetup,
}

/// The configuration of a client.
#[derive(Clone, Debug)]
pub(super) struct ClientSetup {
    pub(super) config: ClientConfig,
    pub(super) one_stream: OneStream,
    pub(super) principal: Principal,
    /// The account of the client, if the server needs tokens.
    pub(super) account: Option<String>,
}

impl Setup {
    pub(super) fn choose(choices: &mut Choices) -> Self {
        let features = Features::choose(choices);
        let mut server = ServerConfig::new("server", "1");
        server.capabilities.tools = Some(ListChanged::notified());
        server.capabilities.resources = Some(ResourcesCapability::notified());
        if choices.one_in(6) {
            server.revisions = RevisionSet::LEGACY;
        }
        if features.tasks {
            server.capabilities = server.capabilities.with_tasks();
            server.capabilities.tasks = server.capabilities.tasks.map(|tasks| tasks.listed());
            server.listening = Listening::Asked;
        }
        let clients = if features.several_clients { 2 + choices.below(2) } else { 1 };
        let mut identity = choices.below(PRINCIPALS);
        let clients = (0..clients).map(|client| {
            // Half of the clients have the principal of the previous one.
            if 0 < client && choices.one_in(2) {
                identity = choices.below(PRINCIPALS);
            }
            ClientSetup::choose(choices, features, identity)
        });
        Self {
            features,
            clients: clients.collect(),
            server,
            http: http(choices, features),
            tasks: tasks(choices, features),
            authorization: AuthorizationSetup {
                seconds: 1 + choices.below(120),
                issues_refresh_tokens: !choices.one_in(3),
                has_tool_scope: choices.one_in(2),
            },
        }
    }
}

impl ClientSetup {
    fn choose(choices: &mut Choices, features: Features, identity: u64) -> Self {
        let mut config = ClientConfig::new("client", "1");
        let one = Revision::ALL.get(choices.below(5) as usize).copied().unwrap();
        // The first revision has its own transport, which other tests cover.
        let one = if one == Revision::V2024_11_05 { Revision::V2025_11_25 } else { one };
        config.revisions = match choices.below(3) {
            0 => RevisionSet::ALL,
            1 => RevisionSet::only(Revision::V2026_07_28),
            _ => RevisionSet::only(one),
        };
        if features.batches && !choices.one_in(3) {
            config.revisions = RevisionSet::only(Revision::V2025_03_26);
        }
        if features.pings {
            config.connection.keep_alive = Some(keep_alive(choices));
        }
        config.capabilities.elicitation = Some(ElicitationCapability::default());
        if features.tasks && !choices.one_in(6) {
            config.capabilities = config.capabilities.with_tasks();
        }
        let account = features.authorization.then(|| account(identity));
        let principal = account.as_deref().map_or_else(|| Principal::new(identity), principal_of);
        // Requests that are refused on their way look like those of a server that has only HTTP+SSE.
        let is_refused = features.refusals && identity.is_multiple_of(2);
        let one_stream = if is_refused { OneStream::Fallback } else { OneStream::Never };
        Self { config, one_stream, principal, account }
    }
}

fn keep_alive(choices: &mut Choices) -> KeepAlive {
    let mut policy = KeepAlive::every(Duration::from_millis(500 + choices.below(20_000)));
    policy.answer_within = Duration::from_millis(1 + choices.below(10_000));
    policy.close_after = choices.one_in(3).then(|| 1 + choices.below(3) as u32);
    policy
}

fn http(choices: &mut Choices, features: Features) -> HttpServerConfig {
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
    // The default is longer than most of these worlds last.
    http.ready_within = Duration::from_secs(10);
    if features.limits {
        http.most_sessions = 1 + choices.below(3) as usize;
        http.sessions_of_client = 1 + choices.below(3) as usize;
        http.displaced_after = Duration::from_millis(choices.below(4_000));
        http.kept_for = Duration::from_millis(choices.below(4_000));
        http.kept_bytes = choices.below(2_000) as usize;
    }
    if features.short_sessions {
        http.session_idle = Some(Duration::from_millis(1 + choices.below(4_000)));
    }
    http
}

fn tasks(choices: &mut Choices, features: Features) -> TasksConfig {
    let mut tasks = TasksConfig::default();
    if features.task_limits {
        tasks.tasks = 1 + choices.below(4) as u32;
        tasks.tasks_of_owner = 1 + choices.below(3) as u32;
    }
    tasks.ttl = (!choices.one_in(4)).then(|| Duration::from_millis(choices.below(40_000)));
    tasks.longest_ttl =
        (!choices.one_in(3)).then(|| Duration::from_millis(1 + choices.below(200_000)));
    tasks.poll_interval = Duration::from_millis(100 + choices.below(2_000));
    tasks.page_items = 1 + choices.below(4) as usize;
    tasks.notify = !choices.one_in(3);
    tasks.ask_at_once = !choices.one_in(3);
    tasks.cancel_at_once = !choices.one_in(3);
    tasks
}
