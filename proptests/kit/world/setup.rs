//! The setup of a world.

use std::time::Duration;

use mcp_sansio::config::{DuplicateIds, KeepAlive, Listening, Relay, RepliesWithoutId, Timeouts};
use mcp_sansio::model::{SubscriptionFilter, TaskSupport};
use mcp_sansio::testing::Choices;
use mcp_sansio::{ClientConfig, ConnectionConfig, Limits, Revision, RevisionSet, ServerConfig};

use Revision::{V2025_03_26, V2025_06_18, V2025_11_25};

use crate::config;
use crate::single::revisions;

/// The configurations of both sides and of the transport.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Setup {
    /// The configuration of the client.
    pub client: ClientConfig,
    /// The configuration of the server.
    pub server: ServerConfig,
    /// The capacity of the byte stream between the sides; `None` for a message transport.
    pub stream: Option<usize>,
    /// Whether messages can be lost, forged, repeated or reordered, and connections can break. Without faults, every
    /// message counts.
    pub faults: bool,
    /// The server's task support for tool calls.
    pub tasks: TaskSupport<'static>,
}

impl Setup {
    /// Returns a random setup, with limits small enough to be reached.
    pub fn choose(choices: &mut Choices) -> Self {
        let mut client = config::client_of_both_eras();
        client.connection = connection(choices);
        client.revisions = revisions(choices);
        let known = [Revision::V2026_07_28, V2025_11_25];
        client.known = choices.one_in(4).then(|| choices.pick(&known)).flatten();
        client.probe = choices.one_in(2);
        client.listen = choices.one_in(2).then(|| filter(1));
        let mut server = config::server_of_both_eras();
        server.connection = connection(choices);
        server.revisions = revisions(choices);
        if choices.one_in(3) {
            // Without the later revisions, both sides agree on an older one.
            let ends = [V2025_03_26, V2025_06_18, V2025_06_18, V2025_11_25];
            let end = choices.pick(&ends).unwrap_or(V2025_11_25);
            let allowed = RevisionSet::MODERN.or(RevisionSet::before(end));
            client.revisions = client.revisions.and(allowed);
            server.revisions = server.revisions.and(allowed);
        }
        server.listening = if choices.one_in(2) { Listening::Asked } else { Listening::Granted };
        if choices.one_in(2) {
            client.capabilities = client.capabilities.with_tasks();
            server.capabilities = server.capabilities.with_tasks();
        }
        if choices.one_in(4) {
            // Only a gateway dispatches requests for prompts now.
            server.capabilities.prompts = None;
        }
        let capacity = choices.pick(&[1, 16, 64, 1000, usize::MAX]).unwrap_or(usize::MAX);
        let stream = choices.one_in(2).then_some(capacity);
        let tasks = if choices.one_in(2) { TaskSupport::Optional } else { TaskSupport::Forbidden };
        let faults = !choices.one_in(3);
        Self { client, server, stream, faults, tasks }
    }

    /// Whether both sides support tasks, so that calls can become tasks.
    pub(super) fn has_tasks(&self) -> bool {
        let Self { client, server, .. } = self;
        server.capabilities.tasks.is_some() || client.capabilities.tasks.is_some()
    }
}

fn connection(choices: &mut Choices) -> ConnectionConfig {
    let mut connection = ConnectionConfig::default();
    let small = |choices: &mut Choices, bound| choices.below(bound) as u32;
    let limits = &mut connection.limits;
    limits.inbound_requests = 1 + small(choices, 6);
    limits.outbound_calls = 1 + small(choices, 8);
    limits.remembered_calls = small(choices, 4);
    (limits.listens, limits.subscriptions) = (small(choices, 3), small(choices, 3));
    (limits.input_rounds, limits.input_requests) = (small(choices, 4), 1 + small(choices, 3));
    limits.early_notifications = small(choices, 3);
    limits.chunk_bytes = 1 + small(choices, 50) as usize;
    connection.first_call_id = small(choices, 3);
    if choices.one_in(3) {
        limits.outbox_bytes = 600 + choices.below(2400) as usize;
        limits.reserve_bytes = choices.below(500) as usize;
    }
    if choices.one_in(3) {
        limits.held_bytes = choices.below(2000) as usize;
    }
    if choices.one_in(3) {
        // A URI that is longer is not kept, and its subscription has no effect.
        limits.kept_bytes = 16 + choices.below(400) as usize;
    }
    if choices.one_in(6) {
        connection.relay = Relay::Methods(RELAYED.map(String::from).to_vec());
    }
    if choices.one_in(4) {
        make_tight(limits, choices);
    }
    if choices.one_in(4) {
        limits.frame_bytes = 150 + choices.below(600) as usize;
    }
    if choices.one_in(2) {
        connection.duplicate_ids = DuplicateIds::Serve;
    }
    connection.match_stringified_ids = choices.one_in(2);
    if choices.one_in(4) {
        let rate = RepliesWithoutId::at_most(2, Duration::from_secs(1));
        connection.replies_without_id = Some(rate);
    }
    if choices.one_in(4) {
        let mut seconds = |of: &[u64]| Duration::from_secs(choices.pick(of).unwrap_or(1));
        let mut policy = KeepAlive::every(seconds(&[1, 5, 60]));
        policy.answer_within = seconds(&[1, 5, 30]);
        policy.close_after = choices.one_in(3).then(|| 1 + small(choices, 3));
        connection.keep_alive = Some(policy);
    }
    if choices.one_in(2) {
        connection.timeouts = timeouts(choices);
    }
    if choices.one_in(2) {
        let interval = choices.pick(&[50, 700, 3_000]).unwrap_or(50);
        connection.progress_interval = Some(Duration::from_millis(interval));
    }
    connection
}

/// Returns timeouts short enough to be reached. Every call has one, so that time alone ends it.
fn timeouts(choices: &mut Choices) -> Timeouts {
    let mut seconds = |of: &[u64]| Duration::from_secs(choices.pick(of).unwrap_or(1));
    let mut timeouts = Timeouts::default();
    timeouts.idle = Some(seconds(&[0, 1, 5])).filter(|idle| !idle.is_zero());
    timeouts.total = Some(seconds(&[2, 4, 30]));
    timeouts.person = Some(seconds(&[3, 900]));
    timeouts.acknowledgement = Some(seconds(&[1, 10]));
    timeouts.probe = Some(seconds(&[1, 10]));
    timeouts.handshake = Some(seconds(&[2, 60]));
    timeouts.drain = seconds(&[0, 1, 2]);
    timeouts
}

/// The methods of requests that a gateway relays.
const RELAYED: [&str; 3] = ["prompts/get", "x/y", "completion/complete"];

/// Makes the limits on texts so small that the memory of a connection is soon at its limit.
fn make_tight(limits: &mut Limits, choices: &mut Choices) {
    (limits.id_bytes, limits.token_bytes) = (24, 24);
    limits.uri_bytes = 32 + choices.below(64) as usize;
    (limits.elicitations, limits.batches, limits.batch_elements) = (4, 3, 6);
    limits.held_bytes = choices.below(2000) as usize;
    limits.kept_bytes = 16 + choices.below(400) as usize;
}

/// Returns one of a few subscription filters.
pub(super) fn filter(which: u8) -> SubscriptionFilter<'static> {
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = (which & 1 != 0).then_some(true);
    filter.prompts_list_changed = (which & 2 != 0).then_some(true);
    (0..which & 3).fold(filter, |filter, number| filter.with_resource(format!("a:/{number}")))
}
