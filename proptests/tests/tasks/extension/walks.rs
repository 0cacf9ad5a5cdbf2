//! Random operations on tasks and subscriptions: a small model checks that each subscriber receives the true state.

use std::collections::BTreeMap;

use mcp_sansio::task::{Status, TaskKey};
use mcp_sansio::{Framing, IncomingId, Limits, Outbox};
use proptest::prelude::*;
use serde_json::Value;

use crate::extension::kit::*;

/// An operation on one of three tasks or one of three subscriptions.
#[derive(Clone, Debug)]
enum Step {
    Ask(usize),
    Answer(usize),
    /// With the number of the input.
    Withdraw(usize, usize),
    Complete(usize),
    Fail(usize),
    Cancel(usize),
    Message(usize),
    Forget(usize),
    Subscribe(usize),
    Unsubscribe(usize),
    Settle,
    Read,
    Time(u16),
}

fn step() -> impl Strategy<Value = Step> {
    let task = 0..3_usize;
    prop_oneof![
        3 => task.clone().prop_map(Step::Ask),
        3 => task.clone().prop_map(Step::Answer),
        2 => (task.clone(), 0..6_usize).prop_map(|(task, input)| Step::Withdraw(task, input)),
        1 => task.clone().prop_map(Step::Complete),
        1 => task.clone().prop_map(Step::Fail),
        1 => task.clone().prop_map(Step::Cancel),
        3 => task.clone().prop_map(Step::Message),
        1 => task.clone().prop_map(Step::Forget),
        2 => task.clone().prop_map(Step::Subscribe),
        1 => task.prop_map(Step::Unsubscribe),
        4 => Just(Step::Settle),
        4 => Just(Step::Read),
        1 => any::<u16>().prop_map(Step::Time),
    ]
}

const NAMES: [&str; 3] = ["a", "b", "c"];
const INPUTS: [&str; 6] = ["k0", "k1", "k2", "k3", "k4", "k5"];

struct World {
    host: Host,
    keys: [TaskKey; 3],
    /// The number of inputs that each task has required.
    asked: [usize; 3],
    /// The open subscriptions by their wire ids, with the last notification about each task.
    open: BTreeMap<String, (IncomingId, BTreeMap<String, Value>)>,
}

impl World {
    fn new() -> Self {
        let mut host = Host::new();
        let mut limits = Limits::default();
        // Room for a few notifications, so that the outbox is full at times.
        limits.outbox_bytes = 1_500;
        let keys = NAMES.map(|name| host.begin(name));
        host.side.out = Outbox::new(Framing::Messages, &limits);
        Self { host, keys, asked: [0; 3], open: BTreeMap::new() }
    }

    /// Reads the sent messages and compares them with the open subscriptions.
    fn read(&mut self) {
        for message in self.host.sent() {
            let message: Value = serde_json::from_str(&message).unwrap();
            if message["method"] != "notifications/tasks" {
                continue;
            }
            let params = &message["params"];
            let id = params["_meta"]["io.modelcontextprotocol/subscriptionId"].as_str().unwrap();
            let task = params["taskId"].as_str().unwrap().to_owned();
            let (_, last_states) = self.open.get_mut(id).expect("the subscription is open");
            let status = params["status"].as_str().unwrap();
            let has = |member: &str| params.get(member).is_some();
            assert_eq!(has("inputRequests"), status == "input_required");
            assert_eq!(has("result"), status == "completed");
            assert_eq!(has("error"), status == "failed");
            assert!(has("ttlMs") && !has("resultType"));
            if let Some(before) = last_states.get(&task) {
                let before = Status::from_name(before["status"].as_str().unwrap()).unwrap();
                assert!(!before.is_final(), "told after its end");
            }
            last_states.insert(task, params.clone());
        }
    }

    fn step(&mut self, step: &Step) {
        let now = self.host.side.now;
        match *step {
            Step::Ask(task) => {
                let name = INPUTS[self.asked[task] % 6];
                let asked =
                    self.host.tasks.require_input(self.keys[task], &questions(&[name]), now);
                self.asked[task] += usize::from(asked.is_ok());
            }
            Step::Answer(task) => {
                let given: Vec<String> =
                    (0..6).map(|number| format!(r#""k{number}":{ANSWER}"#)).collect();
                self.serve(&update("9", NAMES[task], &given.join(",")));
            }
            Step::Withdraw(task, input) => {
                _ = self.host.tasks.withdraw_input(self.keys[task], INPUTS[input], now);
            }
            Step::Complete(task) => _ = self.host.tasks.complete(self.keys[task], &done(), now),
            Step::Fail(task) => {
                let code = mcp_sansio::ErrorCode::INTERNAL_ERROR;
                _ = self.host.tasks.fail(self.keys[task], code, "broken", now);
            }
            Step::Cancel(task) => self.serve(&cancel("9", NAMES[task])),
            Step::Message(task) => {
                let text = format!("{}", now.since_epoch().as_millis());
                _ = self.host.tasks.set_message(self.keys[task], Some(&text), now);
            }
            Step::Forget(task) => _ = self.host.tasks.remove(self.keys[task]),
            Step::Subscribe(number) => self.subscribe(number),
            Step::Unsubscribe(number) => {
                let id = format!("s{number}");
                // Messages in the outbox were sent before the end of the subscription.
                self.read();
                if self.open.remove(&id).is_some() {
                    let frame = format!(
                        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":"{id}"}}}}"#
                    );
                    assert!(self.host.side.receive(&frame).is_some());
                }
            }
            Step::Settle => self.host.settle(),
            Step::Read => self.read(),
            Step::Time(passed) => self.host.wait(u64::from(passed)),
        }
    }

    /// Serves a request about a task. The outbox is emptied first so that the response has room.
    fn serve(&mut self, frame: &str) {
        self.read();
        self.host.serve(frame);
        self.read();
    }

    fn subscribe(&mut self, number: usize) {
        self.read();
        let id = format!("s{number}");
        if self.open.contains_key(&id) {
            return;
        }
        let request = self.host.request(&listen(&format!(r#""{id}""#), r#""a","b","c""#)).id;
        self.open.insert(id, (request, BTreeMap::new()));
        self.host.grant(request);
    }

    /// Asserts that every subscriber has the current state after everything is read.
    fn finish(&mut self) {
        for _ in 0..100 {
            self.host.settle();
            self.read();
        }
        assert_eq!(self.host.tasks.next_connection(), None);
        for (name, key) in NAMES.into_iter().zip(self.keys) {
            if self.host.tasks.get(key).is_none() {
                continue;
            }
            self.host.serve(&get("9", name));
            let mut shown: Value = serde_json::from_str(&self.host.sent()[0]).unwrap();
            let mut shown = shown["result"].take();
            shown
                .as_object_mut()
                .unwrap()
                .retain(|name, _| name != "_meta" && name != "resultType");
            for (id, (_, last_states)) in &self.open {
                let mut last_states = last_states.get(name).expect("it was notified").clone();
                last_states.as_object_mut().unwrap().remove("_meta").unwrap();
                assert_eq!(last_states, shown, "{id} {name}");
            }
        }
    }
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    /// Proves M-TASKX-45, M-TASKX-46, M-TASKX-20, M-TASKX-21, M-R-20, M-R-22, M-R-25: each subscriber receives the
    /// newest state of each task, and nothing after its end, however slowly it reads.
    #[test]
    fn each_subscriber_gets_the_newest_task_state(steps in proptest::collection::vec(step(), 1..60)) {
        let mut world = World::new();
        for step in &steps {
            world.step(step);
        }
        world.finish();
    }

    /// Proves M-TASKX-20: the same operations lead to the same states and the same messages.
    #[test]
    fn the_same_steps_lead_to_the_same_tasks(steps in proptest::collection::vec(step(), 1..40)) {
        let run = || {
            let mut world = World::new();
            for step in &steps {
                world.step(step);
            }
            (world.host.tasks.clone(), world.host.sent())
        };
        prop_assert_eq!(run(), run());
    }
}
