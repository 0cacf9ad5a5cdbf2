//! A hundred nodes that come and go, and clients that use any of them: what was acknowledged is never lost.
//!
//! Nodes start, are killed, leave, and are cut off from the network while they go on. Clients call a tool that sends a
//! numbered message on their event stream, and resume that stream at another node whenever it breaks. Each client must get
//! every message of an acknowledged call, once and in order.
//!
//! Time is simulated, and one generator decides everything: a seed that fails fails again. `NODE_SEEDS` sets how many
//! seeds are run (10).

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod kit;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use hyper::Response;
use kit::{Cluster, SlowStore, call, end, listen, next_event, open, send};
use mcp_sansio_store::{Node, NodeBody};
use serde_json::{Value, json};

const NODES: u64 = 100;
const CLIENTS: usize = 25;
const STEPS: usize = 1_500;

/// The generator of Lehmer with 64 bits.
struct Chooser(u128);

impl Chooser {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0xda94_2042_e4dd_58b5);
        ((self.0 >> 64) as u64) % most
    }
}

/// A client, and what it knows.
struct Client {
    session: String,
    stream: Option<Response<NodeBody>>,
    last_event: Option<String>,
    /// The messages that it has received, in order.
    received: Vec<u64>,
    /// The messages of calls that were acknowledged, in order.
    acknowledged: Vec<u64>,
    /// All messages that it asked for.
    asked: BTreeSet<u64>,
}

struct World {
    cluster: Cluster,
    chooser: Chooser,
    /// The addresses of the nodes that can be reached.
    reachable: Vec<String>,
    /// The nodes that the others cannot reach. Some clients still can.
    cut_off: Vec<Node>,
    clients: Vec<Client>,
    next: u64,
    /// The calls that were refused with 503.
    refused: u64,
}

impl World {
    async fn new(seed: u64) -> Self {
        let chooser = Chooser(u128::from(seed) * 2 + 1);
        let mut world = Self {
            cluster: Cluster::new(),
            chooser,
            reachable: Vec::new(),
            cut_off: Vec::new(),
            clients: Vec::new(),
            next: 0,
            refused: 0,
        };
        for _ in 0..5 {
            world.start().await;
        }
        for _ in 0..CLIENTS {
            world.open().await;
        }
        world
    }

    /// Starts a node at an address that is free.
    async fn start(&mut self) {
        let address = format!("node-{}", self.chooser.below(NODES));
        if !self.reachable.contains(&address) {
            let time = Duration::from_millis(self.chooser.below(20));
            let store = SlowStore(self.cluster.store.clone(), time);
            self.cluster.start_on(Arc::new(store), &address).await;
            self.reachable.push(address);
        }
    }

    fn any(&mut self) -> Node {
        if !self.cut_off.is_empty() && self.chooser.below(10) == 0 {
            let at = self.chooser.below(self.cut_off.len() as u64) as usize;
            return self.cut_off[at].clone();
        }
        let at = self.chooser.below(self.reachable.len() as u64) as usize;
        self.cluster.network.node(&self.reachable[at]).unwrap()
    }

    async fn open(&mut self) {
        let (first, second) = (self.any(), self.any());
        let session = open(&first, &second).await;
        let level = json!({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": {"level": "info"}});
        assert_eq!(send(&self.any(), &session, &level).await.0, 200);
        let mut client = Client {
            session,
            stream: None,
            last_event: None,
            received: Vec::new(),
            acknowledged: Vec::new(),
            asked: BTreeSet::new(),
        };
        client.resume(&self.any()).await;
        self.clients.push(client);
    }

    /// A node goes: it is killed, leaves, or is cut off. Streams at it break, or are left to it.
    async fn lose(&mut self) {
        if self.reachable.len() < 3 {
            return;
        }
        let at = self.chooser.below(self.reachable.len() as u64) as usize;
        let address = self.reachable.swap_remove(at);
        let node = self.cluster.network.node(&address).unwrap();
        match self.chooser.below(3) {
            // It goes on and believes that it has its sessions.
            0 => self.cut_off.extend(self.cluster.network.cut(&address)),
            1 => {
                self.cluster.network.cut(&address);
                node.leave(Duration::from_secs(1)).await.unwrap();
            }
            _ => self.cluster.kill(&address),
        }
        // Its clients notice it.
        for client in &mut self.clients {
            if self.chooser.below(2) == 0 {
                client.stream = None;
            }
        }
    }

    /// A client calls a tool at any node, which sends it a message.
    async fn call(&mut self) {
        let number = self.next;
        self.next += 1;
        let (node, at) = (self.any(), self.chooser.below(CLIENTS as u64) as usize);
        let client = &mut self.clients[at];
        client.asked.insert(number);
        let impatient = Duration::from_millis(self.chooser.below(20));
        let patience = if self.chooser.below(8) == 0 { impatient } else { Duration::from_secs(60) };
        let body = call(number + 2, "note", &json!({"n": number}));
        let answer = send(&node, &client.session, &body);
        let Ok((status, message)) = tokio::time::timeout(patience, answer).await else {
            // The client goes while its request is served: its message arrives or not.
            return;
        };
        match status {
            200 => {
                assert_eq!(kit::text(&message), "noted", "{message}");
                client.acknowledged.push(number);
            }
            503 => self.refused += 1,
            _ => panic!("{status}: {message}"),
        }
    }

    /// A client reads what has arrived, and resumes its stream if that has ended.
    async fn read(&mut self, at: usize) {
        let node = self.any();
        let client = &mut self.clients[at];
        if client.stream.is_none() {
            client.resume(&node).await;
        }
        client.read().await;
    }

    async fn step(&mut self) {
        match self.chooser.below(100) {
            0..4 => self.lose().await,
            4..9 => self.start().await,
            9..12 => {
                let (node, at) = (self.any(), self.chooser.below(CLIENTS as u64) as usize);
                let client = self.clients.swap_remove(at);
                assert_eq!(end(&node, &client.session).await, 200);
                // A node that is cut off does not know it at once.
                tokio::time::sleep(Duration::from_secs(6)).await;
                assert_eq!(
                    send(&self.any(), &client.session, &call(1, "echo", &json!({}))).await.0,
                    404
                );
                self.open().await;
            }
            12..15 => {
                let milliseconds = self.chooser.below(4_000);
                tokio::time::sleep(Duration::from_millis(milliseconds)).await;
            }
            15..40 => {
                let at = self.chooser.below(CLIENTS as u64) as usize;
                self.read(at).await;
            }
            _ => self.call().await,
        }
    }

    /// In the end every client has what it was promised.
    async fn check(&mut self) {
        for at in 0..CLIENTS {
            for _ in 0..3 {
                // A stream at a node that was cut off ends when that notices it.
                self.clients[at].stream = None;
                self.read(at).await;
            }
            let client = &self.clients[at];
            let Client { received, acknowledged, asked, .. } = client;
            assert!(
                received.windows(2).all(|pair| pair[0] < pair[1]),
                "not in order: {received:?}"
            );
            assert!(
                received.iter().all(|number| asked.contains(number)),
                "of another client: {received:?}"
            );
            let lost: Vec<_> =
                acknowledged.iter().filter(|number| !received.contains(number)).collect();
            assert!(
                lost.is_empty(),
                "acknowledged, and lost: {lost:?} of {acknowledged:?}, but {received:?}"
            );
        }
    }
}

impl Client {
    async fn resume(&mut self, node: &Node) {
        let stream = listen(node, &self.session, self.last_event.as_deref()).await;
        match stream.status().as_u16() {
            200 => self.stream = Some(stream),
            // Another stream of the session is still open, at a node that has not noticed its end; or the session moves.
            409 | 503 => {}
            status => panic!("{status} after {:?}", self.last_event),
        }
    }

    async fn read(&mut self) {
        let Some(stream) = &mut self.stream else { return };
        loop {
            // No message arrives later than its call is answered.
            match tokio::time::timeout(Duration::from_millis(50), next_event(stream)).await {
                Ok(Some((id, message))) => {
                    self.last_event = Some(id);
                    self.received.extend(number_of(&message));
                }
                Ok(None) => {
                    self.stream = None;
                    return;
                }
                Err(_) => return,
            }
        }
    }
}

fn number_of(message: &Value) -> Option<u64> {
    (message["method"] == "notifications/message")
        .then(|| message["params"]["data"]["n"].as_u64().unwrap())
}

async fn run(seed: u64) {
    let mut world = World::new(seed).await;
    for _ in 0..STEPS {
        world.step().await;
    }
    world.check().await;
    let calls: usize = world.clients.iter().map(|client| client.acknowledged.len()).sum();
    println!("seed {seed}: {calls} calls acknowledged, {} refused", world.refused);
    assert!(world.refused < world.next / 10, "{} of {} were refused", world.refused, world.next);
}

#[test]
fn nothing_acknowledged_is_lost_among_a_hundred_nodes() {
    let seeds = std::env::var("NODE_SEEDS").map_or(10, |seeds| seeds.parse().unwrap());
    for seed in 1..=seeds {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let ran =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| runtime.block_on(run(seed))));
        ran.unwrap_or_else(|_| panic!("seed {seed} has failed"));
    }
}
