//! Servers that send arbitrary task messages at any time: every call has exactly one outcome, and no state remains.

use std::collections::BTreeSet;

use mcp_sansio::call::{TaskOptions, TaskTicket};
use mcp_sansio::{CallId, CallOptions, Cause, ClientEvent, ErrorCode, IncomingId, Instant};
use mcp_sansio_proptests::ClientSide;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::kit::*;

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(300)
}

/// An operation of the application or the server.
#[derive(Clone, Debug)]
enum Operation {
    Call(u8),
    Resume,
    Cancel(Index),
    CancelTask(Index),
    Respond(Index),
    Reject(Index),
    /// A response to a request that was sent; the request may be answered already.
    Answer(Index, String),
    Notify(String),
    Nested,
    Wait(u64),
    Pause(bool),
}

/// A result or notification of the server: a task, another result, or neither.
fn server_payload() -> impl Strategy<Value = String> {
    let id = select(&["t-1", "t-2", "t-3"][..]);
    let status =
        select(&["working", "input_required", "completed", "failed", "cancelled", "someday"][..]);
    let second = select(&["00", "05", "09"][..]);
    let ttl = select(&["null", "0", "700", "90000"][..]);
    let more = select(
        &[
            "",
            r#","result":{"content":[]}"#,
            r#","error":{"code":-7,"message":"m"}"#,
            r#","pollIntervalMs":20,"pollInterval":20"#,
            r#","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}}}}}"#,
            r#","inputRequests":{"b":{"method":"roots/list"},"c":{"method":"x/y"}}"#,
        ][..],
    );
    (id, status, second, ttl, more, 0..12_u8).prop_map(|(id, status, second, ttl, more, kind)| {
        let task = format!(
            r#""taskId":"{id}","status":"{status}","lastUpdatedAt":"2026-01-01T00:00:{second}Z","ttl":{ttl}{more}"#
        );
        match kind {
            0..=2 => format!(r#"{{"resultType":"task",{task}}}"#),
            3..=4 => format!(r#"{{"task":{{{task}}}}}"#),
            5..=8 => format!(r#"{{"resultType":"complete",{task}}}"#),
            9 => DONE.into(),
            10 => "{}".into(),
            _ => "7".into(),
        }
    })
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    let some = || any::<Index>();
    prop_oneof![
        3 => (0..4_u8).prop_map(Call),
        1 => Just(Resume),
        1 => some().prop_map(Cancel),
        1 => some().prop_map(CancelTask),
        2 => some().prop_map(Respond),
        1 => some().prop_map(Reject),
        10 => (some(), server_payload()).prop_map(|(which, reported)| Answer(which, reported)),
        3 => server_payload().prop_map(Notify),
        1 => Just(Nested),
        5 => (0..70_000_u64).prop_map(Wait),
        1 => any::<bool>().prop_map(Pause),
    ]
}

/// A client and the state that its events left.
struct Run {
    side: ClientSide,
    ids: Vec<u64>,
    open: BTreeSet<CallId>,
    asked: BTreeSet<IncomingId>,
    nested: u64,
}

impl Run {
    fn see(&mut self, event: ClientEvent<'static>) {
        match event {
            ClientEvent::CallEnded(ended) => {
                assert!(self.open.remove(&ended.call), "one outcome: {ended:?}");
            }
            ClientEvent::Task(update) => assert!(self.open.contains(&update.call)),
            ClientEvent::Request(request) => {
                assert!(self.asked.insert(request.id));
                assert!(request.needed_for.is_none_or(|call| self.open.contains(&call)));
            }
            ClientEvent::Cancelled(cancelled) => assert!(self.asked.remove(&cancelled.id)),
            _ => {}
        }
    }

    fn receive(&mut self, message: &str) {
        let event = self.side.receive(message);
        event.into_iter().for_each(|event| self.see(event));
    }

    /// Handles everything that is due, then reads everything that is sent. The kit checks that nothing due remains.
    fn settle(&mut self) {
        let events = self.side.outcomes();
        assert!(events.len() < 100, "{events:?}");
        events.into_iter().for_each(|event| self.see(event));
        for sent in self.side.sent() {
            let sent: serde_json::Value = serde_json::from_str(&sent).unwrap();
            if sent.get("method").is_some() {
                self.ids.extend(sent.get("id").and_then(serde_json::Value::as_u64));
            }
        }
    }

    fn run(&mut self, operation: &Operation) {
        let now = self.side.now;
        let (client, out) = (&mut self.side.client, &mut self.side.out);
        let calls: Vec<CallId> = self.open.iter().copied().collect();
        let asked: Vec<IncomingId> = self.asked.iter().copied().collect();
        match operation {
            Operation::Call(kind) => {
                let plain = CallOptions::new().progress();
                let options = match kind {
                    0 => plain,
                    1 => plain.task(TaskOptions::new().by_hand()),
                    _ => plain.task(TaskOptions::new()),
                };
                self.open.insert(call_with(&mut self.side, options));
            }
            Operation::Resume => {
                let ticket = TaskTicket::new("t-1", "tools/call");
                let call = client.resume_task(&ticket, TaskOptions::new(), now, out).unwrap();
                self.open.insert(call);
            }
            Operation::Cancel(index) if !calls.is_empty() => {
                let call = *index.get(&calls);
                _ = client.cancel(call, None, out).unwrap();
                self.open.remove(&call);
            }
            Operation::CancelTask(index) if !calls.is_empty() => {
                _ = client.cancel_task(*index.get(&calls), now, out);
            }
            Operation::Respond(index) if !asked.is_empty() => {
                let request = *index.get(&asked);
                self.asked.remove(&request);
                let answer = mcp_sansio::json::Raw::new(ANSWER).unwrap();
                if client.respond(request, &answer, out).is_err() {
                    // The request is `roots/list`, which a form result does not fit.
                    client.reject(request, ErrorCode::new(-1), "no", out).unwrap();
                }
            }
            Operation::Reject(index) if !asked.is_empty() => {
                let request = *index.get(&asked);
                self.asked.remove(&request);
                client.reject(request, ErrorCode::new(-1), "no", out).unwrap();
            }
            Operation::Answer(index, reported) if !self.ids.is_empty() => {
                let id = *index.get(&self.ids);
                let refuses = reported.contains(r#""error""#) && index.index(2) == 0;
                let answer = if refuses { error(id, -32603) } else { result(id, reported) };
                self.receive(&answer);
            }
            Operation::Notify(task) => {
                self.receive(&status(task));
                self.receive(&status(task).replace("/status", ""));
            }
            Operation::Nested => {
                self.nested += 1;
                let message = nested(self.nested + 1_000);
                self.receive(&message);
            }
            Operation::Wait(milliseconds) => {
                self.side.now = now + std::time::Duration::from_millis(*milliseconds);
            }
            Operation::Pause(true) => client.set_paused(true, now),
            Operation::Pause(false) => client.set_paused(false, now),
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    /// Proves L-TASK-58, M-TASKX-13 as a whole: with any task messages of a server, each call ends once, no event
    /// concerns an ended call, time advances, and the end of the connection leaves no state.
    #[test]
    fn each_call_ends_once_with_arbitrary_task_messages(
        has_sessions in any::<bool>(),
        operations in prop::collection::vec(operation(), 1..60),
    ) {
        let side = if has_sessions { in_session() } else { without_session() };
        let (ids, open, asked) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        let mut run = Run { side, ids, open, asked, nested: 0 };
        for operation in &operations {
            run.run(operation);
            run.settle();
            prop_assert!(run.open.iter().all(|call| run.side.client.in_flight().is_pending(*call)));
            let pending: BTreeSet<CallId> = run.side.client.in_flight().calls().collect();
            prop_assert_eq!(&pending, &run.open);
            let due = run.side.client.poll_timeout();
            prop_assert!(due.is_none_or(|due| run.side.now < due && Instant::EPOCH < due));
        }
        run.side.client.disconnected(Cause::ReadFailed, run.side.now);
        run.settle();
        prop_assert!(run.open.is_empty() && run.asked.is_empty());
        is_over(&mut run.side);
    }
}
