//! Random operations of both applications on a linked pair of every mix of eras, over a wire that loses,
//! repeats and reorders messages, with hostile ones among them. The promises are the oracle: one outcome
//! per call, one end per request and subscription, `poll_timeout` and `handle_timeout` of one mind,
//! nothing said after an end, nothing left over.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod oracle;
mod plan;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::model::{ElicitParams, InputRequired, ObjectSchema, method};
use mcp_sansio::{
    CallOptions, Cause, Client, ClientConfig, ConnectionConfig, ConnectionNumber, DuplicateIds,
    Era, ErrorCode, Framing, Instant, Outbox, Paging, Phase, Progress, Server, ServerConfig,
    ServerEvent, Timeout,
};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use oracle::{Oracle, Wire};
use plan::{Operation, configs, filter, operation};

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(300)
}

struct World {
    client: Client,
    server: Server,
    client_out: Outbox,
    server_out: Outbox,
    to_server: VecDeque<Vec<u8>>,
    to_client: VecDeque<Vec<u8>>,
    now: Instant,
    ours: Oracle,
    theirs: Oracle,
    wire: Wire,
    serves_duplicates: bool,
}

/// A command that fails sends nothing and takes nothing in.
macro_rules! command {
    ($machine:expr, $out:expr, $command:expr) => {{
        let before = ($machine.counts(), $out.len());
        let done = $command;
        if let Err(error) = &done {
            assert_eq!(before, ($machine.counts(), $out.len()), "{error:?}");
        }
        done
    }};
}

fn pick<T: Copy>(things: &[T], index: Index) -> Option<T> {
    (!things.is_empty()).then(|| *index.get(things))
}

impl World {
    fn new(client: ClientConfig, server: ServerConfig) -> Self {
        let outbox =
            |connection: &ConnectionConfig| Outbox::new(Framing::Messages, &connection.limits);
        Self {
            client_out: outbox(&client.connection),
            server_out: outbox(&server.connection),
            serves_duplicates: server.connection.duplicate_ids == DuplicateIds::Serve,
            client: Client::new(Arc::new(client)),
            server: Server::new(Arc::new(server)),
            to_server: VecDeque::new(),
            to_client: VecDeque::new(),
            now: Instant::from_millis(1),
            ours: Oracle::default(),
            theirs: Oracle::default(),
            wire: Wire::default(),
        }
    }

    fn run(mut self, operations: Vec<Operation>) {
        for operation in operations {
            self.step(&operation);
            self.check();
        }
        self.calm_down();
        self.finish();
    }

    fn step(&mut self, operation: &Operation) {
        let Self { client, server, client_out, server_out, .. } = self;
        let was_over = (client.phase() == Phase::Closed, server.phase() == Phase::Closed);
        let lengths = (client_out.len(), server_out.len());
        self.call(operation);
        self.give(operation);
        self.serve(operation);
        self.decide(operation);
        self.surround(operation);
        let lengths_now = (self.client_out.len(), self.server_out.len());
        assert!(!was_over.0 || lengths_now.0 <= lengths.0, "sent after the end");
        assert!(!was_over.1 || lengths_now.1 <= lengths.1, "sent after the end");
    }

    /// What the application of the client begins and gives up.
    fn call(&mut self, operation: &Operation) {
        let Self { client, client_out, now, ours, .. } = self;
        let now = *now;
        match *operation {
            Operation::Connect => {
                let before = client.clone();
                if client.connect(now, client_out).is_err() {
                    assert!(before == *client, "connect");
                }
                client.subscriptions().for_each(|call| {
                    if ours.pending.insert(call) {
                        ours.calls.push(call)
                    }
                });
            }
            Operation::Call { method, size, options: bits } => {
                let mut options = CallOptions::new();
                if bits & 1 != 0 {
                    options = options.progress();
                }
                if bits & 6 == 6 {
                    options = options.input_by_hand();
                }
                if bits & 8 != 0 {
                    options = options.idle(Timeout::After(Duration::from_secs(2)));
                }
                let params = json!({"name": "t", "arguments": {"text": "x".repeat(size)}});
                ours.made(command!(
                    client,
                    client_out,
                    client.call_method(method, &params, options, now, client_out)
                ));
            }
            Operation::List => ours.made(command!(
                client,
                client_out,
                client.list::<method::ListTools>(
                    Paging::default(),
                    CallOptions::new(),
                    now,
                    client_out
                )
            )),
            Operation::Subscribe(which) => ours.made(command!(
                client,
                client_out,
                client.subscribe(&filter(which), now, client_out)
            )),
            Operation::CancelOfClient(index) => {
                if let Some(call) = pick(&ours.calls, index)
                    && command!(client, client_out, client.cancel(call, Some("why"), client_out))
                        .is_ok()
                {
                    ours.call_ended(call, &"cancelled");
                }
            }
            _ => {}
        }
    }

    /// What it gives a server that needs something.
    fn give(&mut self, operation: &Operation) {
        let Self { client, client_out, ours, .. } = self;
        let Operation::GiveInput { need, answer } = *operation else { return };
        let Some(id) = pick(&ours.ids, need) else { return };
        let given = match answer % 8 {
                    0 => command!(client, client_out, client.reject(id, ErrorCode::INTERNAL_ERROR, "no", client_out)),
                    1 => command!(client, client_out, client.respond(id, &json!({"wrong": 1}), client_out)),
                    2 => command!(client, client_out, client.respond(id, &json!({"action": "accept", "content": {}, "roots": [{"uri": format!("file:///{}", "x".repeat(1500))}]}), client_out)),
                    _ => command!(client, client_out, client.respond(id, &json!({"action": "decline", "roots": []}), client_out)),
                };
        if given.is_ok() {
            ours.request_ended(id, &"given");
        }
    }

    /// What the application of the server says and asks.
    fn serve(&mut self, operation: &Operation) {
        let Self { server, server_out, now, theirs, .. } = self;
        let now = *now;
        match *operation {
            Operation::CallOfServer => theirs.made(command!(
                server,
                server_out,
                server.call_method("roots/list", &(), CallOptions::new(), now, server_out)
            )),
            Operation::CancelOfServer(index) => {
                if let Some(call) = pick(&theirs.calls, index)
                    && command!(server, server_out, server.cancel(call, None, server_out)).is_ok()
                {
                    theirs.call_ended(call, &"cancelled");
                }
            }
            Operation::Answer { request, answer } => {
                let Some(id) = pick(&theirs.ids, request) else { return };
                let answered = if answer % 4 == 0 {
                    command!(
                        server,
                        server_out,
                        server.reject(id, ErrorCode::INTERNAL_ERROR, "no", server_out)
                    )
                } else {
                    let text = "z".repeat(usize::from(answer) * 3);
                    server.respond(id, &json!({"content": [], "contents": [], "messages": [], "tools": [], "text": text}), server_out)
                };
                if answered.is_ok() {
                    theirs.request_ended(id, &"answered");
                }
            }
            _ => {}
        }
    }

    /// What it needs, grants and tells.
    fn decide(&mut self, operation: &Operation) {
        let Self { server, server_out, now, theirs, .. } = self;
        let now = *now;
        match *operation {
            Operation::Require { request, what } => {
                let Some(id) = pick(&theirs.ids, request) else { return };
                let Some(request) = theirs.requests.get(&id) else { return };
                let mut required = InputRequired::new();
                if what & 1 != 0 {
                    required = required.state("s");
                }
                if what & 2 != 0 {
                    required = required.roots("a");
                }
                if what & 4 != 0 {
                    required =
                        required.elicit("b", ElicitParams::form("m", ObjectSchema::default()));
                }
                if what & 24 == 24 {
                    required = required.elicit("c", ElicitParams::url("m", "https://x/", "e"));
                }
                let done = command!(
                    server,
                    server_out,
                    server.require_input(request, &required, now, server_out)
                );
                if done.is_ok() {
                    let comes_again = request.context.era() != Era::Stateless;
                    theirs.request_ended(id, &"input");
                    if comes_again {
                        theirs.waiting.insert(id);
                    }
                }
            }
            Operation::Grant { request, filter: which } => {
                let Some(id) = pick(&theirs.ids, request) else { return };
                let some = filter(which);
                let before = (server.clone(), server_out.clone());
                if server.grant(id, (which & 4 == 0).then_some(&some), server_out).is_err() {
                    assert!(before == (server.clone(), server_out.clone()), "grant");
                }
            }
            Operation::Report { request, step } => {
                let Some(id) = pick(&theirs.ids, request) else { return };
                _ = command!(
                    server,
                    server_out,
                    server.progress(id, Progress::new(step), now, server_out)
                );
            }
            Operation::Notify { method, related } => {
                let related = related.and_then(|index| pick(&theirs.ids, index));
                let methods = [
                    "tools/list_changed",
                    "prompts/list_changed",
                    "resources/updated",
                    "resources/updated",
                    "message",
                    "x",
                ];
                let params =
                    json!({"uri": format!("a:/{}", method % 3), "level": "error", "data": 1});
                let name = format!("notifications/{}", methods[usize::from(method)]);
                _ = command!(
                    server,
                    server_out,
                    server.notify_method(&name, &params, related, server_out)
                );
            }
            _ => {}
        }
    }

    /// What the wire, time and the hosts do.
    fn surround(&mut self, operation: &Operation) {
        match *operation {
            Operation::Send { to_server: true } => {
                self.to_server.extend(self.client_out.messages().map(<[u8]>::to_vec))
            }
            Operation::Send { to_server: false } => self.send_to_client(),
            Operation::Deliver { to_server, count } => {
                (0..count).for_each(|_| self.deliver(to_server))
            }
            Operation::Lose { to_server } => _ = self.queue(to_server).pop_front(),
            Operation::Repeat { to_server } => {
                let queue = self.queue(to_server);
                queue.front().cloned().into_iter().for_each(|message| queue.push_back(message));
            }
            Operation::Swap { to_server } => {
                let queue = self.queue(to_server);
                if 1 < queue.len() {
                    queue.swap(0, 1);
                }
            }
            Operation::Forge { to_server, ref text } => {
                self.queue(to_server).push_front(text.clone().into_bytes())
            }
            Operation::Pause(true) => self.client.pause(self.now),
            Operation::Pause(false) => self.client.resume(self.now),
            Operation::Settle => self.settle(),
            Operation::Wait(milliseconds) => {
                self.now = self.now + Duration::from_millis(milliseconds)
            }
            Operation::End { side, how } => self.end(side, how),
            Operation::Reconnect => self.reconnect(),
            _ => {}
        }
    }

    const fn queue(&mut self, to_server: bool) -> &mut VecDeque<Vec<u8>> {
        if to_server { &mut self.to_server } else { &mut self.to_client }
    }

    fn send_to_client(&mut self) {
        for message in self.server_out.messages() {
            self.wire.sent(message, self.serves_duplicates);
            self.to_client.push_back(message.to_vec());
        }
    }

    fn deliver(&mut self, to_server: bool) {
        let Some(message) = self.queue(to_server).pop_front() else { return };
        if to_server {
            self.wire.delivered(&message);
            if let Some(event) = self.server.receive(&*message, self.now, &mut self.server_out) {
                self.theirs.server(&event);
                if let ServerEvent::Cancelled(_) = event {
                    let message: Value = serde_json::from_slice(&message).unwrap();
                    if message["method"] == "notifications/cancelled" {
                        let id = message["params"]["requestId"].to_string();
                        self.wire.cancelled(id);
                    }
                }
            }
        } else if let Some(event) = self.client.receive(&*message, self.now, &mut self.client_out) {
            self.ours.client(&event);
        }
        self.adopt();
    }

    /// Subscriptions that the client has made by itself.
    fn adopt(&mut self) {
        let Self { client, ours, .. } = self;
        for call in client.subscriptions() {
            if ours.pending.insert(call) {
                ours.calls.push(call);
            }
        }
    }

    fn end(&mut self, side: bool, how: u8) {
        let Self { client, server, now, .. } = self;
        match (how, side) {
            (0, true) => client.disconnected(Cause::EndOfInput, *now),
            (0, false) => server.disconnected(Cause::EndOfInput, *now),
            (1, true) => client.disconnected(Cause::WriteFailed, *now),
            (1, false) => server.close(),
            (2 | 3, true) => client.shut_down(Duration::from_secs(5), *now),
            (2 | 3, false) => server.shut_down(Duration::from_secs(5), *now),
            _ => {}
        }
    }

    /// Both machines anew, if the client has ended.
    fn reconnect(&mut self) {
        if !self.ours.closed {
            return;
        }
        self.server.close();
        self.settle();
        let wanted =
            |client: &Client| format!("{:?}", client.successor(ConnectionNumber::default()));
        let client = self.client.successor(ConnectionNumber::default());
        assert_eq!(wanted(&client).contains("a:/0"), wanted(&self.client).contains("a:/0"));
        let (ours, theirs) = (self.client.config().clone(), self.server.config().clone());
        let now = self.now;
        *self = Self { client, now, ..Self::new(ours, theirs) };
    }

    fn settle(&mut self) {
        for round in 0.. {
            let Some(event) = self.client.handle_timeout(self.now, &mut self.client_out) else {
                break;
            };
            assert!(round < 1000, "for ever: {event:?}");
            self.ours.client(&event);
            self.adopt();
        }
        self.adopt();
        for round in 0.. {
            let Some(event) = self.server.handle_timeout(self.now, &mut self.server_out) else {
                break;
            };
            assert!(round < 1000, "for ever: {event:?}");
            self.theirs.server(&event);
        }
        for (due, closed) in [
            (self.client.poll_timeout(), self.ours.closed),
            (self.server.poll_timeout(), self.theirs.closed),
        ] {
            assert!(due.is_none_or(|due| self.now < due), "all that was due is done");
            assert!(!closed || due.is_none());
        }
    }

    fn check(&self) {
        let Self { client, server, ours, theirs, now, .. } = self;
        let pending: BTreeSet<_> = client.pending_calls().chain(client.subscriptions()).collect();
        assert_eq!(pending, ours.pending);
        assert_eq!(server.pending_calls().collect::<BTreeSet<_>>(), theirs.pending);
        // What a server needs is open before the client is told of all of it.
        let untold = client.open_requests().filter(|id| !ours.open.contains(id)).count();
        assert!(untold == 0 || client.poll_timeout().is_some_and(|due| due <= *now));
        assert!(
            server
                .open_requests()
                .all(|id| theirs.open.contains(&id) || theirs.waiting.contains(&id))
        );
        for (closed, counts) in [(ours.closed, client.counts()), (theirs.closed, server.counts())] {
            assert!(
                !closed || (counts.inbound, counts.outbound, counts.held_bytes) == (0, 0, 0),
                "{counts:?}"
            );
        }
        // Whoever is not told that there is something to do finds nothing.
        if client.poll_timeout().is_none_or(|due| *now < due) {
            assert_eq!(client.clone().handle_timeout(*now, &mut self.client_out.clone()), None);
        }
        if server.poll_timeout().is_none_or(|due| *now < due) {
            assert_eq!(server.clone().handle_timeout(*now, &mut self.server_out.clone()), None);
        }
    }

    /// With nothing but time, on an empty wire, every call with timers ends.
    fn calm_down(&mut self) {
        self.client.resume(self.now);
        for _ in 0..400 {
            self.client_out.messages().for_each(drop);
            self.send_to_client();
            self.settle();
            self.check();
            let due = [self.client.poll_timeout(), self.server.poll_timeout()];
            let Some(due) = due.into_iter().flatten().min() else { break };
            assert!(self.now < due);
            self.now = due;
        }
        assert_eq!(self.client.pending_calls().count(), 0, "without end");
        assert_eq!(self.server.pending_calls().count(), 0, "without end");
        assert!(self.theirs.waiting.is_empty(), "without end: {:?}", self.theirs.waiting);
    }

    fn finish(&mut self) {
        self.client.disconnected(Cause::WriteFailed, self.now);
        self.server.disconnected(Cause::WriteFailed, self.now);
        self.settle();
        self.check();
        assert!(self.ours.closed && self.theirs.closed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    /// Promises 1, 2, 3, 4 and 6 of both roles and all eras, whatever happens in whatever order.
    #[test]
    fn a_pair_keeps_its_promises(
        (client, server) in configs(),
        operations in prop::collection::vec(operation(), 0..80),
    ) {
        World::new(client, server).run(operations);
    }
}
