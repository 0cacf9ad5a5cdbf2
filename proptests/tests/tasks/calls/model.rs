//! Random operations of both sides on tasks, compared with a small model: the state of each task, and the permitted
//! outcomes of calls.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::call::{TaskOptions, TaskTicket};
use mcp_sansio::event::UnmatchedCause;
use mcp_sansio::model::{ElicitParams, InputRequired, ObjectSchema};
use mcp_sansio::task::{Status, TaskKey, TaskNews};
use mcp_sansio::{
    CallId, CallOptions, Cause, Client, ClientEvent, ConnectionNumber, ErrorCode, Framing,
    IncomingId, Outbox, Outcome, RevisionSet, Server,
};
use proptest::prelude::*;
use proptest::sample::Index;

use super::world::World;

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(200)
}

/// An operation of either side.
#[derive(Clone, Debug)]
enum Operation {
    Call { as_task: bool },
    Cancel(Index),
    CancelTask(Index),
    Answer(Index),
    Complete(Index),
    Fail(Index),
    Require(Index),
    Message(Index),
    CancelByServer(Index),
    Expire(Index),
    Wait(u64),
    Lose,
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    let some = || any::<Index>();
    prop_oneof![
        4 => any::<bool>().prop_map(|as_task| Call { as_task }),
        1 => some().prop_map(Cancel),
        1 => some().prop_map(CancelTask),
        4 => some().prop_map(Answer),
        2 => some().prop_map(Complete),
        1 => some().prop_map(Fail),
        3 => some().prop_map(Require),
        1 => some().prop_map(Message),
        1 => some().prop_map(CancelByServer),
        1 => some().prop_map(Expire),
        6 => (0..4_000_u64).prop_map(Wait),
        1 => Just(Lose),
    ]
}

/// The expected state of a task.
#[derive(Clone, Copy, Debug)]
struct Expected {
    status: Status,
    /// The task may expire at any time.
    expires: bool,
}

/// Both sides and their model.
struct Run {
    world: World,
    tasks: BTreeMap<String, Expected>,
    /// The calls without an outcome, each with the id of its task.
    open: BTreeMap<CallId, Option<String>>,
    /// The requests to the application without a response.
    asked: BTreeSet<IncomingId>,
    connections: u32,
    inputs: u32,
}

impl Run {
    fn of(revisions: RevisionSet) -> Self {
        Self {
            world: World::of(revisions),
            tasks: BTreeMap::new(),
            open: BTreeMap::new(),
            asked: BTreeSet::new(),
            connections: 0,
            inputs: 0,
        }
    }

    fn a_call(&self, index: &Index) -> Option<CallId> {
        let calls: Vec<CallId> = self.open.keys().copied().collect();
        (!calls.is_empty()).then(|| *index.get(&calls))
    }

    fn a_task(&self, index: &Index) -> Option<(String, TaskKey)> {
        let ids: Vec<&String> = self.tasks.keys().collect();
        let id = (!ids.is_empty()).then(|| (*index.get(&ids)).clone())?;
        Some((id.clone(), self.world.tasks.find(&id)?))
    }

    /// Changes a task in the model if the task has not ended. `could` must agree with the model.
    fn change(&mut self, id: &str, status: Status, could: bool) {
        let expected = self.tasks.get_mut(id).unwrap();
        assert_eq!(could, !expected.status.is_final(), "{id} {expected:?} {status:?}");
        if could {
            expected.status = status;
        }
        self.world.settle();
    }

    fn run(&mut self, operation: &Operation) {
        let now = self.world.server.now;
        match operation {
            Operation::Call { as_task } => {
                let options = CallOptions::new();
                let options = if *as_task { options.task(TaskOptions::new()) } else { options };
                let call = self.world.call_with(options);
                assert_eq!(self.open.insert(call, None), None);
                self.world.settle();
            }
            Operation::Cancel(index) => {
                let Some(call) = self.a_call(index) else { return };
                let (client, out) = (&mut self.world.client.client, &mut self.world.client.out);
                _ = client.cancel(call, None, out).unwrap();
                self.open.remove(&call);
                self.world.settle();
            }
            Operation::CancelTask(index) => {
                let Some(call) = self.a_call(index) else { return };
                let (client, out) = (&mut self.world.client.client, &mut self.world.client.out);
                let asked = client.cancel_task(call, now, out);
                assert_eq!(asked.is_ok(), self.open[&call].is_some(), "{asked:?}");
                self.world.settle();
            }
            Operation::Answer(index) => {
                let asked: Vec<IncomingId> = self.asked.iter().copied().collect();
                if asked.is_empty() {
                    return;
                }
                let question = *index.get(&asked);
                self.asked.remove(&question);
                self.world.client.respond(question, r#"{"action":"accept","content":{}}"#);
                self.world.settle();
            }
            Operation::Wait(milliseconds) => self.world.elapse(*milliseconds),
            Operation::Lose => self.lose(),
            Operation::Complete(index)
            | Operation::Fail(index)
            | Operation::Require(index)
            | Operation::Message(index)
            | Operation::CancelByServer(index)
            | Operation::Expire(index) => {
                let Some((id, key)) = self.a_task(index) else { return };
                self.work(operation, &id, key);
            }
        }
    }

    /// An operation of the server on a task.
    fn work(&mut self, operation: &Operation, id: &str, key: TaskKey) {
        let (tasks, now) = (&mut self.world.tasks, self.world.server.now);
        let (done, status) = match operation {
            Operation::Complete(_) => {
                let result = mcp_sansio::model::CallToolResult::text("done");
                (tasks.complete(key, &result, now), Status::Completed)
            }
            Operation::Fail(_) => {
                (tasks.fail(key, ErrorCode::new(-7), "broken", now), Status::Failed)
            }
            Operation::CancelByServer(_) => (tasks.cancel(key, now), Status::Cancelled),
            Operation::Message(_) => {
                let status = self.tasks[id].status;
                (tasks.set_message(key, Some("going on"), now), status)
            }
            Operation::Expire(_) => {
                tasks.set_ttl(key, Some(Duration::from_secs(1))).unwrap();
                self.tasks.get_mut(id).unwrap().expires = true;
                return self.world.settle();
            }
            _ => {
                self.inputs += 1;
                let form = ElicitParams::form("?", ObjectSchema::default());
                let name = format!("k{}", self.inputs);
                let required = InputRequired::new().elicit(&*name, form);
                (tasks.require_input(key, &required, now), Status::InputRequired)
            }
        };
        self.change(id, status, done.is_ok());
    }

    /// The connection ends, and the tasks are resumed on the next connection.
    fn lose(&mut self) {
        self.look();
        self.connections += 1;
        let tickets = self.world.lose(self.connections);
        assert_eq!(self.look_for_left(), tickets.len());
        assert!(self.open.is_empty(), "{:?}", self.open);
        assert!(self.asked.is_empty(), "{:?}", self.asked);
        self.world.reconnect(self.connections);
        for ticket in tickets {
            let now = self.world.client.now;
            let (client, out) = (&mut self.world.client.client, &mut self.world.client.out);
            let call = client.resume_task(&ticket, TaskOptions::new(), now, out).unwrap();
            self.open.insert(call, Some(ticket.task_id));
        }
        self.world.settle();
    }

    /// Consumes the events of the end of a connection, and returns the number of calls that were tasks.
    fn look_for_left(&mut self) -> usize {
        let before = self.open.values().filter(|task| task.is_some()).count();
        self.look();
        before
    }

    /// Consumes the events and compares them with the model.
    fn look(&mut self) {
        self.look_at_news();
        for event in std::mem::take(&mut self.world.events) {
            match event {
                ClientEvent::Task(update) => {
                    let task = self.open.get_mut(&update.call).expect("of an open call");
                    let id = task.get_or_insert(update.ticket.task_id.clone());
                    assert_eq!(*id, update.ticket.task_id);
                }
                ClientEvent::CallEnded(ended) => {
                    let task = self.open.remove(&ended.call).expect("one outcome per call");
                    self.is_allowed(task.as_deref(), &ended.outcome);
                }
                ClientEvent::Request(request) => {
                    assert!(self.asked.insert(request.id), "asked once");
                    assert!(request.needed_for.is_none_or(|call| self.open.contains_key(&call)));
                }
                ClientEvent::Cancelled(cancelled) => {
                    assert!(self.asked.remove(&cancelled.id), "withdrawn once");
                }
                ClientEvent::UnmatchedResponse(unmatched) => {
                    assert_eq!(unmatched.cause, UnmatchedCause::Cancelled)
                }
                ClientEvent::Notification(_)
                | ClientEvent::AbandonedTask(_)
                | ClientEvent::Closed { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Compares the task news and the tasks of the server with the model.
    fn look_at_news(&mut self) {
        for news in std::mem::take(&mut self.world.news) {
            let (TaskNews::Cancelled(key) | TaskNews::Input(key)) = news else {
                panic!("{news:?}")
            };
            let Some(view) = self.world.tasks.get(key) else { continue };
            let expected = self.tasks.get_mut(view.id()).unwrap();
            assert!(!expected.status.is_final(), "{news:?} {expected:?}");
            expected.status = match news {
                TaskNews::Cancelled(_) => Status::Cancelled,
                _ => Status::Working,
            };
        }
        for (_, view) in self.world.tasks.iter() {
            let new = Expected { status: Status::Working, expires: false };
            let expected = self.tasks.entry(view.id().to_string()).or_insert(new);
            assert_eq!(view.status(), expected.status, "{}", view.id());
        }
        let gone = |(id, _): &(&String, &Expected)| self.world.tasks.find(id).is_none();
        assert!(self.tasks.iter().filter(gone).all(|(_, expected)| expected.expires));
    }

    /// Asserts that the outcome of a call agrees with the state of its task.
    fn is_allowed(&self, task: Option<&str>, outcome: &Outcome<'_>) {
        let expected = task.and_then(|id| self.tasks.get(id));
        let status = expected.map(|expected| expected.status);
        let is_allowed = match outcome {
            Outcome::Result(_) => status.is_none_or(|status| status == Status::Completed),
            Outcome::PeerError(error) => {
                error.code == ErrorCode::new(-7) && status == Some(Status::Failed)
            }
            Outcome::TaskCancelled => status == Some(Status::Cancelled),
            Outcome::TaskNotFound => expected.is_some_and(|expected| expected.expires),
            Outcome::Task(_) => task.is_some(),
            _ => false,
        };
        assert!(is_allowed, "{task:?} {expected:?} {outcome:?}");
    }

    /// Ends all tasks, and asserts that no state remains.
    fn end(&mut self) {
        let ids: Vec<String> = self.tasks.keys().cloned().collect();
        for id in ids {
            let Some(key) = self.world.tasks.find(&id) else { continue };
            if !self.tasks[&id].status.is_final() {
                let result = mcp_sansio::model::CallToolResult::text("done");
                let done = self.world.tasks.complete(key, &result, self.world.server.now);
                self.change(&id, Status::Completed, done.is_ok());
                self.look();
            }
        }
        for _ in 0..4 {
            self.world.elapse(5_000);
            self.look();
        }
        assert!(self.open.is_empty(), "{:?}", self.open);
        assert!(self.asked.is_empty(), "{:?}", self.asked);
        let (client, server) = (&self.world.client.client, &self.world.server.server);
        assert_eq!(
            (client.in_flight().counts().outbound, client.in_flight().counts().inbound),
            (0, 0)
        );
        assert_eq!(
            (server.in_flight().counts().outbound, server.in_flight().counts().inbound),
            (0, 0)
        );
        assert_eq!(client.poll_timeout(), None);
        self.world.elapse(3_600_000);
        assert_eq!(self.world.events, []);
    }
}

impl World {
    /// Breaks the connection, and consumes the events of each side. Returns the tickets of the tasks.
    fn lose(&mut self, number: u32) -> Vec<TaskTicket> {
        let now = self.client.now;
        self.client.client.disconnected(Cause::ReadFailed, now);
        let events = self.client.outcomes();
        let tickets = events.iter().filter_map(|event| match event {
            ClientEvent::CallEnded(ended) => match &ended.outcome {
                Outcome::Task(begun) => Some(begun.ticket.clone()),
                _ => None,
            },
            _ => None,
        });
        let tickets = tickets.collect();
        self.events.extend(events);
        self.server.server.disconnected(Cause::ReadFailed, now);
        for event in self.server.outcomes() {
            if let mcp_sansio::ServerEvent::TaskAnswer(answer) = event {
                self.news.extend(self.tasks.answered(&answer, now));
            }
        }
        let before = self.server.server.connection_number();
        self.tasks.disconnected(before);
        assert_eq!(self.client.client.in_flight().counts().outbound, 0, "{number}");
        assert_eq!(self.client.client.in_flight().counts().inbound, 0);
        assert_eq!(self.server.server.in_flight().counts().outbound, 0);
        assert_eq!(self.server.server.in_flight().counts().inbound, 0);
        assert_eq!(self.client.elapse(0), [], "nothing follows the end");
        tickets
    }

    /// Connects the same client and server again.
    fn reconnect(&mut self, number: u32) {
        let number = ConnectionNumber::new(number);
        let (client, server) = (self.client.client.config(), self.server.server.config());
        let (client, server) = (Arc::new(client.clone()), Arc::new(server.clone()));
        self.client.out = Outbox::new(Framing::Messages, &client.connection.limits);
        self.server.out = Outbox::new(Framing::Messages, &server.connection.limits);
        self.client.client = Client::with_connection_number(client, number);
        self.server.server = Server::with_connection_number(server, number);
        self.client.client.connect(self.client.now, &mut self.client.out).unwrap();
        self.settle();
        self.events.retain(|event| !matches!(event, ClientEvent::Connected(_)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    /// Proves L-TASK-29, L-TASK-30, L-RACE-38 for both sides together: with any operations in any order, tasks make
    /// only permitted transitions. Every call has one outcome, which is that of its task.
    #[test]
    fn tasks_and_their_calls_are_of_one_mind(
        has_sessions in any::<bool>(),
        operations in prop::collection::vec(operation(), 1..40),
    ) {
        let era = if has_sessions { RevisionSet::LEGACY } else { RevisionSet::MODERN };
        let mut run = Run::of(era);
        for operation in &operations {
            run.run(operation);
            run.look();
        }
        run.end();
    }
}
