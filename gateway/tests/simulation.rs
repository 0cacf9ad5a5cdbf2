//! A gateway whose servers crash, stay down, are replaced and removed, while clients of all eras use it.
//!
//! Every call ends. A result is that of the right server for the right client, and a client is asked only because of its own
//! calls. A server that is never disturbed answers every call, whatever happens to the others, also while it is replaced by a
//! reload. In the end every server answers again, and nothing is left in the tables of the gateway.
//!
//! Time is simulated, and generators decide the events. `GATEWAY_SEEDS` sets how many seeds are run (20), and
//! `GATEWAY_FIRST_SEED` the first one.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

#[path = "../../adapters/store/tests/simulation/chooser.rs"]
mod chooser;
mod kit;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use chooser::Chooser;
use kit::*;
use mcp_sansio::{Principal, Revision};
use mcp_sansio_gateway::Gateway;
use mcp_sansio_gateway::config::{Sharing, UpstreamConfig};
use mcp_sansio_tokio::CallFailure;
use serde_json::json;

/// The names of the servers. The first is never disturbed.
const SERVERS: [&str; 5] = ["calm", "old", "new", "odd", "far"];
const CLIENTS: u64 = 12;
/// How many times a client does something.
const ACTS: usize = 40;
/// No call takes longer, whatever happens.
const LONG: Duration = Duration::from_secs(4 * 3600);

/// What happened to all clients of a run together.
#[derive(Debug, Default)]
struct Counts {
    answered: usize,
    failed: usize,
    cancelled: usize,
}

struct Actor {
    peer: Peer,
    name: String,
    is_legacy: bool,
    is_old: bool,
    chooser: Chooser,
    acts: usize,
    counts: Counts,
}

/// Whether a server has got no input.
fn is_refusal(text: &str) -> bool {
    let refusals = [
        "the client did not give what was needed for this",
        "the gateway does not know the client that is to give this input",
    ];
    refusals.iter().any(|refusal| text.contains(refusal))
}

fn server_is_modern(server: &str) -> bool {
    server == "new" || server == "far"
}

impl Actor {
    async fn act(&mut self) {
        self.acts += 1;
        let pause = self.chooser.below(2_000);
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let server = SERVERS[usize::try_from(self.chooser.below(5)).unwrap()];
        let label = format!("{}-{}", self.name, self.acts);
        // Sessions of older revisions cannot be asked, and have no tasks.
        let most = if self.is_old || server == "odd" { 6 } else { 10 };
        match 9 - self.chooser.below(most) {
            9 => {
                let listing = tokio::time::timeout(LONG, self.peer.tools()).await;
                let tools = listing.expect("a list ends");
                assert!(tools.contains(&"calm__whoami".to_owned()), "{tools:?}");
            }
            8 => {
                let tool = format!("{server}__hang");
                let call = self.peer.call(&tool, json!({"label": label}));
                let patience = Duration::from_millis(self.chooser.below(3_000));
                if let Ok(ended) = tokio::time::timeout(patience, call).await {
                    self.failed(server, &ended.expect_err("it hangs"));
                }
                self.counts.cancelled += 1;
            }
            0 => self.call(server, "task", &label, true).await,
            1 => self.call(server, "ask", &label, false).await,
            2 => {
                self.call(
                    server,
                    if server_is_modern(server) { "ask" } else { "ask_loose" },
                    &label,
                    false,
                )
                .await
            }
            3 => self.call(server, "task_ask", &label, true).await,
            _ => self.call(server, "slow", &label, false).await,
        }
    }

    async fn call(&mut self, server: &str, tool: &str, label: &str, is_task: bool) {
        let name = format!("{server}__{tool}");
        let arguments = json!({"label": label, "ms": self.chooser.below(3_000)});
        let ended = match is_task {
            true => tokio::time::timeout(LONG, self.peer.call_as_task(&name, arguments)).await,
            false => tokio::time::timeout(LONG, self.peer.call(&name, arguments)).await,
        };
        let given = format!("{server} {label} {:?}", self.name);
        match ended.unwrap_or_else(|_| panic!("{name} {label} has no end")) {
            Ok(text) if tool.contains("ask") && text == given => self.counts.answered += 1,
            // Its clients share a session, and the server did not say which call its request was for.
            Ok(text) if server == "calm" && is_refusal(&text) => self.counts.failed += 1,
            Ok(text) => {
                assert_eq!(text, format!("{server} {label}"), "{tool}");
                self.counts.answered += 1;
            }
            // A session of a server cannot give a task of it input.
            Err(_) if tool == "task_ask" && self.is_legacy => self.counts.failed += 1,
            Err(failure) => self.failed(server, &failure),
        }
    }

    fn failed(&mut self, server: &str, failure: &CallFailure) {
        self.counts.failed += 1;
        let text = failure.to_string();
        assert!(server != "calm", "{}: {text}", self.name);
        let is_explained =
            text.contains(&format!("the server {server}: ")) || text.contains("no server here");
        // A list that takes too long does not tell which tools run as tasks.
        let is_unknown = text.contains("the tool runs only as a task");
        assert!(is_explained || is_unknown || text.contains("the task"), "{server}: {text}");
    }

    /// Checks that no other client has been mistaken for this one.
    fn check(&self) {
        for question in self.peer.questions() {
            assert!(question.contains(&format!("{}-", self.name)), "{}: {question}", self.name);
        }
    }
}

/// Returns the configuration of all servers. The clients of one of them have sessions of their own.
fn configs(fakes: &[Fake]) -> Vec<UpstreamConfig> {
    let mut configs: Vec<UpstreamConfig> = fakes.iter().map(Fake::config).collect();
    configs[1].sharing = Sharing::PerClient { most: 100, idle: Duration::from_secs(600) };
    configs
}

/// Disturbs the servers once.
async fn trouble(gateway: &Gateway, fakes: &[Fake], chooser: &mut Chooser) {
    tokio::time::sleep(Duration::from_millis(chooser.below(4_000))).await;
    let disturbed = usize::try_from(chooser.below(4)).unwrap() + 1;
    match chooser.below(6) {
        0 => fakes[disturbed].crash(false),
        1 => {
            fakes[disturbed].crash(true);
            tokio::time::sleep(Duration::from_millis(chooser.below(8_000))).await;
            fakes[disturbed].come_up();
        }
        2 => tokio::time::sleep(Duration::from_secs(5)).await,
        3 => fakes[disturbed].set_list_delay(Duration::from_millis(chooser.below(20_000))),
        4 => fakes[disturbed].set_tools(&TOOLS),
        _ => {
            let mut configs = configs(fakes);
            for config in &mut configs {
                config.most_calls += usize::try_from(chooser.below(2)).unwrap();
                config.connect_timeout = Duration::from_secs(5);
            }
            if chooser.below(2) == 0 {
                configs.remove(disturbed);
            }
            gateway.reload(configs).await.unwrap();
        }
    }
}

async fn run(seed: u64) -> Counts {
    let revisions = [
        Revision::V2025_11_25,
        Revision::V2025_11_25,
        Revision::V2026_07_28,
        Revision::V2024_11_05,
        Revision::V2026_07_28,
    ];
    let fakes: Vec<Fake> =
        SERVERS.iter().zip(revisions).map(|(name, revision)| Fake::new(name, revision)).collect();
    let all = configs(&fakes);
    let gateway = start_with(all.clone()).await;
    let mut working = Vec::new();
    for number in 0..CLIENTS {
        let name = format!("client{number}");
        let revision = Revision::ALL[usize::try_from(number % 5).unwrap()];
        let principal = Principal::new(number + 1);
        let peer = Peer::open_as(&gateway, revision, &name, principal).await;
        let is_legacy = revision != Revision::V2026_07_28;
        let (chooser, counts) = (Chooser::new(seed, number + 1), Counts::default());
        let is_old = is_legacy && revision != Revision::V2025_11_25;
        let mut actor = Actor { peer, name, is_legacy, is_old, chooser, acts: 0, counts };
        working.push(tokio::spawn(async move {
            for _ in 0..ACTS {
                actor.act().await;
            }
            actor
        }));
    }
    let mut chooser = Chooser::new(seed, 0);
    while !working.iter().all(tokio::task::JoinHandle::is_finished) {
        trouble(&gateway, &fakes, &mut chooser).await;
    }
    let mut counts = Counts::default();
    let mut actors = Vec::new();
    for actor in working {
        let actor = actor.await.unwrap();
        actor.check();
        counts.answered += actor.counts.answered;
        counts.failed += actor.counts.failed;
        counts.cancelled += actor.counts.cancelled;
        actors.push(actor);
    }
    // Everything heals.
    for fake in &fakes {
        fake.come_up();
        fake.set_list_delay(Duration::ZERO);
    }
    gateway.reload(all).await.unwrap();
    tokio::time::sleep(Duration::from_secs(120)).await;
    for server in SERVERS {
        let text = actors[0].peer.call(&format!("{server}__whoami"), json!({})).await;
        assert_eq!(text.unwrap(), server);
    }
    assert_eq!(actors[0].peer.tools().await.len(), SERVERS.len() * TOOLS.len());
    drop(actors);
    // Connections that were replaced, and parked calls, have had their time.
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let status = gateway.status();
    assert_eq!((status.parked, status.subscribers), (0, 0));
    for (upstream, fake) in status.upstreams.iter().zip(&fakes) {
        assert_eq!(upstream.calls, 0, "{upstream:?}");
        assert_eq!(fake.connections(), 1, "{upstream:?}");
    }
    counts
}

#[test]
fn calls_survive_the_troubles_of_servers() {
    let number = |name: &str, default| {
        std::env::var(name).map_or(default, |text| text.parse::<u64>().unwrap())
    };
    let (seeds, first) = (number("GATEWAY_SEEDS", 20), number("GATEWAY_FIRST_SEED", 0));
    for seed in first..first + seeds {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let ran = catch_unwind(AssertUnwindSafe(|| runtime.block_on(run(seed))));
        let Ok(counts) = ran else { panic!("seed {seed} has failed; see above") };
        println!("seed {seed}: {counts:?}");
        assert!(counts.failed < counts.answered, "seed {seed}: {counts:?}");
    }
}
