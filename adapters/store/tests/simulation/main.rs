//! A hundred nodes that come and go, and clients that use any of them: what was acknowledged is never lost.
//!
//! Processes start, are killed, leave while requests are open, hang, and are cut off from the others while they go on. The
//! store is slow, and fails for a time: a write that fails was done, was not done, or is done later. Clients call tools that
//! send numbered messages on their event stream, several at once; they subscribe, disconnect during requests, resume their
//! stream, end their session and open another one. Each client must get every message of an acknowledged call, once and in
//! order; it has the subscriptions that were acknowledged; a session that it has ended does not come back; and its
//! requests are served.
//!
//! Time is simulated, and generators decide the events. The ids of sessions and nodes are random, so a seed gives similar
//! events each time, and not the same. `NODE_SEEDS` sets how many seeds are run (3).

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod chooser;
mod client;
#[path = "../kit/mod.rs"]
mod kit;
mod network;
mod store;
mod tasks;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::time::Duration;

use chooser::Chooser;
use client::{Client, Counts};
use network::Network;
use store::Shared;
use tokio::task::JoinHandle;

const NODES: u64 = 100;
const CLIENTS: u64 = 20;
/// How many times a client does something.
const ACTS: usize = 150;

/// The events that disturb the nodes.
#[derive(Clone, Copy, Default)]
struct Troubles {
    crashes: bool,
    restarts: bool,
    store_failures: bool,
    disconnects: bool,
}

/// Processes, their store, and the generator that decides the troubles.
struct World {
    network: Network,
    shared: Shared,
    chooser: Chooser,
}

impl World {
    /// Starts some processes.
    async fn begin(network: Network, seed: u64) -> Self {
        let (shared, chooser) = (Shared::new(seed), Chooser::new(seed, 0));
        let mut world = Self { network, shared, chooser };
        while world.network.len() < 5 {
            start(&world.network, &world.shared, &mut world.chooser).await;
        }
        world
    }

    /// Disturbs the processes until all clients have done their acts. Then nothing is disturbed any more.
    async fn disturb<C>(&mut self, troubles: Troubles, clients: Vec<JoinHandle<C>>) -> Vec<C> {
        let Self { network, shared, chooser } = self;
        let mut others = Vec::new();
        while !clients.iter().all(JoinHandle::is_finished) {
            trouble(network, shared, chooser, troubles, &mut others).await;
        }
        shared.is_failing.store(false, Ordering::SeqCst);
        for other in others {
            other.await.unwrap();
        }
        // No node believes in one that is gone.
        tokio::time::sleep(Duration::from_secs(10)).await;
        let mut finished = Vec::new();
        for client in clients {
            finished.push(client.await.unwrap());
        }
        finished
    }
}

/// Runs a simulation, and returns what happened to all clients together.
async fn run(seed: u64, troubles: Troubles) -> Counts {
    let network = Network::default();
    let mut world = World::begin(network.clone(), seed).await;
    let mut clients = Vec::new();
    for number in 1..=CLIENTS {
        let mut client = Client::open(network.clone(), Chooser::new(seed, number)).await;
        client.disconnects = troubles.disconnects;
        clients.push(tokio::spawn(async move {
            for _ in 0..ACTS {
                client.act().await;
            }
            client
        }));
    }
    let mut counts = Counts::default();
    for mut client in world.disturb(troubles, clients).await {
        if troubles.disconnects {
            client.disconnect();
        }
        client.check().await;
        counts.acknowledged += client.counts.acknowledged;
        counts.refused += client.counts.refused;
        counts.broken += client.counts.broken;
        counts.interrupted += client.counts.interrupted;
    }
    let Counts { acknowledged, refused, broken, interrupted } = &counts;
    println!(
        "seed {seed}: {acknowledged} calls acknowledged, {refused} requests refused, {broken} broken, {interrupted} interrupted"
    );
    counts
}

async fn start(network: &Network, shared: &Shared, chooser: &mut Chooser) {
    let address = format!("node-{}:1", chooser.below(NODES));
    let latency = Duration::from_millis(chooser.below(20));
    network.start(address, shared, latency).await;
}

/// Something happens to a process or to the store.
async fn trouble(
    network: &Network,
    shared: &Shared,
    chooser: &mut Chooser,
    troubles: Troubles,
    others: &mut Vec<JoinHandle<()>>,
) {
    tokio::time::sleep(Duration::from_millis(chooser.below(2_000))).await;
    if network.len() < 4 || chooser.one_in(4) {
        return start(network, shared, chooser).await;
    }
    let time = Duration::from_millis(chooser.below(20_000));
    let process = network.any(chooser).await;
    match chooser.below(8) {
        0 | 1 if troubles.restarts => {
            let network = network.clone();
            others.push(tokio::spawn(async move {
                tokio::select! {
                    biased;
                    () = process.died() => {}
                    // The store may fail at that time.
                    _ = process.node.leave(Duration::from_secs(15)) => {}
                }
                network.remove(&process);
            }));
        }
        2 if troubles.crashes => network.kill(&process),
        3 if troubles.crashes => {
            network.set_reachable(&process, false);
            let (network, comes_back) = (network.clone(), chooser.one_in(2));
            others.push(tokio::spawn(async move {
                tokio::time::sleep(time).await;
                match comes_back {
                    true => network.set_reachable(&process, true),
                    false => network.kill(&process),
                }
            }));
        }
        4 if troubles.crashes => {
            process.is_hanging.store(true, Ordering::SeqCst);
            others.push(tokio::spawn(async move {
                tokio::time::sleep(time).await;
                process.is_hanging.store(false, Ordering::SeqCst);
            }));
        }
        5 if troubles.store_failures => {
            shared.is_failing.store(true, Ordering::SeqCst);
            tokio::time::sleep(time / 10).await;
            shared.is_failing.store(false, Ordering::SeqCst);
        }
        _ => {}
    }
}

/// Runs a simulation with each seed.
fn explore_runs(run: impl Fn(u64) -> Pin<Box<dyn Future<Output = ()>>>) {
    let seeds = std::env::var("NODE_SEEDS").map_or(3, |seeds| seeds.parse().unwrap());
    for seed in 1..=seeds {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let ran = catch_unwind(AssertUnwindSafe(|| runtime.block_on(run(seed))));
        ran.unwrap_or_else(|_| panic!("seed {seed} has failed"));
    }
}

fn explore(troubles: Troubles, check: fn(&Counts)) {
    explore_runs(|seed| Box::pin(async move { check(&run(seed, troubles).await) }));
}

#[test]
fn nothing_acknowledged_is_lost_among_a_hundred_nodes() {
    let troubles =
        Troubles { crashes: true, restarts: true, store_failures: true, disconnects: true };
    explore(troubles, |counts| assert!(1_000 < counts.acknowledged));
}

/// Clients that go during requests disturb no other request, and end no stream.
#[test]
fn clients_that_go_disturb_no_one_else() {
    let troubles = Troubles { disconnects: true, ..Troubles::default() };
    explore(troubles, |counts| assert_eq!(counts.refused, 0));
}

/// A planned restart interrupts no request, and refuses few.
#[test]
fn a_planned_restart_interrupts_nothing() {
    let troubles = Troubles { restarts: true, ..Troubles::default() };
    explore(troubles, |counts| {
        assert_eq!((counts.interrupted, counts.broken), (0, 0));
        assert!(counts.refused < counts.acknowledged / 10);
    });
}
