//! Clients with tasks: a task that was acknowledged is found at every node, and its work is done, whatever happens to nodes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::chooser::Chooser;
use crate::kit::initialize;
use crate::kit::worker::{self, Journal};
use crate::network::Network;
use crate::{Troubles, World, explore_runs};

/// How long a client tries again.
const PATIENCE: Duration = Duration::from_secs(90);

/// For this long a node may serve a task by an old record.
const OLD: Duration = Duration::from_secs(6);

const CLIENTS: u64 = 10;
const ACTS: usize = 120;

/// What happened to all clients.
#[derive(Debug, Default)]
struct Counts {
    begun: usize,
    completed: usize,
    cancelled: usize,
    refused: usize,
    listed: usize,
    denied: usize,
    resumed: usize,
}

/// What a client knows of a task.
#[derive(Default)]
struct Known {
    asks: bool,
    /// Whether a cancellation was sent.
    may_be_cancelled: bool,
    /// When a cancellation was acknowledged.
    cancelled: Option<Instant>,
    /// When the input was acknowledged.
    given: Option<Instant>,
    /// The final status with the result, and when it was seen.
    end: Option<(Value, Instant)>,
}

/// The clients of all acknowledged tasks, by their numbers.
type Owners = Arc<Mutex<BTreeMap<String, u64>>>;

/// Whether a client is a user. Every other one is unknown.
const fn is_user(number: u64) -> bool {
    number.is_multiple_of(2)
}

struct TaskClient {
    network: Network,
    chooser: Chooser,
    number: u64,
    owners: Owners,
    /// How many tasks may exist that were not acknowledged.
    unacknowledged: usize,
    sender: worker::Client,
    /// A session of the same user.
    session: Option<worker::Client>,
    tasks: BTreeMap<String, Known>,
    counts: Counts,
}

impl TaskClient {
    fn new(network: Network, chooser: Chooser, number: u64, owners: Owners) -> Self {
        let sender = worker::Client { user: is_user(number).then_some(number), session: None };
        let (tasks, counts) = (BTreeMap::new(), Counts::default());
        let (session, unacknowledged) = (None, 0);
        Self { network, chooser, number, owners, unacknowledged, sender, session, tasks, counts }
    }

    /// Sends a request to any process. `None` if it has no response.
    async fn try_once(&mut self, method: &str, params: &Value) -> Option<Value> {
        let request = self.sender.request(method, params.clone());
        let (status, message) = self.send(request).await?;
        assert_eq!(status, 200, "{method} {params}");
        message
    }

    /// Sends a request to any process, and returns the status and the message of the response.
    async fn send(&mut self, request: Request<Full<Bytes>>) -> Option<(u16, Option<Value>)> {
        let process = self.network.any(&mut self.chooser).await;
        let response = process.handle(request).await?;
        let status = response.status().as_u16();
        if status == 503 {
            self.counts.refused += 1;
            return None;
        }
        let collected = tokio::select! {
            biased;
            () = process.died() => return None,
            body = response.into_body().collect() => body.ok()?,
        };
        let text = String::from_utf8(collected.to_bytes().to_vec()).unwrap();
        let mut events = text.lines().filter_map(|line| line.strip_prefix("data: "));
        let last = events.next_back().unwrap_or(&text);
        Some((status, serde_json::from_str(last).ok()))
    }

    /// Sends a request until it has a response.
    async fn ask(&mut self, method: &str, params: Value) -> Value {
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < PATIENCE, "not served: {method} {params}");
            if let Some(message) = self.try_once(method, &params).await {
                return message;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    fn any_task(&mut self) -> Option<String> {
        let count = self.tasks.len() as u64;
        let at = if count == 0 { return None } else { self.chooser.below(count) };
        self.tasks.keys().nth(at as usize).cloned()
    }

    async fn act(&mut self) {
        tokio::time::sleep(Duration::from_millis(self.chooser.below(1_000))).await;
        if self.chooser.one_in(16) {
            return self.get_of_another().await;
        }
        match (self.chooser.below(8), self.any_task()) {
            (0, _) | (_, None) => self.begin().await,
            (1, Some(task)) if self.chooser.one_in(3) => self.cancel(task).await,
            (2, Some(task)) => self.give_input(task).await,
            (3, _) if self.sender.user.is_some() => self.list().await,
            (_, Some(task)) => drop(self.get(&task).await),
        }
    }

    /// Lists the tasks of the user in a session, which may have to be opened first.
    async fn list(&mut self) {
        let Some(session) = self.session.clone() else { return self.open_session().await };
        let request = session.request("tasks/list", json!({}));
        let expected: Vec<String> = self.tasks.keys().cloned().collect();
        match self.send(request).await {
            Some((200, Some(message))) => {
                let listed = message["result"]["tasks"].as_array().unwrap();
                let is_listed = |id: &str| listed.iter().any(|task| task["taskId"] == id);
                let missing = expected.iter().find(|id| !is_listed(id));
                assert!(missing.is_none(), "an acknowledged task is not listed: {message}");
                let owners = self.owners.lock().unwrap();
                let owner = |task: &Value| owners.get(task["taskId"].as_str().unwrap()).copied();
                let is_foreign = |owner: u64| owner != self.number;
                let foreign = listed.iter().find(|task| owner(task).is_some_and(is_foreign));
                assert!(foreign.is_none(), "a task of another user is listed: {message}");
                assert!(listed.len() <= expected.len() + self.unacknowledged, "{message}");
                self.counts.listed += 1;
            }
            // Its node did not get the second step of the handshake.
            Some((404, _)) => self.session = None,
            other => assert!(other.is_none(), "{other:?}"),
        }
    }

    /// Asks for a task of another client, and does not get it, unless both are unknown: the id is what they have.
    async fn get_of_another(&mut self) {
        let is_hidden =
            |owner: u64| owner != self.number && (is_user(owner) || is_user(self.number));
        let hidden: Vec<String> = {
            let owners = self.owners.lock().unwrap();
            let hidden = owners.iter().filter(|(_, owner)| is_hidden(**owner));
            hidden.map(|(task, _)| task.clone()).collect()
        };
        if hidden.is_empty() {
            return;
        }
        let task = &hidden[self.chooser.below(hidden.len() as u64) as usize];
        let sent = self.try_once("tasks/get", &json!({"taskId": task})).await;
        if let Some(message) = sent {
            assert_eq!(message["error"]["code"], -32602, "a task of another client: {message}");
            self.counts.denied += 1;
        }
    }

    async fn open_session(&mut self) {
        let client = worker::Client { user: self.sender.user, session: None };
        let process = self.network.any(&mut self.chooser).await;
        let Some(response) = process.handle(client.legacy(&initialize())).await else { return };
        if let Some(id) = response.headers().get("mcp-session-id") {
            let session = Some(id.to_str().unwrap().to_owned());
            let client = worker::Client { session, ..client };
            let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            self.send(client.legacy(&initialized)).await;
            self.session = Some(client);
        }
    }

    async fn begin(&mut self) {
        let (asks, time) = (self.chooser.one_in(4), self.chooser.below(20_000));
        let arguments = json!({"time": time, "asks": asks, "checkpoint": true});
        let params = json!({"name": "work", "arguments": arguments});
        let Some(message) = self.try_once("tools/call", &params).await else {
            // It may exist or not.
            self.unacknowledged += 1;
            return;
        };
        let task = message["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{message}"));
        self.tasks.insert(task.to_owned(), Known { asks, ..Known::default() });
        let other = self.owners.lock().unwrap().insert(task.to_owned(), self.number);
        assert_eq!(other, None, "two tasks have the id {task}");
        self.counts.begun += 1;
    }

    async fn get(&mut self, task: &str) -> Value {
        let began = Instant::now();
        let message = self.ask("tasks/get", json!({"taskId": task})).await;
        let seen = message["result"].clone();
        assert!(seen.is_object(), "an acknowledged task is lost: {message} LOST {task}");
        let known = self.tasks.get_mut(task).unwrap();
        let status = seen["status"].as_str().unwrap();
        if !matches!(status, "working" | "input_required") {
            let end = json!([status, seen["result"], seen["error"]]);
            match &known.end {
                Some((first, _)) => assert_eq!(*first, end, "a task has two ends"),
                None => known.end = Some((end, Instant::now())),
            }
        } else {
            let since = known.end.as_ref().map(|(_, at)| *at).or(known.cancelled);
            assert!(since.is_none_or(|at| began < at + OLD), "a task that has ended is {status}");
        }
        let asks_again =
            status == "input_required" && known.given.is_some_and(|given| given + OLD <= began);
        assert!(!asks_again, "input that was acknowledged is lost");
        seen
    }

    async fn cancel(&mut self, task: String) {
        self.tasks.get_mut(&task).unwrap().may_be_cancelled = true;
        let message = self.try_once("tasks/cancel", &json!({"taskId": task})).await;
        if let Some(message) = message {
            assert!(message["error"].is_null(), "{message}");
            self.tasks.get_mut(&task).unwrap().cancelled = Some(Instant::now());
        }
    }

    async fn give_input(&mut self, task: String) {
        if self.get(&task).await["status"] != "input_required" {
            return;
        }
        let input = json!({"name": {"action": "accept", "content": {"name": "Ada"}}});
        let params = json!({"taskId": task, "inputResponses": input});
        if let Some(message) = self.try_once("tasks/update", &params).await {
            assert!(message["error"].is_null(), "{message}");
            self.tasks.get_mut(&task).unwrap().given = Some(Instant::now());
        }
    }

    /// Waits for the end of all tasks, and checks it.
    async fn finish(&mut self) {
        let tasks: Vec<String> = self.tasks.keys().cloned().collect();
        for task in tasks {
            let began = Instant::now();
            while self.tasks[&task].end.is_none() {
                assert!(began.elapsed() < PATIENCE, "a task has no end");
                self.give_input(task.clone()).await;
                self.get(&task).await;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            let known = &self.tasks[&task];
            let (end, _) = known.end.as_ref().unwrap();
            match end[0].as_str().unwrap() {
                "completed" => {
                    self.counts.completed += 1;
                    let text = end[1]["content"][0]["text"].as_str().unwrap();
                    assert!(text.contains(if known.asks { "Ada" } else { "worked" }), "{text}");
                }
                "cancelled" => {
                    self.counts.cancelled += 1;
                    assert!(known.may_be_cancelled, "cancelled by no one");
                }
                _ => panic!("{end}"),
            }
        }
    }
}

async fn run(seed: u64, troubles: Troubles) -> Counts {
    let journal = Journal::default();
    let clock = mcp_sansio_tokio::runtime::clock();
    let mut network = Network::default();
    network.tasks = Some((Journal::clone(&journal), clock));
    let mut world = World::begin(network.clone(), seed).await;
    let (mut clients, owners) = (Vec::new(), Owners::default());
    for number in 1..=CLIENTS {
        let chooser = Chooser::new(seed, 1_000 + number);
        let mut client = TaskClient::new(network.clone(), chooser, number, Arc::clone(&owners));
        clients.push(tokio::spawn(async move {
            for _ in 0..ACTS {
                client.act().await;
            }
            client
        }));
    }
    let mut counts = Counts::default();
    for mut client in world.disturb(troubles, clients).await {
        client.finish().await;
        counts.begun += client.counts.begun;
        counts.completed += client.counts.completed;
        counts.cancelled += client.counts.cancelled;
        counts.refused += client.counts.refused;
        counts.listed += client.counts.listed;
        counts.denied += client.counts.denied;
    }
    let lines = journal.lock().unwrap();
    counts.resumed = lines.iter().filter(|line| line.starts_with("resumed")).count();
    println!("seed {seed}: {counts:?}");
    counts
}

#[test]
fn tasks_outlive_their_nodes() {
    let troubles =
        Troubles { crashes: true, restarts: true, store_failures: true, disconnects: false };
    explore_runs(|seed| {
        Box::pin(async move {
            let counts = run(seed, troubles).await;
            assert!(50 < counts.begun, "{counts:?}");
            assert!(0 < counts.resumed, "{counts:?}");
            assert!(0 < counts.listed && 0 < counts.denied, "{counts:?}");
        })
    });
}

/// Without trouble each task is worked on once. A cancellation is refused only if the task ends at its node meanwhile.
#[test]
fn tasks_of_nodes_that_stay() {
    explore_runs(|seed| {
        Box::pin(async move {
            let counts = run(seed, Troubles::default()).await;
            assert_eq!(counts.resumed, 0, "{counts:?}");
            assert!(counts.refused <= 2, "{counts:?}");
        })
    });
}
