//! Clients, and what they know.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response};
use mcp_sansio_store::NodeBody;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::chooser::Chooser;
use crate::kit::{call, end_request, initialize, listen_request, next_event, request};
use crate::network::{Network, Process};

/// How long a client tries again.
const PATIENCE: Duration = Duration::from_secs(60);

/// After this time no node responds for a session that was ended at another one.
const SILENCE: Duration = Duration::from_secs(6);

/// How long a session waits for a request after `initialize`.
const READY_WITHIN: Duration = Duration::from_secs(9);

/// How long the longest call takes.
const LONGEST_CALL: u64 = 12_000;

const RESOURCES: [&str; 3] = ["test://a", "test://b", "test://c"];

/// A message that a client has asked for.
struct Note {
    began: u64,
    acknowledged: Option<u64>,
}

/// The response to a request, if there was one.
enum Sent {
    Answered(u16, Value),
    /// The client has gone, or the connection has broken.
    Broken,
}

/// What happened to all clients.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) acknowledged: usize,
    pub(crate) refused: usize,
    pub(crate) broken: usize,
    /// Calls that were refused after more than a second.
    pub(crate) interrupted: usize,
}

/// A client with a session.
pub(crate) struct Client {
    network: Network,
    chooser: Chooser,
    session: String,
    stream: Option<(Process, Response<NodeBody>)>,
    last_event: Option<String>,
    /// The messages that it has received, in order.
    received: Vec<u64>,
    notes: BTreeMap<u64, Note>,
    /// Whether it has subscribed to a resource; `None` if it cannot know that.
    subscribed: BTreeMap<&'static str, Option<bool>>,
    updated: BTreeSet<String>,
    ended: Vec<(String, Instant)>,
    next: u64,
    /// Counts requests and responses.
    moment: u64,
    pub(crate) counts: Counts,
    /// Whether it disconnects during requests.
    pub(crate) disconnects: bool,
}

impl Client {
    pub(crate) async fn open(network: Network, chooser: Chooser) -> Self {
        let mut client = Self {
            network,
            chooser,
            session: String::new(),
            stream: None,
            last_event: None,
            received: Vec::new(),
            notes: BTreeMap::new(),
            subscribed: BTreeMap::new(),
            updated: BTreeSet::new(),
            ended: Vec::new(),
            next: 0,
            moment: 0,
            counts: Counts::default(),
            disconnects: true,
        };
        client.begin().await;
        client
    }

    /// Opens a session. Each step goes to any process.
    async fn begin(&mut self) {
        let began = Instant::now();
        let (session, opened) = loop {
            assert!(began.elapsed() < PATIENCE, "no session can be opened");
            let opened = Instant::now();
            let process = self.network.any(&mut self.chooser).await;
            if let Some(response) = process.handle(request(None, &initialize())).await
                && response.status() == 200
            {
                break (response.headers()["mcp-session-id"].to_str().unwrap().to_owned(), opened);
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        };
        self.session = session;
        (self.stream, self.last_event) = (None, None);
        (self.received, self.notes) = (Vec::new(), BTreeMap::new());
        self.subscribed = RESOURCES.map(|resource| (resource, Some(false))).into();
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        loop {
            match self.exchange(&initialized).await {
                Sent::Answered(202, _) => break,
                // The session has ended, because its node did not get this notification.
                Sent::Answered(404, _) if READY_WITHIN < opened.elapsed() => {
                    return Box::pin(self.begin()).await;
                }
                Sent::Answered(503, _) | Sent::Broken => {}
                Sent::Answered(status, answer) => panic!("{status}: {answer}"),
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        self.until_answered(&set_level(), 200).await;
    }

    /// Sends a message until it is answered with this status.
    async fn until_answered(&mut self, message: &Value, expected: u16) {
        let began = Instant::now();
        loop {
            let last = self.counts.refused;
            assert!(
                began.elapsed() < PATIENCE,
                "not served, {last} requests were refused: {message}"
            );
            match self.send_patiently(message).await {
                Sent::Answered(status, _) if status == expected => return,
                Sent::Answered(503, _) | Sent::Broken => {}
                Sent::Answered(status, answer) => panic!("{status}: {answer}"),
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    fn request(&self, message: &Value) -> Request<Full<Bytes>> {
        request(Some(&self.session), message)
    }

    async fn exchange(&mut self, message: &Value) -> Sent {
        let process = self.network.any(&mut self.chooser).await;
        exchange(&process, self.request(message)).await
    }

    async fn send_patiently(&mut self, message: &Value) -> Sent {
        let sent = self.exchange(message).await;
        self.note(&sent);
        sent
    }

    /// Sends a message. The client may go before it is answered.
    async fn send(&mut self, message: &Value) -> Sent {
        if !self.disconnects || !self.chooser.one_in(8) {
            return self.send_patiently(message).await;
        }
        let impatient = Duration::from_millis(self.chooser.below(60));
        let sent = timeout(impatient, self.send_patiently(message)).await;
        sent.unwrap_or(Sent::Broken)
    }

    fn note(&mut self, sent: &Sent) {
        match sent {
            Sent::Answered(503, _) => self.counts.refused += 1,
            Sent::Answered(404, answer) => panic!("the session is lost: {answer}"),
            Sent::Answered(..) => {}
            Sent::Broken => self.counts.broken += 1,
        }
    }

    /// Does something.
    pub(crate) async fn act(&mut self) {
        let act = self.chooser.below(100);
        let acted = timeout(10 * PATIENCE, self.act_by(act)).await;
        assert!(acted.is_ok(), "act {act} has no end");
    }

    async fn act_by(&mut self, act: u64) {
        match act {
            0..55 => self.calls().await,
            55..65 => self.subscribe().await,
            65..67 => self.replace().await,
            67..70 => self.call_later().await,
            70..90 => self.read().await,
            _ => {
                let pause = Duration::from_millis(self.chooser.below(2_000));
                tokio::time::sleep(pause).await;
            }
        }
    }

    /// Calls a tool, which sends a message: once, or several times at once at any processes.
    async fn calls(&mut self) {
        let number = 1 + self.chooser.below(3);
        let mut calls = Vec::new();
        for _ in 0..number {
            let (note, process) = (self.next, self.network.any(&mut self.chooser).await);
            self.next += 1;
            self.notes.insert(note, Note { began: self.moment, acknowledged: None });
            let body = call(note + 2, "note", &json!({"n": note}));
            let patience = match self.disconnects && self.chooser.one_in(8) {
                true => Duration::from_millis(self.chooser.below(60)),
                false => PATIENCE,
            };
            let request = self.request(&body);
            calls.push(tokio::spawn(async move {
                let sent = timeout(patience, exchange(&process, request)).await;
                (note, sent.unwrap_or(Sent::Broken))
            }));
        }
        self.moment += 1;
        for call in calls {
            let (note, sent) = call.await.unwrap();
            self.note(&sent);
            if let Sent::Answered(200, answer) = sent {
                assert_eq!(answer["result"]["content"][0]["text"], "noted", "{answer}");
                self.notes.get_mut(&note).unwrap().acknowledged = Some(self.moment);
                self.counts.acknowledged += 1;
            }
        }
        self.moment += 1;
    }

    /// Calls a tool that takes its time.
    async fn call_later(&mut self) {
        let (time, began) = (self.chooser.below(LONGEST_CALL), Instant::now());
        let message = call(1, "later", &json!({"time": time}));
        if let Sent::Answered(503, _) = self.send_patiently(&message).await {
            self.counts.interrupted += usize::from(Duration::from_secs(2) < began.elapsed());
        }
    }

    async fn subscribe(&mut self) {
        let resource = RESOURCES[self.chooser.below(RESOURCES.len() as u64) as usize];
        let (method, then) = match self.chooser.one_in(2) {
            true => ("resources/subscribe", true),
            false => ("resources/unsubscribe", false),
        };
        let message =
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"uri": resource}});
        let sent = self.send(&message).await;
        let is_acknowledged = matches!(sent, Sent::Answered(200, _));
        self.subscribed.insert(resource, is_acknowledged.then_some(then));
    }

    /// Ends the session, and opens another one.
    async fn replace(&mut self) {
        // The messages of the session end with it.
        self.read_until(Self::has_acknowledged).await;
        self.check_notes();
        let (began, mut attempts) = (Instant::now(), 0);
        loop {
            attempts += 1;
            assert!(began.elapsed() < PATIENCE, "the session cannot be ended");
            let process = self.network.any(&mut self.chooser).await;
            match process
                .handle(end_request(&self.session))
                .await
                .map(|response| response.status().as_u16())
            {
                Some(200) => break,
                // An earlier attempt has ended it.
                Some(404) if 1 < attempts => break,
                Some(503) | None => tokio::time::sleep(Duration::from_secs(1)).await,
                Some(status) => panic!("{status}"),
            }
        }
        self.ended.push((self.session.clone(), Instant::now()));
        self.begin().await;
    }

    /// Reads what has arrived, and resumes the stream if it has ended.
    pub(crate) async fn read(&mut self) {
        if self.stream.is_none() {
            self.resume().await;
        }
        let Some((process, stream)) = &mut self.stream else { return };
        loop {
            let event = async {
                tokio::select! {
                    biased;
                    () = process.died() => None,
                    event = next_event(stream) => event,
                }
            };
            match timeout(Duration::from_millis(200), event).await {
                Ok(Some((id, message))) => {
                    self.last_event = Some(id);
                    let data = &message["params"];
                    self.received.extend(data["data"]["n"].as_u64());
                    self.updated.extend(data["uri"].as_str().map(str::to_owned));
                }
                Ok(None) => {
                    self.stream = None;
                    return;
                }
                Err(_) => return,
            }
        }
    }

    async fn resume(&mut self) {
        let process = self.network.any(&mut self.chooser).await;
        let request = listen_request(&self.session, self.last_event.as_deref());
        let Some(stream) = process.handle(request).await else { return };
        match stream.status().as_u16() {
            200 => self.stream = Some((process, stream)),
            // Another stream of the session is still open, at a node that has not noticed its end; or the session moves.
            409 | 503 => {}
            status => panic!("{status} after {:?}", self.last_event),
        }
    }

    /// Breaks the event stream.
    pub(crate) fn disconnect(&mut self) {
        self.stream = None;
    }

    /// Checks everything that was promised, when all processes work.
    pub(crate) async fn check(&mut self) {
        for (session, at) in std::mem::take(&mut self.ended) {
            tokio::time::sleep_until(at + SILENCE).await;
            let process = self.network.any(&mut self.chooser).await;
            let body = call(1, "note", &json!({"n": 0}));
            match exchange(&process, request(Some(&session), &body)).await {
                Sent::Answered(404, _) => {}
                Sent::Answered(status, answer) => {
                    panic!("an ended session came back: {status} {answer}")
                }
                Sent::Broken => panic!("no response"),
            }
        }
        self.check_subscriptions().await;
        self.check_notes();
    }

    async fn check_subscriptions(&mut self) {
        let last = self.next;
        self.read_until(|_| true).await;
        self.updated.clear();
        for resource in RESOURCES {
            self.until_answered(&call(1, "touch", &json!({"uri": resource})), 200).await;
        }
        self.next += 1;
        self.notes.insert(last, Note { began: self.moment, acknowledged: None });
        self.until_answered(&call(2, "note", &json!({"n": last})), 200).await;
        self.read_until(|client| client.received.contains(&last)).await;
        for (resource, is_subscribed) in &self.subscribed {
            if let Some(is_subscribed) = is_subscribed {
                assert_eq!(self.updated.contains(*resource), *is_subscribed, "{resource}");
            }
        }
    }

    async fn read_until(&mut self, is_enough: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        loop {
            // A stream at a node that was cut off ends when that notices it.
            self.stream = None;
            self.read().await;
            if self.stream.is_some() && is_enough(self) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "received {:?}", self.received);
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    /// Whether all messages of acknowledged calls have arrived.
    fn has_acknowledged(&self) -> bool {
        let received: BTreeSet<_> = self.received.iter().collect();
        let mut acknowledged = self.notes.iter().filter(|(_, note)| note.acknowledged.is_some());
        acknowledged.all(|(note, _)| received.contains(note))
    }

    fn check_notes(&self) {
        let received = &self.received;
        let once: BTreeSet<_> = received.iter().collect();
        assert_eq!(once.len(), received.len(), "received twice: {received:?}");
        for note in received {
            assert!(self.notes.contains_key(note), "a message of another client: {note}");
        }
        for (note, Note { acknowledged, .. }) in &self.notes {
            assert!(
                acknowledged.is_none() || once.contains(note),
                "acknowledged, and lost: {note}"
            );
        }
        // A message of a call that was answered before another call began comes before that of the other call.
        let mut latest_begin = 0;
        for note in received {
            let Note { began, acknowledged } = &self.notes[note];
            let is_late = acknowledged.is_some_and(|at| at < latest_begin);
            assert!(!is_late, "not in order: {note} in {received:?}");
            latest_begin = latest_begin.max(*began);
        }
    }
}

fn set_level() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": {"level": "info"}})
}

/// Sends a request to a process.
async fn exchange(process: &Process, request: Request<Full<Bytes>>) -> Sent {
    let exchange = async {
        let response = process.handle(request).await?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.ok()?.to_bytes();
        Some(Sent::Answered(status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
    };
    tokio::select! {
        biased;
        () = process.died() => Sent::Broken,
        sent = exchange => sent.unwrap_or(Sent::Broken),
    }
}
